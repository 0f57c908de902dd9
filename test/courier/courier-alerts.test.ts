/**
 * The courier's alerts: the conditions that hold by its observations, their part in its status,
 * and its metrics.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { get, type RequestOptions } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { describe, expect, it } from "vitest";
import type { NotifySettings } from "../../agent/config/settings.ts";
import {
  conditionsOf,
  createAlertMonitor,
  lowFundsOf,
} from "../../agent/courier/events/alert-monitor.ts";
import type { Snapshot } from "../../agent/courier/events/snapshot.ts";
import { createMetrics } from "../../agent/courier/metrics.ts";
import { createMetricsText } from "../../agent/courier/metrics-text.ts";
import type { JudgedWithdrawal } from "../../agent/problems/judged.ts";
import type { SignerSummary } from "../../agent/socket/summary.ts";
import { serveMetrics } from "../../base/alerts/metrics/server.ts";
import { alertTable } from "../../base/alerts/queue/table.ts";
import { until } from "../support/until.ts";

const currencies = {
  eth: { chain: "local", decimal: 18 },
  usdt: { chain: "local", decimal: 6, contract: "0xToken" },
};
const notify: NotifySettings = {
  target: { kind: "command", command: ["/bin/true"] },
  stuckMinutes: 30,
  awayMinutes: 10,
  lowFunds: { eth: "0.5", usdt: "100" },
};
const summary = {
  counts: { held: 1, paid: 7 } as SignerSummary["counts"],
  oldestMs: { held: 90_000 },
  limits: [{ currency: "eth", hour: -1, day: 250_000, feesDay: 0 }],
  ...{
    records: 12,
    acked: 11,
    startedAt: 0,
    freeBytes: 1_000_000_000,
    freeBytesMin: 64_000_000,
    residentBytes: 50_000_000,
  },
  syncs: { counts: [0, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], sumUs: 4200 },
  configDiffers: false,
};
const chain = {
  ...{
    chain: "local",
    ok: true,
    isAsking: false,
    detail: "",
    block: 9,
    health: null,
    stopped: "",
    held: [] as readonly string[],
  },
  balances: new Map([
    ["", 10n ** 18n],
    ["0xToken", 100_000_000n],
  ]),
  nodes: [
    {
      url: "http://one",
      ok: true,
      detail: "",
      outForMs: null,
      block: 9,
      head: null,
      final: null,
      ranges: null,
    },
    {
      url: "http://two",
      ok: false,
      detail: "away",
      outForMs: 90_000,
      block: 4,
      head: null,
      final: null,
      ranges: null,
    },
  ],
};
const well: Snapshot = {
  agent: "a1",
  locked: "",
  link: "up",
  linkDetail: "",
  chains: [chain],
  items: [],
  summary,
};
const item: JudgedWithdrawal = {
  ...{
    transactionId: "t1",
    state: "approved",
    code: "",
    currency: "eth",
    chain: "local",
    amount: "1",
    why: "",
    awaited: null,
  },
};

const named = (change: Partial<Snapshot>): readonly string[] =>
  conditionsOf({ ...well, ...change }, notify, currencies).conditions.map(
    ({ event, subject }) => `${event} ${subject}`,
  );

describe("conditions", () => {
  it("are none while all is well", () => {
    expect(conditionsOf(well, notify, currencies)).toEqual({ conditions: [], unknown: [] });
  });

  it("hold by what is seen, each with its twin that is nothing", () => {
    expect(named({ locked: "LEDGER_BEHIND_GATEWAY" })).toEqual(["agent-locked a1"]);
    expect(named({ locked: "RECOVERY_OFFERED" })).toEqual(["recovery-offered a1"]);
    expect(named({ link: "down", linkDetail: "ECONNREFUSED" })).toEqual(["link-down gateway"]);
    expect(named({ chains: [{ ...chain, ok: false, detail: "NODE_TIMEOUT" }] })).toEqual([
      "nodes-away local",
    ]);
    expect(named({ chains: [{ ...chain, ok: false, isAsking: true }] })).toEqual([]);
    expect(named({ chains: [{ ...chain, stopped: "CHAIN_COIN_FOREIGN" }] })).toEqual([
      "network-stopped local",
    ]);
    expect(named({ chains: [{ ...chain, stopped: "NETWORK_PAUSED" }] })).toEqual([]);
    expect(named({ chains: [{ ...chain, held: ["usd"] }] })).toEqual(["currency-stopped usd"]);
    expect(named({ summary: { ...summary, freeBytes: 255_999_999 } })).toEqual([
      "disk-room-low ledger",
    ]);
    expect(named({ summary: { ...summary, freeBytes: 256_000_000 } })).toEqual([]);
    expect(named({ summary: { ...summary, freeBytes: -1 } })).toEqual([]);
    expect(named({ summary: { ...summary, configDiffers: true } })).toEqual([
      "config-differs config",
    ]);
  });

  it("say what each is worth waking for: only what may be a theft, or a payment twice", () => {
    const gravities = (change: Partial<Snapshot>): readonly string[] =>
      conditionsOf({ ...well, ...change }, notify, currencies).conditions.map(
        ({ event, gravity }) => {
          if (gravity === "wake") expect(alertTable[event].level, event).toBe("error");
          return gravity;
        },
      );
    expect(gravities({ locked: "CHAIN_SLOT_FOREIGN" })).toEqual(["wake"]);
    expect(gravities({ locked: "LEDGER_BEHIND_GATEWAY" })).toEqual(["broken"]);
    expect(gravities({ chains: [{ ...chain, stopped: "CHAIN_COIN_FOREIGN" }] })).toEqual(["wake"]);
    expect(gravities({ chains: [{ ...chain, held: ["usd"] }] })).toEqual(["wake"]);
    expect(gravities({ link: "down" })).toEqual(["broken"]);
    expect(gravities({ items: [{ ...item, state: "held" }] })).toEqual(["warning"]);
    const room = (freeBytes: number) => gravities({ summary: { ...summary, freeBytes } });
    expect([room(63_999_999), room(64_000_000)]).toEqual([["broken"], ["warning"]]);
  });

  it("a withdrawal is held at once, stuck when it does not go on, and neither while all of them wait for the same", () => {
    expect(named({ items: [{ ...item, state: "held" }] })).toEqual(["withdrawal-held t1"]);
    expect(named({ items: [{ ...item, state: "included" }] })).toEqual([]);
    expect(named({ items: [{ ...item, why: "funds" }] })).toEqual(["withdrawal-stuck t1"]);
    expect(named({ items: [{ ...item, why: "nodes NODE_TIMEOUT" }] })).toEqual([]);
    expect(named({ items: [{ ...item, why: "fee POLICY_FEE" }] })).toEqual([
      "withdrawal-stuck t1",
      "fees-high local",
    ]);
    const refusing = { ...item, currency: "usdt", why: "COURIER_TOKEN_REFUSES" };
    expect(named({ items: [refusing, { ...refusing, transactionId: "t2" }] })).toEqual([
      "currency-refused usdt",
    ]);
    const [stuck] = conditionsOf(
      { ...well, items: [{ ...item, why: "funds" }] },
      notify,
      currencies,
    ).conditions;
    expect([stuck?.afterMs, stuck?.context.why]).toEqual([30 * 60_000, "funds"]);
  });

  it("the alert of a withdrawal that waits for an operator has its order, amount, end and the lines to type", () => {
    const awaited = { order: "A-17", endsAtMs: Date.parse("2026-11-24T04:00:00Z") };
    const ofItem = (change: Partial<JudgedWithdrawal>) =>
      conditionsOf({ ...well, items: [{ ...item, state: "held", ...change }] }, notify, currencies)
        .conditions[0];
    expect(ofItem({ awaited })).toMatchObject({
      message:
        "a withdrawal of 1 eth (order A-17) waits for an operator until 2026-11-24T04:00:00.000Z",
      hint: "autowithdraw show t1; approve t1 pays it, refuse t1 rejects it",
      endsAt: awaited.endsAtMs,
      context: { amount: "1", orderId: "A-17", until: "2026-11-24T04:00:00.000Z" },
    });
    const unknown = ofItem({ awaited: null });
    expect([unknown?.message, unknown?.endsAt]).toEqual([
      "a withdrawal of 1 eth waits for an operator",
      undefined,
    ]);
  });

  it("the condition of low funds compares each currency with its threshold; an unknown balance is not low", () => {
    const balances = new Map([
      ["", 5n * 10n ** 17n - 1n],
      ["0xToken", 100_000_000n],
    ]);
    expect(named({ chains: [{ ...chain, balances }] })).toEqual(["funds-low eth"]);
    expect(
      lowFundsOf({ ...well, chains: [{ ...chain, balances }] }, notify.lowFunds, currencies),
    ).toEqual([{ currency: "eth", has: "0.499999999999999999", wanted: "0.5" }]);
    expect(named({ chains: [{ ...chain, balances: new Map([["", 5n * 10n ** 17n]]) }] })).toEqual(
      [],
    );
    const unseen = conditionsOf(
      { ...well, chains: [{ ...chain, balances: new Map() }] },
      notify,
      currencies,
    );
    expect(unseen).toEqual({ conditions: [], unknown: ["funds-low"] });
  });
});

describe("the alert monitor", () => {
  it("tells what begins and ends, and shows a failing receiver in status", async () => {
    const bodies: string[] = [];
    let no = "";
    const alertMonitor = createAlertMonitor({
      settings: { notify, currencies },
      deliver: async (body) => {
        if (no === "") bodies.push(body);
        return no;
      },
      clock: () => 0,
      monotonic: () => 0,
      log: pino({ level: "silent" }),
      retryMs: { first: 1, most: 1 },
    });
    expect(alertMonitor.notify()).toEqual({ ok: true, detail: "" });
    no = "the address answered 500";
    alertMonitor.look({ ...well, locked: "LEDGER_DAMAGED" });
    await until(() => alertMonitor.notify()?.ok === false);
    expect(alertMonitor.notify()?.detail).toContain("the address answered 500; 1 wait");
    no = "";
    await until(() => bodies.length === 1);
    alertMonitor.look(well);
    await until(() => bodies.length === 2);
    expect(bodies.map((body) => (JSON.parse(body) as { event: string }).event)).toEqual([
      "agent-locked",
      "agent-locked-over",
    ]);
    expect(alertMonitor.notify()).toEqual({ ok: true, detail: "" });
    alertMonitor.close();
  });

  it("tells nobody where nobody is named, and says so by null", () => {
    const alertMonitor = createAlertMonitor({
      ...{
        settings: { currencies },
        deliver: null,
        clock: () => 0,
        monotonic: () => 0,
        log: pino({ level: "silent" }),
      },
    });
    alertMonitor.look({ ...well, locked: "LEDGER_DAMAGED" });
    expect([alertMonitor.notify(), alertMonitor.lowFunds(), alertMonitor.counts().told]).toEqual([
      null,
      [],
      0,
    ]);
  });
});

function measured(snapshot: Snapshot | null) {
  let nowMs = 0;
  const metrics = createMetrics(() => nowMs);
  metrics.approved("t1", 0);
  nowMs = 3000;
  metrics.reached("t1", "broadcast");
  metrics.reached("t1", "broadcast");
  metrics.reached("unknown", "broadcast");
  metrics.count("sent");
  const alertMonitor = createAlertMonitor({
    ...{
      settings: { currencies },
      deliver: null,
      clock: () => 0,
      monotonic: () => 0,
      log: pino({ level: "silent" }),
    },
  });
  if (snapshot !== null) alertMonitor.look(snapshot);
  return createMetricsText({
    metrics,
    alertMonitor,
    clock: () => 60_000,
    version: "9.9.9",
    residentBytes: () => 7,
  });
}

describe("metrics", () => {
  it("the courier's metrics say in Prometheus' words what was seen", async () => {
    const text = await measured(well).text();
    for (const line of [
      'autowithdraw_withdrawals{state="held"} 1',
      'autowithdraw_withdrawal_oldest_seconds{state="held"} 90',
      'autowithdraw_limit_used_ratio{currency="eth",window="day"} 0.25',
      'autowithdraw_limit_used_ratio{currency="eth",window="fees_day"} 0',
      "autowithdraw_link_up 1",
      'autowithdraw_node_up{chain="local",node="1"} 0',
      'autowithdraw_node_lag_blocks{chain="local",node="1"} 5',
      'autowithdraw_ledger_sync_seconds_bucket{le="0.001"} 3',
      'autowithdraw_ledger_sync_seconds_bucket{le="+Inf"} 4',
      "autowithdraw_ledger_sync_seconds_sum 0.0042",
      'autowithdraw_withdrawal_step_seconds_bucket{le="2",step="broadcast"} 0',
      'autowithdraw_withdrawal_step_seconds_bucket{le="5",step="broadcast"} 1',
      'autowithdraw_withdrawal_step_seconds_count{step="broadcast"} 1',
      'autowithdraw_resident_bytes{process="signer"} 50000000',
      'autowithdraw_events_total{event="sent"} 1',
      'autowithdraw_build_info{version="9.9.9"} 1',
    ])
      expect(text.split("\n")).toContain(line);
    // Without a limit there is no ratio of it.
    expect(text).not.toContain('window="hour"');
    // No address of a node, no id, no agent is a label.
    expect(text).not.toMatch(/http:|t1|"a1"/);
  });

  it("the courier's metrics say nothing of the signer before it has answered, and nothing twice after many looks", async () => {
    const before = await measured(null).text();
    expect(before).not.toMatch(/^autowithdraw_withdrawals\{/m);
    expect(before).toContain('autowithdraw_resident_bytes{process="courier"} 7');
    const shown = measured(well);
    expect(await shown.text()).toBe(await shown.text());
  });

  it("the courier's metrics are served at one place: GET /metrics on a socket file or a port, and nothing else", async () => {
    const folder = mkdtempSync(join(tmpdir(), "metrics-"));
    const path = join(folder, "metrics.sock");
    const told: string[] = [];
    const served = serveMetrics({
      place: { path },
      ...measured(well),
      onListen: (where) => told.push(where),
      onFailed: (why) => told.push(why),
    });
    await until(() => existsSync(path) && told.length > 0);
    const ask = (
      options: RequestOptions,
    ): Promise<readonly [status: number | undefined, text: string]> =>
      new Promise((resolve, reject) => {
        get({ socketPath: path, ...options }, (response) => {
          let text = "";
          response.on("data", (part) => {
            text += String(part);
          });
          response.on("end", () => resolve([response.statusCode, text]));
        }).on("error", reject);
      });
    const [status, text] = await ask({ path: "/metrics" });
    expect([status, text.includes("autowithdraw_link_up 1")]).toEqual([200, true]);
    expect((await ask({ path: "/" }))[0]).toBe(404);
    expect((await ask({ path: "/metrics", method: "POST" }))[0]).toBe(405);
    served.close();
    rmSync(folder, { recursive: true, force: true });
    expect(told).toEqual([path]);
  });
});
