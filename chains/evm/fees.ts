/**
 * The fees of an EVM payment: the first offer, the rule for a replacement, and the amounts of the
 * fee caps. Offline. Sources: EIP-1559 (both fees, the base fee's step); geth's and Reth's mempools
 * for replacements (a tenth more, both fees).
 */

import { type Refusal, refuse } from "../../base/fault.ts";
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import { shapeFault } from "../../protocol/shape.ts";
import type { ConfiguredChain, Description, Facts, Fees, Price, PricedVersion, TypedFees } from "../family.ts";
import { feeModelOf } from "./fee-model.ts";
import { gasFloorOf, gasPlain } from "./gas.ts";
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
type EvmFacts = Readonly<Record<(typeof fieldNames)[number], string>> &
  Readonly<Partial<Record<(typeof besideNames)[number], string>>>;

/**
 * The figures of `Price` in wei per gas; of the tips, the lowest and the highest suggestion of the
 * nodes. The two figures of rollups stand here as in the facts.
 */
type EvmPrice = Readonly<Record<"baseFeePerGas" | "maxPriorityFeePerGas" | "maxPriorityFeePerGasHigh", bigint>> &
  Readonly<Partial<Record<(typeof besideNames)[number], bigint>>>;

/** Parameters of an attempt of which a recovery order gave only the total fee. */
const unknownFacts: EvmFacts = { gasLimit: "0", maxFeePerGas: "0", maxPriorityFeePerGas: "0" };

export const fees: Fees = {
  decimal: nativeDecimal,
  tipDecimal: gweiDecimal,
  tipUnit: "gwei",
  tipMax: tipMaxGwei,
  ceilings: { maxFee: "0.01", maxFeePerDay: "0.2" },
  workMin: gasPlain,
  workUnknown: gasUnknown,
  read: (facts) => read(facts, counterForm),
  readWish: (facts) => read(facts, /^(?:|0|[1-9][0-9]{0,38})$/),
  typed,
  most: (facts) => BigInt(evm(facts).gasLimit) * BigInt(evm(facts).maxFeePerGas) + feesBeside(facts).dataFeeWei,
  tipOf: (facts) => BigInt(evm(facts).maxPriorityFeePerGas),
  workOf: (facts) => BigInt(evm(facts).gasLimit),
  first,
  bidding: { dearer, dearerAt, leastTip, unstick },
  tooLittle,
  unbounded,
  say,
  rows,
};

function evm(facts: Facts): EvmFacts {
  return facts as EvmFacts;
}

function known({ facts }: PricedVersion): EvmFacts {
  return facts === null ? unknownFacts : evm(facts);
}

/** The parameters that stand in no byte of the transaction, separated from the others. */
export function feesBeside(facts: Facts): { readonly facts: Facts; readonly dataFeeWei: bigint } {
  const { dataFee, cancelGas } = evm(facts);
  const beside = { ...(dataFee === undefined ? {} : { dataFee }), ...(cancelGas === undefined ? {} : { cancelGas }) };
  return { facts: beside, dataFeeWei: BigInt(dataFee || 0) };
}

function read(facts: Facts, form: RegExp): Facts {
  const beside = besideNames.filter((name) => facts[name] !== undefined);
  const names = [...fieldNames, ...beside];
  const isWhole = Object.keys(facts).length === names.length && names.every((name) => form.test(facts[name] ?? "-"));
  if (!isWhole) throw shapeFault("facts", `must be decimal ${fieldNames.join(", ")}`);
  return facts;
}

function typed({ maxFee, tip, work, dataFee }: TypedFees): ReturnType<Fees["typed"]> {
  const [fee, priority, data] = [weiOf(maxFee), weiOf(tip), weiOf(dataFee)];
  const no = (problem: string): ReturnType<Fees["typed"]> => ({ ok: false, problem });
  if (fee === null) return no("--max-fee must be gwei per gas, such as 12.5");
  if (priority === null) return no("--tip must be gwei per gas, such as 12.5");
  if (work !== undefined && !/^[1-9]\d{0,8}$/.test(work)) return no("--work must be a whole number of gas, such as 65000");
  if (data === null) return no("--data-fee must be gwei, such as 12.5");
  const beside = dataFee === undefined ? {} : { dataFee: data };
  return { ok: true, facts: { gasLimit: work ?? "", maxFeePerGas: fee, maxPriorityFeePerGas: priority, ...beside } };
}

/** Null for a text that is no amount in gwei. */
function weiOf(gwei: string | undefined): string | null {
  if (gwei === undefined) return "";
  const parsed = parseAmount(gwei, gweiDecimal);
  if (parsed.ok) return parsed.units.toString();
  return parsed.code === "AMOUNT_ZERO" ? "0" : null;
}

/** Twice the base fee lasts through six full blocks (EIP-1559: each may raise it by an eighth). */
function first(price: Price, work: bigint): Facts {
  const market = price as EvmPrice;
  return { ...factsOf(work, marketFee(market), market.maxPriorityFeePerGas), ...besideOf(market) };
}

