/**
 * Versions whose chain counts none: until when they may come into a block, and which of them never
 * will. Dead is for ever: nothing here takes it back.
 */
import type { SignatureRow } from "./rows.ts";
import type { SlotRange } from "./slots.ts";
import type { Database } from "./store.ts";

/**
 * A version of a pending withdrawal that is not called dead.
 * @public
 */
export type LivingVersion = Pick<SignatureRow, "transactionId" | "account" | "txHash" | "untilMs">;

/**
 * Versions on a network that waiting may have ended: of pending withdrawals, those that end first
 * in front. What is for a person is left out. One that a block holds by a single node's word is
 * not: that node may have made it up.
 * @public
 */
export function listLivingVersions(database: Database, network: string): readonly LivingVersion[] {
  return database.all<LivingVersion>(
    `SELECT s.transactionId, s.account, s.txHash, s.untilMs FROM transactions t JOIN signatures s ON s.transactionId = t.id
     WHERE t.operation IN ('withdraw', 'sweep', 'topup') AND t.status = 0 AND t.network = ? AND s.untilMs > 0
       AND s.deadAt IS NULL AND t.stage <> 'stuck' ORDER BY s.untilMs, s.txHash`,
    network,
  );
}

/**
 * For good. Only for a version that is known by this very end.
 * @returns whether it is news
 * @public
 */
export function markDead(
  database: Database,
  { transactionId, txHash, untilMs }: Omit<LivingVersion, "account">,
  nowMs: number,
): boolean {
  const sql = `UPDATE signatures SET deadAt = ?
    WHERE transactionId = ? AND txHash = ? AND untilMs = ? AND untilMs > 0 AND deadAt IS NULL`;
  return database.run(sql, nowMs, transactionId, txHash, untilMs).changes > 0;
}

/**
 * Since when a version is called dead; undefined while it is not.
 * @public
 */
export function deadSince(database: Database, transactionId: string, txHash: string): number | undefined {
  const sql = "SELECT deadAt FROM signatures WHERE transactionId = ? AND txHash = ? AND deadAt IS NOT NULL";
  return database.get<{ deadAt: number }>(sql, transactionId, txHash)?.deadAt;
}

/**
 * Whether a withdrawal was signed, and every version that is known is dead. `but` leaves one out.
 * @public
 */
export function isAllDead(database: Database, transactionId: string, but = ""): boolean {
  const sql = "SELECT count(*) AS versions, count(deadAt) AS dead FROM signatures WHERE transactionId = ? AND txHash <> ?";
  const row = database.get<{ versions: number; dead: number }>(sql, transactionId, but);
  return row !== undefined && row.versions > 0 && row.dead === row.versions;
}

/**
 * Dead versions of an agent's pending withdrawals, the newest first.
 * @public
 */
export function listDeadHashes(database: Database, agentId: string): readonly string[] {
  const rows = database.all<Pick<SignatureRow, "txHash">>(
    `SELECT s.txHash FROM transactions t JOIN jobs j ON j.transactionId = t.id JOIN signatures s ON s.transactionId = t.id
     WHERE t.operation IN ('withdraw', 'sweep', 'topup') AND t.status = 0 AND j.agent = ? AND s.deadAt IS NOT NULL
     ORDER BY s.deadAt DESC, s.txHash`,
    agentId,
  );
  return rows.map(({ txHash }) => txHash);
}

/**
 * Dead versions of an agent's withdrawals that have ended and have a slot of the range: a ledger
 * that was put back may have forgotten that they are.
 * @public
 */
export function listEndedDeadInRange(
  database: Database,
  agentId: string,
  { network, account, first, last }: SlotRange,
): readonly string[] {
  const rows = database.all<Pick<SignatureRow, "txHash">>(
    `SELECT s.txHash FROM slots k JOIN transactions t ON t.id = k.transactionId JOIN jobs j ON j.transactionId = t.id
       JOIN signatures s ON s.transactionId = t.id
     WHERE k.network = ? AND k.account = ? AND j.agent = ? AND t.status <> 0 AND s.deadAt IS NOT NULL
       AND (length(k.slot), k.slot) BETWEEN (?, ?) AND (?, ?)`,
    ...[network, account, agentId, first.length, first, last.length, last],
  );
  return rows.map(({ txHash }) => txHash);
}

/**
 * The agent's word that a signed withdrawal is over, told again to a database that does not hold
 * that its versions are dead. Twice is harmless.
 * @public
 */
export function keepExpiry(database: Database, transactionId: string, code: string, nowMs: number): void {
  database.run("INSERT OR IGNORE INTO expiries (transactionId, code, at) VALUES (?, ?, ?)", transactionId, code, nowMs);
}

/**
 * Takes the word out that `keepExpiry` kept.
 * @returns its code; undefined where there is none
 * @public
 */
export function takeExpiry(database: Database, transactionId: string): string | undefined {
  const row = database.get<{ code: string }>("SELECT code FROM expiries WHERE transactionId = ?", transactionId);
  if (row !== undefined) database.run("DELETE FROM expiries WHERE transactionId = ?", transactionId);
  return row?.code;
}
