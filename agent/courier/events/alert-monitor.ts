/**
 * Turns each snapshot of the courier into alerts for the receiver of `notify`, and keeps the last
 * snapshot for the metrics. Lives as long as the process: a new run of the signer resets nothing
 * here. Clocks and sender are passed in.
 */
import type { AlertDelivery, AlertQueueCounts } from "../../../base/alerts/queue/alert-queue.ts";
import { type AlertStandings, observeConditions } from "../../../base/alerts/queue/due-alerts.ts";
import { createLoggedAlertQueue } from "../../../base/alerts/queue/logged-queue.ts";
import type { AgentLog } from "../../../base/log.ts";
import { commandOfEnd } from "../../../base/state-end.ts";
import { formatAmount, parseAmount } from "../../../protocol/amount.ts";
import type { CourierSettings, NotifySettings } from "../../config/settings.ts";
import type { JudgedAgent, JudgedChain, JudgedStop } from "../../problems/judged.ts";
import { listConditions } from "../../problems/table.ts";
import type { CourierStatus } from "../../socket/verbs.ts";
import type { Snapshot, SnapshotChain } from "./snapshot.ts";

/** Every condition of the table of problems that holds, and the events whose state is unknown. */
export function conditionsOf(
  snapshot: Snapshot,
  notify: Pick<NotifySettings, "stuckMinutes" | "awayMinutes" | "lowFunds">,
  currencies: CourierSettings["currencies"],
): ReturnType<typeof listConditions> {
  const lowFunds = lowFundsOf(snapshot, notify.lowFunds, currencies);
  return listConditions(judgedOf(snapshot, lowFunds), notify);
}

/**
 * The snapshot as the table judges it. The courier knows nothing that the signer keeps to itself.
 */
function judgedOf(snapshot: Snapshot, lowFunds: JudgedAgent["lowFunds"]): JudgedAgent {
  const { agent, link, linkDetail, locked, items, chains, summary } = snapshot;
  const isOffered = locked === "RECOVERY_OFFERED";
  return {
    agent,
    link,
    linkDetail,
    lowFunds,
    locked: isOffered ? "" : locked,
    recovery: isOffered ? locked : "",
    stops: chains.flatMap(stopsOf),
    room: summary === null ? null : { ...summary, isWritable: true, isReadOnly: false },
    isConfigSplit: summary === null ? null : summary.configDiffers,
    chains: chains.map(chainOf),
    waits: items,
    unbegun: [],
    withdrawals: items,
    operator: null,
    voice: { command: commandOfEnd, moment: (ms) => new Date(ms).toISOString() },
  };
}

/** The signer's own stops; an operator's stop is told to nobody. */
function stopsOf({ chain, stopped, held }: SnapshotChain): readonly JudgedStop[] {
  return [
    ...(stopped === "CHAIN_COIN_FOREIGN"
      ? [{ kind: "foreign", place: chain, view: null } as const]
      : []),
    ...held.map((place) => ({ kind: "moved", place, view: null }) as const),
  ];
}

function chainOf({ chain, ok, isAsking, detail, health, balances }: SnapshotChain): JudgedChain {
  return {
    chain,
    ok,
    isAsking,
    detail,
    delays: ok ? (health?.delays ?? []) : [],
    poorNodes: (health?.nodes ?? []).filter(({ code }) => code !== ""),
    nativeBalance: `${balances.get("") ?? ""}`,
    // Before a chain's first answer, and after its last, the balance is unknown.
    isBalanceKnown: balances.size > 0,
  };
}

/**
 * The currencies of which the hot wallet has less than its threshold. An unknown balance is not
 * low.
 */
export function lowFundsOf(
  snapshot: Snapshot,
  thresholds: NotifySettings["lowFunds"],
  currencies: CourierSettings["currencies"],
): CourierStatus["lowFunds"] {
  return Object.entries(thresholds).flatMap(([id, wanted]) => {
    const currency = currencies[id];
    if (currency === undefined) return [];
    const balance = snapshot.chains
      .find(({ chain }) => chain === currency.chain)
      ?.balances.get(currency.contract ?? "");
    const least = parseAmount(wanted, currency.decimal);
    if (balance === undefined || !least.ok || balance >= least.units) return [];
    return [{ currency: id, has: formatAmount(balance, currency.decimal), wanted }];
  });
}

export interface AlertMonitor {
  /** Called every few seconds; sends an alert for every condition that is due. */
  look(snapshot: Snapshot): void;
  /** Null before the first look. */
  latest(): Snapshot | null;
  /** For `status`: null if config.json has no `notify`. */
  notify(): CourierStatus["notify"];
  /** For `status`: the result of the last look, empty before it and without `notify`. */
  lowFunds(): CourierStatus["lowFunds"];
  counts(): AlertQueueCounts;
  close(): void;
}

export interface AlertMonitorOptions {
  readonly settings: Pick<CourierSettings, "notify" | "currencies">;
  readonly deliver: AlertDelivery | null; // For `status`: null if config.json has no `notify`.
  readonly clock: () => number; // Unix milliseconds
  readonly monotonic: () => number; // milliseconds
  readonly log: AgentLog;
  readonly retryMs?: { readonly first: number; readonly most: number };
}

const none: AlertQueueCounts = { told: 0, failures: 0, dropped: 0, waiting: 0 };

export function createAlertMonitor(options: AlertMonitorOptions): AlertMonitor {
  const { settings, deliver, clock, monotonic, log, retryMs } = options;
  const { notify, currencies } = settings;
  let standings: AlertStandings = new Map();
  let latest: Snapshot | null = null;
  const alertQueue = deliver === null ? null : createLoggedAlertQueue(deliver, log, retryMs);
  return {
    look(snapshot) {
      latest = snapshot;
      if (alertQueue === null || notify === undefined) return;
      const times = { at: clock(), nowMs: monotonic(), alertsMax: alertQueue.room() };
      const observation = { ...times, ...conditionsOf(snapshot, notify, currencies) };
      const seen = observeConditions(standings, observation, {
        process: "courier",
        agent: snapshot.agent,
      });
      standings = seen.standings;
      alertQueue.take(seen.alerts);
    },
    latest: () => latest,
    notify() {
      if (alertQueue === null) return null;
      const trouble = alertQueue.trouble();
      const { waiting, dropped } = alertQueue.counts();
      return {
        ok: trouble === "",
        detail: trouble === "" ? "" : `${trouble}; ${waiting} wait, ${dropped} given up`,
      };
    },
    lowFunds: () =>
      latest === null || notify === undefined
        ? []
        : lowFundsOf(latest, notify.lowFunds, currencies),
    counts: () => alertQueue?.counts() ?? none,
    close: () => alertQueue?.close(),
  };
}
