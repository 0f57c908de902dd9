/**
 * Checks rights, owners and links in the state folder: reads every entry, then judges. Follows no
 * link and changes nothing.
 */
import { lstatSync, readdirSync, type Stats } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { StateFolder } from "../../agent/files/state-folder.ts";
import { reasonOf } from "../../base/fault.ts";
import { type Finding, newFinding } from "../../base/finding.ts";
import { shellWord, visibleText } from "../../base/visible.ts";
import type { DoctorReport } from "./report.ts";

/** A file or folder. `path` is relative to the state folder, "" for the folder itself. */
export interface FileAttributes {
  readonly path: string;
  readonly kind: "file" | "folder" | "socket" | "link" | "other";
  readonly mode: number; // permission bits
  readonly uid: number;
  readonly names: number; // hard links
}

interface Tree {
  readonly entries: readonly FileAttributes[];
  readonly unseen: readonly string[];
}

const entriesMax = 20_000;

/** Reads at most 20,000 entries, parents before their children. */
export function readTree(root: string): Tree {
  const entries: FileAttributes[] = [];
  const unseen: string[] = [];
  const queue = [root];
  for (
    let path = queue.shift();
    path !== undefined && entries.length < entriesMax;
    path = queue.shift()
  ) {
    try {
      const entry = entryOf(relative(root, path), lstatSync(path));
      entries.push(entry);
      if (entry.kind === "folder")
        for (const name of readdirSync(path)) queue.push(join(path, name));
    } catch (error) {
      const reason = reasonOf(error);
      // An entry that disappears between listing and reading was a temporary file.
      if (reason !== "ENOENT") unseen.push(visibleText(`${path} (${reason})`));
    }
  }
  return { entries, unseen };
}

function entryOf(path: string, stat: Stats): FileAttributes {
  const kind = stat.isSymbolicLink()
    ? "link"
    : stat.isDirectory()
      ? "folder"
      : stat.isFile()
        ? "file"
        : stat.isSocket()
          ? "socket"
          : "other";
  return { path, kind, mode: stat.mode & 0o777, uid: stat.uid, names: stat.nlink };
}

/** Judges every entry by its own rights and by the owner of its folder. */
export function judgeTree(state: StateFolder, { entries, unseen }: Tree): DoctorReport {
  const owners = new Map(
    entries.filter(({ kind }) => kind === "folder").map(({ path, uid }) => [path, uid]),
  );
  const findings = entries.flatMap((entry) => [
    ...rightsFindings(state, entry),
    ...linkFindings(state, entry),
    ...ownerFindings(state, entry, owners),
  ]);
  return { findings, unseen };
}

const isOfRoom = (path: string): boolean => /^(?:signer|courier)(?:\/|$)/.test(path);

/**
 * Bits that must not be set. Signer and courier share nothing; the state folder may be passed
 * through; sockets serve their group.
 */
function forbiddenBits({ path, kind }: FileAttributes): number {
  if (kind === "link") return 0;
  if (isOfRoom(path)) return 0o077;
  if (kind === "socket") return 0o007;
  return path === "" ? 0o066 : 0o022;
}

/**
 * The hint with the path as one argument. The owner of the folder chose the name, so a path that
 * needs more than quotes is not printed.
 */
function lineFor(path: string, line: (word: string) => string): string {
  const word = shellWord(path);
  return word === null
    ? `its name cannot be typed as it is; look with: ls -lab ${shellWord(dirname(path)) ?? "its folder"}`
    : line(word);
}

/**
 * With such a mode the agent would not start, or a command would not run: agent/files/trusted.ts.
 */
function isRefused({ path, kind, mode }: FileAttributes): boolean {
  if (path === "signer/keystore.json" || path === "courier/link.json") return true;
  const isRead =
    isOfRoom(path) || path === "run" || path === "run/where" || path === "pairing.json";
  return isRead && (kind === "file" || kind === "folder") && (mode & 0o022) !== 0;
}

function rightsFindings(state: StateFolder, entry: FileAttributes): readonly Finding[] {
  const { path, mode } = entry;
  const open = mode & forbiddenBits(entry);
  if (open === 0) return [];
  const full = join(state.root, path);
  const kept = (mode & ~forbiddenBits(entry)).toString(8).padStart(4, "0");
  const what = `${full} can be reached by others than its owner (mode ${mode.toString(8).padStart(4, "0")})`;
  const code = isRefused(entry) ? "FILE_EXPOSED" : "DOCTOR_FILE_RIGHTS";
  return [
    newFinding(
      code,
      code === "DOCTOR_FILE_RIGHTS" ? "warning" : "error",
      what,
      lineFor(full, (word) => `chmod ${kept} ${word}`),
    ),
  ];
}

function linkFindings(
  state: StateFolder,
  { path, kind, names }: FileAttributes,
): readonly Finding[] {
  const full = join(state.root, path);
  if (kind === "link")
    return [
      newFinding(
        "DOCTOR_FILE_LINK",
        "warning",
        `${full} is a symbolic link`,
        lineFor(full, (word) => `ls -l ${word}`),
      ),
    ];
  if (kind !== "file" || names < 2) return [];
  const hint = lineFor(full, (word) => `find / -xdev -samefile ${word}`);
  return [
    newFinding(
      "DOCTOR_FILE_LINK",
      "warning",
      `${full} has ${names} names: anybody who reaches the other reaches it`,
      hint,
    ),
  ];
}

/** The signer cannot read a file that root made in its folder. */
function ownerFindings(
  state: StateFolder,
  { path, uid }: FileAttributes,
  owners: ReadonlyMap<string, number>,
): readonly Finding[] {
  const room = /^(signer|courier)\//.exec(path)?.[1];
  const owner = room === undefined ? undefined : owners.get(room);
  if (room === undefined || owner === undefined || owner === uid) return [];
  const folder = join(state.root, room);
  const what = `${join(state.root, path)} belongs to user ${uid}, and ${folder} to user ${owner}`;
  return [
    newFinding("DOCTOR_FILE_OWNER", "error", what, `chown -R --reference=${folder} ${folder}`),
  ];
}
