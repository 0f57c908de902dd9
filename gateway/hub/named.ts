/**
 * Withdrawals and transactions that each acknowledgement names, as the database has them: those
 * that no block takes, those of them that may be ended, recalls, and transactions that nothing
 * here signed. Sources: docs/protocol.md sections 6.6, 6.7 and 6.9.
 */
import type { Ack } from "../../protocol/messages.ts";
import type { LinkedAgent } from "../store/agents.ts";
import { listForeign } from "../store/foreign.ts";
import { listRecalled } from "../store/recalls.ts";
import type { Database } from "../store/store.ts";
import { listUnknownCoins } from "../store/unknown-coins.ts";
import { isAnyNamed, listUnreachable } from "../store/unreachable.ts";

/**
 * The lists of an agent; one that would be empty is left out. A database restored from a backup may
 * lack signatures until the agent has caught up in this `run`, so nothing is foreign before.
 */
export function namedOf(
  database: Database,
  agent: Pick<LinkedAgent, "id" | "caughtUp" | "accounts" | "networks">,
  run: string,
): Pick<Ack, "unreachable" | "endable" | "recalled" | "foreign"> {
  const isAny = isAnyNamed(database);
  const unreachable = isAny ? listUnreachable(database, agent.id) : [];
  const endable = unreachable.length === 0 ? [] : listUnknownCoins(database, agent.id, true);
  const recalled = isAny ? listRecalled(database, agent.id) : [];
  const foreign = agent.caughtUp === run ? listForeign(database, agent) : [];
  return {
    ...(unreachable.length === 0 ? {} : { unreachable }),
    ...(endable.length === 0 ? {} : { endable }),
    ...(recalled.length === 0 ? {} : { recalled }),
    ...(foreign.length === 0 ? {} : { foreign }),
  };
}
