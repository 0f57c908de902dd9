/**
 * Holds an order back that asks for a payment which left the wallet already, as far as the chain
 * shows and nothing explains. Gateway and agent may both have been restored to a state before that
 * payment, and then only the chain remembers it. One transaction paid at most one order, but which
 * one nobody knows, so it holds every order that asks for the same. An operator names the order
 * that it paid (`withdrawals paid`), or says that it did not pay this one (`withdrawals release`).
 * Runs in the caller's transaction. Source: docs/recovering.md, section 4.
 */
import { pairedCurrencies } from "../balance/funds.ts";
import { recordAlarm } from "../store/alarm.ts";
import {
  listSuspectTransactions,
  type OrderedPayment,
  type UnexplainedOutgoingRow,
} from "../store/outgoing-holds.ts";
import type { AgentRow, TransferRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { updateWithdrawal } from "../store/withdrawals.ts";

/** The stage of an order that waits for a person at the gateway. */
export const heldStage = "awaiting_operator";
export const recoveryHoldCode = "RECOVERY_HOLD";

/** The payment that an order asks for, as `suspectsOf` compares it. */
export function paymentOfOrder(
  agent: Pick<AgentRow, "currencies">,
  row: TransferRow,
): OrderedPayment {
  const { id: transactionId, network, payer: account, tag, units } = row;
  const receiver = row.receiver ?? "";
  const contract = pairedCurrencies(agent).find(({ id }) => id === row.currency)?.contract ?? null;
  return { transactionId, network, account, receiver, tag, contract, units };
}

/**
 * The transactions that hold an order back; none for a sweep or a top-up, which pay nobody else.
 */
export function listHoldingTransactions(
  database: Database,
  agent: Pick<AgentRow, "currencies">,
  row: TransferRow,
): readonly UnexplainedOutgoingRow[] {
  return row.operation === "withdraw"
    ? listSuspectTransactions(database, paymentOfOrder(agent, row))
    : [];
}

/**
 * Marks an order as held, with an alarm that names what holds it. Harmless to call twice.
 * @returns true if the order was not held before
 */
export function holdOrder(
  database: Database,
  row: TransferRow,
  holders: readonly UnexplainedOutgoingRow[],
  nowMs: number,
): boolean {
  const hashes = holders.map(
    ({ txHash, block }) => `${txHash}${block === null ? "" : ` in block ${block}`}`,
  );
  const detail = `order ${row.orderId} of ${row.merchant} asks for what ${row.payer} paid already: ${hashes.join(", ")}`;
  recordAlarm(database, {
    at: nowMs,
    actor: "watcher",
    code: "ORDER_PAID_BEFORE",
    subject: row.id,
    detail,
  });
  if (row.stage === heldStage) return false;
  return updateWithdrawal(database, row.id, { stage: heldStage, code: recoveryHoldCode }, nowMs);
}

/**
 * Ends the hold of an order that nothing holds any more.
 * @returns true if it was held
 */
export function freeOrder(database: Database, row: TransferRow, nowMs: number): boolean {
  if (row.stage !== heldStage) return false;
  const stage =
    row.operation === "withdraw" && row.mode === "manual" ? "awaiting_approval" : "queued";
  return updateWithdrawal(database, row.id, { stage, code: "" }, nowMs);
}
