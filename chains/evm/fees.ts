/**
 * The fees of an EVM payment: the first offer, the rule for a replacement, and the amounts of the
 * fee caps. Offline. Sources: EIP-1559 (both fees, the base fee's step); geth's and Reth's mempools
 * for replacements (a tenth more, both fees).
 */

import { type Refusal, refuse } from "../../base/fault.ts";
import { shapeFault } from "../../base/shape.ts";
import type {
  ConfiguredChain,
  Description,
  FamilyFees,
  FeeMarket,
  OfferBasis,
  PaymentTerms,
  PricedAttempt,
  TxParams,
} from "../family.ts";
import { feeModelOf } from "./fee-model.ts";
import { describeFees, feeRowsOf, readTypedFees } from "./fee-words.ts";
import { gasFloorOf, gasOfPlainTransfer } from "./gas.ts";
import {
  fittingOffers,
  lowerMarketBaseFee,
  marketViewOf,
  raiseMarketTip,
} from "./market-offers.ts";
import { gweiDecimal, nativeDecimal } from "./network.ts";

/** Nodes take a replacement from 10 % on (both fees); an eighth leaves room for their rounding. */
const raiseNumerator = 9n;
const raiseDenominator = 8n;
/**
 * The tip may always rise at least this far; above it, the tip stops following the higher figure of
 * the nodes.
 */
const tipStepWei = 1_000_000_000n;
/**
 * Above the tips that blocks asked for a plain payment in the worst hours of Ethereum. Other chains
 * ask for less, or a configuration sets its own value.
 */
const tipMaxGwei = "50";
/** The gas of a payment whose bytes are recorded already; the recorded figures count. */
const gasUnknown = 100_000n;
/** Fees and gas are far below 2^128; a number with more digits is invalid. */
const counterForm = /^(?:0|[1-9][0-9]{0,38})$/;
const fieldNames = ["gasLimit", "maxFeePerGas", "maxPriorityFeePerGas"] as const;
/**
 * Figures that stand in no byte of the transaction, each on only one kind of rollup. `dataFee` is
 * the most in wei that the chain may bill for data in addition to the gas, `cancelGas` the gas that
 * a cancel would take.
 */
const besideNames = ["dataFee", "cancelGas"] as const;

/** Transaction parameters of this family: decimal strings, gas and wei per gas. */
type EvmTxParams = Readonly<Record<(typeof fieldNames)[number], string>> &
  Readonly<Partial<Record<(typeof besideNames)[number], string>>>;

/**
 * The figures of `FeeMarket` in wei per gas; of the tips, the lowest and the highest suggestion of
 * the nodes. The two figures of rollups stand here as in the parameters.
 */
type EvmFeeMarket = Readonly<
  Record<"baseFeePerGas" | "maxPriorityFeePerGas" | "maxPriorityFeePerGasHigh", bigint>
> &
  Readonly<Partial<Record<(typeof besideNames)[number], bigint>>>;

/** Parameters of an attempt of which a recovery offer gave only the total fee. */
const unknownTxParams: EvmTxParams = {
  gasLimit: "0",
  maxFeePerGas: "0",
  maxPriorityFeePerGas: "0",
};

export const evmFees: FamilyFees = {
  decimal: nativeDecimal,
  tipDecimal: gweiDecimal,
  tipUnit: "gwei",
  tipMax: tipMaxGwei,
  ceilings: { maxFee: "0.01", maxFeePerDay: "0.2" },
  computeLimitMin: gasOfPlainTransfer,
  computeLimitUnknown: gasUnknown,
  read: (txParams) => read(txParams, counterForm),
  readWish: (txParams) => read(txParams, /^(?:|0|[1-9][0-9]{0,38})$/),
  typed: readTypedFees,
  most: (txParams) =>
    BigInt(evm(txParams).gasLimit) * BigInt(evm(txParams).maxFeePerGas) +
    separateUnsignedFees(txParams).dataFeeWei,
  tipOf: (txParams) => BigInt(evm(txParams).maxPriorityFeePerGas),
  computeLimitOf: (txParams) => BigInt(evm(txParams).gasLimit),
  first: firstOffer,
  bidding: {
    isReplaced: true,
    replacement,
    replacementAt,
    leastTip,
    named: raiseMarketTip,
    manualReplacement,
    lowered: lowerMarketBaseFee,
    beside: marketViewOf,
  },
  tooLittle,
  unbounded,
  say: describeFees,
  rows: feeRowsOf,
};

