/**
 * Turns the typed words into a BIP-39 seed, as bytes in every step. Reports the kind of a mistake,
 * never the word. Source: BIP-39 (English list, no passphrase). Touches nothing.
 */
import { createHash, pbkdf2Sync } from "node:crypto";
import { wordlists } from "bip39";
import { AgentError, invariant } from "../../base/fault.ts";
import { findInvisible } from "../../base/invisible.ts";

const wordCounts = [12, 15, 18, 21, 24];
const wordBits = 11;
const wordBytesMax = 8;

/**
 * The 64 bytes of the seed. Words may be separated by any white space; they are lower case. The
 * caller wipes mnemonic and seed.
 * @throws AgentError MNEMONIC_INVISIBLE, MNEMONIC_COUNT, MNEMONIC_WORD (naming the place, not the
 * word), MNEMONIC_CHECKSUM
 */
export function seedOf(mnemonic: Uint8Array): Uint8Array {
  assertVisible(mnemonic);
  const words = splitWords(mnemonic);
  if (!wordCounts.includes(words.length)) {
    throw new AgentError(
      "MNEMONIC_COUNT",
      "none",
      `the mnemonic has ${words.length} words, not 12, 15, 18, 21 or 24`,
    );
  }
  const indexes = words.map(indexOf);
  assertChecksum(indexes);
  indexes.fill(0);
  const sentence = joined(words);
  const seed = pbkdf2Sync(sentence, "mnemonic", 2048, 64, "sha512");
  sentence.fill(0);
  return seed;
}

/** Word processors and web pages put no-break spaces and zero-width characters between words. */
function assertVisible(mnemonic: Uint8Array): void {
  const unseen = findInvisible(mnemonic);
  if (unseen === null) return;
  const before = splitWords(mnemonic.subarray(0, unseen.at)).length;
  const place = before === 0 ? "before word 1" : `behind the letters of word ${before}`;
  throw new AgentError("MNEMONIC_INVISIBLE", "none", `the mnemonic holds ${unseen.name} ${place}`);
}

function splitWords(mnemonic: Uint8Array): Uint8Array[] {
  const words: Uint8Array[] = [];
  let start = 0;
  for (let at = 0; at <= mnemonic.length; at += 1) {
    const byte = mnemonic[at];
    const isSpace = byte === undefined || byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
    if (!isSpace) continue;
    if (at > start) words.push(mnemonic.subarray(start, at));
    start = at + 1;
  }
  return words;
}

/**
 * The list is sorted and its words differ within four letters. Comparing bytes makes no text of the
 * typed words.
 */
function indexOf(word: Uint8Array, place: number): number {
  let from = 0;
  let to = list.length - 1;
  while (from <= to) {
    const middle = (from + to) >> 1;
    const order = Buffer.compare(word, list[middle] as Uint8Array);
    if (order === 0) return middle;
    if (order < 0) to = middle - 1;
    else from = middle + 1;
  }
  throw new AgentError(
    "MNEMONIC_WORD",
    "none",
    `word ${place + 1} of the mnemonic is not in the English word list`,
  );
}

const list = listBytes();

function listBytes(): readonly Uint8Array[] {
  const words = wordlists.english;
  invariant(
    words !== undefined && words.length === 2 ** wordBits,
    "the English list has 2048 words",
  );
  return words.map((word) => Buffer.from(word));
}

/**
 * Entropy and checksum: of every 33 bits the last is the checksum's (BIP-39, "Generating the
 * mnemonic").
 */
function assertChecksum(indexes: readonly number[]): void {
  const checksumBits = (indexes.length * wordBits) / 33;
  const entropy = Buffer.alloc(checksumBits * 4);
  let checksum = 0;
  for (let bit = 0; bit < indexes.length * wordBits; bit += 1) {
    const index = indexes[Math.floor(bit / wordBits)] as number;
    const value = (index >> (wordBits - 1 - (bit % wordBits))) & 1;
    const byte = bit >> 3;
    if (byte < entropy.length)
      entropy[byte] = (entropy[byte] as number) | (value << (7 - (bit & 7)));
    else checksum = (checksum << 1) | value;
  }
  const hash = createHash("sha256").update(entropy).digest();
  entropy.fill(0);
  if ((hash[0] as number) >> (8 - checksumBits) !== checksum) {
    throw new AgentError(
      "MNEMONIC_CHECKSUM",
      "none",
      "the mnemonic's words are all in the list, but its checksum does not fit",
    );
  }
}

function joined(words: readonly Uint8Array[]): Uint8Array {
  const sentence = Buffer.alloc(words.length * (wordBytesMax + 1));
  let length = 0;
  words.forEach((word, place) => {
    if (place > 0) sentence[length++] = 0x20;
    sentence.set(word, length);
    length += word.length;
  });
  return sentence.subarray(0, length);
}
