/**
 * The agent's metrics in the format of Prometheus, made at each scrape from the last snapshot.
 * Labels come only from config.json. docs/events.md section 3 lists them.
 */
import { Registry } from "prom-client";
import {
  type MetricRows,
  registerCounterFromReader,
  registerGauge,
} from "../../base/alerts/metrics/given.ts";
import { registerHistogram } from "../../base/alerts/metrics/histogram.ts";
import { alertOutcomesOf } from "../../base/alerts/queue/alert-queue.ts";
import { type SignerSummary, syncBucketsMs } from "../socket/summary.ts";
import type { AlertMonitor } from "./events/alert-monitor.ts";
import type { Snapshot } from "./events/snapshot.ts";
import { type Metrics, milestoneBoundsS } from "./metrics.ts";

export interface MetricsTextOptions {
  readonly metrics: Metrics;
  readonly alertMonitor: AlertMonitor;
  readonly clock: () => number; // Unix milliseconds
  readonly version: string;
  readonly residentBytes: () => number; // resident memory of the courier
}

export function createMetricsText(options: MetricsTextOptions): {
  readonly contentType: string;
  text(): Promise<string>;
} {
  const registry = new Registry();
  const { alertMonitor, metrics } = options;
  const gauge: AddGauge = (name, help, labelNames, read) =>
    registerGauge(registry, { name, help, labelNames }, () => {
      const snapshot = alertMonitor.latest();
      return snapshot === null ? [] : read(snapshot);
    });
  addSignerGauges(gauge, options.clock);
  addOutsideGauges(gauge);
  addProcessMetrics(registry, options);
  registerHistogram(
    registry,
    {
      name: "autowithdraw_ledger_sync_seconds",
      help: "Time a write of the ledger takes until it is on disk",
      bounds: syncBucketsMs.map((ms) => ms / 1000),
      labelNames: [],
    },
    () => {
      const syncs = alertMonitor.latest()?.summary?.syncs;
      return syncs === undefined
        ? []
        : [{ labels: {}, buckets: { counts: syncs.counts, sum: syncs.sumUs / 1e6 } }];
    },
  );
  registerHistogram(
    registry,
    {
      name: "autowithdraw_withdrawal_step_seconds",
      help: "Time from the arrival of a withdrawal that was approved at once to each step",
      bounds: milestoneBoundsS,
      labelNames: ["step"],
    },
    () =>
      metrics
        .durations()
        .map(({ milestone, buckets }) => ({ labels: { step: milestone }, buckets })),
  );
  return { contentType: registry.contentType, text: () => registry.metrics() };
}

type AddGauge = (
  name: string,
  help: string,
  labelNames: readonly string[],
  read: (snapshot: Snapshot) => MetricRows,
) => void;

function addSignerGauges(gauge: AddGauge, clock: () => number): void {
  const add = (
    name: string,
    help: string,
    labelNames: readonly string[],
    read: (summary: SignerSummary) => MetricRows,
  ): void =>
    gauge(name, help, labelNames, ({ summary }) => (summary === null ? [] : read(summary)));
  add("autowithdraw_withdrawals", "Withdrawals in the ledger by state", ["state"], ({ counts }) =>
    Object.entries(counts),
  );
  add(
    "autowithdraw_withdrawal_oldest_seconds",
    "Age of the oldest withdrawal in a state that is not final",
    ["state"],
    (summary) => Object.entries(summary.oldestMs).map(([state, ms]) => [state, ms / 1000]),
  );
  add(
    "autowithdraw_limit_used_ratio",
    "Used part of a limit: 1 is all of it",
    ["currency", "window"],
    ({ limits }) =>
      limits.flatMap(({ currency, hour, day, feesDay }) =>
        (
          [
            ["hour", hour],
            ["day", day],
            ["fees_day", feesDay],
          ] as const
        ).flatMap(([window, used]) => (used < 0 ? [] : [[currency, window, used / 1e6] as const])),
      ),
  );
  add("autowithdraw_ledger_records", "Records in the ledger", [], ({ records }) => [[records]]);
  add(
    "autowithdraw_ledger_acknowledged",
    "Records that the gateway has confirmed",
    [],
    ({ acked }) => [[acked]],
  );
  add("autowithdraw_ledger_free_bytes", "Room on the ledger's disk", [], ({ freeBytes }) =>
    freeBytes < 0 ? [] : [[freeBytes]],
  );
  add(
    "autowithdraw_ledger_free_bytes_min",
    "Room below which nothing new is begun",
    [],
    ({ freeBytesMin }) => [[freeBytesMin]],
  );
  add("autowithdraw_signer_uptime_seconds", "Age of the signer's run", [], ({ startedAt }) => [
    [Math.max(0, clock() - startedAt) / 1000],
  ]);
  add(
    "autowithdraw_config_differs",
    "1 when signer and courier go by two versions of config.json",
    [],
    ({ configDiffers }) => [[Number(configDiffers)]],
  );
}

