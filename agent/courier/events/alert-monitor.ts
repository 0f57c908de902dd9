/**
 * Turns each snapshot of the courier into alerts for the receiver of `notify`, and keeps the last
 * snapshot for the metrics. Lives as long as the process: a new run of the signer resets nothing
 * here. Clocks and sender are passed in.
 */

import type { AlertDelivery, AlertQueueCounts } from "../../../base/alerts/queue/alert-queue.ts";
import { observeConditions, type Standings } from "../../../base/alerts/queue/due-alerts.ts";
import { createLoggedAlertQueue } from "../../../base/alerts/queue/logged-queue.ts";
import type { AgentLog } from "../../../base/log.ts";
import type { CourierSettings } from "../../config/settings.ts";
import type { CourierStatus } from "../../socket/verbs.ts";
import { conditionsOf, lowFundsOf } from "./conditions.ts";
import type { Snapshot } from "./snapshot.ts";

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
  let standings: Standings = new Map();
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
