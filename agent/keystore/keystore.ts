/**
 * The encrypted wallet: accounts by family and the signer's seed in a secretbox, under a key from
 * encKey and tied to a readable header. Seals and opens texts; file.ts handles files. Touches no
 * disk and no randomness of its own. Format: docs/keystore.md. Sources: NaCl secretbox
 * (XSalsa20-Poly1305), RFC 5869 (HKDF), RFC 7914 (scrypt).
 */
import nacl from "tweetnacl";
import { AgentError, invariant } from "../../base/fault.ts";
import { parseJson } from "../../base/json.ts";
import { hex, integer, list, object, type Reader, string } from "../../base/shape.ts";
import { findFamilyOfAddressSpace } from "../../chains/families.ts";
import { allocateFixedBytes, copyToFixedBytes } from "../files/fixed-bytes.ts";
import {
  assertKdfCost,
  deriveBoxKey,
  hkdfFields,
  type KeystoreKdf,
  newKdf,
  scryptFields,
} from "./box-key.ts";
import { assertEncKey } from "./enckey.ts";
import {
  accountNodeLength,
  type WalletAccount,
  walletFingerprintOfAccounts,
  wipeAccounts,
} from "./nodes.ts";
import { Secret } from "./secret.ts";

/**
 * The content of a keystore. `wallet` and `networks` are readable in its header, the rest is in the
 * box.
 */
export interface KeystoreContents {
  readonly wallet: string; // fingerprint, 16 bytes as hex
  readonly networks: readonly string[]; // CAIP-2, sorted
  readonly accounts: readonly WalletAccount[]; // in the order of the fingerprint
  readonly signerSeed: Secret; // 32 bytes, Ed25519
}

export interface KeystoreHeader {
  readonly version: 1;
  readonly wallet: string;
  readonly networks: readonly string[];
  readonly kdf: KeystoreKdf;
}

const version = 1;
const boxNonceBytes = 24;
const boxTagBytes = 16;
/** version(1) ‖ signerSeed(32) ‖ count(1) ‖ that many accounts */
const fixedPart = 1 + 32 + 1;
/** length(1) ‖ family(length, ASCII) ‖ purpose(1) ‖ number(4) ‖ node(68) */
const accountBytes = (family: string): number => 1 + family.length + 1 + 4 + accountNodeLength;
const purposes = ["hot", "deposits"] as const;
const accountsMax = 64;
const familyBytesMax = 16;
const contentsBytesMax = fixedPart + accountsMax * accountBytes("x".repeat(familyBytesMax));

const network = string({ min: 3, max: 41, pattern: /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/ });
const boxFields = {
  version: integer(),
  wallet: hex(16),
  networks: list(network, 64),
  boxNonce: hex(boxNonceBytes),
  box: boxText(),
};
const scryptFile = object({ ...boxFields, kdf: scryptFields });
const hkdfFile = object({ ...boxFields, kdf: hkdfFields });

/**
 * Seals a wallet into the keystore's text. The caller wipes `contents` and `encKey`.
 * @throws AgentError ENCKEY_WEAK; KEYSTORE_WALLET if `wallet` is not the fingerprint of the nodes
 */
