/**
 * Takes a lost job of a restored database back from its agent. The gateway relies on its own
 * signature on the job's text and not on the agent. The job gets its old position in the list, with
 * the withdrawal as ordered. Runs in the caller's transaction. Source: docs/protocol.md section 8.
 */
import { familyOf } from "../../chains/families.ts";
import { parseAmount } from "../../protocol/amount.ts";
import { jobHashOf, zeroHash } from "../../protocol/identity.ts";
import { isInternalMode } from "../../protocol/job-mode.ts";
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
  nextWaitingJobNumber,
  restoreJobPosition,
} from "../store/jobs.ts";
import type { AgentRow, TransferRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { readTransfer, sweepOrdinalOf } from "../store/transactions.ts";
import { insertPendingTransfer, replaceOrderContent } from "../store/withdrawals.ts";
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
  const row = readTransfer(database, id);
  if (row === undefined) {
    const problem = restoreJob(database, agent, job, nowMs);
    if (problem !== "") return problem;
  } else if (
    row.contentHash !== contentHashOfJob(job) ||
    refundOf(row) !== (job.refundOf ?? refundOf(row))
  ) {
    replaceContent(database, agent, row, job, nowMs);
  }
  const held = jobOf(database, id);
  if (held === undefined) {
    const place = sequence === 0 ? nextWaitingJobNumber(database, agent.id) : sequence;
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
    restoreJobPosition(database, {
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

/** The deposit that a withdrawal pays back; "" for none. */
function refundOf(row: TransferRow): string {
  return row.operation === "withdraw" ? row.refundOf : "";
}

/** The accounts that a job pays from and to; the receiver is "" until its operator names it. */
function endsOf(agent: AgentRow, job: Job): { readonly payer: string; readonly receiver: string } {
  const { mode, address, depositAddress = "" } = job;
  const hotWalletAddress = hotWalletAddressOn(agent, job.network);
  if (mode === "sweep") return { payer: depositAddress, receiver: hotWalletAddress };
  return { payer: hotWalletAddress, receiver: mode === "topup" ? depositAddress : address };
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
  const { payer, receiver } = endsOf(agent, job);
  const transfer = {
    id,
    merchant: agent.merchant,
    orderId,
    contentHash: contentHashOfJob(job),
    currency,
    network,
    amount,
    units,
    payer,
    tag,
    stage: "awaiting_approval",
    createdAt: issuedAt,
    changedAt: nowMs,
    expiresAt,
  };
  if (isInternalMode(mode)) {
    const { depositIndex: addressIndex, depositNext: nextSlot = "" } = job;
    if (addressIndex === undefined) return `${id} names no index of its deposit address`;
    const internal = { ...transfer, receiver, addressIndex };
    if (mode === "topup") insertPendingTransfer(database, { ...internal, operation: mode });
    else if (sweepOrdinalOf(transfer) === null) return `${orderId} is not the order of a sweep`;
    else insertPendingTransfer(database, { ...internal, operation: mode, nextSlot });
  } else
    insertPendingTransfer(database, {
      ...transfer,
      operation: "withdraw",
      mode,
      receiver: receiver === "" ? null : receiver,
      renews: job.renews ?? "",
      refundOf: job.refundOf ?? "",
      metadata: "",
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
  row: TransferRow,
  job: Job,
  nowMs: number,
): void {
  const { mode, currency, network, amount, tag, expiresAt } = job;
  replaceOrderContent(database, row.id, {
    mode: isInternalMode(mode) ? null : mode,
    contentHash: contentHashOfJob(job),
    currency,
    network,
    amount,
    units: unitsOf(agent, job) ?? row.units,
    receiver: endsOf(agent, job).receiver,
    tag,
    refundOf: job.refundOf ?? refundOf(row),
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
