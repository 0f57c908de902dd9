/**
 * The signer's append-only file: write-ahead log and audit log at once. Appending numbers and
 * chains records in memory; flushing makes them durable, one write and one sync for everyone who
 * waits. No effect may leave before its flush is done. Touches its folder only, through LedgerDisk;
 * clock and disk are passed in. Format and recovery: docs/ledger.md.
 */
import { createHash } from "node:crypto";
import { AgentError, invariant } from "../../protocol/fault.ts";
import type { Head } from "../../protocol/messages.ts";
import { damaged, encodeRecord } from "./codec.ts";
import { type LedgerDisk, type LedgerFile, noFile, poisoned, refusalToWrite, writing } from "./disk.ts";
import { type LedgerOptions, roomBytesDefault, segmentBytesDefault } from "./options.ts";
import { type Leaving, nothingLeaves, PastFiles } from "./past.ts";
import { LedgerReader } from "./reader.ts";
import { makeReceipt, type Receipt } from "./receipt.ts";
import { isBeginning, isCancel, type LedgerRecord, type OpenedBody, type RecordBody } from "./records.ts";
import type { LedgerSeal } from "./seal.ts";
import {
  type ChainPlace,
  type Chunk,
  chainStart,
  checkpointName,
  lastRecord,
  newestSegment,
  openCheckpoint,
  readSegment,
  SegmentMap,
  sealCheckpoint,
  segmentName,
} from "./segment.ts";
import { type VerifiedLedger, verifySegments } from "./verify.ts";

/** @public */
export type { OpenedBody } from "./records.ts";

/** @public */
export interface OpenedLedger {
  readonly ledger: Ledger;
  /** Stands for every record before `records`; null when `records` are all there are. */
  readonly checkpoint: unknown;
  /** Everything after the newest checkpoint; begins with its CHECKPOINT record if there is one. */
  readonly records: readonly LedgerRecord[];
  /** Bytes of a torn, never durable tail that were cut and kept aside; 0 nearly always. */
  readonly tornBytes: number;
}

/**
 * Begins a ledger, durable when it returns. Only at pairing: an agent that was paired never gets a
 * second first record.
 * @throws AgentError LEDGER_EXISTS, LEDGER_NEWER, LEDGER_UNREADABLE, LEDGER_POISONED
 * @public
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
 * As `createLedger`, for an agent whose ledger is gone, and only by its operator's own command: it
 * is locked from its first moment, since what it does not know it would pay again. The way out is a
 * recovery. Its time is 0: no clock here was held against the gateway's yet, and a ledger whose
 * first record is of a day to come would count all it pays for that day.
 * @throws AgentError as `createLedger`
 * @public
 */
export function createLockedLedger(
  disk: LedgerDisk,
  first: RecordBody & { readonly kind: "PAIRED" },
  seal: LedgerSeal,
): LedgerRecord {
  const locked = { kind: "LOCKED", code: "LEDGER_BEHIND_GATEWAY", detail: "an operator began this ledger anew" } as const;
  return begin(disk, [first, locked], () => 0, seal);
}

function begin(disk: LedgerDisk, bodies: readonly RecordBody[], clock: () => number, seal: LedgerSeal): LedgerRecord {
  if (newestSegment(disk.list()) !== 0) throw new AgentError("LEDGER_EXISTS", "none", "there is a ledger here already");
  const at = Math.max(0, clock());
  let lines = "";
  let last: ChainPlace = chainStart;
  const records = bodies.map((body) => {
    const { record, line } = encodeRecord(body, { seq: last.seq + 1, prev: last.hash, at }, seal);
    lines += line;
    last = record;
    return record;
  });
  writing(() => disk.create(segmentName(1), Buffer.from(lines)));
  const [record] = records;
  invariant(record !== undefined, "a ledger begins with a record");
  return record;
}

/**
 * Opens the ledger of a paired agent: reads the newest checkpoint and what follows it, cuts a torn
 * tail (kept aside in a file named torn-…), and is ready to append. The caller holds the state
 * folder's lock. On a read-only disk nothing is cut, and each change throws LEDGER_READ_ONLY.
 * @throws AgentError LEDGER_MISSING, LEDGER_DAMAGED and LEDGER_FORGED (file and line in its
 * context), LEDGER_NEWER, LEDGER_OLDER, LEDGER_UNREADABLE, LEDGER_POISONED
 * @public
 */
