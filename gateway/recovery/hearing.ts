/**
 * Whether an agent was heard by the gateway that runs now. A database put back from a backup cannot
 * tell by itself that it lacks payments; the agent's signer can, and refuses the greeting. So an
 * agent counts as heard in this run once its signer says, over the very connection that it was
 * greeted on, that it took the greeting: a courier can say nothing of the kind, nor repeat what was
 * said on another connection. Runs in the caller's transaction. Sources: docs/protocol.md sections
 * 4.1 and 6.2; docs/recovering.md section 5.
 */
import type { Head, Statement } from "../../protocol/messages.ts";
import { hasAgentHeard, keepHeardUnless, markHeardIn } from "../store/agent-state.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

/**
 * Column `heard` of an agent: "" never, the name of a run of the gateway (store/owner.ts), or one
 * of these.
 * @public
 */
export const hearing = {
  behind: "behind", // the agent knows more than this database
  given: "given up", // released all the same: whoever pairs next begins with a recovery
} as const;

/**
 * Whether a verified statement says that its signer took the greeting of the connection it came
 * over, whose challenge was `nonce`.
 * @public
 */
export function tellsGreeted({ greeted, head }: Statement, nonce: string, stored: Head): boolean {
  return greeted === nonce && head.seq >= stored.seq;
}

/**
 * The agent's signer took the greeting of this run, so the database lacks nothing that it was told
 * before. Not while its recovery is awaited, which would tell; and of one that was released nothing
 * is kept any more. Gives whether it is heard now.
 * @public
 */
export function keepHeard(database: Database, agentId: string, run: string): boolean {
  return markHeardIn(database, agentId, run);
}

/**
 * What an agent says does not fit this database: what was heard before is worth nothing. That it
 * was given up stays, until it is heard.
 * @public
 */
export function keepUnheard(database: Database, agentId: string, isBehind: boolean): void {
  keepHeardUnless(database, agentId, isBehind ? hearing.behind : "", hearing.given);
}

/**
 * Why nobody knows whether this database lacks a payment of the agent; null when it was heard.
 * `run` is that of the gateway that runs now, null when none does.
 * @public
 */
export function unheardReason(agent: Pick<AgentRow, "id" | "heard">, run: string | null): string | null {
  if (agent.heard === hearing.given) return `agent ${agent.id} was released unheard, and not heard since`;
  if (agent.heard === hearing.behind) return `this database lacks what agent ${agent.id} knows (HUB_DATABASE_BEHIND)`;
  if (run === null) return "the gateway does not run, so its database was compared with no agent";
  return agent.heard === run ? null : `agent ${agent.id} was not heard since the gateway was started`;
}

/**
 * Whether an agent of this merchant was released unheard and never heard since.
 * @public
 */
export function wasGivenUp(database: Database, merchant: string): boolean {
  return hasAgentHeard(database, merchant, hearing.given);
}
