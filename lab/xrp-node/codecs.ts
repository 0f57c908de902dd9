/**
 * Bytes, keys and addresses of the XRP Ledger by Ripple's own packages alone, never by code of
 * ours, so that the stand-in judges the product's bytes as an outsider would. The packages do not
 * load on every Node that the product runs on: `missing` has the reason then.
 */
import { createHash } from "node:crypto";
import type * as AddressCodec from "ripple-address-codec";
import type * as BinaryCodec from "ripple-binary-codec";
import type * as KeyPairs from "ripple-keypairs";

export type Json = Readonly<Record<string, unknown>>;

interface Codecs {
  readonly binary: typeof BinaryCodec;
  readonly keys: typeof KeyPairs;
  readonly addresses: typeof AddressCodec;
}

const loaded = await load();

/** One sentence where the packages do not load, else null. */
export const missing: string | null = "reason" in loaded ? loaded.reason : null;

async function load(): Promise<Codecs | { readonly reason: string }> {
  try {
    return {
      binary: await import("ripple-binary-codec"),
      keys: await import("ripple-keypairs"),
      addresses: await import("ripple-address-codec"),
    };
  } catch (error) {
    const words = error instanceof Error ? error.message.split("\n")[0] : String(error);
    return {
      reason: `The stand-in for rippled needs Ripple's codecs, which Node ${process.version} does not load: ${words}`,
    };
  }
}

/** @throws Error in one sentence, where the packages do not load */
export function codecs(): Codecs {
  if ("reason" in loaded) throw new Error(loaded.reason);
  return loaded;
}

/** First half of SHA-512, in capital hex digits. */
export function sha512Half(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha512");
  for (const part of parts) hash.update(typeof part === "string" ? Buffer.from(part, "hex") : part);
  return hash.digest("hex").slice(0, 64).toUpperCase();
}

/** The key of an AccountRoot in the ledger: space "a" and the account's 20 bytes. */
export function accountIndex(address: string): string {
  return sha512Half("0061", codecs().addresses.decodeAccountID(address));
}

export function isAddress(address: unknown): address is string {
  return typeof address === "string" && codecs().addresses.isValidClassicAddress(address);
}

/** A key pair that is the same for the same name, in every run. */
export function keysOf(name: string): {
  readonly address: string;
  readonly publicKey: string;
  readonly privateKey: string;
} {
  const { keys } = codecs();
  const entropy = createHash("sha256")
    .update(`person on the XRP Ledger: ${name}`)
    .digest()
    .subarray(0, 16);
  const seed = keys.generateSeed({
    entropy: new Uint8Array(entropy),
    algorithm: "ecdsa-secp256k1",
  });
  const pair = keys.deriveKeypair(seed);
  return { ...pair, address: keys.deriveAddress(pair.publicKey) };
}

/** A whole transaction in hex, signed by a person's key. */
export function signed(
  fields: Json,
  { publicKey, privateKey }: { readonly publicKey: string; readonly privateKey: string },
): string {
  const { binary, keys } = codecs();
  const unsigned = { ...fields, SigningPubKey: publicKey };
  return binary.encode({
    ...unsigned,
    TxnSignature: keys.sign(binary.encodeForSigning(unsigned), privateKey),
  });
}
