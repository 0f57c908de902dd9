/**
 * Mutants of exclusion by expiry: void by the wrong clock or on too few words, an attempt beside a
 * living one, a timestamp that comes twice, a word that is lost, and ends that are none.
 */
import type { Mutant } from "./mutant.ts";

const nodeVoid = "chains/tron/node-void.ts";
const state = "agent/signer/state/withdrawal.ts";
const acts = "agent/signer/handlers/expiry-exclusion.ts";
const isVoidText = 'attempts.every(({ txHash, voidBy }) => txHash === "" || voidBy === "both")';
const world = "waiting";
/** Spelled apart: the house asks no clock, and a mutant may. */
const wallClock = ["Date", "now()"].join(".");

export const waitingMutants: readonly Mutant[] = [
  {
    name: "void-by-the-wall-clock",
    file: nodeVoid,
    find: "    if (attempts.length === 0 || head.timestampMs <= validUntilMs) return alive;\n",
    replace: `    if (attempts.length > 0 && ${wallClock} > validUntilMs) return { ...alive, isVoid: true };
    if (attempts.length === 0 || head.timestampMs <= validUntilMs) return alive;
`,
    invariant:
      "An attempt is called void when a clock of ours is past its end, and a halted chain takes it later (exclusion).",
    world,
  },
  {
    name: "void-on-one-nodes-answer",
    file: "chains/tron/node-void.ts",
    find: "    const head = await blocks.solidHead();\n",
    replace: `    const head = await blocks.head();
    const soon = Math.max(0, ...attempts.map((one) => one.validUntilMs));
    if (attempts.length > 0 && head.timestampMs > soon + voidMarginMs) {
      return { isVoid: true, chainMs: head.timestampMs, block: head.number, quorum };
    }
`,
    invariant: "One node of two says how late it is, and its newest block is believed (exclusion).",
    world,
  },
  {
    name: "no-margin",
    file: "chains/tron/expiry-exclusion.ts",
    find: "export const voidMarginMs = 120_000;",
    replace: "export const voidMarginMs = 0;",
    invariant:
      "An attempt is called void at its very end, and not two minutes of chain time after it (exclusion).",
    world,
  },
  {
    name: "void-without-reading-the-blocks",
    file: nodeVoid,
    find: '    if (found !== "nothing") return alive;\n',
    replace: "",
    invariant:
      "A node that has lost its index of transactions shows none, and what is in a block is called void (exclusion).",
    world,
    when: ({ rates }) => rates.receiptsMissing > 0,
  },
  {
    name: "missing-receipt-is-failure",
    file: "chains/tron/outcome.ts",
    find: '  if (included === undefined) return { kind: "waiting" };\n',
    replace: `  const last = attempts.at(-1)?.txHash ?? "";
  if (included === undefined) return { kind: "failed", code: "chain_reverted", final: { txHash: last, block: 1, feeUnits: 0n } };
`,
    invariant: "No node shows a receipt yet, and the shop learns that its payment failed (truth).",
    world,
  },
  {
    name: "couriers-word-alone",
    file: acts,
    find: '  context.commit([{ kind: "OBSERVED", transactionId, stage: "void", outcome: "", txHash, block }]);\n',
    replace: `  context.run.voidReceived.add(txHash);
  context.commit([
    { kind: "OBSERVED", transactionId, stage: "void", outcome: "", txHash, block },
    { kind: "VOID", txHashes: [txHash] },
  ]);
`,
    invariant: "A courier that lies has a second attempt made, and both are paid (two words).",
    world,
    when: ({ rates }) => rates.hostileCourier > 0,
  },
  {
    name: "another-attempt-while-the-newest-is-open",
    file: state,
    find: isVoidText,
    replace: isVoidText.replace("attempts.", "attempts.slice(0, -1)."),
    invariant: "The newest attempt is not asked about before another one is made (exclusion).",
    world,
  },
  {
    name: "timestamp-not-rising",
    file: acts,
    find: "  const timestamped = expiryExclusion.timestamped(read, lastTimestamp);",
    replace:
      "  const timestamped = expiryExclusion.timestamped(read, lastTimestamp - lastTimestamp);",
    invariant:
      "Two equal payments by one block are one transaction, and the chain pays one of them (an id is of one payment).",
    world,
    when: ({ orders }) => orders.length > 1,
  },
  {
    name: "timestamp-lost-at-a-checkpoint",
    file: "agent/signer/state/accounts.ts",
    find: "      ...(lastTimestamp === 0n ? ([] as const)",
    replace: "      ...(lastTimestamp >= 0n ? ([] as const)",
    invariant:
      "After a new segment and a restart a timestamp comes a second time (an id is of one payment).",
    world,
    when: (plan) =>
      plan.orders.length > 1 &&
      plan.segmentBytesMax < 10_000 &&
      plan.rates.signerDies + plan.rates.powerFails + plan.rates.syncFails > 0,
  },
  {
    name: "lifetime-not-limited",
    file: acts,
    find: "  if (isTooLong || aheadMs > expiryExclusion.lifetimeMsMax + aheadMaxMs)\n    return",
    replace:
      "  if (isTooLong && aheadMs > expiryExclusion.lifetimeMsMax + aheadMaxMs && lastTimestamp < 0n)\n    return",
    invariant:
      "A courier names a timestamp of tomorrow, and the attempt may come into a block all day (life).",
    world,
    when: ({ rates }) => rates.hostileCourier > 0,
  },
  {
    name: "every-attempt-void-by-one-word",
    file: "agent/signer/state/withdrawals.ts",
    find: "        ({ txHash, released, voidBy }) => released && txHashes.has(txHash) && ",
    replace:
      '        ({ txHash, released, voidBy }) => released && txHashes.size > 0 && txHash !== "" && ',
    invariant:
      "The gateway calls one transaction void, and all that were let out count as void (exclusion).",
    world,
    when: ({ orders }) => orders.length > 1,
  },
  {
    name: "ends-while-an-attempt-is-open",
    file: state,
    find: "  return unpaidEnds.has(withdrawal.state) && isVoid(withdrawal);",
    replace:
      "  return unpaidEnds.has(withdrawal.state) && expiryExclusionOf(withdrawal.job.network) !== null;",
    invariant:
      "An operator cancels, the shop learns that nothing was paid, and a block takes what is out (truth).",
    world,
    when: ({ helps }) => helps > 0,
  },
  {
    name: "void-invented-at-an-opening",
    file: "agent/signer/state/recovered-ledger.ts",
    find: "    ...(voidBy === undefined ? {} : { voidBy }),",
    replace: '    ...(validUntilMs === undefined ? {} : { voidBy: voidBy ?? "both" }),',
    invariant:
      "A recovered ledger takes an attempt that it was told of for void, and makes another attempt (exclusion).",
    world,
    when: ({ rates, recoveryScenario }) =>
      recoveryScenario && rates.ledgerRestored + rates.gatewayRestored > 0,
  },
  {
    name: "unsolidified-taken-as-final",
    file: "chains/tron/node-wire.ts",
    find: "exchange: (api, { path, fields, ...how }) => api.ask(path, fields, how),",
    replace:
      'exchange: (api, { path, fields, ...how }) => api.ask(path.replace("/walletsolidity", "/wallet"), fields, how),',
    invariant: "A payment in a block that may be replaced is called completed (truth).",
    world,
  },
  {
    name: "signs-again-above-its-limit",
    file: acts,
    find: '  if (!isOrdered && core.policy.isOperatorsToReplace(approval))\n    return refuse("WITHDRAWAL_WAITS_FOR_OPERATOR", "above manualReplaceAbove");\n',
    replace: "",
    invariant: "Another attempt of a large amount is made without an operator (people).",
    world,
    when: ({ manualReplaceAbove, orders }) =>
      manualReplaceAbove !== "" && orders.some(({ amount }) => !/^0\.[01]/.test(amount)),
  },
  {
    name: "gateway-calls-void-what-waits",
    file: "gateway/watcher/void-attempts.ts",
    find: "      if (isVoid) keep(this.#chain, group, { chainMs, quorum });",
    replace: "      if (isVoid || chainMs > 0) keep(this.#chain, group, { chainMs, quorum });",
    invariant:
      "The gateway keeps for good that an attempt is void which waits for its block (exclusion).",
    world,
  },
  {
    name: "void-never-told",
    file: "gateway/hub/session.ts",
    find: "    return { ended, ...(hashes.length === 0 ? {} : { void: hashes }) };",
    replace: "    return { ended };",
    invariant:
      "The gateway says to nobody what is void, and what the chain did not take never ends (liveness).",
    world,
    when: ({ rates }) => rates.hostileCourier === 0,
  },
  {
    name: "void-not-recorded",
    file: acts,
    find: '  if (alive.size > 0) commit([{ kind: "VOID", txHashes: [...alive.values()].flat() }]);\n',
    replace: "",
    invariant:
      "The gateway's word is received and forgotten, and what the chain did not take never ends (liveness).",
    world,
    when: ({ rates }) => rates.hostileCourier === 0,
  },
  {
    name: "out-of-energy-is-paid",
    file: "chains/tron/outcome.ts",
    find: '  if (!receipt.isDone) return "reverted";\n',
    replace: '  if (!receipt.isDone) return "paid";\n',
    invariant: "A call that failed on chain is called paid (truth).",
    world,
    when: ({ rates }) => rates.reverts > 0,
  },
];
