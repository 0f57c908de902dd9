/**
 * Estimates the guesses that an attacker who knows how people choose needs for a passphrase. The
 * pieces are known words with capitals and look-alikes (p@ssw0rd), words of any language, years and
 * dates, rows of keys, sequences, repetitions. The cheapest combination of pieces counts. Works on
 * bytes, because a passphrase never becomes a string; only the first 256 count. Pure. Source: D.
 * Wheeler, "zxcvbn: Low-Budget Password Strength Estimation", USENIX Security 2016.
 */
import { fixedBytes } from "../files/fixed-bytes.ts";
import { commonPairs, commonWords, keyRows, lookAlikes } from "./guesses-known.ts";

const bytesMax = 256;
const pieceMax = 48;

const commonWordBits = Math.log2(commonWords.length) + 1; // and the list to try first
const capitalBits = 1;
const lookAlikeBits = 1;
/** One of some 8,000 words, for each seven letters or part of them. */
const wordBits = 13;
const wordLetters = 7;
const yearBits = 7;
const dateBits = 15;
const digitBits = Math.log2(10);
const rowBits = 6;
const separatorBits = 2;
const seenAgainBits = 1;
/** Half of a language's letter pairs are common; in random text one pair of eight is. */
const commonPairsShare = 0.5;

/** Returns the bits of the guesses, as a lower estimate. */
export function guessBits(passphrase: Uint8Array): number {
  const bytes = passphrase.subarray(0, bytesMax);
  const lower = fixedBytes(bytes.length);
  bytes.forEach((byte, at) => {
    lower[at] = isUpper(byte) ? byte | 0x20 : byte;
  });
  try {
    return cheapest(bytes, lower);
  } finally {
    lower.fill(0);
  }
}

/** Returns the lowest bits; best[n] is the cheapest way to the first n bytes. */
function cheapest(bytes: Uint8Array, lower: Uint8Array): number {
  const best = new Float64Array(bytes.length + 1).fill(Number.POSITIVE_INFINITY);
  best[0] = 0;
  const alone = kindBits(bytes);
  for (let from = 0; from < bytes.length; from++) {
    const before = best[from] as number;
    const reach = (to: number, bits: number): void => {
      best[to] = Math.min(best[to] as number, before + bits);
    };
    reach(from + 1, singleBits(bytes, from, alone));
    for (let to = from + 3; to <= Math.min(bytes.length, from + pieceMax); to++)
      reach(to, pieceBits(bytes, lower, from, to));
    for (const [length, bits] of knownAt(bytes, lower, from)) reach(from + length, bits);
  }
  return best[bytes.length] as number;
}

/** Returns the bits of one character drawn from every kind in use. */
function kindBits(bytes: Uint8Array): number {
  let kinds = 0;
  if (bytes.some(isUpper)) kinds += 26;
  if (bytes.some(isLower)) kinds += 26;
  if (bytes.some(isDigit)) kinds += 10;
  if (bytes.some(isSymbol)) kinds += 33;
  return Math.log2(Math.max(2, kinds));
}

function singleBits(bytes: Uint8Array, at: number, alone: number): number {
  const byte = bytes[at] as number;
  // Two or three such bytes make one character of a script that is soon guessed.
  if (byte >= 0x80) return 3;
  if (!isSymbol(byte)) return alone;
  if (bytes.indexOf(byte) < at) return seenAgainBits;
  return isSeparator(byte) ? separatorBits : alone;
}

/**
 * Returns the bits of bytes[from … to) as one piece of a kind without a list; infinite if it is
 * none.
 */
function pieceBits(bytes: Uint8Array, lower: Uint8Array, from: number, to: number): number {
  const length = to - from;
  return Math.min(
    isSeenBefore(lower, from, to) ? Math.log2(from) + seenAgainBits : Number.POSITIVE_INFINITY,
    isSequence(lower, from, to) || isRow(lower, from, to)
      ? rowBits + Math.log2(length)
      : Number.POSITIVE_INFINITY,
    numberBits(bytes, from, to),
    languageBits(bytes, lower, from, to),
  );
}

/** True if the complete text also stands earlier. */
function isSeenBefore(lower: Uint8Array, from: number, to: number): boolean {
  if (from === 0) return false;
  const found = Buffer.from(lower.buffer, lower.byteOffset, to - 1).indexOf(
    lower.subarray(from, to),
  );
  return found >= 0 && found < from;
}

