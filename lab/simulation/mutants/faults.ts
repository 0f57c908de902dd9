/**
 * Mutants of what keeps a fault with the thing that has it, and of the ends by two clocks: one
 * merchant's unreadable things stop others, or cost more and more; one merchant's many things take
 * every pass; a clock that is wrong for seconds ends requests.
 */
import type { Mutant } from "./mutant.ts";

const book = "gateway/faults/book.ts";
const bad = "one-bad-among-many";
const clock = "gateway-clock";

export const faultMutants: readonly Mutant[] = [
  {
    name: "fault-of-an-item-ends-the-pass",
    file: book,
    find: "    if (group === null || isItemFault(fault)) this.#note(key, fault, isWaited);\n    return null;",
    replace: "    this.#note(key, fault, isWaited);\n    throw fault;",
    invariant:
      "One thing that cannot be read ends the pass, and nobody else is paid (a fault stays with the thing that has it).",
    world: bad,
  },
  {
    name: "fault-without-back-off",
    file: book,
    find: "retryAtMs: nowMs + restMs };",
    replace: "retryAtMs: nowMs + restMs * 0 };",
    invariant:
      "What cannot be read is asked for in each pass (it is asked for more and more rarely).",
    world: bad,
    when: ({ bad: items }) => items.includes("addresses"),
  },
  {
    name: "rest-does-not-grow",
    file: "gateway/faults/domains.ts",
    find: "restFirstMs * 2 ** Math.min(tries - 2, 20)",
    replace: "restFirstMs * 2 ** Math.min(tries - 2, 0)",
    invariant:
      "What cannot be read is asked for four times a minute for good (it is asked for more and more rarely).",
    world: bad,
    when: ({ bad: items, leastMs }) => items.includes("addresses") && leastMs > 0,
  },
  {
    name: "faults-do-not-rise",
    file: book,
    find: "    if (first !== undefined && (isMany || isRefused)) {",
    replace: "    if (first !== undefined && (isMany || isRefused) && alike.length < 0) {",
    invariant:
      "A token that nobody can read is a fault of each account (it is one fault of the token).",
    world: bad,
    when: ({ bad: items }) => items.includes("token"),
  },
  {
    name: "turns-in-order-of-rows",
    file: "gateway/faults/turns.ts",
    find: "    return [...merchants].sort((a, b) => this.#questionsOf(a) - this.#questionsOf(b) || dealtAt(a) - dealtAt(b));",
    replace: "    return [...merchants].filter((one) => dealtAt(one) >= 0);",
    invariant:
      "One merchant's many addresses take each pass, and another's deposits are never swept (nothing waits for good).",
    world: bad,
    when: ({ bad: items }) =>
      items.includes("dust") &&
      !items.some((one) => one !== "dust" && one !== "payouts" && one !== "ends"),
  },
  {
    name: "ends-by-the-own-clock-alone",
    file: "gateway/watcher/ends.ts",
    find: "(headMs < row.expiresAt && !stands)",
    replace: "(headMs < 0 && !stands)",
    invariant:
      "A clock that is a day ahead for seconds ends open requests (no request ends before its time).",
    world: clock,
    when: ({ deposits }) => deposits.length > 0,
  },
  {
    name: "chain-time-never-reaches-an-end",
    file: "gateway/watcher/ends.ts",
    find: "(headMs < row.expiresAt && !stands)",
    replace: "(headMs < row.expiresAt + 3_600_000 && !stands)",
    invariant:
      "A request stays open an hour behind its end (a request ends when clock and chain are past its end).",
    world: clock,
    when: ({ deposits }) => deposits.some(({ isUnpaid }) => isUnpaid === true),
  },
  {
    name: "claimed-end-never-endable",
    file: "agent/signer/state/withdrawal.ts",
    find: "return unpaidEnds.has(state) || (endedStates.has(state) && !isOver(withdrawal));",
    replace: "return unpaidEnds.has(state);",
    invariant:
      "A payment whose coin no chain has waits for good after a made-up end (nothing waits for good).",
    world: "unnamed-coins",
    when: ({ unnamed, family }) => unnamed === "both" && family === "bitcoinregtest",
  },
  {
    name: "below-end-never-endable",
    file: "agent/signer/handlers/end.ts",
    find: "if (compare(began.slot, slot) <= 0)",
    replace: "if (compare(began.slot, slot) !== 0)",
    invariant:
      "A payment below its account's first sequence waits for good (nothing waits for good).",
    world: "unnamed-coins",
    when: ({ unnamed, family }) => unnamed === "both" && family === "xrp",
  },
  {
    name: "missing-coin-never-endable",
    file: "gateway/hub/session.ts",
    find: "listWithdrawalsOnUnknownCoins(database, agent.id, true);",
    replace: "listWithdrawalsOnUnknownCoins(database, agent.id, true).slice(1);",
    invariant: "A payment whose coin no chain has waits for good (nothing waits for good).",
    world: "unnamed-coins",
    when: ({ unnamed, family }) => unnamed === "both" && family === "bitcoinregtest",
  },
];
