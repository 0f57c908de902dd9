/**
 * Metrics, alert rules and dashboard belong together: every metric they name is served by a live
 * courier or gateway, docs/events.md names them all, and Prometheus' own tool reads them.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { describe, expect, it } from "vitest";
import { createMetricsText } from "../../agent/courier/metrics-text.ts";
import { nothingSeen } from "../../gateway/problems/judged.ts";
import { startAlerts } from "../../gateway/reporting/alerts.ts";
import { createMeasures } from "../../gateway/reporting/measures.ts";
import { timeStore } from "../../gateway/store/timed.ts";
import { startTestGateway } from "../../lab/kit/gateway-server.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { helpOf } from "../../packaging/docs/operator-tables.ts";
import { kitOn, paid, receiver, startsAnvil } from "../support/courier-on-anvil.ts";
import { until } from "../support/until.ts";

const hasPromtool = spawnSync("promtool", ["--version"], { stdio: "ignore" }).status === 0;
if (!hasPromtool)
  process.stderr.write("\n*** SKIPPED for want of promtool: apt-get install prometheus\n\n");

const read = (path: string): string => readFileSync(join(projectRoot, path), "utf8");
const promtool = (args: readonly string[], input = "") => {
  const done = spawnSync("promtool", args, { cwd: projectRoot, input, encoding: "utf8" });
  return { status: done.status, output: done.stdout + done.stderr };
};
startsAnvil();

async function courierText(): Promise<string> {
  const kit = await kitOn();
  const { transactionId } = kit.gateway.order({ address: receiver() });
  const held = kit.gateway.order({ address: receiver(), mode: "manual" });
  await paid(kit, transactionId);
  const { metrics, alertMonitor } = kit;
  await until(
    () =>
      (alertMonitor.latest()?.summary?.counts.paid ?? 0) === 1 &&
      alertMonitor.latest()?.items[0]?.state === "held",
    10_000,
  );
  await until(() => kit.alerts.length >= 2);
  const told = kit.alerts.map(({ event, subject }) => `${event} ${subject}`);
  expect(told).toContain(`withdrawal-held ${held.transactionId}`);
  expect(told).toContain("funds-low eth");
  return createMetricsText({
    metrics,
    alertMonitor,
    clock: Date.now,
    version: "9.9.9",
    residentBytes: () => 1,
  }).text();
}

/** From here on the gateway's disk has room enough. */
const roomLow = 4 * 64 * 1024 * 1024;

async function gatewayText(): Promise<{ readonly text: string; readonly told: readonly string[] }> {
  const told: string[] = [];
  const gateway = await startTestGateway();
  const { store } = gateway.service;
  const online = new Set<string>();
  const hub = { online: (id: string): boolean => online.has(id) };
  expect((await gateway.pair()).status).toBe(200);
  const agent = store.database.get<{ id: string }>("SELECT id FROM agents")?.id ?? "";
  let nowMs = 0;
  let freeBytes: number | null = null;
  const alerts = startAlerts({
    ...{
      alerts: { agentAwayMinutes: 10 },
      database: store.database,
      hub,
      watcher: () => null,
      log: pino({ level: "silent" }),
    },
    ...{ clock: () => gateway.clock.nowMs, monotonic: () => nowMs, freeBytes: () => freeBytes },
    onFaultsTold: () => undefined,
    ...{
      run: "this run",
      parts: nothingSeen,
      gateways: () => [],
      prices: { of: () => null, canHave: () => false },
      currencies: {},
    },
    deliver: async (body) => {
      const { event, subject, ...more } = JSON.parse(body) as { event: string; subject: string };
      if (Object.hasOwn(more, "agent"))
        told.push("a field agent, which the courier's alerts alone have");
      told.push(
        `${event} ${subject === agent ? "AGENT" : subject.replace(agent, "AGENT").replace(/ \d+$/, "")}`,
      );
      return "";
    },
  });
  alerts.look();
  nowMs = 599_999;
  alerts.look();
  await until(() => alerts.counts().waiting === 0);
  expect(told).toEqual([]);
  nowMs = 600_000;
  store.write((database) => {
    database.run("UPDATE agents SET lockedCode = 'LEDGER_DAMAGED' WHERE id = ?", agent);
    const sql =
      "INSERT INTO audit (at, actor, act, subject, detail) VALUES (?, 'hub', 'alarm HUB_CONTRADICTION', ?, 'words')";
    database.run(sql, gateway.clock.nowMs, agent);
  });
  alerts.look();
  alerts.look();
  online.add(agent);
  alerts.look();
  freeBytes = roomLow - 1;
  alerts.look();
  freeBytes = roomLow;
  alerts.look();
  await until(() => told.length === 6);
  const { fastify } = await import("fastify");
  // milliseconds: one reading of four, one transaction of two thousand
  const ticks = [0, 4, 4, 2_004];
  const clocked = timeStore(store, () => ticks.shift() ?? 0);
  clocked.store.database.get("SELECT 1 FROM meta");
  clocked.store.write(() => undefined);
  const server = fastify();
  const readChain = {
    ...{ chain: "tron", network: "tron:0x2b6653dc", ok: true, detail: "", plain: "" },
    ...{ head: 9, final: null, headAgeMs: 4_000, finalAgeMs: 70_000, delays: [] },
  };
  const answering = {
    url: "http://one",
    ok: true,
    detail: "",
    since: null,
    plain: "",
    lagBlocks: 3,
  };
  const outAt = gateway.clock.nowMs + 30_000;
  const measures = createMeasures({
    ...{
      server: server as never,
      database: store.database,
      hub,
      alerts: alerts.counts,
      clock: () => gateway.clock.nowMs,
    },
    watcher: () => ({
      chainStatus: () => [
        { ...readChain, nodes: [answering, { ...answering, ok: false, since: outAt }] },
      ],
      faults: () => [],
    }),
    residentBytes: () => 1,
    freeBytes: () => freeBytes,
    walBytes: () => 4_096,
    certificateEndsAtMs: () => gateway.clock.nowMs + 90_000,
    callbacksWaiting: () => 7,
    databaseTimes: clocked.times,
  });
  expect(
    (
      await gateway.call("POST", "/api/v1/createTransactionRequest", {
        currency: "eth",
        amount: "1",
        orderId: "a",
      })
    ).status,
  ).toBe(200);
  gateway.clock.nowMs += 90_000;
  server.get("/thing/:id", async () => "ok");
  await server.inject({ method: "GET", url: "/thing/secret-order" });
  await server.inject({ method: "GET", url: "/nowhere/else" });
  const text = await measures.text();
  alerts.close();
  await server.close();
  await gateway.close();
  return { text, told };
}

