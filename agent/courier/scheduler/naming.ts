/**
 * Offers whose pin the gateway has named, the withdrawals that it has cleared, and the questions
 * for those that it has not. The signer makes no first attempt on another coin, because a courier's
 * nodes may show coins that no block has. Pure.
 */
import { commandOfEnd } from "../../../base/state-end.ts";
import { familyOf } from "../../../chains/families.ts";
import type { Coin, FeeMarket, TxParams } from "../../../chains/family.ts";
import { sightedPerQuestionMax } from "../../../protocol/sightings.ts";
import { agentStateEnds } from "../../state-ends.ts";
import { isOwedCoinMissing, offerBasisOf, termsOfWithdrawal } from "./coins.ts";
import type { SchedulerEffect, SchedulerEvent } from "./events.ts";
import type {
  Account,
  NamedCoins,
  ScheduledWithdrawal,
  SchedulerBook,
  WaitingOffer,
} from "./item.ts";

export const newNamedCoins = (): NamedCoins => ({
  named: new Set(),
  version: 0,
  asked: new Map(),
  dueAtMs: 0,
  sinceMs: null,
  slotAskedAtMs: null,
});

/** The time until a coin is asked for again, doubled with each silence. */
const againMs = 2_000;
const againMsMax = 60_000;
/** The link carries one question a second. */
export const gatewayQuestionPauseMs = 1_000;

/** An offer that waits is made again after this time at the latest, to ask for further coins. */
const sameMs = 500;

/** A silence of the gateway is told after this time; an answer usually takes a second. */
const silentMs = 20_000;

export const unnamedCode = "ACCOUNT_PIN_UNNAMED";
const { firstSlot, firstUnnamed } = agentStateEnds.courier;

export const unclearedCode = "WITHDRAWAL_UNCLEARED";
/** The words until a silence is told. */
export const gatewayAskedWords = "the gateway's word on it is asked for";

export const owedCoinWords =
  "ACCOUNT_COIN_OWED: the coin that it has to spend is spent, or held by another payment";

const coinText = ({ id, units }: Coin): string => `${id}:${units}`;

/** The words of a withdrawal that waits for the gateway's word on a coin. */
export function describeUnnamedCoinWait(account: Account, nowMs: number): string {
  return isSilent(account, nowMs)
    ? `${unnamedCode}: the gateway's nodes have not named a coin for it yet`
    : gatewayAskedWords;
}

/** The reason why an account has not begun, with the values that an operator must compare. */
export function explainUnbegunAccount(account: Account, code: string, nowMs: number): string {
  const { slotCounts, chain } = account;
  if (code === "ACCOUNT_FIRST_SLOT")
    return `${code}: the nodes count ${slotCounts.highest}; ${commandOfEnd(firstSlot, { CHAIN: chain })}`;
  if (code !== "ACCOUNT_FIRST_UNNAMED") return code;
  return isSilent(account, nowMs) ? `${code}: ${firstUnnamed[1]} yet` : gatewayAskedWords;
}

/** True if the gateway has been silent for long. The first call begins the time. */
function isSilent({ naming }: Account, nowMs: number): boolean {
  naming.sinceMs ??= nowMs;
  return nowMs - naming.sinceMs >= silentMs;
}

/**
 * The first offer for a withdrawal. "owed" if a coin that it has to spend is not free. Null if the
 * coins do not suffice; "unnamed" if they do, and the
 * gateway has named none that could be the pin. Then it is asked for the coins of the offer first,
 * and for others of the account if it stays silent about these. With coins, an offer is much work,
 * and most events leave one that waits as it is: then it is not made again.
 */
export function findOfferOfNamedCoins(
  item: ScheduledWithdrawal,
  feeMarket: FeeMarket,
  computeLimit: bigint,
  nowMs: number,
  out: SchedulerEffect[],
): TxParams | "unnamed" | "owed" | null {
  const still = stillWaiting(item, nowMs);
  if (still !== undefined) return still;
  const offer = offerFor(item, feeMarket, computeLimit, nowMs, out);
  if (item.account.pinExclusion !== null && (offer === null || offer === "unnamed"))
    keepWaiting(item, offer, nowMs);
  return offer;
}

