/**
 * A queue of alerts that logs the fate of each. Courier and gateway log it under the same events,
 * which stand in base/events.ts and in base/events-gateway.ts. Touches nothing: sender and log are
 * passed in.
 */

import {
  type AlertDelivery,
  type AlertQueue,
  type AlertQueueOptions,
  createAlertQueue,
} from "./alert-queue.ts";
import type { Alert } from "./due-alerts.ts";

type Fate<E> = { readonly event: E; readonly alert: Alert["event"]; readonly subject: string };
type Failure<E> = Fate<E> & { readonly why: string };

/** The part of a process's log to which the queue writes. */
export interface AlertLog {
  readonly info: (context: Fate<"alert-sent">, message: string) => void;
  readonly warn: (
    context: Failure<"alert-failed"> & { readonly tries: number },
    message: string,
  ) => void;
  readonly error: (context: Failure<"alert-dropped">, message: string) => void;
}

/** `retryMs` is `createAlertQueue`'s own if left out. */
export function createLoggedAlertQueue(
  deliver: AlertDelivery,
  log: AlertLog,
  retryMs?: AlertQueueOptions["retryMs"],
): AlertQueue {
  return createAlertQueue({
    deliver,
    onTold: ({ event, subject }) =>
      log.info({ event: "alert-sent", alert: event, subject }, "somebody was told"),
    onFailed: ({ event, subject }, why, tries) =>
      log.warn(
        { event: "alert-failed", alert: event, subject, why, tries },
        "nobody could be told; it is tried again",
      ),
    onDropped: ({ event, subject }, why) =>
      log.error(
        { event: "alert-dropped", alert: event, subject, why },
        "nobody was told, and it is given up",
      ),
    ...(retryMs === undefined ? {} : { retryMs }),
  });
}
