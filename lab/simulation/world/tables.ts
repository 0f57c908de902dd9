/**
 * The gateway's database in memory, made once per process and emptied for each run. An answer is
 * kept while none of the tables it was taken from has been written to: asking SQLite again takes
 * longer than anything else in a run.
 */
import { DatabaseSync } from "@photostructure/sqlite";
import { schema } from "../../../gateway/store/schema.ts";
import type { SqlScalar } from "../../../gateway/store/store.ts";

type RawDatabase = InstanceType<typeof DatabaseSync>;

/** Counts up with everything that may have changed the table. */
interface Table {
  readonly name: string;
  writes: number;
  isEmpty: boolean;
}

/** All rows of all tables. */
type Backup = ReadonlyMap<string, readonly Readonly<Record<string, SqlScalar>>[]>;

interface KeptAnswer {
  readonly at: number;
  readonly answer: unknown;
}

const keptMax = 500;

/** One prepared statement, as the store uses it. */
class Statement {
  /** Names of the tables that it writes, those of its triggers too. */
  readonly writesTo: readonly string[];
  readonly #raw: ReturnType<RawDatabase["prepare"]>;
  readonly #reads: readonly Table[];
  readonly #writes: readonly Table[];
  readonly #kept = { one: new Map<string, KeptAnswer>(), all: new Map<string, KeptAnswer>() };
  readonly #columns: readonly string[];
  readonly #blank: Readonly<Record<string, SqlScalar>>;

  constructor(
    raw: ReturnType<RawDatabase["prepare"]>,
    reads: readonly Table[],
    writes: readonly Table[],
  ) {
    this.#raw = raw;
    this.#columns = reads.length === 0 ? [] : raw.columns().map(({ name }) => name);
    this.#blank = Object.fromEntries(this.#columns.map((name) => [name, null]));
    if (this.#columns.length > 0) raw.setReturnArrays(true);
    this.#reads = reads;
    this.#writes = writes;
    this.writesTo = writes.map(({ name }) => name);
  }

  get(...values: SqlScalar[]): unknown {
    return this.#ask(this.#kept.one, values, () => {
      const cells = this.#raw.get(...values);
      return cells === undefined ? undefined : this.#row(cells);
    });
  }

  all(...values: SqlScalar[]): unknown {
    return this.#ask(this.#kept.all, values, () =>
      this.#raw.all(...values).map((cells) => this.#row(cells)),
    );
  }

  run(...values: SqlScalar[]): ReturnType<ReturnType<RawDatabase["prepare"]>["run"]> {
    for (const table of this.#writes) {
      table.writes += 1;
      table.isEmpty = false;
    }
    return this.#raw.run(...values);
  }

  /** SQLite's cells as the object it would have made of them, in a third of its time. */
  #row(cells: unknown): unknown {
    if (this.#columns.length === 0) return cells;
    const row: Record<string, SqlScalar> = { ...this.#blank };
    for (let at = 0; at < this.#columns.length; at += 1)
      row[this.#columns[at] as string] = (cells as SqlScalar[])[at] as SqlScalar;
    return row;
  }

  #ask(
    answers: Map<string, KeptAnswer>,
    values: readonly SqlScalar[],
    ask: () => unknown,
  ): unknown {
    if (this.#reads.length === 0) return ask();
    let at = 0;
    for (const table of this.#reads) at += table.writes;
    const key = values.length === 1 ? String(values[0]) : values.join("\n");
    const kept = answers.get(key);
    if (kept !== undefined && kept.at === at) return kept.answer;
    const answer = ask();
    if (answers.size >= keptMax) answers.clear();
    answers.set(key, { at, answer });
    return answer;
  }
}

export class Tables {
  readonly #raw: RawDatabase = new DatabaseSync(":memory:", { enableForeignKeyConstraints: true });
  readonly #statements = new Map<string, Statement>();
  readonly #tables: readonly Table[];
  readonly #triggered: { readonly name: string; readonly into: string }[] = []; // tables that a trigger of `name` writes

  constructor() {
    this.#raw.exec(schema);
    const rows = this.#raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as {
      name: string;
    }[];
    this.#tables = rows.map(({ name }) => ({ name, writes: 0, isEmpty: true }));
    const triggers = this.#raw
      .prepare("SELECT tbl_name AS name, sql FROM sqlite_schema WHERE type = 'trigger'")
      .all();
    for (const { name, sql } of triggers as { name: string; sql: string }[])
      for (const [, into = ""] of sql.matchAll(
        /(?:INSERT(?: OR \w+)? INTO|UPDATE(?: OR \w+)?|DELETE FROM) (\w+)/g,
      ))
        this.#triggered.push({ name, into });
  }

  prepare(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const named = this.#tables.filter(({ name }) => new RegExp(`\\b${name}\\b`).test(sql));
    const isRead = /^\s*SELECT\b/.test(sql);
    const written = /^\s*(?:INSERT(?: OR \w+)? INTO|UPDATE(?: OR \w+)?|DELETE FROM)\s+(\w+)/.exec(
      sql,
    )?.[1];
    const takesBack = /^\s*ROLLBACK\b/.test(sql);
    // A trigger writes into another table than the statement names.
    const also = this.#triggered.flatMap(({ name, into }) => (name === written ? into : []));
    const writes = takesBack
      ? this.#tables
      : this.#tables.filter(({ name }) => name === written || also.includes(name));
    const made = new Statement(this.#raw.prepare(sql), isRead ? named : [], writes);
    this.#statements.set(sql, made);
    return made;
  }

  exec(sql: string): void {
    this.prepare(sql).run();
  }

  get isTransaction(): boolean {
    return this.#raw.isTransaction;
  }

  rollback(): void {
    if (this.#raw.isTransaction) this.exec("ROLLBACK");
  }

  backup(): Backup {
    return new Map(
      this.#tables.map(({ name }) => [
        name,
        this.prepare(`SELECT * FROM ${name}`).all() as Record<string, SqlScalar>[],
      ]),
    );
  }

  restore(rows: Backup): void {
    this.empty();
    this.exec("PRAGMA foreign_keys = OFF");
    for (const [name, each] of rows) {
      for (const row of each) {
        const columns = Object.keys(row);
        const marks = columns.map(() => "?").join(", ");
        this.prepare(`INSERT INTO ${name} (${columns.join(", ")}) VALUES (${marks})`).run(
          ...Object.values(row),
        );
      }
    }
    this.exec("PRAGMA foreign_keys = ON");
  }

  empty(): void {
    this.rollback();
    this.exec("PRAGMA foreign_keys = OFF");
    for (const table of this.#tables) {
      if (table.isEmpty) continue;
      this.exec(`DELETE FROM ${table.name}`);
      table.isEmpty = true;
    }
    this.exec("PRAGMA foreign_keys = ON");
  }
}
