/**
 * A queue of notices that logs the fate of each. Courier and gateway log it under the same events,
 * which stand in both tables of base/events.ts. Touches nothing: sender and log are passed in.
 */
import type { Notice } from "./core.ts";
import { createTeller, type Deliver, type Teller, type TellerOptions } from "./teller.ts";

type Fate<E> = { readonly event: E; readonly notice: Notice["event"]; readonly subject: string };
type Failure<E> = Fate<E> & { readonly why: string };

/** The part of a process's log to which the queue writes. */
export interface NoticeLog {
  readonly info: (context: Fate<"notice-told">, message: string) => void;
  readonly warn: (context: Failure<"notice-failed"> & { readonly tries: number }, message: string) => void;
  readonly error: (context: Failure<"notice-dropped">, message: string) => void;
}

/** `retryMs` is `createTeller`'s own if left out. */
export function createLoggedTeller(deliver: Deliver, log: NoticeLog, retryMs?: TellerOptions["retryMs"]): Teller {
  return createTeller({
    deliver,
    onTold: ({ event, subject }) => log.info({ event: "notice-told", notice: event, subject }, "somebody was told"),
    onFailed: ({ event, subject }, why, tries) =>
      log.warn({ event: "notice-failed", notice: event, subject, why, tries }, "nobody could be told; it is tried again"),
    onDropped: ({ event, subject }, why) =>
      log.error({ event: "notice-dropped", notice: event, subject, why }, "nobody was told, and it is given up"),
    ...(retryMs === undefined ? {} : { retryMs }),
  });
}
