/**
 * Places of an account whose addresses may have left before the database was put back, and that are
 * not derived yet: a row becomes smaller with each address that is watched, and ends with the last.
 */
import type { ForgottenRangeRow } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";

/**
 * Keeps places that were skipped. Places of one account never overlap: each is skipped once.
 * @public
 */
export function insertForgottenRange(database: Database, row: Omit<ForgottenRangeRow, "id">): void {
  const sql = "INSERT INTO forgottenRanges (account, family, merchant, agent, next, placesEnd, at) VALUES (?, ?, ?, ?, ?, ?, ?)";
  database.run(sql, row.account, row.family, row.merchant, row.agent, row.next, row.placesEnd, row.at);
}

/**
 * The shortest range, so that one agent's far jump holds up no other merchant's; undefined when
 * every address is watched.
 * @public
 */
export function firstForgottenRange(database: Database): ForgottenRangeRow | undefined {
  return database.get<ForgottenRangeRow>("SELECT * FROM forgottenRanges ORDER BY placesEnd - next, id LIMIT 1");
}

/**
 * Every place below `next` is watched; the row ends with its last place. Twice is harmless.
 * @public
 */
export function moveForgottenRange(database: Database, id: number, next: number): void {
  database.run("DELETE FROM forgottenRanges WHERE id = ? AND placesEnd <= ?", id, next);
  database.run("UPDATE forgottenRanges SET next = ? WHERE id = ? AND next < ?", next, id, next);
}

/**
 * Whether addresses of a merchant are still to be derived.
 * @public
 */
export function hasForgottenPlaces(database: Database, merchant: string): boolean {
  return database.get("SELECT 1 FROM forgottenRanges WHERE merchant = ? LIMIT 1", merchant) !== undefined;
}

/**
 * How many addresses are still to be derived; 0 for none.
 * @public
 */
export function countForgottenPlaces(database: Database): number {
  const sql = "SELECT coalesce(sum(placesEnd - next), 0) AS places FROM forgottenRanges";
  return database.get<{ readonly places: number }>(sql)?.places ?? 0;
}
