/**
 * Attempts on chains without account nonces. Each has a time until which a block may take the
 * attempt. A void attempt can be in no block, now or later. Void is permanent: nothing here takes
 * it back.
 */
import type { SignatureRow } from "./rows.ts";
import type { SlotRange } from "./slots.ts";
import type { Database } from "./store.ts";

/** An attempt of a pending withdrawal that is not void yet. */
export interface OpenAttempt
  extends Pick<SignatureRow, "transactionId" | "account" | "txHash" | "validUntilMs"> {
  readonly merchant: string;
}

/**
 * Attempts on a network whose lifetime can end: those of pending withdrawals, earliest end first.
 * Withdrawals that wait for an operator are left out, except the other attempts of one whose final
 * attempt moved something else: the operator waits for their ends. An attempt that only one node
 * reports in a block is listed, because the node may have invented the block.
 */
export function listOpenAttempts(database: Database, network: string): readonly OpenAttempt[] {
  return database.all<OpenAttempt>(
    `SELECT s.transactionId, s.account, s.txHash, s.validUntilMs, t.merchant FROM transfers t JOIN signatures s ON s.transactionId = t.id
     WHERE t.operation IN ('withdraw', 'sweep', 'topup') AND t.status = 0 AND t.network = ? AND s.validUntilMs > 0
       AND s.voidAt IS NULL AND (t.stage <> 'stuck' OR EXISTS (
         SELECT 1 FROM movedPayments m WHERE m.transactionId = t.id AND m.txHash <> s.txHash))
     ORDER BY s.validUntilMs, s.txHash`,
    network,
  );
}

/**
 * Marks an attempt as void, permanently. Only an attempt with exactly this end is marked.
 * @returns true if the attempt was not void before
 */
export function markVoid(
  database: Database,
  { transactionId, txHash, validUntilMs }: Omit<OpenAttempt, "account" | "merchant">,
  nowMs: number,
): boolean {
  const sql = `UPDATE signatures SET voidAt = ?
    WHERE transactionId = ? AND txHash = ? AND validUntilMs = ? AND validUntilMs > 0 AND voidAt IS NULL`;
  return database.run(sql, nowMs, transactionId, txHash, validUntilMs).changes > 0;
}

/** The time since which an attempt is void; undefined while it is not. */
export function voidSince(
  database: Database,
  transactionId: string,
  txHash: string,
): number | undefined {
  const sql =
    "SELECT voidAt FROM signatures WHERE transactionId = ? AND txHash = ? AND voidAt IS NOT NULL";
  return database.get<{ voidAt: number }>(sql, transactionId, txHash)?.voidAt;
}

/**
 * True if a withdrawal was signed and all its known attempts are void. Attempt `but` is left out.
 */
export function isAllVoid(database: Database, transactionId: string, but = ""): boolean {
  const sql =
    "SELECT count(*) AS attempts, count(voidAt) AS voided FROM signatures WHERE transactionId = ? AND txHash <> ?";
  const row = database.get<{ attempts: number; voided: number }>(sql, transactionId, but);
  return row !== undefined && row.attempts > 0 && row.voided === row.attempts;
}

/**
 * Void attempts of an agent's pending withdrawals, newest first. The join begins with what is open,
 * because SQLite would look at each job that the agent ever had.
 */
export function listVoidHashes(database: Database, agentId: string): readonly string[] {
  const rows = database.all<Pick<SignatureRow, "txHash">>(
    `SELECT s.txHash FROM transfers t CROSS JOIN jobs j ON j.transactionId = t.id CROSS JOIN signatures s ON s.transactionId = t.id
     WHERE t.operation IN ('withdraw', 'sweep', 'topup') AND t.status = 0 AND j.agent = ? AND s.voidAt IS NOT NULL
     ORDER BY s.voidAt DESC, s.txHash`,
    agentId,
  );
  return rows.map(({ txHash }) => txHash);
}

/**
 * Void attempts of an agent's ended withdrawals with a slot in the range. A ledger restored from a
 * backup may have forgotten these ends.
 */
export function listEndedVoidInRange(
  database: Database,
  agentId: string,
  { network, account, first, last }: SlotRange,
): readonly string[] {
  const rows = database.all<Pick<SignatureRow, "txHash">>(
    `SELECT s.txHash FROM slots k JOIN transfers t ON t.id = k.transactionId JOIN jobs j ON j.transactionId = t.id
       JOIN signatures s ON s.transactionId = t.id
     WHERE k.network = ? AND k.account = ? AND j.agent = ? AND t.status <> 0 AND s.voidAt IS NOT NULL
       AND (length(k.slot), k.slot) BETWEEN (?, ?) AND (?, ?)`,
    ...[network, account, agentId, first.length, first, last.length, last],
  );
  return rows.map(({ txHash }) => txHash);
}

/**
 * Keeps an agent's statement that a signed withdrawal is over. The agent has resent the statement,
 * but this database does not hold that all attempts are void. Harmless to call twice.
 */
export function keepExpiryStatement(
  database: Database,
  transactionId: string,
  code: string,
  nowMs: number,
): void {
  database.run(
    "INSERT OR IGNORE INTO voidAttempts (transactionId, code, at) VALUES (?, ?, ?)",
    transactionId,
    code,
    nowMs,
  );
}

/** True if `keepExpiry` has kept a statement of any withdrawal. */
export function hasExpiryStatements(database: Database): boolean {
  return database.get("SELECT 1 FROM voidAttempts LIMIT 1") !== undefined;
}

/**
 * Takes out the statement that `keepExpiry` kept.
 * @returns its code; undefined without a statement
 */
export function takeExpiryStatement(database: Database, transactionId: string): string | undefined {
  const row = database.get<{ code: string }>(
    "SELECT code FROM voidAttempts WHERE transactionId = ?",
    transactionId,
  );
  if (row !== undefined)
    database.run("DELETE FROM voidAttempts WHERE transactionId = ?", transactionId);
  return row?.code;
}
