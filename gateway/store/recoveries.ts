/** Epochs of agents that began with a recovery. */
import type { RecoveryRow } from "./rows.ts";
import type { Database } from "./store.ts";

export function readRecovery(
  database: Database,
  agentId: string,
  ledgerEpoch: number,
): RecoveryRow | undefined {
  return database.get<RecoveryRow>(
    "SELECT * FROM recoveries WHERE agent = ? AND ledgerEpoch = ?",
    agentId,
    ledgerEpoch,
  );
}

export function insertRecovery(database: Database, row: Omit<RecoveryRow, "takenAt">): void {
  const sql =
    "INSERT INTO recoveries (agent, ledgerEpoch, at, heldSeq, heldHash, mark) VALUES (?, ?, ?, ?, ?, ?)";
  database.run(sql, row.agent, row.ledgerEpoch, row.at, row.heldSeq, row.heldHash, row.mark);
}

/** Records that the agent's recovered ledger has reported. */
export function markRecoveryTaken(
  database: Database,
  agentId: string,
  ledgerEpoch: number,
  nowMs: number,
): void {
  database.run(
    "UPDATE recoveries SET takenAt = ? WHERE agent = ? AND ledgerEpoch = ?",
    nowMs,
    agentId,
    ledgerEpoch,
  );
}
