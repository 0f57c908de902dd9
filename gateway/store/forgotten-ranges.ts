/**
 * Ranges of an account's indexes whose addresses may have left before the database was restored
 * from a backup, and that are not derived yet. A row shrinks with each address that is watched, and
 * is deleted with the last.
 */
import type { ForgottenRangeRow } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";

/**
 * Keeps a range of skipped indexes. Ranges of one account never overlap, because each index is
 * skipped only once.
 */
export function insertForgottenRange(database: Database, row: Omit<ForgottenRangeRow, "id">): void {
  const sql =
    "INSERT INTO forgottenRanges (account, family, merchant, agent, next, indexesEnd, at) VALUES (?, ?, ?, ?, ?, ?, ?)";
  database.run(
    sql,
    row.account,
    row.family,
    row.merchant,
    row.agent,
    row.next,
    row.indexesEnd,
    row.at,
  );
}

/**
 * The shortest range, so that one agent's far jump does not delay another merchant's addresses.
 * Undefined if every address is watched.
 */
export function firstForgottenRange(database: Database): ForgottenRangeRow | undefined {
  return database.get<ForgottenRangeRow>(
    "SELECT * FROM forgottenRanges ORDER BY indexesEnd - next, id LIMIT 1",
  );
}

/**
 * Records that every index below `next` is watched, and deletes the row after its last index.
 * Harmless to call twice.
 */
export function moveForgottenRange(database: Database, id: number, next: number): void {
  database.run("DELETE FROM forgottenRanges WHERE id = ? AND indexesEnd <= ?", id, next);
  database.run("UPDATE forgottenRanges SET next = ? WHERE id = ? AND next < ?", next, id, next);
}

/** True if addresses of a merchant are still to be derived. */
export function hasForgottenIndexes(database: Database, merchant: string): boolean {
  return (
    database.get("SELECT 1 FROM forgottenRanges WHERE merchant = ? LIMIT 1", merchant) !== undefined
  );
}

/** The number of addresses that are still to be derived. */
export function countForgottenIndexes(database: Database): number {
  const sql = "SELECT coalesce(sum(indexesEnd - next), 0) AS places FROM forgottenRanges";
  return database.get<{ readonly places: number }>(sql)?.places ?? 0;
}
