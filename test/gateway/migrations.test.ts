/**
 * A database of an earlier version comes to this program's tables: by steps that are taken whole or
 * not at all, after a copy that an operator can restore. A database of a later version stays as it
 * is.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { compareMarks } from "../../gateway/deposits/ceilings.ts";
import { checkCopy } from "../../gateway/store/copy.ts";
import { inspectStore } from "../../gateway/store/inspect.ts";
import {
  type MigrateOptions,
  migrateStore,
  missingRoomBytes,
  pathOfCopyBeforeVersion,
} from "../../gateway/store/migrate.ts";
import {
  addUnitsSumAggregate,
  digestOfVersion,
  type Migration,
  migrations,
  migrationsOf,
  schemaDigest,
  schemaVersion,
  statementsOf,
} from "../../gateway/store/migrations.ts";
import { ownStore } from "../../gateway/store/owner.ts";
import { schema } from "../../gateway/store/schema.ts";
import { createStore, openStore } from "../../gateway/store/store.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { catalogueOf, contentOf, databaseOfVersion, seenIn } from "../support/catalogue.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "migrations-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const at = (name: string): string => join(dir, name);
const nowMs = 1_700_000_000_000;
const options: MigrateOptions = { log: silentLog, nowMs };

/** A step like a rebuilt table: what refers to the table would stop it with foreign keys on. */
const rebuilding = `-- The shops get a column.
CREATE TEMP TABLE before AS SELECT count(*) AS n FROM merchants;
CREATE TABLE shops (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL DEFAULT 'new' CHECK (kind <> '')) STRICT;
INSERT INTO shops (id, name) SELECT id, name FROM merchants;
DROP TABLE merchants;
ALTER TABLE shops RENAME TO merchants;
CREATE TRIGGER shopNamed AFTER UPDATE OF name ON merchants BEGIN
  DELETE FROM jtis WHERE key = NEW.id;
END;
-- check: SELECT count(*) = (SELECT n FROM before) FROM merchants
`;
const first = migrations[0] as Migration;
const stepOf = (sql: string): Migration => ({ version: 2, name: "made-up", sql });
const made: readonly Migration[] = [
  first,
  stepOf(rebuilding),
  { version: 3, name: "more", sql: "CREATE TABLE more (a);\n" },
];

const fill = `INSERT INTO merchants (id, name, createdAt) VALUES ('m1', 'Shop', 0), ('m2', 'Other', 0);
INSERT INTO keys (id, merchant, scopes, profile, alg, createdAt) VALUES ('k1', 'm1', 'read', 'strict', 'HS256', 0);`;

function faultOf(act: () => unknown): AgentError {
  try {
    act();
  } catch (error) {
    if (error instanceof AgentError) return error;
    throw error;
  }
  throw new Error("no fault");
}
const codeOf = (act: () => unknown): string => faultOf(act).code;
const sumOf = (path: string): string =>
  createHash("sha256").update(readFileSync(path)).digest("hex");
const stateOf = (path: string): readonly string[] =>
  seenIn(path, (raw) => [...catalogueOf(raw), ...contentOf(raw)]);
const upTo3: MigrateOptions = { ...options, steps: made };

/** A database of the first version with `fill`, in the file `name`. */
function old(name = "old.db"): string {
  if (template === null) {
    databaseOfVersion(at("template.db"), 1, fill);
    template = readFileSync(at("template.db"));
    rmSync(at("template.db"));
  }
  writeFileSync(at(name), template);
  return at(name);
}
let template: Buffer | null = null;

/** The state of a database that took all made-up steps without a break. */
function ended(): readonly string[] {
  if (endState === null) {
    migrateStore(old("ended.db"), upTo3);
    endState = stateOf(at("ended.db"));
  }
  return endState;
}
let endState: readonly string[] | null = null;

/** A database whose statements can add base units, as those of a migration can. */
function memoryDatabase(): InstanceType<typeof DatabaseSync> {
  const raw = new DatabaseSync(":memory:");
  addUnitsSumAggregate(raw);
  return raw;
}

