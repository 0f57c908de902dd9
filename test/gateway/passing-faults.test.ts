/**
 * Every fault that passes by itself, at a start and while a process runs: the status of the end is
 * 1, so that a service manager starts again, and when the fault is over the same work goes on
 * without a person. Disks are real: a small tmpfs that is filled, emptied and mounted to be read
 * alone. Reports of the kind: groue/GRDB.swift #1251, stashapp/stash #5782 (a full disk ended the
 * program, and room did not bring it back).
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { checkDisk } from "../../agent/check/disk.ts";
import { makeSocketPaths, stateFolder } from "../../agent/files/state-folder.ts";
import { verdictOn } from "../../agent/launcher/exit-status.ts";
import { takeLock } from "../../agent/launcher/lock.ts";
import { ledgerDisk } from "../../agent/ledger/disk.ts";
import { writing } from "../../agent/ledger/folder.ts";
import { createLedger, openLedger } from "../../agent/ledger/ledger.ts";
import { listenLines } from "../../agent/signer/sockets/line-server.ts";
import { type Code, codes, passingOf } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import { finding, verdictOfFindings } from "../../base/finding.ts";
import { answerOfError } from "../../gateway/api/server.ts";
import { createGatewayKey } from "../../gateway/auth/gateway-key.ts";
import { type GatewayConfig, parseConfig } from "../../gateway/config/config.ts";
import { listenFault } from "../../gateway/config/listen-fault.ts";
import { startGateway } from "../../gateway/gateway.ts";
import { checkGateway } from "../../gateway/operator/check.ts";
import { tellWhileDown } from "../../gateway/reporting/down.ts";
import { probesOf } from "../../gateway/reporting/probes.ts";
import type { Service } from "../../gateway/service.ts";
import { openMarks, readMarks } from "../../gateway/store/address-marks.ts";
import { keepToken } from "../../gateway/store/jtis.ts";
import { ownStore } from "../../gateway/store/owner.ts";
import { createStore, type Database, openStore, storeOver } from "../../gateway/store/store.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import { testSeal } from "../../lab/kit/ledger-seal.ts";
import { freePort, until } from "../../lab/kit/processes.ts";
import { startsTheBuild } from "../support/built.ts";
import { bodies, paired } from "../support/memory-ledger.ts";

const log = pino({ level: "silent" });
const deps = { log, clock: Date.now, onPoisoned: () => {} };
const root = fileURLToPath(new URL("../..", import.meta.url));
const launcher = join(root, "gateway/gateway.js");

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "passing-"));
});
const mounted: string[] = [];
afterEach(() => {
  for (const path of mounted.splice(0)) execFileSync("umount", ["-l", path]);
  rmSync(folder, { recursive: true, force: true });
});

/** A small disk of a test. */
interface Disk {
  readonly path: string;
  /** Leaves no byte and no file; `room` gives all of them back. */
  fill(): void;
  room(): void;
  remount(mode: "ro" | "rw"): void;
}

const mount = (...words: readonly string[]): boolean => spawnSync("mount", words, { stdio: "ignore" }).status === 0;
const canMount = ((): boolean => {
  const place = mkdtempSync(join(tmpdir(), "passing-mount-"));
  const done = mount("-t", "tmpfs", "-o", "size=64k", "none", place);
  if (done) execFileSync("umount", [place]);
  rmSync(place, { recursive: true });
  return done;
})();
if (!canMount) process.stderr.write("\n*** SKIPPED: faults of a real disk, because this user may mount no tmpfs\n\n");

