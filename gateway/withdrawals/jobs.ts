/**
 * The list of jobs for one agent: each job is an exact text whose hash is the `previous` of the
 * next. So a gateway restored from a backup cannot issue a different job at an old position
 * unnoticed. Must run inside the transaction that makes the withdrawal. Sources: docs/protocol.md
 * section 5.
 */

import { AgentError, Bug, invariant } from "../../base/fault.ts";
import { familyOf } from "../../chains/families.ts";
import { jobHashOf, zeroHash } from "../../protocol/identity.ts";
import type { JobMode } from "../../protocol/job-mode.ts";
import type { Job } from "../../protocol/messages.ts";
import { parseJob } from "../../protocol/payloads.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { moveLastJobFrom } from "../store/agent-state.ts";
import { type PayingAgent, readPayingAgent } from "../store/agents.ts";
import {
  deleteJob,
  insertJob,
  listUnnumberedWithdrawals,
  listUnsignedWithdrawalIds,
  markAnswered,
  nextWaitingJobNumber,
  unnumberJob,
} from "../store/jobs.ts";
import { readPlacingObstacles } from "../store/levels.ts";
import type { UnexplainedOutgoingRow } from "../store/outgoing-holds.ts";
import type { AgentRow, TransferRow } from "../store/rows.ts";
import { highestUsedSlot } from "../store/slots.ts";
import type { Database } from "../store/store.ts";
import { readDeposit, refundedUnits } from "../store/transactions.ts";
import { updateWithdrawal } from "../store/withdrawals.ts";
import { freeOrder, heldStage, holdOrder, listHoldingTransactions } from "./holds.ts";

/**
 * Makes the job of a withdrawal: at the next position if the agent has caught up with the running
 * gateway, the reader of its chain is level in this run, its currency is not held and no
 * unexplained payment looks like it; else waiting for a position. `agent` must have been read
 * inside the same transaction. Must not be called twice, because a second job for one withdrawal
 * breaks the table's constraint.
 */
export function makeJob(
  database: Database,
  agent: PayingAgent,
  row: TransferRow,
  run: string,
): void {
  const state = placingOf(database, agent, row, run);
  if (state.kind === "place") appendJob(database, agent, row);
  else queueJob(database, agent, row);
  if (state.kind === "hold") holdOrder(database, row, state.holders, row.changedAt);
}

type PlacementChoice =
  | { readonly kind: "place" }
  | { readonly kind: "wait" }
  | { readonly kind: "hold"; readonly holders: readonly UnexplainedOutgoingRow[] };

/** Decides whether a job may get a position in this run. */
function placingOf(
  database: Database,
  agent: PayingAgent,
  row: TransferRow,
  run: string,
): PlacementChoice {
  const wallet = { network: row.network, account: hotWalletAddressOn(agent, row.network) };
  if (run === "" || agent.caughtUp !== run) return { kind: "wait" };
  const state = readPlacingObstacles(database, wallet, row, run);
  if (state.isHeld === 1) return { kind: "wait" };
  if (state.isLevel === 0) return { kind: "wait" };
  const holders = state.hasUnexplained === 0 ? [] : listHoldingTransactions(database, agent, row);
  return holders.length === 0 ? { kind: "place" } : { kind: "hold", holders };
}

/** Adds a job without a position: its number is negative, and the oldest is nearest to zero. */
function queueJob(database: Database, { id }: PayingAgent, row: TransferRow): void {
  const sequence = nextWaitingJobNumber(database, id);
  insertJob(database, {
    agent: id,
    sequence,
    hash: "",
    text: "",
    transactionId: row.id,
    answeredAt: null,
  });
}

/** What became of the waiting jobs of an agent. */
export interface PlacementResult {
  readonly placed: number; // jobs that got a position
  readonly refused: readonly string[]; // withdrawals that got none and are Failed now
  readonly moved: readonly string[]; // withdrawals that are held now, or no longer
}

/**
 * Gives each waiting job its position, in the order of the requests, but for those of a wallet
 * whose chain is not read far enough in this run, for those in a currency that is held, and for
 * those that an unexplained payment holds.
 * Only for an agent that has caught up, because a position that a restored database forgot may
 * belong to another job. Harmless to call again.
 */
export function numberJobs(database: Database, agentId: string, nowMs: number): PlacementResult {
  const waiting = listUnnumberedWithdrawals(database, agentId);
  if (waiting.length === 0) return { placed: 0, refused: [], moved: [] };
  const refused = refuseRefunds(database, waiting, nowMs);
  const moved: string[] = [];
  let placed = 0;
  for (const row of waiting.filter(({ id }) => !refused.includes(id))) {
    const agent = readPayingAgent(database, agentId);
    invariant(agent !== undefined, "a job's agent is in the table");
    const state = placingOf(database, agent, row, agent.caughtUp);
    if (state.kind === "wait") continue;
    const isMoved =
      state.kind === "hold"
        ? holdOrder(database, row, state.holders, nowMs)
        : freeOrder(database, row, nowMs);
    if (isMoved) moved.push(row.id);
    if (state.kind === "hold") continue;
    deleteJob(database, row.id);
    appendJob(database, agent, row);
    placed += 1;
  }
  return { placed, refused, moved };
}