describe("the files", () => {
  it("a database of the first version is known by the digest that it was made with", () => {
    expect(digestOfVersion(1)).toBe(
      "73bd33f2a4c9224d6026b8923a39a11d34dc3958e4cf68fdb38b559a45ac9085",
    );
    expect(migrations.map(({ version }) => version)).toEqual(
      migrations.map((_, place) => place + 1),
    );
    expect(schemaVersion).toBe(
      readdirSync(join(projectRoot, "gateway", "store", "migrations")).length,
    );
    expect(() => migrationsOf({ "0001-a.sql": "", "0003-c.sql": "" })).toThrow("0003-c.sql");
    expect(migrationsOf({ "0002-b.sql": "y", "0001-a.sql": "x" }).map(({ sql }) => sql)).toEqual([
      "x",
      "y",
    ]);
  });

  it.each(migrations)(
    "file $version falls into statements that make the same as the whole file",
    ({ version, sql }) => {
      const [whole, split] = [memoryDatabase(), memoryDatabase()];
      for (const earlier of migrations.slice(0, version - 1))
        for (const raw of [whole, split]) raw.exec(earlier.sql);
      whole.exec(sql);
      for (const statement of statementsOf(sql)) split.exec(statement);
      expect(catalogueOf(split)).toEqual(catalogueOf(whole));
      expect(() => statementsOf(`${sql}\nCREATE TABLE unfinished (`)).toThrow("unfinished");
    },
  );

  it("the bundle of the gateway holds the texts themselves", async () => {
    const { bundle } = (await import(
      pathToFileURL(join(projectRoot, "scripts", "bundle.js")).href
    )) as {
      bundle: (
        root: string,
        name: string,
        outdir: string,
        entries: Record<string, string>,
      ) => Promise<unknown>;
    };
    await bundle(projectRoot, "gateway", at("out"), { texts: "gateway/store/migrations.ts" });
    const script = `import(${JSON.stringify(pathToFileURL(at("out/texts.js")).href)}).then((one) => console.log(one.schemaDigest))`;
    const told = spawnSync(process.execPath, ["-e", script], { encoding: "utf8" });
    expect([told.stdout.trim(), told.stderr]).toEqual([schemaDigest, ""]);
  });
});

describe("a new database and a migrated one", () => {
  const fresh = (): readonly string[] => {
    const raw = memoryDatabase();
    raw.exec(schema);
    return catalogueOf(raw);
  };
  const changed = (sql: string): readonly string[] => {
    const raw = memoryDatabase();
    for (const step of migrations) raw.exec(step.sql);
    raw.exec(sql);
    return catalogueOf(raw);
  };

  it("have the same tables, columns, checks, keys, indexes, triggers and views", () => {
    expect(changed("")).toEqual(fresh());
    old();
    migrateStore(at("old.db"), options);
    expect(seenIn(at("old.db"), catalogueOf)).toEqual(fresh());
    createStore(at("new.db"), "", silentLog).close();
    expect(seenIn(at("new.db"), catalogueOf)).toEqual(fresh());
    expect(inspectStore(at("old.db"))).toEqual(inspectStore(at("new.db")));
  });

  const written = (from: string, to: string) => (): readonly string[] => {
    expect(schema).toContain(from);
    const raw = memoryDatabase();
    raw.exec(schema.replace(from, to));
    return catalogueOf(raw);
  };
  const added = (sql: string) => (): readonly string[] => changed(sql);
  it.each([
    ["a column", added("ALTER TABLE cursors ADD COLUMN more TEXT")],
    [
      "a type",
      written(
        "block INTEGER NOT NULL, hash TEXT NOT NULL) STRICT",
        "block TEXT NOT NULL, hash TEXT NOT NULL) STRICT",
      ),
    ],
    [
      "a default",
      written("language TEXT NOT NULL DEFAULT 'en'", "language TEXT NOT NULL DEFAULT 'tr'"),
    ],
    ["a check", written("CHECK (status IN (0,1,2))", "CHECK (status IN (0,1,2,3))")],
    [
      "a key",
      written(
        "merchant TEXT NOT NULL REFERENCES merchants(id), scopes",
        "merchant TEXT NOT NULL, scopes",
      ),
    ],
    ["an index", added("DROP INDEX sweepsUnreached")],
    [
      "the condition of an index",
      added("DROP INDEX jobsUnanswered; CREATE INDEX jobsUnanswered ON jobs (agent, sequence)"),
    ],
    ["a trigger", added("DROP TRIGGER recallEnded")],
    ["a view", added("CREATE VIEW records AS SELECT id FROM transactions")],
    ["rows that are not strict", written("value TEXT NOT NULL) STRICT", "value TEXT NOT NULL)")],
  ])("a difference in %s would be found", (_, make) => {
    expect(make()).not.toEqual(fresh());
  });
});

