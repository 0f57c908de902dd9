/**
 * Mutants of the courier's scheduler: what is signed when, sent again, made more expensive, looked
 * for, and called the end.
 */
import type { Mutant } from "./mutant.ts";

const scheduler = "agent/courier/scheduler/scheduler.ts";
const sending = "agent/courier/scheduler/sending.ts";
const watching = "agent/courier/scheduler/watching.ts";

export const schedulerMutants: readonly Mutant[] = [
  {
    name: "refresh-closes-what-is-new",
    file: scheduler,
    find: "    if (!open.has(item.view.transactionId) && item.openedAtMs < askedAtMs) closeItem(book, item, nowMs);",
    replace: "    if (!open.has(item.view.transactionId)) closeItem(book, item, nowMs);",
    invariant:
      "A view that was asked for before a withdrawal came closes it here, and nobody works on it any more (liveness).",
    when: ({ rates }) =>
      rates.slowDisk > 0 && rates.lineCut + rates.lineHangs + rates.gatewayDies > 0,
  },
  {
    name: "away-permanently",
    file: scheduler,
    find: '  account.away = "";\n  account.head = chainState.number;',
    replace: "  account.head = chainState.number;",
    invariant:
      "Nodes that were away once count as away permanently, and nothing is signed (liveness).",
  },
  {
    name: "never-a-higher-fee",
    file: scheduler,
    find: "  requestFeeBumps(account, nowMs, out);\n",
    replace: "",
    invariant:
      "A fee that the market has overtaken is never raised, and every later nonce waits (liveness).",
    when: ({ rates }) => rates.feeSpikes > 0,
  },
  {
    name: "bumps-the-last",
    file: sending,
    find: "  const first = itemWithLowestSlot(pending);",
    replace: "  const first = sortBySlot(pending).at(-1);",
    invariant:
      "The highest nonce is made more expensive instead of the one all others wait for (liveness).",
    when: ({ rates, orders }) => rates.feeSpikes > 0 && orders.length > 1,
  },
  {
    name: "bump-sent-never",
    file: sending,
    find: "  const newest = listAttemptsWithBytes(item.view).at(-1);\n  if (newest === undefined || isPastSending(item, newest)) return;",
    replace:
      "  const newest = listAttemptsWithBytes(item.view).at(0);\n  if (newest === undefined || isPastSending(item, newest)) return;",
    invariant:
      "A replacement with a higher fee is signed and released, and the nodes get the first one again and again (liveness).",
    when: ({ rates }) => rates.feeSpikes > 0,
  },
  {
    name: "unsent-gives-up",
    file: sending,
    find: '    item.waiting = "no node takes it";',
    replace: '    item.waiting = "no node takes it";\n    item.stopped = "NODE_NONE";',
    invariant: "Bytes that no node took at first are never handed out again (liveness).",
    when: ({ rates }) => rates.nodeErrors > 0,
  },
  {
    name: "consumed-means-lost",
    file: sending,
    find: '    out.push({ kind: "look", ...accountFieldsOfEffect(item.account), wanted: [inclusionQuestionOf(item)] });',
    replace: '    item.chainOutcome = { outcome: "conflicted", txHash: attempt.txHash, block: 0 };',
    invariant:
      "A node's words about a nonce end the withdrawal as lost, though the chain pays it (truth).",
    when: ({ rates }) => rates.nodeHides + rates.nodeLags + rates.nodeSilence > 0,
  },
  {
    name: "lost-at-first-suspicion",
    file: watching,
    find: "    const isSure = item.foreign.count > foreignMax && nowMs - item.foreign.firstAtMs >= foreignOverMs;",
    replace: "    const isSure = item.foreign.count > 0;",
    invariant:
      "A receipt that comes later than the count ends the withdrawal as lost, though the chain pays it (truth).",
    when: ({ rates }) => rates.nodeHides + rates.nodeLags > 0,
  },
  {
    name: "looks-for-the-newest-only",
    file: sending,
    find: "  return { withdrawal: item.view, txHashes: listPossiblyIncludedAttempts(item.view).map((attempt) => attempt.txHash) };",
    replace:
      "  return { withdrawal: item.view, txHashes: listPossiblyIncludedAttempts(item.view).slice(-1).map((attempt) => attempt.txHash) };",
    invariant:
      "A block that took an earlier attempt is not found, and the withdrawal never ends or ends as lost (truth).",
    when: ({ rates }) => rates.feeSpikes > 0 && rates.minerStale > 0,
  },
  {
    name: "once-in-a-block-permanently",
    file: watching,
    find: "  if (item.misses < missesMax) return;",
    replace: "  if (item.misses < missesMax * 1000) return;",
    invariant: "What left the chain counts as in its block and is never sent again (liveness).",
    when: ({ rates }) => rates.reorganisation > 0 && rates.poolForgets > 0,
  },
  {
    name: "one-node-says-final",
    file: "chains/evm/node-sender.ts",
    find: "attempts.map(({ txHash }) => nodes.finalReceipt(txHash))",
    replace: "attempts.map(({ txHash }) => nodes.receipt(txHash))",
    invariant: "The end of a withdrawal is taken from a single node (truth).",
    when: ({ rates, nodes }) => rates.nodeLies > 0 && nodes > 1,
  },
  {
    name: "hello-hides-intents",
    file: "agent/signer/runtime/courier-acts.ts",
    find: "if (!isOver(withdrawal)) open.push(signer.view(withdrawal));",
    replace:
      'if (!isOver(withdrawal) && withdrawal.state !== "intent") open.push(signer.view(withdrawal));',
    invariant:
      "After a restart the courier does not learn of intents without a signature, and nobody finishes them (liveness).",
    when: ({ rates }) => rates.signerDies + rates.powerFails > 0,
  },
];