describe("metrics", () => {
  it("of a live courier and of a gateway are in the document, and rules and dashboard name no other", async () => {
    const agent = await courierText();
    const { text: gateway, told } = await gatewayText();
    const agentTold = [
      "agent-away AGENT",
      "agent-locked AGENT",
      "alarm HUB_CONTRADICTION AGENT",
      "agent-away-over AGENT",
    ];
    expect(told).toEqual([...agentTold, "disk-room-low database", "disk-room-low-over database"]);

    expect(agent).toContain('autowithdraw_withdrawals{state="paid"} 1');
    expect(agent).toContain('autowithdraw_withdrawals{state="held"} 1');
    for (const step of ["approved", "signed", "released", "broadcast", "final"])
      expect(agent).toContain(`autowithdraw_withdrawal_step_seconds_count{step="${step}"} 1`);
    expect(gateway).toContain('autowithdraw_gateway_agents{state="connected"} 1');
    expect(gateway).toContain('autowithdraw_gateway_agents{state="locked"} 1');
    expect(gateway).toContain(
      'autowithdraw_gateway_http_requests_total{method="GET",route="/thing/:id",status="200"} 1',
    );
    expect(gateway).toContain(
      'autowithdraw_gateway_http_requests_total{method="GET",route="none",status="404"} 1',
    );
    expect(gateway).toContain('autowithdraw_gateway_deposits{stage="waiting"} 1');
    expect(gateway).toContain('autowithdraw_gateway_deposit_oldest_seconds{stage="waiting"} 90');
    expect(gateway).toContain("autowithdraw_gateway_callbacks_waiting 7");
    expect(gateway).toContain(`autowithdraw_gateway_free_bytes ${roomLow}`);
    expect(gateway).toContain("autowithdraw_gateway_free_bytes_min 67108864");
    expect(gateway).toContain("autowithdraw_gateway_wal_bytes 4096");
    expect(gateway).toMatch(/^autowithdraw_gateway_certificate_seconds \d+$/m);
    expect(gateway).toContain(
      'autowithdraw_gateway_database_seconds_bucket{le="0.0025",kind="read"} 0',
    );
    expect(gateway).toContain(
      'autowithdraw_gateway_database_seconds_bucket{le="0.005",kind="read"} 1',
    );
    expect(gateway).toContain(
      'autowithdraw_gateway_database_seconds_bucket{le="1",kind="write"} 0',
    );
    expect(gateway).toContain('autowithdraw_gateway_database_seconds_sum{kind="write"} 2');
    expect(gateway).toContain('autowithdraw_gateway_node_up{chain="tron",node="0"} 1');
    expect(gateway).toContain('autowithdraw_gateway_node_up{chain="tron",node="1"} 0');
    expect(gateway).toContain('autowithdraw_gateway_node_lag_blocks{chain="tron",node="0"} 3');
    expect(gateway).toContain('autowithdraw_gateway_chain_head_age_seconds{chain="tron"} 4');
    expect(gateway).toContain('autowithdraw_gateway_chain_final_age_seconds{chain="tron"} 70');
    expect(gateway).toContain('autowithdraw_gateway_node_out_seconds{chain="tron",node="0"} 0');
    expect(gateway).toContain('autowithdraw_gateway_node_out_seconds{chain="tron",node="1"} 60');
    expect(gateway).not.toMatch(/secret-order|nowhere/);

    const help = new Map([...helpOf(agent), ...helpOf(gateway)]);
    const named = [
      ...`${read("packaging/monitoring/prometheus-rules.yml")}${read("packaging/monitoring/grafana-dashboard.json")}`.matchAll(
        /\bautowithdraw_\w+/g,
      ),
    ];
    expect(named.length).toBeGreaterThan(40);
    for (const [name] of named)
      expect([...help.keys()], `${name} is not served`).toContain(name.replace(/_bucket$/, ""));

    const page = read("docs/events.md");
    const listed = [...page.matchAll(/^\| `(autowithdraw_\w+)` \|/gm)].map(([, name]) => name);
    expect(listed).toEqual([...help.keys()]);

    if (!hasPromtool) return;
    for (const text of [agent, gateway])
      expect(promtool(["check", "metrics"], text)).toEqual({ status: 0, output: "" });
    expect(promtool(["check", "metrics"], `${agent}\nnot a metric`).status).not.toBe(0);
  });
});

describe.skipIf(!hasPromtool)("alert rules", () => {
  it("are rules to Prometheus, and fire when they should", () => {
    expect(promtool(["check", "rules", "packaging/monitoring/prometheus-rules.yml"])).toMatchObject(
      { status: 0 },
    );
    const tested = promtool(["test", "rules", "packaging/monitoring/prometheus-rules.test.yml"]);
    expect(tested.status, tested.output).toBe(0);
  });
});
