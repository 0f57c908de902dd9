/**
 * Mutants that gateway and courier use together: limits that two words lift, voids before their
 * time, orders of a recovery that nobody weighs, and lists that nobody reads.
 */
import type { Mutant } from "./mutant.ts";

const world = "two-liars";
const weighed = "agent/signer/state/recovered-sums.ts";
const input = "agent/signer/state/recovered-ledger.ts";

export const twoLiarsMutants: readonly Mutant[] = [
  {
    name: "next-attempt-not-weighed",
    file: "agent/signer/policy/policy.ts",
    find: "    const above = built.attempt === 1 ? null : this.withoutRoom(built.approval, built.attempt, nowMs);",
    replace:
      "    const above = built.attempt > 0 ? null : this.withoutRoom(built.approval, built.attempt, nowMs);",
    invariant:
      "The next attempt of what was called void is signed although others have the window's room by now (limits).",
    world,
    when: ({ family }) => family === "tron",
  },
  {
    name: "given-back-without-end",
    file: "agent/signer/policy/sums.ts",
    find: "  return limitUnits === null || limitUnits === undefined || back <= limitUnits ? sum : sum + back - limitUnits;",
    replace:
      "  return limitUnits === null || limitUnits === undefined || back >= 0n ? sum : sum + back - limitUnits;",
    invariant: "Two liars have the limit of an hour given back every eight minutes (limits).",
    world,
    when: ({ family }) => family === "tron",
  },
  {
    name: "void-by-two-statements-alone",
    file: "agent/signer/state/withdrawal.ts",
    find: "nowMs > validUntilMs + expiryExclusion.marginMs",
    replace: "nowMs > 0",
    invariant:
      "Two words are enough for a second attempt while a block may take the first (exclusion).",
    world,
    when: ({ family }) => family === "tron",
  },
  {
    name: "list-of-destinations-not-read",
    file: "agent/signer/policy/job-terms.ts",
    find: '  if (limits.allow.size > 0 && !limits.allow.has(parsed.address)) return refuse("POLICY_NOT_ALLOWED");\n',
    replace: "",
    invariant:
      "A gateway orders a payment to an address that the merchant's list has not (policy).",
    world,
  },
  {
    name: "recovery-order-not-weighed",
    file: weighed,
    find: "assigned ?? (wasApproved ? null : findExceededLimit({ hour, day }, limits, amount, weighing.nowMs))",
    replace: "assigned === null || assigned.length > 0 ? null : (wasApproved ? null : assigned)",
    invariant:
      "A recovery offer brings withdrawals that nobody asked for, above the hour's limit (limits).",
    world,
  },
  {
    name: "opened-with-empty-windows",
    file: input,
    find: "    policy: { ...old.policy, approvals: [], windows: sums.windows },",
    replace: "    policy: { ...old.policy, approvals: [], windows: [] },",
    invariant: "Each recovery begins another hour and another day (limits).",
    world,
  },
  {
    name: "quarantine-judged-again",
    file: "agent/signer/state/withdrawal.ts",
    find: '  return state === "quarantined" && code === "";',
    replace: '  return state === "quarantined" && code !== "SLOT_CONTESTED";',
    invariant:
      "A withdrawal that a recovery quarantined above a limit is judged once more, counts already and is let through (quarantine).",
    world,
  },
  {
    name: "time-by-the-gateways-word",
    file: "agent/signer/state/ledger-time.ts",
    find: "  return gatewayAt === 0 ? localMs : Math.min(localMs, gatewayAt + (monotonicMs - receivedAt) + skewMaxMs);",
    replace:
      "  return gatewayAt === 0 ? localMs : gatewayAt + (monotonicMs - receivedAt) + skewMaxMs;",
    invariant:
      "The gateway's word alone makes it later, and windows end before their time (clocks).",
    world,
  },
  {
    name: "contested-slot-kept-as-approved",
    file: input,
    find: "code: isContested ? contestedCode : quarantineOf(own) ||",
    replace: 'code: isContested && rival === "" ? contestedCode : quarantineOf(own) ||',
    invariant:
      "An order gives a slot to two withdrawals or a withdrawal two slots, and both are signed (bijection).",
    world,
  },
  {
    name: "quarantine-forgotten-by-the-next-order",
    file: input,
    find: "code: isContested ? contestedCode : quarantineOf(own) ||",
    replace: "code: isContested ? contestedCode :",
    invariant:
      "A second recovery offer takes back what the first one quarantined above a limit (quarantine).",
    world,
  },
  {
    name: "contest-settled-by-the-next-order",
    file: "agent/signer/state/slot-assignments.ts",
    find: "  return isQuarantined(own) && own.code === contestedCode;",
    replace: '  return own.state === "released" && own.code === contestedCode;',
    invariant:
      "A second order agrees with the first one's slot, and a withdrawal is signed on two slots (bijection).",
    world,
    when: ({ family }) => family === "evm",
  },
  {
    name: "report-lifts-quarantine",
    file: "agent/signer/state/withdrawal.ts",
    find: '  return state === "quarantined" || wasQuarantined === true;',
    replace: '  return state === "quarantined" && wasQuarantined !== true;',
    invariant:
      "A courier reports an end of what a recovery quarantined, and the next recovery has it signed (quarantine).",
    world,
  },
  {
    name: "counts-from-intent-alone",
    file: "agent/signer/state/core.ts",
    find: "    countAttempt(this.policy.sums, withdrawal, record);\n",
    replace:
      "    if (withdrawal.attempts.length > 99) countAttempt(this.policy.sums, withdrawal, record);\n",
    invariant:
      "A signature comes hours after its intent, when the window has forgotten the amount (limits).",
    world,
    when: ({ family }) => family === "evm",
  },
];
