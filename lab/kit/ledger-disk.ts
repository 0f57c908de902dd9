/**
 * A ledger folder in memory: appends become durable when `sync` is called, may fail, and a crash
 * keeps any part of what was not synced. Callbacks run only inside `sync`, so a test decides every
 * moment.
 */
import type { LedgerDisk, LedgerFile } from "../../agent/ledger/folder.ts";

export class MemoryDisk implements LedgerDisk {
  readonly files = new Map<string, Uint8Array>();
  free = Number.MAX_SAFE_INTEGER;
  syncs = 0;
  /** Set to make the next change of any kind fail with this error, and every later one too. */
  broken: Error | null = null;
  #pending: { name: string; bytes: Uint8Array; done: (error: Error | null) => void } | null = null;

  static of(files: Iterable<readonly [string, Uint8Array]>): MemoryDisk {
    const disk = new MemoryDisk();
    for (const [name, bytes] of files) disk.files.set(name, Uint8Array.from(bytes));
    return disk;
  }

  /** The bytes themselves, not copies of them: no change of the folder changes them. */
  static over(files: Iterable<readonly [string, Uint8Array]>): MemoryDisk {
    const disk = new MemoryDisk();
    for (const [name, bytes] of files) disk.files.set(name, bytes);
    return disk;
  }

  list(): readonly string[] {
    return [...this.files.keys()];
  }

  size(name: string): number {
    return this.#file(name).length;
  }

  read(name: string, start: number, end: number): Uint8Array {
    return new Uint8Array(this.#file(name).subarray(start, end));
  }

  create(name: string, bytes: Uint8Array): void {
    this.#assertWorks();
    this.files.set(name, Uint8Array.from(bytes));
  }

  truncate(name: string, size: number): void {
    this.#assertWorks();
    this.files.set(name, this.#file(name).slice(0, size));
  }

  remove(name: string): void {
    this.#assertWorks();
    this.files.delete(name);
  }

  open(name: string): LedgerFile {
    this.#file(name);
    return {
      append: (bytes, done) => {
        if (this.#pending !== null) throw new Error("two appends at once");
        this.#pending = { name, bytes: Uint8Array.from(bytes), done };
      },
      close: () => {},
    };
  }

  freeBytes(): number {
    return this.free;
  }

  get appending(): boolean {
    return this.#pending !== null;
  }

  /** Finishes the append under way, if any. */
  sync(): void {
    const pending = this.#pending;
    if (pending === null) return;
    this.#pending = null;
    if (this.broken !== null) {
      pending.done(this.broken);
      return;
    }
    this.syncs += 1;
    this.files.set(pending.name, Buffer.concat([this.#file(pending.name), pending.bytes]));
    pending.done(null);
  }

  /** The file after a power failure that kept `kept` bytes of the append under way. */
  crash(kept = 0): MemoryDisk {
    const found = MemoryDisk.of(this.files);
    if (this.#pending !== null) {
      const { name, bytes } = this.#pending;
      found.files.set(name, Buffer.concat([this.#file(name), bytes.subarray(0, kept)]));
    }
    return found;
  }

  #file(name: string): Uint8Array {
    const bytes = this.files.get(name);
    if (bytes === undefined) throw new Error(`no file ${name}`);
    return bytes;
  }

  #assertWorks(): void {
    if (this.broken !== null) throw this.broken;
  }
}
