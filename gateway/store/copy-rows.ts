/**
 * Copies a whole database into another one with freshly made tables, on either engine, row by row.
 * The tables are those of the schema, so a table that a later version adds is copied too. One
 * transaction writes the target: a process that is killed leaves it empty, as it was. No trigger
 * runs, since what triggers wrote is copied as rows. The rows of each table are read back from the
 * target and compared before the commit. Sources: postgresql.org/docs/15/sql-altertable.html,
 * ddl-identity-columns.html; sqlite.org/autoinc.html, rowvalue.html.
 */
import { createHash } from "node:crypto";
import { DatabaseSync } from "@photostructure/sqlite";
import { AgentError, invariant } from "../../base/fault.ts";
import { tablesInOrder } from "../postgres/schema.ts";
import { isConstraintError } from "./library-errors.ts";
import { schema } from "./schema.ts";
import { requireNewestSchema } from "./schema-check.ts";
import type { Database, SqlScalar, Store } from "./store.ts";

/** A database of a copy, on which no gateway runs. */
export interface CopySide {
  readonly store: Store;
  readonly engine: "sqlite" | "postgres";
  readonly name: string; // path or address, for messages
}

export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
}

/** Rows of a page, which are in memory at a time. */
const pageRows = 500;
/** Values of an INSERT of several rows; a longer one is not faster. */
const insertValues = 400;

/** A table as the copy reads and writes it. */
interface TableShape {
  readonly name: string;
  readonly columns: readonly string[]; // with the number of a row where rows are read in its order
  readonly texts: readonly string[]; // columns of texts
  readonly integers: readonly string[];
  readonly key: readonly string[]; // columns of the order in which both engines read
  readonly counter: string; // the column that the engine counts up by itself; "" for none
  readonly isNeverAgain: boolean; // the engine gives no number again, also of a row that is gone
}

interface ColumnRow {
  readonly name: string;
  readonly type: string;
  readonly pk: number; // place in the primary key, from 1; 0 outside of it
}

/** All tables of the schema; each follows those that its foreign keys name. */
function readShapes(): readonly TableShape[] {
  const raw = new DatabaseSync(":memory:");
  try {
    raw.exec(schema);
    const ask = <Row>(sql: string, ...values: readonly string[]): Row[] =>
      raw.prepare(sql).all(...values) as Row[];
    const found = ask<{ name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid",
    );
    const parents = new Map(
      found.map(({ name }) => {
        const named = ask<{ name: string }>(
          'SELECT "table" AS name FROM pragma_foreign_key_list(?)',
          name,
        );
        return [name, named.map((one) => one.name).filter((parent) => parent !== name)];
      }),
    );
    const shapes = found.map(({ name, sql }) => {
      const columns = ask<ColumnRow>("SELECT name, type, pk FROM pragma_table_info(?)", name);
      return shapeOf(name, columns, / AUTOINCREMENT\b/.test(sql));
    });
    return parentsFirst(shapes, parents);
  } finally {
    raw.close();
  }
}

function shapeOf(name: string, rows: readonly ColumnRow[], isNeverAgain: boolean): TableShape {
  const isInOrder = tablesInOrder.has(name);
  const namesOf = (type: string): readonly string[] =>
    rows.filter((row) => row.type === type).map((row) => row.name);
  const primary = rows.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
  const [first] = primary;
  invariant(first !== undefined, `the table ${name} has no primary key to read it by`);
  const ownCounter = primary.length === 1 && first.type === "INTEGER" ? first.name : "";
  const columns = rows.map((row) => row.name);
  return {
    name,
    columns: isInOrder ? ["rowid", ...columns] : columns,
    texts: namesOf("TEXT"),
    integers: namesOf("INTEGER"),
    key: isInOrder ? ["rowid"] : primary.map((row) => row.name),
    counter: isInOrder ? "rowid" : ownCounter,
    isNeverAgain,
  };
}

function parentsFirst(
  shapes: readonly TableShape[],
  parents: ReadonlyMap<string, readonly string[]>,
): readonly TableShape[] {
  const ordered: TableShape[] = [];
  const has = (name: string): boolean => ordered.some((shape) => shape.name === name);
  while (ordered.length < shapes.length) {
    const next = shapes.find(({ name }) => !has(name) && (parents.get(name) ?? []).every(has));
    invariant(next !== undefined, "foreign keys of tables name each other in a circle");
    ordered.push(next);
  }
  return ordered;
}

/** Acts that each engine has its own statements for. */
interface EngineWords {
  /** Has no trigger run, and returns the act that has all run again. */
  stopTriggers(database: Database, shapes: readonly TableShape[]): () => void;
  /** The words between the columns and VALUES of an INSERT that names a row's number. */
  readonly ownNumbers: string;
  /** The greatest number that the engine gave to a row, also to one that is gone; 0 for none. */
  readGiven(database: Database, shape: TableShape): number;
  /** Has the engine go on after this number. */
  goOnAfter(database: Database, shape: TableShape, number: number): void;
  /** True, in SQL, for a text that is read cut short; "" if no text is. */
  isCutText(column: string): string;
}

