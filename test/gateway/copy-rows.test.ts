/**
 * A whole database copied from one engine to the other and back: the same rows in the same order,
 * the same answers, the same next numbers. What cannot be copied as it is leaves nothing behind. A
 * machine without PostgreSQL copies from SQLite to SQLite alone, and says so.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { tablesInOrder } from "../../gateway/postgres/schema.ts";
import { type CopiedTable, type CopySide, copyRows } from "../../gateway/store/copy-rows.ts";
import { migrateStore } from "../../gateway/store/migrate.ts";
import type { SqlScalar } from "../../gateway/store/statements.ts";
import { createStore, type Database, openStore, type Store } from "../../gateway/store/store.ts";
import { listColumns, listTables } from "../../lab/kit/database-tables.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import {
  PostgresDatabases,
  type PostgresServer,
  postgresInstallLine,
  postgresPrograms,
  postgresSide,
  startPostgres,
} from "../../lab/kit/postgres.ts";
import { type Fixture, unpackFixture } from "../../lab/store-fixture/opened.ts";
import { askAll } from "../../lab/store-fixture/questions.ts";

const isHere = postgresPrograms() !== null;
if (!isHere) process.stderr.write(`no PostgreSQL on this machine: ${postgresInstallLine}\n`);
const engines = isHere ? (["sqlite", "postgres"] as const) : (["sqlite"] as const);

const fixtureFolder = join(import.meta.dirname, "..", "store-fixture");
const folder = mkdtempSync(join(tmpdir(), "copy-rows-"));
const fixtures: Fixture[] = [];
const open: CopySide[] = [];
let server: PostgresServer | undefined;
let databases: PostgresDatabases;

beforeAll(() => {
  if (!isHere) return;
  server = startPostgres();
  databases = new PostgresDatabases(server.urlOf);
});
afterAll(() => {
  for (const { store } of open) store.close();
  for (const fixture of fixtures) fixture.remove();
  rmSync(folder, { recursive: true });
  server?.stop();
});

function kept(side: CopySide): CopySide {
  open.push(side);
  return side;
}

/** A database with freshly made tables. */
function emptySide(engine: CopySide["engine"]): CopySide {
  if (engine === "postgres") return kept(postgresSide(databases.make(), silentLog));
  const name = join(folder, `${open.length}.db`);
  return kept({ engine, name, store: createStore(name, "", silentLog) });
}

/** The database of an earlier tree, brought to this tree's tables. */
function fixtureSide(): CopySide & { readonly fixture: Fixture } {
  const fixture = unpackFixture(fixtureFolder);
  fixtures.push(fixture);
  const { database: name } = fixture;
  migrateStore(name, { log: silentLog, nowMs: 0 });
  const side: CopySide = { engine: "sqlite", name, store: openStore(name, silentLog) };
  return { ...kept(side), fixture };
}

/** Rows of a table in the order in which the product reads them, or else in any fixed one. */
function rowsOf({ store }: CopySide, table: string): readonly string[] {
  const isInOrder = tablesInOrder.has(table);
  const columns = `${isInOrder ? "rowid AS place, " : ""}*`;
  const sql = `SELECT ${columns} FROM ${table}${isInOrder ? " ORDER BY rowid" : ""}`;
  const rows = store.database
    .all<Record<string, SqlScalar>>(sql)
    .map((row) =>
      JSON.stringify(row, (_, value: unknown) =>
        value instanceof Uint8Array ? `bytes ${Buffer.from(value).toString("hex")}` : value,
      ),
    );
  return isInOrder ? rows : rows.sort();
}

/** Tables of the schema: those by which gateways share a server are none of it. */
const tablesOf = ({ store, engine }: CopySide): readonly string[] =>
  listTables(store.database, engine === "postgres").filter(
    (name) => name !== "leases" && name !== "gateways",
  );

const contentOf = (side: CopySide): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(tablesOf(side).map((table) => [table, rowsOf(side, table)]));

/** Each table that has no row gets three, whatever its columns are. */
function fillEmptyTables(database: Database): void {
  for (const table of listTables(database, false)) {
    if (database.get(`SELECT 1 FROM ${table}`) !== undefined) continue;
    const { sql } = database.get<{ sql: string }>(
      "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?",
      table,
    ) ?? { sql: "" };
    const columns = listColumns(database, table, false);
    const into = `INSERT INTO ${table} (${columns.map(({ name }) => name).join(", ")})`;
    for (const number of [0, 1, 2]) {
      const values = columns.map(({ name, type }, place): SqlScalar => {
        const [, parent, key] =
          new RegExp(`\\b${name} [^,]*REFERENCES (\\w+)\\((\\w+)\\)`).exec(sql) ?? [];
        if (parent !== undefined) return idOf(database, parent, key ?? "", number);
        const [, words] = new RegExp(`\\(${name} IN \\(([^)]+)\\)`).exec(sql) ?? [];
        const allowed = words?.split(",") ?? [];
        const word = allowed[number % allowed.length];
        // An invoice is open, paid by a choice, or ended by a code.
        if (table === "invoices" && name === "completedBy" && number !== 1) return null;
        if (table === "invoices" && name === "code" && number !== 2) return null;
        if (word !== undefined) return type === "TEXT" ? word.replaceAll("'", "") : Number(word);
        // The second row comes before the first one in the order of texts.
        return type === "TEXT" ? `${name} ${"bac"[number]}` : 10 * place + number;
      });
      database.run(`${into} VALUES (${columns.map(() => "?").join(", ")})`, ...values);
    }
  }
}

