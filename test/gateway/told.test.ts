/**
 * Every trouble of a gateway that an operator must know is told: each row of the table of alerts
 * that a gateway sends is caused here, in a real database and a real folder, and its alert is read.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Alert } from "../../base/alerts/queue/due-alerts.ts";
import { alertTable } from "../../base/alerts/queue/table.ts";
import { adviceOf } from "../../base/causes.ts";
import { gravityWords } from "../../base/problem.ts";
import { formatTimestampUtc } from "../../base/timestamp.ts";
import type { Fault } from "../../gateway/faults/fault.ts";
import { faultGroupName } from "../../gateway/faults/words.ts";
import { type ClockState, rightClock } from "../../gateway/own-clock.ts";
import { startAlerts } from "../../gateway/reporting/alerts.ts";
import { partsOf } from "../../gateway/reporting/probes.ts";
import type { FiatPrice } from "../../gateway/service.ts";
import { readAgent } from "../../gateway/store/agents.ts";
import { recordAlarm } from "../../gateway/store/alarm.ts";
import { fileBytesOf, walBytesMax } from "../../gateway/store/disk.ts";
import { keepFault, listFaults, markFaultTold } from "../../gateway/store/faults.ts";
import type { ShownGateway } from "../../gateway/store/leases.ts";
import { findOtherDatabaseProcesses, parseProcLock } from "../../gateway/store/neighbours.ts";
import type { AgentRow } from "../../gateway/store/rows.ts";
import type { ChainStatus } from "../../gateway/watcher/chain-status.ts";
import type { Watcher } from "../../gateway/watcher/watcher.ts";
import { makeJob } from "../../gateway/withdrawals/jobs.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import { insertTransaction, pairAgent, transferRow } from "../../lab/kit/gateway-database.ts";
import { startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import { until } from "../support/until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.close());

const well: ChainStatus = {
  ...{
    chain: "local",
    network: "eip155:31337",
    ok: true,
    detail: "",
    plain: "",
    head: 9,
    final: 9,
    headAgeMs: 1,
  },
  finalAgeMs: 1,
  delays: [],
  nodes: [{ url: "http://one", ok: true, detail: "", since: null, plain: "", lagBlocks: 0 }],
};
const fresh: FiatPrice = { price: 1n, atMs: 0, isStale: false, origin: "markets" };

interface World {
  chain: ChainStatus;
  freeBytes: number | null;
  certificateEndsAtMs: number | null;
  outOfService: string;
  ownClock?: ClockState;
  gateways?: readonly ShownGateway[];
  price: FiatPrice | null;
  faults: readonly Fault[];
  readonly online: Set<string>;
  toldAt: number;
}

/** The alerts after each look, a quarter of an hour apart by the monotonic clock. */
function watch() {
  const { store, config } = gateway.service;
  const world: World = {
    ...{
      chain: well,
      freeBytes: null,
      certificateEndsAtMs: null,
      outOfService: "",
      price: fresh,
      online: new Set<string>(),
      faults: [],
      toldAt: 0,
    },
  };
  const told: Alert[] = [];
  let nowMs = 0;
  const watcher = {
    chainStatus: () => [world.chain],
    faults: () => world.faults,
  } as unknown as Watcher;
  const parts = partsOf({
    ...{ config, store, clock: () => gateway.clock.nowMs, watcher: () => watcher },
    certificateEndsAtMs: () => world.certificateEndsAtMs,
    prices: { of: () => world.price, canHave: (_currency, fiat) => fiat === "USD" },
    outOfService: (currency) => (currency === "usdt" ? world.outOfService : ""),
    ownClock: () => world.ownClock ?? rightClock,
  });
  const alerts = startAlerts({
    ...{
      alerts: { agentAwayMinutes: 10 },
      database: store.database,
      watcher: () => watcher,
      parts,
      run: "this run",
    },
    ...{ log: pino({ level: "silent" }), currencies: { eth: config.currencies.eth as never } },
    hub: { online: (id) => world.online.has(id) },
    prices: { of: () => world.price, canHave: (_currency, fiat) => fiat === "USD" },
    freeBytes: () => world.freeBytes,
    gateways: () => world.gateways ?? [],
    onFaultsTold: (subjects) => {
      for (const row of listFaults(store.database))
        if (subjects.has(faultGroupName(row))) markFaultTold(store.database, row, world.toldAt);
    },
    clock: () => gateway.clock.nowMs,
    monotonic: () => nowMs,
    deliver: async (body) => {
      const alert = JSON.parse(body) as Alert;
      const begins = alert.event.endsWith("-over") ? "" : `${gravityWords[alert.gravity]}: `;
      expect(alert.message.startsWith(begins), alert.message).toBe(true);
      if (alert.gravity === "wake") expect(alert.level, alert.event).toBe("error");
      told.push({ ...alert, message: alert.message.slice(begins.length) });
      return "";
    },
  });
  const look = async (afterMinutes = 0): Promise<readonly Alert[]> => {
    const before = told.length;
    nowMs += afterMinutes * 60_000;
    alerts.look();
    await until(() => alerts.counts().waiting === 0);
    return told.slice(before);
  };
  return { world, look, close: alerts.close };
}

