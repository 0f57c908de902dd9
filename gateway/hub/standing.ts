/**
 * Whether an agent's ledger stands where the gateway last acknowledged it. One that was restored
 * from a backup does not: its signer locks itself, but the entry that says so has a number this
 * database counts as stored, or comes after one that has. A courier can raise the mark, and keep
 * what raises it to itself; what takes it away is the signer's word alone. Runs in the caller's
 * transaction. Sources: docs/protocol.md sections 4.2 and 6.2; docs/architecture.md section 2
 * (monotone).
 */
import type { Head, Statement } from "../../protocol/messages.ts";
import { changeLock } from "../store/agent-state.ts";
import { recordAlarm } from "../store/alarm.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

const code = "AGENT_BEHIND";

export type Standing = "behind" | "level";

/** The newest record that is held of an agent's ledger, null before the first. */
export function headOf(agent: Pick<AgentRow, "headSeq" | "headHash">): Head | null {
  return agent.headSeq === 0 ? null : { seq: agent.headSeq, hash: agent.headHash };
}

/**
 * What a beat's head says. It never falls behind by itself: an agent's courier names the newest
 * head it has sent, or a newer one.
 */
export function standingOfBeat(agent: AgentRow, head: Head | null): Standing | null {
  if (head === null || head.seq > agent.headSeq) return null;
  return head.seq === agent.headSeq && head.hash === agent.headHash ? null : "behind";
}

/**
 * What a signed statement says that was stored, or was there already. An old one may be sent again,
 * so being behind alone tells nothing; a lock in it does. `isGreeted`: its signer took the welcome
 * of this connection, and so what that says of its ledger.
 */
export function standingOfStatement(storedSeq: number, { head, entries }: Statement, isGreeted: boolean): Standing | null {
  if (isGreeted || head.seq > storedSeq) return "level";
  return head.seq < storedSeq && entries.some((entry) => entry.kind === "alarm" && entry.locked) ? "behind" : null;
}

/**
 * What a statement says that begins before what is held and ends behind it. Whose ledger holds the
 * record that the welcome of this connection named (`toldSeq`) goes on from there.
 */
export function standingOfOverlap(toldSeq: number, { after, head }: Statement): Standing | null {
  return after < toldSeq && head.seq > toldSeq ? "behind" : null;
}

/**
 * Keeps it where it is news; another lock is never replaced, nor one that came since `agent` was
 * read.
 * @returns what changed, null when nothing did.
 */
export function keepStanding(database: Database, agent: AgentRow, standing: Standing | null, nowMs: number): Standing | null {
  const [from, to] = standing === "behind" ? ["", code] : [code, ""];
  if (standing === null || agent.lockedCode !== from) return null;
  if (!changeLock(database, agent.id, from, to)) return null;
  if (standing === "level") return standing;
  const detail = `its ledger does not hold record ${agent.headSeq}, which was acknowledged`;
  recordAlarm(database, { at: nowMs, actor: "hub", code, subject: agent.id, detail }, "once");
  return standing;
}
