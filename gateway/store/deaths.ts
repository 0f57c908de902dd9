/**
 * Versions on chains without account nonces. Each has a time until which a block may take the
 * version. A dead version can be in no block, now or later. Dead is permanent: nothing here takes
 * it back.
 */
import type { SignatureRow } from "./rows.ts";
import type { SlotRange } from "./slots.ts";
import type { Database } from "./store.ts";

/** A version of a pending withdrawal that is not dead yet. */
export type LivingVersion = Pick<SignatureRow, "transactionId" | "account" | "txHash" | "untilMs">;

/**
 * Versions on a network whose lifetime can end: those of pending withdrawals, earliest end first.
 * Withdrawals that wait for an operator are left out. A version that only one node reports in a
 * block is listed, because the node may have invented the block.
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
 * Marks a version as dead, permanently. Only a version with exactly this end is marked.
 * @returns true if the version was not dead before
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

/** The time since which a version is dead; undefined while it is not. */
export function deadSince(database: Database, transactionId: string, txHash: string): number | undefined {
  const sql = "SELECT deadAt FROM signatures WHERE transactionId = ? AND txHash = ? AND deadAt IS NOT NULL";
  return database.get<{ deadAt: number }>(sql, transactionId, txHash)?.deadAt;
}

/**
 * True if a withdrawal was signed and all its known versions are dead. Version `but` is left out.
 */
export function isAllDead(database: Database, transactionId: string, but = ""): boolean {
  const sql = "SELECT count(*) AS versions, count(deadAt) AS dead FROM signatures WHERE transactionId = ? AND txHash <> ?";
  const row = database.get<{ versions: number; dead: number }>(sql, transactionId, but);
  return row !== undefined && row.versions > 0 && row.dead === row.versions;
}

/** Dead versions of an agent's pending withdrawals, newest first. */
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
 * Dead versions of an agent's ended withdrawals with a slot in the range. A ledger restored from a
 * backup may have forgotten these ends.
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
 * Keeps an agent's statement that a signed withdrawal is over. The agent has resent the statement,
 * but this database does not hold that all versions are dead. Harmless to call twice.
 */
export function keepExpiry(database: Database, transactionId: string, code: string, nowMs: number): void {
  database.run("INSERT OR IGNORE INTO expiries (transactionId, code, at) VALUES (?, ?, ?)", transactionId, code, nowMs);
}

/**
 * Takes out the statement that `keepExpiry` kept.
 * @returns its code; undefined without a statement
 */
export function takeExpiry(database: Database, transactionId: string): string | undefined {
  const row = database.get<{ code: string }>("SELECT code FROM expiries WHERE transactionId = ?", transactionId);
  if (row !== undefined) database.run("DELETE FROM expiries WHERE transactionId = ?", transactionId);
  return row?.code;
}
