/**
 * Sends alerts to the receiver of `alerts`: agents without a link, locked agents, chains and nodes
 * with problems, the disk and the database's file, the certificate, prices, callbacks, money that
 * does not go on, and alarms. Looks at all of them every few seconds;
 * base/alerts/queue/due-alerts.ts decides which alerts are due. Reads only the database.
 */

import type { AlertDelivery, AlertQueueCounts } from "../../base/alerts/queue/alert-queue.ts";
import {
  type AlertCondition,
  type AlertStandings,
  observeConditions,
} from "../../base/alerts/queue/due-alerts.ts";
import { createLoggedAlertQueue } from "../../base/alerts/queue/logged-queue.ts";
import { type AlertName, alertTable } from "../../base/alerts/queue/table.ts";
import { adviceOf, dangerOf, lockedAdvice } from "../../base/causes.ts";
import type { GatewayLog } from "../../base/log.ts";
import { formatTimestampUtc } from "../../base/timestamp.ts";
import type { GatewayAlerts, GatewayConfig } from "../config/config.ts";
import type { Hub } from "../hub/hub.ts";
import { readerHint, targetHint } from "../operator/state-words.ts";
import { unpricedOf } from "../prices/unpriced.ts";
import type { Prices, Probe } from "../service.ts";
import { listHaltedAgents, PairedAgentIds } from "../store/agents.ts";
import { type AlarmRow, alarmOf, listAlarmsAfter, newestActIdBefore } from "../store/audit.ts";
import { listFailingTargets } from "../store/counts.ts";
import { freeDiskBytesMin, roomWarningFactor } from "../store/disk.ts";
import { listWaitingForReader } from "../store/levels.ts";
import type { Database } from "../store/store.ts";
import { countOpenSweepsByStage } from "../store/sweeps.ts";
import { listWaitingMerchants } from "../store/withdrawals.ts";
import type { Watcher } from "../watcher/watcher.ts";
import { faultConditions, listToldFaultGroups } from "./fault-alerts.ts";