describe("a migration", () => {
  it("keeps a checked copy, takes each step once and keeps every row", () => {
    old("a.db");
    const lines: string[] = [];
    const log = {
      ...silentLog,
      info: (line: { event: string }) => void lines.push(line.event),
    } as unknown as MigrateOptions["log"];
    const before = stateOf(at("a.db"));
    expect(migrateStore(at("a.db"), { ...upTo3, log })).toEqual({
      from: 1,
      to: 3,
      copy: at("a.db.before-2"),
    });
    expect(lines).toEqual(["database-copied", "database-upgraded", "database-upgraded"]);
    expect(inspectStore(at("a.db"), made)).toMatchObject({ version: 3, isOlder: false });
    expect(stateOf(at("a.db"))).toContain('merchants {"id":"m2","name":"Other","kind":"new"}');
    const copied = `meta {"name":"copiedAt","value":"${nowMs}"}`;
    expect([...stateOf(at("a.db.before-2"))].sort()).toEqual([...before, copied].sort());
    expect(statSync(at("a.db.before-2")).mode & 0o777).toBe(0o600);
    expect(checkCopy(at("a.db.before-2"))).toMatchObject({
      schema: 1,
      merchants: 2,
      copiedAt: nowMs,
    });
    const sum = sumOf(at("a.db"));
    expect(migrateStore(at("a.db"), { ...upTo3, log })).toEqual({ from: 3, to: 3, copy: "" });
    expect([sumOf(at("a.db")), lines.length]).toEqual([sum, 3]);
  });

  it("the copy, restored, counts as such, and the next start upgrades it again", () => {
    old("a.db");
    const reasonIn = (path: string): string => {
      const store = openStore(path, silentLog);
      try {
        return store.write((database) => compareMarks(database, new Map(), nowMs)).reason;
      } finally {
        store.close();
      }
    };
    migrateStore(at("a.db"), options);
    expect(reasonIn(at("a.db"))).toBe("");
    copyFileSync(pathOfCopyBeforeVersion(at("a.db"), 2), at("b.db"));
    migrateStore(at("b.db"), options);
    expect(reasonIn(at("b.db"))).toBe("it is a copy that backup made");
  });

  it("a command refuses an older database and changes nothing; after one start it opens", () => {
    old("a.db");
    const sum = sumOf(at("a.db"));
    expect(codeOf(() => openStore(at("a.db"), silentLog))).toBe("GATEWAY_STORE_OLDER");
    expect(sumOf(at("a.db"))).toBe(sum);
    migrateStore(at("a.db"), options);
    openStore(at("a.db"), silentLog).close();
  });

  it("a later or another database is refused by its version, and not a byte of it changes", () => {
    const others = [
      `UPDATE meta SET value = '${schemaVersion + 1}' WHERE name = 'schema'`,
      "UPDATE meta SET value = 'aa' WHERE name = 'schemaDigest'",
      "UPDATE meta SET value = '1' WHERE name = 'schema'",
    ];
    for (const sql of others) {
      const path = at("other.db");
      rmSync(path, { force: true });
      databaseOfVersion(path, schemaVersion, `${fill} ${sql};`);
      const sum = sumOf(path);
      for (const act of [() => openStore(path, silentLog), () => migrateStore(path, options)]) {
        expect(codeOf(act)).toBe("GATEWAY_STORE_VERSION");
        expect(faultOf(act).message).toContain(path);
      }
      expect([sumOf(path), readdirSync(dir)]).toEqual([sum, ["other.db"]]);
    }
    databaseOfVersion(at("same.db"), schemaVersion, fill);
    openStore(at("same.db"), silentLog).close();
  });

  it("waits for room for four copies, says how much is missing, and goes on when it is there", () => {
    old("a.db");
    const sum = sumOf(at("a.db"));
    const needed = 4 * statSync(at("a.db")).size;
    const full = faultOf(() =>
      migrateStore(at("a.db"), { ...options, freeBytes: () => needed - 7 }),
    );
    expect([full.code, full.context.missingBytes, sumOf(at("a.db"))]).toEqual([
      "GATEWAY_DISK_FULL",
      7,
      sum,
    ]);
    expect(missingRoomBytes(at("a.db"), () => needed - 7)).toBe(7);
    expect(readdirSync(dir).filter((name) => name.includes("before"))).toEqual([]);
    expect(migrateStore(at("a.db"), { ...options, freeBytes: () => needed }).to).toBe(
      schemaVersion,
    );
  });

  it("does nothing while another gateway runs on the database", () => {
    old("a.db");
    const other = ownStore(at("a.db"));
    expect(codeOf(() => migrateStore(at("a.db"), options))).toBe("GATEWAY_STORE_OWNED");
    other.release();
    expect(migrateStore(at("a.db"), options).to).toBe(schemaVersion);
  });

  it.each([
    ["leaves a row that refers to nothing", "DELETE FROM merchants WHERE id = 'm1';\n"],
    [
      "fails a check of its own",
      "DELETE FROM jtis;\n-- check: SELECT count(*) = 3 FROM merchants\n",
    ],
    [
      "breaks a rule of the tables",
      "INSERT INTO merchants (id, name, createdAt) VALUES ('m1', 'Twice', 0);\n",
    ],
    ["is no SQL", "CREATE TABLE;\n"],
  ])("a step that %s is taken back whole", (_, sql) => {
    old("a.db");
    const before = stateOf(at("a.db"));
    const steps = [first, stepOf(`CREATE TABLE begun (a);\n${sql}`)];
    expect(codeOf(() => migrateStore(at("a.db"), { ...options, steps }))).toBe(
      "GATEWAY_STORE_UPGRADE",
    );
    expect(stateOf(at("a.db"))).toEqual(before);
    const good = [
      first,
      stepOf(
        "CREATE TABLE begun (a);\nDELETE FROM jtis;\n-- check: SELECT count(*) = 2 FROM merchants\n",
      ),
    ];
    expect(migrateStore(at("a.db"), { ...options, steps: good }).to).toBe(2);
  });
});

