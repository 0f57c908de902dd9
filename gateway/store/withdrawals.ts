/**
 * Withdrawals, sweeps and top-ups: all that an agent signs. Every
 * change of such a row is made here, together with the change of the reserved sums and of the
 * journal.
 */

import type { PaymentAssignedToWithdrawal } from "./assigned-payments.ts";
import { AccountChanges } from "./journal.ts";
import { keepRequestToJudge } from "./meta.ts";
import type { MovedUnits } from "./moved-payments.ts";
import { type PostedTransfer, postTransfer, readPostedTransfer } from "./posting.ts";
import { ReservedChanges, reserveAmount, unreserveAmount } from "./reserved.ts";
import type { DepositRow, ReservedRow, ServiceReason, TransferRow, WithdrawalRow } from "./rows.ts";
import type { Database } from "./store.ts";
import type { NewTransfer, NewWithdrawal } from "./transaction-rows.ts";
import { insertTransfer } from "./transactions.ts";

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
  reserveAmount(database, row, reserved);
}

/** Like `insertWithdrawal`, for any operation that an agent signs. */
export function insertPendingTransfer(database: Database, row: NewTransfer): void {
  insertTransfer(database, row);
  changed(database, null, { ...row, status: 0, feeUnits: "", finalBlock: null });
}

/** The sums that the ends of one transaction change, each written once. */
export class LaterSums {
  readonly reserved = new ReservedChanges();
  readonly accounts = new AccountChanges();

  /** Must run before the transaction ends. Harmless to call again. */
  flush(database: Database): void {
    this.reserved.flush(database);
    this.accounts.flush(database);
  }
}

/**
 * Updates the sums that depend on a row after its change. `before` is null for a new row; `later`
 * takes the changes of sums.
 */
function changed(
  database: Database,
  before: PostedTransfer | null,
  after: PostedTransfer,
  later?: LaterSums,
): void {
  const wasOpen = before?.status === 0;
  const isOpen = after.status === 0;
  const isOther = before?.units !== after.units || before?.currency !== after.currency;
  if (before !== null && wasOpen && (!isOpen || isOther))
    unreserveAmount(database, before, later?.reserved);
  if (isOpen && (!wasOpen || isOther)) reserveAmount(database, after);
  postTransfer(database, before, after, later?.accounts);
}

/** Fields that an agent's statement changes; fields that are left out keep their values. */
export type WithdrawalChange = Partial<
  Pick<TransferRow, "status" | "stage" | "code"> & { readonly receiver: string }
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
  const before = status === undefined ? undefined : readPostedTransfer(database, id);
  // Only the columns that change, so that SQLite leaves the indexes of the others alone.
  const named = changeable.filter((name) => change[name] !== undefined);
  const { changes } = database.run(
    `UPDATE transfers SET ${named.map((name) => `${name} = ${name === "status" ? "?" : "nullif(?, '')"}, `).join("")}changedAt = ? WHERE id = ?`,
    ...[...named.map((name) => change[name] ?? null), nowMs, id],
  );
  if (before !== undefined && status !== undefined) {
    changed(database, before, {
      ...before,
      status,
      receiver: change.receiver ?? before.receiver,
    });
    if (status === 2) giveBack(database, id);
  }
  return changes > 0;
}

/** Has the open deposit judged again that a withdrawal, which failed, was to pay back. */
function giveBack(database: Database, id: string): void {
  const sql = `SELECT d.id, d.network FROM withdrawals w JOIN deposits d ON d.id = w.refundOf
    WHERE w.id = ? AND d.status = 0`;
  const deposit = database.get<Pick<DepositRow, "id" | "network">>(sql, id);
  if (deposit !== undefined) keepRequestToJudge(database, deposit.network, deposit.id);
}

/** Columns that an agent's statement changes. */
const changeable = ["status", "stage", "code", "receiver"] as const;

/** The content of an order that takes the place of another's. */
export type OrderContent = Pick<
  WithdrawalRow,
  | ("contentHash" | "currency" | "network" | "amount" | "units" | "receiver" | "tag")
  | ("refundOf" | "expiresAt" | "changedAt")
> & { readonly mode: WithdrawalRow["mode"] | null }; // null for a sweep and a top-up

/** Replaces the content of the order under an id with another order's content. */
export function replaceOrderContent(database: Database, id: string, order: OrderContent): void {
  const before = readPostedTransfer(database, id);
  const { mode, contentHash, currency, network, amount, units, receiver, tag, refundOf } = order;
  database.run(
    `UPDATE transfers SET contentHash = ?, currency = CASE operation WHEN 'topup' THEN NULL ELSE ? END, network = ?, amount = ?,
       units = ?, receiver = nullif(?, ''), tag = ?, expiresAt = ?, changedAt = ? WHERE id = ?`,
    ...[contentHash, currency, network, amount, units, receiver, tag],
    ...[order.expiresAt, order.changedAt, id],
  );
  database.run("UPDATE topUps SET sweptCurrency = ? WHERE id = ?", currency, id);
  if (mode !== null)
    database.run(
      "UPDATE withdrawals SET mode = ?, refundOf = nullif(?, '') WHERE id = ?",
      ...[mode, refundOf, id],
    );
  if (before !== undefined)
    changed(database, before, { ...before, currency, network, units, receiver });
}

/**
 * Moves a pending withdrawal to a stage.
 * @returns true if the row changed
 */
