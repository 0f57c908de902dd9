/**
 * The jobs of one envelope against our end of their chain: which are new, which were here, whether one is missing, or whether the
 * chain forked. All or nothing: an envelope that does not fit records nothing. Touches nothing.
 */
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import { jobHashOf } from "../../../protocol/identity.ts";
import type { Job, Jobs } from "../../../protocol/messages.ts";
import { parseJob } from "../../../protocol/payloads.ts";
import type { Core } from "../core.ts";

/** A job that comes next in the chain, with its exact text. */
export interface FreshJob {
  readonly job: Job;
  readonly hash: string;
  readonly text: string;
}

export type ReadJobs =
  | { readonly ok: true; readonly fresh: readonly FreshJob[]; readonly touched: readonly string[] }
  | { readonly ok: false; readonly refusal: Refusal }
  | { readonly ok: false; readonly forked: string };

/** @throws AgentError JSON_* when a text is no job */
export function readJobs(core: Core, envelope: Jobs): ReadJobs {
  const fresh: FreshJob[] = [];
  const touched: string[] = [];
  let next = core.chain.sequence + 1;
  let previous = core.chain.hash;
  let expected = 0;
  for (const text of envelope.jobs) {
    const job = parseJob(text);
    const hash = jobHashOf(text);
    if (job.agent !== core.paired.agent) return no("JOB_OTHER_AGENT");
    if (job.wallet !== core.paired.wallet) return no("JOB_OTHER_WALLET");
    if (job.epoch > envelope.epoch) return no("JOB_OTHER_EPOCH");
    if (expected !== 0 && job.sequence !== expected) return no("JOB_ORDER");
    expected = job.sequence + 1;
    touched.push(job.transactionId);
    if (job.sequence < next) {
      const known = core.chain.at(job.sequence);
      if (known === undefined) return no("JOB_TOO_OLD");
      if (known.hash !== hash) return { ok: false, forked: `job ${job.sequence} came again with another content` };
      continue;
    }
    if (job.sequence > next) return no("JOB_GAP", `waits for job ${next}`);
    if (job.previous !== previous) return { ok: false, forked: `job ${job.sequence} does not follow ours` };
    fresh.push({ job, hash, text });
    previous = hash;
    next += 1;
  }
  return { ok: true, fresh, touched };
}

function no(code: Refusal["code"], detail?: string): ReadJobs {
  return { ok: false, refusal: refuse(code, detail) };
}