function offerFor(
  item: ScheduledWithdrawal,
  feeMarket: FeeMarket,
  computeLimit: bigint,
  nowMs: number,
  out: SchedulerEffect[],
): ReturnType<typeof findOfferOfNamedCoins> {
  const { account } = item;
  const { pinExclusion, naming } = account;
  const { fees } = familyOf(account.network);
  const market = offerBasisOf(item, feeMarket, computeLimit);
  if (item.view.attempts.length === 0 && isOwedCoinMissing(item, market)) return "owed";
  const whole = fees.first(market, termsOfWithdrawal(item));
  // The signer keeps the coins of a recorded attempt.
  if (pinExclusion === null || whole === null || item.view.attempts.length > 0) return whole;
  const coins = pinExclusion.coins(whole);
  if (naming.named.has(coins[0])) {
    naming.sinceMs = null;
    return whole;
  }
  askFor(account, market.coins, coins, nowMs, out);
  const named = market.coins.filter((coin) => naming.named.has(coinText(coin)));
  if (
    isOwedCoinMissing(item, {
      ...market,
      owed: named.filter((coin) => market.owed?.includes(coin)),
    })
  )
    return "unnamed";
  return fees.first({ ...market, coins: named }, termsOfWithdrawal(item)) ?? "unnamed";
}

/** Remembers an offer that waits for other coins, with all that it was made of. */
function keepWaiting(
  item: ScheduledWithdrawal,
  answer: WaitingOffer["answer"],
  nowMs: number,
): void {
  const { account, view, gas, lowered } = item;
  const { chainState, held, naming } = account;
  const untilMs = Math.max(naming.dueAtMs, nowMs + sameMs);
  account.waitingOffer = {
    answer,
    item,
    view,
    gas,
    lowered,
    chainState,
    held: held.version,
    named: naming.version,
    untilMs,
  };
}

/** The answer that an offer for the withdrawal would have again; undefined if it may be another. */
function stillWaiting(
  item: ScheduledWithdrawal,
  nowMs: number,
): WaitingOffer["answer"] | undefined {
  const { waitingOffer: last, chainState, held, naming } = item.account;
  if (last === null || last.item !== item || nowMs >= last.untilMs) return undefined;
  const isItems = last.view === item.view && last.gas === item.gas && last.lowered === item.lowered;
  const isSame =
    isItems &&
    last.chainState === chainState &&
    last.held === held.version &&
    last.named === naming.version;
  return isSame ? last.answer : undefined;
}

function askFor(
  account: Account,
  free: readonly Coin[],
  offered: readonly string[],
  nowMs: number,
  out: SchedulerEffect[],
): void {
  const { naming, held } = account;
  if (nowMs < naming.dueAtMs) return;
  const there = new Set(free.map(coinText));
  for (const text of naming.asked.keys())
    if (!there.has(text) && !held.counts.has(text)) naming.asked.delete(text);
  const rank = (coin: Coin): number => Number(!offered.includes(coinText(coin)));
  const byRank = (a: Coin, b: Coin): number =>
    rank(a) - rank(b) || (a.units === b.units ? 0 : a.units > b.units ? -1 : 1);
  askGatewayToNameCoins(account, [...free].sort(byRank).map(coinText), nowMs, out);
}

/**
 * Asks for the gateway's word on those of these coins that it has not named, the first ones first.
 * Each is asked for again while the gateway is silent, because a question or its answer may be
 * lost, or its nodes may be away.
 */
