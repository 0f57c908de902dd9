/**
 * `npm test`: names what this machine lacks, then runs the quick tier; `npm run test:long`
 * (`--long`) runs all that there is, and the tests of the gateway once more with their databases in
 * PostgreSQL. `--postgres` does the latter alone, in the tier that is asked for. `--part=3/8` takes
 * a part of the files of each run. Further arguments go to the test runner. A file that fails
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
  readBudgets,
  readCosts,
  spentByChildrenMs,
  writeBudgets,
} from "./test-cost.js";
import { filesOfPart, longFiles, postgresFiles } from "./test-parts.js";

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
function tellMissing(program, what, how) {
  process.stderr.write(`\n*** SKIPPED here for want of ${program}: ${what}. To run it: ${how}\n\n`);
}
for (const [program, what, how] of wanted) {
  const found = spawnSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" }).status === 0;
  if (!found) tellMissing(program, what, how);
}

const isLong = process.argv.includes("--long");
const isOnPostgresAlone = process.argv.includes("--postgres");
const part = process.argv.find((word) => word.startsWith("--part="))?.slice("--part=".length);
const given = process.argv
  .slice(2)
  .filter((word) => !["--long", "--postgres"].includes(word) && !word.startsWith("--part="));
/** Words of a run for the test runner: the files of the part, where one is asked for. */
const wordsOf = (files) =>
  part === undefined ? given : [...filesOfPart(root, part, files, isLong), ...given];

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
const failedFile = join(scratch, ".failed");
/** What a file costs on PostgreSQL is held against no budget, and stands in a file of its own. */
let costFile = join(scratch, ".costs.jsonl");
let postgresUrl = "";

/** One run of the test runner; the files that failed. */
function runTests(args) {
  rmSync(failedFile, { force: true });
  const env = {
    ...process.env,
    TMPDIR: scratch,
    TEST_TIER: isLong ? "long" : "quick",
    TEST_COST_FILE: costFile,
    TEST_FAILED_FILE: failedFile,
    TEST_POSTGRES: postgresUrl,
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

/** Runs the tests and judges the files that failed; true if none did. */
function runAndJudge(words) {
  const { status, failed } = runTests(words);
  if (failed.length > 20)
    process.stderr.write(`\n${failed.length} files failed: none of them is run again\n`);
  else if (failed.length > 0) runFailedAlone(failed);
  return status === 0;
}

/** The first run: databases in SQLite. True if nothing failed and no file is above its budget. */
function runOnSqlite() {
  const isGood = runAndJudge(wordsOf(longFiles(root)));
  const costs = listCosts();
  const cost = process.env.TEST_COST ?? "";
  if (["write", "show", "1"].includes(cost)) printCosts(costs, spentByChildrenMs());
  if (cost === "write" && isGood) writeBudgets(costs, isLong);
  const dear = cost === "1" && !isLong ? findDearFiles(costs) : [];
  for (const { file, runMs, budgetMs } of dear) {
    process.stderr.write(`\n${file}: ${runMs} ms of CPU time, its budget is ${budgetMs} ms\n`);
  }
  return isGood && dear.length === 0;
}

/**
 * Files without the dearest, whose thousands of transactions take four times as long on a server:
 * the long tier has them.
 */
function quickFilesOf(files) {
  const { files: budgets } = readBudgets();
  return files.filter((file) => (budgets[file]?.budgetMs ?? 0) <= 20_000);
}

/** The tests of the gateway on a server of PostgreSQL that only this run has. */
async function runOnPostgres() {
  const { postgresInstallLine, postgresPrograms, startPostgres } = await import(
    new URL("../dist/lab/kit/postgres.js", import.meta.url).href
  );
  if (postgresPrograms() === null) {
    tellMissing("PostgreSQL", "the tests of the gateway on this engine", postgresInstallLine);
    return true;
  }
  const files = isLong ? postgresFiles(root) : quickFilesOf(postgresFiles(root));
  const words = part === undefined && given.length === 0 ? files : wordsOf(files);
  process.env.TMPDIR = scratch;
  // No test here is about a power cut, and four workers have connections of their own.
  const settings = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };
  const server = startPostgres({ ...settings, max_connections: "400" });
  costFile = join(scratch, ".costs-on-postgres.jsonl");
  postgresUrl = server.urlOf("postgres");
  try {
    process.stdout.write("\nthe tests of the gateway on PostgreSQL\n");
    return runAndJudge(words);
  } finally {
    server.stop();
  }
}

const isGood = [
  isOnPostgresAlone || runOnSqlite(),
  !(isLong || isOnPostgresAlone) || (await runOnPostgres()),
].every(Boolean);
rmSync(scratch, { recursive: true, force: true });
process.exit(isGood ? 0 : 1);
