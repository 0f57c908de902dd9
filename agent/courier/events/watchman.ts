/**
 * Turns each snapshot of the courier into alerts for the receiver of `notify`, and keeps the last
 * snapshot for the metrics. Lives as long as the process: a new run of the signer resets nothing
 * here. Clocks and sender are passed in.
 */
import { observe, type Standings } from "../../../alerts/notices/core.ts";
import { createLoggedTeller } from "../../../alerts/notices/logged-teller.ts";
import type { Deliver, TellerCounts } from "../../../alerts/notices/teller.ts";
import type { AgentLog } from "../../../base/log.ts";
import type { CourierSettings } from "../../config/settings.ts";
import type { CourierStatus } from "../../socket/verbs.ts";
import { conditionsOf, lowFundsOf } from "./conditions.ts";
import type { Outlook } from "./outlook.ts";

export interface Watchman {
  /** Called every few seconds; sends an alert for every condition that is due. */
  look(outlook: Outlook): void;
  /** Null before the first look. */
  latest(): Outlook | null;
  /** For `status`: null if config.json has no `notify`. */
  notify(): CourierStatus["notify"];
  /** For `status`: the result of the last look, empty before it and without `notify`. */
  lowFunds(): CourierStatus["lowFunds"];
  counts(): TellerCounts;
  close(): void;
}

export interface WatchmanOptions {
  readonly settings: Pick<CourierSettings, "notify" | "currencies">;
  readonly deliver: Deliver | null; // For `status`: null if config.json has no `notify`.
  readonly clock: () => number; // Unix milliseconds
  readonly monotonic: () => number; // milliseconds
  readonly log: AgentLog;
  readonly retryMs?: { readonly first: number; readonly most: number };
}

const none: TellerCounts = { told: 0, failures: 0, dropped: 0, waiting: 0 };

export function createWatchman(options: WatchmanOptions): Watchman {
  const { settings, deliver, clock, monotonic, log, retryMs } = options;
  const { notify, currencies } = settings;
  let standings: Standings = new Map();
  let latest: Outlook | null = null;
  const teller = deliver === null ? null : createLoggedTeller(deliver, log, retryMs);
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