function evm(txParams: TxParams): EvmTxParams {
  return txParams as EvmTxParams;
}

function known({ txParams }: PricedAttempt): EvmTxParams {
  return txParams === null ? unknownTxParams : evm(txParams);
}

/** The parameters that stand in no byte of the transaction, separated from the others. */
export function separateUnsignedFees(txParams: TxParams): {
  readonly txParams: TxParams;
  readonly dataFeeWei: bigint;
} {
  const { dataFee, cancelGas } = evm(txParams);
  const beside = {
    ...(dataFee === undefined ? {} : { dataFee }),
    ...(cancelGas === undefined ? {} : { cancelGas }),
  };
  return { txParams: beside, dataFeeWei: BigInt(dataFee || 0) };
}

function read(txParams: TxParams, form: RegExp): TxParams {
  const beside = besideNames.filter((name) => txParams[name] !== undefined);
  const names = [...fieldNames, ...beside];
  const isWhole =
    Object.keys(txParams).length === names.length &&
    names.every((name) => form.test(txParams[name] ?? "-"));
  if (!isWhole) throw shapeFault("txParams", `must be decimal ${fieldNames.join(", ")}`);
  return txParams;
}

/** Twice the base fee lasts through six full blocks (EIP-1559: each may raise it by an eighth). */
export function firstOffer({
  feeMarket,
  computeLimit,
}: Pick<OfferBasis, "feeMarket" | "computeLimit">): TxParams {
  const market = feeMarket as EvmFeeMarket;
  return {
    ...txParamsOf(computeLimit, marketFee(market), market.maxPriorityFeePerGas),
    ...besideOf(market),
  };
}

function besideOf({ dataFee, cancelGas }: EvmFeeMarket): TxParams {
  return {
    ...(dataFee === undefined ? {} : { dataFee: `${dataFee}` }),
    ...(cancelGas === undefined ? {} : { cancelGas: `${cancelGas}` }),
  };
}

function marketFee({ baseFeePerGas, maxPriorityFeePerGas }: EvmFeeMarket): bigint {
  return 2n * baseFeePerGas + maxPriorityFeePerGas;
}

/**
 * Raises both fees by at least an eighth; the maximum fee covers the tip. A cancel keeps its gas,
 * or takes the gas that the chain asks for a cancel now. The data fee is no offer: the higher
 * figure counts, because only one attempt of them all gets into a block.
 */
function replacement(
  attempts: readonly PricedAttempt[],
  asked: TxParams,
  isCancel: boolean,
): TxParams {
  const newest = attempts.at(-1);
  const before = newest === undefined ? unknownTxParams : known(newest);
  const wanted = evm(asked);
  const tip = larger(
    BigInt(wanted.maxPriorityFeePerGas),
    raise(BigInt(before.maxPriorityFeePerGas)),
  );
  const fee = larger(BigInt(wanted.maxFeePerGas), raise(BigInt(before.maxFeePerGas)));
  const beside = highestBeside([...attempts.map(known), wanted]);
  const gas = isCancel
    ? larger(gasOfCancel(before), BigInt(beside.cancelGas ?? 0))
    : BigInt(wanted.gasLimit);
  return aboveTold(attempts, { ...txParamsOf(gas, larger(fee, tip), tip), ...beside });
}

function gasOfCancel({ gasLimit }: EvmTxParams): bigint {
  return gasLimit === "0" ? gasOfPlainTransfer : BigInt(gasLimit);
}

function highestBeside(
  all: readonly EvmTxParams[],
): Readonly<Partial<Record<(typeof besideNames)[number], string>>> {
  const named = besideNames.map((name) => {
    const figures = all.flatMap((txParams) => (txParams[name] ? [BigInt(txParams[name])] : []));
    return figures.length === 0 ? {} : { [name]: `${figures.reduce(larger)}` };
  });
  return Object.assign({}, ...named);
}

