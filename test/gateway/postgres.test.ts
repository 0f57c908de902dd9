/**
 * The store on a PostgreSQL server of the test's own: the same tables and the same promises as on
 * SQLite. A machine without the server skips these tests, and says so. Statements and definitions
 * in PostgreSQL's words are tested without a server.
 */
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentError, Bug } from "../../base/fault.ts";
import { findStandbyWait } from "../../gateway/database/database.ts";
import { nameOfDatabase, parseDatabaseUrl } from "../../gateway/postgres/address.ts";
import { openPostgresConnection } from "../../gateway/postgres/connection.ts";
import { translateStatement } from "../../gateway/postgres/dialect.ts";
import { PostgresFault } from "../../gateway/postgres/fault.ts";
import { answerMs } from "../../gateway/postgres/limits.ts";
import { listLostPaymentsIn } from "../../gateway/store/gone-payments.ts";
import { leaseMs } from "../../gateway/store/leases.ts";
import { isConstraintError, isUniqueConflictError } from "../../gateway/store/library-errors.ts";
import { inspectPostgres } from "../../gateway/store/postgres-server.ts";
import type { Store } from "../../gateway/store/store.ts";
import { startCutWire } from "../../lab/kit/cut-wire.ts";
import { listColumns, listTables } from "../../lab/kit/database-tables.ts";
import { gatewayDatabase, silentLog } from "../../lab/kit/gateway-database.ts";
import {
  addressOf,
  askDatabase,
  openTestStore,
  PostgresDatabases,
  type PostgresServer,
  postgresInstallLine,
  postgresPrograms,
  startPostgres,
} from "../../lab/kit/postgres.ts";
import { freePort, until } from "../../lab/kit/processes.ts";
import { shareOf } from "../../lab/kit/share.ts";
import { startsTheBuild } from "../support/built.ts";

const isHere = postgresPrograms() !== null;
if (!isHere) process.stderr.write(`no PostgreSQL on this machine: ${postgresInstallLine}\n`);

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
if (!hasOpenssl) process.stderr.write("no openssl here: the connection with TLS is not tested\n");

const textOf = (sql: string, ...values: readonly unknown[]): string =>
  translateStatement(sql, values).text;

describe("a statement in PostgreSQL's words", () => {
  it.each([
    ["SELECT txHash FROM moves WHERE id = ?", 'SELECT "txHash" FROM "moves" WHERE "id" = $1'],
    ["SELECT 'it''s ? txHash' AS a", `SELECT 'it''s ? txHash' AS "a"`],
    ["SELECT max(a, b), max(c) FROM t", 'SELECT greatest("a", "b"), max("c") FROM "t"'],
    ["SELECT a FROM t INDEXED BY tByA WHERE +b = 1", 'SELECT "a" FROM "t"  WHERE "b" = 1'],
    [
      "SELECT 1 FROM a CROSS JOIN b ON b.x = a.x",
      'SELECT 1 FROM "a" JOIN "b" ON "b"."x" = "a"."x"',
    ],
    ["SELECT 1 FROM a CROSS JOIN b WHERE c", 'SELECT 1 FROM "a" CROSS JOIN "b" WHERE "c"'],
    ["SELECT n FROM (SELECT 1 AS n)", 'SELECT "n" FROM (SELECT 1 AS "n") AS "unnamed"'],
    ["SELECT n FROM (SELECT 1 AS n) m", 'SELECT "n" FROM (SELECT 1 AS "n") "m"'],
    [
      "INSERT OR IGNORE INTO t (a) VALUES (?)",
      'INSERT INTO "t" ("a") VALUES ($1) ON CONFLICT DO NOTHING',
    ],
    [
      "INSERT INTO t (a, b) VALUES (?, ?) ON CONFLICT (a) DO UPDATE SET b = max(b, excluded.b) WHERE a <> 1",
      'INSERT INTO "t" ("a", "b") VALUES ($1, $2) ON CONFLICT ("a") DO UPDATE SET "b" = greatest("t"."b", "excluded"."b") WHERE "t"."a" <> 1',
    ],
    [
      "SELECT a FROM t WHERE (? IS NULL OR b = ?)",
      'SELECT "a" FROM "t" WHERE ($1::text IS NULL OR "b" = $2)',
    ],
    ["SELECT a FROM t LIMIT ?", 'SELECT "a" FROM "t" LIMIT nullif($1::bigint, -1)'],
    ["UPDATE t SET a = x'00ff'", `UPDATE "t" SET "a" = '\\x00ff'::bytea`],
  ])("%s", (sql, expected) => {
    expect(textOf(sql, ...new Array(9).fill(1))).toBe(expected);
  });

  it("compares by IS with a value as an index can, and with nothing as nothing", () => {
    const sql = "SELECT a FROM t WHERE b IS ? AND c IS NOT ? AND d = ?";
    expect(translateStatement(sql, [1, 2, 3])).toEqual({
      text: 'SELECT "a" FROM "t" WHERE "b" = $1 AND "c" IS DISTINCT FROM $2 AND "d" = $3',
      values: [1, 2, 3],
    });
    expect(translateStatement(sql, [null, null, 3])).toEqual({
      text: 'SELECT "a" FROM "t" WHERE "b" IS NULL AND "c" IS NOT NULL AND "d" = $1',
      values: [3],
    });
  });

  it("has a value once that it names twice, and one value for each mark without a number", () => {
    expect(translateStatement("SELECT ?2, ?1, ?2, ?", ["a", "b", "c"])).toEqual({
      text: "SELECT $1, $2, $1, $3",
      values: ["b", "a", "c"],
    });
    expect(() => translateStatement("SELECT ?, ?", ["a"])).toThrow(Bug);
  });
});

