/**
 * A thread that follows the ledger's file and kills in the moment of a record. The main thread has
 * proxies and the fake nodes to serve, and would come milliseconds too late.
 */
import { parentPort, workerData } from "node:worker_threads";
import { type Kill, type KillReport, killAll } from "./killer.ts";
import { LedgerWatch } from "./ledger-watch.ts";
import { Progress } from "./steps.ts";

const watch = new LedgerWatch(workerData as string);
let disarm: (() => void) | null = null;

function answer(killed: KillReport): void {
  disarm?.();
  disarm = null;
  parentPort?.postMessage(killed);
}

function arm({ orderId, step, before, pids }: Kill): void {
  const progress = new Progress(orderId);
  const isPast = (): boolean => before.some((later) => progress.reached.has(later));
  const strike = (): void => {
    if (isPast()) answer({ isMet: false, isKilled: false });
    else if (progress.reached.has(step)) {
      disarm?.();
      const { isMet, isKilled } = killAll(pids);
      // A record that came before the kill took effect is in the file now.
      for (const record of watch.look()) progress.take(record);
      answer({ isMet: isMet && !isPast(), isKilled });
    }
  };
  disarm = watch.follow((fresh) => {
    for (const record of fresh) progress.take(record);
    strike();
  });
}

parentPort?.on("message", (kill: Kill | null) => {
  if (kill !== null) arm(kill);
  // An answer may be on its way when the time is over.
  else if (disarm !== null) answer({ isMet: false, isKilled: false });
});
