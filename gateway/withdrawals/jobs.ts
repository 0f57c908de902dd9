/**
 * The chain of jobs for one agent: each job is an exact text whose hash is the `previous` of the next, so that a gateway restored
 * from a backup cannot issue another job in an old place unnoticed. Must run inside the transaction that makes the withdrawal.
 * Sources: docs/protocol.md section 5.
 */
import { AgentError, Bug, invariant } from "../../protocol/fault.ts";
import { jobHashOf, zeroHash } from "../../protocol/identity.ts";
import type { Job } from "../../protocol/messages.ts";
import { parseJob } from "../../protocol/payloads.ts";
import type { AgentRow, TransactionRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

/**
 * Appends the job for a withdrawal's row to its agent's chain. `agent` must have been read inside the same transaction.
 * Not for calling twice: a second job for one withdrawal breaks the table's constraint.
 * @public
 */
export function appendJob(
  database: Database,
  agent: AgentRow,
  transaction: TransactionRow,
  nowMs: number,
): { readonly sequence: number } {
  invariant(transaction.operation === "withdraw" && transaction.mode !== "", "only a withdrawal makes a job");
  invariant(transaction.merchant === agent.merchant, "a withdrawal never goes to another merchant's agent");
  const sequence = agent.jobSequence + 1;
  const job: Job = {
    agent: agent.id,
    wallet: agent.wallet,
    network: transaction.network,
    epoch: agent.epoch,
    sequence,
    previous: agent.jobSequence === 0 ? zeroHash : agent.jobHash,
    issuedAt: nowMs,
    expiresAt: transaction.expiresAt,
    mode: transaction.mode,
    transactionId: transaction.id,
    orderId: transaction.orderId,
    currency: transaction.currency,
    amount: transaction.amount,
    address: transaction.receiverAddress,
    tag: transaction.tag,
  };
  const text = JSON.stringify(job);
  assertReadable(text);
  const hash = jobHashOf(text);
  database.run(
    "INSERT INTO jobs (agent, sequence, hash, text, transactionId) VALUES (?, ?, ?, ?, ?)",
    agent.id,
    sequence,
    hash,
    text,
    transaction.id,
  );
  const { changes } = database.run(
    "UPDATE agents SET jobSequence = ?, jobHash = ? WHERE id = ? AND jobSequence = ?",
    sequence,
    hash,
    agent.id,
    agent.jobSequence,
  );
  invariant(changes === 1, "the agent's row was read outside this transaction");
  return { sequence };
}

/** What the agent's own parser refuses would never be answered, and every later job waits behind it. */
function assertReadable(text: string): void {
  try {
    parseJob(text);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    throw new Bug(`a job that no agent can read: ${error.code} ${error.message}`);
  }
}
