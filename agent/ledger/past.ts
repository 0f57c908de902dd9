/**
 * What a checkpoint need not carry, since it never changes: withdrawals that are closed and
 * destinations that were paid. Each new segment adds one sorted file of each; eight of one size
 * become one, a slice of the work at a time, so that their number stays small. The CHECKPOINT
 * record names all files. docs/ledger.md section 9.
 */
import { type LedgerDisk, writing } from "./disk.ts";
import type { NamedFile, NamedFiles } from "./records.ts";
import { probeOf, type Row, SortedFile, SortedWriter, sortedFileOf, sourceOn } from "./sorted-file.ts";

/**
 * By what they hold, and how their files are called.
 * @public
 */
export const shelves = ["closed", "paid"] as const;

/** @public */
export type Shelf = (typeof shelves)[number];

/** @public */
export type Leaving = { readonly [S in Shelf]: readonly Row[] };

/**
 * What the folded state looks up in the files. Nothing that it answers ever changes but by a newer
 * row of the same key.
 * @public
 */
export interface Past {
  /**
   * Every row whose key begins with the first eight bytes of `key`, newest first; a value may be
   * followed by zeros.
   * @throws AgentError LEDGER_DAMAGED naming the file, LEDGER_UNREADABLE
   */
  find(shelf: Shelf, key: Uint8Array): readonly Row[];
}

/**
 * Of a ledger in its first segment.
 * @public
 */
export const noPast: Past = { find: () => [] };

/** Nothing to put away. */
export const nothingLeaves: Leaving = { closed: [], paid: [] };

/** So many files of one level are joined. */
const joinedFiles = 8;
/**
 * Rows of a joined file have no more bytes, so that writing it is over soon and takes little
 * memory: about 64 segments' rows.
 */
const joinedBytesMax = 16 * 1024 * 1024;
/** Rows of one slice of joining: a few milliseconds. */
const sliceRows = 8_192;

const namePattern = /^(closed|paid)-(\d{8})\.bin$/;

/** True for the name of a sorted file of this folder. */
export function isPastFile(name: string): boolean {
  return namePattern.test(name);
}

/** The files of one ledger. Made when it is opened; `put` and `tend` change it. */
export class PastFiles implements Past {
  readonly #disk: LedgerDisk;
  readonly #files: { readonly [S in Shelf]: SortedFile[] };
  #joining: Generator<undefined, void> | null = null;

  /**
   * @throws AgentError LEDGER_DAMAGED when a named file is missing or not what was written,
   * LEDGER_UNREADABLE
   */
  constructor(disk: LedgerDisk, named: NamedFiles) {
    const names = new Set(disk.list());
    const open = (each: NamedFile): SortedFile => new SortedFile(sourceOn(disk, names, each.file), each);
    this.#disk = disk;
    this.#files = { closed: named.closed.map(open), paid: named.paid.map(open) };
  }

  /** For the next CHECKPOINT record. */
  get named(): NamedFiles {
    const { closed, paid } = this.#files;
    return { closed: closed.map(({ named }) => named), paid: paid.map(({ named }) => named) };
  }

  find(shelf: Shelf, key: Uint8Array): readonly Row[] {
    const files = this.#files[shelf];
    const probe = probeOf(key);
    const found: Row[] = [];
    for (let i = files.length - 1; i >= 0; i--) {
      const file = files[i] as SortedFile;
      if (file.mayHold(probe)) found.push(...file.find(key));
    }
    return found;
  }

  /** Writes what leaves the state, durable when it returns. @throws AgentError LEDGER_POISONED */
  put(leaving: Leaving): void {
    for (const shelf of shelves) {
      if (leaving[shelf].length === 0) continue;
      this.#files[shelf].push(this.#write(shelf, sortedFileOf(leaving[shelf])));
    }
  }