export interface AlertsOptions {
  readonly alerts: Pick<GatewayAlerts, "agentAwayMinutes">;
  readonly database: Database;
  readonly run: string; // names this process (store/owner.ts)
  readonly hub: Pick<Hub, "online">;
  readonly probes: readonly Probe[]; // the checks of /ready
  readonly prices: Prices;
  readonly currencies: GatewayConfig["currencies"];
  readonly watcher: () => Pick<Watcher, "chainStatus" | "faults"> | null;
  /** Keeps that the alerts of these faults were sent. */
  readonly onFaultsTold: (subjects: ReadonlySet<string>) => void;
  readonly freeBytes: () => number | null; // on the database's disk; null if unknown
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
const minuteMs = 60_000;
/**
 * An alarm recorded within this time before the start is sent again, because the earlier process
 * may have ended first.
 */
const missedMs = 3_600_000;
/** A merchant's server is told of after it has taken nothing for this time. */
const callbacksFailMs = 60 * minuteMs;
/** The oldest open withdrawal of a merchant may wait for this time. */
const withdrawalsWaitMs = 60 * minuteMs;
/** Orders wait for a chain that is not read for so long before it is told: less than a minute. */
const unreadMs = 45_000;
/** The same while the chain is read: on Tron a start takes a minute of blocks. */
const readingMs = 180_000;
const pricesStaleMs = 15 * minuteMs;
const listedMax = 1_000; // targets, and merchants whose withdrawals wait, in one look
const alarmsMax = 100; // in one check; the others come with the next

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
    const conditions = [
      ...agentConditions(options, paired.read(database)),
      ...chainConditions(options),
      ...roomConditions(options),
      ...probeConditions(options),
      ...priceConditions(options),
      ...placeConditions(options),
      ...moneyConditions(options, times.at),
      ...faultConditions(options.watcher()?.faults() ?? [], times.at, toldBefore),
    ];
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
      { ...times, conditions: alarms.map(alarmCondition), unknown: [] },
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

function agentConditions(
  { database, hub, alerts }: AlertsOptions,
  paired: readonly string[],
): readonly AlertCondition[] {
  const away = paired
    .filter((id) => !hub.online(id))
    .map((id) => awayFor(id, alerts.agentAwayMinutes));
  const locked = listHaltedAgents(database).flatMap(({ id, lockedCode }): AlertCondition[] => {
    if (lockedCode === "") return [];
    const message = `agent ${id} is locked: ${lockedCode}`;
    const context = { code: lockedCode, danger: dangerOf(lockedCode) };
    return [
      {
        event: "agent-locked",
        subject: id,
        message,
        context,
        afterMs: 0,
        hint: lockedAdvice(lockedCode),
      },
    ];
  });
  return [...away, ...locked];
}

/** A chain has no status before its first pass. */
function chainConditions({ watcher, alerts }: AlertsOptions): readonly AlertCondition[] {
  const afterMs = alerts.agentAwayMinutes * minuteMs;
  return (watcher()?.chainStatus() ?? []).flatMap(
    ({ chain, ok, detail, nodes, delays }): AlertCondition[] => {
      if (!ok) {
        const message = `the chain ${chain} is not read: ${detail}`;
        return [{ event: "nodes-away", subject: chain, message, context: { detail }, afterMs }];
      }
      const late = delays.map(({ code, words }): AlertCondition => {
        return { event: "chain-late", subject: chain, message: words, context: { code }, afterMs };
      });
      const poor = nodes
        .filter(({ since }) => since !== null)
        .map(({ url, detail: why }) => {
          const message = `node ${url} of ${chain}: ${why}`;
          return {
            event: "node-poor",
            subject: `${chain} ${url}`,
            message,
            context: { detail: why },
            afterMs,
          } as const;
        });
      return [...late, ...poor];
    },
  );
}

function roomConditions({ freeBytes }: AlertsOptions): readonly AlertCondition[] {
  const free = freeBytes();
  if (free === null || free >= freeDiskBytesMin * roomWarningFactor) return [];
  const message = `the disk of the gateway's database is ${free < freeDiskBytesMin ? "full" : "nearly full"}`;
  const context = { freeBytes: free, freeBytesMin: freeDiskBytesMin };
  return [{ event: "disk-room-low", subject: "database", message, context, afterMs: 0 }];
}

/** The checks of `/ready` whose trouble no other condition tells. */
const probeEvents: readonly (readonly [name: RegExp, event: AlertName])[] = [
  [/^wal$/, "wal-large"],
  [/^certificate$/, "certificate-ends"],
  [/^clock$/, "clock-wrong"],
  [/^currency /, "currency-out"],
];

function probeConditions({ probes }: AlertsOptions): readonly AlertCondition[] {
  return probes.flatMap((probe): readonly AlertCondition[] => {
    const { name, detail, full } = probe();
    const event = probeEvents.find(([pattern]) => pattern.test(name))?.[1];
    if (event === undefined || detail === "") return [];
    const subject = name.split(" ")[1] ?? (event === "wal-large" ? "database" : name);
    return [
      {
        event,
        subject,
        message: event === "currency-out" ? `${subject} is ${detail}` : (full ?? detail),
        context: {},
        afterMs: 0,
      },
    ];
  });
}

function priceConditions({ prices, currencies }: AlertsOptions): readonly AlertCondition[] {
  return unpricedOf(prices, currencies).map(({ currency: { id }, fiat }): AlertCondition => {
    const message = `no price of ${id} in ${fiat} holds: quotes are refused`;
    return {
      event: "price-stale",
      subject: `${id} ${fiat}`,
      message,
      context: {},
      afterMs: pricesStaleMs,
    };
  });
}

/** Orders that wait for the reader of their chain in this run. */
function placeConditions({ database, run, watcher }: AlertsOptions): readonly AlertCondition[] {
  const isRead = (network: string): boolean =>
    (watcher()?.chainStatus() ?? []).some((chain) => chain.network === network && chain.ok);
  return listWaitingForReader(database, run).map(({ network, count, trouble }): AlertCondition => {
    const orders = count === 1 ? "1 order waits" : `${count} orders wait`;
    const why = trouble === "" ? "it is not read up to its newest block since the start" : trouble;
    const message = `${orders} for the reader of ${network}: ${why}`;
    const afterMs = trouble === "" && isRead(network) ? readingMs : unreadMs;
    return {
      event: "payouts-unplaced",
      subject: network,
      message,
      context: { count },
      afterMs,
      hint: readerHint,
    };
  });
}

/** Events that merchants' servers do not take, and money that does not go on. */
function moneyConditions({ database }: AlertsOptions, nowMs: number): readonly AlertCondition[] {
  const targets = listFailingTargets(database, listedMax).map(
    ({ id, merchant, reason }): AlertCondition => {
      const message = `callback target ${id} of ${merchant} takes no event: ${reason}`;
      const hint = targetHint(id);
      return {
        event: "callbacks-failing",
        subject: id,
        message,
        context: { reason },
        afterMs: callbacksFailMs,
        hint,
      };
    },
  );
  const waiting = listWaitingMerchants(database, nowMs - withdrawalsWaitMs, listedMax).map(
    (row): AlertCondition => {
      const { merchant, name, count, oldestAt, stage } = row;
      const are = count === 1 ? "1 withdrawal waits" : `${count} withdrawals wait`;
      const message = `${are} at ${name} (${merchant}), the oldest since ${formatTimestampUtc(oldestAt)} as ${stage || "asked"}`;
      const hint = `autowithdraw-gateway withdrawals list --merchant ${merchant} --status 0`;
      return {
        event: "withdrawals-waiting",
        subject: merchant,
        message,
        context: { count, stage },
        afterMs: 0,
        hint,
      };
    },
  );
  const stuck = countOpenSweepsByStage(database).filter(({ stage }) => stage === "stuck");
  const count = stuck.reduce((sum, one) => sum + one.count, 0);
  if (count === 0) return [...targets, ...waiting];
  const message = `${count} sweeps or top-ups contradict the chain and wait for an operator`;
  return [
    ...targets,
    ...waiting,
    { event: "sweeps-stuck", subject: "sweeps", message, context: { count }, afterMs: 0 },
  ];
}

function awayFor(id: string, minutes: number): AlertCondition {
  const message = `agent ${id} has no link to this gateway`;
  return {
    event: "agent-away",
    subject: id,
    message,
    context: { minutes },
    afterMs: minutes * minuteMs,
  };
}

function alarmCondition({ id, act, subject, detail }: AlarmRow): AlertCondition {
  const { code, cause } = alarmOf(act);
  const hint = adviceOf(code, cause) || alertTable.alarm.advice;
  const context = { code, danger: dangerOf(code, cause), about: subject };
  return {
    event: "alarm",
    subject: `${code} ${subject} ${id}`,
    message: detail,
    context,
    afterMs: 0,
    hint,
  };
}