export function sealKeystore(input: {
  readonly contents: KeystoreContents;
  readonly encKey: Uint8Array;
  readonly random: (bytes: number) => Uint8Array;
  readonly scryptLogN?: number;
}): string {
  const { contents, encKey, random, scryptLogN } = input;
  assertEncKey(encKey);
  assertWallet(contents);
  const kdf = newKdf({ encKey, random, ...(scryptLogN === undefined ? {} : { scryptLogN }) });
  const header: KeystoreHeader = {
    version,
    wallet: contents.wallet,
    networks: contents.networks,
    kdf,
  };
  const boxNonce = random(boxNonceBytes);
  const key = keyOf(header, encKey);
  const plain = encodeContents(contents);
  const box = nacl.secretbox(plain, boxNonce, key);
  plain.fill(0);
  key.fill(0);
  const file = {
    ...header,
    boxNonce: Buffer.from(boxNonce).toString("hex"),
    box: Buffer.from(box).toString("hex"),
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

/**
 * Opens a keystore's text and checks that the keys inside belong to the wallet in its header. The
 * caller wipes the contents (`wipeKeystore`). Takes about a second for a passphrase.
 * @throws AgentError KEYSTORE_FORMAT, KEYSTORE_NEWER, KEYSTORE_COST, KEYSTORE_ENCKEY,
 * KEYSTORE_WALLET
 */
export function openKeystore(text: string, encKey: Uint8Array): KeystoreContents {
  const { header, boxNonce, box } = parseKeystore(text);
  const key = keyOf(header, encKey);
  const plain = nacl.secretbox.open(box, boxNonce, key);
  key.fill(0);
  if (plain === null)
    throw new AgentError(
      "KEYSTORE_ENCKEY",
      "none",
      "the keystore does not open: wrong encKey, or it was changed",
    );
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
 * Returns the header of a closed keystore; nothing in it is proved. @throws as `openKeystore` does
 * before the key
 */
export function readKeystoreHeader(text: string): KeystoreHeader {
  return parseKeystore(text).header;
}

/** Zeroes every secret in the contents. A second call is harmless. */
export function wipeKeystore(contents: KeystoreContents): void {
  wipeAccounts(contents.accounts);
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
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? (value as Readonly<Record<string, unknown>>)
        : {};
    if (typeof fields.version === "number" && fields.version > version) {
      throw new AgentError("KEYSTORE_NEWER", "none", "the keystore is of a newer version", {
        version: fields.version,
      });
    }
    const kdf = fields.kdf as { readonly name?: unknown } | null | undefined;
    file = kdf?.name === "hkdf" ? hkdfFile(value, "keystore") : scryptFile(value, "keystore");
  } catch (cause) {
    if (cause instanceof AgentError && cause.code === "KEYSTORE_NEWER") throw cause;
    throw new AgentError(
      "KEYSTORE_FORMAT",
      "none",
      "the keystore file is damaged or not a keystore",
      {},
      { cause },
    );
  }
  if (file.version !== version)
    throw new AgentError("KEYSTORE_FORMAT", "none", "the keystore has no known version");
  assertKdfCost(file.kdf);
  const header: KeystoreHeader = {
    version,
    wallet: file.wallet,
    networks: file.networks,
    kdf: file.kdf,
  };
  return { header, boxNonce: bytesOf(file.boxNonce), box: bytesOf(file.box) };
}

function keyOf(header: KeystoreHeader, encKey: Uint8Array): Uint8Array {
  return deriveBoxKey({
    label: "autowithdraw/1 keystore",
    header: headerText(header),
    kdf: header.kdf,
    encKey,
  });
}

/** Returns the header as it is hashed: in this order, without spaces. */
function headerText({ version: own, wallet, networks, kdf }: KeystoreHeader): string {
  const cost =
    kdf.name === "hkdf"
      ? { name: kdf.name, salt: kdf.salt }
      : { name: kdf.name, logN: kdf.logN, r: kdf.r, p: kdf.p, salt: kdf.salt };
  return JSON.stringify({ version: own, wallet, networks, kdf: cost });
}

function encodeContents({ accounts, signerSeed }: KeystoreContents): Uint8Array {
  invariant(signerSeed.bytes.length === 32, "an Ed25519 seed has 32 bytes");
  invariant(accounts.length <= accountsMax, "a wallet has so many accounts at most");
  const plain = allocateFixedBytes(
    accounts.reduce((sum, { family }) => sum + accountBytes(family), fixedPart),
  );
  plain[0] = version;
  plain.set(signerSeed.bytes, 1);
  plain[33] = accounts.length;
  let at = fixedPart;
  for (const { family, purpose, number, node } of accounts) {
    plain[at] = family.length;
    plain.set(Buffer.from(family, "latin1"), at + 1);
    at += 1 + family.length;
    plain[at] = purposes.indexOf(purpose);
    new DataView(plain.buffer, plain.byteOffset).setUint32(at + 1, number);
    plain.set(node.bytes, at + 5);
    at += 5 + accountNodeLength;
  }
  return plain;
}

/**
 * Decodes the box. An account of an unknown family makes the complete keystore one of a newer
 * version.
 */
function decodeContents({ wallet, networks }: KeystoreHeader, plain: Uint8Array): KeystoreContents {
  const accounts: WalletAccount[] = [];
  let at = fixedPart;
  for (let left = plain[0] === version ? (plain[33] ?? 0) : 0; left > 0; left -= 1) {
    const length = plain[at] ?? 0;
    const name = Buffer.from(plain.subarray(at + 1, at + 1 + length)).toString("latin1");
    at += 1 + length;
    const family = findFamilyOfAddressSpace(name)?.addressSpace.name;
    const purpose = purposes[plain[at] ?? purposes.length];
    if (family === undefined || purpose === undefined || at + 5 + accountNodeLength > plain.length)
      break;
    const number = new DataView(plain.buffer, plain.byteOffset).getUint32(at + 1);
    accounts.push({
      family,
      purpose,
      number,
      node: new Secret(copyToFixedBytes(plain.subarray(at + 5, at + 5 + accountNodeLength))),
    });
    at += 5 + accountNodeLength;
  }
  if (plain[0] !== version || accounts.length !== plain[33] || at !== plain.length) {
    wipeAccounts(accounts);
    throw new AgentError(
      "KEYSTORE_NEWER",
      "none",
      "the keystore's contents are of a newer version",
    );
  }
  return {
    wallet,
    networks,
    accounts,
    signerSeed: new Secret(copyToFixedBytes(plain.subarray(1, 33))),
  };
}

function assertWallet({ wallet, accounts }: KeystoreContents): void {
  if (walletFingerprintOfAccounts(accounts) !== wallet)
    throw new AgentError("KEYSTORE_WALLET", "none", "the keys are not those of the wallet named", {
      wallet,
    });
}

/** Reads the hex text of a box with as many bytes as a wallet can have. */
function boxText(): Reader<string> {
  const [min, max] = [fixedPart + boxTagBytes, contentsBytesMax + boxTagBytes];
  return string({ min: 2 * min, max: 2 * max, pattern: /^(?:[0-9a-f]{2})+$/ });
}

function bytesOf(text: string): Uint8Array {
  return copyToFixedBytes(Buffer.from(text, "hex"));
}
