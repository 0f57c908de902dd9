/**
 * Transfers on Tron for tests and tools: fixed ones, and by chance. Addresses by tronweb, never by
 * our code.
 */
import { utils } from "tronweb";
import type { Transfer } from "../../chains/tron/raw-data.ts";
import type { SeededRandom } from "./seeded.ts";

/** Bytes of a key by chance, never zero and below the order. */
export function keyBy(random: SeededRandom): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, at) =>
    at === 0 ? 1 + random.below(254) : random.below(256),
  );
}

/** Any address: 20 bytes by chance behind the prefix. */
export function addressBy(random: SeededRandom): string {
  return utils.crypto.getBase58CheckAddress([
    0x41,
    1 + random.below(255),
    ...Array.from({ length: 19 }, () => random.below(256)),
  ]);
}

/** Every bit length is as likely as any other, so that the borders of the encodings are met. */
function bitsBy(random: SeededRandom, max: number): bigint {
  let value = 0n;
  for (let bit = 1 + random.below(max); bit > 0; bit--)
    value = value * 2n + BigInt(random.below(2));
  return value;
}

const within = (least: bigint, value: bigint, most: bigint): bigint =>
  value < least ? least : value > most ? most : value;

/** `coarse` keeps every number below 2^53, where tronweb itself is exact. */
export function transferBy(random: SeededRandom, sender: string, isCoarse: boolean): Transfer {
  const isCoin = random.chance(2);
  const timestampMs = within(1n, bitsBy(random, 52), 2n ** 53n - 1n - 600_000n);
  return {
    sender,
    contract: isCoin ? "" : addressBy(random),
    destination: addressBy(random),
    amountUnits: within(1n, bitsBy(random, isCoin ? (isCoarse ? 53 : 63) : 256), 2n ** 256n - 1n),
    refBlockBytes: BigInt(random.below(random.chance(4) ? 2 : 65_536)),
    refBlockHash: bitsBy(random, 64),
    ...{ timestampMs, expirationMs: timestampMs + 1n + BigInt(random.below(600_000)) },
    feeLimitSun: isCoin ? 0n : within(1n, bitsBy(random, 34), 15_000_000_000n),
  };
}

export const sender = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC";
export const plain: Transfer = {
  sender,
  contract: "",
  destination: "THTR75o8xXAgCTQqpiot2AFRAjvW1tSbVV",
  amountUnits: 2_000_000n,
  refBlockBytes: 0x7b3bn,
  refBlockHash: 0xb21ace8d6ac20e7en,
  expirationMs: 1_539_295_779_000n,
  timestampMs: 1_539_295_479_000n,
  feeLimitSun: 0n,
};
/** USDT's contract. */
export const token: Transfer = {
  ...plain,
  contract: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
  feeLimitSun: 13_000_000n,
};
