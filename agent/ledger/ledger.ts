/**
 * The signer's append-only file, both write-ahead log and audit log. Appending numbers and links
 * records in memory; flushing makes them durable, with one write and one sync for all waiting
 * callers. No effect may leave before its flush is done. Touches only its folder, through
 * LedgerDisk; clock and disk are passed in. Format and recovery: docs/ledger.md.
 */
import { createHash } from "node:crypto";
import { AgentError, invariant } from "../../base/fault.ts";
import type { AgentLedgerHead } from "../../protocol/messages.ts";
import { type ArchivedRows, ArchiveFiles, noArchivedRows } from "./archive.ts";
import {
  damagedFault,
  decodeRecord,
  encodeRecord,
  foreignLineReason,
  forgedFault,
  formatWrittenLines,
  type Location,
  readLinePlace,
  verifiedClosingOf,
} from "./codec.ts";
import {
  type LedgerDisk,
  type LedgerFile,
  poisonedFault,
  readOnlyLedgerFile,
  writeOrFault,
  writeUnlessReadOnly,
} from "./folder.ts";
import { freeDiskBytesMinDefault, type LedgerOptions, segmentBytesDefault } from "./options.ts";
import { makeReceipt, type Receipt } from "./receipt.ts";
import {
  isCancel,
  isFirstRecord,
  type LedgerRecord,
  type RecordBody,
  type RecoveredBody,
} from "./records.ts";
import type { LedgerSeal } from "./seal.ts";
import {
  checkpointName,
  type LedgerPoint,
  type LedgerWrite,
  lastRecord,
  ledgerStart,
  mapSegment,
  newestSegmentNumber,
  openCheckpoint,
  readSegment,
  SegmentMap,
  sealCheckpoint,
  segmentName,
} from "./segment.ts";
import { type VerifiedLedger, verifySegments } from "./verify.ts";

/*
 * Reads records back from a live ledger: any number of any age, each checked again against its own
 * hash and the MAC of its write. The newest two segments are mapped in memory. An older one is
 * mapped on request, and one such map is kept.
 */

/** The most records of one call. */
const recordsReadMax = 10_000;

