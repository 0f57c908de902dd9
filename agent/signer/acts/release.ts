/**
 * The release gate: bytes may leave once the gateway's database holds their record. Touches
 * nothing; records go through the `Turn`. Source: docs/protocol.md section 7.
 */
import { invariant } from "../../../base/fault.ts";
import type { Head } from "../../../protocol/messages.ts";
import type { RecordBody } from "../../ledger/records.ts";
import type { Turn } from "./run.ts";

/** The most versions in one RELEASED record; more go into several records. */
const releasedPerRecordMax = 1_000;

/**
 * Opens the gate for every version that the gateway's database covers with `held`, a head that fits
 * our ledger. Returns the released withdrawals.
 */
export function release(turn: Turn, held: Head): readonly string[] {
  const { book, heads } = turn.core;
  if (held.seq === heads.acked.seq) return [];
  const releasable = book.releasable(held.seq);
  const bodies: RecordBody[] = [];
  for (let from = 0; from < releasable.length; from += releasedPerRecordMax) {
    const part = releasable.slice(from, from + releasedPerRecordMax);
    // Each record but the last acknowledges only the released versions, so a record lost in a torn
    // write loses no waiting version.
    const acked = from + part.length === releasable.length ? held : headAt(turn, part.at(-1)?.seq ?? 0);
    const released = part.map(({ transactionId, version }) => ({ transactionId, version }));
    bodies.push({ kind: "RELEASED", acked: { seq: acked.seq, hash: acked.hash }, released });
  }
  if (bodies.length === 0) bodies.push({ kind: "REPORTED", acked: { seq: held.seq, hash: held.hash } });
  turn.commit(bodies);
  return [...new Set(releasable.map((one) => one.transactionId))];
}

function headAt({ core }: Turn, seq: number): Head {
  const hash = core.heads.hashAt(seq);
  invariant(hash !== null, "the hash of what is not acknowledged is kept");
  return { seq, hash };
}
