/**
 * Mutants of what nodes are believed: one node of two that lies about gas, fee, tip, count or
 * receipt must set nothing, and the signer must refuse whatever would leave a payment stuck for
 * good.
 */
import type { Mutant } from "./mutant.ts";

const quorumFile = "chains/evm/node.ts";
const world = "lying-node";

export const nodeMutants: readonly Mutant[] = [
  {
    name: "gas-of-one-node",
    file: quorumFile,
    find: '  if (estimates.length < pool.quorumMin) throw disagreementFault("gas estimate", said.length);\n  return { ok: true, gas: within("gas estimate", estimates, (gas) => gas, gasSpread).reduce(larger) };',
    replace:
      '  const [one] = estimates;\n  if (one === undefined) throw disagreementFault("gas estimate", said.length);\n  return { ok: true, gas: one.value };',
    invariant:
      "One node's estimate is the gas limit: a payment is made with too little and fails for want of gas (prices).",
    world,
  },
  {
    name: "base-fee-of-one-node",
    file: quorumFile,
    find: '      const bases = within("base fee", said, ({ base }) => base, baseFeeSpread).map(({ base }) => base);',
    replace: "      const bases = said.slice(0, 1).map(({ value }) => value.base);",
    invariant:
      "One node's base fee is the price: a wei for which no block takes the payment, or any sum (prices).",
    world,
  },
  {
    name: "tip-of-one-node",
    file: quorumFile,
    find: "      const fees = { baseFeePerGas: bases.reduce(larger), maxPriorityFeePerGas: low, maxPriorityFeePerGasHigh: high };",
    replace:
      "      const fees = { baseFeePerGas: bases.reduce(larger), maxPriorityFeePerGas: high, maxPriorityFeePerGasHigh: high };",
    invariant:
      "The higher tip of two is offered at once, so one node that lies has the merchant pay it (prices).",
    world,
  },
  {
    name: "receipt-of-one-node",
    file: quorumFile,
    find: "      return { receipt: placed.agreed, isShown: placed.count > 0 };",
    replace: "      return { receipt: placed.shown, isShown: placed.count > 0 };",
    invariant:
      "A receipt that one node made up is a payment's place, and the ledger says that a block holds it (truth).",
    world,
  },
  {
    name: "count-of-one-node",
    file: "chains/evm/node-finality.ts",
    find: '        const counts = await pool.agree(askAll, (all) => all.join(" "), "slot counts of the account");',
    replace:
      "        const counts = (await pool.all(askAll)).flatMap((one) => (one.ok ? [one.value] : []))[0] ?? [];",
    invariant:
      "One node's count says where the account stands: it begins at a wrong nonce, or the agent locks itself (liveness).",
    world,
  },
  {
    name: "first-nonce-unconfirmed",
    file: "agent/signer/handlers/adopt.ts",
    find: "unagreed(context, { network, account: hotWallet }, slot) ?? begin(context, network, hotWallet, slot)",
    replace: "begin(context, network, hotWallet, slot)",
    invariant:
      "A courier names a first nonce that the chain never comes to, and every payment waits behind it (monotone).",
    when: ({ rates }) => rates.hostileCourier > 0,
  },
  {
    name: "no-floor-for-gas",
    file: "agent/signer/policy/policy.ts",
    find: "      belowFloor(description) ??\n",
    replace: "",
    invariant:
      "A courier names too little gas: no block carries the payment out, and its nonce waits or is spent for nothing (prices).",
    when: ({ rates }) => rates.hostileCourier > 0,
  },
  {
    name: "no-ceiling-for-the-tip",
    file: "agent/signer/policy/policy.ts",
    find: "return tip > maxTipUnits && tip > tipAllowedUnits ?",
    replace: "return tip > maxTipUnits && tip < 0n ?",
    invariant: "A courier names any tip below the fee ceiling, and the merchant pays it (prices).",
    when: ({ rates }) => rates.hostileCourier > 0,
  },
  {
    name: "attempts-in-one-go",
    file: "agent/signer/handlers/replace.ts",
    find: "({ ageMs }) => ageMs < attemptsApartMs,",
    replace: "({ ageMs }) => ageMs < 0,",
    invariant:
      "A courier has all attempts of a slot made in seconds, before a block could take any (prices).",
    when: ({ rates }) => rates.hostileCourier > 0,
  },
];
