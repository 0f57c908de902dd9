/**
 * Tables whose rows are written by position, so that a page of them can be read as a table, and are
 * used by name. Pure.
 */

type Row = readonly unknown[];

/** The fields of a row by these names; a field that the row leaves out is undefined. */
type NamedRow<N extends readonly string[], R extends Row> = {
  readonly [I in Exclude<keyof N, keyof (readonly string[])> as N[I] & string]: I extends keyof R
    ? R[I]
    : undefined;
};

export type NamedRows<N extends readonly string[], T extends Readonly<Record<string, Row>>> = {
  readonly [K in keyof T]: NamedRow<N, T[K]>;
};

/** Gives the fields of each row these names. The table and its rows are frozen. */
export function nameFields<
  const N extends readonly string[],
  const T extends Readonly<Record<string, Row>>,
>(names: N, rows: T): NamedRows<N, T> {
  const nameRow = (row: Row): object =>
    Object.freeze(Object.fromEntries(names.map((name, at) => [name, row[at]])));
  const named = Object.entries(rows).map(([key, row]) => [key, nameRow(row)]);
  return Object.freeze(Object.fromEntries(named)) as NamedRows<N, T>;
}
