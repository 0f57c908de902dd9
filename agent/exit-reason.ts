/**
 * Exit reason: the reason why an agent's process ended permanently or did not start, in a small
 * file. Every user may read the file, because some may not read the journal. The launcher writes
 * the file, and removes it when the role is ready. Best effort: a full disk changes nothing. A
 * reader trusts only the size of another user's file.
 */
import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseJson } from "../base/json.ts";
import { replaceFile } from "./files/replace-file.ts";
import type { StateFolder } from "./files/state-folder.ts";
import { installedRuntime, installedState } from "./installed.ts";

export type ExitReasonRole = "both" | "signer" | "courier";

/** Contains no secret, because messages of faults contain none. */
export interface ExitReason {
  readonly role: ExitReasonRole;
  readonly code: string; // from base/codes.ts, or BUG
  readonly message: string; // one line, at most 1000 characters
  readonly hint: string; // one line, at most 1000 characters
  readonly at: number; // Unix milliseconds, by the writer's clock
}

const roles: readonly ExitReasonRole[] = ["both", "signer", "courier"];
const charactersMax = 1_000;
const bytesMax = 16_384;

const fileIn = (folder: string, role: ExitReasonRole): string =>
  join(folder, `exit-reason.${role}.json`);

/**
 * Replaces the role's older exit reason. Mode 0644; creates the folder if it is missing. Never
 * throws.
 */
export function writeExitReason(folder: string, words: ExitReason): void {
  const { role, code, message, hint, at } = words;
  const text = JSON.stringify({ role, code, message: oneLine(message), hint: oneLine(hint), at });
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    replaceFile(fileIn(folder, role), Buffer.from(`${text}\n`), 0o644);
  } catch {
    // The journal also has the reason.
  }
}

/** Removes the role's exit reason. Never throws; a second call or a missing folder is harmless. */
export function removeExitReason(folder: string, role: ExitReasonRole): void {
  try {
    rmSync(fileIn(folder, role), { force: true });
  } catch {
    // A file that stays shows by its time that it is old.
  }
}

/**
 * Returns the folder for a launcher's exit reason: $RUNTIME_DIRECTORY, which the units keep after
 * an end, else `run/` of the state folder.
 */
export function exitReasonFolder(
  state: StateFolder,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const [given = ""] = (env.RUNTIME_DIRECTORY ?? "").split(":");
  return given === "" ? state.run : given;
}

/**
 * Returns all exit reasons about a state folder, newest first; for the installed one also those of
 * the units.
 */
export function readExitReason(state: StateFolder): readonly ExitReason[] {
  const found = roles.map((role) => readOne(state.run, role));
  if (state.root === installedState) {
    // Each folder belongs to one role's user, who must not write an exit reason for the other role.
    for (const role of ["signer", "courier"] as const)
      found.push(readOne(join(installedRuntime, role), role));
  }
  return found.flatMap((words) => words ?? []).sort((a, b) => b.at - a.at);
}

/** Returns null for a file of any other form than `writeExitReason` writes. */
function readOne(folder: string, role: ExitReasonRole): ExitReason | null {
  try {
    const words = parseJson(readSmallFile(fileIn(folder, role)), { bytesMax }) as Readonly<
      Record<string, unknown>
    > | null;
    if (typeof words !== "object" || words?.role !== role) return null;
    const { code, message, hint, at } = words;
    if (typeof code !== "string" || !/^[A-Z][A-Z0-9_]{0,63}$/.test(code)) return null;
    if (typeof message !== "string" || typeof hint !== "string") return null;
    if (typeof at !== "number" || !Number.isSafeInteger(at) || at < 0) return null;
    return { role, code, message: oneLine(message), hint: oneLine(hint), at };
  } catch {
    return null;
  }
}

/** Reads a regular file: follows no link, waits for no pipe and reads no device. */
function readSmallFile(path: string): Uint8Array {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > bytesMax) return new Uint8Array(0);
    const bytes = new Uint8Array(stat.size);
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(fd);
  }
}

/**
 * Returns the text without control, format and line-breaking characters, which could move the
 * cursor of a reader's terminal.
 */
function oneLine(text: string): string {
  return [...text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ")].slice(0, charactersMax).join("");
}