function replacementAt(
  { feeMarket, computeLimit }: OfferBasis,
  _wanted: PaymentTerms,
  attempts: readonly PricedAttempt[],
  attempt: number,
  isTipLow: boolean,
): TxParams {
  const market = feeMarket as EvmFeeMarket;
  const tip = larger(market.maxPriorityFeePerGas, isTipLow ? 0n : steppedTip(market, attempt));
  return replacement(
    attempts,
    { ...txParamsOf(computeLimit, marketFee(market), tip), ...besideOf(market) },
    false,
  );
}

/**
 * Chooses the tip of an attempt between the two figures of the nodes. The lower tip is offered
 * first, but it may be the false one, and then no block takes the payment. So with each attempt the
 * tip comes nearer to the higher figure, by a step that grows fourfold. The step stays at or below
 * the base fee or a gwei, the larger of the two, because the higher figure may be the false one.
 */
function steppedTip(
  { baseFeePerGas, maxPriorityFeePerGasHigh }: EvmFeeMarket,
  attempt: number,
): bigint {
  const step = larger(baseFeePerGas, tipStepWei) >> BigInt(2 * Math.max(0, 4 - attempt));
  if (step < maxPriorityFeePerGasHigh) return step;
  return maxPriorityFeePerGasHigh;
}

/**
 * An operator's own figures may be below a total that a recovery told: nobody may have the bytes of
 * that attempt any more, and its total may be at the fee caps. The new bytes only have to differ.
 */
function unlikeTold(attempts: readonly PricedAttempt[], txParams: TxParams): TxParams {
  const told = new Set(
    attempts.flatMap(({ txParams: own, feeMax }) => (own === null ? [BigInt(feeMax)] : [])),
  );
  const { gasLimit, maxFeePerGas } = evm(txParams);
  let fee = BigInt(maxFeePerGas);
  while (told.has(BigInt(gasLimit) * fee)) fee += 1n;
  return { ...txParams, maxFeePerGas: `${fee}` };
}

/**
 * For an attempt from the gateway only the total fee is known. The next attempt offers an eighth
 * more than that total for its own gas. So nodes accept it as a replacement, and its bytes always
 * differ from the other's.
 */
function aboveTold(attempts: readonly PricedAttempt[], txParams: TxParams): TxParams {
  const told = attempts.flatMap(({ txParams: own, feeMax }) =>
    own === null ? [BigInt(feeMax)] : [],
  );
  const { gasLimit, maxFeePerGas } = evm(txParams);
  const [gas, most] = [BigInt(gasLimit), told.reduce(larger, 0n)];
  if (most === 0n || gas === 0n) return txParams;
  const floor = raise((most + gas - 1n) / gas);
  return { ...txParams, maxFeePerGas: larger(BigInt(maxFeePerGas), floor).toString() };
}

function leastTip(attempts: readonly PricedAttempt[]): bigint {
  const most = mostOf(attempts, "maxPriorityFeePerGas");
  return most === 0n ? 0n : raise(most);
}

/**
 * A node takes a replacement only if both fees rise. Tries an offer first that the fee market takes
 * and that is at least twice the highest fee, then lower ones down to twice the highest fee, then
 * the least that nodes ask for.
 */
