/**
 * Titles and bodies of the commits since the rule began: a title has at most 72 columns, one
 * subject, and the name of one room (or of one of the folders and parts below) before it; a body
 * says why and how it was checked. Merges are left out. A history that does not reach back to the
 * beginning, as that of a shallow clone or of an archive, is not judged, which is said.
 *
 *   node scripts/commits.js [ROOT [FIRST]]
 */
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readRooms } from "./rooms.js";

const [
  root = fileURLToPath(new URL("..", import.meta.url)),
  first = "2341449757f176434f9c142eec92201b4760f4c9",
] = process.argv.slice(2);
const titleMax = 72;
/** Prefixes that are no rooms; `multi` stands for a change that is one thing in many rooms. */
const others = ["ci", "docs", "multi", "tests"];

/** Names of rooms without their files, and each folder above a room. */
export function prefixesOf({ rooms }) {
  const folders = rooms.map(({ room }) => room.replace(/ nodes$/, "").replace(/\.[jt]s$/, ""));
  const above = folders.flatMap((folder) =>
    folder.split("/").map((_, at, parts) => parts.slice(0, at + 1).join("/")),
  );
  return new Set([...folders, ...above, ...others]);
}

/** The faults of a commit's message, as sentences; none for a good one. */
export function messageProblems(message, prefixes) {
  const [title = "", ...rest] = message.trimEnd().split("\n");
  const [, prefix, subject = ""] = /^([^:\s]+): (.*)$/.exec(title) ?? [];
  return [
    ...([...title].length > titleMax ? [`the title has more than ${titleMax} columns`] : []),
    ...(prefix === undefined ? ["the title has no room and colon before its subject"] : []),
    ...(prefix !== undefined && !prefixes.has(prefix)
      ? [`${prefix} is no room, and none of ${others.join(", ")}`]
      : []),
    ...(subject.includes(";") ? ["the title has two subjects"] : []),
    ...(rest.some((line) => line.trim() !== "") ? [] : ["no body says why and how it was checked"]),
    ...(rest.length > 0 && rest[0] !== "" ? ["no empty line stands below the title"] : []),
  ];
}

function git(...args) {
  const { status, stdout } = spawnSync("git", ["-C", resolve(root), ...args], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return status === 0 ? stdout : null;
}

function check() {
  const isWhole = git("merge-base", "--is-ancestor", first, "HEAD") !== null;
  const log = isWhole ? git("log", "--no-merges", "--format=%H%n%B%x00", `${first}..HEAD`) : null;
  if (log === null) {
    process.stdout.write(`*** SKIPPED: the history of commits does not reach back to ${first}\n`);
    return;
  }
  const prefixes = prefixesOf(readRooms(resolve(root)));
  const commits = log
    .split("\0")
    .map((text) => text.trimStart())
    .filter((text) => text !== "");
  const problems = commits.flatMap((text) => {
    const [hash = "", ...message] = text.split("\n");
    return messageProblems(message.join("\n"), prefixes).map(
      (problem) => `${hash.slice(0, 10)} ${message[0]}: ${problem}`,
    );
  });
  process.stderr.write(problems.map((problem) => `commits: ${problem}\n`).join(""));
  if (problems.length > 0) process.exitCode = 1;
  else process.stdout.write(`commits: ${commits.length} have a room, one subject and a body\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) check();
