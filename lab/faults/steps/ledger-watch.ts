/**
 * The records of a running signer, told as soon as their lines are in the file: the kernel reports
 * each write, so that a caller can act between two of them.
 */
import {
  closeSync,
  type FSWatcher,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  watch,
} from "node:fs";
import { join } from "node:path";
import type { LedgerRecord } from "../../../agent/ledger/records.ts";

/** A look without a report of the kernel, should one be lost. */
const lookMs = 10;
const pieceBytes = 64 * 1024;

interface Segment {
  at: number; // bytes that were read
  rest: Buffer; // the begin of a line that is not complete
}

export class LedgerWatch {
  readonly records: LedgerRecord[] = [];
  readonly #folder: string;
  readonly #segments = new Map<string, Segment>();
  readonly #told = new Set<(fresh: readonly LedgerRecord[]) => void>();
  readonly #watcher: FSWatcher;
  readonly #timer: NodeJS.Timeout;

  constructor(folder: string) {
    this.#folder = folder;
    this.look();
    this.#watcher = watch(folder, () => this.look());
    this.#timer = setInterval(() => this.look(), lookMs);
  }

  /** Calls with each record from now on, in pieces as they are found; gives the way to end it. */
  follow(told: (fresh: readonly LedgerRecord[]) => void): () => void {
    this.#told.add(told);
    return () => void this.#told.delete(told);
  }

  /** Tells and gives the records that nobody was told of yet. */
  look(): readonly LedgerRecord[] {
    const names = readdirSync(this.#folder).filter((name) => name.endsWith(".jsonl"));
    const fresh = names.sort().flatMap((name) => this.#read(name));
    if (fresh.length === 0) return fresh;
    this.records.push(...fresh);
    for (const told of [...this.#told]) told(fresh);
    return fresh;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#watcher.close();
  }

  #read(name: string): readonly LedgerRecord[] {
    const segment = this.#segments.get(name) ?? { at: 0, rest: Buffer.alloc(0) };
    this.#segments.set(name, segment);
    const file = openSync(join(this.#folder, name), "r");
    try {
      const { size } = fstatSync(file);
      // A start cuts off what a killed signer did not write to its end.
      if (size < segment.at) Object.assign(segment, { at: size, rest: Buffer.alloc(0) });
      const piece = Buffer.alloc(pieceBytes);
      for (let got = readSync(file, piece, 0, pieceBytes, segment.at); got > 0; ) {
        segment.at += got;
        segment.rest = Buffer.concat([segment.rest, piece.subarray(0, got)]);
        got = readSync(file, piece, 0, pieceBytes, segment.at);
      }
    } finally {
      closeSync(file);
    }
    const end = segment.rest.lastIndexOf(0x0a) + 1;
    const lines = segment.rest.subarray(0, end).toString("utf8").split("\n");
    segment.rest = segment.rest.subarray(end);
    return lines
      .filter((line) => line.endsWith("}"))
      .map((line) => JSON.parse(line) as LedgerRecord);
  }
}
