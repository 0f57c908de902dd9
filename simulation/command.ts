/**
 * `npm run simulate -- [--seeds N] [--from S] [--json] [--trace] [--workers N] [--shrink] [--patch FILE]`: runs the product's own code
 * on simulated edges, seed by seed, and ends with 1 when a sentence did not hold. `--trace` prints everything that happened.
 * `--patch` takes a JSON file {file, find, replace} and runs the code with that change. `--mutants [--only NAMES]` runs it with each
 * kept bug in turn, up to N schedules each, and ends with 1 when one is not caught.
 */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { huntMutants } from "./mutants/command.ts";
import type { Run } from "./run.ts";
import { type Failure, runShards } from "./shards.ts";
import { shrink } from "./shrink.ts";
import { buildTree, loadTree, type Patch } from "./tree.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
    shrink: { type: "boolean", default: false },
    workers: { type: "string", default: String(Math.min(16, availableParallelism())) },
    patch: { type: "string" },
    mutants: { type: "boolean", default: false },
    only: { type: "string" }, // mutants' names, by commas
  },
});

const seedsDefault = 2_000;
const mutantSeedsDefault = 50_000;
/** Failing seeds that are told one by one. */
const toldMax = 20;
const say = (line: string): void => void process.stderr.write(`simulate: ${line}\n`);

function numberOf(name: "seeds" | "from" | "workers", least: number): number {
  const number = Number(values[name] ?? (values.mutants ? mutantSeedsDefault : seedsDefault));
  if (Number.isSafeInteger(number) && number >= least) return number;
  say(`--${name} takes a whole number from ${least} on`);
  return process.exit(2);
}

/** The whole run in lines, for a person. */
async function trace(folder: string, seed: number): Promise<number> {
  const tree = await loadTree(folder);
  process.on("unhandledRejection", (error) => tree.rejected(error));
  const result = await tree.runSeed(seed, { only: null, isReadable: true });
  process.stdout.write(`${result.lines.join("\n")}\n`);
  if (result.violation === null) return 0;
  process.stdout.write(`violated: ${result.violation.detail}\n`);
  return 1;
}

async function tell(tree: Run, { seed, detail }: Failure, isShrunk: boolean): Promise<void> {
  say(`seed ${seed}: ${detail}`);
  say(`  again: npm run simulate -- --seeds 1 --from ${seed} --trace`);
  if (!isShrunk) return;
  const shrunk = await shrink(tree, await tree.runSeed(seed));
  say(`  enough, in ${shrunk.result.steps} steps: ${shrunk.faults.join(", ") || "no fault at all"}`);
}

async function main(): Promise<number> {
  const [seeds, from, workers] = [numberOf("seeds", 1), numberOf("from", 0), numberOf("workers", 1)];
  if (values.mutants) return huntMutants({ only: values.only, seeds, from, workers, isJson: values.json });
  const patch = values.patch === undefined ? null : (JSON.parse(readFileSync(values.patch, "utf8")) as Patch);
  const begunMs = performance.now();
  const folder = buildTree(patch);
  if (values.trace && seeds === 1) return trace(folder, from);
  let toldMs = begunMs;
  const onDone = (seedsDone: number, failed: readonly Failure[]): void => {
    for (const { seed, sentence } of failed) say(`seed ${seed}: ${sentence} is not so`);
    if (values.json || performance.now() - toldMs < 10_000) return;
    toldMs = performance.now();
    say(`${seedsDone} of ${seeds} seeds`);
  };
  const { failures, traceHash, steps } = await runShards({ folder, from, seeds, workers, onDone });
  const elapsedMs = Math.round(performance.now() - begunMs);
  if (failures.length > 0) {
    const tree = await loadTree(folder);
    process.on("unhandledRejection", (error) => tree.rejected(error));
    for (const [index, failure] of failures.slice(0, toldMax).entries()) await tell(tree, failure, values.shrink || index === 0);
  }
  const summary = { seeds, from, violations: failures.length, traceHash, steps, elapsedMs };
  const each = (elapsedMs / seeds).toFixed(2);
  process.stdout.write(
    values.json
      ? `${JSON.stringify(summary)}\n`
      : `${seeds} seeds from ${from}: ${failures.length} violations, ${steps} steps, ${each} ms each, trace ${traceHash}\n`,
  );
  return failures.length === 0 ? 0 : 1;
}

process.exitCode = await main();
