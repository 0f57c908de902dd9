/**
 * Mutants of the release gate: bytes that leave before the gateway durably holds the record of
 * their signature.
 */
import type { Mutant } from "./mutant.ts";
import { mayLock } from "./plans.ts";

const book = "agent/signer/state/book.ts";

export const releaseMutants: readonly Mutant[] = [
  {
    name: "no-release-gate",
    file: "agent/signer/state/view.ts",
    find: "  if (!version.released) return view;",
    replace: '  if (!version.released && version.raw === "") return view;',
    sentence:
      "Bytes leave as soon as they are signed, so a ledger restored from a backup can have forgotten a payment that is out (release).",
  },
  {
    name: "any-ack-opens-the-gate",
    file: "agent/signer/acts/release.ts",
    find: "const releasable = book.releasable(held.seq);",
    replace: "const releasable = book.releasable(heads.head.seq);",
    sentence: "An acknowledgement of any head lets out everything that is signed, known to the gateway or not (release).",
  },
  {
    name: "gate-one-record-too-wide",
    file: book,
    find: "      if (waiting.seq > seq) break;",
    replace: "      if (waiting.seq > seq + 1) break;",
    sentence: "The record right after the acknowledged one is let out as well (release).",
  },
  {
    name: "gate-forgets-the-second",
    file: book,
    find: "      found.push(waiting);",
    replace: "      found.push(waiting);\n      break;",
    sentence: "An acknowledgement that covers many signatures releases the first, and the rest wait for ever (liveness).",
  },
  {
    name: "ack-while-locked",
    file: "agent/signer/acts/ack.ts",
    find: "  const closed = (turn.run.telling === null ? closedGate(turn) : toldGate(turn)) ?? skewOf(turn, ack);",
    replace: "  const closed = (turn.run.telling === null ? null : toldGate(turn)) ?? skewOf(turn, ack);",
    sentence:
      "A signer that locked itself, or that nobody greeted, still lets bytes out when an acknowledgement comes (monotone).",
    // An acknowledgement has to be on its way when the lock is found.
    when: ({ orders, rates, linkSlowMs }) => orders.length > 2 && rates.foreignSpend > 800 && linkSlowMs >= 150,
  },
  {
    name: "locked-but-greeted",
    file: "agent/signer/acts/run.ts",
    find: '  if (core.locked !== null) return refuse("SIGNER_LOCKED", core.locked.code);',
    replace: '  if (core.locked !== null && !run.greeted) return refuse("SIGNER_LOCKED", core.locked.code);',
    sentence: "A lock that is found while the link is up stops nothing until the next start (monotone).",
    when: mayLock,
  },
  {
    name: "signed-after-the-lock",
    file: "agent/signer/rim/signatures.ts",
    find: "    const closed = closedGate(this.#options.turn());",
    replace: "    const closed: ReturnType<typeof closedGate> = null;",
    sentence: "What was recorded before a lock is signed after it (monotone).",
    when: (plan) => mayLock(plan) && plan.rates.slowDisk > 0,
  },
  {
    name: "gate-never-asked-again",
    file: "agent/signer/state/entries.ts",
    find: "    return entries.length === 0 ? [] : batchesOf(entries, after, durable, hashAt);",
    replace: "    return entries.length <= 1 ? [] : batchesOf(entries, after, durable, hashAt);",
    sentence: "A single entry is never stated, so its acknowledgement never comes and its gate stays shut (liveness).",
  },
];
