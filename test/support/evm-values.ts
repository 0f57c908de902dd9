/**
 * Values for the tests of chains/evm: recorded vectors, transfers, and numbers and bytes by chance
 * that SEED=<number> replays.
 */
import { readFileSync } from "node:fs";
import { AgentError } from "../../base/fault.ts";
import type { Transfer } from "../../chains/evm/transaction.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";

export const seed = seedsOfRun(1)[0]!;
const chance = new SeededRandom(seed);
const randomBytes = (length: number): Uint8Array =>
  Uint8Array.from({ length }, () => chance.below(256));
export const random = {
  /** 0 … limit - 1 */
  below: (limit: number): number => chance.below(limit),
  bytes: randomBytes,
  /** Every bit length is as likely as any other, so that the borders of the encodings are met. */
  bits: (max: number): bigint =>
    BigInt(hex(randomBytes(32))) >> BigInt(256 - (1 + chance.below(max))),
};

export const vectors = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), "utf8")) as T;
export const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString("hex")}`;
export const bytes = (text: string): Uint8Array =>
  Uint8Array.from(Buffer.from(text.replace(/^0x/, ""), "hex"));
export const codeOf = (act: () => unknown): string => {
  try {
    act();
    return "";
  } catch (error) {
    return error instanceof AgentError ? error.code : `${error}`;
  }
};

export const atLeast = (min: bigint, value: bigint): bigint => (value < min ? min : value);
export const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);

interface TransferVector {
  readonly name: string;
  readonly privateKey: string;
  readonly sender: string;
  readonly transfer: Readonly<Record<keyof Transfer, string>>;
  readonly unsigned: string;
  readonly digest: string;
  readonly signature: string;
  readonly raw: string;
  readonly txHash: string;
}

export const transferVectors = vectors<{ vectors: readonly TransferVector[] }>("eip1559").vectors;

export function transferOf({
  contract,
  destination,
  ...numbers
}: TransferVector["transfer"]): Transfer {
  const integers = Object.fromEntries(
    Object.entries(numbers).map(([name, text]) => [name, BigInt(text)]),
  );
  return { contract, destination, ...integers } as unknown as Transfer;
}

export const plain: Transfer = {
  chainId: 1n,
  nonce: 7n,
  contract: "",
  destination: "0x52908400098527886E0F7030069857D2E4169EE7",
  amountUnits: 1000n,
  gasLimit: 21_000n,
  maxFeePerGas: 50n,
  maxPriorityFeePerGas: 2n,
};
export const token: Transfer = {
  ...plain,
  contract: "0xdAC17F958D2ee523a2206206994597C13D831ec7",
  gasLimit: 65_000n,
};
