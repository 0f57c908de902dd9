/**
 * Why an agent's process ended for good or did not start, in a small file that everybody may read: where nobody runs, nobody answers,
 * and the journal is not for every user. Written by the launcher, removed when that role is ready. Best effort: a disk that does not
 * take it changes nothing. What is read back is another user's word and is trusted in nothing but its size.
 */
import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseJson } from "../protocol/json.ts";
import { replaceFile } from "./files/replace-file.ts";
import type { StateFolder } from "./files/state-folder.ts";

/** @public */
export type LastWordsRole = "both" | "signer" | "courier";

/**
 * No secret is ever part of it: messages carry none.
 * @public
 */
export interface LastWords {
  readonly role: LastWordsRole;
  readonly code: string; // of protocol/codes.ts, or BUG
  readonly message: string; // one line, at most 1000 characters
  readonly hint: string; // likewise
  readonly at: number; // Unix milliseconds, by the writer's clock
}

const roles: readonly LastWordsRole[] = ["both", "signer", "courier"];
const charactersMax = 1_000;
const bytesMax = 16_384;
const installedState = "/var/lib/autowithdraw";
const installedRuntime = "/run/autowithdraw";

const fileIn = (folder: string, role: LastWordsRole): string => join(folder, `last-words.${role}.json`);

/**
 * Puts them in the place of older ones, mode 0644, making the folder when it is missing.
 * @public
 */
export function writeLastWords(folder: string, words: LastWords): void {
  const { role, code, message, hint, at } = words;
  const text = JSON.stringify({ role, code, message: oneLine(message), hint: oneLine(hint), at });
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    replaceFile(fileIn(folder, role), Buffer.from(`${text}\n`), 0o644);
  } catch {
    // The journal has them too.
  }
}

/**
 * Twice is harmless, and so is a folder that is not there.
 * @public
 */
export function removeLastWords(folder: string, role: LastWordsRole): void {
  try {
    rmSync(fileIn(folder, role), { force: true });
  } catch {
    // They stay, with the time they were written at.
  }
}

/**
 * Where a launcher leaves them: the folder that systemd made for it to outlive it, else `run/` of the state folder.
 * @public
 */
export function lastWordsFolder(state: StateFolder, env: Readonly<Record<string, string | undefined>>): string {
  const [given = ""] = (env.RUNTIME_DIRECTORY ?? "").split(":");
  return given === "" ? state.run : given;
}

/**
 * All that are there for a state folder, newest first; also those of the units when it is the one they use.
 * @public
 */
export function readLastWords(state: StateFolder): readonly LastWords[] {
  const found = roles.map((role) => readOne(state.run, role));
  if (state.root === installedState) {
    // Each folder is one role's own, and one role has no say about the other.
    for (const role of ["signer", "courier"] as const) found.push(readOne(join(installedRuntime, role), role));
  }
  return found.flatMap((words) => words ?? []).sort((a, b) => b.at - a.at);
}

/** Null for anything that is not exactly what `writeLastWords` writes. */
function readOne(folder: string, role: LastWordsRole): LastWords | null {
  try {
    const words = parseJson(readSmallFile(fileIn(folder, role)), { bytesMax }) as Readonly<Record<string, unknown>> | null;
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

/** A link, a pipe or a device of that name is not followed, waited for or read. */
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

/** Nothing in it moves a cursor, colours a terminal or turns the direction of what follows. */
function oneLine(text: string): string {
  return [...text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ")].slice(0, charactersMax).join("");
}
