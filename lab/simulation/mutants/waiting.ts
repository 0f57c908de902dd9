/**
 * Mutants of exclusion by waiting: death by the wrong clock or on too few words, a version beside a
 * living one, a stamp that comes twice, a word that is lost, and ends that are none.
 */
import type { Mutant } from "./mutant.ts";

const dead = "chains/tron/node-dead.ts";
const state = "agent/signer/state/withdrawal.ts";
const acts = "agent/signer/acts/waiting.ts";
const both = 'versions.every(({ txHash, dead }) => txHash === "" || dead === "both");';
const world = "waiting";
/** Spelled apart: the house asks no clock, and a mutant may. */
const wallClock = ["Date", "now()"].join(".");

export const waitingMutants: readonly Mutant[] = [
  {
    name: "dead-by-the-wall-clock",
    file: dead,
    find: "    if (versions.length === 0 || head.timestampMs <= untilMs) return alive;\n",
    replace: `    if (versions.length > 0 && ${wallClock} > untilMs) return { ...alive, isDead: true };
    if (versions.length === 0 || head.timestampMs <= untilMs) return alive;
`,
    sentence: "A version is called dead when a clock of ours is past its end, and a halted chain takes it later (exclusion).",
    world,
  },
  {
    name: "dead-on-one-nodes-word",
    file: "chains/tron/node-dead.ts",
    find: "    const head = await blocks.solidHead();\n",
    replace: `    const head = await blocks.head();
    const soon = Math.max(0, ...versions.map((one) => one.untilMs));
    if (versions.length > 0 && head.timestampMs > soon + marginMs) {
      return { isDead: true, chainMs: head.timestampMs, block: head.number, witnesses };
    }
`,
    sentence: "One node of two says how late it is, and its newest block is believed (exclusion).",
    world,
  },
  {
    name: "no-margin",
    file: "chains/tron/waiting.ts",
    find: "export const marginMs = 120_000;",
    replace: "export const marginMs = 0;",
    sentence: "A version is called dead at its very end, and not two minutes of chain time after it (exclusion).",
    world,
  },
  {
    name: "dead-without-reading-the-blocks",
    file: dead,
    find: '    if (found !== "nothing") return alive;\n',
    replace: "",
    sentence: "A node that has lost its index of transactions shows none, and what is in a block is called dead (exclusion).",
    world,
    when: ({ rates }) => rates.receiptsMissing > 0,
  },
  {
    name: "missing-receipt-is-failure",
    file: "chains/tron/verdict.ts",
    find: '  if (included === undefined) return { kind: "waiting" };\n',
    replace: `  const last = versions.at(-1)?.txHash ?? "";
  if (included === undefined) return { kind: "failed", code: "chain_reverted", final: { txHash: last, block: 1, feeUnits: 0n } };
`,
    sentence: "No node shows a receipt yet, and the shop hears that its payment failed (truth).",
    world,
  },
  {
    name: "couriers-word-alone",
    file: acts,
    find: '  turn.commit([{ kind: "OBSERVED", transactionId, stage: "dead", outcome: "", txHash, block }]);\n',
    replace: `  turn.run.deadHeard.add(txHash);
  turn.commit([
    { kind: "OBSERVED", transactionId, stage: "dead", outcome: "", txHash, block },
    { kind: "DEAD", txHashes: [txHash] },
  ]);
`,
    sentence: "A courier that lies has a second version made, and both are paid (two words).",
    world,
    when: ({ rates }) => rates.hostileCourier > 0,
  },
  {
    name: "another-version-while-the-newest-lives",
    file: state,
    find: both,
    replace: 'versions.slice(0, -1).every(({ txHash, dead }) => txHash === "" || dead === "both");',
    sentence: "The newest version is not asked about before another one is made (exclusion).",
    world,
  },
  {
    name: "stamp-not-rising",
    file: acts,
    find: "  const stamped = waiting.stamped(familyOf(network).fees.read(facts), lastStamp);",
    replace: "  const stamped = waiting.stamped(familyOf(network).fees.read(facts), lastStamp - lastStamp);",
    sentence: "Two equal payments by one block are one transaction, and the chain pays one of them (an id is of one payment).",
    world,
    when: ({ orders }) => orders.length > 1,
  },
  {
    name: "stamp-lost-at-a-checkpoint",
    file: "agent/signer/state/accounts.ts",
    find: "      ...(lastStamp === 0n ? ([] as const)",
    replace: "      ...(lastStamp >= 0n ? ([] as const)",
    sentence: "After a new segment and a restart a stamp comes a second time (an id is of one payment).",
    world,
    when: (plan) =>
      plan.orders.length > 1 &&
      plan.segmentBytesMax < 10_000 &&
      plan.rates.signerDies + plan.rates.powerFails + plan.rates.syncFails > 0,
  },
  {
    name: "life-not-bounded",
    file: acts,
    find: "  if (isTooLong || aheadMs > waiting.lifeMsMax + aheadMaxMs) return",
    replace: "  if (isTooLong && aheadMs > waiting.lifeMsMax + aheadMaxMs && lastStamp < 0n) return",
    sentence: "A courier names a stamp of tomorrow, and the version may come into a block all day (life).",
    world,
    when: ({ rates }) => rates.hostileCourier > 0,
  },
  {
    name: "every-version-dead-by-one-word",
    file: "agent/signer/state/book.ts",
    find: "        ({ txHash, released, dead }) => released && txHashes.has(txHash) && ",
    replace: '        ({ txHash, released, dead }) => released && txHashes.size > 0 && txHash !== "" && ',
    sentence: "The gateway calls one transaction dead, and all that were let out count as dead (exclusion).",
    world,
    when: ({ orders }) => orders.length > 1,
  },
  {
    name: "ends-while-a-version-lives",
    file: state,
    find: "  return unpaidEnds.has(withdrawal.state) && isDead(withdrawal);",
    replace: "  return unpaidEnds.has(withdrawal.state) && waitingOf(withdrawal.job.network) !== null;",
    sentence: "A person cancels, the shop hears that nothing was paid, and a block takes what is out (truth).",
    world,
    when: ({ helps }) => helps > 0,
  },
  {
    name: "dead-invented-at-an-opening",
    file: "agent/signer/state/opening.ts",
    find: "    ...(dead === undefined ? {} : { dead }),",
    replace: '    ...(until === undefined ? {} : { dead: dead ?? "both" }),',
    sentence: "An opened ledger takes what it was told of for dead, and makes another version of it (exclusion).",
    world,
    when: ({ rates, rescue }) => rescue && rates.ledgerRestored + rates.gatewayRestored > 0,
  },
  {
    name: "unsolidified-taken-as-final",
    file: "chains/tron/node-pool.ts",
    find: "    return pool.exchange(node, (api) => api.ask(path, fields, options));",
    replace: '    return pool.exchange(node, (api) => api.ask(path.replace("/walletsolidity", "/wallet"), fields, options));',
    sentence: "A payment in a block that may be replaced is called completed (truth).",
    world,
  },
  {
    name: "signs-anew-above-its-limit",
    file: acts,
    find: '  if (!isOrdered && core.policy.isPersonsToResign(approval)) return refuse("WITHDRAWAL_WAITS_FOR_PERSON", "above resignAbove");\n',
    replace: "",
    sentence: "Another version of a large amount is made without a person (people).",
    world,
    when: ({ resignAbove, orders }) => resignAbove !== "" && orders.some(({ amount }) => !/^0\.[01]/.test(amount)),
  },
  {
    name: "gateway-calls-dead-what-waits",
    file: "gateway/watcher/deaths.ts",
    find: "      if (isDead) keep(this.#chain, group, { chainMs, witnesses });",
    replace: "      if (isDead || chainMs > 0) keep(this.#chain, group, { chainMs, witnesses });",
    sentence: "The gateway keeps for good that a version is dead which waits for its block (exclusion).",
    world,
  },
  {
    name: "death-never-told",
    file: "gateway/hub/session.ts",
    find: "    const dead = hashes.length === 0 ? {} : { dead: hashes };",
    replace: "    const dead = {};",
    sentence: "The gateway says to nobody what is dead, and what the chain did not take never ends (liveness).",
    world,
    when: ({ rates }) => rates.hostileCourier === 0,
  },
  {
    name: "death-not-recorded",
    file: acts,
    find: '  if (alive.size > 0) commit([{ kind: "DEAD", txHashes: [...alive.values()].flat() }]);\n',
    replace: "",
    sentence: "The gateway's word is heard and forgotten, and what the chain did not take never ends (liveness).",
    world,
    when: ({ rates }) => rates.hostileCourier === 0,
  },
  {
    name: "out-of-energy-is-paid",
    file: "chains/tron/verdict.ts",
    find: '  if (!receipt.isDone) return "reverted";\n',
    replace: '  if (!receipt.isDone) return "paid";\n',
    sentence: "A call that failed on chain is called paid (truth).",
    world,
    when: ({ rates }) => rates.reverts > 0,
  },
];