function besideOf({ dataFee, cancelGas }: EvmPrice): Facts {
  return {
    ...(dataFee === undefined ? {} : { dataFee: `${dataFee}` }),
    ...(cancelGas === undefined ? {} : { cancelGas: `${cancelGas}` }),
  };
}

function marketFee({ baseFeePerGas, maxPriorityFeePerGas }: EvmPrice): bigint {
  return 2n * baseFeePerGas + maxPriorityFeePerGas;
}

/**
 * Raises both fees by at least an eighth; the maximum fee covers the tip. A cancel keeps its gas,
 * or takes the gas that the chain asks for a cancel now. The data fee is no offer: the higher
 * figure counts, because only one attempt of them all gets into a block.
 */
function dearer(versions: readonly PricedVersion[], asked: Facts, isCancel: boolean): Facts {
  const newest = versions.at(-1);
  const before = newest === undefined ? unknownFacts : known(newest);
  const wanted = evm(asked);
  const tip = larger(BigInt(wanted.maxPriorityFeePerGas), raise(BigInt(before.maxPriorityFeePerGas)));
  const fee = larger(BigInt(wanted.maxFeePerGas), raise(BigInt(before.maxFeePerGas)));
  const beside = highestBeside([...versions.map(known), wanted]);
  const gas = isCancel ? larger(gasOfCancel(before), BigInt(beside.cancelGas ?? 0)) : BigInt(wanted.gasLimit);
  return aboveTold(versions, { ...factsOf(gas, larger(fee, tip), tip), ...beside });
}

function gasOfCancel({ gasLimit }: EvmFacts): bigint {
  return gasLimit === "0" ? gasPlain : BigInt(gasLimit);
}

function highestBeside(all: readonly EvmFacts[]): Readonly<Partial<Record<(typeof besideNames)[number], string>>> {
  const named = besideNames.map((name) => {
    const figures = all.flatMap((facts) => (facts[name] ? [BigInt(facts[name])] : []));
    return figures.length === 0 ? {} : { [name]: `${figures.reduce(larger)}` };
  });
  return Object.assign({}, ...named);
}

function dearerAt(price: Price, versions: readonly PricedVersion[], work: bigint, version: number, isTipLow: boolean): Facts {
  const market = price as EvmPrice;
  const tip = larger(market.maxPriorityFeePerGas, isTipLow ? 0n : steppedTip(market, version));
  return dearer(versions, { ...factsOf(work, marketFee(market), tip), ...besideOf(market) }, false);
}

/**
 * Chooses the tip of an attempt between the two figures of the nodes. The lower tip is offered
 * first, but it may be the false one, and then no block takes the payment. So with each attempt the
 * tip comes nearer to the higher figure, by a step that grows fourfold. The step stays at or below
 * the base fee or a gwei, the larger of the two, because the higher figure may be the false one.
 */
function steppedTip({ baseFeePerGas, maxPriorityFeePerGasHigh }: EvmPrice, version: number): bigint {
  const step = larger(baseFeePerGas, tipStepWei) >> BigInt(2 * Math.max(0, 4 - version));
  if (step < maxPriorityFeePerGasHigh) return step;
  return maxPriorityFeePerGasHigh;
}

/**
 * For an attempt from the gateway only the total fee is known. The next attempt offers an eighth
 * more than that total for its own gas. So nodes accept it as a replacement, and its bytes always
 * differ from the other's.
 */
function aboveTold(versions: readonly PricedVersion[], facts: Facts): Facts {
  const told = versions.flatMap(({ facts: own, feeMax }) => (own === null ? [BigInt(feeMax)] : []));
  const { gasLimit, maxFeePerGas } = evm(facts);
  const [gas, most] = [BigInt(gasLimit), told.reduce(larger, 0n)];
  if (most === 0n || gas === 0n) return facts;
  const floor = raise((most + gas - 1n) / gas);
  return { ...facts, maxFeePerGas: larger(BigInt(maxFeePerGas), floor).toString() };
}

function leastTip(versions: readonly PricedVersion[]): bigint {
  const most = mostOf(versions, "maxPriorityFeePerGas");
  return most === 0n ? 0n : raise(most);
}

/**
 * A node takes a replacement only if both fees rise. Tries twice the highest fee first, then the
 * least that nodes ask for.
 */
