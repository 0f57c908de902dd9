/**
 * The whole ledger read back: every segment, every hash, every checkpoint that is still kept. Reads only.
 * docs/ledger.md section 7.
 */
import { AgentError } from "../../protocol/fault.ts";
import type { Head } from "../../protocol/messages.ts";
import { damaged } from "./codec.ts";
import type { LedgerDisk } from "./disk.ts";
import type { LedgerRecord } from "./records.ts";
import { assertCheckpoint, type ChainPlace, chainStart, newestSegment, readSegment, segmentName } from "./segment.ts";

/** @public */
export interface VerifiedLedger {
  readonly records: number;
  readonly segments: number;
  readonly head: Head;
  readonly tornBytes: number; // behind the head; always 0 for a running ledger
}

/**
 * Verifies the ledger in a folder that nobody writes to.
 * @throws AgentError LEDGER_MISSING when there is none, LEDGER_DAMAGED naming file and line, LEDGER_NEWER, LEDGER_UNREADABLE
 * @public
 */
export function verifyLedger(disk: LedgerDisk): VerifiedLedger {
  const segment = newestSegment(disk.list());
  const bytes = segment === 0 ? 0 : disk.size(segmentName(segment));
  const steps = verifySegments(disk, { segment, bytes });
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Verifies up to `end`; yields the number of records so far after each segment. */
export function* verifySegments(
  disk: LedgerDisk,
  end: { readonly segment: number; readonly bytes: number },
): Generator<number, VerifiedLedger> {
  if (end.segment === 0 || (end.segment === 1 && end.bytes === 0)) {
    throw new AgentError("LEDGER_MISSING", "none", "the ledger is missing or empty");
  }
  let place: ChainPlace = chainStart;
  let tornBytes = 0;
  for (let segment = 1; segment <= end.segment; segment++) {
    const file = segmentName(segment);
    const bytes = disk.read(file, 0, segment === end.segment ? end.bytes : disk.size(file));
    const read = readSegment(bytes, segment, place);
    tornBytes = bytes.length - read.bytes;
    if (segment < end.segment && tornBytes > 0) throw damaged("a closed segment ends in the middle of a line", { file });
    const first = read.records[0];
    const last = read.records.at(-1);
    if (first === undefined || last === undefined) throw damaged("the segment is empty", { file });
    assertKeptCheckpoint(disk, first, segment === end.segment);
    place = last;
    yield place.seq;
  }
  return { records: place.seq, segments: end.segment, head: { seq: place.seq, hash: place.hash }, tornBytes };
}

/** Only the newest two checkpoints are kept; of an older one, what is still there must be right. */
function assertKeptCheckpoint(disk: LedgerDisk, first: LedgerRecord, newest: boolean): void {
  if (first.kind !== "CHECKPOINT") return;
  const names = disk.list();
  if (newest || names.includes(first.file)) assertCheckpoint(disk, names, first);
}