const words: Readonly<Record<CopySide["engine"], EngineWords>> = {
  sqlite: {
    stopTriggers(database) {
      const triggers = database.all<{ name: string; sql: string }>(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid",
      );
      for (const { name } of triggers) database.run(`DROP TRIGGER ${name}`);
      return () => {
        for (const { sql } of triggers) database.run(sql);
      };
    },
    ownNumbers: "",
    readGiven(database, { name, isNeverAgain }) {
      if (!isNeverAgain) return 0;
      const sql = "SELECT seq FROM sqlite_sequence WHERE name = ?";
      return database.get<{ seq: number }>(sql, name)?.seq ?? 0;
    },
    goOnAfter(database, { name, isNeverAgain }, number) {
      if (!isNeverAgain) return; // by itself, after the greatest number that is there
      database.run("DELETE FROM sqlite_sequence WHERE name = ?", name);
      database.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", name, number);
    },
    isCutText: (column) => `instr(${column}, char(0)) > 0`,
  },
  postgres: {
    stopTriggers(database, shapes) {
      const alter = (act: string): void => {
        for (const { name } of shapes) database.run(`ALTER TABLE ${name} ${act} TRIGGER USER`);
      };
      alter("DISABLE");
      return () => alter("ENABLE");
    },
    ownNumbers: "OVERRIDING SYSTEM VALUE",
    readGiven(database, { name, counter }) {
      const sequence = database.get<{ name: string }>(
        "SELECT pg_get_serial_sequence(?, ?) AS name",
        `"${name}"`,
        counter,
      )?.name;
      const sql = `SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END AS given FROM ${sequence}`;
      return database.get<{ given: number }>(sql)?.given ?? 0;
    },
    goOnAfter(database, { name, counter }, number) {
      // An ALTER is taken back with the transaction, and setval is not.
      database.run(`ALTER TABLE ${name} ALTER COLUMN ${counter} RESTART WITH ${number + 1}`);
    },
    isCutText: () => "",
  },
};

/**
 * Copies all rows of `from` into `to` in one transaction of each, and returns the tables with their
 * rows. Writers of `from` wait until its rows are read. The target keeps no row of its own `meta`;
 * PostgreSQL's lease and gateways are no tables of the schema and stay.
 * @throws AgentError GATEWAY_STORE_EXISTS (the target has rows), GATEWAY_STORE_COPY (a value has no
 * equal on the other engine, or the rows that were read back differ), GATEWAY_STORE_VERSION and
 * GATEWAY_STORE_OLDER of either side, and those of `Store.write`; the target stays as it was
 */
export function copyRows(from: CopySide, to: CopySide): readonly CopiedTable[] {
  for (const { store, name } of [from, to])
    requireNewestSchema(name, (value) => readMetaValue(store.database, value));
  const shapes = readShapes();
  return to.store.write((target) => {
    for (const shape of shapes) requireNoRow(target, shape, to);
    target.run("DELETE FROM meta");
    const startTriggers = words[to.engine].stopTriggers(target, shapes);
    const read = from.store.write((source) =>
      shapes.map((shape) => copyTable(source, target, shape, from, to)),
    );
    startTriggers();
    return shapes.map((shape, index) => {
      const kept = digestRows(target, shape, () => {});
      if (kept.digest !== read[index]?.digest || kept.rows !== read[index]?.rows)
        throw unlike(to, `${shape.name} has other rows than ${from.name}`);
      return { table: shape.name, rows: kept.rows };
    });
  });
}

function readMetaValue(database: Database, name: string): string {
  const sql = "SELECT value FROM meta WHERE name = ?";
  return database.get<{ value: string }>(sql, name)?.value ?? "";
}

/** The target's facts about itself are those of its making, and give way. */
function requireNoRow(target: Database, { name: table }: TableShape, { name }: CopySide): void {
  if (table === "meta" || countRows(target, table) === 0) return;
  const problem = `${name} has rows of ${table} already`;
  throw new AgentError("GATEWAY_STORE_EXISTS", "none", problem, { path: name, table });
}

const countRows = (database: Database, table: string): number =>
  database.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n ?? 0;

function unlike({ name }: CopySide, problem: string, cause?: unknown): AgentError {
  const message = `${name}: ${problem}; nothing was copied`;
  return new AgentError("GATEWAY_STORE_COPY", "none", message, { path: name }, { cause });
}

type Row = readonly SqlScalar[]; // the values in the order of the shape's columns

interface ReadRows {
  readonly rows: number;
  readonly digest: string; // over all rows in the order of the key
}

