/**
 * The choice of coins, and the fee of each attempt. Deterministic. Only coins that the caller
 * offers are used; unconfirmed change is not among them, because a replaced parent would take the
 * coin away. Largest first, so the anchor has most room for a later fee. Change becomes two coins
 * while the account has few, because the coins of an open withdrawal are held until it is final;
 * and while it has many, a cheap payment merges small ones into its change. Change that would cost
 * more to spend than it is worth is not made. A sweep empties its address: its fee comes out of its
 * amount, so that no attempt needs change. Sources: BIP-125, rules 3 and 4; validation.cpp of
 * Bitcoin Core (a replacement needs the higher rate too); its options -consolidatefeerate and
 * -discardfee; bitcoin/bitcoin #7677.
 */
import type { Coin, TxParams } from "../family.ts";
import { parseAddress } from "./address.ts";
import type { UtxoNetwork } from "./network.ts";
import { dustOf, dustOfChange, satPerByteMin, sizeOf } from "./size.ts";
import {
  amountOf,
  coinsPerTransactionMax,
  figuresOf,
  txParamsOf,
  type UtxoFigures,
} from "./tx-params.ts";

/** The rate that nodes ask, and the account's final coins that no other withdrawal holds. */
export interface CoinMarket {
  readonly satPerKvB: bigint;
  readonly coins: readonly Coin[];
  /** Coins among these that a first attempt spends in any case, the anchor first. */
  readonly owed?: readonly Coin[];
}

/** A payment by its parts that decide on coins; null stands for a cancel. */
export type PaymentOrCancel = (PaymentAmount & { readonly destination: string }) | null;

/** A payment of which only the amount is known; its script counts as the longest. */
export interface PaymentAmount {
  readonly amountUnits: bigint;
  readonly isFeeInside?: boolean; // as `Payment` has it
}

/** An earlier attempt; `txParams` is null if only its fee is known. */
export interface EarlierAttempt {
  readonly txParams: TxParams | null;
  readonly feeMax: string; // sat
}