const unread = (sinceMs: number, id = "0xa usdt", code: Fault["code"] = "NODE_ERROR"): Fault => ({
  ...{
    domain: "address",
    network: "eip155:31337",
    id,
    merchant: "m-a",
    code,
    words: "reverted",
    plain: code,
  },
  ...{ sinceMs, tries: 3, retryAtMs: sinceMs, count: 1 },
});

const says = (alerts: readonly Alert[]) =>
  alerts.map(({ event, subject, message }) => [event, subject, message]);

describe("items that cannot be read", () => {
  const keep = ({ domain, network, id, merchant, code, words, sinceMs, tries }: Fault): void =>
    keepFault(gateway.service.store.database, {
      domain,
      network,
      id,
      merchant,
      code,
      words,
      since: sinceMs,
      tries,
    });

  it("are one alert for a domain, a merchant and a code, ten minutes after they began, and one at their end", async () => {
    const { world, look, close } = watch();
    const nowMs = gateway.clock.nowMs;
    world.faults = [
      unread(nowMs - 599_999),
      { ...unread(nowMs), domain: "transaction", id: "7 0x1 0xa" },
    ];
    expect((await look()).map(({ event, subject }) => [event, subject])).toEqual([
      ["item-fault", "transaction eip155:31337 m-a NODE_ERROR"],
    ]);
    world.faults = [
      unread(nowMs - 600_000),
      unread(nowMs - 700_000, "0xb usdt"),
      unread(nowMs - 700_000, "0xa usdt", "NODE_PRUNED"),
    ];
    expect(says((await look()).filter(({ event }) => event === "item-fault"))).toEqual([
      [
        "item-fault",
        "address eip155:31337 m-a NODE_ERROR",
        `2 addresses of m-a are not read since ${formatTimestampUtc(nowMs - 600_000)}: NODE_ERROR: reverted`,
      ],
      [
        "item-fault",
        "address eip155:31337 m-a NODE_PRUNED",
        `1 address of m-a is not read since ${formatTimestampUtc(nowMs - 700_000)}: NODE_PRUNED: reverted`,
      ],
    ]);
    expect(await look(61)).toEqual([]);
    world.faults = [];
    expect((await look()).map(({ event }) => event)).toEqual([
      "item-fault-over",
      "item-fault-over",
    ]);
    close();
  });

  it("are not sent again by the run after, unless the first alert had just left", async () => {
    const nowMs = gateway.clock.nowMs;
    const fault = unread(nowMs - 700_000);
    keep(fault);
    for (const [toldAt, expected] of [
      [nowMs - 59_999, ["item-fault"]],
      [nowMs - 60_000, []],
    ] as const) {
      gateway.service.store.database.run("UPDATE faults SET toldAt = NULL");
      const before = watch();
      Object.assign(before.world, { faults: [fault], toldAt });
      expect(await before.look()).toHaveLength(1);
      before.close();
      const after = watch();
      after.world.faults = [fault];
      expect((await after.look()).map(({ event }) => event)).toEqual(expected);
      after.close();
    }
  });
});

