/**
 * Mutants of sequences and of the ends of attempts: a sequence that is used up by a failed payment,
 * an attempt whose last ledger has passed, and one that lives too long.
 */
import type { Mutant } from "./mutant.ts";

const world = "sequences";
const fees = "chains/xrp/fees.ts";
const outcome = "chains/xrp/node-outcome.ts";

export const sequenceMutants: readonly Mutant[] = [
  {
    name: "sequence-already-used",
    file: "chains/xrp/node-accounts.ts",
    find: "current?.sequenceQueued ?? final.sequence, final.sequence];",
    replace: "current?.sequenceQueued ?? final.sequence, final.sequence - 1n];",
    invariant:
      "The account begins at a sequence that it has used, and its first payment waits permanently (liveness).",
    world,
  },
  {
    name: "failed-payment-has-no-end",
    file: outcome,
    find: '  if (transaction.result !== done) return "reverted";\n',
    replace: "",
    invariant:
      "A payment that the ledger claimed the fee of, and did not carry out, never comes to an end (liveness).",
    world,
  },
  {
    name: "failed-payment-counts-as-paid",
    file: outcome,
    find: '  if (transaction.result !== done) return "reverted";\n',
    replace: '  if (transaction.result !== done) return "paid";\n',
    invariant:
      "A payment that used its sequence up and moved nothing completes its withdrawal (truth).",
    world,
  },
  {
    name: "replacement-with-the-old-end",
    file: fees,
    find: "    lastLedger: larger(wanted.lastLedger, lastLedgerOf(attempts)),\n",
    replace: "    lastLedger: lastLedgerOf(attempts),\n",
    invariant:
      "A replacement ends with the attempt that it replaces, so no ledger ever takes one that comes later (liveness).",
    world,
  },
  {
    name: "expired-attempt-is-outbid",
    file: fees,
    find: "  return highest === 0n || isPast ? feeDropsMin",
    replace: "  return highest === 0n || (isPast && lastLedger < 0n) ? feeDropsMin",
    invariant:
      "An attempt near the ceiling whose last ledger has passed must be outbid, and no attempt ever follows (liveness).",
    world,
  },
  {
    name: "attempt-without-time",
    file: fees,
    find: "lastLedger: ledger + ledgersToWait });",
    replace: "lastLedger: ledger });",
    invariant:
      "An attempt's last ledger has passed when it is made, and no payment ever gets through (liveness).",
    world,
  },
  {
    name: "attempt-without-an-end",
    file: fees,
    find: "const ledgersToWait = 20n;",
    replace: "const ledgersToWait = 20_000n;",
    invariant: "An attempt stays payable for a day instead of a minute (prices).",
    world,
  },
  {
    name: "end-by-the-newest-word",
    file: "chains/xrp/node-sender.ts",
    find: "ledger: BigInt(final.number) };",
    replace: "ledger: BigInt(head.number) };",
    invariant:
      "One node's newest ledger, which nobody else has, decides how long an attempt lives (prices).",
    world,
  },
  {
    name: "expired-attempt-is-an-end",
    file: "chains/xrp/node-judge.ts",
    find: '    if (!isUsed) return { kind: "waiting" };\n',
    replace:
      '    if (sequence === null) return { kind: "waiting" };\n    if (!isUsed) return { kind: "failed", code: "chain_slot_consumed", final: { ...final, txHash: txHashes[0] ?? "", block: final.number, feeUnits: 0n } };\n',
    invariant: "An attempt that no ledger shows is called void while its sequence is free (truth).",
    world,
  },
];
