/**
 * The ledger's seal, which only the wallet's own key can make. It closes each line with a MAC next
 * to the public hash, keeps signed bytes and checkpoints in boxes tied to their place, and closes
 * the pairing file. Everybody can check the hashes; only the keystore can lengthen the ledger.
 * Touches nothing. docs/ledger.md section 5. Sources: RFC 2104 (HMAC), RFC 5869 (HKDF), NIST SP
 * 800-38D (GCM), RFC 5297 (a nonce made from the contents).
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from "node:crypto";
import { invariant } from "../../base/fault.ts";

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const lineDomain = "autowithdraw/2 ledger line\n";
const wordDomain = "autowithdraw/2 pairing\n";

/** The keys of one ledger. They are outside the heap and print as a mark. */
export class LedgerSeal {
  readonly #line: KeyObject;
  readonly #box: KeyObject;
  readonly #nonce: KeyObject;
  readonly #word: KeyObject;

  /** `key`: 32 bytes from `ledgerKey` of the keystore; the caller wipes them. */
  constructor(key: Uint8Array) {
    invariant(key.length === keyBytes, "a ledger's key has 32 bytes");
    this.#line = derived(key, "line");
    this.#box = derived(key, "box");
    this.#nonce = derived(key, "nonce");
    this.#word = derived(key, "pairing");
  }

  /**
   * Returns the MAC, lower-case hex, of the line with this hash, which covers the line and every
   * line before.
   */
  macOf(hash: string): string {
    return createHmac("sha256", this.#line).update(lineDomain).update(hash).digest("hex");
  }

  /** True if this key closed the line with this hash. */
  closes(hash: string, mac: string): boolean {
    return isSame(this.macOf(hash), mac);
  }

  /**
   * Returns bytes in a box that opens only at `place`: nonce ‖ ciphertext ‖ tag. The nonce is made
   * from place and contents, so two contents never share one, even if a restored ledger writes
   * again at the same place.
   */
  box(place: string, plain: Uint8Array): Uint8Array {
    const nonce = createHmac("sha256", this.#nonce)
      .update(`${place}\n`)
      .update(plain)
      .digest()
      .subarray(0, nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#box, nonce).setAAD(Buffer.from(place));
    return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  }

  /** Returns the bytes of a box; null for a box of another key or another place. */
  open(place: string, box: Uint8Array): Uint8Array | null {
    const end = box.length - tagBytes;
    if (end < nonceBytes) return null;
    const decipher = createDecipheriv("aes-256-gcm", this.#box, box.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(place)).setAuthTag(box.subarray(end));
    try {
      return Buffer.concat([decipher.update(box.subarray(nonceBytes, end)), decipher.final()]);
    } catch {
      return null;
    }
  }

  /** Returns the MAC, lower-case hex, that closes the agreement of a pairing. */
  wordOf(text: string): string {
    return createHmac("sha256", this.#word).update(wordDomain).update(text).digest("hex");
  }

  /** True if this key made the MAC `word` for `text`. */
  gave(text: string, word: string): boolean {
    return isSame(this.wordOf(text), word);
  }
}

/** Returns the place of a record's sealed field: its number in the ledger. */
export function sealContextOfRecord(seq: number): string {
  return `autowithdraw/2 ledger record ${seq}`;
}

/** Returns the place of a checkpoint: its segment, and the number of the segment's first record. */
export function sealContextOfCheckpoint(segment: number, seq: number): string {
  return `autowithdraw/2 ledger checkpoint ${segment} ${seq}`;
}

function derived(key: Uint8Array, label: string): KeyObject {
  const bytes = Buffer.from(
    hkdfSync("sha256", key, new Uint8Array(0), `autowithdraw/2 ledger ${label}`, keyBytes),
  );
  try {
    return createSecretKey(bytes);
  } finally {
    bytes.fill(0);
  }
}

function isSame(expected: string, given: string): boolean {
  return (
    given.length === expected.length && timingSafeEqual(Buffer.from(expected), Buffer.from(given))
  );
}
