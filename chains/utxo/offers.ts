/**
 * The fees of such a coin behind the interface: offers on a network's market, and an operator's
 * offers on the coins of earlier attempts, whose amounts are proven. The rate is sat per 1,000 vB.
 * Pure. Source: BIP-125.
 */
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import { shapeFault } from "../../base/shape.ts";
import { parseAmount } from "../../protocol/amount.ts";
import type {
  Coin,
  Description,
  FamilyFees,
  FeeBumps,
  FeeMarket,
  PricedAttempt,
  TxParams,
} from "../family.ts";
import type { TypedFees } from "../offers.ts";
import { parseAddress } from "./address.ts";
import { firstOffer, firstOfferWithMerging, replacementOffer } from "./fees.ts";
import { type NativeCoin, nativeDecimal, networkOf, type UtxoNetwork } from "./network.ts";
import { dustOf, sizeOf } from "./size.ts";
import { amountOf, coinTexts, feeMaxOf, figuresOf, readCoin, readTxParams } from "./tx-params.ts";

/*
 * The fees of such a coin in words: as an operator types them, and as `show`, `replace` and
 * `cancel` print them. Pure.
 */

/** Decimals of a rate in sat for a byte, which is named in sat for 1,000 bytes. */
const rateDecimal = 3;
/** Scripts of nearly all addresses; their lengths differ by 12 bytes at most. */
const usualScriptBytes = 22;

function typed({ maxFee, tip, computeLimit, dataFee }: TypedFees): ReturnType<FamilyFees["typed"]> {
  if ([tip, computeLimit, dataFee].some((option) => option !== undefined))
    return {
      ok: false,
      problem: "this chain takes --max-fee alone, in sat for a byte, such as 12.5",
    };
  if (maxFee === undefined) return { ok: true, txParams: { satPerKvB: "" } };
  const parsed = parseAmount(maxFee, rateDecimal);
  return parsed.ok
    ? { ok: true, txParams: { satPerKvB: `${parsed.units}` } }
    : { ok: false, problem: "--max-fee must be sat for a byte, such as 12.5" };
}

/** The rate of an attempt, in sat for 1,000 virtual bytes. */
function rateOf(txParams: TxParams): bigint {
  const figures = figuresOf(txParams);
  const scriptBytes = amountOf(figures) === 0n ? null : usualScriptBytes;
  return (
    (figures.feeSat * 1000n) / sizeOf(figures.coins.length, scriptBytes, figures.changeSat.length)
  );
}

function saySatPerByte(satPerKvB: bigint): string {
  const tenths = satPerKvB / 100n;
  return `${tenths / 10n}.${tenths % 10n} sat for a byte`;
}

function say(txParams: TxParams): string {
  const { coins, feeSat } = figuresOf(txParams);
  return `fee ${feeSat} sat, about ${saySatPerByte(rateOf(txParams))}, of ${coins.length} coin${coins.length === 1 ? "" : "s"}`;
}

function rows(
  txParams: TxParams,
  before: TxParams | null,
  beforeName: string,
): readonly (readonly [name: string, text: string])[] {
  const { coins, changeSat, feeSat } = figuresOf(txParams);
  const was = before === null ? "" : `, ${beforeName} has ${figuresOf(before).feeSat} sat`;
  return [
    ["coins", coins.map(({ id, units }) => `${units} sat of ${id}`).join(", ")],
    ["change", changeSat.length === 0 ? "none" : `${changeSat.join(" and ")} sat`],
    ["fee", `${feeSat} sat, about ${saySatPerByte(rateOf(txParams))}${was}`],
  ];
}

/** The least rate that nodes forward, and the room of an operator's first offer. */
const satPerKvBMin = 1_000n;
const manualRaises = [2n, 1n] as const;
/** Rates offered below the market's, in eighths of it; the last is a quarter. */
const loweredSteps = 6;
const rateForm = /^(?:|[1-9][0-9]{0,12})$/;

export function utxoFeesOf(coin: NativeCoin): FamilyFees {
  const [main] = coin.networks as readonly [UtxoNetwork];
  return {
    decimal: nativeDecimal,
    tipDecimal: 0,
    tipUnit: "",
    tipMax: "0",
    ceilings: coin.ceilings,
    computeLimitMin: 1n,
    computeLimitUnknown: 1n,
    read: readTxParams,
    readWish,
    typed,
    most: feeMaxOf,
    tipOf: () => 0n,
    computeLimitOf: () => 1n,
    first: ({ feeMarket, coins, owed = [] }, wanted) => {
      const network = networkOf(wanted.network);
      if (network === null) return null;
      // A lower offer has to fit a limit of the signer, so it pays for no coins beside its own.
      const offer = feeMarket.othersMost === 0n ? firstOffer : firstOfferWithMerging;
      return offer(network, { satPerKvB: satPerKvBOf(feeMarket), coins, owed }, wanted);
    },
    bidding: biddingOf(main),
    tooLittle,
    unbounded: () => null,
    say,
    rows,
  };
}

/**
 * The parameters are the offer, and the signer judges their coins. Nodes take a higher fee alone,
 * and the same bytes again would be no attempt: no gateway takes one hash for two.
 * @throws AgentError TRANSACTION_FIELD if an earlier attempt cost as much
 */
function outbidding(attempts: readonly Pick<PricedAttempt, "feeMax">[], asked: TxParams): TxParams {
  const offered = feeMaxOf(asked);
  const before = attempts.find(({ feeMax }) => BigInt(feeMax) >= offered);
  if (before === undefined) return asked;
  throw new AgentError(
    "TRANSACTION_FIELD",
    "none",
    `an earlier attempt costs ${before.feeMax} sat, and this one ${offered}`,
  );
}