describe("a look at the tables of a database", () => {
  it("is a server that is away if the connection is lost meanwhile, and no bug", () => {
    const refusal = { sqlState: "", message: "the connection was closed", constraint: "" };
    const connection = {
      ask: () => {
        throw new PostgresFault(refusal);
      },
      close: () => {},
    };
    expect(() => inspectPostgres(connection, "postgres://db/gateway")).toThrow(
      expect.objectContaining({
        code: "GATEWAY_STORE_AWAY",
        message: "postgres://db/gateway cannot be reached: the connection was closed",
      }),
    );
  });
});

describe("the address of a database", () => {
  it.each([
    ["postgres://shop@db:5433/gateway", "postgres://shop@db:5433/gateway", "verify-full"],
    ["postgresql://shop@a,b:5433/gateway", "postgres://shop@a:5432,b:5433/gateway", "verify-full"],
    [
      "postgres:///gateway?host=/run/postgresql&user=shop",
      "postgres://shop@/run/postgresql:5432/gateway",
      "disable",
    ],
    ["postgres://localhost/gateway", "postgres://localhost:5432/gateway", "disable"],
    ["postgres://[::1]:6000/gateway", "postgres://::1:6000/gateway", "disable"],
    ["postgres://db/gateway?sslmode=require", "postgres://db:5432/gateway", "require"],
  ])("%s", (text, name, sslMode) => {
    const address = parseDatabaseUrl(text);
    if (typeof address === "string") throw new Error(address);
    expect([nameOfDatabase(address), address.sslMode]).toEqual([name, sslMode]);
    expect(nameOfDatabase(address)).not.toContain("pass");
  });

  it.each([
    "postgres://",
    "postgres://db",
    "postgres:///gateway",
    "postgres://db:0/gateway",
    "postgres://db/gateway?sslmode=prefer",
    "postgres://db/gateway?pool=1",
    "mysql://db/gateway",
  ])("%s is refused", (text) => {
    expect(typeof parseDatabaseUrl(text)).toBe("string");
  });
});

