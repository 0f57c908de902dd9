/**
 * The questions to the gateway about coins and first slots: gathered, and sent at most once a
 * second. A question that finds the link down is dropped, because the scheduler asks again.
 */
import type { KeyObject } from "node:crypto";
import { sealEnvelope } from "../../protocol/envelope.ts";
import { type AskedAccount, type Question, type SightedCoin, sightedMax } from "../../protocol/sightings.ts";

const apartMs = 1_000;
/** More wait for no question; the scheduler asks for what is dropped again. */
const gatheredMax = 64;

export interface QuestionOptions {
  readonly self: { readonly agent: string; readonly ledgerEpoch: number };
  readonly linkKey: KeyObject;
  readonly clock: () => number;
  readonly monotonic: () => number;
  readonly send: (frame: Uint8Array) => boolean;
}

export interface Questions {
  ask(coins: readonly SightedCoin[], accounts: readonly AskedAccount[]): void;
  /** Sends what was gathered, if a second has passed; called each second. */
  flush(): void;
}

export function createQuestions({ self, linkKey, clock, monotonic, send }: QuestionOptions): Questions {
  const coins = new Map<string, SightedCoin>();
  const accounts = new Map<string, AskedAccount>();
  let sentAtMs = Number.NEGATIVE_INFINITY;
  const flush = (): void => {
    const nowMs = monotonic();
    if (coins.size + accounts.size === 0 || nowMs - sentAtMs < apartMs) return;
    sentAtMs = nowMs;
    const { agent, ledgerEpoch } = self;
    const question: Question = { agent, ledgerEpoch, coins: taken(coins), accounts: taken(accounts), at: clock() };
    send(sealEnvelope("question", question, linkKey));
  };
  return {
    ask(someCoins, someAccounts) {
      for (const coin of someCoins) add(coins, `${coin.network} ${coin.account} ${coin.id}`, coin);
      for (const one of someAccounts) add(accounts, `${one.network} ${one.account}`, one);
      flush();
    },
    flush,
  };
}

function add<T>(gathered: Map<string, T>, key: string, one: T): void {
  if (gathered.size < gatheredMax) gathered.set(key, one);
}

function taken<T>(gathered: Map<string, T>): readonly T[] {
  const some = [...gathered].slice(0, sightedMax);
  for (const [key] of some) gathered.delete(key);
  return some.map(([, one]) => one);
}