function manualReplacement(
  attempts: readonly PricedAttempt[],
  isCancel: boolean,
  wished: TxParams,
  feeMarket: FeeMarket | null = null,
): { readonly ok: true; readonly txParams: readonly TxParams[] } | Refusal {
  const newest = attempts.at(-1);
  const wish = evm(wished);
  const [fee, tip] = [mostOf(attempts, "maxFeePerGas"), mostOf(attempts, "maxPriorityFeePerGas")];
  const isKnown = attempts.every(({ txParams }) => txParams !== null);
  const isNamed = wish.maxFeePerGas !== "" && wish.maxPriorityFeePerGas !== "";
  // A recovered ledger keeps slots on which nothing is signed yet.
  if (newest === undefined && !isNamed)
    return refuse("REPLACEMENT_FEES", "nothing was signed on this nonce yet");
  // For an attempt that a recovery took over only the hash and the highest fee are known.
  if (!isKnown && !isNamed)
    return refuse("REPLACEMENT_FEES", "the fees of an earlier attempt are not known here");
  const own = newest === undefined ? "0" : known(newest).gasLimit;
  const { dataFee, ...beside } = highestBeside(attempts.map(known));
  const cancelGas = beside.cancelGas ?? `${gasOfPlainTransfer}`;
  const gasLimit = wish.gasLimit || (isCancel ? cancelGas : own);
  if (gasLimit === "0")
    return refuse("REPLACEMENT_FEES", "the gas of an earlier attempt is not known here");
  const isOut = attempts.some(({ txHash }) => txHash !== "");
  const least = { fee: isOut ? raise(fee) : 1n, tip: isOut ? raise(tip) : 0n };
  const given = {
    fee: BigInt(wish.maxFeePerGas || 0),
    tip: BigInt(wish.maxPriorityFeePerGas || 0),
  };
  if (
    (wish.maxFeePerGas !== "" && given.fee < least.fee) ||
    (wish.maxPriorityFeePerGas !== "" && given.tip < least.tip)
  )
    return refuse(
      "REPLACEMENT_FEES",
      `nodes ask at least ${least.fee} wei per gas and a tip of ${least.tip}`,
    );
  const named = (dearFee: bigint, dearTip: bigint): TxParams => {
    const maxPriorityFeePerGas = wish.maxPriorityFeePerGas || `${dearTip}`;
    const atLeastTip = larger(dearFee, BigInt(maxPriorityFeePerGas));
    const offer = {
      gasLimit,
      maxFeePerGas: wish.maxFeePerGas || `${atLeastTip}`,
      maxPriorityFeePerGas,
    };
    const data = wish.dataFee || dataFee;
    if (isNamed && data === undefined) return unlikeTold(attempts, { ...offer, ...beside });
    return aboveTold(attempts, {
      ...offer,
      ...beside,
      ...(data === undefined ? {} : { dataFee: data }),
    });
  };
  const twice = { fee: 2n * fee + 1n, tip: 2n * tip + 1n };
  const fitting =
    feeMarket === null ? [] : fittingOffers(feeMarket as EvmFeeMarket, twice, least.tip);
  return {
    ok: true,
    txParams: [...fitting, twice, least].map((offer) => named(offer.fee, offer.tip)),
  };
}

/** An attempt with less gas would fail on chain, or no block would take it. */
function tooLittle({ txParams, contract, destination, amountUnits }: Description): string | null {
  const floor = gasFloorOf({ contract, destination, amountUnits });
  const { gasLimit } = evm(txParams);
  return BigInt(gasLimit) >= floor ? null : `${gasLimit} gas, at least ${floor}`;
}

/**
 * On a chain that bills data in addition to the gas, an attempt without a figure for this fee has
 * no fee cap.
 */
function unbounded(chain: ConfiguredChain, txParams: TxParams): string | null {
  if (feeModelOf(chain) !== "op-stack" || evm(txParams).dataFee !== undefined) return null;
  return "nothing says what the chain may bill for data";
}

/** Rounds up, and raises by at least one: nodes want both fees strictly higher, even from zero. */
function raise(fee: bigint): bigint {
  return larger((fee * raiseNumerator + raiseDenominator - 1n) / raiseDenominator, fee + 1n);
}

function mostOf(
  attempts: readonly PricedAttempt[],
  field: "maxFeePerGas" | "maxPriorityFeePerGas",
): bigint {
  return attempts.reduce((found, attempt) => larger(found, BigInt(known(attempt)[field])), 0n);
}

function txParamsOf(gas: bigint, fee: bigint, tip: bigint): TxParams {
  return { gasLimit: `${gas}`, maxFeePerGas: `${fee}`, maxPriorityFeePerGas: `${tip}` };
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
