/**
 * Mutants of the release gate: bytes that leave before the gateway durably holds the record of
 * their signature.
 */
import type { Mutant } from "./mutant.ts";
import { mayLock } from "./plans.ts";

const book = "agent/signer/state/withdrawals.ts";

export const releaseMutants: readonly Mutant[] = [
  {
    name: "no-release-gate",
    file: "agent/signer/state/view.ts",
    find: "  if (!attempt.released) return view;",
    replace: '  if (!attempt.released && attempt.raw === "") return view;',
    invariant:
      "Bytes leave as soon as they are signed, so a ledger restored from a backup can have forgotten a payment that is out (release).",
  },
  {
    name: "any-ack-opens-the-gate",
    file: "agent/signer/handlers/release.ts",
    find: "const releasable = book.releasable(held.seq);",
    replace: "const releasable = book.releasable(heads.head.seq);",
    invariant:
      "An acknowledgement of any head lets out everything that is signed, known to the gateway or not (release).",
  },
  {
    name: "gate-one-record-too-wide",
    file: book,
    find: "      if (waiting.seq > seq) break;",
    replace: "      if (waiting.seq > seq + 1) break;",
    invariant: "The record right after the acknowledged one is let out as well (release).",
  },
  {
    name: "gate-forgets-the-second",
    file: book,
    find: "      found.push(waiting);",
    replace: "      found.push(waiting);\n      break;",
    invariant:
      "An acknowledgement that covers many signatures releases the first, and the rest wait permanently (liveness).",
  },
  {
    name: "ack-while-locked",
    file: "agent/signer/handlers/ack.ts",
    find: "  const closed = (context.run.resync === null ? refuseIfGateClosed(context) : resyncGate(context)) ?? refuseIfClockSkewed(context, ack);",
    replace:
      "  const closed = (context.run.resync === null ? null : resyncGate(context)) ?? refuseIfClockSkewed(context, ack);",
    invariant:
      "A signer that is locked, or has no handshake, still lets bytes out when an acknowledgement comes (monotone).",
    // An acknowledgement has to be on its way when the lock is found.
    when: ({ orders, rates, linkSlowMs }) =>
      orders.length > 2 && rates.foreignOutgoing > 800 && linkSlowMs >= 150,
  },
  {
    name: "locked-but-handshake-done",
    file: "agent/signer/handlers/context.ts",
    find: '  if (core.locked !== null) return refuse("SIGNER_LOCKED", core.locked.code);',
    replace:
      '  if (core.locked !== null && !run.handshakeDone) return refuse("SIGNER_LOCKED", core.locked.code);',
    invariant:
      "A lock that is found while the link is up stops nothing until the next start (monotone).",
    when: mayLock,
  },
  {
    name: "signed-after-the-lock",
    file: "agent/signer/runtime/signatures.ts",
    find: "    const closed = refuseIfGateClosed(this.#options.context());",
    replace: "    const closed: ReturnType<typeof refuseIfGateClosed> = null;",
    invariant: "What was recorded before a lock is signed after it (monotone).",
    when: (plan) => mayLock(plan) && plan.rates.slowDisk > 0,
  },
  {
    name: "gate-never-asked-again",
    file: "agent/signer/state/entries.ts",
    find: "    return entries.length === 0 ? [] : statementBatchesOf(entries, after, durable, hashAt);",
    replace:
      "    return entries.length <= 1 ? [] : statementBatchesOf(entries, after, durable, hashAt);",
    invariant:
      "A single entry is never stated, so its acknowledgement never comes and its gate stays shut (liveness).",
  },
];