/** True if each byte is the one before plus the same step of 0, 1 or -1: aaa, abc, 321. */
function isSequence(lower: Uint8Array, from: number, to: number): boolean {
  const step = (lower[from + 1] as number) - (lower[from] as number);
  if (Math.abs(step) > 1) return false;
  for (let at = from + 1; at < to; at++)
    if ((lower[at] as number) - (lower[at - 1] as number) !== step) return false;
  return true;
}

function isRow(lower: Uint8Array, from: number, to: number): boolean {
  const piece = Buffer.from(lower.buffer, lower.byteOffset + from, to - from);
  return keyRows.some((row) => row.includes(piece));
}

function numberBits(bytes: Uint8Array, from: number, to: number): number {
  for (let at = from; at < to; at++)
    if (!isDigit(bytes[at] as number)) return Number.POSITIVE_INFINITY;
  const length = to - from;
  const plain = length * digitBits;
  if (length === 4 && isYear(bytes, from)) return yearBits;
  if (length === 6) return Math.min(plain, dateBits);
  const isDate = length === 8 && (isYear(bytes, from) || isYear(bytes, from + 4));
  return isDate ? dateBits : plain;
}

/** True for 1900 to 2099. */
function isYear(bytes: Uint8Array, at: number): boolean {
  const century = numberAt(bytes, at) * 10 + numberAt(bytes, at + 1);
  return century === 19 || century === 20;
}

const numberAt = (bytes: Uint8Array, at: number): number => (bytes[at] as number) - 0x30;

/**
 * Returns the bits of a run of letters in one case, or with a first capital, that resembles a word.
 */
function languageBits(bytes: Uint8Array, lower: Uint8Array, from: number, to: number): number {
  const length = to - from;
  if (length < 4 || !isOneWord(bytes, from, to)) return Number.POSITIVE_INFINITY;
  let common = 0;
  for (let at = from + 1; at < to; at++) {
    if (commonPairs.has((lower[at - 1] as number) * 256 + (lower[at] as number))) common += 1;
  }
  if (common < (length - 1) * commonPairsShare) return Number.POSITIVE_INFINITY;
  return (
    wordBits * Math.ceil(length / wordLetters) + (isUpper(bytes[from] as number) ? capitalBits : 0)
  );
}

function isOneWord(bytes: Uint8Array, from: number, to: number): boolean {
  const isRestUpper = isUpper(bytes[from + 1] as number);
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    const fits =
      at === from
        ? isUpper(byte) || (isLower(byte) && !isRestUpper)
        : isRestUpper
          ? isUpper(byte)
          : isLower(byte);
    if (!fits) return false;
  }
  return true;
}

/** Returns the known words at `from`, forwards or backwards, with their length and bits. */
function knownAt(
  bytes: Uint8Array,
  lower: Uint8Array,
  from: number,
): readonly (readonly [length: number, bits: number])[] {
  const found: (readonly [number, number])[] = [];
  for (const word of commonWords) {
    const { length } = word;
    if (from + length > bytes.length) continue;
    const isForwards = isWordAt(lower, from, word, false);
    if (!isForwards && !isWordAt(lower, from, word, true)) continue;
    const piece = bytes.subarray(from, from + length);
    const isPlain = piece.every((byte) => isLower(byte) || isUpper(byte)) || word.some(isDigit);
    const extra =
      (piece.some(isUpper) ? capitalBits : 0) +
      (isPlain ? 0 : lookAlikeBits) +
      (isForwards ? 0 : 1);
    found.push([length, commonWordBits + extra]);
  }
  return found;
}

function isWordAt(
  lower: Uint8Array,
  from: number,
  word: Uint8Array,
  isBackwards: boolean,
): boolean {
  for (let at = 0; at < word.length; at++) {
    const letter = word[isBackwards ? word.length - 1 - at : at] as number;
    const byte = lower[from + at] as number;
    if (byte !== letter && lookAlikes.get(byte)?.includes(letter) !== true) return false;
  }
  return true;
}

const isUpper = (byte: number): boolean => byte >= 0x41 && byte <= 0x5a;
const isLower = (byte: number): boolean => byte >= 0x61 && byte <= 0x7a;
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
const isSymbol = (byte: number): boolean =>
  byte < 0x80 && !isUpper(byte) && !isLower(byte) && !isDigit(byte);
/** Space, hyphen, dot, underscore. */
const isSeparator = (byte: number): boolean =>
  byte === 0x20 || byte === 0x2d || byte === 0x2e || byte === 0x5f;
