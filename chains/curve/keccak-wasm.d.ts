/** The one file of hash-wasm that has Keccak alone. */
declare module "hash-wasm/dist/keccak.umd.min.js" {
  import type { createKeccak } from "hash-wasm";

  const file: { readonly createKeccak: typeof createKeccak };
  export default file;
}
