/**
 * Withdrawals in the table of transactions, sweeps and top-ups among them: whatever an agent signs.
 * Each way in which one changes stands here, with what it makes of the reserved sums and of what
 * addresses for deposits hold.
 */
import { changeHoldings } from "./holdings.ts";

import { reserve, unreserve } from "./reserved.ts";
import type { TransactionRow } from "./rows.ts";
import type { Database } from "./store.ts";
import { insertTransaction, type NewTransaction, readTransaction } from "./transactions.ts";

/** @public */
export function withdrawalOfOrder(database: Database, merchant: string, orderId: string): TransactionRow | undefined {
  const sql = "SELECT * FROM transactions WHERE merchant = ? AND operation = 'withdraw' AND orderId = ?";
  return database.get<TransactionRow>(sql, merchant, orderId);
}

/**
 * Not for calling twice: id and order are the table's keys.
 * @public
 */
export function insertWithdrawal(database: Database, row: Omit<NewTransaction, "operation" | "quote">): void {
  insertOutgoing(database, { ...row, operation: "withdraw" });
}

/**
 * As `insertWithdrawal`, for whatever an agent is to sign.
 * @public
 */
export function insertOutgoing(database: Database, row: Omit<NewTransaction, "quote">): void {
  insertTransaction(database, { ...row, quote: "" });
  changed(database, null, readTransaction(database, row.id) ?? null);
}

/**
 * What a change of a row makes of the sums that stand on it. `before` is null when the row is new.
 */
function changed(database: Database, before: TransactionRow | null, after: TransactionRow | null): void {
  const wasOpen = before?.status === 0;
  const isOpen = after?.status === 0;
  const isOther = before?.amountUnits !== after?.amountUnits || before?.currency !== after?.currency;
  if (before !== null && wasOpen && (!isOpen || isOther)) unreserve(database, before);
  if (after !== null && isOpen && (!wasOpen || isOther)) reserve(database, after);
  changeHoldings(database, before, after);
}

/**
 * What an agent's word changes in a row; what is left out stays.
 * @public
 */
export type WithdrawalChange = Partial<Pick<TransactionRow, "status" | "stage" | "code" | "receiverAddress">>;

/**
 * @returns whether there is such a row
 * @public
 */
export function updateWithdrawal(database: Database, id: string, change: WithdrawalChange, nowMs: number): boolean {
  const { status, stage, code, receiverAddress } = change;
  const before = status === undefined ? undefined : readTransaction(database, id);
  const { changes } = database.run(
    `UPDATE transactions SET status = coalesce(?, status), stage = coalesce(?, stage), code = coalesce(?, code),
       receiverAddress = coalesce(?, receiverAddress), changedAt = ? WHERE id = ?`,
    ...[status ?? null, stage ?? null, code ?? null, receiverAddress ?? null, nowMs, id],
  );
  if (before !== undefined) changed(database, before, readTransaction(database, id) ?? null);
  return changes > 0;
}

/**
 * Puts another order's content in the place of the one that stands under its id.
 * @public
 */
export function replaceWithdrawal(
  database: Database,
  id: string,
  order: Pick<
    TransactionRow,
    | "mode"
    | "contentHash"
    | "currency"
    | "network"
    | "amount"
    | "amountUnits"
    | "receiverAddress"
    | "tag"
    | "expiresAt"
    | "changedAt"
  >,
): void {
  const before = readTransaction(database, id);
  const { mode, contentHash, currency, network, amount, amountUnits, receiverAddress, tag, expiresAt, changedAt } = order;
  database.run(
    `UPDATE transactions SET mode = ?, contentHash = ?, currency = ?, network = ?, amount = ?, amountUnits = ?,
       receiverAddress = ?, tag = ?, expiresAt = ?, changedAt = ? WHERE id = ?`,
    ...[mode, contentHash, currency, network, amount, amountUnits, receiverAddress, tag, expiresAt, changedAt, id],
  );
  if (before !== undefined) changed(database, before, readTransaction(database, id) ?? null);
}

/**
 * Moves a pending withdrawal to a stage.
 * @returns whether the row changed
 * @public
 */
export function moveWithdrawal(
  database: Database,
  id: string,
  { stage, txHash, changedAt }: Pick<TransactionRow, "stage" | "txHash" | "changedAt">,
): boolean {
  const { changes } = database.run(
    "UPDATE transactions SET stage = ?, txHash = ?, changedAt = ? WHERE id = ? AND status = 0 AND (stage <> ? OR txHash <> ?)",
    ...[stage, txHash, changedAt, id, stage, txHash],
  );
  return changes > 0;
}

/**
 * How the chain ended a withdrawal.
 * @public
 */
export type WithdrawalEnd = Pick<
  TransactionRow,
  "status" | "stage" | "code" | "txHash" | "feeUnits" | "finalBlock" | "changedAt"
>;

/**
 * Ends a pending withdrawal; one that has ended stays as it is.
 * @returns whether the row changed
 * @public
 */
export function endWithdrawal(database: Database, id: string, ending: WithdrawalEnd): boolean {
  const { status, stage, code, txHash, feeUnits, finalBlock, changedAt } = ending;
  const before = readTransaction(database, id);
  const { changes } = database.run(
    `UPDATE transactions SET status = ?, stage = ?, code = ?, txHash = ?, feeUnits = ?, finalBlock = ?, changedAt = ?
       WHERE id = ? AND status = 0`,
    ...[status, stage, code, txHash, feeUnits, finalBlock, changedAt, id],
  );
  if (changes > 0 && before !== undefined) changed(database, before, readTransaction(database, id) ?? null);
  return changes > 0;
}

/** @public */
export type Promised = Pick<TransactionRow, "operation" | "currency" | "amountUnits" | "status">;

/**
 * Withdrawals and top-ups of an account on a network that ended in a later block than `block`.
 * @public
 */
export function listEndedAfter(database: Database, account: string, network: string, block: number): readonly Promised[] {
  return database.all<Promised>(
    "SELECT operation, currency, amountUnits, status FROM transactions WHERE operation IN ('withdraw', 'topup') AND status <> 0 AND depositAddress = ? AND network = ? AND finalBlock > ?",
    ...[account, network, block],
  );
}

/**
 * Pending withdrawals by stage: how many, and when the oldest was made.
 * @public
 */
export function listPendingByStage(
  database: Database,
): readonly { readonly stage: string; readonly count: number; readonly oldestAt: number }[] {
  return database.all(
    "SELECT stage, COUNT(*) AS count, MIN(createdAt) AS oldestAt FROM transactions WHERE operation = 'withdraw' AND status = 0 GROUP BY stage ORDER BY stage",
  );
}
