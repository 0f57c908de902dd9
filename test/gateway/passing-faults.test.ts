/**
 * Every fault that passes by itself, at a start and while a process runs: the status of the end is
 * 1, so that a service manager starts again, and when the fault is over the same work goes on
 * without a person. Disks are real: a small tmpfs that is filled, emptied and mounted to be read
 * alone. Reports of the kind: groue/GRDB.swift #1251, stashapp/stash #5782 (a full disk ended the
 * program, and room did not bring it back).
 */
import { once } from "node:events";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkDisk } from "../../agent/check/check.ts";
import { makeSocketPaths, stateFolder } from "../../agent/files/state-folder.ts";
import { exitVerdictOfError } from "../../agent/launcher/exit-status.ts";
import { takeLock } from "../../agent/launcher/lock.ts";
import { ledgerDisk } from "../../agent/ledger/disk.ts";
import { writeOrFault } from "../../agent/ledger/folder.ts";
import { createLedger, openLedger } from "../../agent/ledger/ledger.ts";
import { listenLines } from "../../agent/signer/sockets/line-server.ts";
import { type Code, codes, passingCauseOf } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import { newFinding, verdictOfFindings } from "../../base/finding.ts";
import { answerOfError } from "../../gateway/api/server.ts";
import { readGatewayKey } from "../../gateway/auth/gateway-key.ts";
import { type GatewayConfig, parseConfig } from "../../gateway/config/config.ts";
import { listenFault } from "../../gateway/config/listen-fault.ts";
import { createDatabase } from "../../gateway/database/database.ts";
import { startGateway } from "../../gateway/gateway.ts";
import { checkGateway } from "../../gateway/operator/check.ts";
import { rightClock } from "../../gateway/own-clock.ts";
import { probesOf } from "../../gateway/reporting/probes.ts";
import type { Service } from "../../gateway/service.ts";
import { openMarks, readMarks } from "../../gateway/store/address-marks.ts";
import { markTokenSeen } from "../../gateway/store/jtis.ts";
import { ownStore } from "../../gateway/store/owner.ts";
import { type Database, openStore, storeOver } from "../../gateway/store/store.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import { testSeal } from "../../lab/kit/ledger-seal.ts";
import { postgresPrograms, startPostgres } from "../../lab/kit/postgres.ts";
import { freePort } from "../../lab/kit/processes.ts";
import { bodies, paired } from "../support/memory-ledger.ts";
import {
  canMount,
  type Disk,
  database,
  eachTestItsFolder,
  folder,
  log,
  smallDisk,
} from "../support/small-disk.ts";

const deps = { log, clock: Date.now, onPoisoned: () => {} };

eachTestItsFolder();

