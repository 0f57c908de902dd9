/**
 * Withdrawals, sweeps and top-ups in the table of transactions: all that an agent signs. Every
 * change of such a row is made here, together with the change of the reserved sums and of the
 * unswept balances.
 */

import type { AssignedPayment } from "./assigned-payments.ts";
import { keepUnrefunded } from "./meta.ts";
import type { MovedUnits } from "./moved-payments.ts";
import { type ReservedChanges, reserveAmount, unreserveAmount } from "./reserved.ts";
import type { ReservedRow, TransactionColumns } from "./rows.ts";
import type { Database } from "./store.ts";
import { type NewTransfer, type NewWithdrawal, transferColumns } from "./transaction-rows.ts";
import { insertTransfer } from "./transactions.ts";
import { changeUnsweptBalances, type MovementColumns } from "./unswept-balances.ts";

/**
 * Must not be called twice, because id and order are the table's keys. `reserved`: all sums of the
 * account on the network, if this transaction has read them and changed none.
 */
export function insertWithdrawal(
  database: Database,
  row: NewWithdrawal,
  reserved?: readonly ReservedRow[],
): void {
  insertTransfer(database, row);
  reserveAmount(database, transferColumns(row), reserved);
}

/** Like `insertWithdrawal`, for any operation that an agent signs. */
export function insertOutgoing(database: Database, row: NewTransfer): void {
  insertTransfer(database, row);
  changed(database, null, { ...transferColumns(row), status: 0, feeUnits: "" });
}

/**
 * Updates the sums that depend on a row after its change. `before` is null for a new row; `later`
 * takes the change of the reserved sums.
 */
function changed(
  database: Database,
  before: MovementColumns | null,
  after: MovementColumns | null,
  later?: ReservedChanges,
): void {
  const wasOpen = before?.status === 0;
  const isOpen = after?.status === 0;
  const isOther =
    before?.amountUnits !== after?.amountUnits || before?.currency !== after?.currency;
  if (before !== null && wasOpen && (!isOpen || isOther)) unreserveAmount(database, before, later);
  if (after !== null && isOpen && (!wasOpen || isOther)) reserveAmount(database, after);
  changeUnsweptBalances(database, before, after);
}

/** The columns of a row that decide sums; undefined if there is no such row. */
function readMoved(database: Database, id: string): MovementColumns | undefined {
  return database.get<MovementColumns>(
    `SELECT operation, merchant, network, currency, amountUnits, receiverAddress, depositAddress, status, t.feeUnits,
       sentUnits, receivedUnits
     FROM transactions t LEFT JOIN movedPayments m ON m.transactionId = t.id WHERE t.id = ?`,
    id,
  );
}

/** Fields that an agent's statement changes; fields that are left out keep their values. */
export type WithdrawalChange = Partial<
  Pick<TransactionColumns, "status" | "stage" | "code"> & { readonly receiver: string }
>;

/**
 * @returns true if there is such a row
 */
export function updateWithdrawal(
  database: Database,
  id: string,
  change: WithdrawalChange,
  nowMs: number,
): boolean {
  const { status } = change;
  const before = status === undefined ? undefined : readMoved(database, id);
  // Only the columns that change, so that SQLite leaves the indexes of the others alone.
  const named = changeable.filter(([, field]) => change[field] !== undefined);
  const { changes } = database.run(
    `UPDATE transactions SET ${named.map(([column]) => `${column} = ?, `).join("")}changedAt = ? WHERE id = ?`,
    ...[...named.map(([, field]) => change[field] ?? null), nowMs, id],
  );
  if (before !== undefined && status !== undefined) {
    changed(database, before, {
      ...before,
      status,
      receiverAddress: change.receiver ?? before.receiverAddress,
    });
    if (status === 2) giveBack(database, id);
  }
  return changes > 0;
}

