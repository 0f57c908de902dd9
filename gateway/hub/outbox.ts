/**
 * Which jobs go out next and how they are packed: strict sequence, from the first one the agent has
 * not answered, in envelopes as large as the agent takes. Reads only; what was sent is the
 * session's own memory, what was answered is in the table. Sources: docs/protocol.md section 5.
 */
import { jobsPerFrameMax } from "../../protocol/payloads.ts";
import { firstUnanswered, listJobsAfter } from "../store/jobs.ts";
import type { AgentRow, JobRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

/** Bytes of one jobs payload, under the agent's 64 KiB with room for the envelope's own fields. */
const jobsPayloadBytesMax = 60 * 1024;

/**
 * Bytes of everything in the payload but its job texts; agent, wallet, echo and times are bounded
 * well below.
 */
const frameBytes = 1024;

/** A signature as JSON, with the commas of both lists. */
const signatureBytes = 132;

export type PendingJob = Pick<JobRow, "sequence" | "text">;

/** The sequence just before the first unanswered job: sending starts after it. */
export function answeredUpTo(database: Database, agent: Pick<AgentRow, "id" | "jobSequence">): number {
  const first = firstUnanswered(database, agent.id);
  return first === null ? agent.jobSequence : first - 1;
}

/** The next jobs after `sequence`, enough for one envelope. */
export function jobsAfter(database: Database, agentId: string, sequence: number): readonly PendingJob[] {
  return listJobsAfter(database, agentId, sequence, jobsPerFrameMax);
}

/** As many of `jobs`, from the front, as fit in `bytesMax` of JSON; at least one. */
export function fillEnvelope(jobs: readonly PendingJob[], bytesMax = jobsPayloadBytesMax): readonly PendingJob[] {
  let bytes = frameBytes;
  let count = 0;
  for (const job of jobs) {
    bytes += Buffer.byteLength(JSON.stringify(job.text)) + signatureBytes;
    if (count > 0 && bytes > bytesMax) break;
    count += 1;
  }
  return jobs.slice(0, count);
}
