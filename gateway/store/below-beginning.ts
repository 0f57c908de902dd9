/**
 * Signed withdrawals with a slot below the first that their account ever had, where accounts begin
 * late: no block takes one, now or later. A row of `unknownCoins` marks each, as it does those
 * whose coin no node shows, so that an acknowledgement names the few without a look at all others.
 */
import type { ServiceReason, TransferRow } from "./rows.ts";
import type { Database } from "./store.ts";

/** The code of such a withdrawal, here and at its agent. */
export const slotUnreachableCode = "SLOT_UNREACHABLE";
/** The code of one that its agent's operator ended. */
export const endedSlotUnreachableCode = "slot_unreachable" satisfies ServiceReason;

/**
 * Marks an open one. Harmless to call twice.
 * @returns how it is now: `new` the first time, `over` if it is open no more
 */
export function markSlotUnreachable(
  database: Database,
  transactionId: string,
  nowMs: number,
): "new" | "known" | "over" {
  const sql = "SELECT status FROM transfers WHERE id = ?";
  if (database.get<Pick<TransferRow, "status">>(sql, transactionId)?.status !== 0) return "over";
  const insert =
    "INSERT OR IGNORE INTO unknownCoins (transactionId, since, chainSince) VALUES (?, ?, ?)";
  return database.run(insert, transactionId, nowMs, nowMs).changes > 0 ? "new" : "known";
}

/** True for an open one that is marked. */
export function isSlotUnreachable(database: Database, transactionId: string): boolean {
  const sql =
    "SELECT 1 FROM transfers WHERE id = ? AND status = 0 AND stage = 'stuck' AND code = ?";
  return database.get(sql, transactionId, slotUnreachableCode) !== undefined;
}
