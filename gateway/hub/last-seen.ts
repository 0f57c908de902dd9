/**
 * When each agent was last seen, as operators are shown it. A connected agent's time is written
 * when its link opens and once in a while, not at each heartbeat; that of a link which ended, with
 * the next write. Whether an agent is online is the hub's own knowledge and not in the table.
 */
import { markAgentSeen } from "../store/agent-state.ts";
import type { Intake } from "./intake.ts";

export interface LastSeen {
  /** The agent's link opened; written at once. */
  came(agent: string): void;
  /** The agent's link ended. */
  left(agent: string): void;
  /** Writes the times of all agents that are connected or left. Harmless to call twice. */
  close(): void;
}

/**
 * `live` has the agents that are connected, by id. A write that the database refuses is dropped: an
 * agent that left then keeps the time that was written before.
 */
export function createLastSeen(
  live: ReadonlyMap<string, unknown>,
  intake: Pick<Intake, "note">,
  { clock, everyMs }: { readonly clock: () => number; readonly everyMs: number },
): LastSeen {
  const leftAt = new Map<string, number>();
  const write = (seen: ReadonlyMap<string, number>): void => {
    if (seen.size === 0) return;
    intake.note((database) => {
      for (const [agent, atMs] of seen) markAgentSeen(database, agent, atMs);
    });
  };
  const keep = (): void => {
    const nowMs = clock();
    write(new Map([...leftAt, ...[...live.keys()].map((agent) => [agent, nowMs] as const)]));
    leftAt.clear();
  };
  const timer = setInterval(keep, everyMs);
  return {
    came: (agent) => write(new Map([[agent, clock()]])),
    left: (agent) => void leftAt.set(agent, clock()),
    close() {
      clearInterval(timer);
      keep();
    },
  };
}
