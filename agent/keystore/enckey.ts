/**
 * Reads an encKey, which is 32 random bytes written as hex or base64, or a passphrase, and checks
 * its strength. Works on bytes, because the key must never become a string. Rules: docs/keystore.md
 * section 2.
 */
import { AgentError } from "../../base/fault.ts";
import { findInvisible } from "../../base/invisible.ts";
import { fixedBytes } from "../files/fixed-bytes.ts";
import { guessBits } from "./guesses.ts";

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
  const raw = rawKey(encKey);
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
export function rawKey(encKey: Uint8Array): Uint8Array | null {
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
  const bytes = fixedBytes(32);
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

function isUpper(byte: number): boolean {
  return byte >= 0x41 && byte <= 0x5a;
}

function isLower(byte: number): boolean {
  return byte >= 0x61 && byte <= 0x7a;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function weak(reason: string): AgentError {
  return new AgentError("ENCKEY_WEAK", "none", `encKey is too easy to guess: ${reason}`, {
    reason,
  });
}
