/** Mutants of pins: an attempt that spends another coin, and a pin that is lost or misjudged. */
import type { Mutant } from "./mutant.ts";

const world = "coins";

export const pinMutants: readonly Mutant[] = [
  {
    name: "replacement-with-another-pin",
    file: "agent/signer/handlers/intent.ts",
    find: "  if (!isFirst && pinOf(withdrawal) !== coins[0])",
    replace: '  if (!isFirst && pinOf(withdrawal) === "")',
    invariant:
      "A courier that lies has a second attempt made of other coins, and both can be paid (payments).",
    when: ({ rates }) => rates.hostileCourier > 0,
    world,
  },
  {
    name: "unnamed-pin-is-signed",
    file: "agent/signer/handlers/intent.ts",
    find: "  if (isFirst && !run.sightings.names(account, coins[0]))",
    replace: "  if (isFirst && account.pending < 0)",
    invariant:
      "A courier alone binds a withdrawal to a coin that no block has, and it is never paid (liveness).",
    when: ({ unnamed, family }) => unnamed === "courier" && family !== "xrp",
    world: "unnamed-coins",
  },
  {
    name: "first-attempt-on-a-stopped-network",
    file: "agent/signer/handlers/sign.ts",
    find: "  const stopped = refuseIfPaused(context) ?? refuseIfFirstAttemptStopped(context, withdrawal.job);",
    replace: "  const stopped = refuseIfPaused(context);",
    invariant:
      "Somebody else empties the wallet, and the agent goes on signing first payments there (records).",
    when: ({ rates }) => rates.foreignOutgoing > 0,
    world,
  },
  {
    name: "first-slot-on-the-couriers-word",
    file: "agent/signer/handlers/adopt.ts",
    find: "unagreed(context, { network, account: hotWallet }, slot) ?? begin(context, network, hotWallet, slot)",
    replace:
      "begin(context, network, hotWallet, unagreed(context, { network, account: hotWallet }, slot) === null ? slot : slot)",
    invariant:
      "A courier alone begins an account below its first sequence, and its payments are in no ledger ever (liveness).",
    when: ({ unnamed, family }) => unnamed === "courier" && family === "xrp",
    world: "unnamed-coins",
  },
  {
    name: "pin-not-stated",
    file: "agent/signer/state/entries.ts",
    find: "...(pin === undefined ? {} : { pin }) };\n  return { feeMax",
    replace: "...(pin === undefined || isCancel ? {} : { pin }) };\n  return { feeMax",
    invariant:
      "A cancel is stated without its pin, which the gateway takes for a contradiction, and the agent stops (lock).",
    world,
  },
  {
    name: "pins-left-out-of-statements",
    file: "agent/signer/state/entries.ts",
    find: "...(pin === undefined ? {} : { pin }) };\n  return { feeMax",
    replace: '...(pin === undefined || feeMax !== "" ? {} : { pin }) };\n  return { feeMax',
    invariant:
      "Attempts are stated without their pin, which the gateway takes for a contradiction, and the agent stops (lock).",
    world,
  },
  {
    name: "same-pin-is-a-contradiction",
    file: "gateway/hub/effect.ts",
    find: '(around.pin !== "" && around.pin !== pin),',
    replace: '(around.pin !== "" && around.pin === pin),',
    invariant:
      "The gateway takes a second attempt on the pin of the first for a contradiction, and the agent stops (lock).",
    world,
  },
  {
    name: "foreign-use-completes",
    file: "chains/utxo/outcome.ts",
    find: '  if (effect !== "moved") return { kind: "failed", code: "chain_slot_consumed", final };',
    replace: '  if (effect !== "moved") return { kind: "completed", final };',
    invariant:
      "Somebody else's transaction that spent the pin completes a withdrawal that it did not pay (truth).",
    when: ({ rates }) => rates.foreignOutgoing > 0,
    world,
  },
  {
    name: "recovery-without-pins",
    file: "gateway/recovery/offer.ts",
    find: '    ...(pin === "" ? {} : { pin }),\n',
    replace: '    ...(pin === "" || pin !== "" ? {} : { pin }),\n',
    invariant:
      "A recovery offers attempts without their pin, the signer refuses it, and nobody pays any more (liveness).",
    when: ({ recoveryScenario, rates }) => recoveryScenario && rates.ledgerRestored > 0,
    world,
  },
  {
    name: "resent-with-the-last-coin",
    file: "agent/signer/state/resync.ts",
    find: "  const pin = pinExclusionOf(network)?.coins(txParams)[0];",
    replace: "  const pin = pinExclusionOf(network)?.coins(txParams).at(-1);",
    invariant:
      "Records that a restored gateway lacks name the last coin of several as the pin, and the agent is stopped (lock).",
    when: ({ rates }) => rates.gatewayRestored > 0 && rates.marketRises > 0,
    world,
  },
  {
    name: "last-coin-is-the-pin",
    file: "agent/signer/state/withdrawal.ts",
    find: "  const pin = pinExclusionOf(record.network)?.coins(record.txParams)[0];",
    replace: "  const pin = pinExclusionOf(record.network)?.coins(record.txParams).at(-1);",
    invariant:
      "An attempt's last coin counts as its pin, so that a replacement with one coin more is never signed (liveness).",
    when: ({ rates }) => rates.marketRises > 0,
    world,
  },
  {
    name: "recovered-attempt-without-its-pin",
    file: "agent/signer/state/recovered-ledger.ts",
    find: "    ...(pin === undefined ? {} : { pin }),\n",
    replace: "",
    invariant:
      "A recovered ledger keeps attempts without their pin, so no other attempt of theirs is ever signed (liveness).",
    when: ({ recoveryScenario, rates }) => recoveryScenario && rates.ledgerRestored > 0,
    world,
  },
];
