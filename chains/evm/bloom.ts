/**
 * The bloom of a block's logs: it says if a contract or a topic may be among them. "No" is certain,
 * "yes" is not. Offline. Source: Ethereum yellow paper, section 4.3.1 (M3:2048).
 */
import { keccak256 } from "../curve/keccak.ts";

const known = new Map<string, readonly Bit[]>();
const knownMax = 4_096;

interface Bit {
  readonly digit: number; // index among the bloom's 512 hex digits
  readonly mask: number;
}

/**
 * `bloom` as 512 hex digits, `value` as 0x hex: a contract's address or a topic.
 */
export function mayBloomHold(bloom: string, value: string): boolean {
  return bitsOf(value.toLowerCase()).every(
    ({ digit, mask }) => (Number.parseInt(bloom.charAt(digit), 16) & mask) !== 0,
  );
}

/** The bloom of these values, 512 hex digits. */
export function bloomOf(values: readonly string[]): string {
  if (values.length === 0) return "0".repeat(512);
  const digits = Array.from({ length: 512 }, () => 0);
  for (const { digit, mask } of values.flatMap((value) => bitsOf(value.toLowerCase())))
    digits[digit] = (digits[digit] ?? 0) | mask;
  return digits.map((digit) => digit.toString(16)).join("");
}

function bitsOf(value: string): readonly Bit[] {
  const found = known.get(value);
  if (found !== undefined) return found;
  const hash = keccak256(Buffer.from(value.slice(2), "hex"));
  const bits = [0, 2, 4].map((at): Bit => {
    const bit = (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047;
    return { digit: 511 - (bit >> 2), mask: 1 << (bit & 3) };
  });
  if (known.size >= knownMax) known.clear();
  known.set(value, bits);
  return bits;
}
