/**
 * Looks at what the courier sees, every few seconds, tells whom `notify` names, and keeps the last look for the metrics. Lives as long as
 * the process: a new run of the signer begins nothing anew here. Clock and door are passed in.
 */
import { observe, type Standings } from "../../../notices/core.ts";
import { createTeller, type Deliver, type TellerCounts } from "../../../notices/teller.ts";
import type { AgentLog } from "../../../protocol/log.ts";
import type { CourierSettings } from "../../config/settings.ts";
import type { CourierStatus } from "../../socket/verbs.ts";
import { conditionsOf, lowFundsOf } from "./conditions.ts";
import type { Outlook } from "./outlook.ts";

/** @public */
export interface Watchman {
  look(outlook: Outlook): void;
  latest(): Outlook | null;
  /** For `status`: null where nobody is to be told. */
  notify(): CourierStatus["notify"];
  lowFunds(): CourierStatus["lowFunds"];
  counts(): TellerCounts;
  close(): void;
}

/** @public */
export interface WatchmanOptions {
  readonly settings: Pick<CourierSettings, "notify" | "currencies">;
  readonly deliver: Deliver | null; // null where nobody is to be told
  readonly clock: () => number; // Unix milliseconds
  readonly monotonic: () => number;
  readonly log: AgentLog;
  readonly retryMs?: { readonly first: number; readonly most: number };
}

const none: TellerCounts = { told: 0, failures: 0, dropped: 0, waiting: 0 };

/** @public */
export function createWatchman(options: WatchmanOptions): Watchman {
  const { settings, deliver, clock, monotonic, log, retryMs } = options;
  const { notify, currencies } = settings;
  let standings: Standings = new Map();
  let latest: Outlook | null = null;
  const teller =
    deliver === null
      ? null
      : createTeller({
          deliver,
          onTold: ({ event, subject }) => log.info({ event: "notice-told", notice: event, subject }, "somebody was told"),
          onFailed: ({ event, subject }, why, tries) =>
            log.warn({ event: "notice-failed", notice: event, subject, why, tries }, "nobody could be told; it is tried again"),
          onDropped: ({ event, subject }, why) =>
            log.error({ event: "notice-dropped", notice: event, subject, why }, "nobody was told, and it is given up"),
          ...(retryMs === undefined ? {} : { retryMs }),
        });
  return {
    look(outlook) {
      latest = outlook;
      if (teller === null || notify === undefined) return;
      const observation = { at: clock(), nowMs: monotonic(), ...conditionsOf(outlook, notify, currencies) };
      const seen = observe(standings, observation, { process: "courier", agent: outlook.agent });
      standings = seen.standings;
      teller.take(seen.notices);
    },
    latest: () => latest,
    notify() {
      if (teller === null) return null;
      const trouble = teller.trouble();
      const { waiting, dropped } = teller.counts();
      return { ok: trouble === "", detail: trouble === "" ? "" : `${trouble}; ${waiting} wait, ${dropped} given up` };
    },
    lowFunds: () => (latest === null || notify === undefined ? [] : lowFundsOf(latest, notify.lowFunds, currencies)),
    counts: () => teller?.counts() ?? none,
    close: () => teller?.close(),
  };
}
