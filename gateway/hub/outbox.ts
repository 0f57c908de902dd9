/**
 * Selects and packs the next jobs: in strict sequence, from the first unanswered job, in envelopes
 * as large as the agent accepts. Reads only. The session remembers which jobs were sent, and the
 * table has which were answered. Sources: docs/protocol.md section 5.
 */
import { jobsPerFrameMax } from "../../protocol/payloads.ts";
import { firstUnanswered, listJobsAfter } from "../store/jobs.ts";
import type { AgentRow, JobRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

/** Bytes of one jobs payload: below the agent's 64 KiB, with room for the envelope's own fields. */
const jobsPayloadBytesMax = 60 * 1024;

/**
 * Bytes of the payload without its job texts; agent, wallet, head and times are much smaller than
 * this.
 */
const frameBytes = 1024;

/** A signature as JSON, with the commas of both lists. */
const signatureBytes = 132;

export type PendingJob = Pick<JobRow, "sequence" | "text" | "transactionId">;

/** The sequence just before the first unanswered job; sending starts after it. */
export function answeredSequence(
  database: Database,
  agent: Pick<AgentRow, "id" | "jobSequence">,
): number {
  const first = firstUnanswered(database, agent.id);
  return first === null ? agent.jobSequence : first - 1;
}

/** The next jobs after `sequence`, enough for one envelope. */
export function jobsAfter(
  database: Database,
  agentId: string,
  sequence: number,
): readonly PendingJob[] {
  return listJobsAfter(database, agentId, sequence, jobsPerFrameMax);
}

/** The longest beginning of `jobs` that fits in `bytesMax` of JSON, with at least one job. */
export function fillEnvelope(
  jobs: readonly PendingJob[],
  bytesMax = jobsPayloadBytesMax,
): readonly PendingJob[] {
  let bytes = frameBytes;
  let count = 0;
  for (const job of jobs) {
    bytes += Buffer.byteLength(JSON.stringify(job.text)) + signatureBytes;
    if (count > 0 && bytes > bytesMax) break;
    count += 1;
  }
  return jobs.slice(0, count);
}
