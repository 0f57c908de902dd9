/**
 * Sends alerts to the receiver of `alerts`: agents without a link, locked agents, chains and nodes
 * with problems, a disk that is nearly full, and alarms. Checks database, hub, watcher and disk
 * every few seconds; alerts/queue/due-alerts.ts decides which alerts are due. Reads only the
 * database.
 */

import type { AlertQueueCounts, Deliver } from "../../alerts/queue/alert-queue.ts";
import { type Condition, observe, type Standings } from "../../alerts/queue/due-alerts.ts";
import { createLoggedAlertQueue } from "../../alerts/queue/logged-queue.ts";
import type { GatewayLog } from "../../base/log.ts";
import type { GatewayAlerts } from "../config/config.ts";
import type { Hub } from "../hub/hub.ts";
import { listPairedAgents } from "../store/agents.ts";
import { type AlarmRow, alarmPrefix, listAlarmsAfter, newestActBefore } from "../store/audit.ts";
import { roomBytesMin, roomWarningFactor } from "../store/disk.ts";
import type { Database } from "../store/store.ts";
import type { Watcher } from "../watcher/watcher.ts";

export interface AlertsOptions {
  readonly alerts: Pick<GatewayAlerts, "agentAwayMinutes">;
  readonly database: Database;
  readonly hub: Pick<Hub, "online">;
  readonly watcher: () => Pick<Watcher, "chainStatus"> | null;
  readonly freeBytes: () => number | null; // on the database's disk; null if unknown
  readonly deliver: Deliver;
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
const minuteMs = 60_000;
/**
 * An alarm recorded within this time before the start is sent again, because the earlier process
 * may have ended first.
 */
const missedMs = 3_600_000;
const agentsMax = 1000;
const alarmsMax = 100; // in one check; the others come with the next

/** Checks every few seconds until `close`, the first time after one interval. */
export function startAlerts(options: AlertsOptions): Alerts {
  const { database, clock, monotonic, log, deliver, retryMs } = options;
  let standings: Standings = new Map();
  let lastAlarm = newestActBefore(database, clock() - missedMs);
  const alertQueue = createLoggedAlertQueue(deliver, log, retryMs);
  const look = (): void => {
    const times = { at: clock(), nowMs: monotonic() };
    const origin = { process: "gateway" } as const;
    const conditions = [...agentConditions(options), ...chainConditions(options), ...roomConditions(options)];
    const seen = observe(standings, { ...times, conditions, unknown: [] }, origin);
    standings = seen.standings;
    const alarms = listAlarmsAfter(database, lastAlarm, alarmsMax);
    lastAlarm = alarms.at(-1)?.id ?? lastAlarm;
    // An alarm has no end, so it is observed from an empty state that is then dropped.
    const told = observe(new Map(), { ...times, conditions: alarms.map(alarmCondition), unknown: [] }, origin);
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

function agentConditions({ database, hub, alerts }: AlertsOptions): readonly Condition[] {
  return listPairedAgents(database, agentsMax).flatMap(({ id, lockedCode }): Condition[] => {
    const away = hub.online(id) ? [] : [awayFor(id, alerts.agentAwayMinutes)];
    if (lockedCode === "") return away;
    const message = `agent ${id} is locked: ${lockedCode}`;
    return [...away, { event: "agent-locked", subject: id, message, context: { code: lockedCode }, afterMs: 0 }];
  });
}

/** A chain has no status before its first pass. */
function chainConditions({ watcher, alerts }: AlertsOptions): readonly Condition[] {
  const afterMs = alerts.agentAwayMinutes * minuteMs;
  return (watcher()?.chainStatus() ?? []).flatMap(({ chain, ok, detail, nodes }): Condition[] => {
    if (!ok) {
      const message = `the chain ${chain} is not read: ${detail}`;
      return [{ event: "nodes-away", subject: chain, message, context: { detail }, afterMs }];
    }
    return nodes
      .filter(({ since }) => since !== null)
      .map(({ url, detail: why }) => {
        const message = `node ${url} of ${chain}: ${why}`;
        return { event: "node-poor", subject: `${chain} ${url}`, message, context: { detail: why }, afterMs };
      });
  });
}

function roomConditions({ freeBytes }: AlertsOptions): readonly Condition[] {
  const free = freeBytes();
  if (free === null || free >= roomBytesMin * roomWarningFactor) return [];
  const message = `the disk of the gateway's database is ${free < roomBytesMin ? "full" : "nearly full"}`;
  const context = { freeBytes: free, freeBytesMin: roomBytesMin };
  return [{ event: "disk-room-low", subject: "database", message, context, afterMs: 0 }];
}

function awayFor(id: string, minutes: number): Condition {
  const message = `agent ${id} has no link to this gateway`;
  return { event: "agent-away", subject: id, message, context: { minutes }, afterMs: minutes * minuteMs };
}

function alarmCondition({ id, act, subject, detail }: AlarmRow): Condition {
  const code = act.slice(alarmPrefix.length);
  return { event: "alarm", subject: `${code} ${subject} ${id}`, message: detail, context: { code, about: subject }, afterMs: 0 };
}