/** Copies the rows of a table, and has the target's engine count on from there. */
function copyTable(
  source: Database,
  target: Database,
  shape: TableShape,
  from: CopySide,
  to: CopySide,
): ReadRows {
  requireEqualValues(source, shape, from);
  const read = digestRows(source, shape, (page) => insertRows(target, shape, page, to));
  if (read.rows !== countRows(source, shape.name))
    throw unlike(from, `not every row of ${shape.name} was read`);
  if (shape.counter === "") return read;
  const greatest = `SELECT coalesce(max(${shape.counter}), 0) AS n FROM ${shape.name}`;
  const there = source.get<{ n: number }>(greatest)?.n ?? 0;
  const given = words[from.engine].readGiven(source, shape);
  words[to.engine].goOnAfter(target, shape, Math.max(there, given, 0));
  return read;
}

/** Both engines hold what JavaScript does: integers of 53 bits, and texts without U+0000. */
function requireEqualValues(source: Database, shape: TableShape, from: CopySide): void {
  const most = Number.MAX_SAFE_INTEGER;
  const cut = shape.texts.map((name) => [name, words[from.engine].isCutText(name)] as const);
  const wide = shape.integers.map((name) => [name, `${name} NOT BETWEEN -${most} AND ${most}`]);
  const faults = [...cut, ...wide].filter(([, condition]) => condition !== "");
  if (faults.length === 0) return;
  const cases = faults.map(([name, condition]) => `WHEN ${condition} THEN '${name}'`).join(" ");
  const found = `SELECT CASE ${cases} ELSE '' END AS fault, ${keyText(shape)} AS place FROM ${shape.name}`;
  const sql = `SELECT fault, place FROM (${found}) AS judged WHERE fault <> '' LIMIT 1`;
  const bad = source.get<{ fault: string; place: string }>(sql);
  if (bad === undefined) return;
  const kind = shape.texts.includes(bad.fault) ? "a text with U+0000" : "an integer beyond 53 bits";
  throw unlike(from, `${shape.name}.${bad.fault} of the row ${bad.place} is ${kind}`);
}

const keyText = ({ key }: TableShape): string =>
  key.map((name) => `CAST(${name} AS TEXT)`).join(" || ' ' || ");

/** Reads the rows of a table page by page, and hands each page on. */
function digestRows(
  database: Database,
  shape: TableShape,
  take: (page: readonly Row[]) => void,
): ReadRows {
  const hash = createHash("sha256");
  let rows = 0;
  for (let after: Row | null = null; ; ) {
    const page = readPage(database, shape, after);
    for (const row of page) hash.update(textOf(row));
    rows += page.length;
    if (page.length > 0) take(page);
    const last = page.at(-1);
    if (page.length < pageRows || last === undefined) return { rows, digest: hash.digest("hex") };
    after = last;
  }
}

function readPage(database: Database, shape: TableShape, after: Row | null): readonly Row[] {
  const { name, columns, key } = shape;
  const named = columns.map((column, index) => `${column} AS c${index}`).join(", ");
  const order = key.join(", ");
  const behind = `WHERE (${order}) > (${key.map(() => "?").join(", ")})`;
  const place = after === null ? [] : key.map((one) => after[columns.indexOf(one)] ?? null);
  const rows = database.all<Readonly<Record<string, SqlScalar>>>(
    `SELECT ${named} FROM ${name} ${after === null ? "" : behind} ORDER BY ${order} LIMIT ${pageRows}`,
    ...place,
  );
  return rows.map((row) => columns.map((_, index) => row[`c${index}`] ?? null));
}

/** No two rows have the same text. */
function textOf(row: Row): string {
  const texts = row.map((value) => {
    if (value === null) return "n";
    if (typeof value === "string") return `t${value.length}:${value}`;
    return typeof value === "object" ? `b${Buffer.from(value).toString("hex")}` : `i${value}`;
  });
  return `${texts.join(" ")}\n`;
}

/** PostgreSQL gets all statements of a page at once, and answers the first question for a count. */
function insertRows(
  target: Database,
  { name, columns }: TableShape,
  page: readonly Row[],
  to: CopySide,
): void {
  const most = Math.max(1, Math.floor(insertValues / columns.length));
  const row = `(${columns.map(() => "?").join(", ")})`;
  const into = `INSERT INTO ${name} (${columns.join(", ")}) ${words[to.engine].ownNumbers} VALUES`;
  const sent: { readonly changes: number }[] = [];
  try {
    for (let at = 0; at < page.length; ) {
      const count = page.length - at < most ? 1 : most;
      const values = page.slice(at, at + count).flat();
      sent.push(target.run(`${into} ${new Array(count).fill(row).join(", ")}`, ...values));
      at += count;
    }
    const written = sent.reduce((sum, { changes }) => sum + changes, 0);
    if (written !== page.length) throw unlike(to, `${name} took ${written} rows of ${page.length}`);
  } catch (error) {
    if (!isConstraintError(error)) throw error;
    throw unlike(to, `a row of ${name} does not fit: ${(error as Error).message}`, error);
  }
}
