/**
 * The rows of the withdrawals that one call's statements are about: each is read once and written
 * once, however many entries name it. Lives inside one transaction of the database, in which nobody
 * else writes. What changes the rows in another way has to come after `flush`.
 */
import { hasAssigned } from "../store/assigned-payments.ts";
import { type AskedRow, listAsked, markAnswered, readAsked } from "../store/jobs.ts";
import type { Database } from "../store/store.ts";
import { updateWithdrawal } from "../store/withdrawals.ts";
import type { Change } from "./effect.ts";

interface FrameRow {
  row: AskedRow;
  change: Change; // not written yet
}

export class FrameRows {
  readonly #database: Database;
  readonly #nowMs: number;
  readonly #rows = new Map<string, FrameRow>();
  #hasAssigned: boolean | null = null;

  constructor(database: Database, nowMs: number) {
    this.#database = database;
    this.#nowMs = nowMs;
  }

  /** Reads in one statement the rows that entries are about to name. Harmless to leave out. */
  load(transactionIds: ReadonlySet<string>): void {
    const wanted = [...transactionIds].filter((id) => !this.#rows.has(id));
    if (wanted.length < 2) return;
    for (const row of listAsked(this.#database, wanted))
      this.#rows.set(row.id, { row, change: {} });
  }

  /** The row as the entries so far have left it; null if there is no such transaction. */
  read(transactionId: string): AskedRow | null {
    const known = this.#rows.get(transactionId);
    if (known !== undefined) return known.row;
    const row = readAsked(this.#database, transactionId);
    if (row !== undefined) this.#rows.set(transactionId, { row, change: {} });
    return row ?? null;
  }

  /** True if an operator has assigned any payment to any withdrawal; hardly ever. */
  get hasAssigned(): boolean {
    this.#hasAssigned ??= hasAssigned(this.#database);
    return this.#hasAssigned;
  }

  /**
   * Changes the row of a withdrawal; one that ends it is written at once, since sums follow it.
   * @returns true if there is such a row and it is another one now
   */
  change(transactionId: string, asked: Change): boolean {
    const row = this.read(transactionId);
    const change = row === null ? {} : differing(row, asked);
    if (Object.keys(change).length === 0) return false;
    const known = this.#rows.get(transactionId) as FrameRow;
    known.row = { ...known.row, ...change };
    known.change = { ...known.change, ...change };
    if (change.status !== undefined) this.#write(transactionId, known);
    return true;
  }

  /** Marks the job as answered. @returns true if it is the job's first answer */
  answer(transactionId: string): boolean {
    const row = this.read(transactionId);
    if (row === null || row.answeredAt !== null || row.jobAgent === null) return false;
    (this.#rows.get(transactionId) as FrameRow).row = { ...row, answeredAt: this.#nowMs };
    return markAnswered(this.#database, transactionId, this.#nowMs);
  }

  /** Writes what has changed, and forgets the rows. Harmless to repeat. */
  flush(): void {
    for (const [transactionId, one] of this.#rows) this.#write(transactionId, one);
    this.#rows.clear();
  }

  #write(transactionId: string, one: FrameRow): void {
    const { change } = one;
    one.change = {};
    if (Object.keys(change).length > 0)
      updateWithdrawal(this.#database, transactionId, change, this.#nowMs);
  }
}

/** The part of a change that a row does not have already. */
function differing(row: AskedRow, change: Change): Change {
  const names = Object.keys(change) as (keyof Change)[];
  return Object.fromEntries(
    names.filter((name) => change[name] !== row[name]).map((name) => [name, change[name]]),
  );
}
