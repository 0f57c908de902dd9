/**
 * Mutants of the way back: orders, plans, what is held, what is sent again, the end of a recovery,
 * and who takes a server's place.
 */
import type { Mutant } from "./mutant.ts";
import { agentRolledBack, isCompared, isOfSent, isRescued } from "./plans.ts";

const input = "agent/signer/state/recovered-ledger.ts";
const recoveredAccounts = "agent/signer/state/recovered-ledger.ts";
const bindings = "agent/signer/state/slot-assignments.ts";

export const recoveryMutants: readonly Mutant[] = [
  {
    name: "next-one-too-low",
    file: recoveredAccounts,
    find: "    const next = farthestSlot(network, [floor, ...marks.filter((mark) => mark !== undefined)]);\n",
    replace: `    const far = farthestSlot(network, [floor, ...marks.filter((mark) => mark !== undefined)]);
    const next = kept.length > 0 ? (BigInt(far) - 1n).toString() : far;
`,
    invariant:
      "After a recovery the newest nonce that the gateway knows of is given out once more (bijection).",
    when: agentRolledBack,
  },
  {
    name: "opening-overlooks-the-chain",
    file: recoveredAccounts,
    find: "counts.get(network), ...own",
    replace: "slots.least, ...own",
    invariant:
      "A recovery does not count what only the chain remembers: its yes gives out nonces that are used (liveness).",
    when: isCompared,
  },
  {
    name: "forgotten-slots-are-left",
    file: bindings,
    find: '    assigned.set(id, { item, own, account: item.account, slot: item.slot, rival: "" });',
    replace:
      '    if (own !== undefined) assigned.set(id, { item, own, account: item.account, slot: item.slot, rival: "" });',
    invariant:
      "What the ledger has forgotten and the gateway knows signed is not kept on its slot, and comes on another (bijection).",
    when: agentRolledBack,
  },
  {
    name: "own-slots-are-left",
    file: bindings,
    find: "    if (item === undefined) assigned.set(",
    replace: "    if (item !== undefined) assigned.set(",
    invariant:
      "What only the ledger has on a slot is left out, though its bytes may be out, and is paid on another (bijection).",
    when: isRescued,
  },
  {
    name: "what-ended-is-asked-for-again",
    file: input,
    find: "  const ended = book.open.filter((one) => isOver(one) && !kept.has(one.transactionId));",
    replace:
      "  const ended = book.open.filter((one) => !isOver(one) && kept.has(one.transactionId));",
    invariant:
      "What ended here and was not acknowledged is forgotten by a recovery, and paid when it is asked for again (truth).",
    when: isRescued,
  },
  {
    name: "forgotten-attempts-unknown",
    file: input,
    find: "const named = (item?.attempts ?? []).map(",
    replace: "const named = (own === undefined ? (item?.attempts ?? []) : []).map(",
    invariant:
      "A recovered ledger does not know by which attempt a withdrawal was paid: it is called lost, or signed again (truth).",
    when: isOfSent,
  },
  {
    name: "bytes-that-the-gateway-lacks",
    file: input,
    find: "return known?.released === true\n",
    replace: "return known !== undefined\n",
    invariant:
      "What was signed and not let out by this ledger is shown by a recovered one without its release (release).",
    when: agentRolledBack,
  },
  {
    name: "opened-in-the-old-epoch",
    file: input,
    find: "    paired: { ...old.paired, ledgerEpoch: order.ledgerEpoch },",
    replace: "    paired: old.paired,",
    invariant:
      "A ledger is recovered under the epoch that was taken away, and no gateway completes the handshake with it (liveness).",
    when: isRescued,
  },
  {
    name: "lock-outlives-the-opening",
    file: input,
    find: "    locked: null,",
    replace: "    locked: old.locked,",
    invariant: "A recovery lifts no lock, so that a locked agent never pays again (liveness).",
    when: agentRolledBack,
  },
  {
    name: "kept-and-never-judged",
    file: "agent/signer/handlers/request.ts",
    find: "  for (const withdrawal of open.filter(isUnjudged)) context.commit([judgeKept(context, withdrawal)]);\n",
    replace: "",
    invariant:
      "What a recovered ledger keeps is judged by nobody, and its slot stays open permanently (liveness).",
    when: agentRolledBack,
  },
  {
    name: "kept-on-a-new-nonce",
    file: "agent/signer/handlers/replace.ts",
    find: "  const { slot, attempts } = withdrawal;\n",
    replace:
      "  const { attempts } = withdrawal;\n  const slot = newest.txParams === null ? account.next : withdrawal.slot;\n",
    invariant:
      "A withdrawal whose bytes were forgotten is signed again on another nonce, and both can be paid (bijection).",
    when: agentRolledBack,
  },
  {
    name: "opened-without-new-places",
    file: "gateway/recovery/recovery.ts",
    find: "  unnumberJobs(database, agent.id);\n",
    replace: "",
    invariant:
      "What a recovered ledger left out keeps its place at the gateway, which is behind where the agent goes on (liveness).",
    when: agentRolledBack,
  },
  {
    name: "policy-decides-what-came-late",
    file: "agent/signer/state/core.ts",
    find: "    return this.isHolding || issuedAt < this.#heldBefore;\n",
    replace: "    return this.isHolding;\n",
    invariant:
      "An order given while all was held, and on its way until somebody ended that, is approved by policy, perhaps a second time (truth).",
    when: isCompared,
  },
  {
    name: "ended-not-named",
    file: "gateway/recovery/offer.ts",
    find: "recoveryWithdrawalsMax - withdrawals.length).map(told);",
    replace: "0).map(told);",
    invariant:
      "An order does not say by which attempt a withdrawal was paid that is open in the ledger: it is called lost there, or signed again (truth).",
    when: isOfSent,
  },
  {
    name: "recovered-hold-runs-out",
    file: "agent/signer/handlers/decide.ts",
    find: "    if (isHeldByRecovery(withdrawal)) continue;\n",
    replace: "",
    invariant:
      "What a recovery held runs out by time once it has ended, and is called Failed without an operator (truth).",
    when: isRescued,
  },
  {
    name: "policy-decides-in-a-recovery",
    file: "agent/signer/handlers/request.ts",
    find: '  if (context.core.isOfRecovery(job)) return { kind: "HELD", transactionId, code: "RECOVERY_HOLD" };\n',
    replace: "",
    invariant:
      "An order that comes in a recovery is approved by policy, though both sides may have forgotten its payment (truth).",
    when: isRescued,
  },
  {
    name: "released-without-a-word",
    file: "gateway/operator/accounts.ts",
    find: '    if (reason !== null && !isCatchUpSkipped) return refuse("GATEWAY_AGENT_NOT_CAUGHT_UP", reason);\n',
    replace: "",
    invariant:
      "A server is unpaired though the database was restored, and the next one pays again what it has forgotten (truth).",
    when: (each) => each.takeover,
  },
  {
    name: "not-caught-up-leaves-no-mark",
    file: "gateway/pairing/pairing.ts",
    find: "  if (!hasAgentUnpairedBeforeCatchUp(database, merchant)) return;\n",
    replace: "  if (!hasAgentUnpairedBeforeCatchUp(database, merchant) || nowMs > 0) return;\n",
    invariant:
      "Anybody who follows a server that was given up begins without a recovery, and policy pays by itself (truth).",
    when: ({ rates }) => rates.pairedAgain > 0,
  },
  {
    name: "issued-when-it-is-placed",
    file: "gateway/withdrawals/jobs.ts",
    find: "    issuedAt: Math.min(transaction.createdAt, transaction.expiresAt - 1),",
    replace: "    issuedAt: transaction.expiresAt - 1,",
    invariant:
      "What waited at the gateway for its place until a recovery had ended counts as asked for after it, and is paid again (truth).",
    world: "same-epoch",
  },
  {
    name: "any-ledger-of-the-epoch",
    file: "gateway/recovery/recovery.ts",
    find: "  return row !== undefined && order.startsWith(row.mark);",
    replace: "  return row !== undefined && order !== row.mark;",
    invariant:
      "A database that was restored counts to the same epoch twice, and takes the ledger of the first time for the recovery that was ordered since (release).",
    world: "same-epoch",
  },
  {
    name: "signs-while-offered",
    file: "agent/signer/handlers/context.ts",
    find: '  if (run.orders.isWhole) return refuse("RECOVERY_OFFERED");',
    replace: "  if (run.orders.isWhole) return null;",
    invariant:
      "An agent signs on under the epoch that a recovery's order has taken away, before anybody said yes (monotone).",
    when: isRescued,
  },
];