export function openLedger(options: LedgerOptions): OpenedLedger {
  const { disk, seal } = options;
  const names = disk.list();
  const segment = newestSegment(names);
  const file = segmentName(segment);
  const bytes = segment === 0 ? new Uint8Array(0) : disk.read(file, 0, disk.size(file));
  if (segment <= 1 && bytes.length === 0) throw new AgentError("LEDGER_MISSING", "none", "the ledger is missing or empty");
  if (bytes.length === 0) throw damaged("the segment is empty", { file });
  const read = readSegment(bytes, segment, segment === 1 ? chainStart : lastRecord(disk, segment - 1, seal), seal);
  const [first] = read.records;
  const checkpoint = isBeginning(first) ? openCheckpoint(disk, names, segment, first, seal) : null;
  const past = new PastFiles(disk, isBeginning(first) ? first : { closed: [], paid: [] });
  const readOnly = refusalToWrite(() => {
    if (read.torn) disk.create(`torn-${file.slice(0, 8)}-${read.bytes}`, bytes.subarray(read.bytes));
    // Also where nothing is torn: a process that was killed leaves lines that only the kernel's
    // cache holds.
    disk.truncate(file, read.bytes);
    past.removeOthers();
  });
  const last = read.records.at(-1);
  invariant(last !== undefined, "a segment that was read has a first record");
  const ledger = new Ledger(options, read.map, last, past, readOnly);
  return { ledger, checkpoint, records: read.records, tornBytes: bytes.length - read.bytes };
}

/**
 * An open ledger: one writer, one process.
 * @public
 */
export class Ledger {
  readonly #disk: LedgerDisk;
  readonly #seal: LedgerSeal;
  readonly #clock: () => number;
  readonly #segmentBytesMax: number;
  /** Below this much room on the disk nothing new is begun. */
  readonly roomBytesMin: number;
  /** What checkpoints do not carry. */
  readonly past: PastFiles;
  readonly #reader: LedgerReader;
  readonly #intents = new Map<number, LedgerRecord & { readonly kind: "INTENT" }>();
  readonly #readOnly: AgentError | null;
  #file: LedgerFile;
  #map: SegmentMap;
  #last: ChainPlace;
  #durable: ChainPlace;
  #chunks: Chunk[] = [];
  #writing: Chunk | null = null;
  #delivering = false;
  #room: boolean;
  #poison: AgentError | null = null;

  /** Made by `openLedger` only. */
  constructor(options: LedgerOptions, map: SegmentMap, last: ChainPlace, past: PastFiles, readOnly: AgentError | null) {
    this.#disk = options.disk;
    this.#seal = options.seal;
    this.past = past;
    this.#clock = options.clock;
    this.#segmentBytesMax = options.segmentBytesMax ?? segmentBytesDefault;
    this.roomBytesMin = options.roomBytesMin ?? roomBytesDefault;
    this.#reader = new LedgerReader(options.disk, options.seal, map);
    this.#readOnly = readOnly;
    this.#file = readOnly === null ? options.disk.open(segmentName(map.segment)) : noFile;
    this.#map = map;
    this.#last = last;
    this.#durable = last;
    this.#room = options.disk.freeBytes() >= this.roomBytesMin;
  }

