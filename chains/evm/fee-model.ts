/**
 * The kinds of EVM chains by the costs of a transaction in addition to its gas: rollups bill the
 * data that they post on another chain. Offline. Sources: OP Stack specifications; Arbitrum Nitro,
 * "Gas and fees" (data is billed in gas of the transaction's own limit).
 */
import { invariant } from "../../base/fault.ts";
import type { ConfiguredChain } from "../family.ts";

/**
 * ethereum bills only gas. arbitrum bills data as gas, so a plain payment takes more than 21,000,
 * and the agent asks for the gas of each payment. op-stack bills data in addition to the gas, and
 * no field of a transaction bounds this fee.
 */
export const dataFeeModels = ["ethereum", "arbitrum", "op-stack"] as const;

export type FeeModel = (typeof dataFeeModels)[number];

/**
 * The models of known rollups by chain id, for a configuration that names no model. Without this
 * table, the agent would pay on Base with the fee caps of Ethereum. Source: docs.arbitrum.io,
 * docs.optimism.io, docs.base.org.
 */
const known: ReadonlyMap<number, FeeModel> = new Map<number, FeeModel>([
  ...[42_161, 42_170, 421_614].map((chainId) => [chainId, "arbitrum"] as const),
  ...[10, 130, 480, 8_453, 57_073, 84_532, 11_155_420].map(
    (chainId) => [chainId, "op-stack"] as const,
  ),
]);

/**
 * The model of the configuration, or else the one of the chain's id. The reader of the
 * configuration has already checked the name against `dataFeeModels`.
 */
export function feeModelOf({ chainId, feeModel }: ConfiguredChain): FeeModel {
  if (feeModel === undefined) return known.get(Number(chainId)) ?? "ethereum";
  const found = dataFeeModels.find((model) => model === feeModel);
  invariant(found !== undefined, "a configured model of fees is one of the family's");
  return found;
}