/** Used only inside the ledger module. */
class LedgerReader {
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
      const closing = verifiedClosingOf(line);
      const isLinked = prev === "" || readLinePlace(line)?.prev === prev;
      if (closing?.hash !== map.hashAt(seq) || !isLinked)
        throw damagedFault("the line is not what was written", whereOf(seq));
      if (seq === last && !this.#seal.closes(closing.hash, closing.mac))
        throw forgedFault(foreignLineReason, whereOf(seq));
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

export type { RecoveredBody } from "./records.ts";

export interface OpenedLedger {
  readonly ledger: Ledger;
  /** Stands for every record before `records`; null if `records` are all there are. */
  readonly checkpoint: unknown;
  /**
   * All records after the newest checkpoint; the first is its CHECKPOINT record if there is one.
   */
  readonly records: readonly LedgerRecord[];
  /** Bytes of a torn, never durable tail that were cut and kept aside; nearly always 0. */
  readonly tornBytes: number;
}

/**
 * Begins a ledger, durable when it returns. Used only at pairing: a paired agent never gets a
 * second first record.
 * @throws AgentError LEDGER_EXISTS, LEDGER_NEWER, LEDGER_UNREADABLE, LEDGER_POISONED
 */
export function createLedger(
  disk: LedgerDisk,
  first: RecordBody & { readonly kind: "PAIRED" },
  clock: () => number,
  seal: LedgerSeal,
): LedgerRecord {
  return begin(disk, [first], clock, seal);
}

/**
 * As `createLedger`, for an agent whose ledger is lost, and only by its operator's own command. The
 * ledger is locked from the start, because it would repeat forgotten payments; only a recovery ends
 * the lock. Its time is 0: no clock here was compared with the gateway's yet, and a first record
 * with a future time would count all payments for that day.
 * @throws AgentError as `createLedger`
 */
export function createLockedLedger(
  disk: LedgerDisk,
  first: RecordBody & { readonly kind: "PAIRED" },
  seal: LedgerSeal,
): LedgerRecord {
  const locked = {
    kind: "LOCKED",
    code: "LEDGER_BEHIND_GATEWAY",
    detail: "an operator began this ledger again",
  } as const;
  return begin(disk, [first, locked], () => 0, seal);
}

function begin(
  disk: LedgerDisk,
  bodies: readonly RecordBody[],
  clock: () => number,
  seal: LedgerSeal,
): LedgerRecord {
  if (newestSegmentNumber(disk.list()) !== 0)
    throw new AgentError("LEDGER_EXISTS", "none", "there is a ledger here already");
  const at = Math.max(0, clock());
  const texts: string[] = [];
  let last: LedgerPoint = ledgerStart;
  const records = bodies.map((body) => {
    const { record, text } = encodeRecord(body, { seq: last.seq + 1, prev: last.hash, at }, seal);
    texts.push(text);
    last = record;
    return record;
  });
  writeOrFault(() =>
    disk.create(segmentName(1), Buffer.from(formatWrittenLines(texts, last.hash, seal))),
  );
  const [record] = records;
  invariant(record !== undefined, "a ledger begins with a record");
  return record;
}

/**
 * Opens the ledger of a paired agent for appending: reads the newest checkpoint and all later
 * records, and cuts a torn tail (kept aside in a file named torn-…). The caller holds the state
 * folder's lock. On a read-only disk nothing is cut, and each change throws LEDGER_READ_ONLY.
 * @throws AgentError LEDGER_MISSING, LEDGER_DAMAGED and LEDGER_FORGED (file and line in its
 * context), LEDGER_NEWER, LEDGER_UNREADABLE, LEDGER_POISONED
 */
export function openLedger(options: LedgerOptions): OpenedLedger {
  const { disk, seal } = options;
  const names = disk.list();
  const segment = newestSegmentNumber(names);
  const file = segmentName(segment);
  const bytes = segment === 0 ? new Uint8Array(0) : disk.read(file, 0, disk.size(file));
  if (segment <= 1 && bytes.length === 0)
    throw new AgentError("LEDGER_MISSING", "none", "the ledger is missing or empty");
  if (bytes.length === 0) throw damagedFault("the segment is empty", { file });
  const read = readSegment(
    bytes,
    segment,
    segment === 1 ? ledgerStart : lastRecord(disk, segment - 1, seal),
    seal,
  );
  const [first] = read.records;
  const checkpoint = isFirstRecord(first)
    ? openCheckpoint(disk, names, segment, first, seal)
    : null;
  const past = new ArchiveFiles(disk, isFirstRecord(first) ? first : { closed: [], paid: [] });
  const readOnly = writeUnlessReadOnly(() => {
    if (read.torn)
      disk.create(`torn-${file.slice(0, 8)}-${read.bytes}`, bytes.subarray(read.bytes));
    // Also done without a torn tail: a killed process leaves lines that are only in the kernel's
    // cache.
    disk.truncate(file, read.bytes);
    past.removeOthers();
  });
  const last = read.records.at(-1);
  invariant(last !== undefined, "a segment that was read has a first record");
  const ledger = new Ledger(options, read.map, last, past, readOnly);
  return { ledger, checkpoint, records: read.records, tornBytes: bytes.length - read.bytes };
}

/** An open ledger: one writer, one process. */
export class Ledger {
  readonly #disk: LedgerDisk;
  readonly #seal: LedgerSeal;
  readonly #clock: () => number;
  readonly #segmentBytesMax: number;
  /** With less room than this on the disk, nothing new is begun. */
  readonly roomBytesMin: number;
  /** The sorted files, with everything that checkpoints do not hold. */
  readonly past: ArchiveFiles;
  readonly #reader: LedgerReader;
  readonly #intents = new Map<number, LedgerRecord & { readonly kind: "INTENT" }>();
  readonly #readOnly: AgentError | null;
  #file: LedgerFile;
  #map: SegmentMap;
  #last: LedgerPoint;
  #durable: LedgerPoint;
  #chunks: LedgerWrite[] = [];
  #writing: LedgerWrite | null = null;
  #delivering = false;
  #room: boolean;
  #poison: AgentError | null = null;

  /** Made only by `openLedger`. */
  constructor(
    options: LedgerOptions,
    map: SegmentMap,
    last: LedgerPoint,
    past: ArchiveFiles,
    readOnly: AgentError | null,
  ) {
    this.#disk = options.disk;
    this.#seal = options.seal;
    this.past = past;
    this.#clock = options.clock;
    this.#segmentBytesMax = options.segmentBytesMax ?? segmentBytesDefault;
    this.roomBytesMin = options.roomBytesMin ?? freeDiskBytesMinDefault;
    this.#reader = new LedgerReader(options.disk, options.seal, map);
    this.#readOnly = readOnly;
    this.#file =
      readOnly === null ? options.disk.open(segmentName(map.segment)) : readOnlyLedgerFile;
    this.#map = map;
    this.#last = last;
    this.#durable = last;
    this.#room = options.disk.freeBytes() >= this.roomBytesMin;
  }

  /** The newest record, durable or not. */
  get head(): AgentLedgerHead {
    return { seq: this.#last.seq, hash: this.#last.hash };
  }

  /** The newest record that no power failure can remove. */
  get durableHead(): AgentLedgerHead {
    return { seq: this.#durable.seq, hash: this.#durable.hash };
  }

  /** True if the disk has failed in this run: the process must end. */
  get poisoned(): boolean {
    return this.#poison !== null;
  }

  /** True if the disk was read-only at the start: the ledger is read, and nothing is added. */
  get readOnly(): boolean {
    return this.#readOnly !== null;
  }

  /** True if the segment is long enough for `rotate`. */
  get wantsRotation(): boolean {
    return this.#map.bytes >= this.#segmentBytesMax;
  }

  /**
   * Numbers, stamps and links records in memory. They count for the caller's own state at once, and
   * for the outside after `flush`. `at` is the clock's time, but never before the previous record.
   * @throws AgentError LEDGER_POISONED, LEDGER_READ_ONLY
   */
  append(bodies: readonly RecordBody[]): readonly LedgerRecord[] {
    if (this.#poison !== null) throw this.#poison;
    if (this.#readOnly !== null && bodies.length > 0) throw this.#readOnly;
    return bodies.map((body) => this.#add(body));
  }

  /**
   * Calls `done` once, when everything appended so far is durable or with the fault that prevents
   * that; at once if nothing is pending. Calls during a sync share the next one.
   */
  flush(done: (error: AgentError | null) => void): void {
    const chunk = this.#chunks.at(-1) ?? this.#writing;
    if (this.#poison !== null || chunk === null) {
      done(this.#poison);
      return;
    }
    chunk.waiting.push(done);
    this.#writeNext();
  }

  /**
   * Begins a new segment after everything appended so far. `stateJson` (valid JSON) and everything
   * ever in `leaving` stand for the earlier records. Returns the CHECKPOINT record, durable after
   * the next `flush`. With `recovered` a recovered ledger begins, at `notBeforeMs` or later.
   * @throws AgentError LEDGER_POISONED, LEDGER_READ_ONLY
   */
  rotate(
    stateJson: string,
    leaving: ArchivedRows = noArchivedRows,
    recovered?: RecoveredBody,
    notBeforeMs = 0,
  ): LedgerRecord {
    if (this.#poison !== null || this.#readOnly !== null) throw this.#poison ?? this.#readOnly;
    const segment = this.#map.segment + 1;
    const file = checkpointName(segment);
    const bytes = sealCheckpoint(this.#seal, segment, this.#last.seq + 1, stateJson);
    try {
      this.past.put(leaving);
      this.#disk.create(file, bytes);
    } catch (cause) {
      throw this.#fail(cause);
    }
    if (this.#chunks.length > 0) this.#map.endWrite();
    this.#map = new SegmentMap(segment, this.#last.seq + 1);
    this.#reader.follow(this.#map);
    this.#chunks.push({ segment, begins: true, texts: [], last: this.#last, waiting: [] });
    const named = {
      file,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      ...this.past.named,
    };
    if (recovered === undefined) return this.#add({ kind: "CHECKPOINT", ...named });
    return this.#add({ kind: "RECOVERED", ...named, ...recovered }, notBeforeMs);
  }

  /**
   * Returns the proof that the INTENT record `seq` is on disk. A repeat is harmless. A record that
   * is no INTENT or not durable is a bug.
   */
  receipt(seq: number): Receipt {
    invariant(seq <= this.#durable.seq, "a receipt is for a durable record");
    const intent = this.#intents.get(seq) ?? this.#reader.read(seq, seq)[0];
    invariant(intent?.kind === "INTENT", "a receipt is for an INTENT record");
    this.#intents.delete(seq);
    const { transactionId, attempt, digest } = intent;
    return makeReceipt({ transactionId, attempt, digest, isCancel: isCancel(intent), seq });
  }

  /**
   * Returns the hash of any record so far, null beyond the head. @throws AgentError LEDGER_DAMAGED
   * if an older segment has changed
   */
  hashAt(seq: number): string | null {
    if (seq === this.#last.seq) return this.#last.hash;
    return seq < 1 || seq > this.#last.seq ? null : this.#reader.hashAt(seq);
  }

  /** True if the disk has room for something new. */
  hasRoom(): boolean {
    if (!this.#room) this.#room = this.#measureRoom();
    return this.#room;
  }

  /** The code with which the disk refuses anything new, checked before INTENT; null for none. */
  get refusal(): "LEDGER_READ_ONLY" | "LEDGER_DISK_FULL" | null {
    if (this.readOnly) return "LEDGER_READ_ONLY";
    return this.hasRoom() ? null : "LEDGER_DISK_FULL";
  }

  /**
   * Returns the present room on the ledger's disk, -1 if unknown. The next `hasRoom` uses the
   * result.
   */
  freeBytes(): number {
    try {
      const bytes = this.#disk.freeBytes();
      this.#room = bytes >= this.roomBytesMin;
      return bytes;
    } catch {
      this.#room = false;
      return -1;
    }
  }

  /**
   * Reads the durable records `seqFrom` to `seqTo`, both included, at most `recordsReadMax`, from
   * disk and checks them again.
   * @throws AgentError LEDGER_DAMAGED
   */
  read(seqFrom: number, seqTo: number): readonly LedgerRecord[] {
    invariant(seqTo <= this.#durable.seq, "only durable records are read");
    return this.#reader.read(seqFrom, seqTo);
  }

  /**
   * Reads all durable records back and checks them, one segment for each step, so that the caller
   * can do other work in between.
   * @throws AgentError LEDGER_DAMAGED, LEDGER_FORGED, LEDGER_NEWER, LEDGER_UNREADABLE
   */
  verify(): Generator<number, VerifiedLedger> {
    return verifySegments(this.#disk, this.#reader.endOf(this.#durable.seq), this.#seal);
  }

  /** Closes the ledger: all waiting calls get LEDGER_POISONED. A second call is harmless. */
  close(): void {
    if (this.#writing === null && this.#poison === null) this.#file.close();
    this.#fail(new Error("closed"));
  }

  #add(body: RecordBody, notBeforeMs = 0): LedgerRecord {
    const at = Math.max(this.#last.at, this.#clock(), notBeforeMs);
    const { record, text, bytes } = encodeRecord(
      body,
      { seq: this.#last.seq + 1, prev: this.#last.hash, at },
      this.#seal,
    );
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined) {
      chunk = { segment: this.#map.segment, begins: false, texts: [], last: record, waiting: [] };
      this.#chunks.push(chunk);
    }
    chunk.texts.push(text);
    chunk.last = record;
    this.#last = record;
    this.#map.add(record.hash, bytes);
    if (record.kind === "INTENT") this.#intents.set(record.seq, record);
    return record;
  }

  /** Writes the oldest chunk if none is under way and a caller waits for it or for a later one. */
  #writeNext(): void {
    if (this.#writing !== null || this.#delivering || this.#poison !== null) return;
    if (!this.#chunks.some((chunk) => chunk.waiting.length > 0)) return;
    const chunk = this.#chunks.shift();
    invariant(chunk !== undefined, "a chunk someone waits for is there");
    this.#writing = chunk;
    // A chunk with another one behind it has ended its write before the new segment.
    if (this.#chunks.length === 0) this.#map.endWrite();
    const bytes = Buffer.from(formatWrittenLines(chunk.texts, chunk.last.hash, this.#seal));
    if (!chunk.begins) {
      this.#file.append(bytes, (error) => this.#written(chunk, error));
      return;
    }
    try {
      this.#beginSegment(chunk.segment, bytes);
    } catch (cause) {
      this.#fail(cause);
      return;
    }
    this.#written(chunk, null);
  }

  #beginSegment(segment: number, bytes: Uint8Array): void {
    this.#disk.create(segmentName(segment), bytes);
    this.#file.close();
    this.#file = this.#disk.open(segmentName(segment));
    // A start reads the newest checkpoint; the previous one stays until the next rotation.
    const old = checkpointName(segment - 2);
    if (this.#disk.list().includes(old)) this.#disk.remove(old);
  }

  #written(chunk: LedgerWrite, error: Error | null): void {
    if (this.#poison !== null) return;
    if (error !== null) {
      this.#fail(error);
      return;
    }
    this.#writing = null;
    this.#durable = chunk.last;
    this.#room = this.#room && this.#measureRoom();
    // Records that these callers append and flush now are gathered into one write.
    this.#delivering = true;
    for (const done of chunk.waiting) done(null);
    this.#delivering = false;
    this.#writeNext();
  }

  #fail(cause: unknown): AgentError {
    if (this.#poison !== null) return this.#poison;
    const fault = poisonedFault(cause);
    this.#poison = fault;
    const chunks = this.#writing === null ? this.#chunks : [this.#writing, ...this.#chunks];
    this.#chunks = [];
    for (const chunk of chunks) for (const done of chunk.waiting) done(fault);
    return fault;
  }

  #measureRoom(): boolean {
    return this.freeBytes() >= this.roomBytesMin;
  }
}