function addOutsideGauges(gauge: AddGauge): void {
  gauge(
    "autowithdraw_locked",
    "1 when nothing is signed until an operator has looked",
    [],
    ({ locked }) => [[Number(locked !== "")]],
  );
  gauge("autowithdraw_link_up", "1 while the link to the gateway is up", [], ({ link }) => [
    [Number(link === "up")],
  ]);
  gauge(
    "autowithdraw_withdrawals_waiting",
    "Withdrawals that do not go on by themselves now",
    [],
    ({ items }) => [[items.filter(({ why }) => why !== "").length]],
  );
  gauge(
    "autowithdraw_chain_up",
    "1 while nodes of the chain can be used",
    ["chain"],
    ({ chains }) => chains.map(({ chain, ok }) => [chain, Number(ok)]),
  );
  const finalHelp = "Age of the chain's newest final block";
  gauge("autowithdraw_chain_final_age_seconds", finalHelp, ["chain"], ({ chains }) =>
    chains.flatMap(({ chain, health }) => {
      const age = health?.finalAgeMs ?? null;
      return age === null ? [] : [[chain, Math.max(0, age) / 1000] as const];
    }),
  );
  gauge(
    "autowithdraw_chain_head_age_seconds",
    "Age of the chain's newest block by its own time",
    ["chain"],
    ({ chains }) =>
      chains.flatMap(({ chain, health }) => {
        const age = health?.headAgeMs ?? null;
        return age === null ? [] : [[chain, Math.max(0, age) / 1000] as const];
      }),
  );
  const nodes =
    (read: (node: Snapshot["chains"][number]["nodes"][number], head: number) => number | null) =>
    (snapshot: Snapshot) =>
      snapshot.chains.flatMap(({ chain, nodes: all }) => {
        const head = Math.max(0, ...all.map(({ block }) => block ?? 0));
        return all.flatMap((node, index) => {
          const value = read(node, head);
          return value === null ? [] : [[chain, `${index}`, value] as const];
        });
      });
  const labels = ["chain", "node"];
  gauge(
    "autowithdraw_node_up",
    "1 while the node does well; nodes are numbered as in config.json",
    labels,
    (snapshot) =>
      snapshot.chains.flatMap(({ chain, nodes: all, health }) =>
        all.map(
          ({ ok }, at) =>
            [chain, `${at}`, Number(ok && (health?.nodes[at]?.code ?? "") === "")] as const,
        ),
      ),
  );
  gauge(
    "autowithdraw_node_out_seconds",
    "Time since the node's first failure in a row, 0 while it answers",
    labels,
    nodes(({ outForMs }) => (outForMs ?? 0) / 1000),
  );
  gauge(
    "autowithdraw_node_block",
    "Newest block the node showed",
    labels,
    nodes(({ block }) => block),
  );
  gauge(
    "autowithdraw_node_lag_blocks",
    "Blocks the node is behind the best of its chain",
    labels,
    nodes(({ block }, head) => (block === null ? null : head - block)),
  );
}

function addProcessMetrics(
  registry: Registry,
  { alertMonitor, metrics, version, residentBytes }: MetricsTextOptions,
): void {
  const build = {
    name: "autowithdraw_build_info",
    help: "1, with the version",
    labelNames: ["version"],
  };
  registerGauge(registry, build, () => [[version, 1]]);
  const resident = {
    name: "autowithdraw_resident_bytes",
    help: "Resident memory of a process",
    labelNames: ["process"],
  };
  registerGauge(registry, resident, () => {
    const signerBytes = alertMonitor.latest()?.summary?.residentBytes;
    return [
      ["courier", residentBytes()],
      ...(signerBytes === undefined ? [] : [["signer", signerBytes] as const]),
    ];
  });
  const events = {
    name: "autowithdraw_events_total",
    help: "What the courier counted since its start",
    labelNames: ["event"],
  };
  registerCounterFromReader(registry, events, () => Object.entries(metrics.read()));
  const alerts = {
    name: "autowithdraw_alerts_total",
    help: "Alerts by outcome: told, failed tries, dropped",
    labelNames: ["outcome"],
  };
  registerCounterFromReader(registry, alerts, () => alertOutcomesOf(alertMonitor.counts()));
}