/** True if `numberJobs` would change something for an agent that has caught up in this run. */
export function hasDueJobs(database: Database, agent: AgentRow, run: string): boolean {
  return listUnnumberedWithdrawals(database, agent.id).some((row) => {
    const { kind } = placingOf(database, agent, row, run);
    return kind === "place" || (kind === "hold" && row.stage !== heldStage);
  });
}

/**
 * Ends the newest waiting refunds of deposits that are paid back beyond what they received. Such a
 * refund was taken before the agent told this restored database of an earlier one. No agent has
 * seen a waiting job, so nothing was signed for it.
 */
function refuseRefunds(
  database: Database,
  waiting: readonly TransferRow[],
  nowMs: number,
): readonly string[] {
  const refunds = waiting.flatMap((row) =>
    row.operation === "withdraw" && row.refundOf !== "" ? [row] : [],
  );
  return refunds.reverse().flatMap(({ id, refundOf }) => {
    const deposit = readDeposit(database, refundOf);
    if (deposit === undefined || refundedUnits(database, refundOf) <= BigInt(deposit.receivedUnits))
      return [];
    updateWithdrawal(
      database,
      id,
      { status: 2, stage: "refused", code: "REFUND_ABOVE_RECEIVED" },
      nowMs,
    );
    markAnswered(database, id, nowMs);
    return [id];
  });
}

/**
 * Removes the position of each open, unsigned job, because the recovered ledger does not have these
 * jobs. They come again as new jobs.
 */
export function unnumberJobs(database: Database, agentId: string): void {
  for (const transactionId of listUnsignedWithdrawalIds(database, agentId))
    unnumberJob(database, agentId, transactionId);
}

/**
 * Appends the job for a withdrawal's row to its agent's list, as `makeJob` does for an agent that
 * has caught up.
 */
export function appendJob(
  database: Database,
  agent: PayingAgent,
  transaction: TransferRow,
): { readonly sequence: number } {
  invariant(
    transaction.merchant === agent.merchant,
    "a withdrawal never goes to another merchant's agent",
  );
  const sequence = agent.jobSequence + 1;
  const job: Job = {
    agent: agent.id,
    wallet: agent.wallet,
    network: transaction.network,
    ledgerEpoch: agent.ledgerEpoch,
    sequence,
    previous: agent.jobSequence === 0 ? zeroHash : agent.jobHash,
    // The time of the shop's request, however long the job waited for its agent. A job from before
    // the end of a recovery may have been paid by a transaction that both sides forgot. The agent
    // reports an expired job.
    issuedAt: Math.min(transaction.createdAt, transaction.expiresAt - 1),
    expiresAt: transaction.expiresAt,
    mode: modeOf(transaction),
    transactionId: transaction.id,
    orderId: transaction.orderId,
    currency: transaction.currency,
    amount: transaction.amount,
    address: transaction.operation === "withdraw" ? (transaction.receiver ?? "") : "",
    tag: transaction.tag,
    ...linksOf(transaction),
    ...placeOf(database, transaction),
  };
  const text = JSON.stringify(job);
  assertReadable(text);
  const hash = jobHashOf(text);
  insertJob(database, {
    agent: agent.id,
    sequence,
    hash,
    text,
    transactionId: transaction.id,
    answeredAt: null,
  });
  const isNext = moveLastJobFrom(database, agent.id, agent.jobSequence, sequence, hash);
  invariant(isNext, "the agent's row was read outside this transaction");
  return { sequence };
}

function modeOf(row: TransferRow): JobMode {
  return row.operation === "withdraw" ? row.mode : row.operation;
}

/** The records that a withdrawal's job names: the one that it renews, and the one it pays back. */
function linksOf(row: TransferRow): Pick<Job, "renews" | "refundOf"> {
  if (row.operation !== "withdraw") return {};
  const { renews, refundOf } = row;
  return { ...(renews === "" ? {} : { renews }), ...(refundOf === "" ? {} : { refundOf }) };
}

/**
 * The deposit address of a sweep or a top-up; the agent gets no other destination. The next slot is
 * the nodes' count when the sweep was ordered (gateway/sweeps/sweeps.ts). A row without a slot is
 * from an earlier attempt or was resent, and then the slot after those known here is used.
 */
function placeOf(
  database: Database,
  row: TransferRow,
): Pick<Job, "depositIndex" | "depositAddress" | "depositNext"> {
  if (row.operation === "withdraw") return {};
  const { addressIndex: depositIndex } = row;
  if (row.operation === "topup") return { depositIndex, depositAddress: row.receiver };
  const { payer: depositAddress, network } = row;
  const { slots } = familyOf(network);
  if (!slots.isCounted) return { depositIndex, depositAddress };
  const used = highestUsedSlot(database, network, depositAddress);
  const known = used === undefined ? slots.least : slots.next(used);
  return { depositIndex, depositAddress, depositNext: row.nextSlot || known };
}

/**
 * Refuses a job that the agent's own parser would refuse: it would never be answered, and every
 * later job would wait behind it.
 */
function assertReadable(text: string): void {
  try {
    parseJob(text);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    throw new Bug(`a job that no agent can read: ${error.code} ${error.message}`);
  }
}
