/**
 * Reads the complete ledger back: every segment, every hash and every kept checkpoint; with the
 * wallet's seal every MAC as well. Reads only. docs/ledger.md section 8.
 */
import { AgentError } from "../../base/fault.ts";
import type { AgentLedgerHead } from "../../protocol/messages.ts";
import { archiveKinds } from "./archive.ts";
import { damagedFault } from "./codec.ts";
import type { LedgerDisk } from "./folder.ts";
import { isFirstRecord, type LedgerRecord } from "./records.ts";
import type { LedgerSeal } from "./seal.ts";
import {
  checkpointBytes,
  type LedgerPoint,
  ledgerStart,
  newestSegmentNumber,
  readSegment,
  segmentName,
} from "./segment.ts";
import { checkSortedFile, openSource } from "./sorted-file.ts";

export interface VerifiedLedger {
  readonly records: number;
  readonly segments: number;
  readonly head: AgentLedgerHead;
  readonly tornBytes: number; // after the head; always 0 for a running ledger
}

/**
 * Verifies the ledger in a folder to which nobody writes. Without a seal only the hashes are
 * checked, and the author is not proved.
 * @throws AgentError LEDGER_MISSING if there is none, LEDGER_DAMAGED or LEDGER_FORGED with file and
 * line, LEDGER_NEWER, LEDGER_UNREADABLE
 */
export function verifyLedger(disk: LedgerDisk, seal: LedgerSeal | null): VerifiedLedger {
  const segment = newestSegmentNumber(disk.list());
  const bytes = segment === 0 ? 0 : disk.size(segmentName(segment));
  const steps = verifySegments(disk, { segment, bytes }, seal);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Verifies up to `end`; yields the number of records so far after each segment, and after each
 * sorted file.
 */
export function* verifySegments(
  disk: LedgerDisk,
  end: { readonly segment: number; readonly bytes: number },
  seal: LedgerSeal | null,
): Generator<number, VerifiedLedger> {
  if (end.segment === 0 || (end.segment === 1 && end.bytes === 0)) {
    throw new AgentError("LEDGER_MISSING", "none", "the ledger is missing or empty");
  }
  let place: LedgerPoint = ledgerStart;
  let tornBytes = 0;
  for (let segment = 1; segment <= end.segment; segment++) {
    const file = segmentName(segment);
    const bytes = disk.read(file, 0, segment === end.segment ? end.bytes : disk.size(file));
    const read = readSegment(bytes, segment, place, seal);
    tornBytes = bytes.length - read.bytes;
    if (segment < end.segment && tornBytes > 0)
      throw damagedFault("a closed segment ends in the middle of a line", { file });
    const first = read.records[0];
    const last = read.records.at(-1);
    if (first === undefined || last === undefined)
      throw damagedFault("the segment is empty", { file });
    assertKeptCheckpoint(disk, first, segment === end.segment);
    place = last;
    yield place.seq;
    if (segment === end.segment) for (const _ of pastOf(disk, first)) yield place.seq;
  }
  return {
    records: place.seq,
    segments: end.segment,
    head: { seq: place.seq, hash: place.hash },
    tornBytes,
  };
}

/**
 * Checks each sorted file that the newest checkpoint names, completely. Files of older checkpoints
 * may have been merged and removed.
 */
function* pastOf(disk: LedgerDisk, first: LedgerRecord): Generator<undefined, void> {
  if (!isFirstRecord(first)) return;
  const names = new Set(disk.list());
  for (const shelf of archiveKinds) {
    for (const named of first[shelf]) {
      checkSortedFile(openSource(disk, names, named.file), named);
      yield;
    }
  }
}

/**
 * Checks a checkpoint. Only the newest two are kept; an older one must be right if it still exists.
 */
function assertKeptCheckpoint(disk: LedgerDisk, first: LedgerRecord, newest: boolean): void {
  if (!isFirstRecord(first)) return;
  const names = disk.list();
  if (newest || names.includes(first.file)) checkpointBytes(disk, names, first);
}
