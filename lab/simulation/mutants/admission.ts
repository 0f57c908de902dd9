/**
 * Mutants of the way in: jobs that come twice, out of order or half, and the time everything is
 * judged by.
 */
import type { Mutant } from "./mutant.ts";

const jobs = "agent/signer/handlers/admit.ts";

export const admissionMutants: readonly Mutant[] = [
  {
    name: "gap-taken-for-a-fork",
    file: jobs,
    find: `    if (job.sequence > next) return refuse("JOB_GAP", \`waits for job \${next}\`);\n`,
    replace: "",
    invariant:
      "A frame that overtakes another locks the agent, though every job is genuine and on its way (liveness).",
  },
  {
    name: "repeat-taken-for-new",
    file: jobs,
    find: "      continue;\n",
    replace: "",
    invariant:
      "A job that comes a second time is held against the end of the chain and locks the agent (liveness).",
  },
  {
    name: "judged-by-the-local-clock",
    file: "agent/signer/runtime/signer.ts",
    find: "        return Math.max(core.heads.at, ledgerTime(run, localMs, monotonicMs));",
    replace: "        return Math.max(core.heads.at, localMs);",
    invariant:
      "Limits are judged by a clock that may jump, and counted by one that does not: a jump opens a new day (policy).",
    when: ({ rates, policy, orders }) =>
      rates.clockJumps > 0 && policy === "daily" && orders.length > 2,
  },
  {
    name: "ledger-time-follows-any-clock",
    file: "agent/signer/state/ledger-time.ts",
    find: "  return Math.floor(byClocks(received, localMs, monotonicMs));",
    replace: "  return Math.floor(localMs);",
    invariant:
      "Ledger time leaps with the local clock, so a day's limit can be spent many times in one day (policy).",
    when: ({ rates }) => rates.clockJumps > 0,
  },
];
