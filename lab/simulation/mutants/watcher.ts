/**
 * Mutants of the gateway's watcher and of what several nodes must say together: the ends that
 * cannot be taken back.
 */
import type { Mutant } from "./mutant.ts";

const withdrawals = "gateway/watcher/withdrawals.ts";
const evidence = "chains/evm/node-watcher.ts";
const verdict = "chains/evm/outcome.ts";
const finality = "chains/evm/node-finality.ts";
const chainBlocks = "chains/providers/chain-blocks.ts";

export const watcherMutants: readonly Mutant[] = [
  {
    name: "completed-at-inclusion",
    file: evidence,
    find: `    if (receipt.blockNumber > final.number) return unproven;
    const agreed = await nodes.finalReceipt(txHash);`,
    replace: "    const agreed: typeof receipt | null = receipt;",
    invariant:
      "A payment in the newest block is Completed, and a reorganisation takes it out again (truth).",
    when: ({ rates }) => rates.reorganisation > 0,
  },
  {
    name: "failed-at-the-first-revert",
    file: evidence,
    find: `    if (receipt.blockNumber > final.number) return unproven;
    const agreed = await nodes.finalReceipt(txHash);`,
    replace: `    if (receipt.status !== 0 && receipt.blockNumber > final.number) return unproven;
    const agreed = receipt.status === 0 ? receipt : await nodes.finalReceipt(txHash);`,
    invariant:
      "A revert in a block that is not final is Failed, and pays after a reorganisation (truth).",
    when: ({ rates }) => rates.reverts > 0,
  },
  {
    name: "one-receipt-is-enough",
    file: finality,
    find: "  return agreedValueOrNull(found, pool.quorumMin,",
    replace:
      "  return agreedValueOrNull({ ...found, agreed: found.count < pool.quorumMin ? null : found.shown }, pool.quorumMin,",
    invariant: "One node that lies about a receipt decides what a withdrawal became (truth).",
    when: ({ rates, nodes }) => rates.nodeLies > 0 && nodes > 1,
  },
  {
    name: "highest-final-block-counts",
    file: chainBlocks,
    find: "        const reached = told[pool.quorumMin - 1];",
    replace: "        const reached = told[0];",
    invariant: "One node that runs ahead makes blocks final that can still be taken back (truth).",
    when: ({ rates, nodes }) => rates.nodeLies > 0 && nodes > 1,
  },
  {
    name: "final-a-block-early",
    file: chainBlocks,
    find: "    return { node, number: Math.max(0, head.number - final + 1), block: null, head: head.hash };",
    replace: "    return { node, number: head.number, block: null, head: head.hash };",
    invariant:
      "The newest block counts as final, whatever number of confirmations is configured (truth).",
    when: ({ rates, saysFinal }) => rates.reorganisation > 0 && !saysFinal,
  },
  {
    name: "any-use-of-the-nonce-pays",
    file: verdict,
    find: '  if (contract === "") return sent.to === destination && sent.valueUnits === amountUnits;',
    replace: '  if (contract === "") return amountUnits > 0n && sent.to !== account;',
    invariant:
      "A foreign transaction that used the nonce counts as the payment, whomever it paid (truth).",
    when: ({ rates }) => rates.foreignOutgoing > 0,
  },
  {
    name: "only-the-newest-attempt-counts",
    file: withdrawals,
    find: "    else known.hashes.push(attemptTxHash);",
    replace: "    else known.hashes[0] = attemptTxHash;",
    invariant:
      "A payment by an earlier attempt is not recognised, and the withdrawal is stuck though it is paid (truth).",
    when: ({ rates }) => rates.feeSpikes > 0 && rates.minerStale > 0,
  },
  {
    name: "revert-of-an-earlier-attempt",
    file: verdict,
    find: "    if (final === null) continue;",
    replace: '    if (final === null) return { kind: "waiting" };',
    invariant:
      "An attempt that no block holds hides the one that is final, so a bumped payment never ends (liveness).",
    when: ({ rates }) => rates.feeSpikes > 0,
  },
];