export function moveWithdrawalToStage(
  database: Database,
  id: string,
  { stage, txHash, changedAt }: Pick<TransferRow, "stage" | "txHash" | "changedAt">,
): boolean {
  const { changes } = database.run(
    `UPDATE transfers SET stage = ?, txHash = nullif(?, ''), changedAt = ?
       WHERE id = ? AND status = 0 AND (stage <> ? OR coalesce(txHash, '') <> ?)`,
    ...[stage, txHash, changedAt, id, stage, txHash],
  );
  return changes > 0;
}

/** The result of a withdrawal on the chain; `moved` if it is not exactly what was asked for. */
export interface WithdrawalEnd
  extends Pick<
    TransferRow,
    "status" | "stage" | "txHash" | "feeUnits" | "finalBlock" | "changedAt"
  > {
  readonly code: ServiceReason | "";
  readonly moved?: MovedUnits;
}

/**
 * Ends a pending withdrawal. A withdrawal that has ended is not changed. With `later`, the sums
 * change at its `flush`.
 * @returns true if the row changed
 */
export function endWithdrawal(
  database: Database,
  id: string,
  ending: WithdrawalEnd,
  later?: LaterSums,
): boolean {
  const { status, stage, code, txHash, feeUnits, finalBlock, changedAt, moved } = ending;
  const before = readPostedTransfer(database, id);
  if (before?.status !== 0) return false;
  // First, because the record's change tells what it received.
  if (moved !== undefined)
    database.run(
      "UPDATE movedPayments SET receivedUnits = ?, sentUnits = ? WHERE transactionId = ?",
      ...[moved.receivedUnits, moved.sentUnits, id],
    );
  database.run(
    `UPDATE transfers SET status = ?, stage = ?, code = nullif(?, ''), txHash = nullif(?, ''), feeUnits = nullif(?, ''), finalBlock = ?,
       changedAt = ? WHERE id = ? AND status = 0`,
    ...[status, stage, code, txHash, feeUnits, finalBlock, changedAt, id],
  );
  changed(
    database,
    before,
    {
      ...before,
      status,
      feeUnits,
      finalBlock,
      saidSentUnits: moved?.sentUnits ?? before.saidSentUnits ?? null,
      saidReceivedUnits: moved?.receivedUnits ?? before.saidReceivedUnits ?? null,
    },
    later,
  );
  if (status === 2) giveBack(database, id);
  return true;
}

/**
 * Ends an unsigned withdrawal as Completed by the payment that an operator assigned to it; also one
 * that had failed. A withdrawal that is Completed is not changed.
 * @returns true if the row changed
 */
export function completeAssigned(
  database: Database,
  { transactionId, ...paid }: PaymentAssignedToWithdrawal,
  nowMs: number,
): boolean {
  const before = readPostedTransfer(database, transactionId);
  const { changes } = database.run(
    `UPDATE transfers SET status = 1, stage = 'completed', code = NULL, txHash = ?, feeUnits = nullif(?, ''), finalBlock = ?,
       changedAt = ? WHERE id = ? AND status <> 1`,
    ...[paid.txHash, paid.feeUnits, paid.block, nowMs, transactionId],
  );
  if (changes > 0 && before !== undefined)
    changed(database, before, {
      ...before,
      status: 1,
      feeUnits: paid.feeUnits,
      finalBlock: paid.block,
    });
  return changes > 0;
}

/** A merchant with open withdrawals, and the oldest of them. */
export interface WaitingMerchant {
  readonly merchant: string;
  readonly name: string;
  readonly count: number;
  readonly oldestAt: number; // Unix milliseconds
  readonly stage: string; // of the oldest
}

/**
 * Merchants whose oldest open withdrawal was made before a time, at most `most` rows. Withdrawals
 * that wait for a person's approval are a row of their own, so that an old one hides no others.
 */
export function listWaitingMerchants(
  database: Database,
  beforeMs: number,
  most: number,
): readonly WaitingMerchant[] {
  return database.all<WaitingMerchant>(
    `SELECT merchant, name, count, oldestAt, stage FROM (
       SELECT t.merchant, m.name, t.createdAt AS oldestAt, t.stage,
         count(*) OVER (PARTITION BY t.merchant, t.stage = 'awaiting_approval') AS count,
         row_number() OVER (PARTITION BY t.merchant, t.stage = 'awaiting_approval' ORDER BY t.createdAt, t.number) AS place
       FROM transfers t JOIN merchants m ON m.id = t.merchant WHERE t.operation = 'withdraw' AND t.status = 0) w
     WHERE place = 1 AND oldestAt < ? ORDER BY oldestAt, merchant LIMIT ?`,
    beforeMs,
    most,
  );
}

/** The number of pending withdrawals in each stage, and when the oldest was made. */
export function countPendingWithdrawalsByStage(
  database: Database,
): readonly { readonly stage: string; readonly count: number; readonly oldestAt: number }[] {
  return database.all(
    "SELECT stage, COUNT(*) AS count, MIN(createdAt) AS oldestAt FROM transfers WHERE operation = 'withdraw' AND status = 0 GROUP BY stage ORDER BY stage",
  );
}

/** The fees of the newest paid withdrawals of a currency, newest first. */
export function newestFees(
  database: Database,
  { currency, network }: Pick<WithdrawalRow, "currency" | "network">,
  most: number,
): readonly Pick<WithdrawalRow, "feeUnits" | "changedAt">[] {
  return database.all(
    `SELECT feeUnits, changedAt FROM transfers INDEXED BY withdrawalFees
     WHERE operation = 'withdraw' AND status = 1 AND feeUnits IS NOT NULL AND currency = ? AND network = ?
     ORDER BY changedAt DESC LIMIT ?`,
    ...[currency, network, most],
  );
}