/** Has the open deposit judged again that a withdrawal, which failed, was to pay back. */
function giveBack(database: Database, id: string): void {
  const sql = `SELECT d.id, d.network FROM transactions w JOIN transactions d ON d.id = w.refundOf
    WHERE w.id = ? AND w.refundOf <> '' AND d.status = 0`;
  const deposit = database.get<Pick<TransactionColumns, "id" | "network">>(sql, id);
  if (deposit !== undefined) keepUnrefunded(database, deposit.network, deposit.id);
}

/** Columns that an agent's statement changes, with the field of each. */
const changeable = [
  ["status", "status"],
  ["stage", "stage"],
  ["code", "code"],
  ["receiverAddress", "receiver"],
] as const;

/** The content of an order that takes the place of another's. */
export type OrderContent = Pick<
  TransactionColumns,
  | ("mode" | "contentHash" | "currency" | "network" | "amount" | "tag")
  | ("refundOf" | "expiresAt" | "changedAt")
> & { readonly units: string; readonly receiver: string | null };

/** Replaces the content of the order under an id with another order's content. */
export function replaceWithdrawal(database: Database, id: string, order: OrderContent): void {
  const before = readMoved(database, id);
  const { mode, contentHash, currency, network, amount, units: amountUnits, tag, refundOf } = order;
  const receiverAddress = order.receiver ?? "";
  database.run(
    `UPDATE transactions SET mode = ?, contentHash = ?, currency = ?, network = ?, amount = ?, amountUnits = ?,
       receiverAddress = ?, tag = ?, refundOf = ?, expiresAt = ?, changedAt = ? WHERE id = ?`,
    ...[mode, contentHash, currency, network, amount, amountUnits, receiverAddress, tag, refundOf],
    ...[order.expiresAt, order.changedAt, id],
  );
  if (before !== undefined)
    changed(database, before, { ...before, currency, network, amountUnits, receiverAddress });
}

/**
 * Moves a pending withdrawal to a stage.
 * @returns true if the row changed
 */
export function moveWithdrawal(
  database: Database,
  id: string,
  { stage, txHash, changedAt }: Pick<TransactionColumns, "stage" | "txHash" | "changedAt">,
): boolean {
  const { changes } = database.run(
    "UPDATE transactions SET stage = ?, txHash = ?, changedAt = ? WHERE id = ? AND status = 0 AND (stage <> ? OR txHash <> ?)",
    ...[stage, txHash, changedAt, id, stage, txHash],
  );
  return changes > 0;
}

/** The result of a withdrawal on the chain; `moved` if it is not exactly what was asked for. */
export interface WithdrawalEnd
  extends Pick<
    TransactionColumns,
    "status" | "stage" | "code" | "txHash" | "feeUnits" | "finalBlock" | "changedAt"
  > {
  readonly moved?: MovedUnits;
}

/**
 * Ends a pending withdrawal. A withdrawal that has ended is not changed. With `later`, the reserved
 * sums change at its `flush`.
 * @returns true if the row changed
 */
export function endWithdrawal(
  database: Database,
  id: string,
  ending: WithdrawalEnd,
  later?: ReservedChanges,
): boolean {
  const { status, stage, code, txHash, feeUnits, finalBlock, changedAt, moved } = ending;
  const before = readMoved(database, id);
  const { changes } = database.run(
    `UPDATE transactions SET status = ?, stage = ?, code = ?, txHash = ?, feeUnits = ?, finalBlock = ?, changedAt = ?,
       amountReceivedUnits = coalesce(?, amountReceivedUnits) WHERE id = ? AND status = 0`,
    ...[
      status,
      stage,
      code,
      txHash,
      feeUnits,
      finalBlock,
      changedAt,
      moved?.receivedUnits ?? null,
      id,
    ],
  );
  if (changes > 0 && moved !== undefined)
    database.run(
      "UPDATE movedPayments SET receivedUnits = ?, sentUnits = ? WHERE transactionId = ?",
      ...[moved.receivedUnits, moved.sentUnits, id],
    );
  if (changes > 0 && before !== undefined)
    changed(database, before, { ...before, status, feeUnits, ...moved }, later);
  if (changes > 0 && status === 2) giveBack(database, id);
  return changes > 0;
}

