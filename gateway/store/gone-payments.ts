/**
 * Final payments whose block left the chain. Such a payment is no row of `payments` any more, so
 * books, balances and sweeps follow the chain at once. It still counts for a request that has ended
 * until an operator decides (`open`), and after that if its deposit is kept (`kept`). It counts for
 * nothing once it is revoked, or if all requests that counted it were open (`revoked`). A payment
 * that a final block holds again is a row of `payments` again, and its row here goes.
 */
import { type AccountRow, hasUnsweptSql, unsweptUnitsOf } from "./journal.ts";
import { listFinalInOtherBlock, removeFinalPayment } from "./payments.ts";
import type { DepositRow, PaymentRow } from "./rows.ts";
import type { Database } from "./store.ts";

export type GonePaymentState = "open" | "kept" | "revoked";

/** The stage of a Failed deposit that was Completed, until an operator revoked it. */
export const revokedStage = "reorged";

export interface GonePayment extends Omit<PaymentRow, "final"> {
  readonly state: GonePaymentState;
  readonly at: number; // when its block was found to have left, Unix milliseconds
  readonly toldAt: number | null; // when its alarm was raised
}

/** Payments that count although no block has them, as rows of a payment. */
export const countedGonePaymentsSql = `SELECT network, txHash, logIndex, address, currency, units, block, blockHash, 1 AS final, transactionId
  FROM gonePayments WHERE state <> 'revoked'`;

/** The deposits that counted a payment: those to which it was credited, or else its own. */
function countedBy(
  database: Database,
  { network, txHash, logIndex, transactionId }: PaymentRow,
): readonly string[] {
  const sql =
    "SELECT transactionId AS id FROM depositCredits WHERE network = ? AND txHash = ? AND logIndex = ? ORDER BY transactionId";
  const ids = database.all<{ id: string }>(sql, network, txHash, logIndex).map(({ id }) => id);
  return ids.length === 0 ? [transactionId] : ids;
}

/**
 * Moves a final payment to those whose block left. No operator is asked about one that only open
 * requests counted. Must not be called twice.
 * @returns the deposits to judge again
 */
export function moveToGonePayments(
  database: Database,
  payment: PaymentRow,
  at: number,
): readonly string[] {
  const { network, txHash, logIndex, address, currency, units, block, blockHash, transactionId } =
    payment;
  const ids = countedBy(database, payment);
  const ended =
    "SELECT 1 FROM deposits WHERE id IN (SELECT value FROM json_each(?)) AND status <> 0 LIMIT 1";
  const state = database.get(ended, JSON.stringify(ids)) === undefined ? "revoked" : "open";
  removeFinalPayment(database, payment);
  database.run(
    `INSERT INTO gonePayments (network, txHash, logIndex, address, currency, units, block, blockHash, transactionId, state, at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (network, txHash, logIndex, blockHash) DO UPDATE SET address = excluded.address, currency = excluded.currency,
       units = excluded.units, block = excluded.block, transactionId = excluded.transactionId, state = excluded.state,
       at = excluded.at, toldAt = NULL`,
    ...[
      network,
      txHash,
      logIndex,
      address,
      currency,
      units,
      block,
      blockHash,
      transactionId,
      state,
      at,
    ],
  );
  return ids;
}

/**
 * The final payments in these blocks of the chain whose own block is another one. A payment whose
 * block has no known hash is left out.
 */
export function listLostPaymentsIn(
  database: Database,
  network: string,
  blocks: readonly { readonly number: number; readonly hash: string }[],
): readonly PaymentRow[] {
  const [from, to] = [blocks[0]?.number ?? 0, blocks.at(-1)?.number ?? -1];
  const hashes = new Map(blocks.map(({ number, hash }) => [number, hash]));
  const sql =
    "SELECT * FROM payments WHERE network = ? AND final = 1 AND block BETWEEN ? AND ? AND blockHash <> '' ORDER BY block, rowid";
  return database
    .all<PaymentRow>(sql, network, from, to)
    .filter(({ block, blockHash }) => hashes.get(block) !== blockHash);
}

/** The newest final payment up to a block with a known hash; undefined for none. */
export function newestPaidBlock(
  database: Database,
  network: string,
  block: number,
): Pick<PaymentRow, "block" | "blockHash"> | undefined {
  const sql = `SELECT block, blockHash FROM payments WHERE network = ? AND final = 1 AND block <= ? AND blockHash <> ''
    ORDER BY block DESC LIMIT 1`;
  return database.get(sql, network, block);
}

