/**
 * Mutants of what stands against a second payment where ledger and database are both restored to
 * before it: the nodes' count with what waits for a block, where a slot excludes; the gateway's
 * reader and its word on each order, where none does.
 */
import type { Plan } from "../world/plan.ts";
import type { Mutant } from "./mutant.ts";
import { isRestoredTogether } from "./plans.ts";

const world = "both-restored";

/** Nobody carries out a recovery, on this family. */
const isAloneOn =
  (...families: readonly Plan["family"][]) =>
  (plan: Plan): boolean =>
    isRestoredTogether(plan) && !plan.isUnseen && families.includes(plan.family);

export const bothRestoredMutants: readonly Mutant[] = [
  {
    name: "forgotten-in-the-queue-unseen",
    file: "chains/xrp/node-accounts.ts",
    find: "      current?.sequence ?? final.sequence,\n      current?.sequenceQueued ?? final.sequence,\n",
    replace: "      final.sequence,\n      final.sequence,\n",
    invariant:
      "A sequence is given to another order while a ledger can still take the payment on it that ledger and database have forgotten (payments).",
    world,
    when: (plan) => isAloneOn("xrp")(plan) && plan.rates.feeSpikes > 0,
  },
  {
    name: "forgotten-in-the-mempool-unseen",
    file: "chains/evm/node-finality.ts",
    find: '          ["latest", "pending", hexOf(final.number)].map((tag) =>',
    replace: "          [0, 0, 0].map(() => hexOf(final.number)).map((tag) =>",
    invariant:
      "A nonce is given to another order while a block can still take the payment on it that ledger and database have forgotten (payments).",
    world,
    when: (plan) => isAloneOn("evm")(plan) && plan.rates.feeSpikes > 0,
  },
  {
    name: "signs-without-the-gateways-word",
    file: "agent/signer/handlers/cleared.ts",
    find: '  return run.sightings.clears(transactionId, monotonicMs) ? null : refuse("WITHDRAWAL_UNCLEARED");',
    replace:
      '  return run.sightings.clears(transactionId, monotonicMs) || transactionId !== "" ? null : refuse("WITHDRAWAL_UNCLEARED");',
    invariant:
      "What ledger and database knew as unsigned when both were copied is signed again and leaves, although it was paid since (payments).",
    world,
    when: isAloneOn("tron", "bitcoinregtest", "litecoinregtest"),
  },
  {
    name: "mempool-not-asked",
    file: "gateway/watcher/watcher.ts",
    find: '  if (reader.unconfirmed === undefined) return "";',
    replace: '  if (reader.unconfirmed === undefined || account !== "") return "";',
    invariant:
      "A wallet counts as read while its payment waits in the mempool, and the order that was forgotten is signed on another coin (payments).",
    world,
    when: isAloneOn("bitcoinregtest", "litecoinregtest"),
  },
];
