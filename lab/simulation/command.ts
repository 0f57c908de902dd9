/**
 * The command that runs the product's own code on simulated edges, seed by seed, or with each kept
 * bug in turn: arguments, progress, figures, exit code 1 when an invariant did not hold or a bug
 * was not caught. `npm run simulate -- --help` tells its options.
 */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { readCommandLine } from "../kit/command-line.ts";
import type { Patch } from "../kit/patch.ts";
import { linesOf } from "./cells.ts";
import { huntMutants } from "./mutants/command.ts";
import type { Run } from "./run.ts";
import { type Failure, runShards } from "./shards.ts";
import { shrink } from "./shrink.ts";
import { buildTree, loadTree } from "./tree.ts";
import { isIn, type WorldName, worlds } from "./world/worlds.ts";

const seedsDefault = 2_000;
const mutantSeedsDefault = 50_000;
const { values, whole } = readCommandLine({
  name: "simulate",
  does: "Runs the product's own code on simulated edges, seed by seed; ends with 1 when an invariant did not hold.",
  options: {
    seeds: {
      takes: "N",
      says: `so many seeds (${seedsDefault}); with --mutants at most so many for each (${mutantSeedsDefault})`,
    },
    world: {
      takes: "NAME",
      says: `the seeds of one world, or with --mutants its mutants alone: ${Object.keys(worlds).join(", ")}`,
    },
    from: {
      takes: "SEED",
      default: "1",
      says: "the first of them; with --world counted from that world's first, or the seed itself",
    },
    workers: {
      takes: "N",
      default: String(Math.min(16, availableParallelism())),
      says: "so many processes",
    },
    trace: { says: "everything that happened, with --seeds 1" },
    shrink: { says: "finds the faults that are enough, for every failing seed" },
    hostile: { says: "every run has a courier that lies, and is honest after a while" },
    patch: { takes: "FILE", says: "runs the code with one change: JSON {file, find, replace}" },
    mutants: {
      says: "runs the code with each kept bug in turn; ends with 1 when one is not caught",
    },
    only: { takes: "NAMES", says: "these mutants alone, by commas" },
    json: { says: "ends with one line of JSON" },
  },
});

/** The plan of every seed, with a courier that somebody has taken over. */
const hostileAlways: Patch = {
  file: "lab/simulation/world/plan.ts",
  find: "  hostileCourier: { percent: 15,",
  replace: "  hostileCourier: { percent: 100,",
};

/** Failing seeds that are told one by one. */
const toldMax = 20;
const say = (line: string): void => void process.stderr.write(`simulate: ${line}\n`);

/** The whole run in lines, for an operator. */
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
  say(
    `  enough, in ${shrunk.result.steps} steps: ${shrunk.faults.join(", ") || "no fault at all"}`,
  );
}

/** The first seed of the run: in a world a place counted from its first seed, or a seed of it. */
function firstSeed(name: string | undefined, from: number): number {
  if (name === undefined) return from;
  if (!(name in worlds))
    throw new Error(`there is no world ${name}: ${Object.keys(worlds).join(", ")}`);
  const world = name as WorldName;
  return isIn(world, from) ? from : worlds[world] + from;
}

async function main(): Promise<number> {
  const seeds = whole("seeds", {
    least: 1,
    otherwise: values.mutants ? mutantSeedsDefault : seedsDefault,
  });
  const workers = whole("workers", { least: 1 });
  if (values.mutants) {
    const { only, json: isJson, world = null } = values;
    return huntMutants({ only, world, seeds, from: whole("from"), workers, isJson });
  }
  const from = firstSeed(values.world, whole("from"));
  const patch =
    values.patch === undefined
      ? values.hostile
        ? hostileAlways
        : null
      : (JSON.parse(readFileSync(values.patch, "utf8")) as Patch);
  const begunMs = performance.now();
  const folder = buildTree(patch);
  if (values.trace && seeds === 1) return trace(folder, from);
  let toldMs = begunMs;
  const onDone = (seedsDone: number, failed: readonly Failure[]): void => {
    for (const { seed, invariant } of failed) say(`seed ${seed}: ${invariant} is not so`);
    if (values.json || performance.now() - toldMs < 10_000) return;
    toldMs = performance.now();
    say(`${seedsDone} of ${seeds} seeds`);
  };
  const { failures, traceHash, steps, apart, cells } = await runShards({
    folder,
    from,
    seeds,
    workers,
    onDone,
  });
  const elapsedMs = Math.round(performance.now() - begunMs);
  if (failures.length > 0) {
    const tree = await loadTree(folder);
    process.on("unhandledRejection", (error) => tree.rejected(error));
    for (const [index, failure] of failures.slice(0, toldMax).entries())
      await tell(tree, failure, values.shrink || index === 0);
  }
  const tables = Object.keys(cells).length === 0 ? {} : { cells };
  const summary = {
    seeds,
    from,
    violations: failures.length,
    apart,
    ...tables,
    traceHash,
    steps,
    elapsedMs,
  };
  const each = (elapsedMs / seeds).toFixed(2);
  const unseen =
    apart === 0
      ? ""
      : `, ${apart} paid twice by bytes that no node showed when the order came again`;
  if (!values.json) for (const line of linesOf(cells)) process.stdout.write(`${line}\n`);
  process.stdout.write(
    values.json
      ? `${JSON.stringify(summary)}\n`
      : `${seeds} seeds from ${from}: ${failures.length} violations${unseen}, ${steps} steps, ${each} ms each, trace ${traceHash}\n`,
  );
  return failures.length === 0 ? 0 : 1;
}

process.exitCode = await main();
