/**
 * The ledger's seal: what only the wallet's own key can make. It closes each line with a MAC beside
 * the public hash chain, keeps signed bytes and checkpoints in a box bound to their place, and
 * closes the pairing file. Anybody may check the chain; nobody without the keystore can lengthen
 * it. Touches nothing. docs/ledger.md section 5. Sources: RFC 2104 (HMAC), RFC 5869 (HKDF), NIST SP
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
import { invariant } from "../../protocol/fault.ts";

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const lineDomain = "autowithdraw/2 ledger line\n";
const wordDomain = "autowithdraw/2 pairing\n";

/**
 * The keys of one ledger. They lie outside the heap and print as a mark.
 * @public
 */
export class LedgerSeal {
  readonly #line: KeyObject;
  readonly #box: KeyObject;
  readonly #nonce: KeyObject;
  readonly #word: KeyObject;

  /** `key`: 32 bytes that `ledgerKey` of the keystore gives; they stay the caller's to wipe. */
  constructor(key: Uint8Array) {
    invariant(key.length === keyBytes, "a ledger's key has 32 bytes");
    this.#line = derived(key, "line");
    this.#box = derived(key, "box");
    this.#nonce = derived(key, "nonce");
    this.#word = derived(key, "pairing");
  }

  /**
   * The MAC, lower-case hex, of the line whose chain hash this is: the hash covers the line and
   * every line before it.
   */
  macOf(hash: string): string {
    return createHmac("sha256", this.#line).update(lineDomain).update(hash).digest("hex");
  }

  /** Whether the line with this chain hash was closed by this key. */
  closes(hash: string, mac: string): boolean {
    return isSame(this.macOf(hash), mac);
  }

  /**
   * Bytes in a box that opens at `place` only: nonce ‖ ciphertext ‖ tag. The nonce is made from
   * place and contents, so that two contents never share one, whatever a ledger that was put back
   * writes at the same place again.
   */
  box(place: string, plain: Uint8Array): Uint8Array {
    const nonce = createHmac("sha256", this.#nonce).update(`${place}\n`).update(plain).digest().subarray(0, nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#box, nonce).setAAD(Buffer.from(place));
    return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  }

  /** The bytes of a box, null where this key did not make it for this place. */
  open(place: string, box: Uint8Array): Uint8Array | null {
    const end = box.length - tagBytes;
    if (end < nonceBytes) return null;
    const decipher = createDecipheriv("aes-256-gcm", this.#box, box.subarray(0, nonceBytes), { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(place)).setAuthTag(box.subarray(end));
    try {
      return Buffer.concat([decipher.update(box.subarray(nonceBytes, end)), decipher.final()]);
    } catch {
      return null;
    }
  }

  /** The word, lower-case hex, that closes what pairing agreed on. */
  wordOf(text: string): string {
    return createHmac("sha256", this.#word).update(wordDomain).update(text).digest("hex");
  }

  /** Whether this key gave `word` for `text`. */
  gave(text: string, word: string): boolean {
    return isSame(this.wordOf(text), word);
  }
}

/** The place of a record's sealed field: its number in the ledger. */
export function recordPlace(seq: number): string {
  return `autowithdraw/2 ledger record ${seq}`;
}

/** The place of a checkpoint: its segment, and the number of the segment's first record. */
export function checkpointPlace(segment: number, seq: number): string {
  return `autowithdraw/2 ledger checkpoint ${segment} ${seq}`;
}

function derived(key: Uint8Array, label: string): KeyObject {
  const bytes = Buffer.from(hkdfSync("sha256", key, new Uint8Array(0), `autowithdraw/2 ledger ${label}`, keyBytes));
  try {
    return createSecretKey(bytes);
  } finally {
    bytes.fill(0);
  }
}

function isSame(expected: string, given: string): boolean {
  return given.length === expected.length && timingSafeEqual(Buffer.from(expected), Buffer.from(given));
}
