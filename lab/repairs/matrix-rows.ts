/**
 * Repairs that the matrix of faults holds: a fault that is thrown out of the book, none that rises,
 * none that rests, and an address that cannot be read in the way of its merchant's orders.
 */
import type { Repair } from "./repair.ts";

const matrix = "test/watcher/fault-matrix.test.ts";
const book = "gateway/faults/book.ts";
const passed = "test/watcher/watcher-passed-over.test.ts";

/** The fault of an item is thrown, and so is everybody's. */
const thrown = (domain: string, item: string, title: string): Repair => ({
  name: `thrown-out-of-the-book-${domain}`,
  fault: `A fault of one ${item} ended the pass for everybody on the chain.`,
  file: book,
  find: "    const { fault } = answer;\n",
  replace: `    const { fault } = answer;\n    if (key.domain === "${domain}") throw fault;\n`,
  test: matrix,
  title,
});

export const matrixRepairs: readonly Repair[] = [
  thrown("address", "deposit address", "'address', 'evm'"),
  thrown("account", "hot wallet", "'account', 'tron'"),
  thrown("withdrawal", "payout", "'withdrawal', 'xrp'"),
  thrown("transaction", "unreadable transaction", "'transaction', 'tron'"),
  thrown("span", "run of blocks", "'span', 'bitcoin'"),
  thrown("head", "node's head", "'head', 'litecoin'"),
  {
    name: "faults-rise-to-the-currency",
    fault: "A token that nobody can read was a fault of each address, and nobody's of the token.",
    file: book,
    find: "if (first !== undefined && (isMany || isRefused)) {",
    replace: "if (first !== undefined && (isMany || isRefused) && alike.length < 0) {",
    test: matrix,
    title: "'currency', 'evm'",
  },
  {
    name: "faults-back-off",
    fault: "An item that cannot be read was asked for at each block.",
    file: book,
    find: "if (!isRestOver(retryAtMs, faultDomains[key.domain].restMaxMs, this.#clock())) return false;",
    replace: "if (this.#clock() < 0) return false;",
    test: matrix,
    title: "rests, longer each time",
  },
  {
    name: "unread-address-is-passed-over",
    fault:
      "One address that cannot be read, next to leave, stopped all further orders of its merchant.",
    file: "gateway/deposits/fresh-address.ts",
    find: "if (!isUnread(address)) break;",
    replace: "if (isUnread(address) || since < Number.POSITIVE_INFINITY) break;",
    test: matrix,
    title: "'address', 'bitcoin', 'one'",
  },
  {
    name: "unread-addresses-are-not-used-up",
    fault: "While no address of a merchant could be read, its orders used up one after the other.",
    file: "gateway/deposits/fresh-address.ts",
    find: "next: waiting };",
    replace: "next: waiting + 1 };",
    test: passed,
    title: "none is passed over while none behind it is read",
  },
  {
    name: "passed-over-address-is-forgotten",
    fault: "An address that orders passed over was told as unread for two days.",
    file: "gateway/watcher/ahead.ts",
    find: "  if (passed.size > 0) faults.keepOnly",
    replace: "  if (passed.size < 0) faults.keepOnly",
    test: passed,
    title: "after a minute the next one leaves in its place",
  },
  {
    name: "passed-over-address-of-an-earlier-run",
    fault: "The fault of an address that orders had passed over came back with each start.",
    file: "gateway/watcher/pass-faults.ts",
    find: " && !isGone(row));",
    replace: ' && (row.tries < 0 || !isGone(row) || row.domain === "address"));',
    test: passed,
    title: "is no fault of the next process",
  },
  {
    name: "price-that-lacks-stops-no-chain",
    fault:
      "One price that no server gave took the whole chain from the agent: nothing was looked for, sent again or judged.",
    file: "chains/utxo/node-sender.ts",
    find: 'parts.read("market", feeMarketNow)',
    replace: "feeMarketNow()",
    test: "test/chains/utxo-answers.test.ts",
    title: "has the network's rate for silence",
  },
  {
    name: "nothing-signed-without-a-part",
    fault: "An account whose own state could not be read would have been signed for.",
    file: "agent/courier/scheduler/signing.ts",
    find: 'if (unread !== "") return',
    replace: 'if (unread === "never") return',
    test: "test/courier/scheduler-parts.test.ts",
    title: "signs nothing new",
  },
];
