/**
 * Decides whether an agent has caught up with the running gateway. A database restored from a
 * backup cannot detect by itself that it lacks payments. The agent's signer can, and then refuses
 * the handshake. So an agent has caught up in this run after its signer accepts the handshake in a
 * statement over the same connection. A courier cannot make such a statement, and cannot repeat one
 * from another connection. Runs in the caller's transaction. Sources: docs/protocol.md sections 4.1
 * and 6.2; docs/recovering.md section 5.
 */
import type { AgentLedgerHead, Statement } from "../../protocol/messages.ts";
import { hasAgentCaughtUp, keepCaughtUpUnless, markCaughtUpIn } from "../store/agent-state.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

/**
 * Values of an agent's column `caughtUp`: "" never, the name of a gateway's run (store/owner.ts),
 * or one of these.
 */
export const catchUpStates = {
  behind: "behind", // the agent has entries that this database lacks
  given: "given up", // released before it caught up: the next pairing begins with a recovery
} as const;

/**
 * True if a verified statement says that its signer accepted this connection's handshake, whose
 * challenge was `nonce`.
 */
export function acceptsHandshake(
  { handshake, head }: Statement,
  nonce: string,
  stored: AgentLedgerHead,
): boolean {
  return handshake === nonce && head.seq >= stored.seq;
}

/**
 * Marks an agent as caught up, because its signer accepted the handshake of this run. So the
 * database has everything that was acknowledged before. An agent whose recovery is pending is not
 * marked, because the recovery itself will show this; an unpaired agent is not marked either.
 * Returns true if the agent has caught up now.
 */
export function keepCaughtUp(database: Database, agentId: string, run: string): boolean {
  return markCaughtUpIn(database, agentId, run);
}

/**
 * Ends the mark, because a statement of the agent does not fit this database. The mark of a release
 * before catching up stays until the agent has caught up.
 */
export function keepNotCaughtUp(database: Database, agentId: string, isBehind: boolean): void {
  keepCaughtUpUnless(database, agentId, isBehind ? catchUpStates.behind : "", catchUpStates.given);
}

/**
 * The reason why this database may lack a payment of the agent; null if the agent has caught up.
 * `run` is the run of the gateway that runs now, null without one.
 */
export function notCaughtUpReason(
  agent: Pick<AgentRow, "id" | "caughtUp">,
  run: string | null,
): string | null {
  if (agent.caughtUp === catchUpStates.given)
    return `agent ${agent.id} was released before it caught up, and has not caught up since`;
  if (agent.caughtUp === catchUpStates.behind)
    return `this database lacks what agent ${agent.id} knows (HUB_DATABASE_BEHIND)`;
  if (run === null) return "the gateway does not run, so its database was compared with no agent";
  return agent.caughtUp === run
    ? null
    : `agent ${agent.id} has not caught up since the gateway was started`;
}

/**
 * True if an agent of this merchant was released before it caught up and has not caught up since.
 */
export function hasAgentUnpairedBeforeCatchUp(database: Database, merchant: string): boolean {
  return hasAgentCaughtUp(database, merchant, catchUpStates.given);
}
