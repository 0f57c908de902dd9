/** Payments to deposit addresses, each by network, transaction hash and log index. */
import { insertForgottenDeposit } from "./forgotten-addresses.ts";
import { postPaymentMove, takeBackPaymentMove } from "./posting.ts";
import type { PaymentRow } from "./rows.ts";
import type { Database } from "./store.ts";

/** Keeps a payment in a block that is not final. A final payment is not changed. */
export function keepDetectedPayment(database: Database, payment: PaymentRow): void {
  upsert(database, payment, "WHERE final = 0");
}

/** Keeps a payment in a final block, and replaces any earlier row of the payment. */
export function keepFinalPayment(database: Database, payment: PaymentRow): void {
  upsert(database, payment, "");
  postPaymentMove(database, payment, merchantOf(database, payment));
}

function merchantOf(database: Database, { transactionId }: PaymentRow): string {
  const sql = "SELECT merchant FROM deposits WHERE id = ?";
  return database.get<{ merchant: string }>(sql, transactionId)?.merchant ?? "";
}

function upsert(database: Database, payment: PaymentRow, condition: "" | "WHERE final = 0"): void {
  const {
    network,
    txHash,
    logIndex,
    address,
    currency,
    units,
    block,
    blockHash,
    final,
    transactionId,
  } = payment;
  insertForgottenDeposit(database, payment);
  database.run(
    `INSERT INTO payments (network, txHash, logIndex, address, currency, units, block, blockHash, final, transactionId)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (network, txHash, logIndex) DO UPDATE SET address = excluded.address, currency = excluded.currency,
       units = excluded.units, block = excluded.block, blockHash = excluded.blockHash, final = excluded.final,
       transactionId = excluded.transactionId ${condition}`,
    ...[
      network,
      txHash,
      logIndex,
      address,
      currency,
      units,
      block,
      blockHash,
      final,
      transactionId,
    ],
  );
}

/** The final payments by the same transaction in another block. */
export function listFinalInOtherBlock(
  database: Database,
  { network, txHash, blockHash }: Pick<PaymentRow, "network" | "txHash" | "blockHash">,
): readonly PaymentRow[] {
  const sql =
    "SELECT * FROM payments WHERE network = ? AND txHash = ? AND final = 1 AND blockHash <> ? ORDER BY logIndex";
  return database.all<PaymentRow>(sql, network, txHash, blockHash);
}

/** The final payments by a transaction. */
export function listFinalOf(
  database: Database,
  network: string,
  txHash: string,
): readonly PaymentRow[] {
  const sql =
    "SELECT * FROM payments WHERE network = ? AND txHash = ? AND final = 1 ORDER BY logIndex";
  return database.all<PaymentRow>(sql, network, txHash);
}

/** Removes a final payment, and takes its move back. Harmless to call twice. */
export function removeFinalPayment(database: Database, payment: PaymentRow): void {
  const { network, txHash, logIndex } = payment;
  database.run(
    "DELETE FROM payments WHERE network = ? AND txHash = ? AND logIndex = ?",
    network,
    txHash,
    logIndex,
  );
  takeBackPaymentMove(database, payment);
}

/** Payments that are not final, in blocks `from` to `to`. */
export function listDetectedPayments(
  database: Database,
  network: string,
  from: number,
  to: number,
): readonly PaymentRow[] {
  const sql =
    "SELECT * FROM payments WHERE network = ? AND final = 0 AND block BETWEEN ? AND ? ORDER BY block, logIndex, rowid";
  return database.all<PaymentRow>(sql, network, from, to);
}

/** The newest block with a payment that counts for the request and is not final yet. */
export function newestDetectedBlock(
  database: Database,
  transactionId: string,
): Pick<PaymentRow, "network" | "block"> | undefined {
  return database.get<Pick<PaymentRow, "network" | "block">>(
    `SELECT payments.network, payments.block FROM payments
       JOIN deposits d ON d.id = payments.transactionId AND d.currency = payments.currency
     WHERE payments.transactionId = ? AND payments.final = 0 ORDER BY payments.block DESC LIMIT 1`,
    transactionId,
  );
}

/**
 * Deletes the payments that are not final in blocks `from` to `to`.
 * @returns the ids of their requests
 */
export function forgetDetectedPayments(
  database: Database,
  network: string,
  from: number,
  to: number,
): readonly string[] {
  const rows = database.all<Pick<PaymentRow, "transactionId">>(
    "SELECT DISTINCT transactionId FROM payments WHERE network = ? AND final = 0 AND block BETWEEN ? AND ?",
    ...[network, from, to],
  );
  if (rows.length > 0) {
    database.run(
      "DELETE FROM payments WHERE network = ? AND final = 0 AND block BETWEEN ? AND ?",
      network,
      from,
      to,
    );
  }
  return rows.map((row) => row.transactionId);
}

/**
 * Native-coin payments that a contract's receipt names, in final blocks up to `block`, until a
 * final balance confirms them; in the order of the chain.
 */
export function listClaimedPayments(
  database: Database,
  network: string,
  block: number,
): readonly PaymentRow[] {
  return database.all<PaymentRow>(
    "SELECT * FROM payments WHERE network = ? AND final = 0 AND logIndex < -1 AND block <= ? ORDER BY block, txHash, logIndex DESC",
    ...[network, block],
  );
}

export function dropDetectedPayment(
  database: Database,
  { network, txHash, logIndex }: PaymentRow,
): void {
  const sql =
    "DELETE FROM payments WHERE network = ? AND txHash = ? AND logIndex = ? AND final = 0";
  database.run(sql, network, txHash, logIndex);
}

export function readPayment(
  database: Database,
  { network, txHash, logIndex }: Pick<PaymentRow, "network" | "txHash" | "logIndex">,
): PaymentRow | undefined {
  const sql = "SELECT * FROM payments WHERE network = ? AND txHash = ? AND logIndex = ?";
  return database.get<PaymentRow>(sql, network, txHash, logIndex);
}

/** Ids of the requests with a payment in a currency. */
export function listRequestsPaidIn(
  database: Database,
  network: string,
  currency: string,
): readonly string[] {
  const sql =
    "SELECT DISTINCT transactionId AS id FROM payments WHERE network = ? AND currency = ?";
  return database.all<{ id: string }>(sql, network, currency).map(({ id }) => id);
}

/** True if any payment came to the address of a request, in any currency, final or not. */
export function hasPayment(database: Database, transactionId: string): boolean {
  return (
    database.get("SELECT 1 FROM payments WHERE transactionId = ? LIMIT 1", transactionId) !==
    undefined
  );
}

/** The sum of the final payments to one request in one currency. */
export function finalUnitsOf(
  database: Database,
  transactionId: string,
  network: string,
  currency: string,
): bigint {
  const rows = database.all<Pick<PaymentRow, "units">>(
    "SELECT units FROM payments WHERE transactionId = ? AND network = ? AND currency = ? AND final = 1",
    ...[transactionId, network, currency],
  );
  return rows.reduce((sum, row) => sum + BigInt(row.units), 0n);
}
