/**
 * The judge of a run of the stream `restored`: the chain says how often each receiver was paid.
 * Pure.
 */
import type { ChainJudgement } from "../steps/chain.ts";

/** An order of a run, as the shop has it in its books. */
export interface RestoredOrder {
  readonly orderId: string;
  readonly receiver: string;
  readonly units: bigint;
  transactionId: string;
  status: number;
  txHash: string; // "" while the shop was told none
  /** Attempts that were signed before both sides forgot them. */
  before: readonly string[];
}

/**
 * What may not be. Orders of one receiver have one content, and each of them is paid once, by a
 * transaction of its own that the shop was told.
 */
export function judgedRun(
  orders: readonly RestoredOrder[],
  { transactions, held, violations: found }: ChainJudgement,
): readonly string[] {
  const violations = [...found];
  const payments = [...transactions.values()].flat();
  for (const { orderId, status, txHash, receiver } of orders) {
    if (status !== 1) violations.push(`${orderId}: status ${status}, not Completed`);
    const isTold =
      transactions.get(txHash)?.some((payment) => payment.receiver === receiver) === true;
    if (!isTold)
      violations.push(
        `${orderId}: the shop was told ${txHash || "no transaction"}, which does not pay it`,
      );
  }
  for (const receiver of new Set(orders.map((one) => one.receiver))) {
    const own = orders.filter((one) => one.receiver === receiver);
    const names = own.map(({ orderId }) => orderId).join(" and ");
    const paid = payments.filter((payment) => payment.receiver === receiver);
    if (paid.length > own.length)
      violations.push(`${names}: PAID TWICE, ${paid.length} payments of ${own.length} orders`);
    if (paid.length < own.length)
      violations.push(`${names}: ${paid.length} payments of ${own.length} orders`);
    if (new Set(own.map(({ txHash }) => txHash)).size !== own.length)
      violations.push(`${names}: one transaction for two orders`);
    const units = own.reduce((sum, one) => sum + one.units, 0n);
    if (held.get(receiver) !== units)
      violations.push(`${names}: the receiver has ${held.get(receiver)} in place of ${units}`);
  }
  return violations;
}
