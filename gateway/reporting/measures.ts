/**
 * The gateway's metrics in Prometheus format, counted from the database at each scrape. No label
 * names a merchant, an agent or an order. docs/events.md section 3 lists them.
 */
import type { FastifyInstance } from "fastify";
import { Counter, Registry } from "prom-client";
import {
  type MetricRows,
  registerCounterFromReader,
  registerGauge,
} from "../../base/alerts/metrics/given.ts";
import { registerHistogram } from "../../base/alerts/metrics/histogram.ts";
import { type AlertQueueCounts, alertOutcomesOf } from "../../base/alerts/queue/alert-queue.ts";
import { version } from "../../base/version.ts";
import { booksState } from "../books/state.ts";
import type { FaultDomain } from "../faults/domains.ts";
import type { Hub } from "../hub/hub.ts";
import { listHaltedAgents, PairedAgentIds } from "../store/agents.ts";
import { readCursor } from "../store/cursors.ts";
import { countPendingDepositsByStage } from "../store/deposits.ts";
import { freeDiskBytesMin } from "../store/disk.ts";
import { countUnansweredJobs } from "../store/jobs.ts";
import type { Database } from "../store/store.ts";
import { countOpenSweepsByStage } from "../store/sweeps.ts";
import { databaseTimeBoundsS, type TimedStore } from "../store/timed.ts";
import { countPendingWithdrawalsByStage } from "../store/withdrawals.ts";
import type { ChainNode } from "../watcher/chain-status.ts";
import type { Watcher } from "../watcher/watcher.ts";

/** A chain's own faults are its `chain_up`. */
const faultDomains: readonly FaultDomain[] = [
  "currency",
  "account",
  "address",
  "withdrawal",
  "transaction",
];

export interface MeasuresOptions {
  readonly server: FastifyInstance; // not yet listening
  readonly database: Database;
  readonly hub: Pick<Hub, "online">;
  readonly watcher: () => Pick<Watcher, "chainStatus" | "faults"> | null;
  readonly freeBytes: () => number | null; // on the database's disk; null if unknown
  readonly walBytes: () => number;
  readonly certificateEndsAtMs: () => number | null; // null without a certificate
  readonly alerts: () => AlertQueueCounts | null; // null without `alerts`
  readonly clock: () => number; // Unix milliseconds
  readonly residentBytes: () => number;
  readonly callbacksWaiting: () => number;
  readonly databaseTimes: TimedStore["times"];
}

