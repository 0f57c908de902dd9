/**
 * Parts of the long tier. A part has only files that do more there than in the quick tier: those
 * that take a share of their rounds, and those whose tests the quick tier leaves out. Parts are
 * dealt by cost, so that each takes about as long.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { readBudgets } from "./test-cost.js";

const importForm = /from "(\.[^"]+\.ts)"/g;

/** Whether a file of test/ takes shares, by itself or by what it imports from test/. */
function takesShares(root, file, seen = new Set()) {
  if (seen.has(file) || !existsSync(join(root, file))) return false;
  seen.add(file);
  return [...readFileSync(join(root, file), "utf8").matchAll(importForm)].some(([, source]) => {
    const path = relative(root, resolve(root, dirname(file), source));
    return (
      path === join("lab", "kit", "share.ts") ||
      (path.startsWith("test/") && takesShares(root, path, seen))
    );
  });
}

/** Test files that do more in the long tier, from the project's root, sorted. */
export function longFiles(root) {
  const tests = readdirSync(join(root, "test"), { recursive: true })
    .map((name) => join("test", name))
    .filter((name) => name.endsWith(".test.ts"));
  const rows = readFileSync(join(root, "test", "runner", "tiers.ts"), "utf8");
  const named = new Set(
    [...rows.matchAll(/^\s{2,4}(?:\{ )?file: "([^"]+)"/gm)].map(
      ([, name]) => `test/${name}.test.ts`,
    ),
  );
  return tests.filter((file) => named.has(file) || takesShares(root, file)).sort();
}

/**
 * Files of a part: "3/8", or "commit/8" for the one that the newest commit's hash draws.
 * @throws Error for another form, or a part that there is not
 */
export function filesOfPart(root, part) {
  const [, which = "", of = ""] = /^(commit|[1-9]\d?)\/([1-9]\d?)$/.exec(part) ?? [];
  const parts = Number(of);
  const at = which === "commit" ? drawPart(root, parts) : Number(which) - 1;
  if (!(at >= 0 && at < parts))
    throw new Error(`--part=${part}: a part is named like 3/8, or commit/8`);
  const { longSeconds = {} } = readBudgets();
  const dealt = Array.from({ length: parts }, () => ({ seconds: 0, files: [] }));
  const costOf = (file) => longSeconds[file] ?? 5;
  for (const file of longFiles(root).sort((a, b) => costOf(b) - costOf(a))) {
    const least = dealt.reduce((best, one) => (one.seconds < best.seconds ? one : best));
    least.files.push(file);
    least.seconds += costOf(file);
  }
  process.stdout.write(
    `part ${at + 1} of ${parts} of the long tier: ${dealt[at].files.length} files\n`,
  );
  return dealt[at].files;
}

function drawPart(root, parts) {
  const { stdout } = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" });
  return Number.parseInt(stdout.slice(0, 8), 16) % parts;
}
