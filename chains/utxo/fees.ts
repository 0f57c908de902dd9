/**
 * The choice of coins, and the fee of each attempt. Deterministic. Only coins that the caller
 * offers are used; unconfirmed change is not among them, because a replaced parent would take the
 * coin away. Largest first, so the anchor has most room for a later fee. Change becomes two coins
 * while the account has few, because the coins of an open withdrawal are held until it is final;
 * and while it has many, a cheap payment merges small ones into its change. Sources: BIP-125, rules
 * 3 and 4; validation.cpp of Bitcoin Core (a replacement needs the higher rate too); its option
 * -consolidatefeerate.
 */
import type { Coin, TxParams } from "../family.ts";
import { parseAddress } from "./address.ts";
import type { UtxoNetwork } from "./network.ts";
import { dustOf, dustOfChange, satPerByteMin, sizeOf } from "./size.ts";
import { amountOf, coinsMax, type Figures, figuresOf, txParamsOf } from "./tx-params.ts";

/** The rate that nodes ask, and the account's final coins that no other withdrawal holds. */
export interface CoinMarket {
  readonly satPerKvB: bigint;
  readonly coins: readonly Coin[];
  /** Coins among these that a first attempt spends in any case, the anchor first. */
  readonly owed?: readonly Coin[];
}

/** A payment by its parts that decide on coins; null stands for a cancel. */
export type Target = { readonly destination: string; readonly amountUnits: bigint } | null;

/** A payment of which only the amount is known; its script counts as the longest. */
export interface AmountAlone {
  readonly amountUnits: bigint;
}

/** An earlier attempt; `txParams` is null if only its fee is known. */
export interface EarlierAttempt {
  readonly txParams: TxParams | null;
  readonly feeMax: string; // sat
}

/** Change is split in two while the account offers fewer coins. */
export const coinsWanted = 16;
/** The bounds within which a payment merges small coins. */
export const merging = {
  /** An account with no more coins keeps them. */
  coinsMin: 100,
  /** The highest rate, in sat for each 1,000 vB, as in Bitcoin Core. */
  satPerKvBMax: 10_000n,
  /** Small coins in one payment: with them it is some five times as long. */
  coinsMost: 8,
} as const;
/** The longest script of an address: P2WSH and P2TR. */
const scriptBytesMax = 34;
/** A half of a split is worth at least so many times the dust. */
const splitDust = 50n;

/** The fee, in sat, of a transaction of so many virtual bytes. */
type FeeRule = (size: bigint) => bigint;

/** The script's length and the amount that an attempt pays to another party. */
interface Paid {
  readonly scriptBytes: number | null;
  readonly units: bigint;
}

/**
 * The parameters of a first attempt. Null if the coins do not suffice, if the amount is dust, or if
 * the destination is no address.
 */
export function first(network: UtxoNetwork, market: CoinMarket, target: Exclude<Target, null>): TxParams | null {
  const { satPerKvB, coins, owed = [] } = market;
  const paid = paidOf(network, target);
  if (paid === null) return null;
  const pool = largestFirst(coins).filter(({ id }) => !owed.some((coin) => coin.id === id));
  return chosen(network, owed, pool, paid, (size) => feeAt(satPerKvB, size), coins.length < coinsWanted);
}

/** As `first`, and with small coins beside those that the payment needs, while `merging` allows. */
export function firstMerging(network: UtxoNetwork, market: CoinMarket, target: Exclude<Target, null>): TxParams | null {
  const { satPerKvB, coins } = market;
  const plain = first(network, market, target);
  const paid = paidOf(network, target);
  if (plain === null || paid === null || coins.length <= merging.coinsMin || satPerKvB > merging.satPerKvBMax) return plain;
  const needed = figuresOf(plain).coins;
  const fee = feeOfInput(satPerKvB);
  const small = largestFirst(coins).filter(({ id, units }) => units > fee && !needed.some((coin) => coin.id === id));
  const room = Math.min(merging.coinsMost, coinsMax - needed.length);
  const merged = [...needed, ...small.reverse().slice(0, room)];
  const figures = withChange(network, merged, paid, (size) => feeAt(satPerKvB, size), false);
  return figures === null ? plain : txParamsOf(figures);
}

/**
 * The parameters of an attempt that nodes accept in place of all earlier ones, for the payment or,
 * with a null target, for a cancel. The anchor is `pin`. The fee is at least the highest earlier
 * fee and 1 sat for each virtual byte, the rate is above every earlier one, and both are at least
 * the market's. A payment keeps its coins, its change shrinks, and then coins are added; a cancel
 * begins with the anchor. `isFree`: nodes show no spend of the anchor, so no attempt is in a pool;
 * then earlier coins that are not in `coins` are spent by other transactions and are left out. Null
 * if the coins do not suffice.
 */
