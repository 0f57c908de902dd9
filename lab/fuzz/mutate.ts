/**
 * Blind changes of kept input: bits, bytes, pieces moved, doubled, dropped or taken from another
 * input, and the target's own words.
 */
import type { SeededRandom } from "../kit/seeded.ts";

const bytesMax = 4_096;
const significant = [
  0x00, 0x01, 0x0a, 0x20, 0x22, 0x2c, 0x2d, 0x2e, 0x30, 0x39, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d, 0x7f,
  0x80, 0xb7, 0xb8, 0xbf, 0xc0, 0xf7, 0xf8, 0xff,
];

/** A changed copy, at most 4 KiB. */
export function mutate(
  input: Uint8Array,
  others: readonly Uint8Array[],
  words: readonly string[],
  random: SeededRandom,
): Uint8Array {
  let bytes: Uint8Array = Uint8Array.from(input);
  for (let times = 1 + random.below(random.chance(3) ? 8 : 2); times > 0; times--)
    bytes = step(bytes, others, words, random);
  return bytes.subarray(0, bytesMax);
}

function step(
  bytes: Uint8Array,
  others: readonly Uint8Array[],
  words: readonly string[],
  random: SeededRandom,
): Uint8Array {
  const at = random.below(bytes.length + 1);
  const length = 1 + random.below(random.chance(4) ? 64 : 4);
  const head = bytes.subarray(0, at);
  const tail = bytes.subarray(at);
  switch (random.below(9)) {
    case 0:
      return withByte(bytes, at, (byte) => byte ^ (1 << random.below(8)));
    case 1:
      return withByte(bytes, at, () => random.pick(significant));
    case 2:
      return withByte(bytes, at, (byte) => byte + random.pick([1, 255, 16, 128]));
    case 3:
      return Buffer.concat([head, tail.subarray(length)]);
    case 4:
      return Buffer.concat([head, tail.subarray(0, length), tail]);
    case 5:
      return Buffer.concat([
        head,
        Uint8Array.from({ length }, () => random.pick(significant)),
        tail,
      ]);
    case 6: {
      const other = random.pick(others);
      const from = random.below(other.length + 1);
      return Buffer.concat([
        head,
        other.subarray(from, from + length * 4),
        random.chance(2) ? tail : tail.subarray(length),
      ]);
    }
    case 7: {
      const location = random.below(bytes.length + 1);
      return Buffer.concat([
        bytes.subarray(0, location),
        tail.subarray(0, length),
        bytes.subarray(location),
      ]);
    }
    default:
      return Buffer.concat([
        head,
        Buffer.from(words.length === 0 ? "0" : random.pick(words)),
        tail.subarray(random.chance(2) ? 0 : length),
      ]);
  }
}

function withByte(bytes: Uint8Array, at: number, change: (byte: number) => number): Uint8Array {
  if (at < bytes.length) bytes[at] = change(bytes[at] as number) & 0xff;
  return bytes;
}
