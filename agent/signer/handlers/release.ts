/**
 * The release gate: bytes may leave once the gateway's database holds their record. Touches
 * nothing; records go through the `RequestContext`. Source: docs/protocol.md section 7.
 */
import { invariant } from "../../../base/fault.ts";
import type { AgentLedgerHead } from "../../../protocol/messages.ts";
import type { RecordBody } from "../../ledger/records.ts";
import type { RequestContext } from "./context.ts";

/** The most attempts in one RELEASED record; more go into several records. */
const releasedPerRecordMax = 1_000;

/**
 * Opens the gate for every attempt that the gateway's database covers with `held`, a head that fits
 * our ledger. Returns the released withdrawals.
 */
export function releaseAttemptsUpTo(
  context: RequestContext,
  held: AgentLedgerHead,
): readonly string[] {
  const { book, heads } = context.core;
  if (held.seq === heads.acked.seq) return [];
  const releasable = book.releasable(held.seq);
  const bodies: RecordBody[] = [];
  for (let from = 0; from < releasable.length; from += releasedPerRecordMax) {
    const part = releasable.slice(from, from + releasedPerRecordMax);
    // Each record but the last acknowledges only the released attempts, so a record lost in a torn
    // write loses no waiting attempt.
    const acked =
      from + part.length === releasable.length ? held : headAt(context, part.at(-1)?.seq ?? 0);
    const released = part.map(({ transactionId, attempt }) => ({ transactionId, attempt }));
    bodies.push({ kind: "RELEASED", acked: { seq: acked.seq, hash: acked.hash }, released });
  }
  if (bodies.length === 0)
    bodies.push({ kind: "REPORTED", acked: { seq: held.seq, hash: held.hash } });
  context.commit(bodies);
  return [...new Set(releasable.map((one) => one.transactionId))];
}

function headAt({ core }: RequestContext, seq: number): AgentLedgerHead {
  const hash = core.heads.hashAt(seq);
  invariant(hash !== null, "the hash of what is not acknowledged is kept");
  return { seq, hash };
}
