/**
 * Derives the key of one box from encKey: HKDF if encKey is 32 random bytes, scrypt first if it is
 * a passphrase. The label and the hash of a readable header go into the key, so a box opens only
 * under its own header and for its own use. docs/keystore.md section 3. Sources: RFC 5869 (HKDF),
 * RFC 7914 (scrypt). Touches nothing.
 */
import { createHash, scryptSync } from "node:crypto";
import { hkdf } from "@noble/hashes/hkdf";
import { sha256 } from "@noble/hashes/sha2";
import nacl from "tweetnacl";
import { AgentError } from "../../base/fault.ts";
import { hex, integer, object, oneOf } from "../../base/shape.ts";
import { copyToFixedBytes } from "../files/fixed-bytes.ts";
import { parseRawEncKey } from "./enckey.ts";

export type KeystoreKdf =
  | { readonly name: "hkdf"; readonly salt: string } // encKey is 32 random bytes
  | {
      readonly name: "scrypt";
      readonly logN: number;
      readonly r: number;
      readonly p: number;
      readonly salt: string;
    };

/**
 * The cost of a passphrase: N = 2^18 takes 256 MiB and about a second. A file may ask for 2^17 …
 * 2^20.
 */
export const scryptLogNDefault = 18;
const scryptLogNMin = 17;
const scryptLogNMax = 20;
const scryptR = 8;
const scryptP = 1;
const saltBytes = 32;

export const scryptFields = object({
  name: oneOf("scrypt"),
  logN: integer(),
  r: integer(),
  p: integer(),
  salt: hex(saltBytes),
});
export const hkdfFields = object({ name: oneOf("hkdf"), salt: hex(saltBytes) });

/**
 * Returns the derivation for this encKey, with a new salt.
 * @throws AgentError KEYSTORE_COST
 */
export function newKdf(input: {
  readonly encKey: Uint8Array;
  readonly random: (bytes: number) => Uint8Array;
  readonly scryptLogN?: number;
}): KeystoreKdf {
  const { encKey, random, scryptLogN = scryptLogNDefault } = input;
  const salt = Buffer.from(random(saltBytes)).toString("hex");
  const raw = parseRawEncKey(encKey);
  const kdf: KeystoreKdf =
    raw === null
      ? { name: "scrypt", logN: scryptLogN, r: scryptR, p: scryptP, salt }
      : { name: "hkdf", salt };
  raw?.fill(0);
  assertKdfCost(kdf);
  return kdf;
}

/**
 * Checks the cost. A low cost would help an attacker who edited the file; a high cost would stop
 * the start.
 * @throws AgentError KEYSTORE_COST
 */
export function assertKdfCost(kdf: KeystoreKdf): void {
  if (kdf.name === "hkdf") return;
  const { logN, r, p } = kdf;
  if (logN < scryptLogNMin || logN > scryptLogNMax || r !== scryptR || p !== scryptP) {
    throw new AgentError(
      "KEYSTORE_COST",
      "none",
      "the keystore asks for a key derivation outside the allowed costs",
      {
        logN,
        r,
        p,
      },
    );
  }
}

/**
 * Returns the 32 bytes of a box's key; the caller wipes them. The header's hash goes in here
 * because secretbox itself covers only its contents. Takes about a second for a passphrase.
 * @throws AgentError KEYSTORE_ENCKEY if 32 bytes are needed and encKey is a passphrase
 */
export function deriveBoxKey(input: {
  readonly label: string;
  readonly header: string;
  readonly kdf: KeystoreKdf;
  readonly encKey: Uint8Array;
}): Uint8Array {
  const { label, header, kdf, encKey } = input;
  const salt = copyToFixedBytes(Buffer.from(kdf.salt, "hex"));
  const secret = kdf.name === "scrypt" ? stretched(encKey, salt, kdf) : parseRawEncKey(encKey);
  if (secret === null)
    throw new AgentError(
      "KEYSTORE_ENCKEY",
      "none",
      "the keystore was sealed with a key of 32 bytes, this is none",
    );
  const headerHash = createHash("sha256").update(header).digest();
  const info = Buffer.concat([Buffer.from(`${label}\n`), headerHash]);
  // Node's own HKDF keeps a copy of the secret in a key object until a later garbage collection.
  const key = hkdf(sha256, secret, salt, info, nacl.secretbox.keyLength);
  secret.fill(0);
  return key;
}

function stretched(
  encKey: Uint8Array,
  salt: Uint8Array,
  { logN, r, p }: { logN: number; r: number; p: number },
): Uint8Array {
  const N = 2 ** logN;
  // Node's own limit is 32 MiB; scrypt needs 128 · N · r and a little.
  return scryptSync(encKey, salt, 32, { N, r, p, maxmem: 128 * N * r + 64 * 1024 * 1024 });
}
