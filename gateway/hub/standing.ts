/**
 * Whether an agent's ledger stands where the gateway last acknowledged it. One that stands behind was restored from a backup: its
 * signer locks itself, but the entry that says so has a number this database counts as stored, or comes after one that has. Runs in
 * the caller's transaction.
 * Sources: docs/protocol.md section 6; docs/architecture.md section 2 (monotone).
 */
import type { Head, Statement } from "../../protocol/messages.ts";
import { recordAlarm } from "../store/alarm.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

const code = "AGENT_BEHIND";

export type Standing = "behind" | "level";

/**
 * What a beat's head says. It never falls behind by itself: an agent's courier names the newest head it has sent, or a newer one. A
 * newer one says nothing of the record that is held here: only a statement that goes on from it does.
 */
export function standingOfBeat(agent: AgentRow, head: Head | null): Standing | null {
  if (head === null || head.seq > agent.headSeq) return null;
  return head.seq === agent.headSeq && head.hash === agent.headHash ? "level" : "behind";
}

/**
 * What a signed statement says that was stored, was there already, or begins before what is held and ends behind it. An old statement
 * may be sent again, so being behind alone tells nothing; a lock in it does, because a signer that has locked itself says what fits
 * from the record on that is held here, and never goes on to a later head where it does not fit.
 */
export function standingOfStatement(storedSeq: number, { after, head, entries }: Statement): Standing | null {
  if (head.seq === storedSeq || (after >= storedSeq && head.seq > storedSeq)) return "level";
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
  // Unless the statement that shows it told of another lock.
  return database.run("UPDATE agents SET lockedCode = '' WHERE id = ? AND lockedCode = ?", agent.id, code).changes > 0
    ? "level"
    : null;
}
