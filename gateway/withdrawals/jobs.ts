/**
 * The chain of jobs for one agent: each job is an exact text whose hash is the `previous` of the
 * next, so that a gateway restored from a backup cannot issue another job in an old place
 * unnoticed. Must run inside the transaction that makes the withdrawal. Sources: docs/protocol.md
 * section 5.
 */
import { familyOf } from "../../chains/families.ts";
import { AgentError, Bug, invariant } from "../../protocol/fault.ts";
import { jobHashOf, zeroHash } from "../../protocol/identity.ts";
import { isInternal, type JobMode } from "../../protocol/job-mode.ts";
import type { Job } from "../../protocol/messages.ts";
import { parseJob } from "../../protocol/payloads.ts";
import { advanceJobChain } from "../store/agent-state.ts";
import { readAgent } from "../store/agents.ts";
import { deleteJob, insertJob, listUnsigned, listWaiting, unplaceJob, waitingPlace } from "../store/jobs.ts";
import type { AgentRow, TransactionRow } from "../store/rows.ts";
import { highestUsed } from "../store/slots.ts";
import type { Database } from "../store/store.ts";
import { readNext, readPlace } from "../store/sweeps.ts";

/**
 * Makes the job of a withdrawal: at the next place of the chain when the agent was heard by the
 * gateway that runs, else waiting for one. `agent` must have been read inside the same transaction.
 * Not for calling twice: a second job for one withdrawal breaks the table's constraint.
 * @public
 */
export function makeJob(database: Database, agent: AgentRow, row: TransactionRow, run: string): void {
  if (agent.heard === run) appendJob(database, agent, row);
  else queueJob(database, agent, row);
}

/** A job without a place: negative numbers, the one that waits longest nearest to zero. */
function queueJob(database: Database, { id }: AgentRow, row: TransactionRow): void {
  const sequence = waitingPlace(database, id);
  insertJob(database, { agent: id, sequence, hash: "", text: "", transactionId: row.id, answeredAt: null });
}

/**
 * Gives each job that waits its place, in the order in which they were asked for. Only for an agent
 * that was heard: a place that a restored database forgot may be another job's.
 * @returns how many
 * @public
 */
export function placeJobs(database: Database, agentId: string): number {
  const waiting = listWaiting(database, agentId);
  for (const row of waiting) {
    const agent = readAgent(database, agentId);
    invariant(agent !== undefined, "a job's agent is in the table");
    deleteJob(database, row.id);
    appendJob(database, agent, row);
  }
  return waiting.length;
}

/**
 * Takes the place of each job that is open and unsigned away: a ledger was opened without them, and
 * they come again as new ones.
 * @public
 */
export function unplaceJobs(database: Database, agentId: string): void {
  for (const transactionId of listUnsigned(database, agentId)) unplaceJob(database, agentId, transactionId);
}

/**
 * Appends the job for a withdrawal's row to its agent's chain, as `makeJob` does for one that was
 * heard.
 * @public
 */
export function appendJob(database: Database, agent: AgentRow, transaction: TransactionRow): { readonly sequence: number } {
  invariant(transaction.merchant === agent.merchant, "a withdrawal never goes to another merchant's agent");
  const sequence = agent.jobSequence + 1;
  const job: Job = {
    agent: agent.id,
    wallet: agent.wallet,
    network: transaction.network,
    epoch: agent.epoch,
    sequence,
    previous: agent.jobSequence === 0 ? zeroHash : agent.jobHash,
    // When the shop asked, however long the job waited for its agent: one from before a recovery's
    // end may have been paid by what both sides forgot. Run out, it is for the agent to call so.
    issuedAt: Math.min(transaction.createdAt, transaction.expiresAt - 1),
    expiresAt: transaction.expiresAt,
    mode: modeOf(transaction),
    transactionId: transaction.id,
    orderId: transaction.orderId,
    currency: transaction.currency,
    amount: transaction.amount,
    address: isInternal(modeOf(transaction)) ? "" : transaction.receiverAddress,
    tag: transaction.tag,
    ...placeOf(database, transaction),
  };
  const text = JSON.stringify(job);
  assertReadable(text);
  const hash = jobHashOf(text);
  insertJob(database, { agent: agent.id, sequence, hash, text, transactionId: transaction.id, answeredAt: null });
  const isNext = advanceJobChain(database, agent.id, agent.jobSequence, sequence, hash);
  invariant(isNext, "the agent's row was read outside this transaction");
  return { sequence };
}

function modeOf({ operation, mode }: TransactionRow): JobMode {
  if (operation === "sweep" || operation === "topup") return operation;
  invariant(operation === "withdraw" && mode !== "", "only a withdrawal makes a job");
  return mode;
}

/**
 * The address for deposits of a sweep or a top-up: where either goes is not said to the agent. Its
 * next slot is what the nodes counted when the sweep was ordered (gateway/sweeps/slots.ts). A row
 * without one is of an earlier version or told again: then it is the slot after those known here.
 */
function placeOf(database: Database, row: TransactionRow): Pick<Job, "depositIndex" | "depositAddress" | "depositNext"> {
  if (!isInternal(modeOf(row))) return {};
  const depositIndex = readPlace(row);
  if (row.operation === "topup") return { depositIndex, depositAddress: row.receiverAddress };
  const { depositAddress, network } = row;
  const { slots } = familyOf(network);
  if (!slots.isCounted) return { depositIndex, depositAddress };
  const used = highestUsed(database, network, depositAddress);
  const known = used === undefined ? slots.first : slots.next(used);
  return { depositIndex, depositAddress, depositNext: readNext(row) || known };
}

/**
 * What the agent's own parser refuses would never be answered, and every later job waits behind it.
 */
function assertReadable(text: string): void {
  try {
    parseJob(text);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    throw new Bug(`a job that no agent can read: ${error.code} ${error.message}`);
  }
}
