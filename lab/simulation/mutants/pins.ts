/** Mutants of pins: an attempt that spends another coin, and a pin that is lost or misjudged. */
import type { Mutant } from "./mutant.ts";

const world = "coins";

export const pinMutants: readonly Mutant[] = [
  {
    name: "replacement-with-another-pin",
    file: "agent/signer/handlers/pins.ts",
    find: "  if (!isFirst && pinOf(withdrawal) !== coins[0])",
    replace: '  if (!isFirst && pinOf(withdrawal) === "")',
    invariant: "A courier that lies has a second attempt made of other coins, and both can be paid (payments).",
    when: ({ rates }) => rates.hostileCourier > 0,
    world,
  },
  {
    name: "pin-not-stated",
    file: "agent/signer/state/entries.ts",
    find: "...(pin === undefined ? {} : { pin }) };\n  return { feeMax",
    replace: "...(pin === undefined || isCancel ? {} : { pin }) };\n  return { feeMax",
    invariant: "A cancel is stated without its pin, which the gateway takes for a contradiction, and the agent stops (lock).",
    world,
  },
  {
    name: "pins-left-out-of-statements",
    file: "agent/signer/state/entries.ts",
    find: "...(pin === undefined ? {} : { pin }) };\n  return { feeMax",
    replace: '...(pin === undefined || feeMax !== "" ? {} : { pin }) };\n  return { feeMax',
    invariant: "Attempts are stated without their pin, which the gateway takes for a contradiction, and the agent stops (lock).",
    world,
  },
  {
    name: "same-pin-is-a-contradiction",
    file: "gateway/hub/effect.ts",
    find: '(around.pin !== "" && around.pin !== pin),',
    replace: '(around.pin !== "" && around.pin === pin),',
    invariant: "The gateway takes a second attempt on the pin of the first for a contradiction, and the agent stops (lock).",
    world,
  },
  {
    name: "foreign-use-completes",
    file: "chains/utxo/outcome.ts",
    find: '  if (effect !== "moved") return { kind: "failed", code: "chain_slot_consumed", final };',
    replace: '  if (effect !== "moved") return { kind: "completed", final };',
    invariant: "Somebody else's transaction that spent the pin completes a withdrawal that it did not pay (truth).",
    when: ({ rates }) => rates.foreignOutgoing > 0,
    world,
  },
  {
    name: "recovery-without-pins",
    file: "gateway/recovery/offer.ts",
    find: '    ...(pin === "" ? {} : { pin }),\n',
    replace: '    ...(pin === "" || pin !== "" ? {} : { pin }),\n',
    invariant: "A recovery offers attempts without their pin, the signer refuses it, and nobody pays any more (liveness).",
    when: ({ recoveryScenario, rates }) => recoveryScenario && rates.ledgerRestored > 0,
    world,
  },
];
