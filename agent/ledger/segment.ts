/**
 * Reads one segment file back: checks hash and place in the ledger of every line and the MAC of
 * every write, and tells a torn tail from damage. Also maps record numbers to hashes and places.
 * Algorithm: docs/ledger.md section 7.
 */
import { createHash } from "node:crypto";
import { AgentError } from "../../base/fault.ts";
import { zeroHash } from "../../protocol/identity.ts";
import {
  closingLengths,
  closingStart,
  damagedFault,
  decodeRecord,
  foreignLineReason,
  forgedFault,
  type Location,
  lineBytesMax,
  lineStart,
  macFieldLength,
  readLineClosing,
  readLinePlace,
  verifiedClosingOf,
} from "./codec.ts";
import type { LedgerDisk } from "./folder.ts";
import { type FirstRecord, isFirstRecord, type LedgerRecord } from "./records.ts";
import { type LedgerSeal, sealContextOfCheckpoint } from "./seal.ts";

const newline = 0x0a;

/** Returns a segment's file name, `00000001.jsonl` for segment 1. */
export function segmentName(segment: number): string {
  return `${String(segment).padStart(8, "0")}.jsonl`;
}

/**
 * Returns the name of the file with the state before segment `segment` begins, in a box of the
 * seal.
 */
export function checkpointName(segment: number): string {
  return `checkpoint-${String(segment).padStart(8, "0")}.bin`;
}

/**
 * Returns the number of the newest segment, 0 if there is none.
 * @throws AgentError LEDGER_DAMAGED if an earlier one is missing; LEDGER_NEWER if there is a file
 * of a later format
 */
export function newestSegmentNumber(names: readonly string[]): number {
  const segments = new Set<number>();
  for (const name of names) {
    const match = /^(\d{8})\.jsonl(\d*)$/.exec(name);
    if (match === null) continue;
    if (match[2] !== "")
      throw new AgentError("LEDGER_NEWER", "none", `${name} is of a later format`, { file: name });
    segments.add(Number(match[1]));
  }
  let newest = 0;
  for (const segment of segments) newest = Math.max(newest, segment);
  for (let segment = 1; segment <= newest; segment++) {
    if (!segments.has(segment))
      throw damagedFault("the segment is missing", { file: segmentName(segment) });
  }
  return newest;
}

/** The position after a record, which the next record must continue. */
export interface LedgerPoint {
  readonly seq: number;
  readonly hash: string;
  readonly at: number;
}

/** The content of one write: lines of one segment, with the waiting callers. */
export interface LedgerWrite {
  readonly segment: number;
  readonly begins: boolean; // this chunk creates the segment's file
  readonly texts: string[]; // see EncodedRecord
  last: LedgerPoint;
  readonly waiting: ((error: AgentError | null) => void)[];
}

export const ledgerStart: LedgerPoint = { seq: 0, hash: zeroHash, at: 0 };

/** Hash and position of each record of one segment, 36 bytes each, and the end of each write. */
export class SegmentMap {
  readonly segment: number;
  readonly seqFirst: number;
  #count = 0;
  #hashes: Buffer = Buffer.alloc(32 * 1024);
  #ends: Uint32Array = new Uint32Array(1024);
  readonly #writeEnds: number[] = []; // the last record of each write, by number

  constructor(segment: number, seqFirst: number) {
    this.segment = segment;
    this.seqFirst = seqFirst;
  }

  get seqLast(): number {
    return this.seqFirst + this.#count - 1;
  }

  /** Bytes from the file's start to the end of the last record. */
  get bytes(): number {
    return this.#count === 0 ? 0 : (this.#ends[this.#count - 1] as number);
  }

