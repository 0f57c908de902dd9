/**
 * `npm test`: names what this machine lacks, then runs the quick tier; `npm run test:long`
 * (`--long`) runs all that there is. Further arguments go to the test runner. A file that fails
 * among others is run once more alone, to say whether it fails by itself. `TEST_COST=1` prints what
 * each file cost and holds it against its budget, `TEST_COST=show` prints alone;
 * `TEST_COST=write` writes the budgets.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  judgeCosts,
  measurePaceMs,
  printCosts,
  readCosts,
  spentByChildrenMs,
  writeBudgets,
} from "./test-cost.js";
import { filesOfPart } from "./test-parts.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const wanted = [
  ["strace", "the trace that shows the signer makes no network socket", "apt-get install strace"],
  ["flock", "one daemon per state folder", "apt-get install util-linux"],
  [
    "promtool",
    "the check of metrics and alert rules by Prometheus' own tool",
    "apt-get install prometheus",
  ],
  ["systemd-analyze", "the check of the unit files", "apt-get install systemd"],
];
for (const [program, what, how] of wanted) {
  const found = spawnSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" }).status === 0;
  if (!found)
    process.stderr.write(
      `\n*** SKIPPED here for want of ${program}: ${what}. To run it: ${how}\n\n`,
    );
}

const isLong = process.argv.includes("--long");
const part = process.argv.find((word) => word.startsWith("--part="))?.slice("--part=".length);
const given = process.argv
  .slice(2)
  .filter((word) => word !== "--long" && !word.startsWith("--part="));
const words = part === undefined ? given : [...filesOfPart(root, part), ...given];

/**
 * Folder for the temporary files of tests: in memory where there is room, since thousands of tests
 * wait for a disk that none of them is about. Its name is short, as that of a socket has to be.
 */
function makeScratch() {
  const memory = "/dev/shm";
  try {
    const { bavail, bsize } = statfsSync(memory);
    if (bavail * bsize >= 2 ** 30) return mkdtempSync(join(memory, "aw-"));
  } catch {}
  return mkdtempSync(join(tmpdir(), "aw-"));
}

const scratch = makeScratch();
// As /tmp is: tests run programs as other users too.
chmodSync(scratch, 0o1777);
const costFile = join(scratch, ".costs.jsonl");
const failedFile = join(scratch, ".failed");

/** One run of the test runner; the files that failed. */
function runTests(args) {
  rmSync(failedFile, { force: true });
  const env = {
    ...process.env,
    TMPDIR: scratch,
    TEST_TIER: isLong ? "long" : "quick",
    TEST_COST_FILE: costFile,
    TEST_FAILED_FILE: failedFile,
  };
  const runner = join(root, "node_modules", "vitest", "vitest.mjs");
  const { status } = spawnSync(process.execPath, [runner, "run", ...args], {
    cwd: root,
    stdio: "inherit",
    env,
  });
  const failed = existsSync(failedFile)
    ? readFileSync(failedFile, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    : [];
  return { status: status ?? 1, failed };
}

/** Says of each failed file whether it fails by itself, or by what another file left behind. */
function runFailedAlone(failed) {
  const lines = failed.map((file) => {
    const before = readCosts(costFile)
      .filter((line) => line.began === file)
      .at(-1)
      ?.before.at(-1);
    if (before === undefined)
      return `${file}: it ran first in its worker, so no other file is to blame`;
    process.stderr.write(`\n${file} failed behind ${before}: once more, alone\n`);
    return runTests([file]).status === 0
      ? `${file}: passes alone; it ran behind ${before}, which may have left a state behind`
      : `${file}: fails alone too`;
  });
  process.stderr.write(`\n${lines.join("\n")}\n`);
}

/** Costs of whole files that were written down so far. */
function listCosts() {
  return readCosts(costFile).filter((line) => line.runMs !== undefined);
}

/** Files above their budgets, also when each of them runs alone. */
function findDearFiles(costs) {
  const paceMs = measurePaceMs();
  return judgeCosts(costs, paceMs).flatMap(({ file }) => {
    process.stderr.write(`\n${file} is above its budget: once more, alone\n`);
    runTests([file]);
    return judgeCosts(
      listCosts()
        .filter((line) => line.file === file)
        .slice(-1),
      paceMs,
    );
  });
}

const { status, failed } = runTests(words);
const costs = listCosts();
const spentMs = spentByChildrenMs();
const cost = process.env.TEST_COST ?? "";
let dear = [];
if (failed.length > 20)
  process.stderr.write(`\n${failed.length} files failed: none of them is run again\n`);
else if (failed.length > 0) runFailedAlone(failed);
if (["write", "show", "1"].includes(cost)) printCosts(costs, spentMs);
if (cost === "write" && status === 0) writeBudgets(costs, isLong);
if (cost === "1" && !isLong) {
  dear = findDearFiles(costs);
  for (const { file, runMs, budgetMs } of dear) {
    process.stderr.write(`\n${file}: ${runMs} ms of CPU time, its budget is ${budgetMs} ms\n`);
  }
}
rmSync(scratch, { recursive: true, force: true });
process.exit(status === 0 && dear.length === 0 ? 0 : 1);