const idOf = (database: Database, table: string, key: string, number: number): string =>
  database.all<{ id: string }>(`SELECT ${key} AS id FROM ${table} ORDER BY 1 LIMIT 3`)[number]
    ?.id ?? "";

const most = Number.MAX_SAFE_INTEGER;

/** Rows in every table, values at their limits, and numbers whose rows are gone. */
function fullSide(): CopySide {
  const side = fixtureSide();
  side.store.write((database) => {
    fillEmptyTables(database);
    const texts = [
      "",
      " ",
      "'\"\\",
      "line\nline\r\n",
      "ä ß 漢 \u{1f4b6} \uffff",
      "x".repeat(100_000),
    ];
    for (const [index, text] of texts.entries())
      database.run(
        "INSERT INTO meta (name, value) VALUES (?, ?)",
        `text ${index} ${index % 2 ? "a" : "B"}`,
        text,
      );
    database.run("UPDATE prices SET at = CASE price WHEN 'price a' THEN ? ELSE ? END", most, -most);
    database.run(
      "UPDATE callbackTargets SET oldSecretBox = x'' WHERE id = (SELECT min(id) FROM callbackTargets)",
    );
    database.run("UPDATE callbackTargets SET secretBox = x'00ff00' WHERE oldSecretBox IS NOT NULL");
    database.run("DELETE FROM sweepNotes WHERE rowid IN (1, 4)");
    database.run(
      "DELETE FROM callbackDeliveries WHERE id = (SELECT max(id) FROM callbackDeliveries)",
    );
  });
  return side;
}

/** The numbers that the engine gives to the next rows. */
function nextNumbers({ store }: CopySide): readonly unknown[] {
  return store.write((database) => {
    const next = (sql: string): unknown => database.get(sql);
    return [
      next(
        "INSERT INTO audit (at, actor, act, subject, detail) VALUES (0, '', '', '', '') RETURNING id AS n",
      ),
      next(
        "INSERT INTO callbackTries (delivery, at, status, durationMs, answer) SELECT min(id), 0, 0, 0, '' FROM callbackDeliveries RETURNING id AS n",
      ),
      next(
        "INSERT INTO callbackDeliveries (event, target, state, nextAt) SELECT id, (SELECT max(id) FROM callbackTargets), 'waiting', 0 FROM callbackEvents e WHERE NOT EXISTS (SELECT 1 FROM callbackDeliveries d WHERE d.event = e.id) ORDER BY number LIMIT 1 RETURNING id AS n",
      ),
      next("INSERT INTO completions (transactionId) VALUES ('new') RETURNING rowid AS n"),
      next(
        "INSERT INTO sweepNotes (address, network, currency, reason, detail, at) VALUES ('', '', '', '', '', 0) RETURNING rowid AS n",
      ),
    ];
  });
}

/** A side whose writes go through `change`. */
function changedSide(side: CopySide, change: (run: Database["run"]) => Database["run"]): CopySide {
  const write: Store["write"] = (fn) =>
    side.store.write((database) => fn({ ...database, run: change(database.run) }));
  const { database } = side.store;
  return { ...side, store: { ...side.store, database, write } };
}

function faultOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof AgentError) return `${error.code} ${error.effect} ${error.message}`;
    throw error;
  }
  return "none";
}

const nothing = { changes: 0 };

