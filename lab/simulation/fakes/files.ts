/**
 * Stands in for node:fs where the ledger's disk uses it: the same calls on simulated drives, with
 * the order that matters for a power failure. Each call that changes something is a point where the
 * process may die, the disk may fail, or the room may end.
 */
import { type Drive, File } from "../kernel/drive.ts";
import { kernel, note } from "../kernel/kernel.ts";

export const constants = {
  O_RDONLY: 0,
  O_WRONLY: 1,
  O_CREAT: 64,
  O_EXCL: 128,
  O_APPEND: 1024,
  O_DIRECTORY: 65536,
  O_NOFOLLOW: 131072,
  W_OK: 2,
};

interface OpenFile {
  readonly drive: Drive;
  readonly name: string; // "" for the folder itself
  readonly file: File | null;
}

/**
 * Asked before each call that changes something: what goes wrong with it. `dead` changes nothing
 * and says nothing.
 */
export type DiskVerdict =
  | { readonly kind: "fine" }
  | { readonly kind: "dead" }
  | { readonly kind: "error"; readonly code: string };

/** The edge's own hooks, set by the world for each run. */
export const disk: {
  ask: (call: string, drive: Drive) => DiskVerdict;
  syncMs: () => number;
  writable: (bytes: number) => number;
} = {
  ask: () => ({ kind: "fine" }),
  syncMs: () => 1,
  writable: (bytes) => bytes,
};

const open = new Map<number, OpenFile>();
let nextFd = 10;

/** Forgets every descriptor of the run before. */
export function closeAll(): void {
  open.clear();
  nextFd = 10;
}

function failure(code: string, call: string): Error {
  return Object.assign(new Error(`${code}: simulated, ${call}`), { code });
}

/** True when the caller lives and the disk takes the call. @throws what the disk says */
function takes(call: string, drive: Drive): boolean {
  if (!kernel.scheduler.current.isAlive) return false;
  const verdict = disk.ask(call, drive);
  if (verdict.kind === "error") throw failure(verdict.code, call);
  return verdict.kind === "fine";
}

function placeOf(path: string): { readonly drive: Drive; readonly name: string } {
  const [, machine = "", folder = "", name = ""] = path.split("/");
  const drive = kernel.drives.get(`/${machine}/${folder}`) as Drive | undefined;
  if (drive === undefined) throw failure("ENOENT", path);
  return { drive, name };
}

function opened(fd: number): OpenFile {
  const found = open.get(fd);
  if (found === undefined) throw failure("EBADF", String(fd));
  return found;
}

function fileOf(fd: number): { readonly drive: Drive; readonly file: File } {
  const { drive, file } = opened(fd);
  if (file === null) throw failure("EISDIR", String(fd));
  return { drive, file };
}

export function openSync(path: string, flags: number): number {
  const { drive, name } = placeOf(path);
  let file: File | null = null;
  if (name !== "") {
    file = drive.entries.get(name) ?? null;
    if (file !== null && (flags & constants.O_EXCL) !== 0) throw failure("EEXIST", path);
    if (file === null && (flags & constants.O_CREAT) === 0) throw failure("ENOENT", path);
    if (file === null) {
      file = new File();
      if (takes("create", drive)) {
        drive.entries.set(name, file);
        drive.changed();
      }
    }
  }
  nextFd += 1;
  open.set(nextFd, { drive, name, file });
  return nextFd;
}

export function closeSync(fd: number): void {
  open.delete(fd);
}

export function close(fd: number, done: () => void): void {
  open.delete(fd);
  done();
}

export function readdirSync(path: string): string[] {
  return [...placeOf(path).drive.entries.keys()];
}

export function fstatSync(fd: number): { readonly size: number } {
  return { size: fileOf(fd).file.size };
}

export function readSync(
  fd: number,
  into: Uint8Array,
  at: number,
  count: number,
  position: number,
): number {
  const bytes = fileOf(fd).file.read(position, position + count);
  into.set(bytes, at);
  return bytes.length;
}

export function writeSync(fd: number, bytes: Uint8Array, at: number, count: number): number {
  const { drive, file } = fileOf(fd);
  if (!takes("write", drive)) return count;
  const taken = Math.min(disk.writable(count), drive.faults.freeBytes);
  if (taken <= 0) throw failure("ENOSPC", "write");
  drive.faults.freeBytes -= taken;
  file.append(bytes.subarray(at, at + taken));
  note("write", taken);
  return taken;
}

export function fsyncSync(fd: number): void {
  const { drive, file } = opened(fd);
  if (!takes(file === null ? "sync of the folder" : "sync", drive)) return;
  if (file === null) drive.syncFolder();
  else drive.synced(file, { writes: file.now.writes, count: file.now.count });
}

export function fdatasync(fd: number, done: (error: Error | null) => void): void {
  const { drive, file } = fileOf(fd);
  const { scheduler } = kernel;
  const owner = scheduler.current;
  const { writes, count } = file.now;
  scheduler.after(disk.syncMs(), owner, () => {
    let isTaken = false;
    try {
      isTaken = takes("sync", drive);
    } catch (error) {
      note("sync failed");
      file.letGo({ writes, count });
      done(error as Error);
      return;
    }
    if (!isTaken) return;
    note("synced", count);
    drive.synced(file, { writes, count });
    if (takes("answer of the sync", drive)) done(null);
  });
}

export function ftruncateSync(fd: number, size: number): void {
  const { drive, file } = fileOf(fd);
  if (takes("truncate", drive)) file.truncate(size);
}

export function renameSync(from: string, to: string): void {
  const { drive, name } = placeOf(from);
  const file = drive.entries.get(name);
  if (file === undefined) {
    if (!kernel.scheduler.current.isAlive) return;
    throw failure("ENOENT", from);
  }
  if (!takes("rename", drive)) return;
  drive.entries.delete(name);
  drive.entries.set(placeOf(to).name, file);
  drive.changed();
}

export function rmSync(path: string): void {
  const { drive, name } = placeOf(path);
  if (drive.entries.has(name)) unlinkSync(path);
}

export function unlinkSync(path: string): void {
  const { drive, name } = placeOf(path);
  if (!takes("remove", drive)) return;
  drive.entries.delete(name);
  drive.changed();
}

export function mkdirSync(): string | undefined {
  return undefined;
}

export function statfsSync(path: string): { readonly bavail: number; readonly bsize: number } {
  return { bavail: placeOf(path).drive.faults.freeBytes, bsize: 1 };
}

/** No simulated disk is mounted read-only. */
export function accessSync(): void {}
