/**
 * Reads an encKey, which is 32 random bytes written as hex or base64, or a passphrase, and checks
 * its strength. Works on bytes, because the key must never become a string. Rules: docs/keystore.md
 * section 2.
 */
import { AgentError } from "../../base/fault.ts";
import { findInvisible } from "../../base/invisible.ts";
import { allocateFixedBytes } from "../files/fixed-bytes.ts";

/*
 * Estimates the guesses that an attacker who knows how people choose needs for a passphrase. The
 * pieces are known words with capitals and look-alikes (p@ssw0rd), words of any language, years and
 * dates, rows of keys, sequences, repetitions. The cheapest combination of pieces counts. Works on
 * bytes, because a passphrase never becomes a string; only the first 256 count. Pure. Source: D.
 * Wheeler, "zxcvbn: Low-Budget Password Strength Estimation", USENIX Security 2016.
 */

/*
 * The first guesses of every attacker, for guesses.ts: words from the top of leaked password lists,
 * rows of keys, look-alikes. Pure.
 */

const words = `
password passwort parola sifre secret secure security private letmein welcome iloveyou monkey dragon master shadow sunshine princess
football baseball basketball soccer hockey superman batman spiderman pokemon starwars trustno1 whatever freedom killer hunter ranger
buster thomas robert daniel michael jordan michelle jessica jennifer ashley nicole andrew joshua matthew charlie george anthony william
richard justin austin taylor hannah amanda melissa samantha andrea martin alexander david james johnson smith mohammed mehmet ahmet
mustafa ayse fatma emine hatice zeynep elif murat kemal ataturk istanbul ankara izmir antalya turkey turkiye galatasaray fenerbahce
besiktas trabzon london paris berlin newyork america germany england france russia moscow china tokyo madrid barcelona chelsea arsenal
liverpool manchester juventus real summer winter spring autumn january february march april june july august september october november
december monday tuesday wednesday thursday friday saturday sunday ocak subat mart nisan mayis haziran temmuz agustos eylul ekim kasim
aralik admin administrator root system server gateway merchant wallet bitcoin ethereum crypto coin money payment withdraw shop store
company office business computer internet google facebook windows linux ubuntu debian oracle cisco test testing tester demo example
sample changeme default temp guest user login access passphrase passwd qwerty asdfgh zxcvbn qazwsx abc123 hello world goodbye forever
always never love lovely heart angel devil flower star moon earth water fire stone ocean river mountain forest garden house home family
mother father sister brother baby girl boy friend king queen prince knight warrior wizard magic ninja pirate samurai tiger lion eagle
wolf bear horse panda turtle dolphin chicken banana apple orange lemon cherry chocolate cookie coffee pepper ginger cheese butter
purple yellow green black white silver golden diamond crystal metal guitar music piano rock thunder lightning phoenix matrix hammer
corvette ferrari porsche mercedes yamaha harley mustang racing winner champion player gamer gaming soldier marine captain maverick
cowboy cowboys yankees lakers steelers eagles bulldog tigger snoopy mickey donald bailey maggie buddy lucky happy smile peace hope
faith jesus christ church allah heaven correct battery staple trouble troubador zebra violet rainbow butterfly blessed please open sesame
incorrect nothing something anything everything one two three four five six seven eight nine zero first second last number pass key enckey
encryption word code pin life time year day night good best great super power energy light dark blue red new old big small strong
`;

const bytesOf = (text: string): Buffer => Buffer.from(text);

/** In small letters. */
const commonWords: readonly Uint8Array[] = words
  .trim()
  .split(/\s+/)
  .filter((word) => word.length >= 3)
  .map(bytesOf);

const rows = [
  "1234567890",
  "qwertyuiop",
  "asdfghjkl",
  "zxcvbnm",
  "qwertzuiop",
  "azertyuiop",
  "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
  "!@#$%^&*()",
];

/** Forwards and backwards. */
const keyRows: readonly Buffer[] = rows
  .flatMap((row) => [row, [...row].reverse().join("")])
  .map(bytesOf);

/** By byte, the letters that people replace with it. */
const lookAlikes: ReadonlyMap<number, Uint8Array> = new Map(
  Object.entries({
    "@": "a",
    "4": "a",
    "8": "b",
    "(": "c",
    "3": "e",
    "6": "g",
    "9": "g",
    "1": "il",
    "!": "il",
    "|": "il",
    "0": "o",
    $: "s",
    "5": "s",
    "7": "t",
    "+": "t",
    "2": "z",
  }).map(([sign, letters]) => [sign.charCodeAt(0), bytesOf(letters)]),
);

/** The most common letter pairs of English and Turkish, as first · 256 + second. */
const pairs =
  "th he in er an re nd at on nt ha es st en ed to it ou ea hi is or ti as te et ng of al de se le sa si ar ve ra ld ur ro ri io ic ne me " +
  "li co ch ll be ma tr ta la us ot ec ce wi ho om el ca ss ee no pe ns ut da di mi un ac il ir ya ay ki ak ek bi im lu ka ba am iy ad na mu " +
  "ol po pl ap rs rt ry pr up ge em ie gh ow wa so ke sh mo ab ag os";

