/**
 * Keeps payments to deposit addresses, and updates their requests. A payment is identified by
 * network, txHash and logIndex (-1 for native payments, lower for payments that a contract sends
 * on). A transaction credited in one final block is never credited again in another: its payment
 * moves there (gone-payments.ts). Sources:
 * docs/api.md, stages of a deposit; docs/architecture.md section 8.
 */
import { compareSoon } from "../store/address-states.ts";
import { listArrivingPayments } from "../store/arriving.ts";
import { listCountedPayments, listRequestsCreditedWith } from "../store/credits.ts";
import { type DepositCredit, depositEndBlock, updateDeposit } from "../store/deposits.ts";
import {
  type GonePayment,
  hasRevokedPayment,
  listLostPaymentsIn,
  listUntoldGonePayments,
  markGonePaymentTold,
  moveToGonePayments,
  revokedStage,
  takeBackGonePayment,
} from "../store/gone-payments.ts";
import { isPaidByOtherChoice } from "../store/invoices.ts";
import { keepUnjudgedCurrency } from "../store/meta.ts";
import { keepFinalPayment, listFinalInOtherBlock } from "../store/payments.ts";
import { type AskedSum, updateAskedSum } from "../store/quotes.ts";
import type { DepositRow, PaymentRow } from "../store/rows.ts";
import { isRowAside, runTrackingRow } from "../store/set-aside.ts";
import type { Database } from "../store/store.ts";
import { readDeposit, refundedUnits } from "../store/transactions.ts";
import { raiseAlarm, type WatchedChain } from "./chain.ts";
import { isPaid, type JudgedRequest, judgeDeposit } from "./credit.ts";

/** logIndex of a native payment. */
export const nativeLogIndex = -1;

const internalPrefix = "internal:";

/**
 * txHash of coins that reached the address without a transaction of their own; unique for a block
 * and an address.
 */
export function standInTxHash(block: number, address: string): string {
  return `${internalPrefix}${block}:${address}`;
}

/**
 * Credits a final payment. One that was credited in a block which left the chain takes the place of
 * itself, with an alarm: it counts once.
 * @returns the ids of the requests to judge
 */
export function creditFinalPayment(
  chain: WatchedChain,
  database: Database,
  payment: PaymentRow,
): readonly string[] {
  // A transaction is in one block of the chain alone.
  const lost = listFinalInOtherBlock(database, payment).flatMap((other) =>
    moveToGonePayments(database, other, chain.clock()),
  );
  const before = takeBackGonePayment(database, payment);
  if (before !== undefined) alarmReturnedPayment(chain, database, before, payment.block);
  keepFinalPayment(database, payment);
  const credited = before === undefined ? [] : listRequestsCreditedWith(database, payment);
  return [payment.transactionId, ...lost, ...credited];
}

/** Raises the alarm that a payment whose block left the chain is final again. */
export function alarmReturnedPayment(
  chain: WatchedChain,
  database: Database,
  before: GonePayment,
  block: number,
): void {
  const { txHash, block: old, transactionId, state } = before;
  const how = state === "revoked" ? "; it counts again" : "";
  const detail = `${txHash} was credited in block ${old} and is now final in block ${block}${how}`;
  raiseAlarm(chain, database, {
    code: "WATCHER_FINAL_REORG",
    cause: "payment",
    subject: transactionId,
    detail,
  });
}

/**
 * Takes the final payments out of the books whose block is not in the chain any more. `blocks`: the
 * chain's own, final, in which they were.
 * @returns the ids of the requests to judge
 */
export function removeGonePayments(
  chain: WatchedChain,
  database: Database,
  blocks: readonly { readonly number: number; readonly hash: string }[],
): readonly string[] {
  return listLostPaymentsIn(database, chain.network, blocks).flatMap((payment) => {
    // Only the balance says whether coins without a transaction of their own are there.
    if (payment.txHash.startsWith(internalPrefix)) compareSoon(database, payment);
    return moveToGonePayments(database, payment, chain.clock());
  });
}

const toldAtOnce = 256;

/**
 * Raises an alarm for each payment whose block left the chain and that no final block up to the
 * newest one holds again. An operator decides on its deposit. Returns no id, because nothing
 * changed.
 */
export function alertLostPayments(chain: WatchedChain): void {
  const { database } = chain.store;
  if (listUntoldGonePayments(database, chain.network, 1).length === 0) return;
  chain.store.write((inside) => {
    for (const one of listUntoldGonePayments(inside, chain.network, toldAtOnce)) {
      const { units, currency, txHash, block, transactionId } = one;
      const what = `${units} base units of ${currency} by ${txHash}, credited in block ${block}: the block left the chain, and no final block holds it now`;
      for (const subject of new Set([...listRequestsCreditedWith(inside, one), transactionId]))
        raiseAlarm(chain, inside, {
          code: "WATCHER_FINAL_REORG",
          cause: "deposit",
          subject,
          detail: what,
        });
      markGonePaymentTold(inside, one, chain.clock());
    }
  });
}