function smallDisk(size = "8m"): Disk {
  const path = join(folder, "disk");
  mkdirSync(path);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=700,nr_inodes=64`, "none", path]);
  mounted.push(path);
  const ballast = join(path, "ballast");
  return {
    path,
    fill() {
      mkdirSync(ballast);
      const file = openSync(join(ballast, "bytes"), "a");
      for (let size = 65_536; size >= 1; ) {
        try {
          writeSync(file, Buffer.alloc(size));
        } catch {
          size = size === 1 ? 0 : Math.floor(size / 2);
        }
      }
      closeSync(file);
      for (let left = statfsSync(path).ffree; left > 0; left -= 1) writeFileSync(join(ballast, String(left)), "");
      expect(statfsSync(path)).toMatchObject({ bavail: 0, ffree: 0 });
    },
    room: () => rmSync(ballast, { recursive: true, force: true }),
    remount: (mode) => execFileSync("mount", ["-o", `remount,${mode}`, path]),
  };
}

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
  expect(verdictOn(error).exitCode).toBe(1);
}

function database(dir: string): { readonly path: string; readonly config: GatewayConfig } {
  const config = parseConfig(JSON.stringify(testConfig), dir, 0);
  createStore(config.database, createGatewayKey(config.keyFile).fingerprint, log).close();
  return { path: config.database, config };
}

async function starts(config: GatewayConfig): Promise<void> {
  await (await startGateway(config, deps)).close();
}

const token = (jti: string) => (inside: Database) => keepToken(inside, { keyId: "k", jti, expiresAtMs: 1 });
const kept = (inside: Database): number => inside.get<{ n: number }>("SELECT count(*) AS n FROM jtis")?.n ?? -1;
const large = (inside: Database): void => {
  for (let at = 0; at < 2_000; at += 1) token(`token ${at} ${"x".repeat(200)}`)(inside);
};
const service = { log: silentLog } as unknown as Service;
const isUnavailable = (error: unknown): void =>
  expect(answerOfError(error, service, "r")).toMatchObject({ code: "unavailable", headers: expect.anything() });

/** The nodes of a chain, whose faults no process ends by. */
const ofNodes = (code: Code) => (): void => {
  const error = new AgentError(code, "none", "no word of a node");
  ends(code, error);
  expect(verdictOfFindings([finding(code, "error", "no word of a node")])).toMatchObject({ verdict: "passing" });
  isUnavailable(error);
};

const ledgerKit = (disk: Disk) => {
  const options = { disk: ledgerDisk(join(disk.path, "ledger")), seal: testSeal, clock: () => 1_000, roomBytesMin: 4096 };
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
      writeFileSync(file, JSON.stringify({ ...testConfig, database: `sqlite:${path}`, keyFile: config.keyFile }), {
        mode: 0o600,
      });
      const found = verdictOfFindings((await checkGateway(file, Date.now())).filter(({ code }) => !code.startsWith("NODE_")));
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
              if (sql === "COMMIT") throw Object.assign(new Error("a sync failed"), { errcode: 10 | (4 << 8) });
              target.exec(sql);
            };
          return typeof value === "function" ? (value as (...list: unknown[]) => unknown).bind(target) : value;
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
      expect([read?.get(`account-${"x".repeat(100)}`)?.ceiling, read?.get(other)?.next, isBroken]).toEqual([ceiling, 7, false]);
    },
  },
  GATEWAY_LISTEN_TAKEN: {
    async atStart() {
      const other = createServer().listen(0, "127.0.0.1");
      await once(other, "listening");
      const { config } = database(folder);
      const there = { ...config, listen: { ...config.listen, port: (other.address() as AddressInfo).port } };
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
      expect(passingOf(listenFault(Object.assign(new Error("no right"), { code: "EACCES" })).code)).toBeNull();
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
        prices: { of: () => null, canHave: () => false },
      });
      const waits = (): unknown => (raw.prepare("PRAGMA busy_timeout").get() as { readonly timeout: number }).timeout;
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
      expect(verdictOfFindings(checkDisk({ ...state, signer: disk.path }))).toMatchObject({ verdict: "passing" });
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
        thrown(() => writing(() => options.disk.create("stopped.json", Buffer.from("{}")))),
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
  NODE_TIMEOUT: { atStart: "as NODE_UNREACHABLE: a start asks no node", running: ofNodes("NODE_TIMEOUT") },
  NODE_HTTP: { atStart: "as NODE_UNREACHABLE: a start asks no node", running: ofNodes("NODE_HTTP") },
  NODE_QUOTA: { atStart: "as NODE_UNREACHABLE: a start asks no node", running: ofNodes("NODE_QUOTA") },
  NODE_STALE: { atStart: "as NODE_UNREACHABLE: a start asks no node", running: ofNodes("NODE_STALE") },
  NODE_LAG: { atStart: "as NODE_UNREACHABLE: a start asks no node", running: ofNodes("NODE_LAG") },
};

describe("faults that pass", () => {
  it("have a row each, and no other code has one", () => {
    const passing = (Object.keys(codes) as Code[]).filter((code) => passingOf(code) !== null);
    expect(Object.keys(rows).sort()).toEqual([...passing].sort());
  });

  for (const [code, { disk, atStart, running }] of Object.entries(rows)) {
    const runs = it.runIf(disk !== true || canMount);
    if (typeof atStart !== "string") runs(`faults that pass, at a start: ${code}`, async () => void (await atStart()));
    if (typeof running !== "string") runs(`faults that pass, while it runs: ${code}`, async () => void (await running()));
  }

  it("faults that do not pass end with another status, and are answered with 500", () => {
    const error = new AgentError("GATEWAY_KEY_OTHER", "none", "another key");
    expect(answerOfError(error, service, "r")).toMatchObject({ code: "internal" });
    expect(verdictOn(new AgentError("CONFIG_VALUE", "none", "out of range")).exitCode).toBe(2);
    expect(
      verdictOfFindings([finding("GATEWAY_DISK_FULL", "error", "full"), finding("GATEWAY_KEY_OTHER", "error", "key")]),
    ).toEqual({
      verdict: "wrong",
    });
  });
});

describe("alerts of a gateway that does not run", () => {
  it("come at once, each hour, and at the end of five minutes of answers", async () => {
    const told: string[] = [];
    let nowMs = 0;
    const isUp = async (): Promise<boolean> => (nowMs > 2.5 * 3_600_000 && nowMs % 60_000 !== 0 ? true : nowMs > 2.6 * 3_600_000);
    await tellWhileDown({
      isUp,
      reason: () => ({ code: "GATEWAY_DISK_FULL", words: "the disk is full" }),
      deliver: async (body) => {
        const { event, level, context, again } = JSON.parse(body);
        told.push(`${Math.floor(nowMs / 3_600_000)} ${event} ${level} ${context.code} ${again}`);
        return "";
      },
      rest: async (ms) => {
        nowMs += ms;
        await new Promise((resolve) => setImmediate(resolve));
      },
      clock: () => nowMs,
      monotonic: () => nowMs,
      log,
    });
    expect(told).toEqual([
      "0 gateway-down error GATEWAY_DISK_FULL false",
      "1 gateway-down error GATEWAY_DISK_FULL true",
      "2 gateway-down error GATEWAY_DISK_FULL true",
      "2 gateway-down-over info GATEWAY_DISK_FULL false",
    ]);
    expect(nowMs).toBeGreaterThanOrEqual(2.6 * 3_600_000 + 300_000);
  });
});

describe.runIf(canMount)("the built gateway on a disk that fills up", () => {
  startsTheBuild();

  it("the built gateway is up again by itself when there is room, and somebody was told meanwhile", async () => {
    const disk = smallDisk("16m");
    const heard: string[] = [];
    const receiver = createServer((request, response) => {
      let body = "";
      request.on("data", (part) => {
        body += String(part);
      });
      request.on("end", () => {
        heard.push(body);
        response.end();
      });
    }).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    onTestFinished(() => void receiver.close());
    const { config } = database(disk.path);
    const port = await freePort();
    const file = join(disk.path, "gateway.config.json");
    const settings = {
      ...testConfig,
      ...{ logLevel: "error", listen: { host: "127.0.0.1", port }, keyFile: config.keyFile },
      alerts: { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/` },
    };
    writeFileSync(file, JSON.stringify(settings), { mode: 0o600 });
    const ready = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/health`).catch(() => null))?.status ?? 0;
    /** A service manager's part: what ends with 1 is started again. */
    const statuses: (number | null)[] = [];
    let child = spawn(process.execPath, [launcher, "start", "--config", file], { stdio: "ignore" });
    let isOver = false;
    const manage = (): void => {
      child.once("exit", (status) => {
        statuses.push(status);
        if (isOver || status !== 1) return;
        child = spawn(process.execPath, [launcher, "start", "--config", file], { stdio: "ignore" });
        manage();
      });
    };
    manage();
    onTestFinished(() => {
      isOver = true;
      child.kill("SIGKILL");
    });
    const answers = (): Promise<true> =>
      until(
        "health",
        60_000,
        async () => ((await ready()) === 200 ? true : undefined),
        () => statuses.join(),
      );
    await answers();
    // It lives on a full disk; what brings it down then is a kill.
    disk.fill();
    expect(await ready()).toBe(200);
    child.kill("SIGKILL");
    await once(child, "exit");
    child = spawn(process.execPath, [launcher, "start", "--config", file], { stdio: "ignore" });
    manage();
    const alerts = spawn(process.execPath, [launcher, "alert-down", "--config", file], { stdio: "ignore" });
    onTestFinished(() => void alerts.kill("SIGKILL"));
    await until(
      "an alert",
      60_000,
      async () => (heard.length > 0 ? true : undefined),
      () => statuses.join(),
    );
    await until(
      "two starts",
      60_000,
      async () => (statuses.filter((one) => one === 1).length >= 2 ? true : undefined),
      () => statuses.join(),
    );
    expect(JSON.parse(heard[0] ?? "{}")).toMatchObject({ event: "gateway-down", context: { code: "GATEWAY_DISK_FULL" } });
    const check = spawnSync(process.execPath, [launcher, "check", "--config", file], { encoding: "utf8" });
    expect([check.status, check.stdout]).toEqual([1, expect.stringMatching(/would not start now: .*is full/)]);
    disk.room();
    await answers();
    expect(statuses.filter((one) => one !== null && one !== 1)).toEqual([]);
    expect(readFileSync(file, "utf8")).toBe(JSON.stringify(settings));
  });
});
