/**
 * libsecp256k1 as WebAssembly, loaded once for the process. Only libauth's compiled file is used:
 * the library's own functions leave copies of a private key in memory that nobody wipes. Here a key
 * stands in the memory of the WebAssembly alone, and only during a call. Sources: SEC 1 version 2,
 * RFC 6979, github.com/bitcoin-core/secp256k1.
 */
import { randomBytes } from "node:crypto";
import type { Secp256k1Wasm } from "@bitauth/libauth/build/lib/bin/secp256k1/secp256k1-wasm-types.js";
import { invariant } from "../../base/fault.ts";

export type FastCurve = ReturnType<typeof curveOf>;

// secp256k1.h: SECP256K1_CONTEXT_SIGN with _VERIFY, and the two forms of a public key.
const [contextFlags, compressed, uncompressed] = [0x0301, 0x0102, 0x0002];

async function load(): Promise<FastCurve | null> {
  if (!("WebAssembly" in globalThis)) return null;
  const { instantiateSecp256k1Wasm } = await import(
    "@bitauth/libauth/build/lib/bin/secp256k1/secp256k1-wasm.js"
  );
  return curveOf(await instantiateSecp256k1Wasm());
}

function curveOf(wasm: Secp256k1Wasm) {
  const { heapU8, malloc } = wasm;
  const context = wasm.contextCreate(contextFlags);
  const [key, digest, signature] = [malloc(32), malloc(32), malloc(64)] as const;
  const [made, point, bytes, count] = [malloc(65), malloc(64), malloc(65), malloc(4)] as const;
  const copy = (from: number, size: number): Uint8Array =>
    Uint8Array.from(heapU8.subarray(from, from + size));
  // A shorter text would leave bytes of the one before, a longer one would reach what lies behind.
  const put = (value: Uint8Array, at: number, size: number): void => {
    invariant(value.length === size, "a digest or key has 32 bytes, a signature 64");
    heapU8.set(value, at);
  };
  const withKey = <T>(secret: Uint8Array, act: () => T): T => {
    put(secret, key, 32);
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
  /**
   * digest(32), key(32) → r(32) ‖ s(32), s low, ‖ y parity of R(1). The nonce is RFC 6979's, except
   * for a digest at or above the curve's order (one in 2^128), which this build does not reduce.
   */
  const sign = (message: Uint8Array, secret: Uint8Array): Uint8Array => {
    put(message, digest, 32);
    invariant(
      withKey(secret, () => wasm.signRecoverable(context, made, digest, key)) === 1,
      "a key of 1 to n-1 signs",
    );
    wasm.recoverableSignatureSerialize(context, signature, count, made);
    return Buffer.concat([copy(signature, 64), Uint8Array.of(wasm.heapU32[count / 4] ?? 0)]);
  };
  return {
    sign,
    /** As `sign`, without the parity: for proofs of a key. */
    signCompact: (message: Uint8Array, secret: Uint8Array): Uint8Array =>
      sign(message, secret).subarray(0, 64),
    /** The uncompressed public key (65 bytes) that made r ‖ s over the digest; null if none did. */
    recover: (message: Uint8Array, compact: Uint8Array, parity: number): Uint8Array | null => {
      put(message, digest, 32);
      put(compact, signature, 64);
      const isRead =
        wasm.recoverableSignatureParse(context, made, signature, parity as 0 | 1) === 1;
      return isRead && wasm.recover(context, point, made, digest) === 1 ? pointBytes(65) : null;
    },
    /** The compressed public key (33 bytes) of a private one. */
    pointOf: (secret: Uint8Array): Uint8Array => {
      invariant(
        withKey(secret, () => wasm.pubkeyCreate(context, point, key)) === 1,
        "a key of 1 to n-1 has a point",
      );
      return pointBytes(33);
    },
  };
}

/**
 * Null where the runtime has no WebAssembly (--jitless); noble takes its place. Stands last,
 * because the load needs every constant above.
 */
export const fastCurve: FastCurve | null = await load();
