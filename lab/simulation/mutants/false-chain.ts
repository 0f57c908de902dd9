/**
 * Mutants that a gateway uses whose nodes the agent asks: its word counts twice, its clocks count
 * for the merchant's, and what is zero counts for nothing said.
 */
import type { Mutant } from "./mutant.ts";

const world = "false-chain";
const waiting = "agent/signer/acts/waiting.ts";
const rules = "agent/signer/policy/rules.ts";

export const falseChainMutants: readonly Mutant[] = [
  {
    name: "nodes-of-the-gateway-are-two-words",
    file: rules,
    find: "    resignAboveUnits: isOneSource(chainSettings) ? 0n",
    replace: "    resignAboveUnits: isOneSource(chainSettings) && policy.resignAbove !== undefined ? 0n",
    sentence: "The gateway says twice that a version is dead, and another one is made without a person (people).",
    world,
  },
  {
    name: "nodes-that-nobody-named-are-own",
    file: "chains/families.ts",
    find: '  return nodesFrom === undefined ? families[family].exclusion.kind === "waiting" : nodesFrom === "gateway";',
    replace: '  return nodesFrom === undefined ? families[family].exclusion.kind === "slot" : nodesFrom === "gateway";',
    sentence: "A configuration that does not say whose nodes they are is taken for the merchant's own (people).",
    world,
    when: ({ nodesFrom }) => nodesFrom === "",
  },
  {
    name: "limit-of-zero-is-none",
    file: "agent/signer/policy/policy.ts",
    find: "    return isAbove(amountUnits, this.rules.limits.get(currency)?.resignAboveUnits ?? null);",
    replace: "    return isAbove(amountUnits, this.rules.limits.get(currency)?.resignAboveUnits || null);",
    sentence: "A limit of zero reads as no limit, and another version is made without a person (people).",
    world,
  },
  {
    name: "person-asked-for-later-versions-alone",
    file: waiting,
    find: '  if (!isOrdered && core.policy.isPersonsToResign(approval)) return refuse("WITHDRAWAL_WAITS_FOR_PERSON", "above resignAbove");\n',
    replace:
      '  if (!isOrdered && above > 1 && core.policy.isPersonsToResign(approval)) return refuse("WITHDRAWAL_WAITS_FOR_PERSON", "above resignAbove");\n',
    sentence: "The second version is made without a person, and only the third one wants their word (people).",
    world,
  },
  {
    name: "gateways-death-before-the-end",
    file: waiting,
    find: "    versions.filter((one) => named.has(one.txHash) && isPastEnd(job.network, one, nowMs)).map(({ txHash }) => txHash),",
    replace:
      "    versions.filter((one) => named.has(one.txHash) && isPastEnd(job.network, one, nowMs + 86_400_000)).map(({ txHash }) => txHash),",
    sentence: "The clock of a made-up chain says that a version is past its end, and the signer writes it down (exclusion).",
    world,
  },
  {
    name: "nodes-death-before-the-end",
    file: waiting,
    find: "  if (!isPastEnd(job.network, ours, turn.nowMs)) return refuse(",
    replace: "  if (!isPastEnd(job.network, ours, turn.nowMs + 86_400_000)) return refuse(",
    sentence: "The courier's nodes say that a version is past its end, and the signer's own clock is not asked (exclusion).",
    world,
  },
  {
    name: "end-bound-by-the-chains-clock",
    file: waiting,
    find: "  const aheadMs = Math.ceil(until - (run.gatewayAt + monotonicMs - run.heardAt));",
    replace:
      "  const aheadMs = Math.ceil(until - Math.max(Number(waiting.stamp(stamped)), run.gatewayAt + monotonicMs - run.heardAt));",
    sentence: "A made-up block of tomorrow stamps a version that may be paid until tomorrow (life).",
    world,
  },
];
