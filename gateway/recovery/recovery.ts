/**
 * An epoch of an agent that begins with a recovery. The gateway's operator begins the recovery, the
 * gateway waits, and the first entry of the agent's recovered ledger completes the recovery. Only
 * here an agent's stored head goes back; the old head stays in the tables. Runs in the caller's
 * transaction. Sources: docs/protocol.md section 8; docs/architecture.md section 4.
 */
import { randomBytes } from "node:crypto";
import type { AgentLedgerHead, RecoveredEntry } from "../../protocol/messages.ts";
import { recoveryMarkBytes } from "../../protocol/recovery.ts";
import { beginLedgerEpoch, changeLock } from "../store/agent-state.ts";
import { recordAct } from "../store/audit.ts";
import { insertRecovery, markRecoveryTaken, readRecovery } from "../store/recoveries.ts";
import type { AgentRow, RecoveryRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { unnumberJobs } from "../withdrawals/jobs.ts";
import { catchUpStates } from "./catch-up.ts";
import { jobHashAt } from "./offer.ts";

const code = "RECOVERY_OFFERED";

/** The recovery that the agent's present epoch began with. */
export function recoveryOf(
  database: Database,
  agent: Pick<AgentRow, "id" | "ledgerEpoch">,
): RecoveryRow | undefined {
  return readRecovery(database, agent.id, agent.ledgerEpoch);
}

/** True if the agent's present epoch began with a recovery and has no statement yet. */
export function awaitsRecovery(
  database: Database,
  agent: Pick<AgentRow, "id" | "ledgerEpoch">,
): boolean {
  return recoveryOf(database, agent)?.takenAt === null;
}

/**
 * True if an order of the pending recovery began a ledger. A database restored from a backup may
 * reach the same epoch twice, and an order of the first time, or a pairing, does not count for the
 * second.
 */
export function isOrderOfPendingRecovery(
  database: Database,
  agent: Pick<AgentRow, "id" | "ledgerEpoch">,
  order: string,
): boolean {
  const row = recoveryOf(database, agent);
  return row !== undefined && order.startsWith(row.mark);
}

/** The reason why a ledger from another order, or without an order, is refused. */
export const notOfRecoveryReason =
  "it was recovered by an order that this gateway did not give: order a recovery again";

/**
 * The epoch that the agent's pairing granted. Recoveries that began since then and are not
 * completed have raised it.
 */
export function grantedEpoch(
  database: Database,
  agent: Pick<AgentRow, "id" | "ledgerEpoch">,
): number {
  let { ledgerEpoch } = agent;
  while (awaitsRecovery(database, { id: agent.id, ledgerEpoch })) ledgerEpoch -= 1;
  return ledgerEpoch;
}

/**
 * Raises the epoch above all others, so that a copy of the agent with the old epoch is refused from
 * the commit on. Clears the head, because nothing of the new epoch is acknowledged yet. Also lifts
 * a lock by a contradiction.
 */
export function beginRecovery(
  database: Database,
  agent: AgentRow,
  above: number,
  nowMs: number,
  actor = "operator",
): { readonly ledgerEpoch: number } {
  const ledgerEpoch = Math.max(agent.ledgerEpoch, above) + 1;
  const before = recoveryOf(database, agent);
  // An earlier recovery that was not completed is replaced; both have the same old head.
  const isAwaited = before?.takenAt === null;
  const heldSeq = isAwaited ? before.heldSeq : agent.headSeq;
  const heldHash = isAwaited ? before.heldHash : agent.headHash;
  const mark = randomBytes(recoveryMarkBytes).toString("hex");
  insertRecovery(database, { agent: agent.id, ledgerEpoch, at: nowMs, heldSeq, heldHash, mark });
  // No job gets a position until the recovered ledger reports.
  const caughtUp = agent.caughtUp === catchUpStates.given ? catchUpStates.given : "";
  beginLedgerEpoch(database, agent.id, { ledgerEpoch, lockedCode: code, caughtUp });
  const detail = `epoch ${ledgerEpoch} after ${agent.ledgerEpoch}; head ${heldSeq} ${heldHash}; was ${agent.lockedCode || "not locked"}`;
  recordAct(database, { at: nowMs, actor, act: "agent recovery begun", subject: agent.id, detail });
  return { ledgerEpoch };
}

/**
 * Accepts the agent's recovered ledger: its head replaces the old one. Open withdrawals without a
 * signature come again as new jobs, because the recovered ledger does not have them. Only an order
 * of this database counts, because a database restored since then lacks the order's content.
 * @returns the reason why it is refused, "" if it was accepted
 */
export function acceptRecoveredLedger(
  database: Database,
  agent: AgentRow,
  entry: RecoveredEntry,
  head: AgentLedgerHead,
  nowMs: number,
): string {
  const row = recoveryOf(database, agent);
  const isHeld =
    (entry.held?.seq ?? 0) === row?.heldSeq && (entry.held?.hash ?? "") === row.heldHash;
  const isOwn = isOrderOfPendingRecovery(database, agent, entry.order);
  if (!isOwn || !isHeld || jobHashAt(database, agent, entry.sequence) !== entry.jobHash)
    return notOfRecoveryReason;
  markRecoveryTaken(database, agent.id, agent.ledgerEpoch, nowMs);
  changeLock(database, agent.id, code, "");
  unnumberJobs(database, agent.id);
  const detail =
    `epoch ${agent.ledgerEpoch}, order ${entry.order}; head ${row?.heldSeq ?? 0} ${row?.heldHash ?? ""} ` +
    `gave way to ${head.seq} ${head.hash}`;
  recordAct(database, {
    at: nowMs,
    actor: `agent ${agent.id}`,
    act: "agent recovered",
    subject: agent.id,
    detail,
  });
  return "";
}
