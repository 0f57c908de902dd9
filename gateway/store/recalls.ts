/**
 * Recalls: open withdrawals that their shop no longer wants. The agent's signer refuses each one
 * that has no slot yet. The end of a withdrawal and its first signature remove its recall.
 */
import { recalledPerAckMax } from "../../protocol/payloads.ts";
import type { Database } from "./store.ts";

/** Keeps a recall. A second one of the same withdrawal changes nothing. */
export function keepRecall(database: Database, transactionId: string, nowMs: number): void {
  database.run(
    "INSERT OR IGNORE INTO recalls (transactionId, recalledAt) VALUES (?, ?)",
    transactionId,
    nowMs,
  );
}

/**
 * An agent's recalls, earliest first, at most as many as one acknowledgement can name. The order of
 * the join is fixed, because SQLite would look at each job that the agent ever had.
 */
export function listRecalled(database: Database, agentId: string): readonly string[] {
  const rows = database.all<{ readonly transactionId: string }>(
    `SELECT r.transactionId FROM recalls r CROSS JOIN jobs j ON j.transactionId = r.transactionId WHERE j.agent = ?
     ORDER BY r.recalledAt, r.transactionId LIMIT ${recalledPerAckMax}`,
    agentId,
  );
  return rows.map(({ transactionId }) => transactionId);
}

/** When the shop of an open, unsigned withdrawal recalled it; null if it did not. */
export function recalledAtOf(database: Database, transactionId: string): number | null {
  const sql = "SELECT recalledAt FROM recalls WHERE transactionId = ?";
  return database.get<{ recalledAt: number }>(sql, transactionId)?.recalledAt ?? null;
}
