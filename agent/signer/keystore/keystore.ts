/**
 * The encrypted wallet: account nodes and the signer's seed in a secretbox under a key from encKey, bound to a readable header.
 * Seals and opens texts; files are file.ts. Touches no disk and no randomness of its own. Format: docs/keystore.md.
 * Sources: NaCl secretbox (XSalsa20-Poly1305), RFC 5869 (HKDF), RFC 7914 (scrypt).
 */
import { createHash, hkdfSync, scryptSync } from "node:crypto";
import nacl from "tweetnacl";
import { AgentError, invariant } from "../../../protocol/fault.ts";
import { parseJson } from "../../../protocol/json.ts";
import { hex, integer, list, object, oneOf, string } from "../../../protocol/shape.ts";
import { assertEncKey, rawKey } from "./enckey.ts";
import { type AccountNodes, nodeBytes, walletOf, wipeNodes } from "./nodes.ts";
import { Secret } from "./secret.ts";

/**
 * What a keystore holds. `wallet` and `networks` stand readable in its header, the rest in the box.
 * @public
 */
export interface KeystoreContents {
  readonly wallet: string; // fingerprint, 16 bytes as hex
  readonly networks: readonly string[]; // CAIP-2, sorted
  readonly evm: AccountNodes;
  readonly signerSeed: Secret; // 32 bytes, Ed25519
}

/** @public */
export interface KeystoreHeader {
  readonly version: 1;
  readonly wallet: string;
  readonly networks: readonly string[];
  readonly kdf: KeystoreKdf;
}

/** @public */
export type KeystoreKdf =
  | { readonly name: "hkdf"; readonly salt: string } // encKey is 32 random bytes
  | { readonly name: "scrypt"; readonly logN: number; readonly r: number; readonly p: number; readonly salt: string };

/**
 * Cost of a passphrase: N = 2^18 takes 256 MiB and about a second. Bounds of what is read: 2^17 … 2^20.
 * @public
 */
export const scryptLogNDefault = 18;
const scryptLogNMin = 17;
const scryptLogNMax = 20;
const scryptR = 8;
const scryptP = 1;

const version = 1;
const saltBytes = 32;
const boxNonceBytes = 24;
const boxTagBytes = 16;
const evmFamily = 1;
/** version(1) ‖ signerSeed(32) ‖ family(1) ‖ account0(68) ‖ account1(68) */
const contentsBytes = 1 + 32 + 1 + 2 * nodeBytes;

const network = string({ min: 3, max: 41, pattern: /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/ });
const boxFields = {
  version: integer(),
  wallet: hex(16),
  networks: list(network, 64),
  boxNonce: hex(boxNonceBytes),
  box: hex(contentsBytes + boxTagBytes),
};
const scryptFile = object({
  ...boxFields,
  kdf: object({ name: oneOf("scrypt"), logN: integer(), r: integer(), p: integer(), salt: hex(saltBytes) }),
});
const hkdfFile = object({ ...boxFields, kdf: object({ name: oneOf("hkdf"), salt: hex(saltBytes) }) });

/**
 * Seals a wallet into the keystore's text. `contents` and `encKey` stay the caller's to wipe.
 * @throws AgentError ENCKEY_WEAK; KEYSTORE_WALLET when `wallet` is not the fingerprint of the nodes
 * @public
 */
export function sealKeystore(input: {
  readonly contents: KeystoreContents;
  readonly encKey: Uint8Array;
  readonly random: (bytes: number) => Uint8Array;
  readonly scryptLogN?: number;
}): string {
  const { contents, encKey, random, scryptLogN = scryptLogNDefault } = input;
  assertEncKey(encKey);
  assertWallet(contents);
  const salt = Buffer.from(random(saltBytes)).toString("hex");
  const raw = rawKey(encKey);
  const kdf: KeystoreKdf =
    raw === null ? { name: "scrypt", logN: scryptLogN, r: scryptR, p: scryptP, salt } : { name: "hkdf", salt };
  raw?.fill(0);
  assertCost(kdf);
  const header: KeystoreHeader = { version, wallet: contents.wallet, networks: contents.networks, kdf };
  const boxNonce = random(boxNonceBytes);
  const key = boxKey(header, encKey);
  const plain = encodeContents(contents);
  const box = nacl.secretbox(plain, boxNonce, key);
  plain.fill(0);
  key.fill(0);
  const file = { ...header, boxNonce: Buffer.from(boxNonce).toString("hex"), box: Buffer.from(box).toString("hex") };
  return `${JSON.stringify(file, null, 2)}\n`;
}

/**
 * Opens a keystore's text and checks that the keys inside are those of the wallet its header names. The caller wipes the contents
 * (`wipeKeystore`). Takes about a second for a passphrase.
 * @throws AgentError KEYSTORE_FORMAT, KEYSTORE_NEWER, KEYSTORE_COST, KEYSTORE_ENCKEY, KEYSTORE_WALLET
 * @public
 */
export function openKeystore(text: string, encKey: Uint8Array): KeystoreContents {
  const { header, boxNonce, box } = parseKeystore(text);
  const key = boxKey(header, encKey);
  const plain = nacl.secretbox.open(box, boxNonce, key);
  key.fill(0);
  if (plain === null)
    throw new AgentError("KEYSTORE_ENCKEY", "none", "the keystore does not open: wrong encKey, or it was changed");
  const contents = decodeContents(header, plain);
  plain.fill(0);
  try {
    assertWallet(contents);
  } catch (cause) {
    wipeKeystore(contents);
    throw cause;
  }
  return contents;
}

