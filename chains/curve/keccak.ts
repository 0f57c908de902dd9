/**
 * Keccak-256 as WebAssembly, loaded once for the process; noble's where the runtime has none
 * (--jitless). Source: the Keccak submission of 2011, which is older than FIPS 202 and pads another
 * way.
 */
import { keccak_256 as keccakByNoble } from "@noble/hashes/sha3";

const wasm =
  "WebAssembly" in globalThis
    ? await (await import("hash-wasm/dist/keccak.umd.min.js")).default.createKeccak(256)
    : null;

/** Any bytes → 32 bytes, a copy of the caller's own. */
export const keccak256 =
  wasm === null
    ? keccakByNoble
    : (bytes: Uint8Array): Uint8Array => wasm.init().update(bytes).digest("binary");
