/**
 * Withdrawals and transactions that each acknowledgement names, as the database has them: sweeps
 * that the chain cannot reach, recalls, and transactions that nothing here signed. Sources:
 * docs/protocol.md sections 6.6, 6.7 and 6.9.
 */
import type { Ack } from "../../protocol/messages.ts";
import { listForeign } from "../store/foreign.ts";
import { listRecalled } from "../store/recalls.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { listUnreachable } from "../store/unreachable.ts";

/**
 * The lists of an agent; one that would be empty is left out. A database restored from a backup may
 * lack signatures until the agent has caught up in this `run`, so nothing is foreign before.
 */
export function namedOf(database: Database, agent: AgentRow, run: string): Pick<Ack, "unreachable" | "recalled" | "foreign"> {
  const unreachable = listUnreachable(database, agent.id);
  const recalled = listRecalled(database, agent.id);
  const foreign = agent.caughtUp === run ? listForeign(database, agent) : [];
  return {
    ...(unreachable.length === 0 ? {} : { unreachable }),
    ...(recalled.length === 0 ? {} : { recalled }),
    ...(foreign.length === 0 ? {} : { foreign }),
  };
}
