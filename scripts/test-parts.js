/**
 * Parts of a run. A part of the long tier has only files that do more there than in the quick tier:
 * those that take a share of their rounds, and those whose tests the quick tier leaves out. The
 * files that can have their databases in PostgreSQL are a list of their own. Parts are dealt by
 * cost, so that each takes about as long.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { readBudgets } from "./test-cost.js";

const importForm = /from "(\.[^"]+\.ts)"/g;

/** Whether a file imports `wanted`, by itself or by what it imports from the folders `through`. */
function reaches(root, file, wanted, through, seen = new Set()) {
  if (seen.has(file) || !existsSync(join(root, file))) return false;
  seen.add(file);
  return [...readFileSync(join(root, file), "utf8").matchAll(importForm)].some(([, source]) => {
    const path = relative(root, resolve(root, dirname(file), source));
    const isWithin = through.some((folder) => path.startsWith(folder));
    return path === wanted || (isWithin && reaches(root, path, wanted, through, seen));
  });
}

const listTests = (root) =>
  readdirSync(join(root, "test"), { recursive: true })
    .map((name) => join("test", name))
    .filter((name) => name.endsWith(".test.ts"));

const gatewayRooms = ["books", "callbacks", "gateway", "hub", "pairing", "watcher"];

/**
 * Test files of the gateway's rooms whose databases come from lab/kit/fresh-store.ts, from the
 * project's root, sorted. A file with a server of its own does the same in each run.
 */
export function postgresFiles(root) {
  return listTests(root)
    .filter((file) => gatewayRooms.some((room) => file.startsWith(`test/${room}/`)))
    .filter((file) => reaches(root, file, "lab/kit/fresh-store.ts", ["test/", "lab/"]))
    .filter((file) => !reaches(root, file, "lab/kit/postgres.ts", []))
    .sort();
}

/** Test files that do more in the long tier, from the project's root, sorted. */
export function longFiles(root) {
  const tests = listTests(root);
  const takesShares = (file) => reaches(root, file, "lab/kit/share.ts", ["test/"]);
  const rows = readFileSync(join(root, "test", "runner", "tiers.ts"), "utf8");
  const named = new Set(
    [...rows.matchAll(/^\s{2,4}(?:\{ )?file: "([^"]+)"/gm)].map(
      ([, name]) => `test/${name}.test.ts`,
    ),
  );
  return tests.filter((file) => named.has(file) || takesShares(file)).sort();
}

/**
 * Those of `files` that are in a part: "3/8", or "commit/8" for the one that the newest commit's
 * hash draws.
 * @throws Error for another form, or a part that there is not
 */
export function filesOfPart(root, part, files, isLong) {
  const [, which = "", of = ""] = /^(commit|[1-9]\d?)\/([1-9]\d?)$/.exec(part) ?? [];
  const parts = Number(of);
  const at = which === "commit" ? drawPart(root, parts) : Number(which) - 1;
  if (!(at >= 0 && at < parts))
    throw new Error(`--part=${part}: a part is named like 3/8, or commit/8`);
  const { longSeconds = {}, files: quick = {} } = readBudgets();
  const dealt = Array.from({ length: parts }, () => ({ seconds: 0, files: [] }));
  const costOf = (file) =>
    isLong ? (longSeconds[file] ?? 5) : (quick[file]?.wallMs ?? 2_000) / 1000;
  for (const file of [...files].sort((a, b) => costOf(b) - costOf(a))) {
    const least = dealt.reduce((best, one) => (one.seconds < best.seconds ? one : best));
    least.files.push(file);
    least.seconds += costOf(file);
  }
  process.stdout.write(
    `part ${at + 1} of ${parts}: ${dealt[at].files.length} of ${files.length} files\n`,
  );
  return dealt[at].files;
}

function drawPart(root, parts) {
  const { stdout } = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" });
  return Number.parseInt(stdout.slice(0, 8), 16) % parts;
}
