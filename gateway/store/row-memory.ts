/**
 * Rows that every request reads and that hardly ever change, kept in memory. A change by this
 * process is seen at once, one by another process in the next turn of the event loop. Nothing is
 * kept of what a transaction reads, since it may be rolled back, nor of rows that are not there,
 * since an outsider can name any. Source: sqlite.org/pragma.html#pragma_data_version.
 */
import type { SqlScalar } from "./statements.ts";

/** Rows of one statement that are kept. */
const rowsMax = 4_096;
const changesThem = /^\s*(?:INSERT (?:OR [A-Z]+ )?INTO|UPDATE|DELETE FROM)\s+(?:keys|merchants)\b/;

/** True if a statement changes a table whose rows are kept. */
export function changesRemembered(sql: string): boolean {
  return changesThem.test(sql);
}

interface RowSource {
  get<Row>(sql: string, ...values: readonly SqlScalar[]): Row | undefined;
  /** A number that each commit of another connection changes. */
  readonly version: () => number;
  readonly isInTransaction: () => boolean;
}

export class RowMemory {
  readonly #source: RowSource;
  readonly #rows = new Map<string, Map<string, unknown>>(); // by statement, then by id
  #version: number | null = null;
  #isChecked = false; // in this turn of the event loop

  constructor(source: RowSource) {
    this.#source = source;
  }

  /**
   * The row of `keys` or `merchants` that `sql` selects by its id, as the database has it;
   * undefined if there is none. The object is frozen.
   */
  read<Row>(sql: string, id: string): Row | undefined {
    const { get, isInTransaction } = this.#source;
    if (isInTransaction()) return get<Row>(sql, id);
    this.#check();
    const rows = this.#rows.get(sql) ?? new Map<string, unknown>();
    const known = rows.get(id);
    if (known !== undefined) return known as Row;
    const row = get<Row>(sql, id);
    if (row === undefined) return undefined;
    if (rows.size >= rowsMax) rows.clear();
    rows.set(id, Object.freeze(row));
    this.#rows.set(sql, rows);
    return row;
  }

  /** This process has changed a row, or may have. */
  forget(): void {
    this.#rows.clear();
  }

  #check(): void {
    if (this.#isChecked) return;
    this.#isChecked = true;
    setImmediate(() => {
      this.#isChecked = false;
    });
    const version = this.#source.version();
    if (version !== this.#version) this.#rows.clear();
    this.#version = version;
  }
}
