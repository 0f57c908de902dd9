/**
 * Takes a lost job of a restored database back from its agent. The gateway relies on its own
 * signature on the job's text and not on the agent. The job gets its old position in the list, with
 * the withdrawal as ordered. Runs in the caller's transaction. Source: docs/protocol.md section 8.
 */
import { familyOf } from "../../chains/families.ts";
import { parseAmount } from "../../protocol/amount.ts";
import { jobHashOf, zeroHash } from "../../protocol/identity.ts";
import { isInternal, operationOf } from "../../protocol/job-mode.ts";
import type { AskedEntry, Job } from "../../protocol/messages.ts";
import { parseJob } from "../../protocol/payloads.ts";
import { pairedCurrencies } from "../balance/funds.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { moveLastJob, readLastJob } from "../store/agent-state.ts";
import { recordAlarm } from "../store/alarm.ts";
import {
  insertJob,
  jobHashAtSeq,
  jobOf,
  markAnswered,
  replaceJob,
  waitingJobSeq,
} from "../store/jobs.ts";
import type { AgentRow, TransactionRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { writePlace } from "../store/sweeps.ts";
import { readTransaction } from "../store/transactions.ts";
import { insertOutgoing, replaceWithdrawal } from "../store/withdrawals.ts";
import { contentHashOfJob } from "../withdrawals/withdrawals.ts";

/** True if this gateway signed the text of a job. */
export type IsOwnJob = (text: string, signature: string) => boolean;

/**
 * Restores the missing parts: the withdrawal, its job, and the position in the list. Existing parts
 * are not changed.
 * @returns the reason why the entry is impossible; "" if all parts exist now
 */
export function restoreLostJob(
  database: Database,
  agent: AgentRow,
  entry: AskedEntry,
  isOwn: IsOwnJob,
  nowMs: number,
): string {
  const { sequence, jobHash } = entry;
  const place = sequence === 0 ? "outside" : placeOf(database, agent, entry);
  if (place === "other") return `job ${sequence} is another in the agent's ledger`;
  if (place === "known") return "";
  if (entry.job !== "") {
    const problem = takeBack(database, agent, entry, isOwn, nowMs);
    if (problem !== "") return problem;
  }
  if (place === "next") {
    moveLastJob(database, agent.id, sequence, jobHash);
  }
  return "";
}

/** Finds where a job of the agent's ledger belongs in the list that this database has. */
function placeOf(
  database: Database,
  { id }: AgentRow,
  { sequence, jobHash, job }: AskedEntry,
): "known" | "next" | "other" {
  const chain = readLastJob(database, id);
  const newest = chain?.jobSequence ?? 0;
  if (sequence <= newest) {
    const hash = sequence === newest ? chain?.jobHash : jobHashAtSeq(database, id, sequence);
    return hash === undefined || hash === jobHash ? "known" : "other";
  }
  const follows =
    job === "" || parseJob(job).previous === (newest === 0 ? zeroHash : chain?.jobHash);
  return sequence === newest + 1 && follows ? "next" : "other";
}

function takeBack(
  database: Database,
  agent: AgentRow,
  entry: AskedEntry,
  isOwn: IsOwnJob,
  nowMs: number,
): string {
  const { transactionId: id, sequence, jobHash, job: text, signature } = entry;
  if (jobHashOf(text) !== jobHash || !isOwn(text, signature))
    return `the job of ${id} was not signed by this gateway`;
  const job = parseJob(text);
  const isAbout =
    job.transactionId === id &&
    job.agent === agent.id &&
    (sequence === 0 || job.sequence === sequence);
  if (!isAbout) return `the job of ${id} is another's`;
  const row = readTransaction(database, id);
  if (row === undefined) {
    const problem = restoreJob(database, agent, job, nowMs);
    if (problem !== "") return problem;
  } else if (
    row.contentHash !== contentHashOfJob(job) ||
    row.refundOf !== (job.refundOf ?? row.refundOf)
  ) {
    replaceContent(database, agent, row, job, nowMs);
  }
  const held = jobOf(database, id);
  if (held === undefined) {
    const place = sequence === 0 ? waitingJobSeq(database, agent.id) : sequence;
    const answeredAt = sequence === 0 ? nowMs : null;
    insertJob(database, {
      agent: agent.id,
      sequence: place,
      hash: jobHash,
      text,
      transactionId: id,
      answeredAt,
    });
  } else if (held.sequence < 0 && (sequence > 0 || held.text === "")) {
    // The shop asked again before its agent had caught up; the job that was signed earlier is
    // valid.
    replaceJob(database, {
      sequence: sequence || held.sequence,
      hash: jobHash,
      text,
      transactionId: id,
    });
    if (sequence === 0) markAnswered(database, id, nowMs);
  }
  return "";
}

function unitsOf(agent: AgentRow, { mode, currency, network, amount }: Job): string | null {
  const paired = pairedCurrencies(agent).find((each) => each.id === currency);
  const decimal = mode === "topup" ? familyOf(network).fees.decimal : (paired?.decimal ?? 0);
  const units =
    paired === undefined || paired.network !== network ? null : parseAmount(amount, decimal);
  return units?.ok === true ? units.units.toString() : null;
}

/** The accounts that a job pays from and to. */
function endsOf(
  agent: AgentRow,
  job: Job,
): Pick<TransactionRow, "receiverAddress" | "depositAddress"> {
  const { mode, address, depositAddress = "" } = job;
  const hotWalletAddress = hotWalletAddressOn(agent, job.network);
  if (mode === "sweep") return { receiverAddress: hotWalletAddress, depositAddress };
  return {
    receiverAddress: mode === "topup" ? depositAddress : address,
    depositAddress: hotWalletAddress,
  };
}

function restoreJob(database: Database, agent: AgentRow, job: Job, nowMs: number): string {
  const {
    transactionId: id,
    mode,
    network,
    orderId,
    currency,
    amount,
    tag,
    issuedAt,
    expiresAt,
  } = job;
  const units = unitsOf(agent, job);
  if (units === null) return `${id} is in ${currency}, which was not paired`;
  insertOutgoing(database, {
    id,
    merchant: agent.merchant,
    operation: operationOf(mode),
    mode: isInternal(mode) ? "" : mode,
    orderId,
    contentHash: contentHashOfJob(job),
    currency,
    network,
    amount,
    amountUnits: units,
    ...endsOf(agent, job),
    tag,
    renews: job.renews ?? "",
    refundOf: job.refundOf ?? "",
    stage: "awaiting_approval",
    metadata: job.depositIndex === undefined ? "" : writePlace(job.depositIndex, job.depositNext),
    createdAt: issuedAt,
    changedAt: nowMs,
    expiresAt,
  });
  return "";
}

/**
 * Restores the content that was signed, if the shop has asked for different content under the same
 * order since. An operator is alerted.
 */
function replaceContent(
  database: Database,
  agent: AgentRow,
  row: TransactionRow,
  job: Job,
  nowMs: number,
): void {
  const { mode, currency, network, amount, tag, expiresAt, refundOf = row.refundOf } = job;
  replaceWithdrawal(database, row.id, {
    mode: isInternal(mode) ? "" : mode,
    contentHash: contentHashOfJob(job),
    currency,
    network,
    amount,
    amountUnits: unitsOf(agent, job) ?? row.amountUnits,
    receiverAddress: endsOf(agent, job).receiverAddress,
    tag,
    refundOf,
    expiresAt,
    changedAt: nowMs,
  });
  const detail = `${row.id}: ${row.amount} ${row.currency} gave way to ${amount} ${currency}, which was signed before`;
  recordAlarm(database, {
    at: nowMs,
    actor: "hub",
    code: "HUB_ORDER_REPLACED",
    subject: agent.id,
    detail,
  });
}
