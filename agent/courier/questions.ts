/**
 * The questions to the gateway about coins, first slots and withdrawals: gathered, and sent at most
 * once a second. A question that finds the link down is dropped, because the scheduler asks again.
 */
import type { KeyObject } from "node:crypto";
import { sealEnvelope } from "../../protocol/envelope.ts";
import {
  type AskedAccount,
  clearedPerQuestionMax,
  type SightedCoin,
  type SightingsQuestion,
  sightedPerQuestionMax,
} from "../../protocol/sightings.ts";

const apartMs = 1_000;
/** More wait for no question; the scheduler asks for what is dropped again. */
const gatheredMax = 64;
const ordersGatheredMax = 1_024;

export interface GatewayQuestionsOptions {
  readonly self: { readonly agent: string; readonly ledgerEpoch: number };
  readonly linkKey: KeyObject;
  readonly clock: () => number;
  readonly monotonic: () => number;
  readonly send: (frame: Uint8Array) => boolean;
}

export interface GatewayQuestions {
  ask(about: Pick<SightingsQuestion, "coins" | "accounts" | "orders">): void;
  /** Sends what was gathered, if a second has passed; called each second. */
  flush(): void;
}

export function createGatewayQuestions({
  self,
  linkKey,
  clock,
  monotonic,
  send,
}: GatewayQuestionsOptions): GatewayQuestions {
  const coins = new Map<string, SightedCoin>();
  const accounts = new Map<string, AskedAccount>();
  const orders = new Map<string, string>();
  let sentAtMs = Number.NEGATIVE_INFINITY;
  const flush = (): void => {
    const nowMs = monotonic();
    if (coins.size + accounts.size + orders.size === 0 || nowMs - sentAtMs < apartMs) return;
    sentAtMs = nowMs;
    const { agent, ledgerEpoch } = self;
    const about = {
      coins: taken(coins, sightedPerQuestionMax),
      accounts: taken(accounts, sightedPerQuestionMax),
      orders: taken(orders, clearedPerQuestionMax),
    };
    const question: SightingsQuestion = { agent, ledgerEpoch, ...about, at: clock() };
    send(sealEnvelope("question", question, linkKey));
  };
  return {
    ask(about) {
      for (const coin of about.coins)
        add(coins, `${coin.network} ${coin.account} ${coin.id}`, coin, gatheredMax);
      for (const one of about.accounts)
        add(accounts, `${one.network} ${one.account}`, one, gatheredMax);
      for (const id of about.orders) add(orders, id, id, ordersGatheredMax);
      flush();
    },
    flush,
  };
}

function add<T>(gathered: Map<string, T>, key: string, one: T, most: number): void {
  if (gathered.size < most) gathered.set(key, one);
}

function taken<T>(gathered: Map<string, T>, most: number): readonly T[] {
  const some = [...gathered].slice(0, most);
  for (const [key] of some) gathered.delete(key);
  return some.map(([, one]) => one);
}