const commonPairs: ReadonlySet<number> = new Set(
  pairs.split(" ").map((pair) => pair.charCodeAt(0) * 256 + pair.charCodeAt(1)),
);

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
function guessBits(passphrase: Uint8Array): number {
  const bytes = passphrase.subarray(0, bytesMax);
  const lower = allocateFixedBytes(bytes.length);
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

/** Distinct byte values among 32 bytes: random bytes have fewer than 20 once in 10^9. */
const distinctMin = 16;
/**
 * Bits of guesses for an attacker who knows how people choose; scrypt adds the work of about 18
 * more.
 */
const passphraseBitsMin = 64;
const passphraseBytesMin = 12;

/**
 * @throws AgentError ENCKEY_WEAK if the key is a placeholder, repetitive or too short;
 * ENCKEY_WRITTEN if it is nearly 64 hex digits or has an invisible character
 */
export function assertEncKey(encKey: Uint8Array): void {
  if (encKey.length === 0) throw weak("it is empty");
  if (encKey[0] === 0x3c && encKey.at(-1) === 0x3e)
    throw weak("it is a placeholder in angle brackets");
  assertWritten(encKey);
  const raw = parseRawEncKey(encKey);
  try {
    if (raw !== null && new Set(raw).size < distinctMin) throw weak("its bytes are not random");
    const tooShort =
      raw === null && (encKey.length < passphraseBytesMin || guessBits(encKey) < passphraseBitsMin);
    if (tooShort)
      throw weak(
        "the passphrase is too short, or is made of what people choose: words, names, years, rows of keys",
      );
  } finally {
    raw?.fill(0);
  }
}

/**
 * Refuses a key that is nearly hex. With one extra character, a hex key would silently become a
 * passphrase, and the plain key would open nothing.
 */
function assertWritten(encKey: Uint8Array): void {
  const unseen = findInvisible(encKey);
  if (unseen !== null) throw written(`it holds ${unseen.name} as character ${unseen.character}`);
  const isPrefixed = encKey[0] === 0x30 && ((encKey[1] ?? 0) | 0x20) === 0x78; // 0x, as programs print hex
  let digits = 0;
  let others = 0;
  for (const byte of encKey.subarray(isPrefixed ? 2 : 0)) {
    if (separators.includes(byte)) continue;
    if (hexDigit(byte) >= 0) digits += 1;
    else others += 1;
  }
  const isNearHex = encKey.length !== hexKeyDigits && digits === hexKeyDigits && others === 0;
  if (isNearHex)
    throw written(
      `it is ${hexKeyDigits} hex digits with ${isPrefixed ? "a prefix in front" : "other characters among them"}`,
    );
}

/** Blanks, and the marks that programs write between or around hex digits. */
const separators: readonly number[] = [0x20, 0x09, 0x0a, 0x0d, 0x3a, 0x2d, 0x2c, 0x22, 0x27];
const hexKeyDigits = 64;

function written(reason: string): AgentError {
  return new AgentError("ENCKEY_WRITTEN", "none", `encKey is not written as a key: ${reason}`, {
    reason,
  });
}

/**
 * Returns the 32 bytes of 64 hex digits, or of 43 base64 or base64url digits with or without `=`;
 * null for a passphrase. The caller wipes them. A text without a capital, a small letter and a
 * digit is no base64 key at any length, because words are not random.
 */
export function parseRawEncKey(encKey: Uint8Array): Uint8Array | null {
  if (encKey.length === 64 && encKey.every((byte) => hexDigit(byte) >= 0))
    return decode(encKey, hexDigit, 4);
  const digits = encKey.length === 44 && encKey[43] === 0x3d ? encKey.subarray(0, 43) : encKey;
  if (digits.length !== 43 || !isMixed(digits)) return null;
  for (const digit of [base64Digit, base64urlDigit]) {
    const last = digit(digits[42] as number);
    if (digits.every((byte) => digit(byte) >= 0) && last % 4 === 0) return decode(digits, digit, 6);
  }
  return null;
}

function decode(digits: Uint8Array, digit: (byte: number) => number, bits: number): Uint8Array {
  const bytes = allocateFixedBytes(32);
  let held = 0;
  let count = 0;
  let at = 0;
  for (const each of digits) {
    held = ((held << bits) | digit(each)) & 0xffff;
    count += bits;
    if (count < 8) continue;
    count -= 8;
    bytes[at] = (held >> count) & 0xff;
    at += 1;
  }
  return bytes;
}

function hexDigit(byte: number): number {
  if (isDigit(byte)) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function alphanumeric(byte: number): number {
  if (isUpper(byte)) return byte - 0x41;
  if (isLower(byte)) return byte - 0x61 + 26;
  return isDigit(byte) ? byte - 0x30 + 52 : -1;
}

function base64Digit(byte: number): number {
  if (byte === 0x2b) return 62;
  return byte === 0x2f ? 63 : alphanumeric(byte);
}

function base64urlDigit(byte: number): number {
  if (byte === 0x2d) return 62;
  return byte === 0x5f ? 63 : alphanumeric(byte);
}

function isMixed(bytes: Uint8Array): boolean {
  return bytes.some(isUpper) && bytes.some(isLower) && bytes.some(isDigit);
}

function weak(reason: string): AgentError {
  return new AgentError("ENCKEY_WEAK", "none", `encKey is too easy to guess: ${reason}`, {
    reason,
  });
}
