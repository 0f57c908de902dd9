/**
 * Mutants of policy: sums that forget something, windows of the wrong length, ceilings that hold
 * only at first.
 */
import type { Mutant } from "./mutant.ts";

const policy = "agent/signer/policy/policy.ts";
const holds = "agent/signer/policy/holds.ts";
const window = "agent/signer/policy/window.ts";
const sums = "agent/signer/policy/sums.ts";

export const policyMutants: readonly Mutant[] = [
  {
    name: "day-counted-at-signing",
    file: sums,
    find: "        for (const window of [hour, day]) window.replace(",
    replace: "        for (const window of [hour]) window.replace(",
    invariant:
      "An approval does not count until it is bound, so more is approved in a day than the limit (policy).",
    when: ({ policy, orders }) => policy === "daily" && orders.length > 2,
  },
  {
    name: "hour-counted-at-signing",
    file: sums,
    find: "        for (const window of [hour, day]) window.replace(",
    replace: "        for (const window of [day]) window.replace(",
    invariant:
      "An approval does not count until it is bound, so more is approved in an hour than the limit (policy).",
    when: ({ policy, orders }) => policy === "narrow" && orders.length > 2,
  },
  {
    name: "hour-of-what-was-assigned-not-counted",
    file: sums,
    find: "        for (const window of [hourAssigned, dayAssigned]) {",
    replace: "        for (const window of [dayAssigned]) {",
    invariant: "Approvals that waited are all bound in one hour, above its limit (policy).",
    when: ({ rates, policy, orders }) =>
      policy === "narrow" && rates.timeLeaps > 0 && orders.length > 2,
  },
  {
    name: "old-approvals-not-weighed-again",
    file: policy,
    find: "    const outdated = built.attempt === 1 ? this.#outdated(built.approval, limits, nowMs) : null;",
    replace: "    const outdated: Refusal | null = null;",
    invariant:
      "What waited for funds or nodes is let out at once when they come, above the limits (policy).",
    when: ({ rates, policy, orders }) =>
      policy === "narrow" && rates.timeLeaps > 0 && orders.length > 2,
  },
  {
    name: "hour-of-what-was-assigned-lasts-a-day",
    file: sums,
    find: "    hourAssigned: new SlidingWindow(hourMs, kept.hourAssigned),",
    replace: "    hourAssigned: new SlidingWindow(dayMs, kept.hourAssigned),",
    invariant:
      "What was bound counts for the hour a whole day long, and what waits for it stands still (liveness).",
    when: ({ rates, policy, orders }) =>
      policy === "narrow" &&
      rates.timeLeaps > 0 &&
      rates.nodeErrors + rates.nodeSilence > 0 &&
      orders.length > 1,
  },
  {
    name: "hours-of-the-calendar",
    file: window,
    find: "      if (entry.atMs > nowMs - this.#spanMs) break;\n      if (entry.standing === standing) units += entry.units;",
    replace:
      "      if (entry.atMs >= nowMs - (nowMs % this.#spanMs)) break;\n      if (entry.standing === standing) units += entry.units;",
    invariant:
      "Limits start again at each full hour and day, so twice the limit passes around midnight (policy).",
    when: ({ policy, orders }) => (policy === "narrow" || policy === "daily") && orders.length > 2,
  },
  {
    name: "window-a-minute-short",
    file: window,
    find: "      if (entry.atMs > nowMs - this.#spanMs) break;\n      if (entry.standing === standing) units += entry.units;",
    replace:
      "      if (entry.atMs > nowMs - this.#spanMs + 60_000) break;\n      if (entry.standing === standing) units += entry.units;",
    invariant: "Amounts leave the window a minute early (policy).",
    when: ({ rates, policy, orders }) =>
      policy === "narrow" && rates.timeLeaps > 0 && orders.length > 2,
  },
  {
    name: "reverted-gives-its-amount-back",
    file: policy,
    find: "    this.sums.apply(record, currency);",
    replace: `    this.sums.apply(record, currency);
        if (record.kind === "OBSERVED" && record.stage === "final" && record.outcome !== "paid") {
          this.sums.of(currency).hour.remove(record.transactionId);
          this.sums.of(currency).day.remove(record.transactionId);
        }`,
    invariant:
      "The courier's word that a payment failed gives its amount back to the day (policy).",
    when: ({ rates, policy, orders }) =>
      rates.reverts + rates.hostileCourier > 0 &&
      (policy === "narrow" || policy === "daily") &&
      orders.length > 2,
  },
  {
    name: "one-payment-above-its-limit",
    file: policy,
    find: '    if (units > limits.maxPerWithdrawalUnits) return { decision: "refuse", code: "POLICY_ABOVE_WITHDRAWAL" };\n',
    replace: "",
    invariant: "A single payment above its limit is approved (policy).",
  },
  {
    name: "operator-overrules-the-day",
    file: policy,
    find: "    if (above !== null) return refuse(above);\n",
    replace: "",
    invariant: "An operator's yes is taken above the limits of hour and day (policy).",
    when: ({ policy, orders }) => (policy === "narrow" || policy === "daily") && orders.length > 2,
  },
  {
    name: "machine-approves-what-is-for-actors",
    file: holds,
    find: '  if (isAbove(units, limits.holdAboveUnits)) return "POLICY_HOLD_ABOVE";\n',
    replace: "",
    invariant: "Amounts that an operator was to look at are paid without one (policy).",
  },
  {
    name: "manual-needs-nobody",
    file: holds,
    find: '  if (mode === "manual") return "POLICY_MANUAL";',
    replace: '  if (mode === "manual" && candidate.address === "") return "POLICY_MANUAL";',
    invariant:
      "A manual withdrawal that names its destination is paid without an operator's yes (policy).",
  },
  {
    name: "bump-above-its-ceiling",
    file: policy,
    find: `      this.#aboveFees(feeKeyOfAttempt(network, transactionId, built.attempt), currency, limits,`,
    replace: `      this.#aboveFees(feeKeyOfAttempt(network, transactionId, built.attempt), currency, built.attempt > 1 ? { ...limits, maxFeeUnits: 1n << 255n } : limits,`,
    invariant:
      "A replacement with a higher fee may name any fee, and a courier that lies about the market spends it (policy).",
    // A hostile courier alone has no half a minute for a second attempt, and honest ones pay less.
    world: "two-liars",
    when: ({ family }) => family === "evm",
  },
  {
    name: "no-ceiling-for-a-first-attempt",
    file: policy,
    find: `      this.#aboveFees(feeKeyOfAttempt(network, transactionId, built.attempt), currency, limits,`,
    replace: `      this.#aboveFees(feeKeyOfAttempt(network, transactionId, built.attempt), currency, built.attempt === 1 ? { ...limits, maxFeeUnits: 1n << 255n } : limits,`,
    invariant:
      "A first attempt may name any fee, and a courier that lies about the market spends it (policy).",
    // A hostile courier alone has no half a minute for a second attempt, and honest ones pay less.
    world: "two-liars",
    when: ({ family }) => family === "evm",
  },
  {
    name: "no-ceiling-for-the-day",
    file: policy,
    find: "    const isAboveDay = isAboveLimit(fees, limits.maxFeePerDayUnits, { key, units: feeMaxUnits }, nowMs);",
    replace: "    const isAboveDay = feeMaxUnits > limits.maxFeePerDayUnits;",
    invariant:
      "Each fee is held against the day's ceiling alone, and their sum against nothing (policy).",
    when: ({ rates, orders }) => rates.hostileCourier > 0 && orders.length > 1,
  },
  {
    name: "another-destination-than-named",
    file: "agent/signer/handlers/approve.ts",
    find: '  const destination = named === "" ? address : named;',
    replace:
      '  const destination = named === "" ? "0x70997970C51812dc3A010C7d01b50e0d17dc79C8" : named;',
    invariant:
      "What an operator says yes to goes to another address than the one they named (bijection).",
    when: ({ orders }) => orders.some(({ address }) => address === ""),
  },
];
