/**
 * A folder of appended files after a power failure, made from the trace of the process that wrote
 * it: everything synced stays, any part of the newest other bytes may be missing or read as zeros,
 * and names that were not synced may be undone from the newest back. Works on the files of a
 * process that has ended. Sources: fsync(2), rename(2); failures.md F33 and F36.
 */
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { type Call, callsIn } from "./trace.ts";

type Random = () => number;

type NameChange =
  | { readonly kind: "create"; readonly path: string }
  | { readonly kind: "rename"; readonly from: string; readonly to: string };

interface FileLengths {
  written: number;
  synced: number;
}

/** The part of a folder that is not certain to survive. */
export interface UnsyncedWrites {
  /** Per file: bytes that are safe, and bytes there are. */
  readonly files: ReadonlyMap<string, { readonly written: number; readonly synced: number }>;
  readonly names: readonly NameChange[];
}

const sectorBytes = 512;

/**
 * Reads a log in which the calls of one folder stand; `sizes` are its files when the tracer was
 * attached, all synced then.
 */
export function unsyncedIn(
  log: string,
  folder: string,
  sizes: ReadonlyMap<string, number>,
): UnsyncedWrites {
  const files = new Map<string, FileLengths>(
    [...sizes].map(([path, size]) => [path, { written: size, synced: size }]),
  );
  let names: NameChange[] = [];
  for (const { call, begins } of eventsOf(callsIn(log))) {
    const path = /^\d+<([^>]*)>/.exec(call.args)?.[1] ?? "";
    const isDone = !begins && call.value !== null && call.value >= 0;
    if (/^f(data)?sync$/.test(call.syscall)) {
      const mark = begins
        ? { written: files.get(path)?.written ?? 0, names: names.length }
        : marks.get(call);
      if (begins && mark !== undefined) marks.set(call, mark);
      if (!isDone || mark === undefined) continue;
      if (path === folder) names = names.slice(mark.names);
      const file = files.get(path);
      if (file !== undefined) file.synced = Math.max(file.synced, mark.written);
    } else if (isDone && call.syscall === "write") {
      const file = files.get(path);
      if (file !== undefined) file.written += call.value ?? 0;
    } else if (isDone && call.syscall === "openat" && call.args.includes("O_CREAT")) {
      const created = /"([^"]*)"/.exec(call.args)?.[1] ?? "";
      files.set(created, { written: 0, synced: 0 });
      names.push({ kind: "create", path: created });
    } else if (isDone && call.syscall.startsWith("rename")) {
      const [from = "", to = ""] = [...call.args.matchAll(/"([^"]*)"/g)].map(
        (match) => match[1] ?? "",
      );
      const file = files.get(from);
      if (file !== undefined) files.set(to, file);
      files.delete(from);
      names.push({ kind: "rename", from, to });
    } else if (isDone && call.syscall === "ftruncate") {
      const length = Number(/, (\d+)$/.exec(call.args)?.[1] ?? 0);
      files.set(path, { written: length, synced: Math.min(length, files.get(path)?.synced ?? 0) });
    }
  }
  return { files, names };
}

const marks = new WeakMap<Call, { readonly written: number; readonly names: number }>();

function eventsOf(
  calls: readonly Call[],
): readonly { readonly call: Call; readonly begins: boolean }[] {
  return calls
    .flatMap((call) => [
      { call, begins: true, place: call.begunAt },
      { call, begins: false, place: call.endedAt },
    ])
    .filter(({ place }) => Number.isFinite(place))
    .sort((a, b) => a.place - b.place || Number(b.begins) - Number(a.begins));
}

/**
 * Makes the folder what it may be after the power came back. Gives a line about what was taken
 * away, "" for nothing.
 */
export function losePower({ files, names }: UnsyncedWrites, random: Random): string {
  const told: string[] = [];
  for (const [path, { synced }] of files) {
    if (!existsSync(path)) continue;
    const size = statSync(path).size;
    if (size <= synced) continue;
    const length = synced + Math.floor(random() * (size - synced + 1));
    truncateSync(path, length);
    const hole = random() < 0.3 ? punch(path, synced, length, random) : 0;
    told.push(
      `${path}: ${size - length} of ${size - synced} unsynced bytes lost, ${hole} read as zeros`,
    );
  }
  const kept = Math.floor(random() * (names.length + 1));
  for (const change of names.slice(kept).reverse()) {
    if (change.kind === "create") rmSync(change.path, { force: true });
    else if (existsSync(change.to)) renameSync(change.to, change.from);
    told.push(`undone: ${JSON.stringify(change)}`);
  }
  return told.join("; ");
}

/**
 * A sector of the newest line that never reached the disk, while later ones did. One before a whole
 * line is another matter: a reader cannot tell it from damage, and refuses (docs/ledger.md section
 * 7).
 */
function punch(path: string, from: number, to: number, random: Random): number {
  const newline = readFileSync(path).lastIndexOf(0x0a, to - 2);
  const first = Math.ceil(Math.max(from, newline + 2 - sectorBytes) / sectorBytes);
  const last = Math.floor(to / sectorBytes);
  if (last <= first) return 0;
  const start = (first + Math.floor(random() * (last - first))) * sectorBytes;
  const file = openSync(path, "r+");
  try {
    return writeSync(file, Buffer.alloc(sectorBytes), 0, sectorBytes, start);
  } finally {
    closeSync(file);
  }
}
