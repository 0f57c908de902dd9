/**
 * An immutable file of rows in the order of their keys: written once, searched by halving, and
 * merged with others into a larger file. Its end (first key and hash of every block, and a filter)
 * stays in memory, and the ledger names it by a hash. Each read of a block is checked against the
 * block's hash. Bytes: docs/ledger.md section 9.
 */
import { createHash } from "node:crypto";
import { type AgentError, invariant } from "../../base/fault.ts";
import { damagedFault } from "./codec.ts";
import type { LedgerDisk } from "./folder.ts";
import type { NamedSortedFile } from "./records.ts";

/** Bytes of a key. The filter and `find` use its first half, which rows may share. */
export const keyBytes = 16;
export const prefixBytes = 8;

const domain = "autowithdraw/1 sorted file\n";
const magic = Buffer.from("awsort/1");
const tailBytes = 32;
/** The most bytes of a block's rows, so that one look-up reads and hashes no more. */
const blockBytesMax = 4096;
const hashBytes = 32;
const fenceBytes = keyBytes + hashBytes;
/** With ten bits a row, one absent row of a hundred passes the filter. */
const filterBitsPerRow = 10;
const filterProbes = 7;

/**
 * A key and its value. A value shorter than the file's longest is read back with zeros at the end.
 */
export interface Row {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** The position of a key's bits in any filter: (first + n * step) modulo the filter's bits. */
export interface FilterProbe {
  readonly first: number;
  readonly step: number;
}

/**
 * Returns the positions from a key's first half: keys are hashes, so no further mixing is needed.
 */
export function probeOf(key: Uint8Array): FilterProbe {
  const bytes = Buffer.from(key.buffer, key.byteOffset, prefixBytes);
  return { first: bytes.readUInt32BE(0), step: (bytes.readUInt32BE(4) | 1) >>> 0 };
}

interface Tail {
  readonly rows: number;
  readonly valueBytes: number;
  readonly level: number;
  readonly filterBytes: number;
}

/** The sizes that follow from a tail. */
interface Shape {
  readonly rowBytes: number;
  readonly rowsPerBlock: number;
  readonly blocks: number;
  readonly indexAt: number; // the end of the rows
  readonly endBytes: number;
}

function shapeOf({ rows, valueBytes, filterBytes }: Tail): Shape {
  const rowBytes = keyBytes + valueBytes;
  const rowsPerBlock = Math.max(1, Math.floor(blockBytesMax / rowBytes));
  const blocks = Math.ceil(rows / rowsPerBlock);
  return {
    rowBytes,
    rowsPerBlock,
    blocks,
    indexAt: rows * rowBytes,
    endBytes: blocks * fenceBytes + filterBytes + tailBytes,
  };
}

/**
 * Gathers rows in the order of their keys, each key once. Each block is hashed when it is full, so
 * `finish` is quick.
 */
export class SortedWriter {
  readonly #level: number;
  readonly #valueBytes: number;
  readonly #rowsMax: number;
  readonly #bytes: Buffer; // rows, with room for the end behind them
  readonly #filter: Buffer;
  readonly #fences: Buffer[] = [];
  #rows = 0;

  constructor(rowsMax: number, valueBytes: number, level: number) {
    this.#rowsMax = rowsMax;
    this.#valueBytes = valueBytes;
    this.#level = level;
    this.#filter = Buffer.alloc(Math.ceil((rowsMax * filterBitsPerRow) / 8));
    const { indexAt, endBytes } = shapeOf({
      rows: rowsMax,
      valueBytes,
      level,
      filterBytes: this.#filter.length,
    });
    this.#bytes = Buffer.alloc(indexAt + endBytes);
  }

