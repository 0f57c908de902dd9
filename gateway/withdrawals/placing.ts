/**
 * Gives waiting jobs their positions while the gateway runs: after each pass over a chain, because
 * a pass makes its reader level, and because an operator's command in another process ends a hold.
 */
import type { GatewayLog } from "../../base/log.ts";
import { listAgentsWithWaitingJobs } from "../store/jobs.ts";
import type { Signals } from "../store/signals.ts";
import type { Store } from "../store/store.ts";
import { hasDueJobs, numberJobs } from "./jobs.ts";

interface PlacingRooms {
  readonly store: Store;
  readonly signals: Signals;
  readonly log: GatewayLog;
  readonly clock: () => number; // milliseconds since 1970
  readonly run: string; // names this process (store/owner.ts)
}

/**
 * Places every job that waits for nothing any more, and holds those that look paid. Writes only if
 * something changes. @throws AgentError GATEWAY_STORE_* if the database takes nothing now
 */
export function placeWaitingJobs({ store, signals, log, clock, run }: PlacingRooms): void {
  for (const agent of listAgentsWithWaitingJobs(store.database, run)) {
    if (!hasDueJobs(store.database, agent, run)) continue;
    const { placed, refused, moved } = store.write((database) =>
      numberJobs(database, agent.id, clock()),
    );
    log.info(
      { event: "jobs-placed", agent: agent.id, placed, moved: moved.length },
      "waiting orders went on, or are held",
    );
    for (const transactionId of [...refused, ...moved]) signals.emit("changed", { transactionId });
    for (const transactionId of refused) signals.emit("decided", { transactionId });
    if (placed > 0) signals.emit("job", { agent: agent.id });
  }
}
