/** Kills in the moment of a record: the main thread's side of `killer-thread.ts`. */
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { projectRoot } from "../../kit/kit.ts";
import type { RecordedStep } from "./steps.ts";

export interface Kill {
  readonly orderId: string;
  readonly step: RecordedStep;
  /** After one of these it is too late. */
  readonly before: readonly RecordedStep[];
  /** All are killed; the first one is the victim. */
  readonly pids: readonly number[];
}

export interface KillReport {
  /** The victim was killed after the step and before any of the later ones. */
  readonly isMet: boolean;
  /** One of them was killed at least. */
  readonly isKilled: boolean;
}

/** Built, because a thread is given a file that Node itself reads. */
const thread = join(projectRoot, "dist", "lab", "faults", "steps", "killer-thread.js");

export class RecordKiller {
  readonly #worker: Worker;

  /** `folder`: the ledger's. */
  constructor(folder: string) {
    this.#worker = new Worker(thread, { workerData: folder });
  }

  /** To be called before the order is there, and again only after its end. */
  kill(kill: Kill, withinMs: number): Promise<KillReport> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#worker.postMessage(null), withinMs);
      const end = (): void => {
        clearTimeout(timer);
        this.#worker.off("error", reject).off("message", take);
      };
      const take = (killed: KillReport): void => {
        end();
        resolve(killed);
      };
      this.#worker.once("error", reject).once("message", take);
      this.#worker.postMessage(kill);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

export function killAll(pids: readonly number[]): KillReport {
  const killed = pids.map(isKilled);
  return { isMet: killed[0] === true, isKilled: killed.includes(true) };
}

/** False for a process that has ended by itself. */
function isKilled(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}