describe("the step to owners of accounts", () => {
  it("names the owner of each account with tags by its newest request, and no other account", () => {
    const request = (id: string, account: string, address: string, createdAt: number): string =>
      `INSERT INTO transactions (id, merchant, operation, mode, orderId, contentHash, currency, network, amount, amountUnits,
         receiverAddress, depositAddress, status, stage, createdAt, changedAt, expiresAt)
       VALUES ('${id}', 'm1', 'deposit', '', '${id}', '00', 'xrp', 'xrpl:1', '1', '1', '${account}', '${address}', 0, 'waiting', ${createdAt}, 0, 0);`;
    const agent = (id: string): string =>
      `INSERT INTO agents (id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies, pairedAt, unpairedAt)
       VALUES ('${id}', 'm1', 'w', 1, 's', 'l', '[]', '[]', '[]', 0, 0);`;
    const given = (address: string, of: string, index: number, id: string): string =>
      `INSERT INTO depositAddresses VALUES ('${address}', ${of}, ${index}, '${id}');`;
    databaseOfVersion(
      at("a.db"),
      1,
      [
        ...[
          fill,
          agent("a1"),
          agent("a2"),
          request("1", "rA", "rA:1", 5),
          request("2", "rA", "rA:2", 9),
          request("3", "rA", "rA:3", 7),
        ],
        ...[
          given("rA:1", "'a1'", 1, "1"),
          given("rA:2", "'a2'", 1, "2"),
          given("rA:3", "NULL", 3, "3"),
        ],
        request("4", "rB", "rB:1", 5), // a stray: nobody was given its address
        ...[request("5", "0xC", "0xC", 5), given("0xC", "'a1'", 4, "5")],
      ].join("\n"),
    );
    migrateStore(at("a.db"), options);
    const owners = () =>
      seenIn(at("a.db"), (raw) =>
        contentOf(raw).filter((line) => line.startsWith("accountOwners ")),
      );
    expect(owners()).toEqual([
      'accountOwners {"network":"xrpl:1","account":"rA","merchant":"m1","agent":"a2"}',
    ]);
  });
});

