/**
 * Turns changes of records into events: reads the changes that the triggers of callback-tables.ts
 * wrote, and stores the events made from them. Each function runs inside the caller's transaction.
 */
import { type InvoiceRow, invoiceFieldsSql } from "./invoices.ts";
import type { RecordRow, TransactionRow } from "./rows.ts";
import type { Database } from "./store.ts";
import {
  depositFieldsSql,
  narrowTransactionRow,
  transferFieldsSql,
  transferPartsSql,
} from "./transaction-rows.ts";

/** The fields that decide the events of a record, as they were before a change. */
export type RecordState = Pick<RecordRow, "status" | "stage" | "receivedUnits">;

/** A final payment in another currency than the record's. */
export interface OtherPayment {
  readonly currency: string;
  readonly units: string;
  readonly txHash: string;
}

/**
 * One change of a record, with the row as it was after the change; lists have the oldest first.
 * `before` is null for a new record.
 */
export interface RecordChange {
  readonly id: number;
  readonly row: RecordRow;
  readonly before: RecordState | null;
  readonly payment: OtherPayment | null; // not null: only the payment is new
}

/** A change that cannot be told waits for an operator, and the next ones go on. */
const isNotAside =
  "NOT EXISTS (SELECT 1 FROM setAside WHERE kind = 'change' AND setAside.id = CAST(c.id AS TEXT))";

export function readChanges(database: Database, most: number): readonly RecordChange[] {
  type Row = TransactionRow & {
    readonly change: number;
    before: string | null;
    after: string | null;
    payment: string | null;
  };
  const change = "c.id AS change, c.before, c.after, c.payment";
  const rows = database.all<Row>(
    `SELECT ${depositFieldsSql}, ${change} FROM callbackChanges c CROSS JOIN deposits d ON d.id = c.transactionId WHERE ${isNotAside}
     UNION ALL SELECT ${transferFieldsSql}, ${change} FROM callbackChanges c CROSS JOIN transfers t ON t.id = c.transactionId ${transferPartsSql}
     WHERE ${isNotAside} ORDER BY change LIMIT ?`,
    most,
  );
  const read = <T>(text: string | null): T | null =>
    text === null ? null : (JSON.parse(text) as T);
  return rows.map(({ change, before, after, payment, ...now }) => ({
    id: change,
    row: {
      ...narrowTransactionRow(now as TransactionRow),
      ...read<Partial<RecordRow>>(after),
    } as RecordRow,
    before: read<RecordState>(before),
    payment: read<OtherPayment>(payment),
  }));
}

/** An event of an invoice, with the invoice as it was then. */
export interface InvoiceChange {
  readonly id: number;
  readonly event: string; // its type
  readonly row: InvoiceRow;
}

/** The changes of invoices, oldest first. */
export function readInvoiceChanges(database: Database, most: number): readonly InvoiceChange[] {
  type Row = InvoiceRow & { readonly change: number; event: string; after: string };
  const rows = database.all<Row>(
    `SELECT ${invoiceFieldsSql}, c.id AS change, c.event, c.after FROM callbackChanges c JOIN invoices i ON i.id = c.transactionId
     WHERE c.event IS NOT NULL AND ${isNotAside} ORDER BY c.id LIMIT ?`,
    most,
  );
  return rows.map(({ change: id, event, after, ...row }) => ({
    id,
    event,
    row: { ...row, ...(JSON.parse(after) as Partial<InvoiceRow>) },
  }));
}

export function hasChanges(database: Database): boolean {
  return database.get(`SELECT 1 FROM callbackChanges c WHERE ${isNotAside} LIMIT 1`) !== undefined;
}

export function forgetChange(database: Database, id: number): void {
  database.run("DELETE FROM callbackChanges WHERE id = ?", id);
}

export interface CallbackEventRow {
  readonly id: string; // header webhook-id
  readonly merchant: string;
  readonly transactionId: string | null; // null: a test event
  readonly type: string;
  readonly sequence: number;
  readonly at: number;
  readonly body: string; // the exact text that is sent and signed
}

/** `nowMs` is the time at which the event is made. */
export function insertEvent(database: Database, event: CallbackEventRow, nowMs: number): void {
  database.run(
    `INSERT INTO callbackEvents (number, id, merchant, transactionId, type, sequence, at, body)
     VALUES (max(?, (SELECT coalesce(max(number), 0) + 1 FROM callbackEvents)), ?, ?, ?, ?, ?, ?, ?)`,
    ...[
      nowMs,
      event.id,
      event.merchant,
      event.transactionId,
      event.type,
      event.sequence,
      event.at,
      event.body,
    ],
  );
}

export type NumberedEvent = Pick<CallbackEventRow, "id" | "body"> & { readonly number: number };

/** A merchant's events of records after this number, in the order in which they were made. */
export function listEventsAfter(
  database: Database,
  merchant: string,
  after: number,
  most: number,
): readonly NumberedEvent[] {
  return database.all<NumberedEvent>(
    `SELECT number, id, body FROM callbackEvents WHERE merchant = ? AND number > ? AND transactionId IS NOT NULL
     ORDER BY number LIMIT ?`,
    ...[merchant, after, most],
  );
}

/** The number of a merchant's newest event; 0 without one. */
export function newestEventNumber(database: Database, merchant: string): number {
  const sql = "SELECT max(number) AS newest FROM callbackEvents WHERE merchant = ?";
  return database.get<{ newest: number | null }>(sql, merchant)?.newest ?? 0;
}

/** The sequence of a record's newest event; 0 without an event. */
export function newestEventSequence(database: Database, transactionId: string): number {
  const sql = "SELECT max(sequence) AS newest FROM callbackEvents WHERE transactionId = ?";
  return database.get<{ newest: number | null }>(sql, transactionId)?.newest ?? 0;
}

export function hasEvent(database: Database, transactionId: string, type: string): boolean {
  const sql = "SELECT 1 FROM callbackEvents WHERE transactionId = ? AND type = ? LIMIT 1";
  return database.get(sql, transactionId, type) !== undefined;
}

/**
 * Sets callbackStatus of these records from the deliveries of their newest event. Without any
 * event, callbackStatus is 0 while the record is open and the merchant has a live target, else 3.
 */
export function refreshCallbackStatus(database: Database, transactionIds: Iterable<string>): void {
  for (const id of new Set(transactionIds)) for (const sql of refreshings) database.run(sql, id);
}

const refreshing = (table: "deposits" | "withdrawals", status: string): string =>
  `UPDATE ${table} SET callbackStatus = coalesce(
     (SELECT CASE WHEN count(*) = 0 THEN NULL WHEN count(*) FILTER (WHERE state = 'waiting') > 0 THEN 0 WHEN count(*) FILTER (WHERE state = 'given up') > 0 THEN 2
        ELSE 1 END FROM callbackDeliveries WHERE event =
          (SELECT id FROM callbackEvents WHERE transactionId = ${table}.id ORDER BY sequence DESC LIMIT 1)),
     CASE WHEN ${status} = 0 AND EXISTS (SELECT 1 FROM callbackTargets c WHERE c.merchant = ${table}.merchant AND c.offAt IS NULL)
       THEN 0 ELSE 3 END) WHERE id = ?`;

const refreshings = [
  refreshing("deposits", "status"),
  refreshing("withdrawals", "(SELECT status FROM transfers t WHERE t.id = withdrawals.id)"),
];
