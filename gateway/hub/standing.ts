/**
 * Decides whether an agent's ledger is level with the newest head that the gateway acknowledged. A
 * ledger that was restored from a backup is behind. The agent's signer then locks itself, but the
 * entry of the lock has a number that this database already counts as stored, or a later number. A
 * courier can set the mark, and can hold back the messages that set it. Only a statement of the
 * signer removes the mark. Runs in the caller's transaction. Sources: docs/protocol.md sections 4.2
 * and 6.2; docs/architecture.md section 2 (monotone).
 */
import type { AgentLedgerHead, Statement } from "../../protocol/messages.ts";
import { changeLock } from "../store/agent-state.ts";
import { recordAlarm } from "../store/alarm.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

const code = "AGENT_BEHIND";

export type LedgerStanding = "behind" | "level";

/** The newest record that this database holds of an agent's ledger; null before the first. */
export function ledgerHeadOfAgent(
  agent: Pick<AgentRow, "headSeq" | "headHash">,
): AgentLedgerHead | null {
  return agent.headSeq === 0 ? null : { seq: agent.headSeq, hash: agent.headHash };
}

/**
 * The state that a heartbeat's head shows. An honest courier's heartbeat never falls behind,
 * because the courier names at least the newest head that was sent.
 */
export function standingOfHeartbeat(
  agent: Pick<AgentRow, "headSeq" | "headHash">,
  head: AgentLedgerHead | null,
): LedgerStanding | null {
  if (head === null || head.seq > agent.headSeq) return null;
  return head.seq === agent.headSeq && head.hash === agent.headHash ? null : "behind";
}

/**
 * The state that a signed statement shows, which was stored now or earlier. An old statement may be
 * sent again, so a lower head alone proves nothing; a lock in it does. `isHandshakeDone`: the
 * signer accepted this connection's welcome, and so the ledger head in the welcome.
 */
export function standingOfStatement(
  storedSeq: number,
  { head, entries }: Statement,
  isHandshakeDone: boolean,
): LedgerStanding | null {
  if (isHandshakeDone || head.seq > storedSeq) return "level";
  return head.seq < storedSeq && entries.some((entry) => entry.kind === "alarm" && entry.locked)
    ? "behind"
    : null;
}

/**
 * The state shown by a statement that begins before the stored head and ends after it. A ledger
 * with the record that this connection's welcome named (`toldSeq`) would continue from there.
 */
export function standingOfOverlap(
  toldSeq: number,
  { after, head }: Statement,
): LedgerStanding | null {
  return after < toldSeq && head.seq > toldSeq ? "behind" : null;
}

/**
 * Keeps a change of the state. Never replaces another lock, or a lock that was set after `agent`
 * was read.
 * @returns the change, or null if there was none
 */
export function keepStanding(
  database: Database,
  agent: Pick<AgentRow, "id" | "headSeq" | "lockedCode">,
  standing: LedgerStanding | null,
  nowMs: number,
): LedgerStanding | null {
  const [from, to] = standing === "behind" ? ["", code] : [code, ""];
  if (standing === null || agent.lockedCode !== from) return null;
  if (!changeLock(database, agent.id, from, to)) return null;
  if (standing === "level") return standing;
  const detail = `its ledger does not hold record ${agent.headSeq}, which was acknowledged`;
  recordAlarm(database, { at: nowMs, actor: "hub", code, subject: agent.id, detail }, "once");
  return standing;
}
