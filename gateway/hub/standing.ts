/**
 * Whether an agent's ledger stands where the gateway last acknowledged it. One that stands behind was restored from a backup: its
 * signer locks itself, but the entry that says so has a number this database counts as stored. Runs in the caller's transaction.
 * Sources: docs/protocol.md section 6; docs/architecture.md section 2 (monotone).
 */
import type { Entry, Head } from "../../protocol/messages.ts";
import { recordAlarm } from "../store/alarm.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

const code = "AGENT_BEHIND";

export type Standing = "behind" | "level";

/**
 * What a beat's head says. It never falls behind by itself: an agent's courier names the newest head it has sent, or a newer one.
 */
export function standingOfBeat(agent: AgentRow, head: Head | null): Standing | null {
  return head === null ? null : head.seq < agent.headSeq ? "behind" : "level";
}

/**
 * What a signed statement's head says. An old statement may be sent again, so being behind alone tells nothing; a lock among
 * entries that count as stored does, because a signer that has locked itself never goes on to a later head.
 */
export function standingOfStatement(storedSeq: number, head: Head, entries: readonly Entry[]): Standing | null {
  if (head.seq >= storedSeq) return "level";
  return entries.some((entry) => entry.kind === "alarm" && entry.locked) ? "behind" : null;
}

/**
 * Keeps it where it is news; another lock is never replaced.
 * @returns what changed, null when nothing did.
 */
export function keepStanding(database: Database, agent: AgentRow, standing: Standing | null, nowMs: number): Standing | null {
  const isMarked = agent.lockedCode === code;
  if (standing === "behind" && agent.lockedCode === "") {
    database.run("UPDATE agents SET lockedCode = ? WHERE id = ?", code, agent.id);
    const detail = `its ledger stands behind record ${agent.headSeq}, which was acknowledged`;
    recordAlarm(database, { at: nowMs, actor: "hub", code, subject: agent.id, detail }, "once");
    return "behind";
  }
  if (standing !== "level" || !isMarked) return null;
  database.run("UPDATE agents SET lockedCode = '' WHERE id = ?", agent.id);
  return "level";
}
