/**
 * The fees of a Tron payment, and the most that it can cost: the fee limit for energy, bandwidth at
 * the price of a byte, and the activation of a receiver. Offline. Sources: the chain's
 * documentation, "Resource model"; java-tron's BandwidthProcessor, and VMActuator's
 * getAccountEnergyLimitWithFixRatio (the fee limit bounds staked energy as well).
 */

import { shapeFault } from "../../base/shape.ts";
import { formatAmount } from "../../protocol/amount.ts";
import type { OfferBasis, TxParams } from "../family.ts";
import type { TypedFees } from "../offers.ts";
import { nativeDecimal } from "./network.ts";

/** Time that an attempt may wait for a block, from the time of the block from which it was made. */
const lifetimeMs = 300_000n;
/**
 * The fee limit relative to the energy asked for, in quarters. The energy price of a popular
 * contract rises by a fifth at most from one maintenance of the chain to the next
 * (getDynamicEnergyIncreaseFactor).
 */
const energyRoom = { numerator: 5n, denominator: 4n };
/** The longest transfers, in bytes of bandwidth: every number at its largest. */
const bandwidthMax = { coin: 277n, token: 350n };
/** No token transfer takes less energy: two balances are written, 5,000 each (the EVM's SSTORE). */
const energyTokenMin = 10_000n;
/**
 * The lowest limit that a token's transfer may carry: the least energy at the price of 2025, 100
 * sun. With a lower limit the payment runs out of energy, fails, and still costs its limit.
 */
const feeLimitMin = energyTokenMin * 100n;
/**
 * The present price of a byte (getTransactionFee). The signer never counts with a lower price, even
 * if it is given one, but accepts a higher one.
 */
const byteSunKnown = 1_000n;
/**
 * Far above every price that the chain ever had. A higher price is a mistake, and would be counted
 * as spent.
 */
const byteSunMax = 1_000_000n;
/**
 * In TRX. A token's transfer to an account that does not hold the token takes some 130,000 energy:
 * 16.3 TRX with the room above. The cap of 45 allows almost three times today's energy price, and
 * 2,000 allow about 120 such transfers a day.
 */
export const defaultFeeCeilings = { maxFee: "45", maxFeePerDay: "2000" } as const;
const activationSunMax = 100_000_000n;
const energyMax = 1_000_000_000n;
/** The energy of a payment whose bytes are recorded already; the recorded figures count. */
const energyUnknown = 131_000n;
/** All figures are far below 2^128. */
const figureForm = /^(?:0|[1-9][0-9]{0,38})$/;
const names = [
  ...(["refBlockBytes", "refBlockHash", "timestampMs", "expirationMs"] as const),
  ...(["feeLimitSun", "energy", "byteSun", "activationSun"] as const),
];

/**
 * The transaction parameters of this family, as numbers. The first five stand in the bytes.
 * `energy` is the call's energy as the nodes reported it, `byteSun` the price of a byte of
 * bandwidth, `activationSun` the charge for a receiver that is new on chain.
 */
export type TronFigures = Readonly<Record<(typeof names)[number], bigint>>;

/**
 * The fee market at one moment: number modulo 2^16, bytes 8 … 15 of the id and the time of a
 * solidified block; the price of energy, of a byte, and of a new account.
 */
type TronFeeMarket = Readonly<
  Record<
    "refBlockBytes" | "refBlockHash" | "blockMs" | "energySun" | "byteSun" | "activationSun",
    bigint
  >
>;

/**
 * The compute limit is energy. TRX takes none; there the limit says if the receiver's account must
 * be made: 0 or 1.
 */
export const computeLimitOfCoinTransfer = 0n;
export const computeLimitOfActivation = 1n;
export const computeLimitUnknown = energyUnknown;

/** The parameters themselves. @throws JSON_SHAPE if one is missing, unknown or no number */
export function readTxParams(txParams: TxParams): TxParams {
  const isWhole =
    Object.keys(txParams).length === names.length &&
    names.every((name) => figureForm.test(txParams[name] ?? ""));
  if (!isWhole) throw shapeFault("txParams", `must be decimal ${names.join(", ")}`);
  return txParams;
}

/** As `read`, but "" leaves a figure to the program. */
export function readWishedTxParams(txParams: TxParams): TxParams {
  readTxParams(
    Object.fromEntries(Object.entries(txParams).map(([name, figure]) => [name, figure || "0"])),
  );
  return txParams;
}

/**
 * Tron has no fee market. An attempt is made at the chain's own prices, so the operator has no
 * figure to type.
 */
export function readTypedFees(
  options: TypedFees,
):
  | { readonly ok: true; readonly txParams: TxParams }
  | { readonly ok: false; readonly problem: string } {
  const { maxFee, tip, computeLimit, dataFee } = options; // a command has other options in addition
  const isTyped = [maxFee, tip, computeLimit, dataFee].some((option) => option !== undefined);
  const problem =
    "this chain takes no --max-fee, --tip, --compute-limit or --data-fee: an attempt is made by the chain's own prices";
  if (isTyped) return { ok: false, problem };
  return { ok: true, txParams: Object.fromEntries(names.map((name) => [name, ""])) };
}

