/**
 * One connection to PostgreSQL, asked as a function is called: the caller's thread sleeps until the
 * answer is there. Nothing else runs meanwhile, as at a statement of SQLite; a limit of time ends
 * each wait. Sources: nodejs.org/api/worker_threads.html (receiveMessageOnPort).
 */
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import { PostgresFault } from "./fault.ts";
import { answerMs, connectMs, sessionSettings } from "./limits.ts";
import type {
  OneServerAddress,
  PostgresAnswer,
  PostgresConnection,
  PostgresRefusal,
  PostgresReply,
} from "./messages.ts";
import { threadFile } from "./thread-file.ts";

/** Connects to one server. @throws PostgresFault */
export function openPostgresConnection(address: OneServerAddress): PostgresConnection {
  const order = { address, timeoutMs: connectMs, settings: sessionSettings };
  const bell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const { port1: port, port2 } = new MessageChannel();
  const worker = new Worker(threadFile, {
    workerData: { ...order, bell, port: port2 },
    transferList: [port2],
  });
  worker.unref();
  port.unref();
  let lost: PostgresRefusal | null = null;

  function receive(waitMs: number): readonly PostgresAnswer[] {
    const until = performance.now() + waitMs;
    let received = receiveMessageOnPort(port);
    while (received === undefined) {
      const left = until - performance.now();
      if (left <= 0) throw lose(`no answer within ${waitMs} ms`);
      Atomics.wait(bell, 0, 0, left);
      Atomics.store(bell, 0, 0);
      received = receiveMessageOnPort(port);
    }
    const { answers, refusal } = received.message as PostgresReply;
    if (refusal === null) return answers;
    if (refusal.sqlState === "") throw lose(refusal.message);
    throw new PostgresFault(refusal);
  }

  function lose(message: string): PostgresFault {
    lost ??= { sqlState: "", message, constraint: "" };
    void worker.terminate();
    return new PostgresFault(lost);
  }

  receive(connectMs + answerMs);
  return {
    ask(asks, waitMs = answerMs) {
      if (lost !== null) throw new PostgresFault(lost);
      port.postMessage(asks);
      return receive(waitMs);
    },
    close() {
      lost ??= { sqlState: "", message: "the connection is closed", constraint: "" };
      port.close();
      void worker.terminate();
    },
  };
}
