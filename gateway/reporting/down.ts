/**
 * Tells the receiver of `alerts` that the gateway does not run: at once, each hour, and when it has
 * run for five minutes again. Runs in a process of its own, which the service manager starts when
 * the gateway has failed. Reads nothing of the database, whose disk may be the reason.
 */
import type { AlertDelivery } from "../../base/alerts/queue/alert-queue.ts";
import { type AlertStandings, observeConditions } from "../../base/alerts/queue/due-alerts.ts";
import { createLoggedAlertQueue } from "../../base/alerts/queue/logged-queue.ts";
import { type Code, codes } from "../../base/codes.ts";
import type { GatewayLog } from "../../base/log.ts";
import { nothingSeen } from "../problems/judged.ts";
import { listConditions } from "../problems/table.ts";

/** Why the gateway does not run, as far as it can be seen without the database. */
export interface DownReason {
  readonly code: Code | ""; // "" if unknown
  readonly words: string;
}

export interface DownOptions {
  readonly isUp: () => Promise<boolean>; // the gateway answers now
  readonly reason: () => DownReason;
  readonly deliver: AlertDelivery;
  readonly rest: (ms: number) => Promise<void>;
  readonly clock: () => number; // Unix milliseconds
  readonly monotonic: () => number; // milliseconds
  readonly log: GatewayLog;
}

const lookMs = 5_000;
/** A gateway that ends again and again answers for moments, which end nothing. */
const settledMs = 5 * 60_000;

/** Resolves when the gateway has answered for five minutes, and its receiver was told so. */
export async function tellWhileDown(options: DownOptions): Promise<void> {
  const { isUp, deliver, rest, clock, monotonic, log } = options;
  const queue = createLoggedAlertQueue(deliver, log);
  let standings: AlertStandings = new Map();
  let downMs = monotonic(); // when it last did not answer
  for (;;) {
    if (!(await isUp())) downMs = monotonic();
    const nowMs = monotonic();
    const isOver = nowMs - downMs >= settledMs;
    const down = isOver ? null : judgedDown(options.reason());
    const conditions = listConditions({ ...nothingSeen, down }, noAgents);
    const seen = observeConditions(
      standings,
      { at: clock(), nowMs, conditions, unknown: [] },
      { process: "gateway" },
    );
    standings = seen.standings;
    queue.take(seen.alerts);
    if (isOver) break;
    await rest(lookMs);
  }
  while (queue.counts().waiting > 0) await rest(lookMs);
  queue.close();
}

/** No alert of this process is about an agent. */
const noAgents = { agentAwayMinutes: 0 };

const judgedDown = ({ code, words }: DownReason) => ({
  code,
  words,
  advice: code === "" ? "" : codes[code].advice,
});