  /** The newest record, durable or not. */
  get head(): Head {
    return { seq: this.#last.seq, hash: this.#last.hash };
  }

  /** The newest record that no power failure can take away. */
  get durableHead(): Head {
    return { seq: this.#durable.seq, hash: this.#durable.hash };
  }

  /** Whether the disk has failed in this run: the process must end. */
  get poisoned(): boolean {
    return this.#poison !== null;
  }

  /** Whether the disk was read-only at the start: the ledger is read, and nothing is added. */
  get readOnly(): boolean {
    return this.#readOnly !== null;
  }

  /** True when the segment is long enough for `rotate`. */
  get wantsRotation(): boolean {
    return this.#map.bytes >= this.#segmentBytesMax;
  }

  /**
   * Numbers, stamps and chains records, in memory: they are facts for the caller's own state at
   * once, and for the world after `flush`. `at` is the clock's time, never less than the record
   * before.
   * @throws AgentError LEDGER_POISONED, LEDGER_READ_ONLY
   */
  append(bodies: readonly RecordBody[]): readonly LedgerRecord[] {
    if (this.#poison !== null) throw this.#poison;
    if (this.#readOnly !== null && bodies.length > 0) throw this.#readOnly;
    return bodies.map((body) => this.#add(body));
  }

  /**
   * Calls `done` once, when everything appended so far is durable, or with the fault that prevents
   * it; at once when nothing is pending. Those who come while a sync runs share the next one.
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
   * Begins a new segment after everything appended so far, with `stateJson` (valid JSON) as what
   * stands for it together with what was ever in `leaving`, and answers the CHECKPOINT record,
   * durable after the next `flush`. With `opened` a new ledger begins, at `notBeforeMs` or later.
   * @throws AgentError LEDGER_POISONED, LEDGER_READ_ONLY
   */
  rotate(stateJson: string, leaving: Leaving = nothingLeaves, opened?: OpenedBody, notBeforeMs = 0): LedgerRecord {
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
    this.#map = new SegmentMap(segment, this.#last.seq + 1);
    this.#reader.follow(this.#map);
    this.#chunks.push({ segment, begins: true, lines: "", last: this.#last, waiting: [] });
    const named = { file, sha256: createHash("sha256").update(bytes).digest("hex"), ...this.past.named };
    if (opened === undefined) return this.#add({ kind: "CHECKPOINT", ...named });
    return this.#add({ kind: "OPENED", ...named, ...opened }, notBeforeMs);
  }

  /**
   * Proof that the INTENT record `seq` is on disk. Asking twice is harmless. Not an INTENT, or not
   * durable: a bug.
   */
  receipt(seq: number): Receipt {
    invariant(seq <= this.#durable.seq, "a receipt is for a durable record");
    const intent = this.#intents.get(seq) ?? this.#reader.read(seq, seq)[0];
    invariant(intent?.kind === "INTENT", "a receipt is for an INTENT record");
    this.#intents.delete(seq);
    const { transactionId, version, digest } = intent;
    return makeReceipt({ transactionId, version, digest, isCancel: isCancel(intent), seq });
  }

  /**
   * The hash of any record so far, null beyond the head. @throws AgentError LEDGER_DAMAGED when an
   * older segment has changed
   */
  hashAt(seq: number): string | null {
    if (seq === this.#last.seq) return this.#last.hash;
    return seq < 1 || seq > this.#last.seq ? null : this.#reader.hashAt(seq);
  }

  /** Whether the disk has room to bind something new. */
  hasRoom(): boolean {
    if (!this.#room) this.#room = this.#measureRoom();
    return this.#room;
  }

  /** The code by which the disk refuses anything new, asked before INTENT; null for none. */
  get refusal(): "LEDGER_READ_ONLY" | "LEDGER_DISK_FULL" | null {
    if (this.readOnly) return "LEDGER_READ_ONLY";
    return this.hasRoom() ? null : "LEDGER_DISK_FULL";
  }

  /**
   * Room on the ledger's disk as it is now, -1 when it cannot be told. What `hasRoom` says next
   * goes by it.
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
   * Durable records `seqFrom` to `seqTo`, both included, at most `recordsReadMax` of them, read
   * from disk and checked again.
   * @throws AgentError LEDGER_DAMAGED
   */
  read(seqFrom: number, seqTo: number): readonly LedgerRecord[] {
    invariant(seqTo <= this.#durable.seq, "only durable records are read");
    return this.#reader.read(seqFrom, seqTo);
  }

  /**
   * Reads everything durable back and checks it, one segment per step, so that the caller can do
   * other work in between.
   * @throws AgentError LEDGER_DAMAGED, LEDGER_FORGED, LEDGER_NEWER, LEDGER_UNREADABLE
   */
  verify(): Generator<number, VerifiedLedger> {
    return verifySegments(this.#disk, this.#reader.endOf(this.#durable.seq), this.#seal);
  }

  /** Ends this ledger's use: whoever still waits gets LEDGER_POISONED. Twice is harmless. */
  close(): void {
    if (this.#writing === null && this.#poison === null) this.#file.close();
    this.#fail(new Error("closed"));
  }

  #add(body: RecordBody, notBeforeMs = 0): LedgerRecord {
    const at = Math.max(this.#last.at, this.#clock(), notBeforeMs);
    const { record, line, bytes } = encodeRecord(body, { seq: this.#last.seq + 1, prev: this.#last.hash, at }, this.#seal);
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined) {
      chunk = { segment: this.#map.segment, begins: false, lines: "", last: record, waiting: [] };
      this.#chunks.push(chunk);
    }
    chunk.lines += line;
    chunk.last = record;
    this.#last = record;
    this.#map.add(record.hash, bytes);
    if (record.kind === "INTENT") this.#intents.set(record.seq, record);
    return record;
  }

  /**
   * Writes the oldest chunk when none is under way and someone waits for it or for one behind it.
   */
  #writeNext(): void {
    if (this.#writing !== null || this.#delivering || this.#poison !== null) return;
    if (!this.#chunks.some((chunk) => chunk.waiting.length > 0)) return;
    const chunk = this.#chunks.shift();
    invariant(chunk !== undefined, "a chunk someone waits for is there");
    this.#writing = chunk;
    const bytes = Buffer.from(chunk.lines);
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
    // The newest checkpoint is what a start reads; the one before it stays as long as this one is
    // young.
    const old = checkpointName(segment - 2);
    if (this.#disk.list().includes(old)) this.#disk.remove(old);
  }

  #written(chunk: Chunk, error: Error | null): void {
    if (this.#poison !== null) return;
    if (error !== null) {
      this.#fail(error);
      return;
    }
    this.#writing = null;
    this.#durable = chunk.last;
    this.#room = this.#room && this.#measureRoom();
    // What these callers append and flush in turn gathers into one write.
    this.#delivering = true;
    for (const done of chunk.waiting) done(null);
    this.#delivering = false;
    this.#writeNext();
  }

  #fail(cause: unknown): AgentError {
    if (this.#poison !== null) return this.#poison;
    const fault = poisoned(cause);
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