/**
 * Ends an unsigned withdrawal as Completed by the payment that an operator assigned to it; also one
 * that had failed. A withdrawal that is Completed is not changed.
 * @returns true if the row changed
 */
export function completeAssigned(
  database: Database,
  { transactionId, ...paid }: AssignedPayment,
  nowMs: number,
): boolean {
  const before = readMoved(database, transactionId);
  const { changes } = database.run(
    `UPDATE transactions SET status = 1, stage = 'completed', code = '', txHash = ?, feeUnits = ?, finalBlock = ?, changedAt = ?
       WHERE id = ? AND status <> 1`,
    ...[paid.txHash, paid.feeUnits, paid.block, nowMs, transactionId],
  );
  if (changes > 0 && before !== undefined)
    changed(database, before, { ...before, status: 1, feeUnits: paid.feeUnits });
  return changes > 0;
}

/** `sentUnits`: what it moved where that is another amount; null otherwise. */
export type PromisedAmount = Pick<
  TransactionColumns,
  "operation" | "currency" | "amountUnits" | "status"
> & {
  readonly sentUnits: string | null;
};

/** Withdrawals and top-ups of an account on a network that ended in a later block than `block`. */
export function listEndedAfter(
  database: Database,
  account: string,
  network: string,
  block: number,
): readonly PromisedAmount[] {
  return database.all<PromisedAmount>(
    `SELECT operation, currency, amountUnits, status,
       (SELECT sentUnits FROM movedPayments m WHERE m.transactionId = t.id) AS sentUnits
     FROM transactions t WHERE operation IN ('withdraw', 'topup') AND status <> 0 AND depositAddress = ? AND network = ?
       AND finalBlock > ?`,
    ...[account, network, block],
  );
}

/** A merchant with open withdrawals, and the oldest of them. */
export interface WaitingMerchant {
  readonly merchant: string;
  readonly name: string;
  readonly count: number;
  readonly oldestAt: number; // Unix milliseconds
  readonly stage: string; // of the oldest
}

/** Merchants whose oldest open withdrawal was made before a time, at most `most`. */
export function listWaitingMerchants(
  database: Database,
  beforeMs: number,
  most: number,
): readonly WaitingMerchant[] {
  // SQLite takes the other columns of a group from the row that has its minimum.
  return database.all<WaitingMerchant>(
    `SELECT t.merchant, m.name, count(*) AS count, min(t.createdAt) AS oldestAt, t.stage
     FROM transactions t JOIN merchants m ON m.id = t.merchant WHERE t.operation = 'withdraw' AND t.status = 0
     GROUP BY t.merchant HAVING min(t.createdAt) < ? ORDER BY oldestAt, t.merchant LIMIT ?`,
    beforeMs,
    most,
  );
}

/** The number of pending withdrawals in each stage, and when the oldest was made. */
export function listPendingByStage(
  database: Database,
): readonly { readonly stage: string; readonly count: number; readonly oldestAt: number }[] {
  return database.all(
    "SELECT stage, COUNT(*) AS count, MIN(createdAt) AS oldestAt FROM transactions WHERE operation = 'withdraw' AND status = 0 GROUP BY stage ORDER BY stage",
  );
}

/** The fees of the newest paid withdrawals of a currency, newest first. */
export function newestFees(
  database: Database,
  { currency, network }: Pick<TransactionColumns, "currency" | "network">,
  most: number,
): readonly Pick<TransactionColumns, "feeUnits" | "changedAt">[] {
  return database.all(
    `SELECT feeUnits, changedAt FROM transactions INDEXED BY transactionsPaid
     WHERE operation = 'withdraw' AND status = 1 AND feeUnits <> '' AND currency = ? AND network = ?
     ORDER BY changedAt DESC LIMIT ?`,
    ...[currency, network, most],
  );
}
