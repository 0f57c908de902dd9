/**
 * Mutants that a gateway uses whose nodes the agent asks: its word counts twice, its clocks count
 * for the merchant's, and what is zero counts for nothing said.
 */
import type { Mutant } from "./mutant.ts";

const world = "false-chain";
const waiting = "agent/signer/handlers/expiry-exclusion.ts";
const rules = "agent/signer/policy/rules.ts";

export const falseChainMutants: readonly Mutant[] = [
  {
    name: "nodes-of-the-gateway-are-two-words",
    file: rules,
    find: "    manualReplaceAboveUnits: isOneSource(chainSettings) ? 0n",
    replace:
      "    manualReplaceAboveUnits: isOneSource(chainSettings) && policy.manualReplaceAbove !== undefined ? 0n",
    invariant:
      "The gateway says twice that an attempt is void, and another one is made without an operator (people).",
    world,
  },
  {
    name: "nodes-that-nobody-named-are-own",
    file: "chains/families.ts",
    find: '  return nodesFrom === undefined ? families[family].exclusion.kind === "expiry" : nodesFrom === "gateway";',
    replace:
      '  return nodesFrom === undefined ? families[family].exclusion.kind === "slot" : nodesFrom === "gateway";',
    invariant:
      "A configuration that does not say whose nodes they are is taken for the merchant's own (people).",
    world,
    when: ({ nodesFrom }) => nodesFrom === "",
  },
  {
    name: "limit-of-zero-is-none",
    file: "agent/signer/policy/policy.ts",
    find: "    return isAbove(amountUnits, this.rules.limits.get(currency)?.manualReplaceAboveUnits ?? null);",
    replace:
      "    return isAbove(amountUnits, this.rules.limits.get(currency)?.manualReplaceAboveUnits || null);",
    invariant:
      "A limit of zero reads as no limit, and another attempt is made without an operator (people).",
    world,
  },
  {
    name: "operator-asked-for-later-attempts-alone",
    file: waiting,
    find: '  if (!isOrdered && core.policy.isOperatorsToReplace(approval))\n    return refuse("WITHDRAWAL_WAITS_FOR_OPERATOR", "above manualReplaceAbove");\n',
    replace:
      '  if (!isOrdered && above > 1 && core.policy.isOperatorsToReplace(approval))\n    return refuse("WITHDRAWAL_WAITS_FOR_OPERATOR", "above manualReplaceAbove");\n',
    invariant:
      "The second attempt is made without an operator, and only the third one wants their word (people).",
    world,
  },
  {
    name: "gateways-void-before-the-end",
    file: waiting,
    find: "named.has(one.txHash) && isPastEnd(job.network, one, nowMs)",
    replace: "named.has(one.txHash) && isPastEnd(job.network, one, nowMs + 86_400_000)",
    invariant:
      "The clock of a made-up chain says that an attempt is past its end, and the signer writes it down (exclusion).",
    world,
  },
  {
    name: "nodes-void-before-the-end",
    file: waiting,
    find: "  if (!isPastEnd(job.network, ours, context.nowMs))\n    return refuse(",
    replace: "  if (!isPastEnd(job.network, ours, context.nowMs + 86_400_000))\n    return refuse(",
    invariant:
      "The courier's nodes say that an attempt is past its end, and the signer's own clock is not asked (exclusion).",
    world,
  },
  {
    name: "end-bound-by-the-chains-clock",
    file: waiting,
    find: "  const aheadMs = Math.ceil(validUntilMs - (run.gatewayAt + monotonicMs - run.receivedAt));",
    replace:
      "  const aheadMs = Math.ceil(validUntilMs - Math.max(Number(expiryExclusion.timestamp(timestamped)), run.gatewayAt + monotonicMs - run.receivedAt));",
    invariant:
      "An attempt gets the timestamp of a made-up block of tomorrow, and may be paid until tomorrow (life).",
    world,
  },
];
