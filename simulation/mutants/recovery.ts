/** Mutants of the way back: orders, plans, what is held, what is told again, the end of a recovery, and who takes a server's place. */
import type { Mutant } from "./mutant.ts";
import { isCompared, isOfHeld, isOfSent, isRescued } from "./plans.ts";

const plan = "agent/signer/recovery/plan.ts";
const decisions = "agent/signer/withdrawal/decisions.ts";
const withdrawal = "agent/signer/withdrawal/withdrawal.ts";
const tokens = "agent/signer/withdrawal/tokens.ts";

export const recoveryMutants: readonly Mutant[] = [
  {
    name: "recovered-next-one-too-low",
    file: "agent/signer/withdrawal/accounts.ts",
    find: "    found.next = to;\n",
    replace: "    found.next = to > found.next ? to - 1n : to;\n",
    sentence: "After a recovery the newest nonce that the gateway knows of is given out once more (bijection).",
    when: (each) => isRescued(each) && each.rates.ledgerRestored + each.rates.folderCloned > 0,
  },
  {
    name: "recovery-overlooks-the-chain",
    file: "agent/signer/recovery/watermarks.ts",
    find: "BigInt(gatewayNext), chainCount ?? 0n]) if",
    replace: "BigInt(gatewayNext)]) if",
    sentence:
      "A recovery does not count what only the chain remembers: its yes gives out nonces that are used, and the agent locks again (liveness).",
    when: isCompared,
  },
  {
    name: "recovered-hold-runs-out",
    file: decisions,
    find: "    if (isHeldByRecovery(withdrawal)) continue;\n",
    replace: "",
    sentence: "What a recovery held runs out by time once it has ended, and is called Failed without a person (truth).",
    when: isRescued,
  },
  {
    name: "policy-decides-in-a-recovery",
    file: "agent/signer/admission/request.ts",
    find: '  if (turn.core.isOfRecovery(job)) return { kind: "HELD", transactionId, code: "RECOVERY_HOLD" };\n',
    replace: "",
    sentence:
      "An order that comes in a recovery is approved by policy, though both sides may have forgotten its payment (truth).",
    when: isRescued,
  },
  {
    name: "policy-decides-what-came-late",
    file: "agent/signer/core.ts",
    find: "    return this.#recovery !== null || issuedAt < this.#heldBefore;\n",
    replace: "    return this.#recovery !== null;\n",
    sentence:
      "An order given in a recovery, and on its way until somebody ended it, is approved by policy, perhaps for a second time (truth).",
    when: isRescued,
  },
  {
    name: "ended-not-named",
    file: "gateway/recovery/order.ts",
    find: "recoveryWithdrawalsMax - withdrawals.length);",
    replace: "0);",
    sentence:
      "An order does not say by which version a withdrawal was paid that is open in the ledger: it is called lost there, or signed anew (truth).",
    when: isOfSent,
  },
  {
    name: "lost-while-the-ledger-lacks-something",
    file: "agent/signer/withdrawal/claims.ts",
    find: '  if (core.locked !== null && core.locked.code !== "CHAIN_NONCE_FOREIGN") return refuse("SIGNER_LOCKED", core.locked.code);\n  if (!run.greeted && run.echoed === null)',
    replace: "  if (core.locked === null && !run.greeted)",
    sentence: "A locked ledger calls lost what a version paid that it has forgotten, before its recovery names that (truth).",
    when: isOfSent,
  },
  {
    name: "bound-there-counts-nothing-here",
    file: plan,
    find: "  const units = boundUnits(core, job, nonce, withdrawal.amountUnits);\n",
    replace: '  const units = nonce === "" ? "" : withdrawal.amountUnits;\n',
    sentence: "What was only held in a ledger that was put back, and has a token since, counts against no limit (limits).",
    when: isOfHeld,
  },
  {
    name: "settled-waits-for-ever",
    file: "agent/signer/admission/request.ts",
    find: '  if (known === undefined || (isSettled && code === "")) {\n',
    replace: "  if (known === undefined) {\n",
    sentence: "What a recovery took for ended, and the shop asks for again, is answered by nobody (liveness).",
    when: (each) => isRescued(each) && each.rates.gatewayRestored > 0,
  },
  {
    name: "policy-decides-what-was-settled",
    file: "agent/signer/admission/request.ts",
    find: '  if (wasSettled) return { kind: "HELD", transactionId, code: "RECOVERY_SETTLED" };\n',
    replace: "",
    sentence: "What a recovery took for ended, and is asked for after it, is approved by policy though it may be paid (truth).",
    when: (each) => isRescued(each) && each.rates.gatewayRestored > 0,
  },
  {
    name: "released-without-a-word",
    file: "gateway/operator/people.ts",
    find: '    if (reason !== null && unheard === undefined) return refuse("GATEWAY_AGENT_UNHEARD", reason);\n',
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
    name: "quarantined-on-a-new-nonce",
    file: tokens,
    find: "  return intend(turn, approval, account, BigInt(withdrawal.nonce), above + 1, unlike(",
    replace:
      "  const isTaken = newest.feeMax !== undefined;\n  return intend(turn, approval, account, isTaken ? account.next : BigInt(withdrawal.nonce), above + 1, unlike(",
    sentence: "A yes to a withdrawal whose bytes were forgotten signs it on another nonce, and both can be paid (bijection).",
    when: (each) => isRescued(each) && each.rates.ledgerRestored + each.rates.folderCloned > 0,
  },
  {
    name: "quarantined-can-be-refused",
    file: withdrawal,
    find: '  quarantined: { broadcast: "quarantined",',
    replace: '  quarantined: { refused: "refused", broadcast: "quarantined",',
    sentence: "What is on its way is refused after a recovery, and the shop is told that it was never paid (truth).",
    when: isRescued,
  },
  {
    name: "finished-before-it-is-taken",
    file: "agent/signer/recovery/recover.ts",
    find: '  if (core.heads.acked.seq < recovery.seq) return refuse("RECOVERY_NOT_TAKEN");\n',
    replace: "",
    sentence: "A recovery ends before the gateway has heard of it, and policy decides on what nobody has compared (monotone).",
    when: isRescued,
  },
  {
    name: "lost-facts-stay-lost",
    file: plan,
    find: '    ...facts.map((fact) => ({ kind: "RESTATED", fact }) as const),\n',
    replace: "",
    sentence: "A gateway that was put back is not told again what it lost, and counts as whole all the same (truth).",
    when: (each) => isRescued(each) && each.rates.gatewayRestored > 0,
  },
  {
    name: "lock-outlives-the-recovery",
    file: "agent/signer/core.ts",
    find: "    this.#locked = null;\n    this.#recovery = { seq: record.seq };",
    replace: "    this.#recovery = { seq: record.seq };",
    sentence: "A recovery lifts no lock, so that a locked agent never pays again (liveness).",
    when: isRescued,
  },
  {
    name: "forgotten-bytes-made-again",
    file: tokens,
    find: "above + 1, unlike(withdrawal, raised(newest, facts)));",
    replace: "above + 1, raised(newest, facts));",
    sentence: "The forgotten bytes are signed again as another version, which contradicts what the gateway holds (liveness).",
    when: (each) => isRescued(each) && each.rates.ledgerRestored + each.rates.folderCloned > 0,
  },
  {
    name: "seen-before-is-enough",
    file: withdrawal,
    find: "  withdrawal.observed = null;\n",
    replace: "",
    sentence: "What was seen before a recovery is not taken again after the yes, and its fee never rises (liveness).",
    when: (each) => isRescued(each) && each.rates.feeSpikes > 0,
  },
  {
    name: "asked-again-leaves-a-gap",
    file: "gateway/hub/statements.ts",
    find: "      if (isAskedAgain(progress, entry, first.sequence)) {",
    replace: "      if (isAskedAgain(progress, entry, Number.MAX_SAFE_INTEGER)) {",
    sentence: "What a recovery tells answers a job that was never sent, and every later one is refused as a gap (liveness).",
    when: (each) => isRescued(each) && each.rates.gatewayRestored > 0,
  },
  {
    name: "signs-while-offered",
    file: "agent/signer/run.ts",
    find: '  if (run.orders.isWhole) return refuse("RECOVERY_OFFERED");',
    replace: "  if (run.orders.isWhole) return null;",
    sentence: "An agent signs on under the epoch that a recovery's order has taken away, before anybody said yes (monotone).",
    when: isRescued,
  },
];
