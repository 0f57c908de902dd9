/**
 * Mutants of exclusion tokens: which nonce a withdrawal gets, that it keeps it for life, and that
 * no other ever gets it.
 */
import type { Mutant } from "./mutant.ts";

const accounts = "agent/signer/state/accounts.ts";

export const tokenMutants: readonly Mutant[] = [
  {
    name: "nonce-again-after-a-crash",
    file: "agent/signer/handlers/sign.ts",
    find: "  if (first !== undefined) return (waitingBelow(core, placeOf(withdrawal)) ?? prepareRecordedIntent(context, withdrawal, first));\n",
    replace: `  if (first !== undefined) {
    const again = core.policy.approval(transactionId);
    const from = core.accounts.find(withdrawal.job.network, withdrawal.account);
    if (again !== undefined && from !== undefined) {
      const slot = from.next;
      return recordIntent(context, { withdrawal, approval: again, account: from, slot, attempt: 1, txParams });
    }
  }`,
    invariant:
      "An intent without a signature, as a crash leaves it, is made again with the next nonce (one token for life).",
    when: ({ rates }) => rates.signerDies + rates.powerFails > 0,
  },
  {
    name: "assigned-waits-while-others-are-signed",
    file: "agent/signer/runtime/courier-acts.ts",
    find: "  if (run.handshakeDone && (!handshakeDone || run.handshake !== handshake)) signer.signAssigned();\n",
    replace: "",
    invariant:
      "A nonce that a crash left without a signature waits while higher ones leave; a restored ledger forgets it for good (liveness).",
    when: ({ rates }) => rates.signerDies + rates.powerFails > 0,
  },
  {
    name: "unsigned-intent-is-closed",
    file: "agent/signer/handlers/intent.ts",
    find: '  const unsigned = Uint8Array.from(Buffer.from(made.unsigned.slice(2), "hex"));\n',
    replace:
      '  if (attempt === 1) return { ok: false, code: "WITHDRAWAL_CLOSED" };\n  const unsigned = Uint8Array.from(Buffer.from(made.unsigned.slice(2), "hex"));\n',
    invariant:
      "An intent without a signature is never finished, and every later nonce waits behind it (liveness).",
    when: ({ rates }) => rates.signerDies + rates.powerFails > 0,
  },
  {
    name: "bump-with-a-new-nonce",
    file: "agent/signer/handlers/replace.ts",
    find: "    slot,\n    attempt: above + 1,\n    txParams: higher,",
    replace: "    slot: account.next,\n    attempt: above + 1,\n    txParams: higher,",
    invariant:
      "A replacement with a higher fee gets a nonce of its own, so both attempts can be paid (one token for life).",
  },
  {
    name: "bump-uses-up-a-number",
    file: accounts,
    find: '    if (record.kind === "INTENT" && record.attempt === 1) {',
    replace: `    if (record.kind === "INTENT" && record.attempt > 1) {
      const bumped = this.find(record.network, record.account);
      if (bumped !== undefined) bumped.next = (BigInt(bumped.next) + 1n).toString();
    }
    if (record.kind === "INTENT" && record.attempt === 1) {`,
    invariant:
      "A fee bump counts as a use of the account, so a nonce is left out and all later ones wait for it (liveness).",
    when: ({ rates, orders }) => rates.hostileCourier + rates.feeSpikes > 0 && orders.length > 2,
  },
  {
    name: "final-frees-the-nonce",
    file: accounts,
    find: "    if (change === 0) return;",
    replace: `    const owner = this.find(network, account);
    if (to === "reverted" && owner !== undefined) owner.next = (BigInt(owner.next) - 1n).toString();
    if (change === 0) return;`,
    invariant:
      "What the courier calls reverted gives its nonce back, and the next withdrawal gets one that is in use (bijection).",
    when: ({ rates, orders }) => rates.reverts + rates.hostileCourier > 0 && orders.length > 1,
  },
  {
    name: "account-begins-again",
    file: accounts,
    find: "  return next !== adopted;",
    replace: "  return BigInt(next) < BigInt(adopted);",
    invariant:
      "The courier may name another first nonce after tokens were bound, and used ones are given out again (bijection).",
  },
  {
    name: "counter-follows-the-courier",
    file: "agent/signer/handlers/adopt.ts",
    find: "  if (compare(count, explainedTo(context, account)) <= 0) {",
    replace:
      "  if (BigInt(count) > BigInt(account.next)) account.next = count;\n  if (compare(count, explainedTo(context, account)) <= 0) {",
    invariant:
      "The courier's count of the chain moves the next nonce, so numbers are left out or differ after a restart (bijection).",
  },
  {
    name: "lost-only-alarms",
    file: "agent/signer/handlers/observe.ts",
    find: '  if (!core.isHolding && !isPinned) lockSigner(context, "CHAIN_SLOT_FOREIGN", detail);\n',
    replace: "",
    invariant:
      "Somebody else uses a nonce that is bound, which the count never shows, and signing goes on (monotone).",
    when: ({ rates }) => rates.foreignOutgoing > 0,
  },
  {
    name: "nonce-by-what-is-pending",
    file: "agent/signer/handlers/sign.ts",
    find: "  return recordIntent(context, { ...next, slot: account.next });",
    replace:
      "  return recordIntent(context, { ...next, slot: (BigInt(account.adopted) + BigInt(account.pending)).toString() });",
    invariant:
      "The next nonce is counted from what is unfinished, and is wrong as soon as something is final (bijection).",
  },
  {
    name: "refused-after-the-intent",
    file: "agent/signer/state/machine.ts",
    find: '  intent: { held: "quarantined", intent: "intent", signed: "signed" },',
    replace:
      '  intent: { held: "quarantined", intent: "intent", signed: "signed", refused: "refused" },',
    invariant:
      "A decline is taken after the slot was assigned, and says that nothing was ever signed (truth).",
    when: ({ rates }) => rates.hostileCourier > 0 && rates.slowDisk + rates.signerDies > 0,
  },
  {
    name: "refused-at-the-gate",
    file: "agent/signer/state/machine.ts",
    find: '  signed: { released: "released" },',
    replace: '  signed: { released: "released", refused: "refused" },',
    invariant:
      "An operator may refuse what is signed and waits at the gate, and its nonce is left out permanently (truth).",
    when: ({ rates }) => rates.hostileCourier > 0,
  },
  {
    name: "refused-when-it-is-out",
    file: "agent/signer/state/machine.ts",
    find: '  released: { ...seen, ...attemptsIn("released") },',
    replace: '  released: { ...seen, ...attemptsIn("released"), refused: "refused" },',
    invariant:
      "An operator may refuse what left the signer already, and the service calls failed what the chain may still pay (truth).",
    when: ({ rates }) => rates.hostileCourier > 0,
  },
  {
    name: "bound-runs-out",
    file: "agent/signer/state/machine.ts",
    find: '  signed: { released: "released" },',
    replace: '  signed: { released: "released", expired: "expired" },',
    invariant:
      "What is signed runs out while the gateway is away: expired says that nothing was ever signed (truth).",
    when: ({ rates }) =>
      rates.timeLeaps > 0 && rates.lineCut + rates.lineHangs + rates.gatewayDies > 0,
  },
  {
    name: "runs-out-by-the-wall-clock",
    file: "agent/signer/handlers/decide.ts",
    find: "  const { nowMs } = context;\n",
    replace: "  const nowMs = context.localMs;\n",
    invariant: "A local clock that jumps ends withdrawals whose time has not come (truth).",
    when: ({ rates, policy }) =>
      rates.clockJumps > 0 && (policy === "holding" || policy === "daily"),
  },
];
