/** How the tables' functions speak to the database, whatever opened it. */

/**
 * What a column takes and gives: STRICT tables hold nothing else.
 * @public
 */
export type Value = string | number | bigint | Uint8Array | null;

/**
 * Statements by their text, prepared once and kept. Rows come as plain objects; `Row` is the
 * caller's word for their shape (rows.ts). Errors are the library's own: ask `isConflict` and
 * `isBusy`.
 * @public
 */
export interface Statements {
  run(sql: string, ...values: readonly Value[]): { readonly changes: number };
  get<Row>(sql: string, ...values: readonly Value[]): Row | undefined;
  all<Row>(sql: string, ...values: readonly Value[]): Row[];
}
