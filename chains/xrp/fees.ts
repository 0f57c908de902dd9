/**
 * The fees of a payment of XRP: the first offer, and the rule for a replacement. The fee of a
 * transaction is what it names, no more and no less. Offline. Sources: xrpl.org, "Transaction
 * cost", "Transaction queue" (a replacement pays more than 1.25 times as much), "Reliable
 * transaction submission".
 */
import { type Refusal, refuse } from "../../base/fault.ts";
import { shapeFault } from "../../base/shape.ts";
import type {
  FamilyFees,
  FeeMarket,
  OfferBasis,
  PaymentTerms,
  PricedAttempt,
  TxParams,
} from "../family.ts";
import { describeFees, feeRowsOf, marketViewOf, readTypedFees } from "./fee-words.ts";
import { nativeDecimal } from "./network.ts";

/**
 * An attempt may wait for so many ledgers, some 75 seconds. The end of its time excludes nothing.
 */
const ledgersToWait = 20n;
/** The cost of a payment when there is room: the ledger's own, which votes may change. */
const feeDropsMin = 10n;
/** Fees offered below the market's, in eighths of it; the last is a quarter. */
const loweredSteps = 6;
const form = /^[1-9][0-9]{0,17}$/;
const wishForm = /^(?:|[1-9][0-9]{0,17})$/;
const names = ["feeDrops", "lastLedger"] as const;

/** `lastLedger` is the number of the last ledger that may take the attempt. */
export type XrpFigures = Readonly<Record<(typeof names)[number], bigint>>;

/** The fee that the nodes ask, and the newest validated ledger. */
type XrpFeeMarket = Readonly<Record<"feeDrops" | "ledger", bigint>>;

export const xrpFees: FamilyFees = {
  decimal: nativeDecimal,
  tipDecimal: 0,
  tipUnit: "",
  tipMax: "0",
  ceilings: { maxFee: "0.01", maxFeePerDay: "1" },
  computeLimitMin: 1n,
  computeLimitUnknown: 1n,
  read: (txParams) => read(txParams, form),
  readWish: (txParams) => read(txParams, wishForm),
  typed: readTypedFees,
  most: (txParams) => figuresOf(txParams).feeDrops,
  tipOf: () => 0n,
  computeLimitOf: () => 1n,
  first: ({ feeMarket }) => offerOf(feeMarket),
  bidding: {
    isReplaced: true,
    replacement,
    replacementAt,
    leastTip: () => 0n,
    manualReplacement,
    lowered,
    beside: marketViewOf,
  },
  tooLittle: ({ txParams }) => {
    const { feeDrops } = figuresOf(txParams);
    return feeDrops < feeDropsMin ? `fee ${feeDrops} drops, at least ${feeDropsMin}` : null;
  },
  unbounded: () => null,
  say: describeFees,
  rows: feeRowsOf,
};

/** The parameters as numbers. @throws JSON_SHAPE */
export function figuresOf(txParams: TxParams): XrpFigures {
  const { feeDrops = "", lastLedger = "" } = read(txParams, form);
  return { feeDrops: BigInt(feeDrops), lastLedger: BigInt(lastLedger) };
}

export function txParamsOf({ feeDrops, lastLedger }: XrpFigures): TxParams {
  return { feeDrops: `${feeDrops}`, lastLedger: `${lastLedger}` };
}

function read(txParams: TxParams, figure: RegExp): TxParams {
  const isWhole =
    Object.keys(txParams).length === names.length &&
    names.every((name) => figure.test(txParams[name] ?? "-"));
  if (!isWhole) throw shapeFault("txParams", `must be decimal ${names.join(", ")}`);
  return txParams;
}

function offerOf(feeMarket: FeeMarket): TxParams {
  const { feeDrops, ledger } = feeMarket as XrpFeeMarket;
  return txParamsOf({
    feeDrops: larger(feeDrops, feeDropsMin),
    lastLedger: ledger + ledgersToWait,
  });
}

/** A fee that a queue takes in place of those in it, and an end at or after all earlier ones. */
function replacement(attempts: readonly PricedAttempt[], asked: TxParams): TxParams {
  const wanted = figuresOf(asked);
  return txParamsOf({
    feeDrops: larger(wanted.feeDrops, leastFeeOf(attempts, wanted.lastLedger)),
    lastLedger: larger(wanted.lastLedger, lastLedgerOf(attempts)),
  });
}

function replacementAt(
  { feeMarket }: OfferBasis,
  _wanted: PaymentTerms,
  attempts: readonly PricedAttempt[],
): TxParams {
  return replacement(attempts, offerOf(feeMarket));
}

/**
 * Offers at the market and at twice the highest fee, and then the least that is taken. Without
 * a fee market the end is the newest attempt's, which may have passed.
 */
function manualReplacement(
  attempts: readonly PricedAttempt[],
  _isCancel: boolean,
  wish: TxParams,
  feeMarket: FeeMarket | null = null,
): { readonly ok: true; readonly txParams: readonly TxParams[] } | Refusal {
  const market = feeMarket === null ? null : figuresOf(offerOf(feeMarket));
  const end = wish.lastLedger
    ? BigInt(wish.lastLedger)
    : larger(market?.lastLedger ?? 0n, lastLedgerOf(attempts));
  if (end === 0n) return refuse("REPLACEMENT_FEES", "no node says which ledger is the newest");
  const least = leastFeeOf(attempts, end);
  if (wish.feeDrops && BigInt(wish.feeDrops) < least)
    return refuse("REPLACEMENT_FEES", `nodes ask at least ${least} drops for a replacement`);
  const twice = 2n * highestFeeOf(attempts);
  const offers = wish.feeDrops
    ? [BigInt(wish.feeDrops)]
    : [larger(market?.feeDrops ?? 0n, twice), twice, market?.feeDrops ?? least, least].filter(
        (fee, place, all) => fee >= least && all.indexOf(fee) === place,
      );
  return {
    ok: true,
    txParams: offers.map((feeDrops) => txParamsOf({ feeDrops, lastLedger: end })),
  };
}

/** Lower offers wait in the queue for as long as the fee of the open ledger is above them. */
function lowered(feeMarket: FeeMarket, step: number): FeeMarket | null {
  const { feeDrops, ledger } = feeMarket as XrpFeeMarket;
  return step > loweredSteps
    ? null
    : { feeDrops: larger((feeDrops * BigInt(8 - step)) / 8n, feeDropsMin), ledger };
}

/**
 * More than a quarter above the highest fee so far; the ledger's own cost on a new slot, and where
 * an end that is offered now lies so far behind the earlier ones that no queue holds these any
 * more.
 */
function leastFeeOf(attempts: readonly PricedAttempt[], lastLedger: bigint): bigint {
  const highest = highestFeeOf(attempts);
  const isKnown = attempts.every(({ txParams }) => txParams !== null);
  const isPast = isKnown && lastLedger - ledgersToWait > lastLedgerOf(attempts);
  return highest === 0n || isPast ? feeDropsMin : (highest * 5n) / 4n + 1n;
}

/** The fee alone is known of an attempt from the gateway, and it is the whole cost. */
function highestFeeOf(attempts: readonly PricedAttempt[]): bigint {
  return attempts.reduce((most, { feeMax }) => larger(most, BigInt(feeMax)), 0n);
}

function lastLedgerOf(attempts: readonly PricedAttempt[]): bigint {
  return attempts.reduce(
    (last, { txParams }) =>
      txParams === null ? last : larger(last, figuresOf(txParams).lastLedger),
    0n,
  );
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