describe.skipIf(!isHere)("a database that goes to PostgreSQL and comes back", () => {
  let first: CopySide;
  let middle: CopySide;
  let last: CopySide;
  let copied: readonly (readonly CopiedTable[])[];

  beforeAll(() => {
    [first, middle, last] = [fullSide(), emptySide("postgres"), emptySide("sqlite")];
    copied = [copyRows(first, middle), copyRows(middle, last)];
  });

  it("has each table that either engine has, and none is empty", () => {
    for (const tables of copied) {
      const names = tables.map(({ table }) => table).sort();
      expect([names, names]).toEqual([tablesOf(first), tablesOf(middle)]);
      expect(tables.filter(({ rows }) => rows === 0)).toEqual([]);
    }
    expect(copied[0]).toEqual(copied[1]);
    const rows = copied[0]?.map(({ table, rows: count }) => [table, count]) ?? [];
    expect(Object.fromEntries(rows)).toEqual(
      Object.fromEntries(tablesOf(first).map((table) => [table, rowsOf(first, table).length])),
    );
  });

  it("has the same rows, read in the same order", () => {
    const content = contentOf(first);
    expect(contentOf(middle)).toEqual(content);
    expect(contentOf(last)).toEqual(content);
    // An order that is not the one of the key, so that the comparison can fail.
    const orders = [...tablesInOrder].filter((table) => {
      const rows = rowsOf(first, table).map((row) => row.replace(/"place":\d+,/, ""));
      return JSON.stringify(rows) !== JSON.stringify([...rows].sort());
    });
    expect(orders).toEqual([...tablesInOrder]);
  });

  it("has its triggers again, each of which runs", () => {
    const sql = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY name";
    const triggers = first.store.database.all<{ name: string }>(sql);
    expect(last.store.database.all(sql)).toEqual(triggers);
    const there = middle.store.database.all<{ name: string }>(
      "SELECT tgname AS name FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'O' ORDER BY tgname COLLATE \"C\"",
    );
    expect(there.map(({ name }) => name)).toEqual(triggers.map(({ name }) => name));
  });

  it("goes on with the same numbers, and gives none again that a row had which is gone", () => {
    const numbers = nextNumbers(first);
    expect(numbers[2]).toEqual({ n: 221 });
    expect(nextNumbers(middle)).toEqual(numbers);
    expect(nextNumbers(last)).toEqual(numbers);
  });
});

describe.skipIf(!isHere)("a gateway on a database that came back from PostgreSQL", () => {
  it("gives the answers that the first one gave", async () => {
    const { fixture, ...first } = fixtureSide();
    const middle = emptySide("postgres");
    const last = emptySide("sqlite");
    copyRows(first, middle);
    copyRows(middle, last);
    for (const { store } of [first, last]) store.close();
    renameSync(last.name, fixture.database);
    const read = (file: string): object =>
      JSON.parse(readFileSync(join(fixtureFolder, file), "utf8")) as object;
    const answers = Object.fromEntries(await askAll(fixture));
    expect(answers).toEqual({ ...read("answers.json"), ...read("answers-since.json") });
  });
});