function biddingOf(main: UtxoNetwork): FeeBumps {
  return {
    isReplaced: main.isReplaced,
    replacement: outbidding,
    replacementAt: ({ feeMarket, coins }, wanted, attempts) => {
      const network = networkOf(wanted.network);
      const pin = pinIn(attempts);
      if (network === null || pin === null) return null;
      const target = attempts.at(-1)?.isCancel === true ? null : wanted;
      const isFree = coins.some(({ id }) => id === pin.id);
      // Nodes leave the anchor out of the account's coins while an attempt spends it.
      const market = { satPerKvB: satPerKvBOf(feeMarket), coins: isFree ? coins : [pin, ...coins] };
      return replacementOffer(network, market, target, attempts, pin.id, isFree);
    },
    named: (feeMarket, least, refused) => {
      const { feeSat } = figuresOf(refused);
      // A thousandth more, since the size of the next attempt differs by a byte or two.
      const asked = feeSat === 0n ? 0n : ceilingOf(rateOf(refused) * least * 1001n, feeSat * 1000n);
      return { ...feeMarket, satPerKvB: higher(satPerKvBOf(feeMarket), asked) };
    },
    lowered: (feeMarket, step) => {
      if (step === 0) return feeMarket;
      const { satPerKvB = 0n } = feeMarket;
      return step > loweredSteps
        ? null
        : { satPerKvB: higher((satPerKvB * BigInt(8 - step)) / 8n, satPerKvBMin), othersMost: 0n };
    },
    leastTip: () => 0n,
    manualReplacement: (attempts, isCancel, wish, feeMarket = null, isFeeInside = false) =>
      manual(main, attempts, { isCancel, isFeeInside }, wish, feeMarket),
    beside: (txParams, feeMarket) => {
      const [own, asked] = [rateOf(txParams), satPerKvBOf(feeMarket)];
      const now = `nodes ask ${saySatPerByte(asked)} for the next three blocks`;
      return {
        now,
        tooLow: own * 2n < asked ? `${saySatPerByte(own)} is less than half of it` : "",
      };
    },
  };
}

/**
 * Offers with the coins of earlier attempts: at the market if it asks for more, at twice the rate
 * of the newest, and at the least that nodes accept. A cancel needs the pin alone, so it is offered
 * also when the gateway described an attempt; nodes compare it with the highest fee of them all.
 */
function manual(
  network: UtxoNetwork,
  attempts: readonly PricedAttempt[],
  { isCancel, isFeeInside }: { readonly isCancel: boolean; readonly isFeeInside: boolean },
  wish: TxParams,
  feeMarket: FeeMarket | null,
): ReturnType<FeeBumps["manualReplacement"]> {
  if (wish.coins !== undefined) return { ok: true, txParams: [wish] };
  const known = attempts.flatMap(({ txParams }) => (txParams === null ? [] : [txParams]));
  const newest = known.at(-1);
  const pin = pinIn(attempts);
  if (pin === null || (!isCancel && known.length !== attempts.length)) return unknownCoins;
  const paying = [...known]
    .reverse()
    .map(figuresOf)
    .find((figures) => amountOf(figures) > 0n);
  if (!isCancel && paying === undefined)
    return refuse("REPLACEMENT_FEES", "no earlier attempt pays");
  const amountUnits =
    paying === undefined ? 0n : amountOf(paying) + (isFeeInside ? paying.feeSat : 0n);
  const target = isCancel ? null : { amountUnits, isFeeInside };
  const own = newest === undefined ? satPerKvBMin : rateOf(newest);
  const asked = feeMarket === null ? 0n : satPerKvBOf(feeMarket);
  const rates = wish.satPerKvB
    ? [BigInt(wish.satPerKvB)]
    : [...(asked > own ? [asked] : []), ...manualRaises.map((by) => own * by)];
  const offers = rates.map((satPerKvB) =>
    replacementOffer(
      network,
      { satPerKvB, coins: isCancel ? [pin] : [] },
      target,
      attempts,
      pin.id,
    ),
  );
  const found = offers.filter((offer) => offer !== null);
  return found.length === 0
    ? refuse("REPLACEMENT_FEES", "the coins of the earlier attempts do not cover a higher fee")
    : { ok: true, txParams: found };
}

const unknownCoins: Refusal = refuse(
  "REPLACEMENT_FEES",
  "the coins of an earlier attempt are not known here",
);

/** The anchor; null if no attempt names it. */
function pinIn(attempts: readonly PricedAttempt[]): Coin | null {
  const texts = attempts.map(({ txParams, pin = "" }) =>
    txParams === null ? pin : coinTexts(txParams)[0],
  );
  return texts.map(readCoin).find((coin) => coin !== null) ?? null;
}

/** A rate that an operator names, "" for none. @throws JSON_SHAPE */
function readWish(wish: TxParams): TxParams {
  const { satPerKvB } = wish;
  if (Object.keys(wish).length !== 1 || satPerKvB === undefined || !rateForm.test(satPerKvB))
    throw shapeFault("txParams", "must be satPerKvB, or nothing in it");
  return wish;
}

/** Nodes forward no output that costs more than it is worth. */
function tooLittle({ network: id, destination, amountUnits }: Description): string | null {
  const network = networkOf(id);
  const parsed = network === null ? null : parseAddress(destination, network);
  if (network === null || parsed === null || !parsed.ok || amountUnits === 0n) return null;
  const least = dustOf(parsed.script, network);
  return amountUnits < least ? `${amountUnits} sat, at least ${least}` : null;
}

function satPerKvBOf({ satPerKvB = 0n }: FeeMarket): bigint {
  return higher(satPerKvB, satPerKvBMin);
}

function ceilingOf(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}

function higher(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