  add(key: Uint8Array, value: Uint8Array): void {
    const { rowBytes, rowsPerBlock } = this.#shape;
    const at = this.#rows * rowBytes;
    invariant(
      key.length === keyBytes && value.length <= this.#valueBytes && this.#rows < this.#rowsMax,
      "a row fits its file",
    );
    this.#bytes.set(key, at);
    this.#bytes.set(value, at + keyBytes);
    this.#rows += 1;
    markIn(this.#filter, probeOf(key));
    if (this.#rows % rowsPerBlock === 0) this.#fence();
  }

  /** Returns the complete file, and the hash that names it. */
  finish(): { readonly bytes: Uint8Array; readonly root: string } {
    if (this.#rows % this.#shape.rowsPerBlock !== 0) this.#fence();
    const end = Buffer.concat([...this.#fences, this.#filter, encodeTail(this.#tail)]);
    const { indexAt } = this.#shape;
    this.#bytes.set(end, indexAt);
    return { bytes: this.#bytes.subarray(0, indexAt + end.length), root: rootOf(end) };
  }

  #fence(): void {
    const { rowBytes, rowsPerBlock } = this.#shape;
    const start = this.#fences.length * rowsPerBlock * rowBytes;
    const bytes = this.#bytes.subarray(start, this.#rows * rowBytes);
    this.#fences.push(Buffer.concat([bytes.subarray(0, keyBytes), hashOf(bytes)]));
  }

  get #tail(): Tail {
    return {
      rows: this.#rows,
      valueBytes: this.#valueBytes,
      level: this.#level,
      filterBytes: this.#filter.length,
    };
  }

  get #shape(): Shape {
    return shapeOf(this.#tail);
  }
}

/** Returns rows in any order, each key once, as a file of level 0. */
export function sortedFileOf(rows: readonly Row[]): ReturnType<SortedWriter["finish"]> {
  const valueBytes = rows.reduce((most, { value }) => Math.max(most, value.length), 0);
  const writer = new SortedWriter(rows.length, valueBytes, 0);
  for (const { key, value } of [...rows].sort((a, b) => Buffer.compare(a.key, b.key)))
    writer.add(key, value);
  return writer.finish();
}

/** The source of a file's bytes: a disk, or a copy in memory. */
export interface SortedFileSource {
  readonly size: number;
  read(start: number, end: number): Uint8Array;
}

/** @throws AgentError LEDGER_DAMAGED if the file is missing, LEDGER_UNREADABLE */
export function openSource(
  disk: LedgerDisk,
  names: ReadonlySet<string>,
  file: string,
): SortedFileSource {
  if (!names.has(file)) throw damagedFault("the file of what is closed is missing", { file });
  return { size: disk.size(file), read: (start, end) => disk.read(file, start, end) };
}

/** One file with its end in memory. Reads its blocks from the disk each time. */
export class SortedFile {
  readonly named: NamedSortedFile;
  readonly rows: number;
  readonly level: number;
  readonly valueBytes: number;
  readonly #source: SortedFileSource;
  readonly #shape: Shape;
  readonly #index: Buffer;
  readonly #filter: Buffer;

  /** @throws AgentError LEDGER_DAMAGED if its end is not as it was written; LEDGER_UNREADABLE */
  constructor(source: SortedFileSource, named: NamedSortedFile) {
    const { file } = named;
    const { size } = source;
    const tail = decodeTail(source.read(Math.max(0, size - tailBytes), size), file);
    this.#shape = shapeOf(tail);
    const { blocks, indexAt, endBytes } = this.#shape;
    if (size !== indexAt + endBytes) throw changed(file);
    const end = Buffer.from(source.read(indexAt, size));
    if (end.length !== endBytes || rootOf(end) !== named.root) throw changed(file);
    this.named = named;
    this.rows = tail.rows;
    this.level = tail.level;
    this.valueBytes = tail.valueBytes;
    this.#source = source;
    this.#index = end.subarray(0, blocks * fenceBytes);
    this.#filter = end.subarray(blocks * fenceBytes, blocks * fenceBytes + tail.filterBytes);
  }

  get rowBytes(): number {
    return this.#shape.rowBytes;
  }

  get blocks(): number {
    return this.#shape.blocks;
  }

  /** False for nearly every key without a row; then nothing needs to be read. */
  mayHold(probe: FilterProbe): boolean {
    return holds(this.#filter, probe);
  }

  /**
   * Returns every row whose key begins like `key`. @throws AgentError LEDGER_DAMAGED,
   * LEDGER_UNREADABLE
   */
  find(key: Uint8Array): readonly Row[] {
    const prefix = Buffer.from(key.buffer, key.byteOffset, prefixBytes);
    const found: Row[] = [];
    for (let block = this.#firstBlock(prefix); block < this.blocks; block++) {
      const rows = this.readBlock(block);
      let past = false;
      for (let row = rows.firstFrom(prefix); row < rows.count && !past; row++) {
        if (rows.compare(row, prefix) === 0) found.push(rows.at(row));
        else past = true;
      }
      if (past) break;
    }
    return found;
  }

  /** @throws AgentError LEDGER_DAMAGED if it is not as it was written, LEDGER_UNREADABLE */
  readBlock(block: number): SortedFileBlock {
    const { rowBytes, rowsPerBlock } = this.#shape;
    const start = block * rowsPerBlock * rowBytes;
    const end = Math.min(this.rows, (block + 1) * rowsPerBlock) * rowBytes;
    const bytes = Buffer.from(this.#source.read(start, end));
    const at = block * fenceBytes + keyBytes;
    if (
      bytes.length !== end - start ||
      !hashOf(bytes).equals(this.#index.subarray(at, at + hashBytes))
    )
      throw changed(this.named.file);
    return new SortedFileBlock(bytes, rowBytes);
  }

  /**
   * Returns the block of the first row with the prefix, if any: the last block that begins before
   * the prefix.
   */
  #firstBlock(prefix: Buffer): number {
    let low = 0;
    let high = this.blocks;
    while (low < high) {
      const middle = (low + high) >> 1;
      const at = middle * fenceBytes;
      if (this.#index.compare(prefix, 0, prefixBytes, at, at + prefixBytes) < 0) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}

/** The rows of one block whose hash was right. */
export class SortedFileBlock {
  readonly #bytes: Buffer;
  readonly #rowBytes: number;

  constructor(bytes: Buffer, rowBytes: number) {
    this.#bytes = bytes;
    this.#rowBytes = rowBytes;
  }

  get count(): number {
    return this.#bytes.length / this.#rowBytes;
  }

  at(row: number): Row {
    const start = row * this.#rowBytes;
    const bytes = this.#bytes.subarray(start, start + this.#rowBytes);
    return { key: bytes.subarray(0, keyBytes), value: bytes.subarray(keyBytes) };
  }

  /** Below 0 if the row's key begins lower than the prefix, 0 if it begins with the prefix. */
  compare(row: number, prefix: Buffer): number {
    const start = row * this.#rowBytes;
    return this.#bytes.compare(prefix, 0, prefixBytes, start, start + prefixBytes);
  }

  /** Returns the first row whose key begins with the prefix or higher. */
  firstFrom(prefix: Buffer): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.compare(middle, prefix) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/**
 * Reads a complete file and checks its end against the hash in the ledger, and every block. @throws
 * AgentError LEDGER_DAMAGED, LEDGER_UNREADABLE
 */
export function checkSortedFile(source: SortedFileSource, named: NamedSortedFile): void {
  const file = new SortedFile(source, named);
  for (let block = 0; block < file.blocks; block++) file.readBlock(block);
}

function changed(file: string): AgentError {
  return damagedFault("the file of what is closed is not what was written", { file });
}

function hashOf(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

function rootOf(end: Uint8Array): string {
  return createHash("sha256").update(domain).update(end).digest("hex");
}

function markIn(filter: Buffer, { first, step }: FilterProbe): void {
  for (let probe = 0; probe < filterProbes; probe++) {
    const bit = (first + probe * step) % (filter.length * 8);
    filter[bit >> 3] = (filter[bit >> 3] as number) | (1 << (bit & 7));
  }
}

function holds(filter: Buffer, { first, step }: FilterProbe): boolean {
  for (let probe = 0; probe < filterProbes; probe++) {
    const bit = (first + probe * step) % (filter.length * 8);
    if (((filter[bit >> 3] as number) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/** magic(8) ‖ rows(4) ‖ value bytes(2) ‖ level(2) ‖ filter bytes(4) ‖ zeros(12) */
function encodeTail({ rows, valueBytes, level, filterBytes }: Tail): Buffer {
  const tail = Buffer.alloc(tailBytes);
  tail.set(magic);
  tail.writeUInt32BE(rows, 8);
  tail.writeUInt16BE(valueBytes, 12);
  tail.writeUInt16BE(level, 14);
  tail.writeUInt32BE(filterBytes, 16);
  return tail;
}

function decodeTail(bytes: Uint8Array, file: string): Tail {
  const tail = Buffer.from(bytes);
  if (tail.length !== tailBytes || !tail.subarray(0, magic.length).equals(magic))
    throw changed(file);
  const [rows, filterBytes] = [tail.readUInt32BE(8), tail.readUInt32BE(16)];
  return { rows, filterBytes, valueBytes: tail.readUInt16BE(12), level: tail.readUInt16BE(14) };
}
