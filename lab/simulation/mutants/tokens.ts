/**
 * Mutants of exclusion tokens: which nonce a withdrawal gets, that it keeps it for life, and that
 * no other ever gets it.
 */
import type { Mutant } from "./mutant.ts";

const accounts = "agent/signer/state/accounts.ts";

export const tokenMutants: readonly Mutant[] = [
  {
    name: "nonce-anew-after-a-crash",
    file: "agent/signer/acts/sign.ts",
    find: "  if (first !== undefined) return waitingBelow(core, placeOf(withdrawal)) ?? recorded(turn, withdrawal, first);\n",
    replace: `  if (first !== undefined) {
    const again = core.policy.approval(transactionId);
    const from = core.accounts.find(withdrawal.job.network, withdrawal.account);
    if (again !== undefined && from !== undefined) {
      const slot = from.next;
      return intend(turn, { withdrawal, approval: again, account: from, slot, version: 1, facts });
    }
  }`,
    sentence: "An intent without a signature, as a crash leaves it, is made again with the next nonce (one token for life).",
    when: ({ rates }) => rates.signerDies + rates.powerFails > 0,
  },
  {
    name: "bound-waits-while-others-are-signed",
    file: "agent/signer/rim/courier-acts.ts",
    find: "  if (run.greeted && (!greeted || run.greeting !== greeting)) signer.signBound();\n",
    replace: "",
    sentence:
      "A nonce that a crash left without a signature waits while higher ones leave; a restored ledger forgets it for good (liveness).",
    when: ({ rates }) => rates.signerDies + rates.powerFails > 0,
  },
  {
    name: "unsigned-intent-is-closed",
    file: "agent/signer/acts/intent.ts",
    find: '  const unsigned = Uint8Array.from(Buffer.from(made.unsigned.slice(2), "hex"));\n',
    replace:
      '  if (version === 1) return { ok: false, code: "WITHDRAWAL_CLOSED" };\n  const unsigned = Uint8Array.from(Buffer.from(made.unsigned.slice(2), "hex"));\n',
    sentence: "An intent without a signature is never finished, and every later nonce waits behind it (liveness).",
    when: ({ rates }) => rates.signerDies + rates.powerFails > 0,
  },
  {
    name: "bump-with-a-new-nonce",
    file: "agent/signer/acts/replace.ts",
    find: "  return intend(turn, { withdrawal, approval, account, slot, version: above + 1, facts: dearer, tipAllowedUnits });",
    replace:
      "  return intend(turn, { withdrawal, approval, account, slot: account.next, version: above + 1, facts: dearer, tipAllowedUnits });",
    sentence: "A dearer version gets a nonce of its own, so both versions can be paid (one token for life).",
  },
  {
    name: "bump-uses-up-a-number",
    file: accounts,
    find: '    if (record.kind === "INTENT" && record.version === 1) {',
    replace: `    if (record.kind === "INTENT" && record.version > 1) {
      const bumped = this.find(record.network, record.account);
      if (bumped !== undefined) bumped.next = (BigInt(bumped.next) + 1n).toString();
    }
    if (record.kind === "INTENT" && record.version === 1) {`,
    sentence: "A fee bump counts as a use of the account, so a nonce is left out and all later ones wait for it (liveness).",
    when: ({ rates, orders }) => rates.hostileCourier + rates.feeSpikes > 0 && orders.length > 2,
  },
  {
    name: "final-frees-the-nonce",
    file: accounts,
    find: "    if (change === 0) return;",
    replace: `    const owner = this.find(network, account);
    if (to === "reverted" && owner !== undefined) owner.next = (BigInt(owner.next) - 1n).toString();
    if (change === 0) return;`,
    sentence:
      "What the courier calls reverted gives its nonce back, and the next withdrawal gets one that is in use (bijection).",
    when: ({ rates, orders }) => rates.reverts + rates.hostileCourier > 0 && orders.length > 1,
  },
  {
    name: "account-begins-anew",
    file: accounts,
    find: "  return next !== adopted;",
    replace: "  return BigInt(next) < BigInt(adopted);",
    sentence: "The courier may name another first nonce after tokens were bound, and used ones are given out again (bijection).",
  },
  {
    name: "counter-follows-the-courier",
    file: "agent/signer/acts/adopt.ts",
    find: "  if (familyOf(network).slots.compare(count, explainedTo(turn, account)) <= 0) {",
    replace:
      "  if (BigInt(count) > BigInt(account.next)) account.next = count;\n  if (familyOf(network).slots.compare(count, explainedTo(turn, account)) <= 0) {",
    sentence:
      "The courier's count of the chain moves the next nonce, so numbers are left out or differ after a restart (bijection).",
  },
  {
    name: "lost-only-alarms",
    file: "agent/signer/acts/observe.ts",
    find: '  if (!core.isHolding) lock(turn, "CHAIN_SLOT_FOREIGN", detail);\n',
    replace: "",
    sentence: "Somebody else uses a nonce that is bound, which the count never shows, and signing goes on (monotone).",
    when: ({ rates }) => rates.foreignSpend > 0,
  },
  {
    name: "nonce-by-what-is-pending",
    file: "agent/signer/acts/sign.ts",
    find: "  return intend(turn, { ...next, slot: account.next });",
    replace: "  return intend(turn, { ...next, slot: (BigInt(account.adopted) + BigInt(account.pending)).toString() });",
    sentence: "The next nonce is counted from what is unfinished, and is wrong as soon as something is final (bijection).",
  },
  {
    name: "refused-after-the-intent",
    file: "agent/signer/state/machine.ts",
    find: '  intent: { held: "quarantined", intent: "intent", signed: "signed" },',
    replace: '  intent: { held: "quarantined", intent: "intent", signed: "signed", refused: "refused" },',
    sentence: "A decline is taken after the token was bound, and says that nothing was ever signed (truth).",
    when: ({ rates }) => rates.hostileCourier > 0 && rates.slowDisk + rates.signerDies > 0,
  },
  {
    name: "refused-at-the-gate",
    file: "agent/signer/state/machine.ts",
    find: '  signed: { released: "released" },',
    replace: '  signed: { released: "released", refused: "refused" },',
    sentence: "A person may refuse what is signed and waits at the gate, and its nonce is left out for ever (truth).",
    when: ({ rates }) => rates.hostileCourier > 0,
  },
  {
    name: "refused-when-it-is-out",
    file: "agent/signer/state/machine.ts",
    find: '  released: { ...seen, ...versionsIn("released") },',
    replace: '  released: { ...seen, ...versionsIn("released"), refused: "refused" },',
    sentence:
      "A person may refuse what left the signer already, and the service calls failed what the chain may still pay (truth).",
    when: ({ rates }) => rates.hostileCourier > 0,
  },
  {
    name: "bound-runs-out",
    file: "agent/signer/state/machine.ts",
    find: '  signed: { released: "released" },',
    replace: '  signed: { released: "released", expired: "expired" },',
    sentence: "What is signed runs out while the gateway is away: expired says that nothing was ever signed (truth).",
    when: ({ rates }) => rates.timeLeaps > 0 && rates.lineCut + rates.lineHangs + rates.gatewayDies > 0,
  },
  {
    name: "runs-out-by-the-wall-clock",
    file: "agent/signer/acts/decide.ts",
    find: "  const { nowMs } = turn;\n",
    replace: "  const nowMs = turn.localMs;\n",
    sentence: "A local clock that jumps ends withdrawals whose time has not come (truth).",
    when: ({ rates, policy }) => rates.clockJumps > 0 && (policy === "holding" || policy === "daily"),
  },
];