export function createMeasures(options: MeasuresOptions): {
  readonly contentType: string;
  text(): Promise<string>;
} {
  const registry = new Registry();
  const requests = new Counter({
    name: "autowithdraw_gateway_http_requests_total",
    help: "HTTP requests answered, by route and status",
    labelNames: ["method", "route", "status"],
    registers: [registry],
  });
  options.server.addHook("onResponse", async (request, response) => {
    // The route's pattern, because a label for each path would let an unauthenticated client make
    // unlimited metrics.
    const route = request.routeOptions.url ?? "none";
    const method = /^(?:GET|HEAD|POST)$/.test(request.method) ? request.method : "other";
    requests.inc({ method, route, status: `${response.statusCode}` });
  });
  const gauge: AddGauge = (name, help, labelNames, read) =>
    registerGauge(registry, { name, help, labelNames }, read);
  gauge("autowithdraw_gateway_build_info", "1, with the version", ["version"], () => [
    [version, 1],
  ]);
  gauge("autowithdraw_gateway_resident_bytes", "Resident memory", [], () => [
    [options.residentBytes()],
  ]);
  gauge("autowithdraw_gateway_free_bytes", "Room on the disk of the gateway's database", [], () => {
    const free = options.freeBytes();
    return free === null ? [] : [[free]];
  });
  const minHelp = "Room below which the gateway says that its disk has too little";
  gauge("autowithdraw_gateway_free_bytes_min", minHelp, [], () => [[freeDiskBytesMin]]);
  gauge("autowithdraw_gateway_wal_bytes", "Size of the database's write-ahead file", [], () => [
    [options.walBytes()],
  ]);
  const endHelp = "Time until the certificate of listen.tls ends, negative after it";
  gauge("autowithdraw_gateway_certificate_seconds", endHelp, [], () => {
    const endsAtMs = options.certificateEndsAtMs();
    return endsAtMs === null ? [] : [[(endsAtMs - options.clock()) / 1000]];
  });
  addWithdrawalGauges(gauge, options);
  addDepositGauges(gauge, options);
  addAgentGauges(gauge, options);
  addChainGauges(gauge, options);
  gauge(
    "autowithdraw_gateway_callbacks_waiting",
    "Callbacks that no target has taken and that are not given up",
    [],
    () => [[options.callbacksWaiting()]],
  );
  const faultsHelp = "Items that cannot be read or judged, by what they are; all others go on";
  gauge("autowithdraw_gateway_faults", faultsHelp, ["domain"], () => {
    const counts = new Map(faultDomains.map((domain) => [domain, 0]));
    for (const { domain, count } of options.watcher()?.faults() ?? [])
      if (counts.has(domain)) counts.set(domain, (counts.get(domain) ?? 0) + count);
    return [...counts];
  });
  addBooksGauges(gauge, options);
  addDatabaseHistogram(registry, options);
  const alertsTotal = {
    name: "autowithdraw_gateway_alerts_total",
    help: "Alerts by outcome: told, failed tries, dropped",
    labelNames: ["outcome"],
  };
  registerCounterFromReader(registry, alertsTotal, () => {
    const counts = options.alerts();
    return counts === null ? [] : alertOutcomesOf(counts);
  });
  return { contentType: registry.contentType, text: () => registry.metrics() };
}

type AddGauge = (
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => MetricRows,
) => void;

function addWithdrawalGauges(gauge: AddGauge, { database, clock }: MeasuresOptions): void {
  gauge(
    "autowithdraw_gateway_withdrawals",
    "Withdrawals that are not at their end, by stage",
    ["stage"],
    () => {
      return countPendingWithdrawalsByStage(database).map(({ stage, count }) => [stage, count]);
    },
  );
  gauge(
    "autowithdraw_gateway_withdrawal_oldest_seconds",
    "Age of the oldest of them, by stage",
    ["stage"],
    () => {
      return countPendingWithdrawalsByStage(database).map(({ stage, oldestAt }) => [
        stage,
        Math.max(0, clock() - oldestAt) / 1000,
      ]);
    },
  );
  gauge(
    "autowithdraw_gateway_sweeps",
    "Sweeps and top-ups that are not at their end, by stage",
    ["kind", "stage"],
    () =>
      countOpenSweepsByStage(database).map(({ operation, stage, count }) => [
        operation,
        stage,
        count,
      ]),
  );
  gauge("autowithdraw_gateway_jobs_waiting", "Jobs that no agent has answered", [], () => [
    [countUnansweredJobs(database)],
  ]);
}

function addDepositGauges(gauge: AddGauge, { database, clock }: MeasuresOptions): void {
  gauge(
    "autowithdraw_gateway_deposits",
    "Deposit requests that are not at their end, by stage",
    ["stage"],
    () => countPendingDepositsByStage(database).map(({ stage, count }) => [stage, count]),
  );
  gauge(
    "autowithdraw_gateway_deposit_oldest_seconds",
    "Age of the oldest deposit request, by stage",
    ["stage"],
    () =>
      countPendingDepositsByStage(database).map(({ stage, oldestAt }) => [
        stage,
        Math.max(0, clock() - oldestAt) / 1000,
      ]),
  );
}

function addBooksGauges(gauge: AddGauge, { database, watcher, clock }: MeasuresOptions): void {
  const states = () =>
    (watcher()?.chainStatus() ?? []).map(({ chain, network }) => ({
      chain,
      ...booksState(database, network, clock()),
    }));
  gauge(
    "autowithdraw_gateway_books_differences",
    "Balances that differ from what the database explains",
    ["chain"],
    () => states().map(({ chain, differences }) => [chain, differences]),
  );
  gauge(
    "autowithdraw_gateway_books_closed_seconds",
    "Time since the books were closed",
    ["chain"],
    () =>
      states().flatMap(({ chain, closedAt }) =>
        closedAt === null ? [] : [[chain, Math.max(0, clock() - closedAt) / 1000] as const],
      ),
  );
}