describe.skipIf(!isHere)("the store on PostgreSQL", () => {
  startsTheBuild();
  let server: PostgresServer;
  let databases: PostgresDatabases;
  const open: Store[] = [];

  beforeAll(() => {
    server = startPostgres();
    databases = new PostgresDatabases(server.urlOf);
  });
  afterAll(() => {
    for (const store of open) store.close();
    server?.stop();
  });

  function openAt(url: string, token: number | null = null): Store {
    const store = openTestStore(url, silentLog, token);
    open.push(store);
    return store;
  }

  const putSql = "INSERT INTO meta (name, value) VALUES (?, ?)";
  const readValue = (store: Store, name: string): string | undefined =>
    store.database.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", name)?.value;

  function faultOf(act: () => unknown): unknown {
    try {
      return act();
    } catch (error) {
      return error;
    }
  }
  const codeOf = (act: () => unknown): string => {
    const fault = faultOf(act);
    return fault instanceof AgentError ? `${fault.code} ${fault.effect}` : String(fault);
  };

  it("has the tables of the other engine, column by column", () => {
    const store = openAt(databases.make());
    const sqlite = gatewayDatabase();
    try {
      const tables = listTables(sqlite.store.database, false);
      expect(tables.length).toBeGreaterThan(50);
      expect(listTables(store.database, true)).toEqual([...tables, "gateways", "leases"].sort());
      for (const table of tables) {
        const columns = listColumns(sqlite.store.database, table, false);
        // SQLite says of a primary key that it may be absent, and takes no row without one.
        const keys = columns.filter(({ notnull }) => notnull === 0).map(({ name }) => name);
        const there = listColumns(store.database, table, true).map((column) =>
          column.notnull === 1 && keys.includes(column.name) && isKey(table, column.name)
            ? { ...column, notnull: 0 }
            : column,
        );
        expect([table, there]).toEqual([table, columns]);
      }
    } finally {
      sqlite.remove();
    }
  });

  const isKey = (table: string, column: string): boolean =>
    open[0]?.database.get(
      `SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
       WHERE i.indisprimary AND c.relname = ? AND a.attname = ?`,
      ...[table, column],
    ) !== undefined;

  it("compares texts by their bytes, whatever the language of the server", () => {
    const store = openAt(databases.make());
    const names = ["a", "B", "_", "ä", "Z", "b"];
    store.write((database) => {
      for (const name of names) database.run(putSql, `order ${name}`, "");
    });
    const sql = "SELECT name FROM meta WHERE name LIKE 'order %' ORDER BY name";
    const found = store.database.all<{ name: string }>(sql).map(({ name }) => name.slice(6));
    expect(found).toEqual(["B", "Z", "_", "a", "b", "ä"]);
  });

  it("reads as many rows as a limit says, and all of them where it is -1", () => {
    const store = openAt(databases.make());
    const sql = "SELECT name FROM meta ORDER BY name LIMIT ?";
    const countOf = (limit: number): number => store.database.all(sql, limit).length;
    expect([0, 1, 2, -1].map(countOf)).toEqual([0, 1, 2, 3]);
  });

  it("lists lost payments by block and then in the order of their making, wherever a row lies", () => {
    const store = openAt(databases.make());
    const put = `INSERT INTO payments (network, txHash, logIndex, address, currency, units, block, blockHash, final, transactionId)
      VALUES ('eth', ?, 0, 'a', 'c', '1', ?, '0x1', 1, 'd')`;
    store.write((database) => {
      database.run("SET LOCAL session_replication_role = replica");
      for (const [hash, block] of [
        ["z", 2],
        ["y", 1],
        ["x", 1],
      ] as const)
        database.run(put, hash, block);
      database.run("UPDATE payments SET units = '2' WHERE txHash = 'y'");
    });
    const blocks = [1, 2].map((number) => ({ number, hash: "0x2" }));
    const found = listLostPaymentsIn(store.database, "eth", blocks).map(({ txHash }) => txHash);
    expect(found).toEqual(["y", "x", "z"]);
  });

  it("says of a statement that took too long that it did, and not that another process writes", () => {
    const store = openAt(databases.make());
    store.database.run("SET statement_timeout = 20");
    const fault = faultOf(() => store.database.get("SELECT pg_sleep(1)"));
    expect(fault).toMatchObject({ code: "GATEWAY_STORE_BUSY", effect: "none" });
    expect(String(fault)).toContain("whose limit is 5 s: canceling statement due to statement t");
  });

  it("commits what stays, and takes everything else back", () => {
    const url = databases.make();
    const store = openAt(url);
    store.write((database) => database.run(putSql, "kept", "1"));
    expect(() =>
      store.write((database) => {
        database.run(putSql, "thrown", "1");
        throw new Error("no");
      }),
    ).toThrow("no");
    store.writeIfOk((database) => {
      expect(database.run(putSql, "refused", "1").changes).toBe(1);
      return { ok: false };
    });
    expect(faultOf(() => store.write(() => store.write(() => 1)))).toBeInstanceOf(Bug);
    const other = openAt(url);
    const names = ["kept", "thrown", "refused"];
    expect(names.map((name) => readValue(other, name))).toEqual(["1", undefined, undefined]);
  });

  it("tells a refused row by its constraint, also where nobody read the answer, and goes on", () => {
    const store = openAt(databases.make());
    store.database.run(putSql, "once", "1");
    const again = faultOf(() => store.write((database) => void database.run(putSql, "once", "2")));
    expect([isUniqueConflictError(again), isConstraintError(again)]).toEqual([true, true]);
    const missing = faultOf(() =>
      store.database.run("INSERT INTO meta (name, value) VALUES ('none', NULL)"),
    );
    expect([isUniqueConflictError(missing), isConstraintError(missing)]).toEqual([false, true]);
    store.database.run(putSql, "next", "1");
    expect([readValue(store, "once"), readValue(store, "next")]).toEqual(["1", "1"]);
  });

  it("has one writer at a time: a second one waits, is refused, and works again later", async () => {
    const url = databases.make();
    const store = openAt(url);
    const other = openAt(url);
    store.write((database) => {
      database.get("SELECT 1");
      expect(codeOf(() => other.database.run(putSql, "a", "1"))).toBe("GATEWAY_STORE_BUSY none");
      expect([other.trouble, codeOf(() => other.write(() => 1))]).toEqual([
        "held",
        "GATEWAY_STORE_BUSY none",
      ]);
      // Who reads waits for nobody.
      expect(readValue(other, "a")).toBeUndefined();
    });
    await expect.poll(() => other.trouble, { timeout: 20_000 }).toBe("");
    other.database.run(putSql, "a", "1");
    expect(readValue(store, "a")).toBe("1");
  });

  it("writes nothing under a number of the lease that is another one's now, and is poisoned", () => {
    const url = databases.make();
    const command = openAt(url);
    const own = openAt(url, 0);
    own.write((database) => database.run(putSql, "before", "1"));
    command.database.run("UPDATE leases SET token = 1 WHERE name = 'gateway'");
    let told = 0;
    own.onPoisoned(() => {
      told += 1;
    });
    const late = (): unknown => own.write((database) => database.run(putSql, "late", "1"));
    expect([codeOf(late), codeOf(late), own.poisoned, told]).toEqual([
      "GATEWAY_STORE_POISONED unknown",
      "GATEWAY_STORE_POISONED unknown",
      true,
      1,
    ]);
    expect([readValue(command, "before"), readValue(command, "late")]).toEqual(["1", undefined]);
  });

  it("is poisoned by a lost connection, and never connects again by itself", () => {
    const url = databases.make();
    const store = openAt(url);
    const { pid } = store.database.get<{ pid: number }>("SELECT pg_backend_pid() AS pid") ?? {};
    askDatabase(url, `SELECT pg_terminate_backend(${pid})`);
    const write = (): unknown => store.write((database) => database.run(putSql, "a", "1"));
    expect([codeOf(write), codeOf(write)]).toEqual([
      "GATEWAY_STORE_POISONED unknown",
      "GATEWAY_STORE_POISONED unknown",
    ]);
    expect(store.poisoned).toBe(true);
  });

  it("lets no session that stands still hold the lease's row for as long as the lease lasts", () => {
    const name = "idle_in_transaction_session_timeout";
    const sql = "SELECT setting FROM pg_settings WHERE name = ?";
    const { setting } = openAt(databases.make()).database.get<{ setting: string }>(sql, name) ?? {};
    expect(Number(setting)).toBeGreaterThan(0);
    expect(Number(setting)).toBeLessThan(leaseMs);
  });

  it("is poisoned by a server process that is ended in the middle of a statement", () => {
    const url = databases.make();
    const store = openAt(url);
    const { pid } = store.database.get<{ pid: number }>("SELECT pg_backend_pid() AS pid") ?? {};
    const ends = `SELECT pg_sleep(0.3), pg_terminate_backend(${pid})`;
    spawn("psql", ["-h", server.folder, "-U", "gateway", "-c", ends, "postgres"], {
      stdio: "ignore",
    });
    const read = (): unknown => store.database.get("SELECT pg_sleep(4) AS slept");
    expect([codeOf(read), store.poisoned]).toEqual(["GATEWAY_STORE_POISONED unknown", true]);
  });

  it("answers no write that is not there, at whichever of its messages the wire is cut", async () => {
    const folder = mkdtempSync(join(tmpdir(), "cut-wire-"));
    const wire = await startCutWire(folder, server.folder);
    const url = databases.make();
    const [direct, through] = [openAt(url), url.replace(server.folder, wire.folder)];
    const rowsOf = (cut: number): number =>
      direct.database.get<{ n: number }>(
        "SELECT count(*) AS n FROM meta WHERE name LIKE ?",
        `% of ${cut}.`,
      )?.n ?? -1;
    /** Six round trips to the server, and more than forty messages. */
    const write = (store: Store, cut: number): string =>
      codeOf(() =>
        store.write((database) => {
          for (const place of [1, 2, 3, 4, 5]) {
            database.run(putSql, `row ${place} of ${cut}.`, "1");
            database.get("SELECT value FROM meta WHERE name = ?", `row ${place} of ${cut}.`);
          }
          return "done";
        }),
      );
    try {
      const whole = openAt(through);
      wire.cutAt(0);
      expect([write(whole, 0), rowsOf(0)]).toEqual(["done", 5]);
      const { messages } = wire;
      expect(messages).toBeGreaterThan(40);
      const found = new Set<number>();
      const cuts = Array.from({ length: messages }, (_, at) => at + 1);
      // The last messages are those of COMMIT and its answer.
      for (const cut of [...shareOf(cuts.slice(0, -8)), ...cuts.slice(-8)]) {
        const store = openAt(through);
        const pid = store.database.get<{ pid: number }>("SELECT pg_backend_pid() AS pid")?.pid ?? 0;
        wire.cutAt(cut);
        const from = performance.now();
        expect([cut, write(store, cut)]).toEqual([cut, "GATEWAY_STORE_POISONED unknown"]);
        expect(performance.now() - from).toBeLessThan(answerMs / 2); // nobody waits for the limit
        await until("its process of the server has ended", 10_000, async () =>
          direct.database.get("SELECT 1 FROM pg_stat_activity WHERE pid = ?", pid) === undefined
            ? true
            : undefined,
        );
        found.add(rowsOf(cut));
      }
      // Whole or not at all; and a commit whose answer was lost is there.
      expect([...found].sort()).toEqual([0, 5]);
    } finally {
      await wire.close();
      rmSync(folder, { recursive: true });
    }
  });

  it("takes a commit with a warning for one that nobody acknowledged", async () => {
    const url = databases.make();
    const store = openAt(url);
    const { pid } = store.database.get<{ pid: number }>("SELECT pg_backend_pid() AS pid") ?? {};
    const settle = (names: string): void => {
      askDatabase(url, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
      askDatabase(url, "SELECT pg_reload_conf()");
    };
    settle("nobody");
    try {
      // No standby answers, so the commit waits until somebody cancels the wait.
      const [, folder = ""] = /host=([^&]+)/.exec(url) ?? [];
      const script = `
        const { spawnSync } = require("node:child_process");
        for (let tried = 0; tried < 40; tried += 1) {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
          spawnSync("psql", ["-h", ${JSON.stringify(folder)}, "-U", "gateway", "-c",
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = ${pid} AND wait_event = 'SyncRep'",
            "postgres"]);
        }`;
      const helper = spawn(process.execPath, ["-e", script], { stdio: "ignore" });
      expect(codeOf(() => store.write((database) => database.run(putSql, "a", "1")))).toBe(
        "GATEWAY_STORE_POISONED unknown",
      );
      helper.kill();
    } finally {
      settle("");
    }
    expect(store.poisoned).toBe(true);
  });

  it("says of a write behind a commit without its standby that the standby is away", async () => {
    const url = databases.make();
    const store = openAt(url);
    const settle = (names: string): void => {
      askDatabase(url, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
      askDatabase(url, "SELECT pg_reload_conf()");
    };
    const write = (): unknown => faultOf(() => store.database.run(putSql, "mine", "1"));
    const address = parseDatabaseUrl(url);
    if (typeof address === "string") throw new Error(address);
    const waits = (): string =>
      findStandbyWait({ database: "", postgres: { address, passwordFile: null } });
    expect(waits()).toBe("");
    settle("nobody");
    const lock = "SELECT 1 FROM leases WHERE name = 'gateway' FOR UPDATE";
    const commit = `BEGIN; ${lock}; INSERT INTO meta VALUES ('first', '1'); COMMIT`;
    const other = spawn("psql", [url, "-c", commit], { stdio: "ignore" });
    try {
      const waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
      await expect
        .poll(() => askDatabase(url, waiting), { timeout: 9_000 })
        .toEqual([{ count: 1 }]);
      const fault = write();
      expect(fault).toMatchObject({ code: "GATEWAY_STORE_BUSY", effect: "none" });
      expect(String(fault)).toContain("waits in a commit for a synchronous standby");
      expect(waits()).toContain("waits in a commit for a synchronous standby");
    } finally {
      settle("");
      other.kill();
    }
    await expect.poll(() => store.trouble, { timeout: 20_000 }).toBe("");
    expect(waits()).toBe("");
    // The same wait for a process that only has the row is named as such.
    const second = openAt(url);
    second.write((database) => {
      database.get("SELECT 1");
      expect(String(write())).toContain("is held by another process");
    });
  });

  it("combines the writes of a turn, and one that fails takes no other along", async () => {
    const store = openAt(databases.make());
    const put = (name: string) =>
      store.writeTogether((database) => void database.run(putSql, name, "1"));
    const ends = await Promise.allSettled([put("a"), put("b"), put("a"), put("c")]);
    expect(ends.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(["a", "b", "c"].map((name) => readValue(store, name))).toEqual(["1", "1", "1"]);
  });
});

describe.skipIf(!isHere || !hasOpenssl)("a connection with TLS", () => {
  let port = 0;
  const folder = mkdtempSync(join(tmpdir(), "postgres-tls-"));
  const file = (name: string): string => join(folder, name);
  let plain: PostgresServer;
  let server: PostgresServer;

  /** A certificate that is its own authority. */
  function certify(name: string, names: string): void {
    const words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    const where = ["-nodes", "-keyout", file(`${name}.key`), "-out", file(`${name}.pem`)];
    const what = ["-days", "2", "-subj", "/CN=test", "-addext", `subjectAltName=${names}`];
    expect(spawnSync("openssl", [...words, ...where, ...what]).status).toBe(0);
    chmodSync(file(`${name}.key`), 0o600);
  }

  beforeAll(async () => {
    port = await freePort();
    certify("named", "DNS:localhost");
    certify("other", "DNS:localhost");
    plain = startPostgres();
    const { uid, gid } = statSync(plain.folder);
    chownSync(folder, uid, gid);
    for (const name of ["named.key", "named.pem"]) chownSync(file(name), uid, gid);
    const files = { ssl_cert_file: file("named.pem"), ssl_key_file: file("named.key") };
    server = startPostgres({
      listen_addresses: "127.0.0.1",
      port: String(port),
      ssl: "on",
      ...files,
    });
  }, 60_000);

  afterAll(() => {
    plain.stop();
    server.stop();
    rmSync(folder, { recursive: true });
  });

  const answerOf = (host: string, words: string): string => {
    const url = `postgres://gateway@${host}:${port}/postgres?sslmode=${words}`;
    try {
      const connection = openPostgresConnection(addressOf(url));
      connection.close();
      return "connected";
    } catch (error) {
      return error instanceof PostgresFault ? error.message : `no fault: ${error}`;
    }
  };

  it.each([
    ["localhost", "verify-full", "named.pem", "connected"],
    ["localhost", "require", "", "connected"],
    ["127.0.0.1", "require", "", "connected"],
    ["127.0.0.1", "verify-full", "named.pem", "IP: 127.0.0.1 is not in the cert's list"],
    ["localhost", "verify-full", "other.pem", "certificate"],
    ["localhost", "verify-full", "", "certificate"],
    ["localhost", "verify-full", "none.pem", "ENOENT"],
  ])("at %s with %s and the authority '%s' says: %s", (host, mode, authority, answer) => {
    const root = authority === "" ? "" : `&sslrootcert=${file(authority)}`;
    expect(answerOf(host, `${mode}${root}`)).toContain(answer);
  });
});
