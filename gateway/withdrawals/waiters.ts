/**
 * Knows which agents are online, and which requests wait for an agent's first answer or for a look
 * at an account's next addresses. It uses only signals; the database stays the truth, so a
 * missed signal only makes a request wait until its time limit.
 */
import type { Waiters } from "../service.ts";
import { isUnanswered } from "../store/jobs.ts";
import type { AddressLook, Signals } from "../store/signals.ts";

interface Waiter {
  readonly agent: string | null; // null: waits for no agent
  readonly go: (isOver: boolean) => void;
}

const changeOf = (transactionId: string): string => `change ${transactionId}`;
const nameOf = ({ network, account }: AddressLook): string => `${network} ${account}`;

export function createWaiters(signals: Signals): Waiters {
  const live = new Set<string>();
  const waiters = new Map<string, Set<Waiter>>(); // by the name of the awaited event
  let closed = false;

  const letGo = (
    names: Iterable<string>,
    isOver: boolean,
    matches = (_: Waiter): boolean => true,
  ): void => {
    for (const name of [...names]) {
      for (const waiter of [...(waiters.get(name) ?? [])]) if (matches(waiter)) waiter.go(isOver);
    }
  };
  const stops = [
    signals.on("decided", ({ transactionId }) => letGo([transactionId], true)),
    signals.on("changed", ({ transactionId }) => letGo([changeOf(transactionId)], true)),
    signals.on("looked", (look) => letGo([nameOf(look)], true)),
    signals.on("agent", ({ agent, online }) => {
      if (online) live.add(agent);
      else live.delete(agent);
      if (!online) letGo(waiters.keys(), false, (waiter) => waiter.agent === agent);
    }),
  ];

  function wait(agent: string | null, name: string, waitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const set = waiters.get(name) ?? new Set();
      const waiter: Waiter = {
        agent,
        go(isOver) {
          clearTimeout(timer);
          set.delete(waiter);
          if (set.size === 0) waiters.delete(name);
          resolve(isOver);
        },
      };
      const timer = setTimeout(() => waiter.go(false), waitMs);
      waiters.set(name, set.add(waiter));
    });
  }

  return {
    online: (agentId) => live.has(agentId),
    async decided(database, { agent, transactionId }, waitMs) {
      if (closed || waitMs <= 0 || !live.has(agent)) return;
      if (!isUnanswered(database, transactionId)) return;
      await wait(agent, transactionId, waitMs);
    },
    async answered({ agent, transactionId }, waitMs) {
      if (closed || waitMs <= 0 || !live.has(agent)) return;
      await wait(agent, transactionId, waitMs);
    },
    async changed({ agent, transactionId }, waitMs) {
      if (closed || waitMs <= 0 || !live.has(agent)) return;
      await wait(agent, changeOf(transactionId), waitMs);
    },
    async looked(look, waitMs) {
      if (closed || waitMs <= 0) return false;
      const isLooked = wait(null, nameOf(look), waitMs);
      signals.emit("look", look);
      return isLooked;
    },
    close() {
      closed = true;
      for (const stop of stops) stop();
      letGo(waiters.keys(), false);
    },
  };
}
