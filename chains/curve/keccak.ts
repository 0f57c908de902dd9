/**
 * Keccak-256 as WebAssembly, loaded once for the process; noble's where the runtime has none
 * (--jitless). Source: the Keccak submission of 2011, which is older than FIPS 202 and pads another
 * way.
 */
import { keccak_256 as keccakByNoble } from "@noble/hashes/sha3";

/** Any bytes → 32 bytes, a copy of the caller's own. */
export const keccak256: (bytes: Uint8Array) => Uint8Array = await load();

async function load(): Promise<(bytes: Uint8Array) => Uint8Array> {
  if (!("WebAssembly" in globalThis)) return keccakByNoble;
  const hasher = await (await import("hash-wasm/dist/keccak.umd.min.js")).default.createKeccak(256);
  return (bytes) => hasher.init().update(bytes).digest("binary");
}
