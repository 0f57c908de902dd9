/**
 * Payments to open requests that nodes show and no block has. They are for people who wait, and
 * credit nothing. A held one counts as in time in whatever block it comes.
 */
import type { DepositRow } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";

export interface ArrivingPaymentRow {
  readonly transactionId: string;
  readonly txHash: string;
  readonly units: string;
  readonly firstAt: number; // milliseconds since 1970
  readonly seenAt: number; // when a node last showed it
  readonly isReplaceable: 0 | 1;
  readonly isHeld: 0 | 1; // keeps its request open
}

/** An open request whose address is looked at. */
export interface OpenRequest
  extends Pick<
    DepositRow,
    | ("id" | "merchant" | "currency" | "network" | "address")
    | ("units" | "toleranceUnits" | "expiresAt")
  > {
  readonly pricedUntil: number | null; // the end of the newest price of a choice; null for another request
}

/** The open requests in a currency, the nearest end first. */
export function listOpenRequests(
  database: Database,
  { network, currency }: Pick<DepositRow, "network" | "currency">,
): readonly OpenRequest[] {
  return database.all(
    `SELECT id, merchant, currency, network, address, units, coalesce(toleranceUnits, '0') AS toleranceUnits, expiresAt,
       (SELECT max(q.untilAt) FROM quotes q WHERE q.transactionId = deposits.id) AS pricedUntil FROM deposits
     WHERE status = 0 AND network = ? AND currency = ? ORDER BY expiresAt, number`,
    ...[network, currency],
  );
}

/** The payments without a block of a request, first seen first. */
export function listArrivingPayments(
  database: Database,
  transactionId: string,
): readonly ArrivingPaymentRow[] {
  const sql = "SELECT * FROM arriving WHERE transactionId = ? ORDER BY firstAt, txHash";
  return database.all<ArrivingPaymentRow>(sql, transactionId);
}

/** Keeps a payment as it is now. Harmless to call twice. */
export function keepArrivingPayment(database: Database, row: ArrivingPaymentRow): void {
  const { transactionId, txHash, units, firstAt, seenAt, isReplaceable, isHeld } = row;
  database.run(
    `INSERT INTO arriving (transactionId, txHash, units, firstAt, seenAt, isReplaceable, isHeld) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (transactionId, txHash) DO UPDATE SET units = excluded.units, seenAt = excluded.seenAt,
       isReplaceable = excluded.isReplaceable, isHeld = excluded.isHeld`,
    ...[transactionId, txHash, units, firstAt, seenAt, isReplaceable, isHeld],
  );
}

export function dropArrivingPayment(
  database: Database,
  { transactionId, txHash }: Pick<ArrivingPaymentRow, "transactionId" | "txHash">,
): void {
  database.run(
    "DELETE FROM arriving WHERE transactionId = ? AND txHash = ?",
    transactionId,
    txHash,
  );
}

/** Forgets all of a request that has ended. */
export function forgetArrivingPayments(database: Database, transactionId: string): void {
  database.run("DELETE FROM arriving WHERE transactionId = ?", transactionId);
}

/** True while payments that were seen in time, and are not final, keep a request open. */
export function isHeldOpen(database: Database, transactionId: string): boolean {
  const sql = `SELECT 1 FROM arriving a WHERE a.transactionId = ? AND a.isHeld = 1 AND NOT EXISTS
    (SELECT 1 FROM payments p WHERE p.transactionId = a.transactionId AND p.txHash = a.txHash AND p.final = 1)`;
  return database.get(sql, transactionId) !== undefined;
}
