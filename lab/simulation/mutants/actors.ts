/**
 * Mutants of what is not policy's alone: new destinations, those that look like paid ones, amounts
 * that want two operators.
 */
import type { Mutant } from "./mutant.ts";
import { rotatesAndRestarts } from "./plans.ts";

const holds = "agent/signer/policy/holds.ts";
const destinations = "agent/signer/policy/destinations.ts";
const isOfDestinations: Mutant["when"] = ({ rules }) => rules === "destinations";
const isOfApprovers: Mutant["when"] = ({ rules }) => rules === "approvers";

export const actorsMutants: readonly Mutant[] = [
  {
    name: "large-amount-to-a-new-destination",
    file: holds,
    find: '  if (fresh !== null && isAbove(units, fresh.holdAboveUnits)) return "POLICY_NEW_DESTINATION";\n',
    replace: "",
    invariant: "A destination never paid before gets any amount, once its delay is over (policy).",
    when: isOfDestinations,
  },
  {
    name: "no-delay-for-a-new-destination",
    file: holds,
    find: "  return fresh !== null && nowMs < requestedAt + fresh.delayMs ?",
    replace: "  return fresh !== null && nowMs < requestedAt ?",
    invariant: "A destination never paid before is paid at once (policy).",
    when: isOfDestinations,
  },
  {
    name: "delay-a-sixth-short",
    file: "agent/signer/policy/rules.ts",
    find: "  const delayMs = (fresh?.delayMinutes ?? 0) * 60_000;",
    replace: "  const delayMs = (fresh?.delayMinutes ?? 0) * 50_000;",
    invariant: "The delay for new destinations ends before its time (policy).",
    when: isOfDestinations,
  },
  {
    name: "delay-never-over",
    file: "agent/signer/runtime/signer.ts",
    find: "    this.changed(reconsiderWithdrawals(this.context()));\n",
    replace: "",
    invariant: "What a delay holds waits for an operator permanently (liveness).",
    when: isOfDestinations,
  },
  {
    name: "paid-as-soon-as-sent",
    file: "agent/signer/state/core.ts",
    find: '    if (record.kind === "OBSERVED" && record.outcome === "paid") this.#learn(withdrawal, record.at);',
    replace: '    if (record.kind === "SIGNED") this.#learn(withdrawal, record.at);',
    invariant: "A destination counts as paid while the first payment to it is on its way (policy).",
    when: isOfDestinations,
  },
  {
    name: "failed-counts-as-paid",
    file: "agent/signer/state/core.ts",
    find: '    if (record.kind === "OBSERVED" && record.outcome === "paid") this.#learn(withdrawal, record.at);',
    replace:
      '    if (record.kind === "OBSERVED" && record.outcome !== "") this.#learn(withdrawal, record.at);',
    invariant: "A destination counts as paid after a payment to it that failed (policy).",
    when: ({ rules, rates }) =>
      rules === "destinations" && rates.reverts + rates.hostileCourier > 0,
  },
  {
    name: "look-alike-let-through",
    file: holds,
    find: '  if (findResembledDestination(candidate, limits, paid) !== null) return "POLICY_LOOKALIKE";\n',
    replace: "",
    invariant: "An address that only looks like a paid one is paid without an operator (policy).",
    when: isOfDestinations,
  },
  {
    name: "look-alike-in-other-case",
    file: destinations,
    find: "    const lower = paid.address.toLowerCase();",
    replace: "    const lower = paid.address;",
    invariant:
      "An address is known, and looks like a paid one, only in the same case of its letters (policy).",
    when: isOfDestinations,
  },
  {
    name: "look-alike-by-its-beginning-and-five",
    file: destinations,
    find: "const endDigits = 4;",
    replace: "const endDigits = 5;",
    invariant:
      "What people are not shown has to be alike as well, so nothing ever looks alike (policy).",
    when: isOfDestinations,
  },
  {
    name: "paid-forgotten-in-a-checkpoint",
    file: "agent/signer/state/core.ts",
    find: "paid: this.policy.paid.rows() } };",
    replace: "paid: [] } };",
    invariant:
      "After a new segment nothing was ever paid, and nothing looks like what was (policy).",
    when: (plan) => plan.rules === "destinations" && rotatesAndRestarts(plan),
  },
  {
    name: "machine-approves-what-is-for-two",
    file: holds,
    find: '  if (isAbove(units, limits.twoApproversAboveUnits)) return "POLICY_TWO_APPROVERS";\n',
    replace: "",
    invariant: "An amount that two operators were to look at is paid without anybody (policy).",
    when: isOfApprovers,
  },
  {
    name: "one-operator-is-enough",
    file: "agent/signer/policy/policy.ts",
    find: "    return { ok: true, body, needsTwo: isAbove(units, limits.twoApproversAboveUnits) };",
    replace: "    return { ok: true, body, needsTwo: false };",
    invariant: "One operator approves what wants two (policy).",
    when: isOfApprovers,
  },
  {
    name: "one-name-twice",
    file: "agent/signer/handlers/approve.ts",
    find: '  else if (!needsTwo || !isSameOperator(first?.approver ?? "", approver)) context.commit([body]);',
    replace: "  else context.commit([body]);",
    invariant: "One operator says yes twice to what wants two (policy).",
    when: isOfApprovers,
  },
  {
    name: "one-name-in-two-cases",
    file: "agent/signer/handlers/approve.ts",
    find: "  return a.toLowerCase() === b.toLowerCase();",
    replace: "  return a === b;",
    invariant: "One operator who writes their name in two ways counts as two (policy).",
    when: isOfApprovers,
  },
  {
    name: "rules-not-recorded",
    file: "agent/signer/runtime/signer.ts",
    find: '      this.#append([{ kind: "POLICY", digest, path, limits: canonicalLimits(this.core.policy.rules) }]);\n',
    replace: "",
    invariant: "Nobody can tell later by which rules a decision was made (policy).",
  },
];
