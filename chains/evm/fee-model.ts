/**
 * Costs of a transaction in addition to its gas, by the kind of chain: rollups bill the data that
 * they post on another chain. Offline. Sources: OP Stack specifications (Fjord: fee for data and
 * its upper bound; Isthmus and Jovian: operator fee); Arbitrum Nitro, "Gas and fees" (data is
 * billed in gas of the transaction's own limit).
 */
import { invariant } from "../../base/fault.ts";
import type { ConfiguredChain } from "../family.ts";

/**
 * ethereum bills only gas. arbitrum bills data as gas, so a plain payment takes more than 21,000,
 * and the agent asks for the gas of each payment. op-stack bills data in addition to the gas, and
 * no field of a transaction bounds this fee.
 */
export const feeModels = ["ethereum", "arbitrum", "op-stack"] as const;

export type FeeModel = (typeof feeModels)[number];

/**
 * The models of known rollups by chain id, for a configuration that names no model. Without this
 * table, the agent would pay on Base with the fee caps of Ethereum. Source: docs.arbitrum.io,
 * docs.optimism.io, docs.base.org.
 */
const known: ReadonlyMap<number, FeeModel> = new Map<number, FeeModel>([
  ...[42_161, 42_170, 421_614].map((chainId) => [chainId, "arbitrum"] as const),
  ...[10, 130, 480, 8_453, 57_073, 84_532, 11_155_420].map((chainId) => [chainId, "op-stack"] as const),
]);

/**
 * The model of the configuration, or else the one of the chain's id. The reader of the
 * configuration has already checked the name against `feeModels`.
 */
export function feeModelOf({ chainId, feeModel }: ConfiguredChain): FeeModel {
  if (feeModel === undefined) return known.get(Number(chainId)) ?? "ethereum";
  const found = feeModels.find((model) => model === feeModel);
  invariant(found !== undefined, "a configured model of fees is one of the family's");
  return found;
}

/**
 * Bytes of our longest unsigned transaction: a token transfer in which every number has the
 * greatest length in use. The predeploy adds the signature.
 */
const unsignedBytesMax = 256;
/** No transfer of ours takes more gas; an operator's fee grows with the gas. */
const gasMost = 1_000_000n;
/**
 * Twice the present fee. A base fee of layer 1 rises by an eighth a block at most, so twice the fee
 * lasts for six of its blocks.
 */
const dataFeeTimes = 2n;

/** Predeploy of the OP Stack, GasPriceOracle. */
export const gasPriceOracle = "0x420000000000000000000000000000000000000F";
/** getL1FeeUpperBound(uint256 unsigned bytes), since Fjord. */
export const dataFeeCall = `0xf1c7a58b${word(BigInt(unsignedBytesMax))}`;
/** getOperatorFee(uint256 gas), since Isthmus. */
export const operatorFeeCall = `0x275aedd2${word(gasMost)}`;

/** The most that an attempt may cost in addition to its gas: the figure of the nodes, with room. */
export function dataFeeWithRoom(dataFee: bigint): bigint {
  return dataFee * dataFeeTimes;
}

/**
 * The fee that a receipt bills in addition to gas. The formula for the operator's fee changed with
 * Jovian, whose receipts say how much of a block the data fills.
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