/**
 * Updates the named requests from their payments.
 * @returns the ids of the requests whose row changed
 */
export function judgeRequests(
  chain: WatchedChain,
  database: Database,
  ids: Iterable<string>,
  scannedAt: number,
): readonly string[] {
  return [...new Set(ids)].filter((id) => {
    if (isRowAside(database, "judgement", id)) return false;
    return runTrackingRow({ kind: "judgement", id, about: id }, () =>
      judgeRequest(chain, database, id, scannedAt),
    );
  });
}

/**
 * The new state of a deposit request from the payments that count for it. Writes nothing.
 * `scannedAt`: milliseconds; every block before this time has been read. `finalSum`: of an open
 * choice of an invoice, which without it does not complete.
 */
export function judgementOf(
  database: Database,
  row: DepositRow,
  scannedAt: number,
  finalSum: AskedSum | null = null,
): Omit<DepositCredit, "changedAt"> {
  const { id, status, stage, expiresAt } = row;
  const counted = listCountedPayments(database, row);
  const inBlocks = new Set(counted.map(({ txHash }) => txHash));
  const isArriving = listArrivingPayments(database, id).some(({ txHash }) => !inBlocks.has(txHash));
  const isPaidOtherwise = isPaidByOtherChoice(database, row);
  const isBack = stage === revokedStage && !hasRevokedPayment(database, row) && !isPaidOtherwise;
  const units = { ...askedUnits(database, row), receivedUnits: BigInt(row.receivedUnits) };
  const credit = judgeDeposit(
    {
      status,
      stage,
      ...units,
      expiresAt,
      late: row.late === 1,
      endBlock: depositEndBlock(database, id),
      code: row.code,
      isPaidOtherwise,
      ...(row.invoice === "" ? {} : { finalAsk: finalAskOf(finalSum) }),
      isArriving,
      isBack,
    },
    counted,
    scannedAt,
  );
  return {
    status: credit.status,
    stage: credit.stage,
    code: credit.code,
    receivedUnits: credit.receivedUnits.toString(),
    late: (credit.late ? 1 : 0) as 0 | 1,
    txHash: credit.txHash.startsWith("internal:") ? "" : credit.txHash,
    finalBlock: credit.finalBlock,
  };
}

const finalAskOf = (
  sum: AskedSum | null,
): Pick<JudgedRequest, "amountUnits" | "toleranceUnits"> | null =>
  sum === null
    ? null
    : { amountUnits: BigInt(sum.units ?? 0), toleranceUnits: BigInt(sum.toleranceUnits) };

/** True if a request is paid by this sum, less its refunds. */
export function isPaidBy(
  database: Database,
  row: Parameters<typeof askedUnits>[1],
  units: bigint,
): boolean {
  return isPaid(askedUnits(database, row), units);
}

/** The units that a request asks for, and those that refunds pay back. */
function askedUnits(
  database: Database,
  { id, units, toleranceUnits }: Pick<DepositRow, "id" | "units" | "toleranceUnits">,
): {
  readonly amountUnits: bigint;
  readonly toleranceUnits: bigint;
  readonly refundedUnits: bigint;
} {
  return {
    amountUnits: BigInt(units ?? 0),
    toleranceUnits: BigInt(toleranceUnits),
    refundedUnits: refundedUnits(database, id),
  };
}

function judgeRequest(
  chain: WatchedChain,
  database: Database,
  id: string,
  scannedAt: number,
): boolean {
  const found = readDeposit(database, id);
  if (found === undefined) return false;
  const isOpenChoice = found.status === 0 && found.invoice !== "";
  const priced = isOpenChoice ? chain.choices.priceChoice(database, found) : null;
  // A choice waits until the price is known at which its newest payment counts.
  if (isOpenChoice && priced === null) return false;
  const row = priced?.row ?? found;
  if (chain.tokens.out.has(row.currency)) {
    keepUnjudgedCurrency(database, row.network, row.currency);
    return false;
  }
  const next = judgementOf(database, row, scannedAt, priced?.finalSum);
  if ((Object.keys(next) as (keyof typeof next)[]).every((field) => row[field] === next[field]))
    return false;
  const { stage } = next;
  if (priced?.finalSum && next.status === 1)
    updateAskedSum(database, id, priced.finalSum, chain.clock());
  updateDeposit(database, id, { ...next, changedAt: chain.clock() });
  const fields = { id, stage, received: next.receivedUnits };
  if (row.status === 0) chain.log.info({ event: "deposit-changed", ...fields }, `deposit ${stage}`);
  else chain.log.info({ event: "deposit-late", ...fields }, "deposit paid late");
  return true;
}
