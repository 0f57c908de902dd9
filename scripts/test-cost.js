/**
 * CPU time of test files, as their runner wrote it down, held against budgets. A budget is what a
 * file cost when `TEST_COST=write npm test` was run, and 30 % more. Machines differ: a measure of
 * this one's pace stands beside the budgets, and a slower machine has proportionally more.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const budgetsFile = fileURLToPath(new URL("../test/runner/budgets.json", import.meta.url));

/** Largest budget of a file, and of all of them with everything that the run needs beside them. */
export const ceilings = { fileMs: 8_000, allMs: 700_000 };

/** Least budget: a clock of 10 ms steps and a garbage collector blur what short files cost. */
const leastMs = 1_000;

/** Every line that the runner wrote: what began, and what a file cost. */
export function readCosts(file) {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** CPU time of all ended children of this process, with theirs, in ms. proc(5): cutime, cstime. */
export function spentByChildrenMs() {
  const text = readFileSync("/proc/self/stat", "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

/** CPU time that this machine needs for a fixed work of hashing, objects and big numbers, in ms. */
export function measurePaceMs() {
  const work = `
    const { createHash } = require("node:crypto");
    let text = "", sum = 0n;
    for (let at = 0; at < 60000; at++) {
      text = createHash("sha256").update(text + at).digest("hex");
      sum += BigInt("0x" + text) % 1000003n;
      const copy = JSON.parse(JSON.stringify({ text, at, list: [at, at + 1, text] }));
      sum += BigInt(copy.list.length);
    }
    const { user, system } = process.cpuUsage();
    process.stdout.write(String(Math.round((user + system) / 1000)) + " " + sum);`;
  const runs = [1, 2, 3].map(() =>
    Number(spawnSync(process.execPath, ["-e", work], { encoding: "utf8" }).stdout.split(" ")[0]),
  );
  return Math.min(...runs);
}

export function readBudgets() {
  return JSON.parse(readFileSync(budgetsFile, "utf8"));
}

/**
 * Files above their budgets, with both figures, and files without one that cost more than the
 * largest budget.
 */
export function judgeCosts(costs, paceMs, budgets = readBudgets()) {
  const factor = Math.max(1, paceMs / budgets.paceMs);
  return costs.flatMap(({ file, runMs }) => {
    const budgetMs = Math.round((budgets.files[file]?.budgetMs ?? ceilings.fileMs) * factor);
    return runMs > budgetMs ? [{ file, runMs, budgetMs }] : [];
  });
}

const seconds = (ms) => (ms / 1000).toFixed(1).padStart(7);

/** Prints the dearest files, and what all of them cost. */
export function printCosts(costs, spentMs, rows = 25) {
  const sum = (name) => costs.reduce((total, cost) => total + cost[name], 0);
  const lines = [...costs]
    .sort((a, b) => b.runMs - a.runMs)
    .slice(0, rows)
    .map(({ file, runMs, loadMs }) => `${seconds(runMs)} ${seconds(loadMs)}  ${file}`);
  process.stdout.write(
    `\nCPU seconds of the ${rows} dearest of ${costs.length} files: tests, loading\n${lines.join("\n")}\n` +
      `${seconds(sum("runMs"))} ${seconds(sum("loadMs"))}  all files\n` +
      `${seconds(spentMs)}          with the runner itself, of at most ${seconds(ceilings.allMs)}\n` +
      `${costs.filter(({ runMs }) => runMs > ceilings.fileMs).length} files are above ${ceilings.fileMs / 1000} s, which one file should cost at most\n`,
  );
}

/**
 * The budgets that these costs give. A file above the ceiling keeps what it cost, and is named by
 * each run until it is below it.
 */
export function makeBudgets(costs, paceMs) {
  const files = {};
  for (const { file, runMs, wallMs } of [...costs].sort((a, b) => (a.file < b.file ? -1 : 1))) {
    const budgetMs = Math.max(leastMs, Math.ceil((runMs * 1.3) / 100) * 100);
    files[file] = { budgetMs, wallMs: Math.ceil(wallMs / 100) * 100 };
  }
  return { paceMs, files };
}

/** Writes the budgets of the quick tier, or what the files of the long one cost. */
export function writeBudgets(costs, isLong) {
  const before = readBudgets();
  const long = {};
  for (const { file, runMs } of [...costs].sort((a, b) => (a.file < b.file ? -1 : 1)))
    long[file] = Math.ceil(runMs / 1000);
  const next = isLong
    ? { ...before, longSeconds: { ...before.longSeconds, ...long } }
    : { ...before, ...makeBudgets(costs, measurePaceMs()) };
  writeFileSync(budgetsFile, `${JSON.stringify(next, null, 2)}\n`);
}