  add(hash: string, lineBytes: number): void {
    if (this.#count === this.#ends.length) {
      this.#hashes = Buffer.concat([this.#hashes, Buffer.alloc(this.#hashes.length)]);
      const ends = new Uint32Array(this.#ends.length * 2);
      ends.set(this.#ends);
      this.#ends = ends;
    }
    const end = this.bytes + lineBytes;
    this.#hashes.write(hash, this.#count * 32, "hex");
    this.#ends[this.#count] = end;
    this.#count += 1;
  }

  /** Ends a write with the newest record. Its line is longer by a MAC, unless it was counted. */
  endWrite(isCounted = false): void {
    if (!isCounted) this.#ends[this.#count - 1] = this.bytes + macFieldLength;
    this.#writeEnds.push(this.seqLast);
  }

  /** Returns the last record of the write with record `seq`; 0 if the write has no end. */
  writeEndOf(seq: number): number {
    let low = 0;
    for (let high = this.#writeEnds.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if ((this.#writeEnds[middle] as number) < seq) low = middle + 1;
      else high = middle;
    }
    return this.#writeEnds[low] ?? 0;
  }

  has(seq: number): boolean {
    return seq >= this.seqFirst && seq <= this.seqLast;
  }

  hashAt(seq: number): string {
    const at = (seq - this.seqFirst) * 32;
    return this.#hashes.toString("hex", at, at + 32);
  }

  /** Start and end of a record's line in the file, newline included. */
  spanAt(seq: number): { readonly start: number; readonly end: number } {
    const index = seq - this.seqFirst;
    return {
      start: index === 0 ? 0 : (this.#ends[index - 1] as number),
      end: this.#ends[index] as number,
    };
  }
}

/** A segment that was read up to the end of its last complete write. */
export interface ReadSegment {
  readonly records: readonly LedgerRecord[];
  readonly map: SegmentMap;
  readonly bytes: number; // length of the complete writes
  readonly torn: boolean; // bytes that were never durable follow
}

/**
 * Reads a complete segment that continues the ledger after `before`. A write counts from its last
 * line, which has the MAC of all its lines: lines after the last such line are torn, whether whole
 * or not. Without a seal, the author of the lines is not proved.
 * @throws AgentError LEDGER_DAMAGED with file and line for anything but a torn tail; LEDGER_FORGED
 * with the line whose MAC another program made; LEDGER_NEWER
 */
export function readSegment(
  bytes: Uint8Array,
  segment: number,
  before: LedgerPoint,
  seal: LedgerSeal | null,
): ReadSegment {
  const file = segmentName(segment);
  const map = new SegmentMap(segment, before.seq + 1);
  const records: LedgerRecord[] = [];
  const write: Uint8Array[] = []; // lines that no MAC covers yet
  let linked: LinkPoint = before;
  let place = before;
  let good = 0;
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(newline, start);
    const line = bytes.subarray(start, end < 0 ? bytes.length : end);
    const where = { file, line: records.length + write.length + 1 };
    const closing = end < 0 ? null : verifiedClosingOf(line);
    if (closing === null) {
      assertTorn(bytes, start, where);
      break;
    }
    linked = assertLinked(line, closing.hash, linked, where);
    write.push(line);
    start = end + 1;
    if (closing.mac === "") continue;
    if (seal !== null && !seal.closes(closing.hash, closing.mac))
      throw forgedFault(foreignLineReason, where);
    for (const each of write.splice(0)) {
      const at = { file, line: records.length + 1 };
      const record = decodeRecord(each, at, seal);
      if (record.at < place.at) throw damagedFault("time goes back", at);
      assertFirst(record, records.length === 0, segment, at);
      records.push(record);
      map.add(record.hash, each.length + 1);
      place = record;
    }
    map.endWrite(true);
    good = start;
  }
  // A segment appears under its name with its first write.
  if (good === 0 && bytes.length > 0)
    throw damagedFault("the first write of a segment is never torn", { file, line: 1 });
  return { records, map, bytes: good, torn: good < bytes.length };
}

type LinkPoint = Pick<LedgerPoint, "seq" | "hash">;

/**
 * Checks that a line continues the one before it, and returns its place. Reads only the start of
 * the line: its author is not proved yet.
 */
function assertLinked(
  line: Uint8Array,
  hash: string,
  before: LinkPoint,
  where: Location,
): LinkPoint {
  const place = readLinePlace(line);
  if (place === null) throw damagedFault("a line does not say its place", where);
  if (place.seq !== before.seq + 1)
    throw damagedFault(`record ${place.seq} stands where ${before.seq + 1} belongs`, where);
  if (place.prev !== before.hash)
    throw damagedFault("the record does not continue the one before it", where);
  return { seq: place.seq, hash };
}

function assertFirst(record: LedgerRecord, first: boolean, segment: number, where: Location): void {
  if (first && segment === 1 && record.kind !== "PAIRED")
    throw damagedFault("a ledger begins with its pairing", where);
  if (first !== isFirstRecord(record) && !(first && segment === 1)) {
    throw damagedFault("a checkpoint stands first in every later segment, and nowhere else", where);
  }
}

/**
 * Checks that the bytes from `start` on are a torn write, cut and never durable. A torn write lacks
 * its end or has holes after a power failure, while a changed line has neither. So each line with a
 * newline must contain a zero byte, and no complete record may be inside.
 */
function assertTorn(bytes: Uint8Array, start: number, where: Location): void {
  for (let at = start; at < bytes.length; ) {
    const newlineAt = bytes.indexOf(newline, at);
    const end = newlineAt < 0 ? bytes.length : newlineAt;
    const line = bytes.subarray(at, end);
    if (newlineAt >= 0 && !line.includes(0))
      throw damagedFault("the line is not what was written", where);
    if (hasWholeRecord(line, at === start && newlineAt < 0))
      throw damagedFault("bytes before a good record are not what was written", where);
    at = end + 1;
  }
}

/**
 * Searches a bad line for a record that closes itself. With `unended`, the line itself without its
 * newline does not count as such a record.
 */
function hasWholeRecord(line: Uint8Array, unended: boolean): boolean {
  const text = Buffer.from(line.buffer, line.byteOffset, line.length);
  for (let from = text.indexOf(lineStart); from >= 0; from = text.indexOf(lineStart, from + 1)) {
    const limit = Math.min(from + lineBytesMax, text.length);
    for (
      let hash = text.indexOf(closingStart, from);
      hash >= 0 && hash < limit;
      hash = text.indexOf(closingStart, hash + 1)
    ) {
      for (const bytes of closingLengths) {
        const end = hash + bytes;
        if (unended && from === 0 && end === text.length) continue;
        if (end <= text.length && verifiedClosingOf(text.subarray(from, end)) !== null) return true;
      }
    }
  }
  return false;
}

/**
 * Maps an older segment without reading its records. `verify` checks each line's own hash; here
 * only the order of the numbers is checked. @throws AgentError LEDGER_DAMAGED
 */
export function mapSegment(disk: LedgerDisk, segment: number): SegmentMap {
  const file = segmentName(segment);
  const bytes = Buffer.from(disk.read(file, 0, disk.size(file)));
  const map = new SegmentMap(segment, seqAt(bytes, 0, { file, line: 1 }));
  for (let start = 0, line = 1; start < bytes.length; line++) {
    const end = bytes.indexOf(newline, start);
    const where = { file, line };
    const closing = end < 0 ? null : readLineClosing(bytes.subarray(start, end));
    if (closing === null || seqAt(bytes, start, where) !== map.seqLast + 1)
      throw damagedFault("not a record", where);
    map.add(closing.hash, end + 1 - start);
    if (closing.mac !== "") map.endWrite(true);
    start = end + 1;
  }
  return map;
}

function seqAt(bytes: Buffer, start: number, where: Location): number {
  const match = /^\{"seq":([1-9]\d{0,15}),/.exec(bytes.toString("latin1", start, start + 32));
  if (match === null) throw damagedFault("not a record", where);
  return Number(match[1]);
}

/**
 * Returns the last record of a complete older segment. @throws AgentError LEDGER_DAMAGED,
 * LEDGER_FORGED, LEDGER_NEWER
 */
export function lastRecord(disk: LedgerDisk, segment: number, seal: LedgerSeal): LedgerRecord {
  const file = segmentName(segment);
  const size = disk.size(file);
  const tail = Buffer.from(disk.read(file, Math.max(0, size - lineBytesMax), size));
  const start = tail.length < 2 ? 0 : tail.lastIndexOf(newline, tail.length - 2) + 1;
  const line = tail.subarray(start, -1);
  const closing = tail.at(-1) === newline ? verifiedClosingOf(line) : null;
  if (closing === null || closing.mac === "")
    throw damagedFault("the last line is not what was written", { file });
  if (!seal.closes(closing.hash, closing.mac)) throw forgedFault(foreignLineReason, { file });
  return decodeRecord(line, { file, line: 0 }, seal);
}

/**
 * Returns the bytes on disk of a CHECKPOINT or RECOVERED record's file.
 * @throws AgentError LEDGER_DAMAGED if it is missing or not as it was written
 */
export function checkpointBytes(
  disk: LedgerDisk,
  names: readonly string[],
  { file, sha256 }: { readonly file: string; readonly sha256: string },
): Uint8Array {
  if (!names.includes(file)) throw damagedFault("the checkpoint is missing", { file });
  const bytes = disk.read(file, 0, disk.size(file));
  const hash = createHash("sha256").update(bytes).digest("hex");
  if (hash !== sha256) throw damagedFault("the checkpoint is not what was written", { file });
  return bytes;
}

/** Returns the box with the state before the segment that begins with record `seq`. */
export function sealCheckpoint(
  seal: LedgerSeal,
  segment: number,
  seq: number,
  stateJson: string,
): Uint8Array {
  return seal.box(sealContextOfCheckpoint(segment, seq), Buffer.from(stateJson));
}

/**
 * Returns the state from the box of a segment's first record. @throws AgentError LEDGER_DAMAGED,
 * LEDGER_FORGED
 */
export function openCheckpoint(
  disk: LedgerDisk,
  names: readonly string[],
  segment: number,
  record: FirstRecord,
  seal: LedgerSeal,
): unknown {
  const bytes = seal.open(
    sealContextOfCheckpoint(segment, record.seq),
    checkpointBytes(disk, names, record),
  );
  if (bytes === null)
    throw forgedFault("the checkpoint does not open: this wallet's signer did not write it here", {
      file: record.file,
    });
  return JSON.parse(Buffer.from(bytes).toString("utf8")); // Our own text: no other program can seal one.
}
