/**
 * An agent's epoch that begins with a recovery: begun by the gateway's operator, awaited, and taken
 * with the entry that opens the agent's new ledger. Only here the stored head of an agent goes
 * back; what it was stays in the tables. Runs in the caller's transaction. Sources:
 * docs/protocol.md section 8; docs/architecture.md section 4.
 */
import { randomBytes } from "node:crypto";
import type { Head, OpenedEntry } from "../../protocol/messages.ts";
import { recoveryMarkBytes } from "../../protocol/recovery.ts";
import { beginEpoch, changeLock } from "../store/agent-state.ts";
import { recordAct } from "../store/audit.ts";
import { insertRecovery, markRecoveryTaken, readRecovery } from "../store/recoveries.ts";
import type { AgentRow, RecoveryRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { unplaceJobs } from "../withdrawals/jobs.ts";
import { hearing } from "./hearing.ts";
import { jobHashAt } from "./order.ts";

const code = "RECOVERY_OFFERED";

/**
 * The recovery that the agent's present epoch began with.
 * @public
 */
export function recoveryOf(database: Database, agent: Pick<AgentRow, "id" | "epoch">): RecoveryRow | undefined {
  return readRecovery(database, agent.id, agent.epoch);
}

/**
 * Whether nothing of the agent's present epoch was heard yet, and it began with a recovery.
 * @public
 */
export function awaitsRecovery(database: Database, agent: Pick<AgentRow, "id" | "epoch">): boolean {
  return recoveryOf(database, agent)?.takenAt === null;
}

/**
 * Whether an order of the awaited recovery opened a ledger. A database that was put back may count
 * to the same epoch twice: an order of the first time, or a pairing, says nothing of the second.
 * @public
 */
export function isOfRecovery(database: Database, agent: Pick<AgentRow, "id" | "epoch">, order: string): boolean {
  const row = recoveryOf(database, agent);
  return row !== undefined && order.startsWith(row.mark);
}

/**
 * Why a ledger that another order opened, or none, is not taken.
 * @public
 */
export const notOfRecovery = "it was recovered by an order that this gateway did not give: order a recovery again";

/**
 * The epoch that the agent's pairing granted: recoveries that were begun since and not taken have
 * raised it.
 * @public
 */
export function grantedEpoch(database: Database, agent: Pick<AgentRow, "id" | "epoch">): number {
  let { epoch } = agent;
  while (awaitsRecovery(database, { id: agent.id, epoch })) epoch -= 1;
  return epoch;
}

/**
 * Raises the epoch above everything, so that whoever still runs with the old one is refused from
 * the commit on, and forgets the head: in the new epoch nothing is acknowledged yet. A
 * contradiction that locked the agent is lifted by it.
 * @public
 */
export function beginRecovery(
  database: Database,
  agent: AgentRow,
  above: number,
  nowMs: number,
  actor = "operator",
): { readonly epoch: number } {
  const epoch = Math.max(agent.epoch, above) + 1;
  const before = recoveryOf(database, agent);
  // A recovery that nobody carried out gives way to this one; the head it stood for is the same.
  const isAwaited = before?.takenAt === null;
  const heldSeq = isAwaited ? before.heldSeq : agent.headSeq;
  const heldHash = isAwaited ? before.heldHash : agent.headHash;
  const mark = randomBytes(recoveryMarkBytes).toString("hex");
  insertRecovery(database, { agent: agent.id, epoch, at: nowMs, heldSeq, heldHash, mark });
  // Until its new ledger is heard, no job gets a place.
  const heard = agent.heard === hearing.given ? hearing.given : "";
  beginEpoch(database, agent.id, { epoch, lockedCode: code, heard });
  const detail = `epoch ${epoch} after ${agent.epoch}; head ${heldSeq} ${heldHash}; was ${agent.lockedCode || "not locked"}`;
  recordAct(database, { at: nowMs, actor, act: "agent recovery begun", subject: agent.id, detail });
  return { epoch };
}

/**
 * The agent's new ledger is here: its head takes the place of the old one. Whatever is open and
 * unsigned comes again as a new job, since the ledger was opened without it. Only by an order of
 * this very database: one that was put back since lacks what the order said it held.
 * @returns why it is not taken, "" when it was
 * @public
 */
export function takeRecovery(database: Database, agent: AgentRow, entry: OpenedEntry, head: Head, nowMs: number): string {
  const row = recoveryOf(database, agent);
  const isHeld = (entry.held?.seq ?? 0) === row?.heldSeq && (entry.held?.hash ?? "") === row.heldHash;
  const isOwn = isOfRecovery(database, agent, entry.order);
  if (!isOwn || !isHeld || jobHashAt(database, agent, entry.sequence) !== entry.jobHash) return notOfRecovery;
  markRecoveryTaken(database, agent.id, agent.epoch, nowMs);
  changeLock(database, agent.id, code, "");
  unplaceJobs(database, agent.id);
  const detail =
    `epoch ${agent.epoch}, order ${entry.order}; head ${row?.heldSeq ?? 0} ${row?.heldHash ?? ""} ` +
    `gave way to ${head.seq} ${head.hash}`;
  recordAct(database, { at: nowMs, actor: `agent ${agent.id}`, act: "agent recovered", subject: agent.id, detail });
  return "";
}