export function replacement(
  network: UtxoNetwork,
  { satPerKvB, coins }: CoinMarket,
  target: Target | AmountAlone,
  attempts: readonly EarlierAttempt[],
  pin: string,
  isFree = false,
): TxParams | null {
  const paid = target === null ? nothing : paidOf(network, target);
  const earlier = attempts.flatMap(({ txParams }) => (txParams === null ? [] : [figuresOf(txParams)]));
  const scriptBytes = target === null ? null : (paid?.scriptBytes ?? null);
  const isKept = ({ id }: Coin): boolean => !isFree || coins.some((coin) => coin.id === id);
  const held = [...earlier].reverse().flatMap((figures) => figures.coins.filter(isKept));
  const known = distinct([...held, ...largestFirst(coins)]);
  const anchor = known.find(({ id }) => id === pin);
  if (paid === null || anchor === undefined) return null;
  const newest = [...earlier].reverse().find((figures) => amountOf(figures) > 0n);
  const start = distinct([anchor, ...(target === null ? [] : (newest?.coins ?? []).filter(isKept))]);
  const others = known.filter(({ id }) => !start.some((coin) => coin.id === id));
  const rates = earlier.map((figures) => ({ feeSat: figures.feeSat, size: sizeOfFigures(figures, scriptBytes) }));
  const fees = attempts.map(({ feeMax }) => BigInt(feeMax));
  const rule: FeeRule = (size) =>
    highest([
      feeAt(satPerKvB, size),
      ...fees.map((fee) => fee + size * satPerByteMin),
      ...rates.map((rate) => (rate.feeSat * size) / rate.size + 1n),
    ]);
  return chosen(network, start, others, paid, rule, target !== null && coins.length < coinsWanted);
}

/** The fee that one more coin costs. */
export function feeOfInput(satPerKvB: bigint): bigint {
  return feeAt(satPerKvB, sizeOf(2, null, 1) - sizeOf(1, null, 1));
}

/** The fee at a rate, never below the least that nodes forward. */
function feeAt(satPerKvB: bigint, size: bigint): bigint {
  return highest([(size * satPerKvB + 999n) / 1000n, size * satPerByteMin]);
}

const nothing: Paid = { scriptBytes: null, units: 0n };

function paidOf(network: UtxoNetwork, target: Exclude<Target, null> | AmountAlone): Paid | null {
  const { amountUnits } = target;
  if (!("destination" in target)) return { scriptBytes: scriptBytesMax, units: amountUnits };
  const { destination } = target;
  const parsed = parseAddress(destination, network);
  if (!parsed.ok || amountUnits < dustOf(parsed.script, network)) return null;
  return { scriptBytes: parsed.script.length, units: amountUnits };
}

/** The fewest coins of `pool`, in its order, that suffice together with those of `start`. */
function chosen(
  network: UtxoNetwork,
  start: readonly Coin[],
  pool: readonly Coin[],
  paid: Paid,
  rule: FeeRule,
  isSplit: boolean,
): TxParams | null {
  for (let added = start.length === 0 ? 1 : 0; added <= pool.length && start.length + added <= coinsMax; added += 1) {
    const coins = [...start, ...pool.slice(0, added)];
    const figures = withChange(network, coins, paid, rule, isSplit);
    if (figures !== null) return txParamsOf(figures);
  }
  return null;
}

/** The figures with as much change as the coins leave; null if they do not even cover the fee. */
function withChange(network: UtxoNetwork, coins: readonly Coin[], paid: Paid, rule: FeeRule, isSplit: boolean): Figures | null {
  const rest = coins.reduce((sum, { units }) => sum + units, 0n) - paid.units;
  const feeOf = (changeCount: number): bigint => rule(sizeOf(coins.length, paid.scriptBytes, changeCount));
  const dust = dustOfChange(network);
  const half = (rest - feeOf(2)) / 2n;
  if (isSplit && half >= dust * splitDust) return { coins, changeSat: [half, rest - feeOf(2) - half], feeSat: feeOf(2) };
  const change = rest - feeOf(1);
  if (change >= dust) return { coins, changeSat: [change], feeSat: feeOf(1) };
  return paid.scriptBytes !== null && rest >= feeOf(0) ? { coins, changeSat: [], feeSat: rest } : null;
}

function sizeOfFigures(figures: Figures, scriptBytes: number | null): bigint {
  const isCancel = amountOf(figures) === 0n;
  return sizeOf(figures.coins.length, isCancel ? null : scriptBytes, figures.changeSat.length);
}

function largestFirst(coins: readonly Coin[]): readonly Coin[] {
  return [...coins].sort((a, b) => (a.units === b.units ? (a.id < b.id ? -1 : 1) : a.units > b.units ? -1 : 1));
}

function distinct(coins: readonly Coin[]): readonly Coin[] {
  return coins.filter(({ id }, place) => coins.findIndex((coin) => coin.id === id) === place);
}

function highest(values: readonly bigint[]): bigint {
  return [...values].sort((a, b) => (a > b ? -1 : 1))[0] ?? 0n;
}
