/**
 * What a transaction costs beside its gas, by the kind of chain: rollups bill the data that they
 * post on another chain. Offline. Sources: OP Stack specifications (Fjord: fee for data and its
 * upper bound; Isthmus and Jovian: operator fee); Arbitrum Nitro, "Gas and fees" (data is billed in
 * gas of the transaction's own limit).
 */
import { invariant } from "../../protocol/fault.ts";
import type { ConfiguredChain } from "../family.ts";

/**
 * ethereum: gas and nothing else. arbitrum: data is billed as gas, so that a plain payment takes
 * more than 21,000 and each one's gas is asked for. op-stack: data is billed beside the gas, and no
 * field of a transaction bounds it.
 */
export const feeModels = ["ethereum", "arbitrum", "op-stack"] as const;

/** @public */
export type FeeModel = (typeof feeModels)[number];

/**
 * Rollups by their ids, for a configuration that does not say the model: without it Base would be
 * paid from by the ceilings of Ethereum. Source: docs.arbitrum.io, docs.optimism.io, docs.base.org.
 */
const known: ReadonlyMap<number, FeeModel> = new Map<number, FeeModel>([
  ...[42_161, 42_170, 421_614].map((chainId) => [chainId, "arbitrum"] as const),
  ...[10, 130, 480, 8_453, 57_073, 84_532, 11_155_420].map((chainId) => [chainId, "op-stack"] as const),
]);

/**
 * By the chain's id, unless the configuration names one: its reader has held that word against
 * `feeModels`.
 * @public
 */
export function feeModelOf({ chainId, feeModel }: ConfiguredChain): FeeModel {
  if (feeModel === undefined) return known.get(chainId) ?? "ethereum";
  const found = feeModels.find((model) => model === feeModel);
  invariant(found !== undefined, "a configured model of fees is one of the family's");
  return found;
}

/**
 * Bytes of our longest unsigned transaction: a token's transfer with every number at its length in
 * use. The predeploy adds the signature.
 */
const unsignedBytesMax = 256;
/** No transfer of ours takes more: an operator's fee grows with the gas. */
const gasMost = 1_000_000n;
/**
 * Twice what the chain says now: a base fee of layer 1 rises by an eighth a block at most, so this
 * lasts for six of its blocks.
 */
const dataFeeTimes = 2n;

/** Predeploy of the OP Stack, GasPriceOracle. */
export const gasPriceOracle = "0x420000000000000000000000000000000000000F";
/** getL1FeeUpperBound(uint256 unsigned bytes), since Fjord. */
export const dataFeeCall = `0xf1c7a58b${word(BigInt(unsignedBytesMax))}`;
/** getOperatorFee(uint256 gas), since Isthmus. */
export const operatorFeeCall = `0x275aedd2${word(gasMost)}`;

/** What a version may cost beside its gas, with room, by the word of nodes. */
export function dataFeeWithRoom(dataFee: bigint): bigint {
  return dataFee * dataFeeTimes;
}

/**
 * What a receipt bills beside gas. The formula for the operator's fee changed with Jovian, whose
 * receipts say how data fills a block.
 */
export function dataFeeOf(receipt: {
  readonly l1Fee: bigint;
  readonly operatorFeeScalar: bigint;
  readonly operatorFeeConstant: bigint;
  readonly isJovian: boolean;
  readonly gasUsed: bigint;
}): bigint {
  const { l1Fee, operatorFeeScalar, operatorFeeConstant, isJovian, gasUsed } = receipt;
  const scaled = gasUsed * operatorFeeScalar;
  return l1Fee + (isJovian ? scaled * 100n : scaled / 1_000_000n) + operatorFeeConstant;
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, "0");
}