describe("a gateway that is in trouble", () => {
  it("a gateway that is well tells nothing, and each row of its table is told once with a line to type", async () => {
    const { world, look, close } = watch();
    const { store } = gateway.service;
    try {
      expect(await look(61)).toEqual([]);
      const agent = pairAgent(store, "b");
      const held = {
        operation: "withdraw",
        mode: "auto",
        stage: "awaiting_approval",
        status: 0,
        merchant: "m-b",
      } as const;
      insertTransaction(store, {
        ...held,
        id: "5".repeat(32),
        orderId: "w",
        createdAt: gateway.clock.nowMs - 3_600_001,
      });
      insertTransaction(store, {
        ...held,
        operation: "sweep",
        id: "6".repeat(32),
        orderId: "0x5/1",
        payer: "0x5",
        receiver: agent.hotWalletAddress,
        stage: "stuck",
      });
      const waits = {
        ...held,
        operation: "topup",
        stage: "queued",
        currency: "eth",
        payer: agent.hotWalletAddress,
        receiver: "0x5",
      } as const;
      const row = insertTransaction(store, {
        ...waits,
        id: "7".repeat(32),
        orderId: "6".repeat(32),
        createdAt: gateway.clock.nowMs,
      });
      store.database.run("UPDATE agents SET caughtUp = 'this run'");
      const { database } = store;
      store.write(() =>
        makeJob(database, readAgent(database, agent.id) as AgentRow, transferRow(row), "this run"),
      );
      store.database.run("UPDATE agents SET lockedCode = 'LEDGER_DAMAGED'");
      store.database.run(
        "INSERT INTO callbackTargets (id, merchant, url, events, secretBox, createdAt, failedAt, failedStatus) VALUES ('c_1', 'm-b', 'https://a.example/', '', x'00', 1, 2, 500)",
      );
      recordAlarm(store.database, {
        at: gateway.clock.nowMs,
        actor: "hub",
        code: "HUB_LEDGER_FORKED",
        subject: "x",
        detail: "two",
      });
      const foreign = {
        actor: "watcher",
        code: "WATCHER_OUTGOING_FOREIGN",
        subject: "0x1",
        detail: "paid",
      } as const;
      recordAlarm(store.database, { ...foreign, at: gateway.clock.nowMs });
      for (const cause of ["hot", "deposit-more"] as const) {
        const alarm = {
          actor: "books",
          code: "BOOKS_DIFFERENCE",
          cause,
          subject: "0x2",
          detail: cause,
        } as const;
        recordAlarm(store.database, { ...alarm, at: gateway.clock.nowMs });
      }
      world.freeBytes = 5;
      world.certificateEndsAtMs = gateway.clock.nowMs + 86_400_000;
      world.outOfService = "wrong decimals";
      world.ownClock = {
        kind: "ahead",
        ownMs: gateway.clock.nowMs,
        chainMs: gateway.clock.nowMs - 86_400_000,
      };
      const seen = { run: "r", version: "1", digest: "d", state: "standby" } as const;
      world.gateways = [
        { name: "a:1", ...seen, heartbeatAgeMs: 15_000 },
        { name: "b:1", ...seen, heartbeatAgeMs: 14_999 },
      ];
      world.price = { ...fresh, isStale: true };
      world.faults = [unread(gateway.clock.nowMs - 600_000)];
      const [node] = well.nodes;
      world.chain = {
        ...well,
        nodes: [{ ...node, since: 1, detail: "NODE_LAG: 9 blocks behind" } as never],
      };
      const first = [...(await look())];
      const words = "the final block of local is 3, 90 min old";
      world.chain = { ...well, delays: [{ code: "CHAIN_FINAL_STALE", words, plain: words }] };
      first.push(...(await look()), ...(await look(61)));
      world.chain = { ...well, ok: false, detail: "NODE_HTTP" };
      const later = [...first, ...(await look(61)), ...(await look(61))];
      const events = new Set(later.map(({ event }) => event));
      const ofGateway = Object.entries(alertTable).filter(([, { sender }]) =>
        sender.includes("gateway"),
      );
      // The node's own row has its test below, the write-ahead file's a process; a gateway that
      // does not run is told of by a command of its own.
      const missing = ofGateway
        .map(([event]) => event)
        .filter((event) => !events.has(event as never));
      expect(missing).toEqual(["node-poor", "gateway-down", "wal-large"]);
      for (const alert of later)
        expect(alert.hint !== "", alert.event).toBe(!alert.event.endsWith("-over"));
      expect(later.length).toBe(
        new Set(later.map(({ event, subject }) => `${event} ${subject}`)).size,
      );
      const alarms = later
        .filter(({ event }) => event === "alarm")
        .map(({ context, hint }) => [context.danger, hint]);
      const alarmGravity = later.filter(({ event }) => event === "alarm").map((one) => one.gravity);
      expect(alarmGravity).toEqual(["broken", "wake", "wake", "broken"]);
      const gravityOf = (name: string) => later.find(({ event }) => event === name)?.gravity;
      expect(["disk-room-low", "nodes-away", "certificate-ends"].map(gravityOf)).toEqual([
        ...["broken", "broken", "warning"],
      ]);
      expect(alarms).toEqual([
        ["work", adviceOf("HUB_LEDGER_FORKED")],
        ["theft", adviceOf("WATCHER_OUTGOING_FOREIGN")],
        ["theft", adviceOf("BOOKS_DIFFERENCE", "hot")],
        ["work", adviceOf("BOOKS_DIFFERENCE", "deposit-more")],
      ]);
      const waiting = later.find(({ event }) => event === "withdrawals-waiting");
      expect(waiting?.message).toMatch(
        /^1 withdrawal waits at Shop \(m-b\), the oldest since \S+ as awaiting_approval$/,
      );
      expect(waiting?.hint).toBe("autowithdraw-gateway withdrawals list --merchant m-b --status 0");
      expect(later.find(({ event }) => event === "callbacks-failing")?.message).toBe(
        "callback target c_1 of Shop takes no event: it answered 500",
      );
      expect(later.find(({ event }) => event === "certificate-ends")?.message).toMatch(
        /^the certificate ends at .*renew it, then reload$/,
      );
      expect(agent.id).toBe("b".repeat(16));
      expect(await look(61)).toEqual([]);
    } finally {
      close();
    }
  });

  it("a gateway that is well again tells the end of each trouble", async () => {
    const { world, look, close } = watch();
    try {
      world.certificateEndsAtMs = gateway.clock.nowMs - 1;
      world.price = null;
      const [node] = well.nodes;
      world.chain = {
        ...well,
        nodes: [
          node as never,
          { ...node, url: "http://two", since: 1, detail: "NODE_LAG: behind" } as never,
        ],
      };
      expect((await look()).map(({ event }) => event)).toEqual(["certificate-ends"]);
      expect(says(await look(15))).toEqual([
        ["node-poor", "local http://two", "node http://two of local: NODE_LAG: behind"],
        ["price-stale", "eth USD", "no price of eth in USD holds: quotes are refused"],
      ]);
      Object.assign(world, { certificateEndsAtMs: null, price: fresh, chain: well });
      expect((await look()).map(({ event }) => event).sort()).toEqual([
        "certificate-ends-over",
        "node-poor-over",
        "price-stale-over",
      ]);
    } finally {
      close();
    }
  });

  it("alerts of 2,000 agents that are away are told one by one, and none is given up", async () => {
    const { store } = gateway.service;
    store.write((database) => {
      database.run(
        "INSERT INTO merchants (id, name, createdAt) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999) SELECT 'many_' || i, 'Shop', 0 FROM n",
      );
      database.run(
        `INSERT INTO agents (id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies, pairedAt)
         SELECT 'a_' || id, id, 'w', 1, '', '', '[]', '[]', '[]', 0 FROM merchants WHERE id LIKE 'many%'`,
      );
    });
    const { look, close } = watch();
    try {
      await look();
      const told: Alert[] = [];
      for (let round = 0; round < 9; round += 1) told.push(...(await look(11)));
      expect(
        new Set(told.filter(({ event }) => event === "agent-away").map(({ subject }) => subject))
          .size,
      ).toBe(2_000);
    } finally {
      close();
    }
  });
});