export function askGatewayToNameCoins(
  { network, address, naming }: Account,
  texts: readonly string[],
  nowMs: number,
  out: SchedulerEffect[],
): void {
  if (nowMs < naming.dueAtMs) return;
  const isWanted = (text: string): boolean =>
    !naming.named.has(text) && (naming.asked.get(text)?.dueAtMs ?? 0) <= nowMs;
  const wanted = [...new Set(texts)].filter(isWanted).slice(0, sightedPerQuestionMax);
  if (wanted.length === 0) return;
  naming.dueAtMs = nowMs + gatewayQuestionPauseMs;
  for (const text of wanted) {
    const { tries = 0 } = naming.asked.get(text) ?? {};
    naming.asked.set(text, {
      tries: tries + 1,
      dueAtMs: nowMs + Math.min(againMsMax, againMs * 2 ** tries),
    });
  }
  const coins = wanted.map((text) => {
    const at = text.lastIndexOf(":");
    return { network, account: address, id: text.slice(0, at), units: text.slice(at + 1) };
  });
  out.push({ kind: "question", coins, accounts: [], orders: [] });
}

/**
 * Asks for the gateway's word on the next slot of an account that has not begun: where there is
 * none at once, and where an operator would have to decide once a minute, because a word that was
 * said while a node lied is not the last one.
 */
export function askFirstSlot(
  { network, address, naming }: Account,
  code: string,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  const isNew = naming.slotAskedAtMs === null || nowMs - naming.slotAskedAtMs >= againMsMax;
  if (code !== "ACCOUNT_FIRST_UNNAMED" && !(code === "ACCOUNT_FIRST_SLOT" && isNew)) return;
  naming.slotAskedAtMs = nowMs;
  out.push({ kind: "question", coins: [], accounts: [{ network, account: address }], orders: [] });
}

/** The time until a withdrawal is asked for again that the gateway has not cleared. */
export function unclearedRetryMs(tries: number): number {
  return Math.min(againMsMax, againMs * 2 ** Math.min(tries, 8));
}

/** The words of a withdrawal that waits for the gateway's word that nothing pays it already. */
export function describeUnclearedWait(item: ScheduledWithdrawal, nowMs: number): string {
  item.unclearedSinceMs ??= nowMs;
  const isSilent = nowMs - item.unclearedSinceMs >= silentMs;
  return isSilent
    ? `${unclearedCode}: the gateway has not said yet that nothing on the chain pays it already`
    : gatewayAskedWords;
}

/** Takes what the signer kept of the gateway's word. @returns the accounts it is about */
export function takeSightings(
  book: SchedulerBook,
  { coins, next, orders }: Extract<SchedulerEvent, { kind: "sighted" }>,
): readonly Account[] {
  const touched = new Set<Account>();
  const accountOf = (of: {
    readonly network: string;
    readonly account: string;
  }): Account | undefined =>
    [...book.accounts.values()].find(
      ({ network, address }) => network === of.network && address === of.account,
    );
  for (const { id, units, ...of } of coins) {
    const account = accountOf(of);
    if (account === undefined) continue;
    account.naming.named.add(`${id}:${units}`);
    account.naming.version += 1;
    account.naming.asked.delete(`${id}:${units}`);
    account.naming.sinceMs = null;
    touched.add(account);
  }
  for (const of of next) {
    const account = accountOf(of);
    if (account === undefined) continue;
    if (account.nextSlot === "") account.slotCounts.dueAtMs = 0;
    account.naming.sinceMs = null;
    touched.add(account);
  }
  for (const id of orders) {
    const item = book.items.get(id);
    if (item === undefined || item.unclearedSinceMs === null) continue;
    Object.assign(item, { unclearedSinceMs: null, notBeforeMs: 0, refusals: 0 });
    touched.add(item.account);
  }
  return [...touched];
}

/** The signer does not know the coin any more: the gateway is asked again. */
export function forgetNamedPin({ account, asked }: ScheduledWithdrawal): void {
  const [pin = ""] = asked === null ? [] : (account.pinExclusion?.coins(asked) ?? []);
  if (account.naming.named.delete(pin)) account.naming.version += 1;
}