/**
 * What a keystore says about itself without being opened; nothing of it is proved. @throws as `openKeystore` does before the key
 * @public
 */
export function readKeystoreHeader(text: string): KeystoreHeader {
  return parseKeystore(text).header;
}

/**
 * Zeroes every secret in it. Twice is harmless.
 * @public
 */
export function wipeKeystore(contents: KeystoreContents): void {
  wipeNodes(contents.evm);
  contents.signerSeed.wipe();
}

function parseKeystore(text: string): {
  readonly header: KeystoreHeader;
  readonly boxNonce: Uint8Array;
  readonly box: Uint8Array;
} {
  let file: ReturnType<typeof scryptFile> | ReturnType<typeof hkdfFile>;
  try {
    const value = parseJson(text);
    const fields =
      typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : {};
    if (typeof fields.version === "number" && fields.version > version) {
      throw new AgentError("KEYSTORE_NEWER", "none", "the keystore is of a newer version", { version: fields.version });
    }
    const kdf = fields.kdf as { readonly name?: unknown } | null | undefined;
    file = kdf?.name === "hkdf" ? hkdfFile(value, "keystore") : scryptFile(value, "keystore");
  } catch (cause) {
    if (cause instanceof AgentError && cause.code === "KEYSTORE_NEWER") throw cause;
    throw new AgentError("KEYSTORE_FORMAT", "none", "the keystore file is damaged or not a keystore", {}, { cause });
  }
  if (file.version !== version) throw new AgentError("KEYSTORE_FORMAT", "none", "the keystore has no known version");
  assertCost(file.kdf);
  const header: KeystoreHeader = { version, wallet: file.wallet, networks: file.networks, kdf: file.kdf };
  return { header, boxNonce: bytesOf(file.boxNonce), box: bytesOf(file.box) };
}

/** Too cheap would help a thief who edited the file; too dear would stop the start. */
function assertCost(kdf: KeystoreKdf): void {
  if (kdf.name === "hkdf") return;
  const { logN, r, p } = kdf;
  if (logN < scryptLogNMin || logN > scryptLogNMax || r !== scryptR || p !== scryptP) {
    throw new AgentError("KEYSTORE_COST", "none", "the keystore asks for a key derivation outside the allowed costs", {
      logN,
      r,
      p,
    });
  }
}

/** The key of the box. The header's hash goes in here because secretbox itself binds nothing beside its contents. */
function boxKey(header: KeystoreHeader, encKey: Uint8Array): Uint8Array {
  const { kdf } = header;
  const salt = bytesOf(kdf.salt);
  const secret = kdf.name === "scrypt" ? stretched(encKey, salt, kdf) : rawKey(encKey);
  if (secret === null)
    throw new AgentError("KEYSTORE_ENCKEY", "none", "the keystore was sealed with a key of 32 bytes, this is none");
  const headerHash = createHash("sha256").update(headerText(header)).digest();
  const info = Buffer.concat([Buffer.from("autowithdraw/1 keystore\n"), headerHash]);
  const key = new Uint8Array(hkdfSync("sha256", secret, salt, info, nacl.secretbox.keyLength));
  secret.fill(0);
  return key;
}

function stretched(encKey: Uint8Array, salt: Uint8Array, { logN, r, p }: { logN: number; r: number; p: number }): Uint8Array {
  const N = 2 ** logN;
  // Node's own limit is 32 MiB; scrypt needs 128 · N · r and a little.
  return scryptSync(encKey, salt, 32, { N, r, p, maxmem: 128 * N * r + 64 * 1024 * 1024 });
}

/** The header as it is hashed: this order, no spaces. */
function headerText({ version: own, wallet, networks, kdf }: KeystoreHeader): string {
  const cost =
    kdf.name === "hkdf"
      ? { name: kdf.name, salt: kdf.salt }
      : { name: kdf.name, logN: kdf.logN, r: kdf.r, p: kdf.p, salt: kdf.salt };
  return JSON.stringify({ version: own, wallet, networks, kdf: cost });
}

function encodeContents({ evm, signerSeed }: KeystoreContents): Uint8Array {
  invariant(signerSeed.bytes.length === 32, "an Ed25519 seed has 32 bytes");
  const plain = new Uint8Array(contentsBytes);
  plain[0] = version;
  plain.set(signerSeed.bytes, 1);
  plain[33] = evmFamily;
  plain.set(evm.account0.bytes, 34);
  plain.set(evm.account1.bytes, 34 + nodeBytes);
  return plain;
}

function decodeContents({ wallet, networks }: KeystoreHeader, plain: Uint8Array): KeystoreContents {
  if (plain.length !== contentsBytes || plain[0] !== version || plain[33] !== evmFamily) {
    throw new AgentError("KEYSTORE_NEWER", "none", "the keystore's contents are of a newer version");
  }
  const account0 = new Secret(plain.slice(34, 34 + nodeBytes));
  const account1 = new Secret(plain.slice(34 + nodeBytes));
  return { wallet, networks, evm: { account0, account1 }, signerSeed: new Secret(plain.slice(1, 33)) };
}

function assertWallet({ wallet, evm }: KeystoreContents): void {
  if (walletOf(evm) !== wallet)
    throw new AgentError("KEYSTORE_WALLET", "none", "the keys are not those of the wallet named", { wallet });
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, "hex"));
}
