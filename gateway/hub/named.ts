/**
 * Withdrawals that each acknowledgement names, as the database has them: sweeps that the chain
 * cannot reach, and recalls. Sources: docs/protocol.md sections 6.6 and 6.7.
 */
import type { Ack } from "../../protocol/messages.ts";
import { listRecalled } from "../store/recalls.ts";
import type { Database } from "../store/store.ts";
import { listUnreachable } from "../store/unreachable.ts";

/** The lists of an agent; one that would be empty is left out. */
export function namedOf(database: Database, agentId: string): Pick<Ack, "unreachable" | "recalled"> {
  const unreachable = listUnreachable(database, agentId);
  const recalled = listRecalled(database, agentId);
  return { ...(unreachable.length === 0 ? {} : { unreachable }), ...(recalled.length === 0 ? {} : { recalled }) };
}
