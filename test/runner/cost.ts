/**
 * CPU time of each test file: of this worker and of the processes that the file started and waited
 * for. A worker runs many files, so a file's cost is what was added since the file before it. The
 * loading of modules is told apart, because it falls on whichever file comes first.
 */
import { appendFileSync, readFileSync } from "node:fs";

/** The cost of a test file, in milliseconds. */
export interface FileCost {
  /** Path from the project's root. */
  readonly file: string;
  /** Files that ran before it in the same worker, the newest last. */
  readonly before: readonly string[];
  /** CPU time of the worker's start, of imports and of the bodies of headings. */
  readonly loadMs: number;
  /** CPU time of the tests and their hooks, with the processes that they waited for. */
  readonly runMs: number;
  /** Wall time of both. */
  readonly wallMs: number;
}

const clockTickMs = 10;

/** CPU time of this worker and its ended children, in ms. proc(5): utime, stime, cutime, cstime. */
function readCpuMs(): number {
  // A worker that is a thread shares its process with others: the times of the thread are its own.
  const text = readFileSync(
    process.env.TEST_WORKER === "thread" ? "/proc/thread-self/stat" : "/proc/self/stat",
    "utf8",
  );
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * clockTickMs;
}

/** This worker's history, which outlives the modules of a single test file. */
interface WorkerHistory {
  readonly files: string[];
  atMs: number;
}
const kept = globalThis as { testWorkerHistory?: WorkerHistory };
kept.testWorkerHistory ??= { files: [], atMs: 0 };
const history = kept.testWorkerHistory;

/** Measures one file; each function is called once, in this order. */
export class CostMeter {
  readonly #file: string;
  readonly #begunAt = performance.now();
  #loadedAtMs = 0;

  constructor(file: string) {
    this.#file = file;
    this.#write({ began: file, before: history.files });
    history.files.push(file);
  }

  markLoaded(): void {
    this.#loadedAtMs = readCpuMs();
  }

  end(): void {
    const endMs = readCpuMs();
    const cost: FileCost = {
      file: this.#file,
      before: history.files.slice(0, -1),
      loadMs: this.#loadedAtMs - history.atMs,
      runMs: endMs - this.#loadedAtMs,
      wallMs: Math.round(performance.now() - this.#begunAt),
    };
    history.atMs = endMs;
    this.#write(cost);
  }

  #write(line: object): void {
    if (process.env.TEST_COST_FILE)
      appendFileSync(process.env.TEST_COST_FILE, `${JSON.stringify(line)}\n`);
  }
}
