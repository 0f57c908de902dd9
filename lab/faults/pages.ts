/**
 * Files that are written in place, such as a database and its write-ahead log, after a power
 * failure: the bytes synced, and of every later write all, nothing or some of its sectors. Made
 * again from a trace that holds the data. Source: fsync(2).
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type Call, callsIn } from "./trace.ts";

type Random = () => number;

const sectorBytes = 512;

type Change =
  | { readonly kind: "write"; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: "truncate"; readonly length: number }
  | { readonly kind: "remove" };

interface Pages {
  durable: Buffer | null; // null: no such file
  pending: Change[];
  /** The one that the process was killed in: done or not. */
  last: Change | null;
}

/** Follows a few files from the moment their content was known to be durable. */
export class Disk {
  readonly #files: Map<string, Pages>;

  constructor(paths: readonly string[]) {
    const read = (path: string): Buffer | null => (existsSync(path) ? readFileSync(path) : null);
    this.#files = new Map(
      paths.map((path) => [path, { durable: read(path), pending: [], last: null }]),
    );
  }

  /** Takes the calls of a trace made with data; `onSync` is told after each sync of a file. */
  follow(log: string, onSync: (path: string) => void = () => undefined): void {
    const marks = new Map<Call, number>();
    const calls = callsIn(log);
    for (const call of calls) {
      const file = call.value === null ? this.#files.get(pathOf(call)) : undefined;
      if (file !== undefined) file.last = changeOf(call);
    }
    const events = calls.flatMap((call) => [
      { call, begins: true, place: call.begunAt },
      { call, begins: false, place: call.endedAt },
    ]);
    events.sort((a, b) => a.place - b.place || Number(b.begins) - Number(a.begins));
    for (const { call, begins, place } of events) {
      if (!Number.isFinite(place)) continue;
      const path = pathOf(call);
      const file = this.#files.get(path);
      if (file === undefined) continue;
      const isSync = /^f(data)?sync$/.test(call.syscall);
      if (begins) {
        if (isSync) marks.set(call, file.pending.length);
        continue;
      }
      if (call.value === null || call.value < 0) continue;
      if (isSync) {
        for (const change of file.pending.splice(0, marks.get(call) ?? 0))
          file.durable = applied(file.durable, change);
        onSync(path);
        continue;
      }
      const change = changeOf(call);
      if (change !== null) file.pending.push(change);
    }
  }

  /** Writes the files as they may be after the power came back. */
  losePower(random: Random): void {
    for (const [path, { durable, pending }] of this.#files) {
      let content = durable;
      const fate = random();
      for (const change of pending) {
        if (fate < 0.25) break; // Nothing of what was not synced.
        if (fate > 0.75 || random() < 0.5) content = applied(content, change);
        else if (change.kind === "write") content = applied(content, torn(change, random));
      }
      put(path, content);
    }
  }

  /** Nothing was overlooked: with all that is pending the files are what is really there. */
  assertWhole(): void {
    for (const [path, file] of this.#files) {
      const whole = file.pending.reduce(applied, file.durable);
      const found = existsSync(path) ? readFileSync(path) : null;
      const { last } = file;
      file.last = null;
      if (areSame(whole, found)) continue;
      if (last === null || !areSame(applied(whole, last), found))
        throw new Error(`the trace does not tell all that was written to ${path}`);
      file.pending.push(last);
    }
  }

  /** The files as they are durable now, by path. */
  image(): ReadonlyMap<string, Buffer | null> {
    return new Map([...this.#files].map(([path, { durable }]) => [path, durable]));
  }
}

/**
 * Puts a database's files back as an image has them; its shared memory, which is made from them,
 * goes.
 */
export function restoreImage(image: ReadonlyMap<string, Buffer | null>): void {
  for (const [path, content] of image) {
    put(path, content);
    rmSync(`${path}-shm`, { force: true });
  }
}

function areSame(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}

function put(path: string, content: Buffer | null): void {
  rmSync(path, { force: true });
  if (content !== null) writeFileSync(path, content, { mode: 0o600 });
}

function pathOf(call: Call): string {
  const found =
    (call.syscall === "unlink" ? /"([^"]*)"/ : /^\d+<([^>]*)>/).exec(call.args)?.[1] ?? "";
  // A trace with data has names in hex as well.
  return found.startsWith("\\x") ? bytesOf(found).toString("utf8") : found;
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll("\\x", ""), "hex");
}

function changeOf({ syscall, args, value }: Call): Change | null {
  if (syscall === "unlink") return { kind: "remove" };
  if (syscall === "ftruncate")
    return { kind: "truncate", length: Number(/, (\d+)$/.exec(args)?.[1] ?? 0) };
  const found =
    syscall === "pwrite64" ? /"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?, \d+, (\d+)$/.exec(args) : null;
  if (found === null) return null;
  if (found[2] !== undefined) throw new Error("the trace does not hold all of a write");
  const bytes = bytesOf(found[1] ?? "").subarray(0, value ?? undefined);
  return { kind: "write", at: Number(found[3]), bytes };
}

function applied(content: Buffer | null, change: Change): Buffer | null {
  if (change.kind === "remove") return null;
  const before = content ?? Buffer.alloc(0);
  if (change.kind === "truncate") {
    return change.length <= before.length
      ? before.subarray(0, change.length)
      : Buffer.concat([before, Buffer.alloc(change.length - before.length)]);
  }
  const after = Buffer.alloc(Math.max(before.length, change.at + change.bytes.length));
  before.copy(after);
  change.bytes.copy(after, change.at);
  return after;
}

/** The first sectors of a write, or its last ones. */
function torn({ at, bytes }: Change & { readonly kind: "write" }, random: Random): Change {
  const cut = Math.floor((random() * bytes.length) / sectorBytes) * sectorBytes;
  return random() < 0.5
    ? { kind: "write", at, bytes: bytes.subarray(0, cut) }
    : { kind: "write", at: at + cut, bytes: bytes.subarray(cut) };
}
