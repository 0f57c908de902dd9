/**
 * Transactions of a chain of coins, written and read by code that shares nothing with the code that
 * builds payments. Sources: BIP-141, BIP-144.
 */
import { createHash } from "node:crypto";
import { ripemd160 } from "@noble/hashes/ripemd160";

export interface CoinInput {
  readonly coin: string; // txHash:output
  readonly keyHash: string; // of the key that spends it, hex; "" for none
}

export interface CoinOutput {
  readonly units: bigint;
  readonly script: string; // hex
}

export interface CoinTransaction {
  readonly hash: string;
  readonly inputs: readonly CoinInput[];
  readonly outputs: readonly CoinOutput[];
  readonly raw: string; // hex, with SegWit data
  readonly body: string; // hex, without
  readonly size: number; // virtual bytes
}

export function twice(bytes: Uint8Array): Buffer {
  const once = createHash("sha256").update(bytes).digest();
  return createHash("sha256").update(once).digest();
}

export function reversed(hex: string): string {
  return Buffer.from(hex, "hex").reverse().toString("hex");
}

function hash160(hex: string): string {
  return Buffer.from(
    ripemd160(createHash("sha256").update(Buffer.from(hex, "hex")).digest()),
  ).toString("hex");
}

const little = (value: bigint, bytes: number): string =>
  reversed(value.toString(16).padStart(bytes * 2, "0"));

/** A transaction of somebody else without SegWit data: no key of the account is in it. */
export function writeCoinTransaction(
  coins: readonly string[],
  outputs: readonly CoinOutput[],
): CoinTransaction {
  const ins = coins.map((coin) => {
    const [txHash = "", output = "0"] = coin.split(":");
    return `${reversed(txHash)}${little(BigInt(output), 4)}00ffffffff`;
  });
  const outs = outputs.map(
    ({ units, script }) => `${little(units, 8)}${little(BigInt(script.length / 2), 1)}${script}`,
  );
  const counts = [ins.length, outs.length].map((count) => little(BigInt(count), 1));
  const raw = `02000000${counts[0]}${ins.join("")}${counts[1]}${outs.join("")}00000000`;
  return readCoinRaw(raw) as CoinTransaction;
}

const known = new Map<string, CoinTransaction | null>();
const knownMax = 2_000;

/** Null for bytes that are no transaction. The same bytes are read once. */
export function readCoinRaw(raw: string): CoinTransaction | null {
  const hex = raw.replace(/^0x/, "");
  const before = known.get(hex);
  if (before !== undefined) return before;
  if (known.size >= knownMax) known.clear();
  const read = decode(hex);
  known.set(hex, read);
  return read;
}

function decode(hex: string): CoinTransaction | null {
  let at = 0;
  const take = (bytes: number): string => {
    at += bytes * 2;
    return hex.slice(at - bytes * 2, at);
  };
  const count = (): number => {
    const first = Number.parseInt(take(1), 16);
    return first < 0xfd ? first : Number(BigInt(`0x${reversed(take(2))}`));
  };
  const version = take(4);
  const isSegwit = hex.slice(at, at + 4) === "0001";
  if (isSegwit) at += 4;
  const start = at;
  const coins = Array.from({ length: count() }, () => {
    const coin = `${reversed(take(32))}:${Number(BigInt(`0x${reversed(take(4))}`))}`;
    take(count());
    take(4);
    return coin;
  });
  const outputs = Array.from({ length: count() }, (): CoinOutput => {
    const units = BigInt(`0x${reversed(take(8))}`);
    return { units, script: take(count()) };
  });
  const middle = hex.slice(start, at);
  const stacks = coins.map(() =>
    isSegwit ? Array.from({ length: count() }, () => take(count())) : [],
  );
  const body = `${version}${middle}${take(4)}`;
  if (at !== hex.length) return null;
  const inputs = coins.map(
    (coin, place): CoinInput => ({ coin, keyHash: keyHashOf(stacks[place] ?? []) }),
  );
  const size = Math.ceil((body.length * 3 + hex.length) / 8);
  return {
    hash: reversed(twice(Buffer.from(body, "hex")).toString("hex")),
    inputs,
    outputs,
    raw: hex,
    body,
    size,
  };
}

function keyHashOf([, key = "", ...more]: readonly string[]): string {
  return key.length === 66 && more.length === 0 ? hash160(key) : "";
}