function addDatabaseHistogram(
  registry: Registry,
  { databaseTimes: { read, write } }: MeasuresOptions,
): void {
  const histogram = {
    name: "autowithdraw_gateway_database_seconds",
    help: "Time of one reading statement, or of one transaction with its sync",
    bounds: databaseTimeBoundsS,
    labelNames: ["kind"] as const,
  };
  registerHistogram(registry, histogram, () => [
    { labels: { kind: "read" }, buckets: read },
    { labels: { kind: "write" }, buckets: write },
  ]);
}

function addAgentGauges(gauge: AddGauge, { database, hub }: MeasuresOptions): void {
  const paired = new PairedAgentIds();
  gauge(
    "autowithdraw_gateway_agents",
    "Paired agents: connected, away, and those of both that are locked or paused",
    ["state"],
    () => {
      const ids = paired.read(database);
      const halted = listHaltedAgents(database);
      const connected = ids.filter((id) => hub.online(id)).length;
      return [
        ["connected", connected],
        ["away", ids.length - connected],
        ["locked", halted.filter(({ lockedCode }) => lockedCode !== "").length],
        ["paused", halted.filter(({ pausedAt: at }) => at !== null).length],
      ];
    },
  );
}

function addChainGauges(gauge: AddGauge, { database, watcher, clock }: MeasuresOptions): void {
  const statuses = () => watcher()?.chainStatus() ?? [];
  gauge("autowithdraw_gateway_chain_up", "1 while the chain is read", ["chain"], () =>
    statuses().map(({ chain, ok }) => [chain, Number(ok)]),
  );
  const ageHelp = "Age of the chain's newest block by its own time";
  gauge("autowithdraw_gateway_chain_head_age_seconds", ageHelp, ["chain"], () =>
    statuses().flatMap(({ chain, headAgeMs }) =>
      headAgeMs === null ? [] : [[chain, Math.max(0, headAgeMs) / 1000]],
    ),
  );
  const finalHelp = "Age of the chain's newest final block";
  gauge("autowithdraw_gateway_chain_final_age_seconds", finalHelp, ["chain"], () =>
    statuses().flatMap(({ chain, finalAgeMs }) =>
      finalAgeMs === null ? [] : [[chain, Math.max(0, finalAgeMs) / 1000]],
    ),
  );
  const nodes = (read: (node: ChainNode) => number): MetricRows =>
    statuses().flatMap(({ chain, nodes: all }) =>
      all.map((node, at) => [chain, `${at}`, read(node)] as const),
    );
  const labels = ["chain", "node"];
  const upHelp = "1 while the node does well; nodes are numbered as in gateway.config.json";
  gauge("autowithdraw_gateway_node_up", upHelp, labels, () => nodes(({ ok }) => Number(ok)));
  const outHelp = "Time since the node's first failure in a row, 0 while it answers";
  gauge("autowithdraw_gateway_node_out_seconds", outHelp, labels, () =>
    nodes(({ since }) => (since === null ? 0 : Math.max(0, clock() - since) / 1000)),
  );
  gauge(
    "autowithdraw_gateway_node_lag_blocks",
    "Blocks the node is behind the best of its chain",
    labels,
    () =>
      statuses().flatMap(({ chain, nodes: all }) =>
        all.flatMap(({ lagBlocks }, at) =>
          lagBlocks === null ? [] : [[chain, `${at}`, lagBlocks] as const],
        ),
      ),
  );
  gauge(
    "autowithdraw_gateway_deposit_lag_blocks",
    "Final blocks whose deposits are not read yet",
    ["chain"],
    () =>
      statuses().flatMap(({ chain, network, final }) => {
        const cursor = readCursor(database, network)?.block;
        return cursor === undefined || final === null
          ? []
          : [[chain, Math.max(0, final - cursor)] as const];
      }),
  );
}
