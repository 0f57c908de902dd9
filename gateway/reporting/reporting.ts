/**
 * The gateway's alerts and metrics for operators. The configuration names their receivers; without
 * them nothing starts.
 */
import type { FastifyInstance } from "fastify";
import { serveMetrics } from "../../base/alerts/metrics/server.ts";
import { createAlertDelivery } from "../../base/alerts/queue/send.ts";
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import type { GatewayAlerts, GatewayConfig } from "../config/config.ts";
import { faultGroupName } from "../faults/words.ts";
import type { Hub } from "../hub/hub.ts";
import type { JudgedParts } from "../problems/judged.ts";
import type { Prices } from "../service.ts";
import { countAllWaitingDeliveries } from "../store/callback-deliveries.ts";
import { fileBytesOf, freeBytesOf } from "../store/disk.ts";
import { listFaults, markFaultTold } from "../store/faults.ts";
import { listPresences } from "../store/leases.ts";
import type { Store } from "../store/store.ts";
import type { TimedStore } from "../store/timed.ts";
import type { Watcher } from "../watcher/watcher.ts";
import { startAlerts } from "./alerts.ts";
import { type DownOptions, tellWhileDown } from "./down.ts";
import { createMeasures } from "./measures.ts";

export interface ReportingOptions {
  readonly server: FastifyInstance; // not yet listening
  readonly store: Store;
  readonly hub: Hub;
  readonly watcher: () => Watcher | null;
  readonly parts: JudgedParts; // as /ready judges them
  readonly prices: Prices;
  readonly certificateEndsAtMs: () => number | null; // null without a certificate
  readonly config: Pick<
    GatewayConfig,
    "alerts" | "metrics" | "database" | "postgres" | "currencies"
  >;
  readonly log: GatewayLog;
  readonly clock: () => number; // Unix milliseconds
  readonly run: string; // names this process (store/owner.ts)
  readonly databaseTimes: TimedStore["times"];
}

/** As `tellWhileDown`, to the receiver of the configuration. */
export function alertReceiverWhileDown(
  alerts: GatewayAlerts,
  options: Omit<DownOptions, "deliver">,
): Promise<void> {
  return tellWhileDown({ ...options, deliver: createAlertDelivery(alerts.target) });
}

/** A database that takes nothing now lets the alert be sent once more after a restart. */
function keepTold(store: Store, subjects: ReadonlySet<string>, nowMs: number): void {
  try {
    store.write((database) => {
      for (const row of listFaults(database))
        if (subjects.has(faultGroupName(row))) markFaultTold(database, row, nowMs);
    });
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
  }
}

export function startOperatorReports(options: ReportingOptions): { close(): void } {
  const { server, store, hub, watcher, config, log, clock } = options;
  const { database } = store;
  const freeBytes = (): number | null => freeBytesOf(config.database);
  const alerts =
    config.alerts === null
      ? null
      : startAlerts({
          alerts: config.alerts,
          parts: options.parts,
          prices: options.prices,
          currencies: config.currencies,
          database,
          run: options.run,
          hub,
          watcher,
          freeBytes,
          gateways: () => (config.postgres === null ? [] : listPresences(database)),
          log,
          clock,
          deliver: createAlertDelivery(config.alerts.target),
          onFaultsTold: (subjects) => keepTold(store, subjects, clock()),
          monotonic: () => performance.now(),
        });
  const served =
    config.metrics === null
      ? null
      : serveMetrics({
          place: config.metrics,
          ...createMeasures({
            server,
            database,
            hub,
            watcher,
            freeBytes,
            walBytes: () => fileBytesOf(`${config.database}-wal`),
            certificateEndsAtMs: options.certificateEndsAtMs,
            clock,
            alerts: () => alerts?.counts() ?? null,
            databaseTimes: options.databaseTimes,
            callbacksWaiting: () => countAllWaitingDeliveries(database),
            residentBytes: () => process.memoryUsage.rss(),
          }),
          onListen: (where) => log.info({ event: "metrics-listen", where }, "metrics are served"),
          onFailed: (why) =>
            log.warn(
              { event: "metrics-failed", why },
              "metrics cannot be served; it is tried again",
            ),
        });
  return {
    close() {
      alerts?.close();
      served?.close();
    },
  };
}
