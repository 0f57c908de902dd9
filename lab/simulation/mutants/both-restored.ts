/**
 * Mutants of what stands against a second payment where ledger and database are both restored to an
 * old state: an order waits for the reader of its chain, and for what the reader found.
 */
import type { Mutant } from "./mutant.ts";

const world = "both-restored" as const;

export const bothRestoredMutants: readonly Mutant[] = [
  {
    name: "place-before-the-reader-is-level",
    file: "gateway/withdrawals/jobs.ts",
    find: " || !isLevel(database, wallet, run)) return",
    replace: ' || (wallet.account === "" && !isLevel(database, wallet, run))) return',
    invariant:
      "After a start an order goes to its agent before the chain was read again, and what both have forgotten is paid a second time (payments).",
    world,
    when: ({ family, isUnseen }) => !isUnseen && (family === "tron" || family === "bitcoinregtest"),
  },
  {
    name: "nothing-holds-an-order",
    file: "gateway/withdrawals/jobs.ts",
    find: '  return holders.length === 0 ? { kind: "place" }',
    replace: '  return holders.length >= 0 ? { kind: "place" }',
    invariant: "An order goes to its agent although the chain shows its payment, which nothing explains (payments).",
    world,
    when: ({ family, isUnseen }) => !isUnseen && (family === "tron" || family === "bitcoinregtest"),
  },
  {
    name: "signature-of-a-paid-order-acknowledged",
    file: "gateway/hub/statements.ts",
    find: "      if (held !== null) return held;\n",
    replace: "      if (held !== null && agent.id === transactionId) return held;\n",
    invariant:
      "What ledger and database knew as unsigned when both were copied is signed again and leaves, although it was paid since (payments).",
    world,
    when: ({ family, isUnseen }) => !isUnseen && (family === "tron" || family === "bitcoinregtest"),
  },
  {
    name: "mempool-not-asked",
    file: "gateway/watcher/level.ts",
    find: '  if (reader.unconfirmed === undefined) return "";',
    replace: '  if (reader.unconfirmed === undefined || reader.unconfirmed !== undefined) return "";',
    invariant:
      "A wallet counts as read while its payment waits in the mempool, and the order that was forgotten is signed on another coin (payments).",
    world,
    when: ({ family, isUnseen }) => !isUnseen && family === "bitcoinregtest",
  },
];
