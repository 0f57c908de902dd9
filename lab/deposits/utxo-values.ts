/** Addresses and amounts of regtest, by code of the run's own. */
import { bech32 } from "@scure/base";
import { ripemd160, sha256 } from "ethers";

/** P2WPKH with the prefix of a network, BIP-173. */
export function addressOf(publicKey: string, prefix: string): string {
  const hash = Buffer.from(ripemd160(sha256(publicKey)).slice(2), "hex");
  return bech32.encode(prefix, [0, ...bech32.toWords(hash)]);
}

export function satOf(coins: number): bigint {
  return BigInt(Math.round(coins * 1e8));
}

export function coinsOf(sat: bigint): string {
  return `${sat / 100_000_000n}.${(sat % 100_000_000n).toString().padStart(8, "0")}`;
}

export function hexByte(value: number): string {
  return value.toString(16).padStart(2, "0");
}

export function littleEndian(value: bigint, bytes: number): string {
  const hex = value.toString(16).padStart(bytes * 2, "0");
  return Buffer.from(hex, "hex").reverse().toString("hex");
}
