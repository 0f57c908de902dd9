/**
 * Sends alerts to the receiver of `alerts`: what the table of problems (problems/table.ts) finds in
 * a look at the gateway every few seconds. base/alerts/queue/due-alerts.ts decides which alerts are
 * due. Reads only the database.
 */

import type { AlertDelivery, AlertQueueCounts } from "../../base/alerts/queue/alert-queue.ts";
import { type AlertStandings, observeConditions } from "../../base/alerts/queue/due-alerts.ts";
import { createLoggedAlertQueue } from "../../base/alerts/queue/logged-queue.ts";
import type { GatewayLog } from "../../base/log.ts";
import type { GatewayAlerts, GatewayConfig } from "../config/config.ts";
import { faultGroupName } from "../faults/words.ts";
import type { Hub } from "../hub/hub.ts";
import { unpricedOf } from "../prices/unpriced.ts";
import {
  type JudgedAlarm,
  type JudgedGateway,
  type JudgedParts,
  nothingSeen,
} from "../problems/judged.ts";
import { listConditions, withdrawalsWaitMs } from "../problems/table.ts";
import type { Prices } from "../service.ts";
import { listHaltedAgents, PairedAgentIds } from "../store/agents.ts";
import { type AlarmRow, alarmOf, listAlarmsAfter, newestActIdBefore } from "../store/audit.ts";
import { listFailingTargets } from "../store/counts.ts";
import { listFaults } from "../store/faults.ts";
import type { ShownGateway } from "../store/leases.ts";
import { listWaitingForReader } from "../store/levels.ts";
import type { Database } from "../store/store.ts";
import { countStuckSweeps } from "../store/sweeps.ts";
import { listWaitingMerchants } from "../store/withdrawals.ts";
import type { Watcher } from "../watcher/watcher.ts";

export interface AlertsOptions {
  readonly alerts: Pick<GatewayAlerts, "agentAwayMinutes">;
  readonly database: Database;
  readonly run: string; // names this process (store/owner.ts)
  readonly hub: Pick<Hub, "online">;
  readonly parts: JudgedParts; // as /ready judges them
  readonly prices: Prices;
  readonly currencies: GatewayConfig["currencies"];
  readonly watcher: () => Pick<Watcher, "chainStatus" | "faults"> | null;
  /** Keeps that the alerts of these faults were sent. */
  readonly onFaultsTold: (subjects: ReadonlySet<string>) => void;
  readonly freeBytes: () => number | null; // on the database's disk; null if unknown
  readonly gateways: () => readonly ShownGateway[]; // that share the database; none on a file
  readonly deliver: AlertDelivery;
  readonly clock: () => number; // Unix milliseconds
  readonly monotonic: () => number; // milliseconds
  readonly log: GatewayLog;
  readonly retryMs?: { readonly first: number; readonly most: number };
}

export interface Alerts {
  /** Checks now. Harmless at any time. */
  look(): void;
  counts(): AlertQueueCounts;
  close(): void;
}

const everyMs = 5000;
/**
 * An alarm recorded within this time before the start is sent again, because the earlier process
 * may have ended first.
 */
const missedMs = 3_600_000;
const listedMax = 1_000; // targets, and merchants whose withdrawals wait, in one look
const alarmsMax = 100; // in one check; the others come with the next

/** An alert that left this shortly before the end of a run may not have arrived. */
const surelyToldMs = 60_000;

/** The groups of faults whose alert an earlier run sent. */
function listToldFaultGroups(database: Database, nowMs: number): ReadonlySet<string> {
  const told = listFaults(database).filter(
    ({ toldAt }) => toldAt !== null && toldAt <= nowMs - surelyToldMs,
  );
  return new Set(told.map(faultGroupName));
}

/** Checks every few seconds until `close`, the first time after one interval. */
export function startAlerts(options: AlertsOptions): Alerts {
  const { database, clock, monotonic, log, deliver, retryMs } = options;
  let standings: AlertStandings = new Map();
  const toldBefore = listToldFaultGroups(database, clock());
  let lastAlarm = newestActIdBefore(database, clock() - missedMs);
  const paired = new PairedAgentIds();
  const alertQueue = createLoggedAlertQueue(deliver, log, retryMs);
  const look = (): void => {
    const times = { at: clock(), nowMs: monotonic() };
    const origin = { process: "gateway" } as const;
    const look = { paired: paired.read(database), faultsTold: toldBefore };
    const conditions = listConditions(judgedOf(options, times.at, look), options.alerts);
    const seen = observeConditions(
      standings,
      { ...times, conditions, unknown: [], alertsMax: alertQueue.room() },
      origin,
    );
    standings = seen.standings;
    const faultsTold = seen.alerts
      .filter(({ event }) => event === "item-fault")
      .map(({ subject }) => subject);
    if (faultsTold.length > 0) options.onFaultsTold(new Set(faultsTold));
    const alarms = listAlarmsAfter(database, lastAlarm, alarmsMax);
    lastAlarm = alarms.at(-1)?.id ?? lastAlarm;
    // An alarm has no end, so it is observed from an empty state that is then dropped.
    const told = observeConditions(
      new Map(),
      {
        ...times,
        conditions: listConditions(
          { ...nothingSeen, alarms: alarms.map(judgedAlarm) },
          options.alerts,
        ),
        unknown: [],
      },
      origin,
    );
    alertQueue.take([...seen.alerts, ...told.alerts]);
  };
  const timer = setInterval(look, everyMs);
  return {
    look,
    counts: alertQueue.counts,
    close() {
      clearInterval(timer);
      alertQueue.close();
    },
  };
}

/** The running gateway at one look, as the table of problems judges it. */
function judgedOf(
  options: AlertsOptions,
  nowMs: number,
  look: Pick<JudgedGateway, "faultsTold"> & { readonly paired: readonly string[] },
): JudgedGateway {
  const { database, hub, watcher, prices, currencies, parts, run, freeBytes, gateways } = options;
  const { faultsTold, paired } = look;
  // A chain has no status before its first pass.
  const chains = (watcher()?.chainStatus() ?? []).map((status) => {
    return { chain: status.chain, status: () => status };
  });
  return {
    ...nothingSeen,
    ...parts,
    nowMs,
    freeBytes,
    chains,
    stuckSweeps: countStuckSweeps(database),
    gateways: gateways(),
    faultsTold,
    unpriced: () => unpricedOf(prices, currencies),
    awayAgents: paired.filter((id) => !hub.online(id)),
    lockedAgents: listHaltedAgents(database)
      .filter(({ lockedCode }) => lockedCode !== "")
      .map(({ id, lockedCode: code }) => ({ id, merchant: "", code })),
    waitingForReader: listWaitingForReader(database, run),
    failingTargets: listFailingTargets(database, listedMax),
    waitingMerchants: listWaitingMerchants(database, nowMs - withdrawalsWaitMs, listedMax),
    faults: watcher()?.faults() ?? [],
  };
}

function judgedAlarm({ id, act, subject, detail }: AlarmRow): JudgedAlarm {
  return { id, subject, detail, ...alarmOf(act) };
}
