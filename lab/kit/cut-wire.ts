/**
 * A wire between a gateway and its PostgreSQL server that is cut at one message. A thread passes
 * the messages on, because the gateway's own thread sleeps while the server answers.
 */
import { once } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { projectRoot } from "./kit.ts";

export interface CutWire {
  readonly folder: string; // folder of the socket, for an address
  /** Counts messages of both directions from now on, and cuts the wire in the place of this one. */
  cutAt(message: number): void;
  /** Messages since `cutAt`. */
  readonly messages: number;
  close(): Promise<void>;
}

/** Built, because a thread is given a file that Node itself reads. */
const thread = join(projectRoot, "dist", "lab", "kit", "cut-wire-thread.js");
const socketName = ".s.PGSQL.5432";

/** Listens in `folder`, in front of the server whose socket is in `serverFolder`. */
export async function startCutWire(folder: string, serverFolder: string): Promise<CutWire> {
  const shared = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const worker = new Worker(thread, {
    workerData: {
      listenAt: join(folder, socketName),
      serverAt: join(serverFolder, socketName),
      shared,
    },
  });
  await once(worker, "message");
  return {
    folder,
    cutAt(message) {
      Atomics.store(shared, 1, 0);
      Atomics.store(shared, 0, 0);
      Atomics.store(shared, 1, message);
    },
    get messages() {
      return Atomics.load(shared, 0);
    },
    async close() {
      await worker.terminate();
    },
  };
}