  /**
   * One slice of joining files, where there are files to join. A crash forgets it and loses
   * nothing: what is joined stays on disk, and counts until a CHECKPOINT record names the joined
   * file. Only while the disk has room.
   * @throws AgentError LEDGER_DAMAGED, LEDGER_UNREADABLE, LEDGER_POISONED
   */
  tend(): void {
    const joining = this.#joining ?? this.#nextJoin();
    // One that a changed file ends is begun anew.
    this.#joining = null;
    if (joining?.next().done === false) this.#joining = joining;
  }

  /**
   * Removes files that no record names: a crash left them before there was one, or they were
   * joined. @throws what the disk says
   */
  removeOthers(): void {
    const named = new Set(shelves.flatMap((shelf) => this.#files[shelf].map((each) => each.named.file)));
    for (const name of this.#disk.list()) if (isPastFile(name) && !named.has(name)) this.#disk.remove(name);
  }

  #write(shelf: Shelf, { bytes, root }: { readonly bytes: Uint8Array; readonly root: string }): SortedFile {
    const file = `${shelf}-${String(this.#nextNumber()).padStart(8, "0")}.bin`;
    writing(() => this.#disk.create(file, bytes));
    return new SortedFile(sourceOn(this.#disk, new Set([file]), file), { file, root });
  }

  /** Above every number in the folder, so that no two records ever name two files alike. */
  #nextNumber(): number {
    return this.#disk.list().reduce((most, name) => Math.max(most, Number(namePattern.exec(name)?.[2] ?? 0)), 0) + 1;
  }

  #nextJoin(): Generator<undefined, void> | null {
    for (const shelf of shelves) {
      const files = this.#files[shelf];
      for (let from = 0; from + joinedFiles <= files.length; from++) {
        const inputs = files.slice(from, from + joinedFiles);
        const rows = inputs.reduce((sum, file) => sum + file.rows, 0);
        const bytes = inputs.reduce((sum, file) => sum + file.rows * file.rowBytes, 0);
        if (bytes <= joinedBytesMax && inputs.every(({ level }) => level === inputs[0]?.level))
          return this.#join(shelf, inputs, rows);
      }
    }
    return null;
  }

  /**
   * Of rows with the same key the newest stays. New files may come behind these while this goes on.
   */
  *#join(shelf: Shelf, inputs: readonly SortedFile[], rows: number): Generator<undefined, void> {
    const valueBytes = Math.max(...inputs.map((file) => file.valueBytes));
    const writer = new SortedWriter(rows, valueBytes, (inputs[0]?.level ?? 0) + 1);
    const readers = inputs.map((file) => new RowReader(file)).reverse();
    for (let done = 1; ; done++) {
      const lowest = lowestOf(readers);
      if (lowest === null) break;
      writer.add(lowest.key, lowest.value);
      for (const reader of readers) if (reader.row !== null && Buffer.compare(reader.row.key, lowest.key) === 0) reader.next();
      if (done % sliceRows === 0) yield;
    }
    const joined = this.#write(shelf, writer.finish());
    const files = this.#files[shelf];
    files.splice(files.indexOf(inputs[0] as SortedFile), inputs.length, joined);
  }
}

/** Of the readers' rows the lowest, of the same key the first reader's. */
function lowestOf(readers: readonly RowReader[]): Row | null {
  let lowest: Row | null = null;
  for (const { row } of readers) {
    if (row !== null && (lowest === null || Buffer.compare(row.key, lowest.key) < 0)) lowest = row;
  }
  return lowest;
}

/** The rows of one file, one after the other; null behind the last. */
class RowReader {
  readonly #rows: Generator<Row, void>;
  row: Row | null = null;

  constructor(file: SortedFile) {
    this.#rows = rowsOf(file);
    this.next();
  }

  next(): void {
    const step = this.#rows.next();
    this.row = step.done === true ? null : step.value;
  }
}

function* rowsOf(file: SortedFile): Generator<Row, void> {
  for (let block = 0; block < file.blocks; block++) {
    const rows = file.readBlock(block);
    for (let row = 0; row < rows.count; row++) yield rows.at(row);
  }
}