function unstick(
  versions: readonly PricedVersion[],
  isCancel: boolean,
  wished: Facts,
): { readonly ok: true; readonly facts: readonly Facts[] } | Refusal {
  const newest = versions.at(-1);
  const wish = evm(wished);
  const [fee, tip] = [mostOf(versions, "maxFeePerGas"), mostOf(versions, "maxPriorityFeePerGas")];
  const isKnown = versions.every(({ facts }) => facts !== null);
  const isNamed = wish.maxFeePerGas !== "" && wish.maxPriorityFeePerGas !== "";
  // A recovered ledger keeps slots on which nothing is signed yet.
  if (newest === undefined && !isNamed) return refuse("UNSTICK_FEES", "nothing was signed on this nonce yet");
  // For an attempt that a recovery took over only the hash and the highest fee are known.
  if (!isKnown && !isNamed) return refuse("UNSTICK_FEES", "the fees of an earlier version are not known here");
  const own = newest === undefined ? "0" : known(newest).gasLimit;
  const { dataFee, ...beside } = highestBeside(versions.map(known));
  const cancelGas = beside.cancelGas ?? `${gasPlain}`;
  const gasLimit = wish.gasLimit || (isCancel ? cancelGas : own);
  if (gasLimit === "0") return refuse("UNSTICK_FEES", "the gas of an earlier version is not known here");
  const isOut = versions.some(({ txHash }) => txHash !== "");
  const least = { fee: isOut ? raise(fee) : 1n, tip: isOut ? raise(tip) : 0n };
  const given = { fee: BigInt(wish.maxFeePerGas || 0), tip: BigInt(wish.maxPriorityFeePerGas || 0) };
  if ((wish.maxFeePerGas !== "" && given.fee < least.fee) || (wish.maxPriorityFeePerGas !== "" && given.tip < least.tip))
    return refuse("UNSTICK_FEES", `nodes ask at least ${least.fee} wei per gas and a tip of ${least.tip}`);
  const named = (dearFee: bigint, dearTip: bigint): Facts => {
    const maxPriorityFeePerGas = wish.maxPriorityFeePerGas || `${dearTip}`;
    const atLeastTip = larger(dearFee, BigInt(maxPriorityFeePerGas));
    const offer = { gasLimit, maxFeePerGas: wish.maxFeePerGas || `${atLeastTip}`, maxPriorityFeePerGas };
    const data = wish.dataFee || dataFee;
    return aboveTold(versions, { ...offer, ...beside, ...(data === undefined ? {} : { dataFee: data }) });
  };
  return { ok: true, facts: [named(2n * fee + 1n, 2n * tip + 1n), named(least.fee, least.tip)] };
}

/** An attempt with less gas would fail on chain, or no block would take it. */
function tooLittle({ facts, contract, destination, amountUnits }: Description): string | null {
  const floor = gasFloorOf({ contract, destination, amountUnits });
  const { gasLimit } = evm(facts);
  return BigInt(gasLimit) >= floor ? null : `${gasLimit} gas, at least ${floor}`;
}

/**
 * On a chain that bills data in addition to the gas, an attempt without a figure for this fee has
 * no fee cap.
 */
function unbounded(chain: ConfiguredChain, facts: Facts): string | null {
  if (feeModelOf(chain) !== "op-stack" || evm(facts).dataFee !== undefined) return null;
  return "nothing says what the chain may bill for data";
}

function say(facts: Facts): string {
  const { gasLimit, maxFeePerGas, dataFee } = evm(facts);
  const data = dataFee === undefined ? "" : `, at most ${dataFee} wei for data`;
  return `gas ${gasLimit}, at most ${maxFeePerGas} wei per gas${data}`;
}

function rows(facts: Facts, before: Facts | null, beforeName: string): readonly (readonly [name: string, text: string])[] {
  const was = (field: "maxFeePerGas" | "maxPriorityFeePerGas"): string =>
    before === null ? "" : `, ${beforeName} has ${gwei(evm(before)[field])}`;
  const { gasLimit, maxFeePerGas, maxPriorityFeePerGas, dataFee } = evm(facts);
  const data = dataFee === undefined ? [] : [["data", `${gwei(dataFee)} gwei at most, beside the gas`] as const];
  return [
    ["gas", gasLimit],
    ["max fee", `${gwei(maxFeePerGas)} gwei per gas${was("maxFeePerGas")}`],
    ["tip", `${gwei(maxPriorityFeePerGas)} gwei per gas${was("maxPriorityFeePerGas")}`],
    ...data,
  ];
}

function gwei(wei: string): string {
  return formatAmount(BigInt(wei), gweiDecimal);
}

/** Rounds up, and raises by at least one: nodes want both fees strictly higher, even from zero. */
function raise(fee: bigint): bigint {
  return larger((fee * raiseNumerator + raiseDenominator - 1n) / raiseDenominator, fee + 1n);
}

function mostOf(versions: readonly PricedVersion[], field: "maxFeePerGas" | "maxPriorityFeePerGas"): bigint {
  return versions.reduce((found, version) => larger(found, BigInt(known(version)[field])), 0n);
}

function factsOf(gas: bigint, fee: bigint, tip: bigint): Facts {
  return { gasLimit: `${gas}`, maxFeePerGas: `${fee}`, maxPriorityFeePerGas: `${tip}` };
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
