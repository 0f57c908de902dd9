/**
 * libsecp256k1 as WebAssembly, loaded once for the process. Only libauth's compiled file is used:
 * the library's own functions leave copies of a private key in memory that nobody wipes. Here a key
 * stands in the memory of the WebAssembly alone, and only during a call. Sources: SEC 1 version 2,
 * RFC 6979, github.com/bitcoin-core/secp256k1.
 */
import { randomBytes } from "node:crypto";
import type { Secp256k1Wasm } from "@bitauth/libauth/build/lib/bin/secp256k1/secp256k1-wasm-types.js";
import { invariant } from "../../base/fault.ts";

export interface FastCurve {
  /** digest(32), key(32) → r(32) ‖ s(32), s low, ‖ y parity of R(1). */
  sign(digest: Uint8Array, key: Uint8Array): Uint8Array;
  /** As `sign`, without the parity: for proofs of a key. */
  signCompact(digest: Uint8Array, key: Uint8Array): Uint8Array;
  /**
   * The uncompressed public key (65 bytes) that made r ‖ s over the digest; null if there is none.
   */
  recover(digest: Uint8Array, signature: Uint8Array, parity: number): Uint8Array | null;
  /** The compressed public key (33 bytes) of a private one. */
  pointOf(key: Uint8Array): Uint8Array;
}

// secp256k1.h: SECP256K1_CONTEXT_SIGN with _VERIFY, and the two forms of a public key.
const contextFlags = 0x0301;
const [compressed, uncompressed] = [0x0102, 0x0002];

async function load(): Promise<FastCurve | null> {
  if (!("WebAssembly" in globalThis)) return null;
  const { instantiateSecp256k1Wasm } = await import("@bitauth/libauth/build/lib/bin/secp256k1/secp256k1-wasm.js");
  return curveOf(await instantiateSecp256k1Wasm());
}

function curveOf(wasm: Secp256k1Wasm): FastCurve {
  const { heapU8 } = wasm;
  const context = wasm.contextCreate(contextFlags);
  const [key, digest, signature, made, point, bytes, count] = [32, 32, 64, 65, 64, 65, 4].map((size) => wasm.malloc(size)) as [
    ...[number, number, number, number, number, number, number],
  ];
  const copy = (from: number, size: number): Uint8Array => Uint8Array.from(heapU8.subarray(from, from + size));
  const withKey = <T>(secret: Uint8Array, act: () => T): T => {
    heapU8.set(secret, key);
    try {
      return act();
    } finally {
      heapU8.fill(0, key, key + 32);
    }
  };
  const pointBytes = (size: 33 | 65): Uint8Array => {
    wasm.heapU32[count / 4] = size;
    wasm.pubkeySerialize(context, bytes, count, point, size === 33 ? compressed : uncompressed);
    return copy(bytes, size);
  };
  // The seed blinds the multiplications against readings of time and power.
  withKey(randomBytes(32), () => wasm.contextRandomize(context, key));
  const sign = (message: Uint8Array, secret: Uint8Array): Uint8Array => {
    heapU8.set(reduced(message), digest);
    const isSigned = withKey(secret, () => wasm.signRecoverable(context, made, digest, key)) === 1;
    invariant(isSigned, "a key of 1 to n-1 signs every digest");
    wasm.recoverableSignatureSerialize(context, signature, count, made);
    return Buffer.concat([copy(signature, 64), Uint8Array.of(wasm.heapU32[count / 4] ?? 0)]);
  };
  return {
    sign,
    signCompact: (message, secret) => sign(message, secret).subarray(0, 64),
    recover: (message, compact, parity) => {
      heapU8.set(message, digest);
      heapU8.set(compact, signature);
      const isRead = wasm.recoverableSignatureParse(context, made, signature, parity as 0 | 1) === 1;
      return isRead && wasm.recover(context, point, made, digest) === 1 ? pointBytes(65) : null;
    },
    pointOf: (secret) => {
      const isMade = withKey(secret, () => wasm.pubkeyCreate(context, point, key)) === 1;
      invariant(isMade, "a key of 1 to n-1 has a point");
      return pointBytes(33);
    },
  };
}

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/**
 * The digest modulo the order of the curve, as RFC 6979 section 2.3.4 takes it for the nonce; this
 * build of the library takes the digest as it is.
 */
function reduced(digest: Uint8Array): Uint8Array {
  if (digest[0] !== 0xff) return digest;
  const number = BigInt(`0x${Buffer.from(digest).toString("hex")}`);
  return number < order ? digest : Buffer.from((number - order).toString(16).padStart(64, "0"), "hex");
}

/**
 * Null where the runtime has no WebAssembly (--jitless); noble takes its place. Stands last,
 * because the load needs every constant above.
 */
export const fastCurve: FastCurve | null = await load();
