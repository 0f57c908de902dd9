/**
 * Reads records back from a live ledger: any number of any age, each checked again against its own
 * hash and the MAC of its write. The newest two segments are mapped in memory. An older one is
 * mapped on request, and one such map is kept.
 */
import { invariant } from "../../base/fault.ts";
import {
  closingOf,
  damagedFault,
  decodeRecord,
  foreignLine,
  forgedFault,
  type Location,
  placeIn,
} from "./codec.ts";
import type { LedgerDisk } from "./folder.ts";
import type { LedgerRecord } from "./records.ts";
import type { LedgerSeal } from "./seal.ts";
import { mapSegment, type SegmentMap, segmentName } from "./segment.ts";

/** The most records of one call. */
export const recordsReadMax = 10_000;

/** Used only inside the ledger module. */
export class LedgerReader {
  readonly #disk: LedgerDisk;
  readonly #seal: LedgerSeal;
  #newest: SegmentMap;
  #before: SegmentMap | null = null;
  #older: SegmentMap | null = null;

  constructor(disk: LedgerDisk, seal: LedgerSeal, newest: SegmentMap) {
    this.#disk = disk;
    this.#seal = seal;
    this.#newest = newest;
  }

  /** Follows the start of a new segment. */
  follow(newest: SegmentMap): void {
    this.#before = this.#newest;
    this.#newest = newest;
  }

  hashAt(seq: number): string {
    return this.#mapOf(seq).hashAt(seq);
  }

  read(seqFrom: number, seqTo: number): readonly LedgerRecord[] {
    invariant(
      seqFrom >= 1 && seqTo - seqFrom < recordsReadMax,
      "a read is within the ledger and bounded",
    );
    const records: LedgerRecord[] = [];
    for (let seq = seqFrom; seq <= seqTo; ) {
      const map = this.#mapOf(seq);
      const last = Math.min(seqTo, map.seqLast);
      records.push(...this.#readRun(map, seq, last));
      seq = last + 1;
    }
    return records;
  }

  /** Returns the segment of a record, and the end of its line. */
  endOf(seq: number): { readonly segment: number; readonly bytes: number } {
    const map = this.#mapOf(seq);
    return { segment: map.segment, bytes: map.spanAt(seq).end };
  }

  /** Reads on to the end of the last record's write, whose MAC covers every line before it. */
  #readRun(map: SegmentMap, seqFrom: number, seqTo: number): readonly LedgerRecord[] {
    const file = segmentName(map.segment);
    const whereOf = (seq: number): Location => ({ file, line: seq - map.seqFirst + 1 });
    const last = map.writeEndOf(seqTo);
    if (last === 0) throw damagedFault("no MAC covers the line", whereOf(seqTo));
    const offset = map.spanAt(seqFrom).start;
    const bytes = this.#disk.read(file, offset, map.spanAt(last).end);
    const lines: Uint8Array[] = [];
    for (let seq = seqFrom, prev = ""; seq <= last; seq++) {
      const { start, end } = map.spanAt(seq);
      const line = bytes.subarray(start - offset, end - offset - 1);
      const closing = closingOf(line);
      const isLinked = prev === "" || placeIn(line)?.prev === prev;
      if (closing?.hash !== map.hashAt(seq) || !isLinked)
        throw damagedFault("the line is not what was written", whereOf(seq));
      if (seq === last && !this.#seal.closes(closing.hash, closing.mac))
        throw forgedFault(foreignLine, whereOf(seq));
      if (seq <= seqTo) lines.push(line);
      prev = closing.hash;
    }
    return lines.map((line, index) => decodeRecord(line, whereOf(seqFrom + index), this.#seal));
  }

  #mapOf(seq: number): SegmentMap {
    for (const map of [this.#newest, this.#before, this.#older])
      if (map?.has(seq) === true) return map;
    for (let segment = this.#newest.segment - 1; segment >= 1; segment--) {
      const map = mapSegment(this.#disk, segment);
      this.#older = map;
      if (map.has(seq)) return map;
    }
    throw damagedFault("a record is missing", { file: segmentName(this.#newest.segment) });
  }
}