export function figuresOf(txParams: TxParams): TronFigures {
  return Object.fromEntries(
    names.map((name) => [name, BigInt(txParams[name] ?? "-1")]),
  ) as TronFigures;
}

export function txParamsOf(figures: TronFigures): TxParams {
  return Object.fromEntries(names.map((name) => [name, `${figures[name]}`]));
}

/** The most that an attempt may cost, in sun. */
export function feeMaxOf(txParams: TxParams): bigint {
  const { feeLimitSun, byteSun, activationSun } = figuresOf(txParams);
  const bytes = feeLimitSun === 0n ? bandwidthMax.coin : bandwidthMax.token;
  return feeLimitSun + bytes * (byteSun > byteSunKnown ? byteSun : byteSunKnown) + activationSun;
}

/** The reason why the figures outside the bytes cannot belong to such a payment, or null. */
export function explainUnfitFigures(
  contract: string,
  { energy, byteSun, activationSun }: TronFigures,
): string | null {
  const isCoin = contract === "";
  if (isCoin ? energy !== 0n : energy < 1n || energy > energyMax) return "energy is out of range";
  if (byteSun > byteSunMax) return "byteSun is out of range";
  return activationSun > (isCoin ? activationSunMax : 0n) ? "activationSun is out of range" : null;
}

export function computeLimitOf(txParams: TxParams): bigint {
  const { energy, activationSun } = figuresOf(txParams);
  if (energy !== 0n) return energy;
  return activationSun === 0n ? computeLimitOfCoinTransfer : computeLimitOfActivation;
}

/** The offer of an attempt, valid for five minutes from its block's own time. */
export function firstOffer({
  feeMarket,
  computeLimit,
}: Pick<OfferBasis, "feeMarket" | "computeLimit">): TxParams {
  const { refBlockBytes, refBlockHash, blockMs, energySun, byteSun, activationSun } =
    feeMarket as TronFeeMarket;
  const energy = computeLimit > computeLimitOfActivation ? computeLimit : 0n;
  const { numerator, denominator } = energyRoom;
  return txParamsOf({
    refBlockBytes,
    refBlockHash,
    timestampMs: blockMs,
    expirationMs: blockMs + lifetimeMs,
    feeLimitSun: (energy * energySun * numerator + denominator - 1n) / denominator,
    energy,
    byteSun,
    activationSun: computeLimit === computeLimitOfActivation ? activationSun : 0n,
  });
}

/**
 * The reason why the bytes cannot do their payment for so low a limit, or null. `contract` is ""
 * for TRX.
 */
export function tooLowLimitReason(contract: string, txParams: TxParams): string | null {
  const { feeLimitSun, energy } = figuresOf(txParams);
  if (contract === "") return null;
  if (energy < energyTokenMin) return `energy ${energy}, at least ${energyTokenMin}`;
  return feeLimitSun < feeLimitMin
    ? `fee limit ${trx(feeLimitSun)} TRX, at least ${trx(feeLimitMin)}`
    : null;
}

/** The offer for the operator, as one line. */
export function describeFees(txParams: TxParams): string {
  const { feeLimitSun, energy, activationSun, expirationMs } = figuresOf(txParams);
  const call = energy === 0n ? "no energy" : `energy ${energy}, fee limit ${trx(feeLimitSun)} TRX`;
  const account = activationSun === 0n ? "" : `, ${trx(activationSun)} TRX for a new account`;
  return `${call}${account}, until ${timeOf(expirationMs)}`;
}

/** The offer in rows, next to that of an earlier attempt. */
export function feeRowsOf(
  txParams: TxParams,
  before: TxParams | null,
  beforeName: string,
): readonly (readonly [name: string, text: string])[] {
  const { feeLimitSun, energy, byteSun, activationSun, expirationMs } = figuresOf(txParams);
  const was = (field: keyof TronFigures, text: (value: bigint) => string): string =>
    before === null ? "" : `, ${beforeName} has ${text(figuresOf(before)[field])}`;
  const energyRows: (readonly [string, string])[] =
    energy === 0n
      ? []
      : [
          ["energy", `${energy}${was("energy", String)}`],
          ["fee limit", `${trx(feeLimitSun)} TRX${was("feeLimitSun", (sun) => `${trx(sun)} TRX`)}`],
        ];
  return [
    ...energyRows,
    ["bandwidth", `${trx(byteSun)} TRX a byte${was("byteSun", (sun) => `${trx(sun)} TRX`)}`],
    ...(activationSun === 0n ? [] : [["new account", `${trx(activationSun)} TRX`] as const]),
    ["until", `${timeOf(expirationMs)}${was("expirationMs", timeOf)}`],
  ];
}

function trx(sun: bigint): string {
  return formatAmount(sun, nativeDecimal);
}

/** A time that a date cannot hold is shown as a number. */
function timeOf(ms: bigint): string {
  const at = new Date(Number(ms));
  return Number.isNaN(at.getTime()) ? `${ms} ms` : at.toISOString();
}