/** Change is split in two while the account offers fewer coins. */
export const coinsWanted = 16;
/** The bounds within which a payment merges small coins. */
export const mergingLimits = {
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
interface PaidOutput {
  readonly scriptBytes: number | null;
  readonly units: bigint;
  readonly isFeeInside: boolean;
  readonly leastUnits: bigint; // that nodes accept in the output
}

/** The change that an attempt may have. */
interface ChangeRule {
  readonly isSplit: boolean; // two coins, if both are large
  readonly least: "worth" | "dust"; // worth its own fetching, or no more than nodes accept
}

/**
 * The parameters of a first attempt. Null if the coins do not suffice, if the amount is dust, or if
 * the destination is no address.
 */
export function firstOffer(
  network: UtxoNetwork,
  market: CoinMarket,
  target: Exclude<PaymentOrCancel, null>,
): TxParams | null {
  const paid = paidOf(network, target);
  return paid === null ? null : firstOf(network, market, paid);
}

function firstOf(
  network: UtxoNetwork,
  { satPerKvB, coins, owed = [] }: CoinMarket,
  paid: PaidOutput,
): TxParams | null {
  const pool = largestFirst(coins).filter(({ id }) => !owed.some((coin) => coin.id === id));
  const isSplit = coins.length < coinsWanted;
  return chosen(network, owed, pool, paid, (size) => feeAt(satPerKvB, size), isSplit);
}

/**
 * As `firstOffer`, and with small coins beside those that the payment needs, while `mergingLimits`
 * allow.
 */
export function firstOfferWithMerging(
  network: UtxoNetwork,
  market: CoinMarket,
  target: Exclude<PaymentOrCancel, null>,
): TxParams | null {
  const { satPerKvB, coins } = market;
  const paid = paidOf(network, target);
  const plain = paid === null ? null : firstOf(network, market, paid);
  const isMany = coins.length > mergingLimits.coinsMin && satPerKvB <= mergingLimits.satPerKvBMax;
  if (plain === null || paid === null || paid.isFeeInside || !isMany) return plain;
  const needed = figuresOf(plain).coins;
  const fee = feeOfInput(satPerKvB);
  const small = largestFirst(coins).filter(
    ({ id, units }) => units > fee && !needed.some((coin) => coin.id === id),
  );
  const room = Math.min(mergingLimits.coinsMost, coinsPerTransactionMax - needed.length);
  const merged = [...needed, ...small.reverse().slice(0, room)];
  const rule: ChangeRule = { isSplit: false, least: "worth" };
  const figures = withChange(network, merged, paid, (size) => feeAt(satPerKvB, size), rule);
  return figures === null ? plain : txParamsOf(figures);
}

/**
 * The parameters of an attempt that nodes accept in place of all earlier ones, for the payment or,
 * with a null target, for a cancel. The anchor is `pin`. The fee is at least the highest earlier
 * fee and 1 sat for each virtual byte, the rate is above every earlier one, and both are at least
 * the market's. A payment keeps its coins, its change shrinks, and then coins are added; a sweep
 * pays less; a cancel begins with the anchor. `isFree`: nodes show no spend of the anchor, so no
 * attempt is in a pool;
 * then earlier coins that are not in `coins` are spent by other transactions and are left out. Null
 * if the coins do not suffice.
 */
export function replacementOffer(
  network: UtxoNetwork,
  { satPerKvB, coins }: CoinMarket,
  target: PaymentOrCancel | PaymentAmount,
  attempts: readonly EarlierAttempt[],
  pin: string,
  isFree = false,
): TxParams | null {
  const paid = target === null ? nothing : paidOf(network, target);
  const earlier = attempts.flatMap(({ txParams }) =>
    txParams === null ? [] : [figuresOf(txParams)],
  );
  const scriptBytes = target === null ? null : (paid?.scriptBytes ?? null);
  const isKept = ({ id }: Coin): boolean => !isFree || coins.some((coin) => coin.id === id);
  const held = [...earlier].reverse().flatMap((figures) => figures.coins.filter(isKept));
  const known = distinct([...held, ...largestFirst(coins)]);
  const anchor = known.find(({ id }) => id === pin);
  if (paid === null || anchor === undefined) return null;
  const newest = [...earlier].reverse().find((figures) => amountOf(figures) > 0n);
  const start = distinct([
    anchor,
    ...(target === null ? [] : (newest?.coins ?? []).filter(isKept)),
  ]);
  const others = known.filter(({ id }) => !start.some((coin) => coin.id === id));
  const rates = earlier.map((figures) => ({
    feeSat: figures.feeSat,
    size: sizeOfFigures(figures, scriptBytes),
  }));
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
  return feeAt(satPerKvB, inputSize);
}

const inputSize = sizeOf(2, null, 1) - sizeOf(1, null, 1);

/**
 * The coins of one transaction that takes at most `units` out of an account: the largest first,
 * each if it fits.
 */
export function fittingCoins(coins: readonly Coin[], units: bigint): readonly Coin[] {
  const taken: Coin[] = [];
  let sum = 0n;
  for (const coin of largestFirst(coins)) {
    if (taken.length === coinsPerTransactionMax || sum === units) break;
    if (sum + coin.units > units) continue;
    taken.push(coin);
    sum += coin.units;
  }
  return taken;
}

/** The fee at a rate, never below the least that nodes forward. */
function feeAt(satPerKvB: bigint, size: bigint): bigint {
  return highest([(size * satPerKvB + 999n) / 1000n, size * satPerByteMin]);
}

const nothing: PaidOutput = { scriptBytes: null, units: 0n, isFeeInside: false, leastUnits: 0n };

function paidOf(
  network: UtxoNetwork,
  target: Exclude<PaymentOrCancel, null> | PaymentAmount,
): PaidOutput | null {
  const { amountUnits: units, isFeeInside = false } = target;
  // The amount alone is a replacement's, and its receiver is the one of the attempt before.
  if (!("destination" in target))
    return { scriptBytes: scriptBytesMax, units, isFeeInside, leastUnits: dustOfChange(network) };
  const parsed = parseAddress(target.destination, network);
  if (!parsed.ok) return null;
  const leastUnits = dustOf(parsed.script, network);
  return units < leastUnits
    ? null
    : { scriptBytes: parsed.script.length, units, isFeeInside, leastUnits };
}

/**
 * The fewest coins of `pool`, in its order, that suffice together with those of `start`. A sweep
 * takes coins that make exactly its amount, if there are such. Where change cannot be left out, and
 * no coins make it worth its fetching, it is what nodes accept.
 */
function chosen(
  network: UtxoNetwork,
  start: readonly Coin[],
  pool: readonly Coin[],
  paid: PaidOutput,
  rule: FeeRule,
  isSplit: boolean,
): TxParams | null {
  const exact = paid.isFeeInside ? exactly(start, pool, paid.units) : null;
  if (exact !== null) {
    const figures = withChange(network, exact, paid, rule, { isSplit: false, least: "worth" });
    return figures === null ? null : txParamsOf(figures);
  }
  const isLeftOut = paid.scriptBytes !== null && !paid.isFeeInside;
  for (const least of isLeftOut ? (["worth"] as const) : (["worth", "dust"] as const)) {
    const change = { isSplit: isSplit && !paid.isFeeInside, least };
    for (
      let added = start.length === 0 ? 1 : 0;
      added <= pool.length && start.length + added <= coinsPerTransactionMax;
      added += 1
    ) {
      const figures = withChange(network, [...start, ...pool.slice(0, added)], paid, rule, change);
      if (figures !== null) return txParamsOf(figures);
    }
  }
  return null;
}

/** All of `start`, and coins of `pool`, that make exactly an amount; null without such. */
function exactly(
  start: readonly Coin[],
  pool: readonly Coin[],
  units: bigint,
): readonly Coin[] | null {
  const rest = units - sumOf(start);
  const coins =
    rest < 0n
      ? []
      : [...start, ...fittingCoins(pool, rest).slice(0, coinsPerTransactionMax - start.length)];
  return coins.length > 0 && sumOf(coins) === units ? coins : null;
}

/**
 * The figures with the change that the coins leave. Change that is worth less than a spend of it at
 * the attempt's own rate goes to the fee; a sweep's is kept whole, or there is none. Null if the
 * coins do not suffice.
 */
function withChange(
  network: UtxoNetwork,
  coins: readonly Coin[],
  paid: PaidOutput,
  rule: FeeRule,
  { isSplit, least }: ChangeRule,
): UtxoFigures | null {
  const { scriptBytes, units, isFeeInside, leastUnits } = paid;
  const over = sumOf(coins) - units;
  const sizeWith = (changes: number): bigint => sizeOf(coins.length, scriptBytes, changes);
  const dust = dustOfChange(network);
  const leastAt = (changes: number): bigint => {
    const size = sizeWith(changes);
    return least === "dust" ? dust : highest([dust, (rule(size) * inputSize + size - 1n) / size]);
  };
  const restAt = (changes: number): bigint => over - (isFeeInside ? 0n : rule(sizeWith(changes)));
  const isPaid = (feeSat: bigint): boolean => !isFeeInside || units - feeSat >= leastUnits;
  const half = restAt(2) / 2n;
  if (isSplit && half >= highest([dust * splitDust, leastAt(2)]))
    return { coins, changeSat: [half, restAt(2) - half], feeSat: rule(sizeWith(2)) };
  const [change, feeSat] = [restAt(1), rule(sizeWith(1))];
  if (change >= leastAt(1)) return isPaid(feeSat) ? { coins, changeSat: [change], feeSat } : null;
  const fee = rule(sizeWith(0));
  if (isFeeInside) return over === 0n && isPaid(fee) ? { coins, changeSat: [], feeSat: fee } : null;
  return scriptBytes !== null && over >= fee ? { coins, changeSat: [], feeSat: over } : null;
}

function sumOf(coins: readonly Coin[]): bigint {
  return coins.reduce((sum, { units }) => sum + units, 0n);
}

function sizeOfFigures(figures: UtxoFigures, scriptBytes: number | null): bigint {
  const isCancel = amountOf(figures) === 0n;
  return sizeOf(figures.coins.length, isCancel ? null : scriptBytes, figures.changeSat.length);
}

function largestFirst(coins: readonly Coin[]): readonly Coin[] {
  return [...coins].sort((a, b) =>
    a.units === b.units ? (a.id < b.id ? -1 : 1) : a.units > b.units ? -1 : 1,
  );
}

function distinct(coins: readonly Coin[]): readonly Coin[] {
  return coins.filter(({ id }, place) => coins.findIndex((coin) => coin.id === id) === place);
}

function highest(values: readonly bigint[]): bigint {
  return [...values].sort((a, b) => (a > b ? -1 : 1))[0] ?? 0n;
}