describe("the step to tables by kind", () => {
  it("takes rows that no gateway wrote, and what waited to be told, and leaves no row behind", () => {
    const columns = `id, merchant, operation, mode, orderId, contentHash, currency, network, amount, amountUnits,
      receiverAddress, depositAddress, status, stage, createdAt, changedAt, expiresAt, metadata`;
    const row = (id: string, ...texts: readonly string[]): string => {
      const values = texts.map((text) => `'${text}'`).join(", ");
      return `INSERT INTO transactions (${columns}) VALUES ('${id}', 'm1', ${values}, 0, 's', 1, 1, 1, '${id === "4" ? "{" : ""}');`;
    };
    const asked = JSON.stringify({ status: 0, stage: "s", code: "", amountReceivedUnits: "7" });
    databaseOfVersion(
      at("a.db"),
      19,
      [
        fill,
        row("1", "deposit", "", "o1", "00", "eth", "n", "0", "0", "A", "A"),
        row("2", "deposit", "", "o2", "00", "eth", "n", "1", "10", "B", "B"),
        row("3", "withdraw", "", "o3", "00", "eth", "n", "1", "10", "", "P"),
        row("4", "sweep", "", "B/1", "00", "eth", "n", "1", "10", "P", "B"),
        `INSERT INTO callbackChanges (transactionId, before, after) VALUES ('2', '{', '${asked}');`,
      ].join("\n"),
    );
    expect(migrateStore(at("a.db"), options).to).toBe(schemaVersion);
    const rows = (sql: string) => seenIn(at("a.db"), (raw) => raw.prepare(sql).all());
    expect(rows("SELECT id, origin, units, amount FROM deposits ORDER BY number")).toEqual([
      { id: "1", origin: "unattributed", units: null, amount: null },
      { id: "2", origin: "ordered", units: "10", amount: "1" },
    ]);
    expect(
      rows("SELECT w.mode, t.receiver FROM withdrawals w JOIN transfers t USING (id)"),
    ).toEqual([{ mode: "manual", receiver: null }]);
    expect(rows("SELECT address, ordinal, addressIndex, nextSlot FROM sweeps")).toEqual([
      { address: "B", ordinal: 1, addressIndex: 0, nextSlot: null },
    ]);
    const [change] = rows("SELECT before, after FROM callbackChanges") as {
      before: string;
      after: string;
    }[];
    expect(change?.before).toBe("{");
    expect(JSON.parse(change?.after ?? "")).toMatchObject({ stage: "s", receivedUnits: "7" });
  });
});

