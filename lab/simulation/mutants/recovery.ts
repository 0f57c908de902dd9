/**
 * Mutants of the way back: orders, plans, what is held, what is told again, the end of a recovery,
 * and who takes a server's place.
 */
import type { Mutant } from "./mutant.ts";
import { agentWentBack, isCompared, isOfSent, isRescued } from "./plans.ts";

const opening = "agent/signer/state/opening.ts";
const openingAccounts = "agent/signer/state/opening-accounts.ts";
const bindings = "agent/signer/state/bindings.ts";

export const recoveryMutants: readonly Mutant[] = [
  {
    name: "next-one-too-low",
    file: openingAccounts,
    find: "    const next = farthestSlot(network, [floor, ...marks.filter((mark) => mark !== undefined)]);\n",
    replace: `    const far = farthestSlot(network, [floor, ...marks.filter((mark) => mark !== undefined)]);
    const next = kept.length > 0 ? (BigInt(far) - 1n).toString() : far;
`,
    sentence: "After an opening the newest nonce that the gateway knows of is given out once more (bijection).",
    when: agentWentBack,
  },
  {
    name: "opening-overlooks-the-chain",
    file: openingAccounts,
    find: "counts.get(network), ...own",
    replace: "slots.first, ...own",
    sentence: "An opening does not count what only the chain remembers: its yes gives out nonces that are used (liveness).",
    when: isCompared,
  },
  {
    name: "forgotten-slots-are-left",
    file: bindings,
    find: '    bound.set(id, { item, own, account: item.account, slot: item.slot, rival: "" });',
    replace: '    if (own !== undefined) bound.set(id, { item, own, account: item.account, slot: item.slot, rival: "" });',
    sentence:
      "What the ledger has forgotten and the gateway knows signed is not kept on its slot, and comes on another (bijection).",
    when: agentWentBack,
  },
  {
    name: "own-slots-are-left",
    file: bindings,
    find: "    if (item === undefined) bound.set(",
    replace: "    if (item !== undefined) bound.set(",
    sentence: "What only the ledger has on a slot is left out, though its bytes may be out, and is paid on another (bijection).",
    when: isRescued,
  },
  {
    name: "what-ended-is-asked-for-again",
    file: opening,
    find: "  const ended = book.open.filter((one) => isOver(one) && !kept.has(one.transactionId));",
    replace: "  const ended = book.open.filter((one) => !isOver(one) && kept.has(one.transactionId));",
    sentence: "What ended here and was not acknowledged is forgotten by an opening, and paid when it is asked for again (truth).",
    when: isRescued,
  },
  {
    name: "forgotten-versions-unknown",
    file: opening,
    find: "const named = (item?.versions ?? []).map(",
    replace: "const named = (own === undefined ? (item?.versions ?? []) : []).map(",
    sentence: "An opened ledger does not know by which version a withdrawal was paid: it is called lost, or signed anew (truth).",
    when: isOfSent,
  },
  {
    name: "bytes-that-the-gateway-lacks",
    file: opening,
    find: "return known?.released === true\n",
    replace: "return known !== undefined\n",
    sentence: "What was signed and not let out by this ledger is shown by an opened one without its release (release).",
    when: agentWentBack,
  },
  {
    name: "opened-in-the-old-epoch",
    file: opening,
    find: "    paired: { ...old.paired, epoch: order.epoch },",
    replace: "    paired: old.paired,",
    sentence: "A ledger is opened under the epoch that was taken away, and no gateway greets it (liveness).",
    when: isRescued,
  },
  {
    name: "lock-outlives-the-opening",
    file: opening,
    find: "    locked: null,",
    replace: "    locked: old.locked,",
    sentence: "An opening lifts no lock, so that a locked agent never pays again (liveness).",
    when: agentWentBack,
  },
  {
    name: "kept-and-never-judged",
    file: "agent/signer/acts/request.ts",
    find: "  for (const withdrawal of open.filter(isUnjudged)) turn.commit([judgeKept(turn, withdrawal)]);\n",
    replace: "",
    sentence: "What an opened ledger keeps is judged by nobody, and its slot stays open for ever (liveness).",
    when: agentWentBack,
  },
  {
    name: "kept-on-a-new-nonce",
    file: "agent/signer/acts/replace.ts",
    find: "  const { slot, versions } = withdrawal;\n",
    replace: "  const { versions } = withdrawal;\n  const slot = newest.facts === null ? account.next : withdrawal.slot;\n",
    sentence: "A withdrawal whose bytes were forgotten is signed again on another nonce, and both can be paid (bijection).",
    when: agentWentBack,
  },
  {
    name: "opened-without-new-places",
    file: "gateway/recovery/recovery.ts",
    find: "  unplaceJobs(database, agent.id);\n",
    replace: "",
    sentence:
      "What an opened ledger left out keeps its place at the gateway, which is behind where the agent goes on (liveness).",
    when: agentWentBack,
  },
  {
    name: "policy-decides-what-came-late",
    file: "agent/signer/state/core.ts",
    find: "    return this.isHolding || issuedAt < this.#heldBefore;\n",
    replace: "    return this.isHolding;\n",
    sentence:
      "An order given while all was held, and on its way until somebody ended that, is approved by policy, perhaps a second time (truth).",
    when: isCompared,
  },
  {
    name: "ended-not-named",
    file: "gateway/recovery/order.ts",
    find: "recoveryWithdrawalsMax - withdrawals.length).map(told);",
    replace: "0).map(told);",
    sentence:
      "An order does not say by which version a withdrawal was paid that is open in the ledger: it is called lost there, or signed anew (truth).",
    when: isOfSent,
  },
  {
    name: "recovered-hold-runs-out",
    file: "agent/signer/acts/decide.ts",
    find: "    if (isHeldByRecovery(withdrawal)) continue;\n",
    replace: "",
    sentence: "What a recovery held runs out by time once it has ended, and is called Failed without a person (truth).",
    when: isRescued,
  },
  {
    name: "policy-decides-in-a-recovery",
    file: "agent/signer/acts/request.ts",
    find: '  if (turn.core.isOfRecovery(job)) return { kind: "HELD", transactionId, code: "RECOVERY_HOLD" };\n',
    replace: "",
    sentence:
      "An order that comes in a recovery is approved by policy, though both sides may have forgotten its payment (truth).",
    when: isRescued,
  },
  {
    name: "released-without-a-word",
    file: "gateway/operator/people.ts",
    find: '    if (reason !== null && !isUnheard) return refuse("GATEWAY_AGENT_UNHEARD", reason);\n',
    replace: "",
    sentence: "A server is released though the database was put back, and the next one pays again what it has forgotten (truth).",
    when: (each) => each.takeover,
  },
  {
    name: "unheard-leaves-no-mark",
    file: "gateway/pairing/pairing.ts",
    find: "  if (!wasGivenUp(database, merchant)) return;\n",
    replace: "  if (!wasGivenUp(database, merchant) || nowMs > 0) return;\n",
    sentence: "Whoever follows a server that was given up begins without a recovery, and policy pays by itself (truth).",
    when: ({ rates }) => rates.pairedAgain > 0,
  },
  {
    name: "issued-when-it-is-placed",
    file: "gateway/withdrawals/jobs.ts",
    find: "    issuedAt: Math.min(transaction.createdAt, transaction.expiresAt - 1),",
    replace: "    issuedAt: transaction.expiresAt - 1,",
    sentence:
      "What waited at the gateway for its place until a recovery had ended counts as asked for after it, and is paid again (truth).",
    world: "same-epoch",
  },
  {
    name: "any-ledger-of-the-epoch",
    file: "gateway/recovery/recovery.ts",
    find: "  return row !== undefined && order.startsWith(row.mark);",
    replace: "  return row !== undefined && order !== row.mark;",
    sentence:
      "A database that was put back counts to the same epoch twice, and takes the ledger of the first time for the recovery that was ordered since (release).",
    world: "same-epoch",
  },
  {
    name: "signs-while-offered",
    file: "agent/signer/acts/run.ts",
    find: '  if (run.orders.isWhole) return refuse("RECOVERY_OFFERED");',
    replace: "  if (run.orders.isWhole) return null;",
    sentence: "An agent signs on under the epoch that a recovery's order has taken away, before anybody said yes (monotone).",
    when: isRescued,
  },
];
