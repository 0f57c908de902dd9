/**
 * Mutants that gateway and courier use together: limits that two words lift, deaths before their
 * time, orders of a recovery that nobody weighs, and lists that nobody reads.
 */
import type { Mutant } from "./mutant.ts";

const world = "two-liars";
const weighed = "agent/signer/state/opening-sums.ts";
const opening = "agent/signer/state/opening.ts";

export const twoLiarsMutants: readonly Mutant[] = [
  {
    name: "next-version-not-weighed",
    file: "agent/signer/policy/policy.ts",
    find: "    const above = built.version === 1 ? null : this.withoutRoom(built.approval, built.version, nowMs);",
    replace: "    const above = built.version > 0 ? null : this.withoutRoom(built.approval, built.version, nowMs);",
    sentence: "The next version of what was called dead is signed although others have the window's room by now (limits).",
    world,
    when: ({ family }) => family === "tron",
  },
  {
    name: "given-back-without-end",
    file: "agent/signer/policy/sums.ts",
    find: "  return limitUnits === null || limitUnits === undefined || back <= limitUnits ? sum : sum + back - limitUnits;",
    replace: "  return limitUnits === null || limitUnits === undefined || back >= 0n ? sum : sum + back - limitUnits;",
    sentence: "Two liars have the limit of an hour given back every eight minutes (limits).",
    world,
    when: ({ family }) => family === "tron",
  },
  {
    name: "dead-by-two-words-alone",
    file: "agent/signer/state/withdrawal.ts",
    find: "  return waiting !== null && until !== undefined && nowMs > until + waiting.marginMs;",
    replace: "  return waiting !== null && until !== undefined && nowMs > 0;",
    sentence: "Two words are enough for a second version while a block may take the first (exclusion).",
    world,
    when: ({ family }) => family === "tron",
  },
  {
    name: "list-of-destinations-not-read",
    file: "agent/signer/policy/asked.ts",
    find: '  if (limits.allow.size > 0 && !limits.allow.has(parsed.address)) return refuse("POLICY_NOT_ALLOWED");\n',
    replace: "",
    sentence: "A gateway orders a payment to an address that the merchant's list has not (policy).",
    world,
  },
  {
    name: "recovery-order-not-weighed",
    file: weighed,
    find: "  return bound ?? (wasApproved ? null : aboveWindow({ hour, day }, limits, amount, weighing.nowMs));",
    replace: "  return bound === null || bound.length > 0 ? null : (wasApproved ? null : bound);",
    sentence: "A recovery order brings withdrawals that nobody asked for, above the hour's limit (limits).",
    world,
  },
  {
    name: "opened-with-empty-windows",
    file: opening,
    find: "    policy: { ...old.policy, approvals: [], windows: sums.windows },",
    replace: "    policy: { ...old.policy, approvals: [], windows: [] },",
    sentence: "Each recovery begins another hour and another day (limits).",
    world,
  },
  {
    name: "quarantine-judged-again",
    file: "agent/signer/state/withdrawal.ts",
    find: '  return state === "quarantined" && code === "";',
    replace: '  return state === "quarantined" && code !== "SLOT_CONTESTED";',
    sentence:
      "A withdrawal that a recovery quarantined above a limit is judged once more, counts already and is let through (quarantine).",
    world,
  },
  {
    name: "time-by-the-gateways-word",
    file: "agent/signer/state/ledger-time.ts",
    find: "  return gatewayAt === 0 ? localMs : Math.min(localMs, gatewayAt + (monotonicMs - heardAt) + skewMaxMs);",
    replace: "  return gatewayAt === 0 ? localMs : gatewayAt + (monotonicMs - heardAt) + skewMaxMs;",
    sentence: "The gateway's word alone makes it later, and windows end before their time (clocks).",
    world,
  },
  {
    name: "contested-slot-kept-as-approved",
    file: opening,
    find: "code: isContested ? contestedCode : quarantineOf(own),",
    replace: "code: isContested && both ? contestedCode : quarantineOf(own),",
    sentence: "An order gives a slot to two withdrawals or a withdrawal two slots, and both are signed (bijection).",
    world,
  },
  {
    name: "quarantine-forgotten-by-the-next-order",
    file: opening,
    find: "code: isContested ? contestedCode : quarantineOf(own),",
    replace: 'code: isContested ? contestedCode : "",',
    sentence: "A second recovery order takes back what the first one quarantined above a limit (quarantine).",
    world,
  },
  {
    name: "contest-settled-by-the-next-order",
    file: "agent/signer/state/bindings.ts",
    find: '  return state === "quarantined" && code === contestedCode;',
    replace: '  return state === "released" && code === contestedCode;',
    sentence: "A second order agrees with the first one's slot, and a withdrawal is signed on two slots (bijection).",
    world,
    when: ({ family }) => family === "evm",
  },
];
