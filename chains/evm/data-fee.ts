/**
 * The fee for data of the OP Stack, which a chain bills in addition to the gas: its question to the
 * chain, and its part of a receipt. Offline. Sources: OP Stack specifications (Fjord: fee for data
 * and its upper bound; Isthmus and Jovian: operator fee).
 */

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
