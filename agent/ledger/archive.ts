/**
 * Closed withdrawals and paid destinations, which never change, so checkpoints do not hold them.
 * Each new segment adds one sorted file of each kind. Eight files of one size are merged into a
 * larger one, in slices of work, so that the number of files stays small. The CHECKPOINT record
 * names all files. docs/ledger.md section 9.
 */
import { type LedgerDisk, writeOrFault } from "./folder.ts";
import type { NamedFiles, NamedSortedFile } from "./records.ts";
import {
  openSource,
  probeOf,
  type Row,
  SortedFile,
  SortedWriter,
  sortedFileOf,
} from "./sorted-file.ts";

/** The kinds of sorted files, and the first part of their names. */
export const archiveKinds = ["closed", "paid"] as const;

export type ArchiveKind = (typeof archiveKinds)[number];

export type ArchivedRows = { readonly [S in ArchiveKind]: readonly Row[] };

/**
 * The lookup of the state in the files. An answer never changes except by a newer row of the same
 * key.
 */
export interface ArchiveLookup {
  /**
   * Returns every row whose key begins with the first eight bytes of `key`, newest first. A value
   * may be followed by zeros.
   * @throws AgentError LEDGER_DAMAGED naming the file, LEDGER_UNREADABLE
   */
  find(shelf: ArchiveKind, key: Uint8Array): readonly Row[];
}

/** The empty past of a ledger in its first segment. */
export const emptyArchive: ArchiveLookup = { find: () => [] };

/** No rows to put away. */
export const noArchivedRows: ArchivedRows = { closed: [], paid: [] };

/** The number of files of one level that are merged. */
const joinedFiles = 8;
/**
 * The largest size of a merged file's rows, about 64 segments' rows, so that writing it is short
 * and takes little memory.
 */
const joinedBytesMax = 16 * 1024 * 1024;
/** The rows in one slice of a merge: a few milliseconds. */
const sliceRows = 8_192;

const namePattern = /^(closed|paid)-(\d{8})\.bin$/;

/** True for the name of a sorted file of this folder. */
export function isArchiveFileName(name: string): boolean {
  return namePattern.test(name);
}

/** The sorted files of one ledger. Made when the ledger is opened; `put` and `tend` change them. */
export class ArchiveFiles implements ArchiveLookup {
  readonly #disk: LedgerDisk;
  readonly #files: { readonly [S in ArchiveKind]: SortedFile[] };
  #joining: Generator<undefined, void> | null = null;

  /**
   * @throws AgentError LEDGER_DAMAGED if a named file is missing or not as it was written,
   * LEDGER_UNREADABLE
   */
  constructor(disk: LedgerDisk, named: NamedFiles) {
    const names = new Set(disk.list());
    const open = (each: NamedSortedFile): SortedFile =>
      new SortedFile(openSource(disk, names, each.file), each);
    this.#disk = disk;
    this.#files = { closed: named.closed.map(open), paid: named.paid.map(open) };
  }

  /** The names for the next CHECKPOINT record. */
  get named(): NamedFiles {
    const { closed, paid } = this.#files;
    return { closed: closed.map(({ named }) => named), paid: paid.map(({ named }) => named) };
  }

  find(shelf: ArchiveKind, key: Uint8Array): readonly Row[] {
    const files = this.#files[shelf];
    const probe = probeOf(key);
    const found: Row[] = [];
    for (let i = files.length - 1; i >= 0; i--) {
      const file = files[i] as SortedFile;
      if (file.mayHold(probe)) found.push(...file.find(key));
    }
    return found;
  }

  /**
   * Writes the rows that leave the state, durable when it returns. @throws AgentError
   * LEDGER_POISONED
   */
  put(leaving: ArchivedRows): void {
    for (const shelf of archiveKinds) {
      if (leaving[shelf].length === 0) continue;
      this.#files[shelf].push(this.#write(shelf, sortedFileOf(leaving[shelf])));
    }
  }

  /**
   * Does one slice of a merge, if there are files to merge and the disk has room. A crash loses
   * nothing: the merged files stay on disk, and count until a CHECKPOINT record names the new file.
   * @throws AgentError LEDGER_DAMAGED, LEDGER_UNREADABLE, LEDGER_POISONED
   */
  tend(): void {
    const joining = this.#joining ?? this.#nextJoin();
    // A merge that a changed file stops begins again.
    this.#joining = null;
    if (joining?.next().done === false) this.#joining = joining;
  }

  /**
   * Removes files that no record names, because of a crash before the record or after a merge.
   * @throws the disk's error
   */
  removeOthers(): void {
    const named = new Set(
      archiveKinds.flatMap((shelf) => this.#files[shelf].map((each) => each.named.file)),
    );
    for (const name of this.#disk.list())
      if (isArchiveFileName(name) && !named.has(name)) this.#disk.remove(name);
  }

  #write(
    shelf: ArchiveKind,
    { bytes, root }: { readonly bytes: Uint8Array; readonly root: string },
  ): SortedFile {
    const file = `${shelf}-${String(this.#nextNumber()).padStart(8, "0")}.bin`;
    writeOrFault(() => this.#disk.create(file, bytes));
    return new SortedFile(openSource(this.#disk, new Set([file]), file), { file, root });
  }

  /**
   * Returns a number above every number in the folder, so that no two records ever use a name for
   * two files.
   */
  #nextNumber(): number {
    return (
      this.#disk
        .list()
        .reduce((most, name) => Math.max(most, Number(namePattern.exec(name)?.[2] ?? 0)), 0) + 1
    );
  }

  #nextJoin(): Generator<undefined, void> | null {
    for (const shelf of archiveKinds) {
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
   * Merges files; of rows with the same key the newest stays. New files may be added behind these
   * meanwhile.
   */
  *#join(
    shelf: ArchiveKind,
    inputs: readonly SortedFile[],
    rows: number,
  ): Generator<undefined, void> {
    const valueBytes = Math.max(...inputs.map((file) => file.valueBytes));
    const writer = new SortedWriter(rows, valueBytes, (inputs[0]?.level ?? 0) + 1);
    const readers = inputs.map((file) => new RowReader(file)).reverse();
    for (let done = 1; ; done++) {
      const lowest = lowestOf(readers);
      if (lowest === null) break;
      writer.add(lowest.key, lowest.value);
      for (const reader of readers)
        if (reader.row !== null && Buffer.compare(reader.row.key, lowest.key) === 0) reader.next();
      if (done % sliceRows === 0) yield;
    }
    const joined = this.#write(shelf, writer.finish());
    const files = this.#files[shelf];
    files.splice(files.indexOf(inputs[0] as SortedFile), inputs.length, joined);
  }
}

/** Returns the lowest of the readers' rows; for one key, the first reader's row. */
function lowestOf(readers: readonly RowReader[]): Row | null {
  let lowest: Row | null = null;
  for (const { row } of readers) {
    if (row !== null && (lowest === null || Buffer.compare(row.key, lowest.key) < 0)) lowest = row;
  }
  return lowest;
}

/** The rows of one file in order; null after the last. */
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