describe("the step to one table of addresses", () => {
  const deposit = (id: string, address: string, network: string, isOrdered: boolean): string => {
    const asked = isOrdered
      ? "'ordered', '00', '1', '10', '0'"
      : "'unattributed', NULL, NULL, NULL, NULL";
    return `INSERT INTO deposits (id, merchant, origin, contentHash, amount, units, toleranceUnits, orderId, address, payTo, network,
      currency, stage, createdAt, changedAt, expiresAt)
      VALUES ('${id}', 'm1', ${asked}, '${id}', '${address}', '${address}', '${network}', 'coin', 'waiting', 5, 5, 5);`;
  };
  const given = (address: string, index: number, id: string): string =>
    `INSERT INTO depositAddresses VALUES ('${address}', NULL, ${index}, '${id}');`;
  const forgotten = (address: string, index: number, space: string): string =>
    `INSERT INTO forgottenAddresses VALUES ('${address}', 'm2', NULL, ${index}, '${space}', 9);`;
  const found = (address: string): string =>
    `INSERT INTO foundAddresses VALUES ('eip155:1', '${address}', 3);`;

  it("keeps each address once, with the order in which requests got theirs, and says why it is watched", () => {
    databaseOfVersion(
      at("a.db"),
      20,
      [
        ...[fill, deposit("1", "0xB", "eip155:1", true), given("0xB", 4, "1")],
        ...[deposit("2", "0xA", "bip122:0f", true), given("0xA", 2, "2")],
        // Skipped and paid since, found with a balance, a payer's own tag, and one given out later.
        ...[forgotten("0xC", 3, "eip155:"), deposit("3", "0xC", "eip155:1", false)],
        ...[given("0xC", 3, "3"), forgotten("0xD", 5, "eip155:"), found("0xD")],
        ...[forgotten("rA:7", -1, "xrpl:"), deposit("4", "rA:7", "xrpl:0", false)],
        ...[forgotten("rA:8", -1, "xrpl:"), deposit("5", "rA:8", "xrpl:0", false)],
        ...[deposit("6", "rA:8", "xrpl:0", true), given("rA:8", 8, "6")],
        forgotten("0xE", 6, "eip155:"),
      ].join("\n"),
    );
    const { to } = migrateStore(at("a.db"), options);
    expect(to).toBe(schemaVersion);
    const sql = `SELECT address, addressSpace, merchant, addressIndex, origin, request, at FROM addresses
      ORDER BY number < 0, abs(number)`;
    const rows = seenIn(at("a.db"), (raw) => raw.prepare(sql).all() as Record<string, unknown>[]);
    expect(rows.map((row) => Object.values(row).join(" "))).toEqual([
      "0xB eip155: m1 4 given 1 5",
      "0xA bip122:0f m1 2 given 2 5",
      "0xC eip155: m1 3 skipped 3 9",
      "rA:8 xrpl: m1 8 given 6 5",
      "0xD eip155: m2 5 found  9",
      "rA:7 xrpl: m2  stray  9",
      "0xE eip155: m2 6 skipped  9",
    ]);
  });
});

describe("an interrupted migration", () => {
  const statements = made
    .slice(1)
    .flatMap(({ sql }) => ["BEGIN", ...statementsOf(sql), "version", "digest", "COMMIT"]);
  const places = statements.map((statement, place) => [place, statement.slice(0, 30)] as const);

  /** All that a kill at this moment would leave on disk. */
  function copyFiles(): void {
    mkdirSync(at("killed"));
    for (const name of readdirSync(dir))
      if (name.startsWith("old.db")) copyFileSync(at(name), at(`killed/${name}`));
  }

  it.each(places)(
    "a fault or a kill before statement %i (%s) leaves a whole database, and the next start ends the same",
    (place) => {
      old();
      let done = 0;
      const onStatement = (): void => {
        if (done === place) {
          copyFiles();
          throw new AgentError("GATEWAY_DISK_FAILED", "none", "made up");
        }
        done += 1;
      };
      expect(codeOf(() => migrateStore(at("old.db"), { ...upTo3, onStatement }))).toBe(
        "GATEWAY_DISK_FAILED",
      );
      const version = place < statementsOf(rebuilding).length + 4 ? 1 : 2;
      for (const path of [at("old.db"), at("killed/old.db")]) {
        expect(inspectStore(path, made).version).toBe(version);
        expect(migrateStore(path, upTo3).to).toBe(3);
        expect(stateOf(path)).toEqual(ended());
      }
    },
  );

  it("each statement of each step is one of these moments", () => {
    old();
    const done: string[] = [];
    migrateStore(at("old.db"), { ...upTo3, onStatement: (statement) => void done.push(statement) });
    expect(done).toHaveLength(statements.length);
  });
});