describe.each(engines)("a copy into %s", (engine) => {
  it("reads no more rows at a time than a page has", () => {
    const from = fixtureSide();
    let largest = 0;
    const write: Store["write"] = (fn) =>
      from.store.write((database) =>
        fn({
          ...database,
          all: <Row>(sql: string, ...values: readonly SqlScalar[]): Row[] => {
            const rows = database.all<Row>(sql, ...values);
            largest = Math.max(largest, rows.length);
            return rows;
          },
        }),
      );
    copyRows(
      { ...from, store: { ...from.store, database: from.store.database, write } },
      emptySide(engine),
    );
    expect(largest).toBe(500);
    expect(rowsOf(from, "addresses").length).toBeGreaterThan(1_000);
  });

  it("is refused where the target has a row of work, and passes without the row", () => {
    const [from, to] = [fixtureSide(), emptySide(engine)];
    const row = "INSERT INTO cursors (network, block, hash) VALUES ('n', 1, 'h')";
    to.store.database.run(row);
    expect(faultOf(() => copyRows(from, to))).toBe(
      `GATEWAY_STORE_EXISTS none ${to.name} has rows of cursors already`,
    );
    to.store.database.run("DELETE FROM cursors");
    copyRows(from, to);
    expect(contentOf(to)).toEqual(contentOf(from));
    expect(faultOf(() => copyRows(from, to))).toContain("GATEWAY_STORE_EXISTS");
  });

  it("is refused where either side has tables of another version", () => {
    const [from, to] = [emptySide("sqlite"), emptySide(engine)];
    for (const side of [from, to]) {
      const set = "UPDATE meta SET value = ? WHERE name = 'schema'";
      const sql = "SELECT value FROM meta WHERE name = 'schema'";
      const { value } = side.store.database.get<{ value: string }>(sql) ?? { value: "" };
      side.store.database.run(set, "9999");
      expect(faultOf(() => copyRows(from, to))).toContain(
        `GATEWAY_STORE_VERSION none ${side.name}`,
      );
      side.store.database.run(set, value);
    }
    expect(copyRows(from, to).filter(({ rows }) => rows > 0)).toEqual([{ table: "meta", rows: 3 }]);
  });

  it.each([
    [
      "INSERT INTO meta (name, value) VALUES ('odd', CAST(x'610062' AS TEXT))",
      "meta.value of the row odd is a text with U+0000",
      "DELETE FROM meta WHERE name = 'odd'",
    ],
    [
      "INSERT INTO lookGaps (network, address, currency) VALUES ('n', 'a', CAST(x'00' AS TEXT))",
      "is a text with U+0000",
      "DELETE FROM lookGaps",
    ],
    [
      "INSERT INTO cursors (network, block, hash) VALUES ('far', 9007199254740992, 'h')",
      "cursors.block of the row far is an integer beyond 53 bits",
      "DELETE FROM cursors WHERE network = 'far'",
    ],
  ])("%s: no row is copied, and the target is still free", (plant, words, remove) => {
    const [from, to] = [fixtureSide(), emptySide(engine)];
    const before = contentOf(to);
    from.store.database.run(plant);
    const fault = faultOf(() => copyRows(from, to));
    expect(fault).toMatch(/^GATEWAY_STORE_COPY none .*; nothing was copied$/);
    expect(fault).toContain(words);
    expect(contentOf(to)).toEqual(before);
    from.store.database.run(remove);
    copyRows(from, to);
    expect(contentOf(to)).toEqual(contentOf(from));
  });

  it.each<[string, string, (run: Database["run"]) => Database["run"]]>([
    [
      "a trigger that runs",
      "meta has other rows",
      (run) =>
        (sql, ...values) =>
          /TRIGGER agentCame\b|TABLE agents DISABLE/.test(sql) ? nothing : run(sql, ...values),
    ],
    [
      "a row that nobody writes",
      "has other rows",
      (run) =>
        (sql, ...values) =>
          /^INSERT INTO openAlarms/.test(sql) ? { changes: 1 } : run(sql, ...values),
    ],
    [
      "a row that is not taken",
      "accounts took",
      (run) =>
        (sql, ...values) =>
          /^INSERT INTO accounts /.test(sql) ? nothing : run(sql, ...values),
    ],
    [
      "a value that changes on its way",
      "cursors has other rows",
      (run) =>
        (sql, ...values) =>
          /^INSERT INTO cursors /.test(sql)
            ? run(sql, ...values.map((value) => (typeof value === "number" ? value + 1 : value)))
            : run(sql, ...values),
    ],
    [
      "a row that lacks the one that it names",
      "does not fit",
      (run) =>
        (sql, ...values) =>
          /^INSERT INTO merchants /.test(sql) ? { changes: 1 } : run(sql, ...values),
    ],
  ])("%s: nothing stays, and the same target takes the copy later", (_, words, change) => {
    const [from, to] = [fixtureSide(), emptySide(engine)];
    const before = contentOf(to);
    const fault = faultOf(() => copyRows(from, changedSide(to, change)));
    expect(fault).toContain("GATEWAY_STORE_COPY none");
    expect(fault).toContain(words);
    expect(contentOf(to)).toEqual(before);
    copyRows(
      from,
      changedSide(to, (run) => run),
    );
    expect(contentOf(to)).toEqual(contentOf(from));
  });

  it("leaves the target free when its process is killed in the middle", async () => {
    const [from, to] = [fixtureSide(), emptySide(engine)];
    const before = contentOf(to);
    for (const { store } of [from, to]) store.close();
    const child = spawn(process.execPath, ["-e", killedCopy(from, to)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    const [source, target] = [reopened(from), reopened(to)];
    expect(contentOf(target)).toEqual(before);
    copyRows(source, target);
    expect(contentOf(target)).toEqual(contentOf(source));
  });
});

function reopened({ engine, name }: CopySide): CopySide {
  if (engine === "postgres") return kept(postgresSide(name, silentLog));
  return kept({ engine, name, store: openStore(name, silentLog) });
}

/** The build's own copy, which says so when most rows are written, and then waits for its end. */
function killedCopy(from: CopySide, to: CopySide): string {
  const build = (path: string): string => JSON.stringify(join(projectRoot, "dist", path));
  const sides = JSON.stringify([from, to].map(({ engine, name }) => ({ engine, name })));
  return `
    (async () => {
      const { copyRows } = await import(${build("gateway/store/copy-rows.js")});
      const { openStore } = await import(${build("gateway/store/store.js")});
      const { postgresSide } = await import(${build("lab/kit/postgres.js")});
      const log = { error() {} };
      const [from, to] = ${sides}.map(({ engine, name }) => engine === "postgres"
        ? postgresSide(name, log) : { engine, name, store: openStore(name, log) });
      const write = (fn) => to.store.write((database) => fn({
        ...database,
        run(sql, ...values) {
          if (!sql.startsWith("INSERT INTO callbackTries ")) return database.run(sql, ...values);
          database.get("SELECT 1 FROM meta");
          require("node:fs").writeSync(1, "half");
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
        },
      }));
      const { database } = to.store;
      copyRows(from, { ...to, store: { ...to.store, database, write } });
    })();`;
}
