/**
 * The interface between the tables' functions and the database, independent of how the database was
 * opened.
 */

/** A value of a column; STRICT tables hold no other kinds. */
export type SqlScalar = string | number | bigint | Uint8Array | null;

/**
 * Statements by their text, prepared once and kept. SQLite prepares a statement again at each call
 * if a value may change its plan: a value for LIMIT, and `column = ?` where a partial index names a
 * constant for the column. So the statements of each order have their LIMIT as text, and `IS ?`.
 * Rows come as plain objects; the caller names their type with `Row` (rows.ts). Errors are the
 * library's own; test them with `isConflict` and `isBusy`.
 */
export interface Statements {
  run(sql: string, ...values: readonly SqlScalar[]): { readonly changes: number };
  get<Row>(sql: string, ...values: readonly SqlScalar[]): Row | undefined;
  all<Row>(sql: string, ...values: readonly SqlScalar[]): Row[];
}