/** True if a payment of the same transaction was final in another block, or left the chain. */
export function wasPaidInOtherBlock(database: Database, payment: PaymentRow): boolean {
  return (
    listFinalInOtherBlock(database, payment).length > 0 || goneOf(database, payment).length > 0
  );
}

function goneOf(
  database: Database,
  { network, txHash }: Pick<PaymentRow, "network" | "txHash">,
): readonly GonePayment[] {
  const sql =
    "SELECT * FROM gonePayments WHERE network = ? AND txHash = ? ORDER BY logIndex, blockHash";
  return database.all<GonePayment>(sql, network, txHash);
}

/**
 * The payment of before that is final again with this one: of the same transaction, to the same
 * address and of the same sum. Its place in the block may be another one. Its row here goes, and an
 * operator's credit follows it.
 */
export function takeBackGonePayment(
  database: Database,
  payment: PaymentRow,
): GonePayment | undefined {
  const { address, currency, units, network, logIndex } = payment;
  const same = goneOf(database, payment).filter(
    (one) => one.address === address && one.currency === currency && one.units === units,
  );
  const back = same.find((one) => one.logIndex === logIndex) ?? same[0];
  if (back !== undefined) forgetGone(database, back, { network, txHash: payment.txHash, logIndex });
  return back;
}

/**
 * Payments to an address without a transaction of their own whose block left, and that a balance of
 * `units` more than is explained shows again, oldest first. Their rows here go.
 */
export function takeBackUnnamedPayments(
  database: Database,
  { network, address, currency }: Pick<PaymentRow, "network" | "address" | "currency">,
  units: bigint,
): readonly GonePayment[] {
  const rows = database.all<GonePayment>(
    `SELECT * FROM gonePayments WHERE network = ? AND address = ? AND currency = ? AND txHash LIKE 'internal:%' ORDER BY block, txHash, logIndex, blockHash`,
    ...[network, address, currency],
  );
  let left = units;
  return rows.filter((row) => {
    if (BigInt(row.units) > left) return false;
    left -= BigInt(row.units);
    forgetGone(database, row, row);
    return true;
  });
}

function forgetGone(
  database: Database,
  { network, txHash, logIndex, blockHash }: GonePayment,
  to: Pick<PaymentRow, "network" | "txHash" | "logIndex">,
): void {
  const place = [network, txHash, logIndex] as const;
  database.run(
    "DELETE FROM gonePayments WHERE network = ? AND txHash = ? AND logIndex = ? AND blockHash = ?",
    ...place,
    blockHash,
  );
  if (to.logIndex === logIndex) return;
  const credited = "network = ? AND txHash = ? AND logIndex = ?";
  const moved = `SELECT transactionId FROM depositCredits WHERE ${credited}`;
  database.run(
    `DELETE FROM depositCredits WHERE ${credited} AND transactionId IN (${moved})`,
    ...[network, txHash, to.logIndex, ...place],
  );
  database.run(
    `UPDATE depositCredits SET logIndex = ? WHERE ${credited}`,
    ...[to.logIndex, ...place],
  );
}

/** Payments whose block left and of which nobody was told, oldest first, at most `most`. */
export function listUntoldGonePayments(
  database: Database,
  network: string,
  most: number,
): readonly GonePayment[] {
  const sql =
    "SELECT * FROM gonePayments WHERE network = ? AND state = 'open' AND toldAt IS NULL ORDER BY block, txHash, logIndex, blockHash LIMIT ?";
  return database.all<GonePayment>(sql, network, most);
}

export function markGonePaymentTold(
  database: Database,
  { network, txHash, logIndex, blockHash }: GonePayment,
  at: number,
): void {
  const sql =
    "UPDATE gonePayments SET toldAt = ? WHERE network = ? AND txHash = ? AND logIndex = ? AND blockHash = ?";
  database.run(sql, at, network, txHash, logIndex, blockHash);
}

const ofDeposit = `(transactionId = ? OR EXISTS (SELECT 1 FROM depositCredits c
  WHERE c.network = g.network AND c.txHash = g.txHash AND c.logIndex = g.logIndex AND c.transactionId = ?))`;

/** The payments of a deposit whose block left: to its address, or credited to it. */
export function listGonePaymentsOf(
  database: Database,
  transactionId: string,
): readonly GonePayment[] {
  const sql = `SELECT * FROM gonePayments g WHERE ${ofDeposit} ORDER BY block, txHash, logIndex`;
  return database.all<GonePayment>(sql, transactionId, transactionId);
}

