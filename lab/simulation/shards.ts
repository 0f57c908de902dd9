/**
 * A range of seeds over several processes: each takes the next part when it has done one, and the
 * parts are put together in the order of the seeds, so that the result is the same for any number
 * of processes.
 */
import { type ChildProcess, fork } from "node:child_process";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { type Cells, together } from "./cells.ts";

/** One part of the range, as a worker gets it. */
export interface Part {
  readonly from: number;
  readonly seeds: number;
}

/** A seed in which an invariant did not hold. */
export interface Failure {
  readonly seed: number;
  readonly invariant: string;
  readonly detail: string;
}

/** The result of a worker's part. */
export interface ShardReport extends Part {
  readonly hashes: string; // one for every seed, sixteen hex digits each
  readonly steps: number;
  readonly apart: number; // see RunResult
  readonly cells: Cells;
  readonly failures: readonly Failure[];
}

/** The result of all parts. */
interface Summary {
  readonly failures: readonly Failure[];
  readonly traceHash: string;
  readonly steps: number;
  readonly apart: number;
  readonly cells: Cells;
}

interface ShardOptions {
  readonly folder: string; // the tree's folder
  readonly from: number;
  readonly seeds: number;
  readonly workers: number;
  readonly onDone: (seedsDone: number, failures: readonly Failure[]) => void;
}

const partSeedsMax = 250;
/**
 * A young generation that holds what a few runs leave behind; two workers leave V8's own threads no
 * core.
 */
const workerFlags = ["--min-semi-space-size=64", "--max-semi-space-size=128", "--single-threaded"];

/** @throws Error when a worker ends before its time */
export async function runShards({
  folder,
  from,
  seeds,
  workers,
  onDone,
}: ShardOptions): Promise<Summary> {
  const waiting: Part[] = [];
  const partSeeds = Math.min(partSeedsMax, Math.ceil(seeds / workers));
  for (let at = 0; at < seeds; at += partSeeds)
    waiting.push({ from: from + at, seeds: Math.min(partSeeds, seeds - at) });
  const done = new Map<number, ShardReport>();
  const traces = createHash("sha256");
  const failures: Failure[] = [];
  let [steps, apart, seedsDone, next] = [0, 0, 0, from];
  let cells: Cells = {};
  const take = (part: ShardReport): void => {
    done.set(part.from, part);
    seedsDone += part.seeds;
    apart += part.apart;
    cells = together(cells, part.cells);
    for (let ready = done.get(next); ready !== undefined; ready = done.get(next)) {
      done.delete(next);
      next += ready.seeds;
      traces.update(ready.hashes);
      steps += ready.steps;
      failures.push(...ready.failures);
    }
    onDone(seedsDone, part.failures);
  };
  await Promise.all(
    Array.from({ length: Math.min(workers, waiting.length) }, () => work(folder, waiting, take)),
  );
  return { failures, traceHash: traces.digest("hex"), steps, apart, cells };
}

function work(folder: string, waiting: Part[], take: (done: ShardReport) => void): Promise<void> {
  const execArgv = [...process.execArgv, ...workerFlags];
  const child: ChildProcess = fork(
    fileURLToPath(new URL("./worker.js", import.meta.url)),
    [folder],
    { execArgv },
  );
  return new Promise((resolve, reject) => {
    let isOver = false;
    const give = (): void => {
      const part = waiting.shift();
      if (part !== undefined) {
        child.send(part);
        return;
      }
      isOver = true;
      child.disconnect();
    };
    child.on("message", (message) => {
      take(message as ShardReport);
      give();
    });
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      if (isOver) resolve();
      else reject(new Error(`a worker ended with ${code ?? signal}`));
    });
    give();
  });
}