/** Holds a state of the database open in a process of its own, as a forgotten shell does. */
async function holder(database: string) {
  const script = `const { DatabaseSync } = require("@photostructure/sqlite");
    const raw = new DatabaseSync(${JSON.stringify(database)});
    raw.exec("BEGIN"); raw.prepare("SELECT count(*) FROM meta").get();
    process.stdout.write("open\\n"); process.stdin.resume();`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return {
    pid: child.pid ?? 0,
    async end() {
      child.kill();
      await once(child, "exit");
    },
  };
}

// The file of SQLite is the subject.
describe("neighbours of the database's file", () => {
  it.skipIf(isOnPostgres)(
    "a clean stop leaves nothing but the database, with everything in it, unless another process has it open",
    async () => {
      const { store, config } = gateway.service;
      const beside = (): readonly string[] =>
        readdirSync(gateway.dir).filter((name) => /^gateway\.db-/.test(name));
      store.database.run("INSERT INTO merchants (id, name, createdAt) VALUES ('m9', 'Nine', 9)");
      store.database.all("SELECT * FROM merchants");
      expect(beside()).not.toEqual([]);
      const other = await holder(config.database);
      store.close();
      expect(existsSync(`${config.database}-wal`)).toBe(true);
      await other.end();
      const again = new DatabaseSync(config.database);
      expect(again.prepare("SELECT name FROM merchants WHERE id = 'm9'").get()).toEqual({
        name: "Nine",
      });
      again.close();
      gateway = await startTestGateway();
      const second = gateway.service;
      second.store.database.run(
        "INSERT INTO merchants (id, name, createdAt) VALUES ('m9', 'Nine', 9)",
      );
      second.store.database.all("SELECT * FROM merchants");
      second.store.close();
      second.store.close();
      expect(beside()).toEqual([]);
      const alone = new DatabaseSync(second.config.database, { readOnly: true });
      expect(alone.prepare("SELECT name FROM merchants WHERE id = 'm9'").get()).toEqual({
        name: "Nine",
      });
      alone.close();
    },
  );

  it.skipIf(isOnPostgres)(
    "a process that keeps an old state open is named once the write-ahead file has grown, and told; the file shrinks after it",
    async () => {
      const { store, config } = gateway.service;
      const { look, close } = watch();
      const grow = (): void => {
        for (let round = 0; round < 5; round += 1)
          store.write((database) =>
            database.run(
              "INSERT INTO meta VALUES (?, hex(randomblob(8000000)))",
              `grown ${Math.random()}`,
            ),
          );
      };
      const shell = await holder(config.database);
      try {
        expect(findOtherDatabaseProcesses(config.database).map(({ pid }) => pid)).toContain(
          shell.pid,
        );
        grow();
        expect(fileBytesOf(`${config.database}-wal`)).toBeGreaterThan(walBytesMax);
        const [alert] = await look();
        expect(alert).toMatchObject({ event: "wal-large", subject: "database" });
        expect(alert?.message).toMatch(
          new RegExp(
            `^the write-ahead file of the database has \\d+ MiB: end \\S+ \\(process ${shell.pid}\\), which reads an old state$`,
          ),
        );
        await shell.end();
        store.database.all("PRAGMA wal_checkpoint(RESTART)");
        store.database.run("INSERT INTO meta VALUES ('one', 'more')");
        expect(fileBytesOf(`${config.database}-wal`)).toBeLessThanOrEqual(walBytesMax);
        expect((await look()).map(({ event }) => event)).toEqual(["wal-large-over"]);
      } finally {
        close();
      }
    },
  );

  it("a line of the kernel's locks names process and file, and another line nothing", () => {
    const lines = [
      "1: POSIX  ADVISORY  READ  4242 08:01:131079 124 124",
      "12: OFDLCK ADVISORY  WRITE -1 fd:00:77 0 EOF",
      "3: -> POSIX  ADVISORY  WRITE 17 00:2e:9 120 120",
      "",
      "4: FLOCK  ADVISORY  WRITE 5 08:01:12 0 EOF",
    ];
    expect(lines.map(parseProcLock)).toEqual([
      { pid: 4242, inode: "131079" },
      null,
      { pid: 17, inode: "9" },
      null,
      { pid: 5, inode: "12" },
    ]);
    expect(findOtherDatabaseProcesses("/nowhere/gateway.db")).toEqual([]);
  });
});
