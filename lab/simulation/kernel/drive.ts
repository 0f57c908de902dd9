/**
 * A simulated drive with one folder of files, as a power failure sees it: what was written and not
 * synced may be there, in part, torn or not at all; a name that was made, moved or removed holds
 * only after the folder's own sync. Reads always see what was written.
 */

import { note } from "./kernel.ts";
import type { Random } from "./random.ts";

/** Content as a list of writes, the newest last. Lists only grow; a rewrite makes another one. */
interface Content {
  readonly writes: Uint8Array[];
  count: number; // the writes that belong to it
}

export class File {
  now: Content = { writes: [], count: 0 };
  durable: Content = { writes: [], count: 0 };
  /**
   * Writes that a failed sync let go: the kernel forgets them and reads on from its cache until the
   * power goes.
   */
  readonly #lost = new Set<Uint8Array>();

  get size(): number {
    let size = 0;
    for (let i = 0; i < this.now.count; i += 1) size += (this.now.writes[i] as Uint8Array).length;
    return size;
  }

  append(bytes: Uint8Array): void {
    this.now.writes.length = this.now.count;
    this.now.writes.push(Uint8Array.from(bytes));
    this.now.count += 1;
  }

  truncate(size: number): void {
    const bytes = bytesOf(this.now).subarray(0, size);
    this.now = { writes: [bytes], count: 1 };
  }

  read(start: number, end: number): Uint8Array {
    return bytesOf(this.now).subarray(start, end);
  }

  /** A sync failed: nothing that waited for it will ever be on disk. */
  letGo({ writes, count }: Content): void {
    if (writes !== this.durable.writes) return;
    for (let i = this.durable.count; i < count; i += 1) this.#lost.add(writes[i] as Uint8Array);
  }

  durableBytes(from = 0): Buffer {
    const { writes, count } = this.durable;
    return Buffer.concat(
      writes
        .slice(from, count)
        .map((bytes) => (this.#lost.has(bytes) ? Buffer.alloc(bytes.length) : bytes)),
    );
  }

  copy(): File {
    const file = new File();
    const bytes = bytesOf(this.now);
    file.now = { writes: [bytes], count: 1 };
    file.durable = { writes: file.now.writes, count: 1 };
    return file;
  }
}

export function bytesOf({ writes, count }: Content): Buffer {
  return Buffer.concat(writes.slice(0, count));
}

type Entries = Map<string, File>;

/** How the drive answers; all false and endless while nothing is wrong with it. */
interface DriveFaults {
  freeBytes: number;
}

/**
 * Called with bytes that became durable at the end of a file; null when a file was replaced or cut,
 * so that all must be read again.
 */
type OnDurable = (name: string, bytes: Uint8Array | null) => void;

export class Drive {
  entries: Entries = new Map();
  readonly faults: DriveFaults = { freeBytes: Number.MAX_SAFE_INTEGER };
  onDurable: OnDurable = () => {};
  /** A power failure once left later parts of a write without the earlier ones. */
  hasHole = false;
  /** Called when the durable files are others than before, without anybody having synced. */
  onLost: () => void = () => {};
  #durable: Entries = new Map();
  /**
   * Names made, moved and removed since the folder's last sync, each as the folder stood after it.
   */
  #changes: Entries[] = [];

  changed(): void {
    this.#changes.push(new Map(this.entries));
  }

  /** The folder's own sync. */
  syncFolder(): void {
    if (this.#changes.length === 0) return;
    const before = this.#durable;
    this.#durable = new Map(this.entries);
    this.#changes = [];
    for (const [name, file] of this.#durable)
      if (before.get(name) !== file) this.onDurable(name, null);
  }

  /** `content` of a file is on disk from now on. */
  synced(file: File, { writes, count }: Content): void {
    const { durable } = file;
    const isAppended = durable.writes === writes;
    const from = durable.count;
    if (isAppended && from >= count) return;
    file.durable = { writes, count };
    for (const [name, each] of this.#durable) {
      if (each === file) this.onDurable(name, isAppended ? file.durableBytes(from) : null);
    }
  }

  durableFiles(): ReadonlyMap<string, Uint8Array> {
    return new Map([...this.#durable].map(([name, file]) => [name, file.durableBytes()] as const));
  }

  /** The power goes and comes back: chance decides what of the unsynced is there. */
  loseUnsynced(random: Random): void {
    const kept = random.below("names kept", this.#changes.length + 1);
    const found = kept === 0 ? this.#durable : (this.#changes[kept - 1] as Entries);
    const files = new Map<string, File>();
    for (const [name, file] of found) files.set(name, this.#survivor(file, random));
    this.entries = files;
    this.#durable = new Map(files);
    this.#changes = [];
    this.onLost();
    note(
      "unsynced lost",
      `${kept} ${[...files].map(([name, file]) => `${name} ${file.size}`).join()}`,
    );
  }

  backup(): ReadonlyMap<string, File> {
    return new Map([...this.#durable].map(([name, file]) => [name, copyDurable(file)]));
  }

  restore(files: ReadonlyMap<string, File>): void {
    this.entries = new Map([...files].map(([name, file]) => [name, file.copy()]));
    this.#durable = new Map(this.entries);
    this.#changes = [];
    this.onLost();
  }

  #survivor(file: File, random: Random): File {
    const { now, durable } = file;
    const survived = new File();
    let bytes: Uint8Array = file.durableBytes();
    if (now.writes === durable.writes) {
      const left = remains(bytesOf(now).subarray(bytes.length), random);
      this.hasHole ||= left.hasHole;
      bytes = Buffer.concat([bytes, left.bytes]);
    } else if (random.below("rewrite kept", 2) === 1) bytes = bytesOf(now);
    survived.now = { writes: [bytes], count: 1 };
    survived.durable = { writes: survived.now.writes, count: 1 };
    return survived;
  }
}

function copyDurable(file: File): File {
  const copy = new File();
  const bytes = file.durableBytes();
  copy.now = { writes: [bytes], count: 1 };
  copy.durable = { writes: copy.now.writes, count: 1 };
  return copy;
}

const sectorBytes = 512;

/**
 * The possible remains of a write that was not synced: nothing, all, its beginning, or later
 * sectors without the ones before.
 */
function remains(
  bytes: Uint8Array,
  random: Random,
): { readonly bytes: Uint8Array; readonly hasHole: boolean } {
  const way = bytes.length === 0 ? 1 : random.below("unsynced kept", 4);
  if (way === 1) return { bytes, hasHole: false };
  const cut = way === 0 ? 0 : random.below("unsynced cut", bytes.length);
  if (way !== 3 || bytes.length <= sectorBytes)
    return { bytes: bytes.subarray(0, cut), hasHole: false };
  const torn = Uint8Array.from(bytes);
  const first = Math.floor(cut / sectorBytes) * sectorBytes;
  torn.fill(0, first, Math.min(first + sectorBytes, torn.length));
  return { bytes: torn, hasHole: true };
}