type CountedDeposit = Pick<DepositRow, "id" | "network" | "currency">;

const withCredit = `SELECT 1 FROM depositCredits c
  WHERE c.network = g.network AND c.txHash = g.txHash AND c.logIndex = g.logIndex`;
/**
 * The payments that a deposit counted: in its own currency, and none that an operator credited to
 * another deposit.
 */
const countedFor = `g.network = ? AND g.currency = ? AND ${ofDeposit}
  AND (NOT EXISTS (${withCredit}) OR EXISTS (${withCredit} AND c.transactionId = ?))`;
const placesOf = ({ id, network, currency }: CountedDeposit) =>
  [network, currency, id, id, id] as const;

/** True if a payment that a deposit counted was revoked and no final block holds it again. */
export function hasRevokedPayment(database: Database, deposit: CountedDeposit): boolean {
  const sql = `SELECT 1 FROM gonePayments g WHERE state = 'revoked' AND ${countedFor} LIMIT 1`;
  return database.get(sql, ...placesOf(deposit)) !== undefined;
}

/** Keeps an operator's decision on payments. */
export function decideGonePayments(
  database: Database,
  payments: readonly GonePayment[],
  state: "kept" | "revoked",
): void {
  const sql =
    "UPDATE gonePayments SET state = ? WHERE network = ? AND txHash = ? AND logIndex = ? AND blockHash = ?";
  for (const { network, txHash, logIndex, blockHash } of payments)
    database.run(sql, state, network, txHash, logIndex, blockHash);
}

/** Deposits that counted a payment on which an operator must decide. */
export const undecidedDepositsSql = `SELECT coalesce(c.transactionId, g.transactionId) AS id FROM gonePayments g
  LEFT JOIN depositCredits c ON c.network = g.network AND c.txHash = g.txHash AND c.logIndex = g.logIndex WHERE g.state = 'open'`;

/** A deposit with a payment on which an operator must decide. */
export interface UndecidedDeposit {
  readonly id: string;
  readonly merchant: string; // its name
  readonly since: number; // Unix milliseconds
}

/** The deposits on which an operator must decide, the oldest first, at most `most`. */
export function listUndecidedDeposits(
  database: Database,
  most: number,
): readonly UndecidedDeposit[] {
  return database.all<UndecidedDeposit>(
    `SELECT t.id, m.name AS merchant, min(u.at) AS since
     FROM (SELECT coalesce(c.transactionId, g.transactionId) AS id, g.at FROM gonePayments g
       LEFT JOIN depositCredits c ON c.network = g.network AND c.txHash = g.txHash AND c.logIndex = g.logIndex
       WHERE g.state = 'open') u
     JOIN deposits t ON t.id = u.id JOIN merchants m ON m.id = t.merchant GROUP BY t.id, m.name ORDER BY since, t.id LIMIT ?`,
    most,
  );
}

/** The units of a deposit on which an operator must decide: they are no money to pay back. */
export function undecidedUnits(database: Database, deposit: CountedDeposit): bigint {
  const sql = `SELECT units FROM gonePayments g WHERE state = 'open' AND ${countedFor}`;
  const rows = database.all<Pick<GonePayment, "units">>(sql, ...placesOf(deposit));
  return rows.reduce((sum, { units }) => sum + BigInt(units), 0n);
}

/**
 * The units that open sweeps of a merchant cannot bring any more, because the payments that they
 * take left the chain.
 */
export function unsweepableUnits(database: Database, merchant: string, currency: string): bigint {
  const rows = database.all<Pick<AccountRow, "units" | "heldUnits">>(
    `SELECT u.units, u.heldUnits FROM accounts u WHERE ${hasUnsweptSql} AND u.merchant = ? AND u.currency = ?
       AND EXISTS (SELECT 1 FROM gonePayments g WHERE g.network = u.network AND g.address = u.address AND g.currency = u.currency)
       AND EXISTS (SELECT 1 FROM sweeps s CROSS JOIN transfers t ON t.id = s.id
         WHERE s.address = u.address AND t.network = u.network AND t.currency = u.currency AND t.status = 0)`,
    ...[merchant, currency],
  );
  return rows.map(unsweptUnitsOf).reduce((sum, units) => (units < 0n ? sum - units : sum), 0n);
}
