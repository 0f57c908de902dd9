/** Epochs of agents that began with a recovery. */
import type { RecoveryRow } from "./rows.ts";
import type { Database } from "./store.ts";

export function readRecovery(database: Database, agentId: string, epoch: number): RecoveryRow | undefined {
  return database.get<RecoveryRow>("SELECT * FROM recoveries WHERE agent = ? AND epoch = ?", agentId, epoch);
}

export function insertRecovery(database: Database, row: Omit<RecoveryRow, "takenAt">): void {
  const sql = "INSERT INTO recoveries (agent, epoch, at, heldSeq, heldHash, mark) VALUES (?, ?, ?, ?, ?, ?)";
  database.run(sql, row.agent, row.epoch, row.at, row.heldSeq, row.heldHash, row.mark);
}

/** Records that the agent's recovered ledger has reported. */
export function markRecoveryTaken(database: Database, agentId: string, epoch: number, nowMs: number): void {
  database.run("UPDATE recoveries SET takenAt = ? WHERE agent = ? AND epoch = ?", nowMs, agentId, epoch);
}
