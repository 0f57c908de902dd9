/**
 * Who is online, and which requests wait for an agent's first answer. Both are remembered from
 * signals only; the database stays the truth, so a signal that is missed costs a waiting request
 * its patience and nothing else.
 */
import type { Waiters } from "../service.ts";
import { isUnanswered } from "../store/jobs.ts";
import type { Signals } from "../store/signals.ts";

interface Waiter {
  readonly agent: string;
  readonly transactionId: string;
  readonly go: () => void;
}

/** @public */
export function createWaiters(signals: Signals): Waiters {
  const live = new Set<string>();
  const waiters = new Map<string, Set<Waiter>>();
  let closed = false;

  const letGo = (matches: (waiter: Waiter) => boolean, transactionIds: Iterable<string>): void => {
    for (const id of [...transactionIds]) {
      for (const waiter of [...(waiters.get(id) ?? [])]) if (matches(waiter)) waiter.go();
    }
  };
  const stops = [
    signals.on("decided", ({ transactionId }) => letGo(() => true, [transactionId])),
    signals.on("agent", ({ agent, online }) => {
      if (online) live.add(agent);
      else live.delete(agent);
      if (!online) letGo((waiter) => waiter.agent === agent, waiters.keys());
    }),
  ];

  function wait(agent: string, transactionId: string, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const set = waiters.get(transactionId) ?? new Set();
      const waiter: Waiter = {
        agent,
        transactionId,
        go() {
          clearTimeout(timer);
          set.delete(waiter);
          if (set.size === 0) waiters.delete(transactionId);
          resolve();
        },
      };
      const timer = setTimeout(waiter.go, waitMs);
      waiters.set(transactionId, set.add(waiter));
    });
  }

  return {
    online: (agentId) => live.has(agentId),
    async decided(database, { agent, transactionId }, waitMs) {
      if (closed || waitMs <= 0 || !live.has(agent)) return;
      if (!isUnanswered(database, transactionId)) return;
      await wait(agent, transactionId, waitMs);
    },
    close() {
      closed = true;
      for (const stop of stops) stop();
      letGo(() => true, waiters.keys());
    },
  };
}
