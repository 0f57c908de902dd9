/**
 * The fee market beside an operator's replacement and beside fee caps: offers that blocks take now,
 * and the words about an offer that they do not take. Pure. Source: EIP-1559.
 */
import { formatAmount } from "../../protocol/amount.ts";
import type { FeeMarket, TxParams } from "../family.ts";
import type { MarketView } from "../offers.ts";
import { gweiDecimal } from "./network.ts";

/** In wei per gas. */
export interface FeeOffer {
  readonly fee: bigint;
  readonly tip: bigint;
}

/** Lower offers, each an eighth below the last, are tried if the limits allow no higher one. */
const lowerOffersMax = 64;

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** A figure of the market that is not there is a bug of the caller, and counts as 0. */
const figuresOf = ({ baseFeePerGas = 0n, maxPriorityFeePerGas = 0n }: FeeMarket) => ({
  baseFee: baseFeePerGas,
  usualTip: maxPriorityFeePerGas,
});

/** The market with a least tip that a node named in refusing an attempt. */
export function raiseMarketTip(feeMarket: FeeMarket, least: bigint): FeeMarket {
  const { usualTip } = figuresOf(feeMarket);
  const { maxPriorityFeePerGasHigh: highTip = 0n } = feeMarket;
  return {
    ...feeMarket,
    maxPriorityFeePerGas: larger(usualTip, least),
    maxPriorityFeePerGasHigh: larger(highTip, least),
  };
}

/** Offers above `twice` that fit the market, the highest first. */
export function fittingOffers(
  feeMarket: FeeMarket,
  twice: FeeOffer,
  leastTip: bigint,
): readonly FeeOffer[] {
  const { baseFee, usualTip } = figuresOf(feeMarket);
  const bestTip = larger(twice.tip, usualTip);
  const best = { fee: 2n * baseFee + bestTip, tip: bestTip };
  if (best.fee <= twice.fee) return [{ fee: twice.fee, tip: best.tip }];
  const found = [best];
  const tip = larger(leastTip, usualTip);
  for (let fee = best.fee; fee > twice.fee && found.length <= lowerOffersMax; fee = (fee * 7n) / 8n)
    found.push({ fee, tip });
  return found;
}

/**
 * The part of the base fee in an offer, in eighths: usually twice the base fee. The last one
 * outlives one full block, which raises the base fee by an eighth (EIP-1559).
 */
const offeredEighths = [16n, 14n, 12n, 10n, 9n] as const;

/** The market as an offer of twice its base fee must see it to offer that part. */
export function lowerMarketBaseFee(feeMarket: FeeMarket, step: number): FeeMarket | null {
  const eighths = offeredEighths[step];
  if (eighths === undefined) return null;
  const { baseFee } = figuresOf(feeMarket);
  return { ...feeMarket, baseFeePerGas: (baseFee * eighths + 15n) / 16n };
}

/** The market in words, and the reason why no block takes an offer now. */
export function marketViewOf({ maxFeePerGas = "0" }: TxParams, feeMarket: FeeMarket): MarketView {
  const { baseFee, usualTip } = figuresOf(feeMarket);
  const gwei = (wei: bigint): string => formatAmount(wei, gweiDecimal);
  const now = `base fee ${gwei(baseFee)} gwei per gas, usual tip ${gwei(usualTip)}`;
  const offered = BigInt(maxFeePerGas);
  if (offered >= baseFee) return { now, tooLow: "" };
  const low = `this offer is at most ${gwei(offered)} gwei per gas, and the base fee is ${gwei(baseFee)}`;
  return { now, tooLow: `${low}: no block takes it before the base fee falls below the offer` };
}
