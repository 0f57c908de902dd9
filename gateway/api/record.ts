/**
 * A transaction's row as the interface shows it, with the project's own fields beside. Fields never change meaning; clients ignore
 * those they do not know. Source: the interface, section on records; docs/api.md.
 */
import { nativeDecimal } from "../../chains/evm/network.ts";
import { formatAmount } from "../../protocol/amount.ts";
import type { Service } from "../service.ts";
import type { TransactionRow } from "../store/rows.ts";

const noCallbackTarget = 3;

/** @public */
export function recordOf(row: TransactionRow, { config, confirmations }: Pick<Service, "config" | "confirmations">): object {
  const decimal = config.currencies[row.currency]?.decimal;
  const blocks = row.status === 0 ? confirmations(row.id) : null;
  const isDeposit = row.operation === "deposit";
  return {
    transactionId: row.id,
    receiverAddress: row.receiverAddress,
    depositAddress: row.depositAddress,
    orderId: row.orderId,
    tag: row.tag,
    currency: row.currency,
    amount: row.amount,
    callbackStatus: noCallbackTarget,
    createdAt: new Date(row.createdAt).toISOString(),
    status: row.status,
    transactionType: isDeposit ? 1 : 2,
    network: row.network,
    stage: row.stage,
    code: row.code,
    txHash: row.txHash,
    ...(blocks === null ? {} : { confirmations: blocks }),
    changedAt: new Date(row.changedAt).toISOString(),
    expiresAt: new Date(row.expiresAt).toISOString(),
    ...(isDeposit
      ? { amountReceived: decimal === undefined ? "" : formatAmount(BigInt(row.amountReceivedUnits), decimal) }
      : { mode: row.mode, fee: row.feeUnits === "" ? "" : formatAmount(BigInt(row.feeUnits), nativeDecimal) }),
  };
}