function thrown(act: () => unknown): AgentError {
  try {
    act();
  } catch (error) {
    if (error instanceof AgentError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

async function rejected(act: Promise<unknown>): Promise<AgentError> {
  return act.then(
    () => Promise.reject(new Error("it was fulfilled")),
    (error: AgentError) => error,
  );
}

/** The code, and the status with which a process of the agent and of the gateway ends for it. */
function ends(code: Code, error: AgentError): void {
  expect(error.code).toBe(code);
  expect(exitVerdictOfError(error).exitCode).toBe(1);
}

async function starts(config: GatewayConfig): Promise<void> {
  await (await startGateway(config, deps)).close();
}

const token = (jti: string) => (inside: Database) =>
  markTokenSeen(inside, { keyId: "k", jti, expiresAtMs: 1 });
const kept = (inside: Database): number =>
  inside.get<{ n: number }>("SELECT count(*) AS n FROM jtis")?.n ?? -1;
const large = (inside: Database): void => {
  for (let at = 0; at < 2_000; at += 1) token(`token ${at} ${"x".repeat(200)}`)(inside);
};
const service = { log: silentLog } as unknown as Service;
const isUnavailable = (error: unknown): void =>
  expect(answerOfError(error, service, "r")).toMatchObject({
    code: "unavailable",
    headers: expect.anything(),
  });

/** The nodes of a chain, whose faults no process ends by. */
const ofNodes = (code: Code) => (): void => {
  const error = new AgentError(code, "none", "no word of a node");
  ends(code, error);
  expect(verdictOfFindings([newFinding(code, "error", "no word of a node")])).toMatchObject({
    verdict: "passing",
  });
  isUnavailable(error);
};

const ledgerKit = (disk: Disk) => {
  const options = {
    disk: ledgerDisk(join(disk.path, "ledger")),
    seal: testSeal,
    clock: () => 1_000,
    roomBytesMin: 4096,
  };
  createLedger(options.disk, paired, options.clock, testSeal);
  return options;
};
const flushed = (ledger: ReturnType<typeof openLedger>["ledger"]): Promise<AgentError | null> =>
  new Promise((resolve) => ledger.flush(resolve));

interface Row {
  readonly disk?: true; // it needs a small disk of its own
  readonly atStart: (() => unknown) | string; // a text: why it cannot come there
  readonly running: (() => unknown) | string;
}

const rows: Readonly<Partial<Record<Code, Row>>> = {
  GATEWAY_DISK_FULL: {
    disk: true,
    async atStart() {
      const disk = smallDisk();
      const { path, config } = database(disk.path);
      disk.fill();
      ends("GATEWAY_DISK_FULL", await rejected(startGateway(config, deps)));
      const file = join(folder, "gateway.config.json");
      writeFileSync(
        file,
        JSON.stringify({ ...testConfig, database: `sqlite:${path}`, keyFile: config.keyFile }),
        {
          mode: 0o600,
        },
      );
      const found = verdictOfFindings(
        (await checkGateway(file, Date.now())).filter(({ code }) => !code.startsWith("NODE_")),
      );
      expect(found).toEqual({ verdict: "passing", why: expect.stringContaining("is full") });
      disk.room();
      await starts(config);
    },
    async running() {
      const disk = smallDisk();
      const { path, config } = database(disk.path);
      const raw = new DatabaseSync(path);
      raw.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
      let nowMs = 0;
      const store = storeOver(raw, path, log, () => nowMs);
      onTestFinished(() => store.close());
      const [ready] = probesOf({
        config,
        store,
        clock: Date.now,
        certificateEndsAtMs: () => null,
        watcher: () => null,
        outOfService: () => "",
        ownClock: () => rightClock,
        prices: { of: () => null, canHave: () => false },
      });
      store.write(token("before"));
      disk.fill();
      const fault = thrown(() => store.write(large));
      ends("GATEWAY_DISK_FULL", fault);
      expect(fault.effect).toBe("none");
      isUnavailable(fault);
      expect([store.poisoned, kept(store.database), ready?.().ok]).toEqual([false, 1, false]);
      nowMs += 1_000;
      expect(ready?.().ok).toBe(false);
      disk.room();
      nowMs += 250;
      expect(ready?.().ok).toBe(true);
      store.write(large);
      expect(kept(store.database)).toBe(2_001);
      store.close();
      // A start reads the same: nothing of the refused write stood in the write-ahead file.
      const again = openStore(path, log);
      expect(kept(again.database)).toBe(2_001);
      again.close();
    },
  },
  GATEWAY_DISK_FAILED: {
    disk: true,
    async atStart() {
      const disk = smallDisk();
      // A disk can be closed only while nothing on it is open to be written.
      const made = join(folder, "made");
      mkdirSync(made);
      database(made);
      cpSync(made, disk.path, { recursive: true });
      const config = parseConfig(JSON.stringify(testConfig), disk.path, 0);
      disk.remount("ro");
      ends("GATEWAY_DISK_FAILED", await rejected(startGateway(config, deps)));
      disk.remount("rw");
      await starts(config);
    },
    running: () => isUnavailable(new AgentError("GATEWAY_DISK_FAILED", "none", "the disk fails")),
  },
  GATEWAY_STORE_POISONED: {
    atStart: "a start makes no promise before its first commit, and that is the row beside",
    running() {
      const { path } = database(folder);
      const raw = new DatabaseSync(path);
      const failing = new Proxy(raw, {
        get: (target, name) => {
          const value = Reflect.get(target, name) as unknown;
          if (name === "exec")
            return (sql: string) => {
              if (sql === "COMMIT")
                throw Object.assign(new Error("a sync failed"), { errcode: 10 | (4 << 8) });
              target.exec(sql);
            };
          return typeof value === "function"
            ? (value as (...list: unknown[]) => unknown).bind(target)
            : value;
        },
      });
      const store = storeOver(failing, path, log);
      let isTold = false;
      store.onPoisoned(() => {
        isTold = true;
      });
      const fault = thrown(() => store.write(token("a")));
      ends("GATEWAY_STORE_POISONED", fault);
      expect([fault.effect, store.poisoned, isTold]).toEqual(["unknown", true, true]);
      isUnavailable(fault);
      raw.close();
    },
  },
  GATEWAY_MARKS: {
    disk: true,
    atStart() {
      const disk = smallDisk();
      const path = join(disk.path, "gateway.db.addresses");
      disk.fill();
      ends(
        "GATEWAY_MARKS",
        thrown(() => openMarks(path, new Map([["account", { next: 1, ceiling: 9 }]]))),
      );
      disk.room();
      openMarks(path, new Map([["account", { next: 1, ceiling: 9 }]])).close();
      expect(readMarks(path)?.get("account")).toEqual({ next: 1, ceiling: 9 });
    },
    async running() {
      const disk = smallDisk();
      const path = join(disk.path, "gateway.db.addresses");
      let isBroken = false;
      const marks = openMarks(path, new Map(), () => {
        isBroken = true;
      });
      onTestFinished(() => marks.close());
      disk.fill();
      // The last page of the file takes some lines more, and then the beginning of one.
      let ceiling = 0;
      const next = (): void => {
        ceiling += 1;
        marks.raise(`account-${"x".repeat(100)}`, ceiling);
      };
      const fault = thrown(() => {
        for (let at = 0; at < 100; at += 1) next();
      });
      ends("GATEWAY_MARKS", fault);
      isUnavailable(fault);
      expect(readMarks(path)?.get(`account-${"x".repeat(100)}`)?.ceiling).toBe(ceiling - 1);
      const other = `other-${"y".repeat(100)}`;
      expect((await rejected(marks.note(other, 7))).code).toBe("GATEWAY_MARKS");
      disk.room();
      next();
      await marks.settled();
      await marks.note(other, 7);
      const read = readMarks(path);
      expect([
        read?.get(`account-${"x".repeat(100)}`)?.ceiling,
        read?.get(other)?.next,
        isBroken,
      ]).toEqual([ceiling, 7, false]);
    },
  },
  GATEWAY_LISTEN_TAKEN: {
    async atStart() {
      const other = createServer().listen(0, "127.0.0.1");
      await once(other, "listening");
      const { config } = database(folder);
      const there = {
        ...config,
        listen: { ...config.listen, port: (other.address() as AddressInfo).port },
      };
      ends("GATEWAY_LISTEN_TAKEN", await rejected(startGateway(there, deps)));
      await new Promise((resolve) => other.close(resolve));
      await starts(there);
    },
    running: "a place is taken at a start alone, also at the start within a reload",
  },
  GATEWAY_LISTEN_NAME: {
    atStart() {
      for (const reason of ["EAI_AGAIN", "ENOTFOUND"]) {
        const { code } = listenFault(Object.assign(new Error("no name"), { code: reason }));
        ends("GATEWAY_LISTEN_NAME", new AgentError(code, "none", reason));
      }
      // The twin: a right that a person must give.
      expect(
        passingCauseOf(listenFault(Object.assign(new Error("no right"), { code: "EACCES" })).code),
      ).toBeNull();
    },
    running: "the name is looked up at a start alone",
  },
  GATEWAY_STORE_OWNED: {
    async atStart() {
      const { path, config } = database(folder);
      const other = ownStore(path);
      ends("GATEWAY_STORE_OWNED", await rejected(startGateway(config, deps)));
      other.release();
      await starts(config);
    },
    running: "a gateway that runs is the owner",
  },
  GATEWAY_STORE_AWAY: {
    async atStart() {
      const port = await freePort();
      const { config } = database(folder);
      const url = `postgres://gateway@127.0.0.1:${port}/postgres`;
      const there = parseConfig(JSON.stringify({ ...testConfig, database: url }), folder, 0);
      ends("GATEWAY_STORE_AWAY", await rejected(startGateway(there, deps)));
      if (postgresPrograms() === null) return;
      const server = startPostgres({ listen_addresses: "127.0.0.1", port: String(port) });
      onTestFinished(() => server.stop());
      createDatabase(there, readGatewayKey(config.keyFile).fingerprint, silentLog);
      await starts(there);
    },
    running: "a lost connection leaves a transaction in doubt, and that is GATEWAY_STORE_POISONED",
  },
  GATEWAY_STORE_BUSY: {
    async atStart() {
      const { path, config } = database(folder);
      const other = new DatabaseSync(path);
      other.exec("BEGIN IMMEDIATE");
      ends("GATEWAY_STORE_BUSY", await rejected(startGateway(config, deps)));
      other.exec("ROLLBACK");
      other.close();
      await starts(config);
    },
    running() {
      const { path, config } = database(folder);
      const raw = new DatabaseSync(path, { timeout: 50 });
      raw.exec("PRAGMA journal_mode = WAL");
      let nowMs = 0;
      const store = storeOver(raw, path, log, () => nowMs);
      onTestFinished(() => store.close());
      const other = new DatabaseSync(path);
      const [ready] = probesOf({
        config,
        store,
        clock: Date.now,
        certificateEndsAtMs: () => null,
        watcher: () => null,
        outOfService: () => "",
        ownClock: () => rightClock,
        prices: { of: () => null, canHave: () => false },
      });
      const waits = (): unknown =>
        (raw.prepare("PRAGMA busy_timeout").get() as { readonly timeout: number }).timeout;
      other.exec("BEGIN IMMEDIATE");
      const fault = thrown(() => store.write(token("a")));
      ends("GATEWAY_STORE_BUSY", fault);
      isUnavailable(fault);
      // One wait was enough: no statement waits again, and the file is not even asked.
      expect([waits(), ready?.().ok]).toEqual([0, false]);
      other.exec("ROLLBACK");
      nowMs += 249;
      expect(thrown(() => store.write(token("b"))).code).toBe("GATEWAY_STORE_BUSY");
      nowMs += 1;
      store.write(token("c"));
      expect([waits(), ready?.().ok, kept(store.database)]).toEqual([1_000, true, 1]);
      other.exec("BEGIN IMMEDIATE");
      thrown(() => store.write(token("d")));
      other.exec("ROLLBACK");
      nowMs += 250;
      // A probe of /ready finds the end as well.
      expect(ready?.().ok).toBe(true);
      other.close();
    },
  },
  LEDGER_DISK_FULL: {
    disk: true,
    async atStart() {
      const disk = smallDisk();
      const state = stateFolder(join(disk.path, "state"));
      disk.fill();
      ends("LEDGER_DISK_FULL", await rejected(takeLock(state.signer, 0)));
      ends(
        "LEDGER_DISK_FULL",
        thrown(() => makeSocketPaths(state)),
      );
      disk.room();
      const lock = await takeLock(state.signer, 0);
      makeSocketPaths(state);
      lock.release();
      // The lock of a state folder that is there needs no room.
      disk.fill();
      (await takeLock(state.signer, 0)).release();
      mkdirSync(join(folder, "ledger"));
      expect(checkDisk({ ...state, signer: disk.path }, () => false)).toEqual([]);
      disk.room();
      mkdirSync(join(disk.path, "ledger"));
      disk.fill();
      expect(verdictOfFindings(checkDisk({ ...state, signer: disk.path }))).toMatchObject({
        verdict: "passing",
      });
    },
    async running() {
      const disk = smallDisk();
      const { ledger } = openLedger(ledgerKit(disk));
      onTestFinished(() => ledger.close());
      expect(ledger.refusal).toBeNull();
      disk.fill();
      ledger.freeBytes();
      expect(ledger.refusal).toBe("LEDGER_DISK_FULL");
      disk.room();
      expect(ledger.refusal).toBeNull();
    },
  },
  LEDGER_POISONED: {
    disk: true,
    atStart() {
      const disk = smallDisk();
      const options = ledgerKit(disk);
      const file = join(disk.path, "ledger", "00000001.jsonl");
      // A torn write, which a start keeps aside in a file of its own.
      writeFileSync(file, `{"torn":"${"x".repeat(100)}`, { flag: "a" });
      disk.fill();
      ends(
        "LEDGER_POISONED",
        thrown(() => openLedger(options)),
      );
      disk.room();
      const { ledger, tornBytes } = openLedger(options);
      expect(tornBytes).toBeGreaterThan(0);
      ledger.close();
    },
    async running() {
      const disk = smallDisk();
      const options = ledgerKit(disk);
      const { ledger } = openLedger(options);
      disk.fill();
      let fault: AgentError | null = null;
      for (let at = 1; at < 60 && fault === null; at += 1) {
        ledger.append(bodies(at));
        fault = await flushed(ledger);
      }
      if (fault === null) throw new Error("the full disk took everything");
      ends("LEDGER_POISONED", fault);
      const { seq } = ledger.durableHead;
      ledger.close();
      disk.room();
      // Everything durable is there, and nothing half written.
      const again = openLedger(options);
      expect(again.ledger.durableHead.seq).toBeGreaterThanOrEqual(seq);
      again.ledger.append(bodies(90));
      expect(await flushed(again.ledger)).toBeNull();
      again.ledger.close();
    },
  },
  LEDGER_READ_ONLY: {
    disk: true,
    atStart() {
      const disk = smallDisk();
      const options = ledgerKit(disk);
      disk.remount("ro");
      const { ledger } = openLedger(options);
      ends(
        "LEDGER_READ_ONLY",
        thrown(() => ledger.append(bodies(1))),
      );
      expect(ledger.refusal).toBe("LEDGER_READ_ONLY");
      disk.remount("rw");
      openLedger(options).ledger.close();
    },
    async running() {
      const disk = smallDisk();
      const options = ledgerKit(disk);
      const { ledger } = openLedger(options);
      ledger.close();
      disk.remount("ro");
      ends(
        "LEDGER_READ_ONLY",
        thrown(() => writeOrFault(() => options.disk.create("stopped.json", Buffer.from("{}")))),
      );
      disk.remount("rw");
      openLedger(options).ledger.close();
    },
  },
  SOCKET_IN_USE: {
    async atStart() {
      const path = join(folder, "s.sock");
      const listening = (): Promise<AgentError | { close(): void }> =>
        new Promise((resolve) => {
          const server = listenLines(path, {
            onRequest: () => {},
            onListening: () => resolve(server),
            onFault: (error) => resolve(error as AgentError),
            connectionsMax: 1,
            outstandingMax: 1,
          });
        });
      const one = await listening();
      const other = await listening();
      ends("SOCKET_IN_USE", other as AgentError);
      (one as { close(): void }).close();
      const again = await listening();
      expect(again).not.toBeInstanceOf(AgentError);
      (again as { close(): void }).close();
    },
    running: "a socket is taken at a start alone",
  },
  STATE_IN_USE: {
    async atStart() {
      const path = join(folder, "signer");
      const lock = await takeLock(path, 0);
      ends("STATE_IN_USE", await rejected(takeLock(path, 0)));
      lock.release();
      (await takeLock(path, 0)).release();
    },
    running: "an agent that runs has the folder",
  },
  LINK_SOCKET: {
    atStart: "the courier starts without its gateway and dials again by itself: test/courier",
    running: () => ends("LINK_SOCKET", new AgentError("LINK_SOCKET", "none", "no name")),
  },
  NODE_UNREACHABLE: {
    // The node of this configuration is a port at which nobody listens.
    atStart: () => starts(database(folder).config),
    running: ofNodes("NODE_UNREACHABLE"),
  },
  NODE_TIMEOUT: {
    atStart: "as NODE_UNREACHABLE: a start asks no node",
    running: ofNodes("NODE_TIMEOUT"),
  },
  NODE_HTTP: {
    atStart: "as NODE_UNREACHABLE: a start asks no node",
    running: ofNodes("NODE_HTTP"),
  },
  NODE_PATH: {
    atStart: "as NODE_UNREACHABLE: a start asks no node",
    running: ofNodes("NODE_PATH"),
  },
  NODE_HEADERS: {
    atStart: "as NODE_UNREACHABLE: a start asks no node",
    running: ofNodes("NODE_HEADERS"),
  },
  NODE_HOUR_NEAR: {
    atStart: "as NODE_UNREACHABLE: a start asks no node",
    running: ofNodes("NODE_HOUR_NEAR"),
  },
  NODE_QUOTA: {
    atStart: "as NODE_UNREACHABLE: a start asks no node",
    running: ofNodes("NODE_QUOTA"),
  },
  NODE_STALE: {
    atStart: "as NODE_UNREACHABLE: a start asks no node",
    running: ofNodes("NODE_STALE"),
  },
  CHAIN_FINAL_STALE: {
    atStart: "as NODE_UNREACHABLE: a start asks no node",
    running: ofNodes("CHAIN_FINAL_STALE"),
  },
  NODE_NO_RATE: {
    atStart: "as NODE_UNREACHABLE: a start asks no node",
    running: ofNodes("NODE_NO_RATE"),
  },
  NODE_LAG: { atStart: "as NODE_UNREACHABLE: a start asks no node", running: ofNodes("NODE_LAG") },
};

describe("faults that pass", () => {
  it("have a row each, and no other code has one", () => {
    const passing = (Object.keys(codes) as Code[]).filter((code) => passingCauseOf(code) !== null);
    expect(Object.keys(rows).sort()).toEqual([...passing].sort());
  });

  for (const [code, { disk, atStart, running }] of Object.entries(rows)) {
    const runs = it.runIf(disk !== true || canMount);
    if (typeof atStart !== "string")
      runs(`faults that pass, at a start: ${code}`, async () => void (await atStart()));
    if (typeof running !== "string")
      runs(`faults that pass, while it runs: ${code}`, async () => void (await running()));
  }

  it("faults that do not pass end with another status, and are answered with 500", () => {
    const error = new AgentError("GATEWAY_KEY_OTHER", "none", "another key");
    expect(answerOfError(error, service, "r")).toMatchObject({ code: "internal" });
    expect(
      exitVerdictOfError(new AgentError("CONFIG_VALUE", "none", "out of range")).exitCode,
    ).toBe(2);
    expect(
      verdictOfFindings([
        newFinding("GATEWAY_DISK_FULL", "error", "full"),
        newFinding("GATEWAY_KEY_OTHER", "error", "key"),
      ]),
    ).toEqual({
      verdict: "wrong",
    });
  });
});
