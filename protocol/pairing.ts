/**
 * Pairing binds an agent to a gateway before either has a key of the other. The agent proves the
 * API secret with a MAC over the transcript. Each key that the transcript names signs the
 * transcript: the signer's, the link's, and one for each account of the wallet. The gateway's
 * answer is grant.ts. HKDF is RFC 5869, HMAC RFC 2104. docs/protocol.md section 3.
 */
import {
  createHash,
  createHmac,
  hkdfSync,
  type KeyObject,
  sign,
  timingSafeEqual,
  verify,
} from "node:crypto";
import { AgentError } from "../base/fault.ts";
import { describeOddCharacter } from "../base/invisible.ts";
import { parseJson } from "../base/json.ts";
import { hex, integer, list, object, oneOf, type Reader, string } from "../base/shape.ts";
import { decimalMax } from "./amount.ts";
import { publicKeyFromHex } from "./envelope.ts";
import * as fields from "./fields.ts";
import { domainHash, walletFingerprintOf } from "./identity.ts";
import type { PairedAccount, PairedCurrency, PairingTranscript } from "./messages.ts";

/** Most bytes of a transcript's text. */
export const transcriptBytesMax = 65536;

export interface ApiKey {
  readonly keyId: string;
  readonly secret: Uint8Array; // UTF-8 bytes of the secret's text; the caller wipes them
  readonly fingerprint: string; // fingerprint of the gateway's key, hex
}

const apiKeyBytes = 18 + 1 + 43 + 1 + 32;

/**
 * Splits `<keyId>.<secret>.<fingerprint>`: k_ and 16 hex digits, 43 characters base64url (32
 * bytes), 32 hex digits. From bytes, the secret never becomes a string; the result owns its own
 * copy.
 * @throws AgentError PAIRING_API_KEY, which says nothing about the text.
 */
export function parseApiKey(text: string | Uint8Array): ApiKey {
  const bytes = Buffer.from(text);
  try {
    const oddity = describeOddCharacter(bytes);
    if (oddity !== "") throw apiKeyFault(`: it has ${oddity}`);
    if (bytes.length !== apiKeyBytes || bytes[18] !== 0x2e || bytes[62] !== 0x2e)
      throw apiKeyFault();
    const keyId = bytes.toString("latin1", 0, 18);
    const fingerprint = bytes.toString("latin1", 63);
    const plain =
      fields.keyIdPattern.test(keyId) &&
      /^[0-9a-f]{32}$/.test(fingerprint) &&
      isSecret(bytes.subarray(19, 62));
    if (!plain) throw apiKeyFault();
    return { keyId, secret: Uint8Array.from(bytes.subarray(19, 62)), fingerprint };
  } finally {
    bytes.fill(0);
  }
}

function apiKeyFault(why = ""): AgentError {
  return new AgentError("PAIRING_API_KEY", "none", `apiKey is not keyId.secret.fingerprint${why}`);
}

/**
 * Base64url. The last of 43 characters carries only four bits, so each secret has only one text.
 */
function isSecret(secret: Uint8Array): boolean {
  const plain = secret.every(
    (byte) =>
      (byte >= 0x30 && byte <= 0x39) ||
      (byte >= 0x41 && byte <= 0x5a) ||
      (byte >= 0x61 && byte <= 0x7a) ||
      byte === 0x2d ||
      byte === 0x5f,
  );
  return plain && lastCharacters.includes(secret[42] ?? 0);
}

const lastCharacters = Buffer.from("AEIMQUYcgkosw048");

/**
 * The fingerprint that an apiKey carries: first 16 bytes of SHA-256 of the raw public key, hex.
 * @throws AgentError ENVELOPE_KEY.
 */
export function gatewayFingerprintOf(gatewayKey: string): string {
  publicKeyFromHex(gatewayKey);
  return createHash("sha256").update(gatewayKey, "hex").digest("hex").slice(0, 32);
}

/** HMAC-SHA256 over the transcript's text under a key made from the API secret, hex. */
export function transcriptMac(secret: Uint8Array, transcript: string): string {
  const key = new Uint8Array(
    hkdfSync("sha256", secret, new Uint8Array(0), "autowithdraw/1 pairing", 32),
  );
  try {
    return createHmac("sha256", key).update(transcript).digest("hex");
  } finally {
    key.fill(0);
  }
}

/**
 * True if `mac` is the transcript's; compares in constant time. False for any text that is not a
 * MAC.
 */
export function transcriptMacFits(secret: Uint8Array, transcript: string, mac: string): boolean {
  if (!/^[0-9a-f]{64}$/.test(mac)) return false;
  return timingSafeEqual(
    Buffer.from(mac, "hex"),
    Buffer.from(transcriptMac(secret, transcript), "hex"),
  );
}

/**
 * The signatures of the signer process over a transcript: its own, and for each account, in the
 * transcript's order, the proof of the account's key in the form of its family. All hex.
 */
export interface SignerTranscriptProofs {
  readonly signerSignature: string;
  readonly proofs: readonly string[];
}

/**
 * The body of the pairing request: the transcript's exact text, its MAC, and the signature of each
 * key.
 */
export interface SealedTranscript extends SignerTranscriptProofs {
  readonly transcript: string;
  readonly mac: string; // hex
  readonly linkSignature: string; // hex
}

/**
 * Makes the body of the pairing request. `secret` is the secret inside apiKey, `linkKey` the
 * private half of the link key that the transcript names, `proven` the result of the signer
 * process. The same input gives the same body.
 */
export function sealTranscript(
  transcript: string,
  by: {
    readonly secret: Uint8Array;
    readonly linkKey: KeyObject;
    readonly proven: SignerTranscriptProofs;
  },
): SealedTranscript {
  const { signerSignature, proofs } = by.proven;
  const mac = transcriptMac(by.secret, transcript);
  return {
    transcript,
    mac,
    linkSignature: signTranscript(transcript, by.linkKey),
    signerSignature,
    proofs,
  };
}

/** The signature of one of the agent's two keys over the transcript, hex. */
export function signTranscript(transcript: string, key: KeyObject): string {
  return sign(null, signedTranscript(transcript), key).toString("hex");
}

/**
 * True if `signature` is a signature of `publicKey` (hex) over the transcript. False for any text
 * that is not a signature.
 * @throws AgentError ENVELOPE_KEY for an unusable key.
 */
export function transcriptSignatureFits(
  publicKey: string,
  transcript: string,
  signature: string,
): boolean {
  const key = publicKeyFromHex(publicKey);
  if (!/^[0-9a-f]{128}$/.test(signature)) return false;
  return verify(null, signedTranscript(transcript), key, Buffer.from(signature, "hex"));
}

function signedTranscript(transcript: string): Uint8Array {
  return Buffer.from(`autowithdraw/1 pairing\n${transcript}`);
}

/**
 * The 32 bytes that the key of each account signs. The digest belongs only to this pairing, and no
 * transaction has such a digest.
 */
export function accountDigestOf(transcript: string): Uint8Array {
  return Buffer.from(domainHash("account", Buffer.from(transcript)), "hex");
}

const accountsMax = 16;

const sealedTranscript: Reader<SealedTranscript> = object({
  transcript: string({ min: 2, max: transcriptBytesMax }),
  mac: hex(32),
  linkSignature: hex(64),
  signerSignature: hex(64),
  proofs: list(string({ min: 2, max: 512, pattern: /^(?:[0-9a-f]{2})+$/ }), accountsMax),
});

/**
 * Reads the body of the pairing request; neither MAC nor signatures are checked. @throws AgentError
 * JSON_*.
 */
export function parseSealedTranscript(body: string | Uint8Array): SealedTranscript {
  // The body escapes every quote of the transcript a second time.
  const limits = { bytesMax: transcriptBytesMax * 2, stringBytesMax: transcriptBytesMax };
  return sealedTranscript(parseJson(body, limits), "request");
}

/** SHA-256 of the transcript's text under its domain, hex; a grant names this hash. */
export function transcriptHashOf(transcript: string): string {
  return domainHash("transcript", Buffer.from(transcript));
}

/** Visible ASCII. An extended private key of any family is never sent. */
const accountId = string({ min: 1, max: 128, pattern: /^(?![a-zA-Z]prv)[\x21-\x7e]+$/ });

const pairedAccount: Reader<PairedAccount> = object({
  family: string({ min: 1, max: 16, pattern: /^[a-z][a-z0-9]*$/ }),
  purpose: oneOf("hot", "deposits"),
  id: accountId,
});

/** The gateway decides which families exist. This check only refuses a family that occurs twice. */
function isInPairs(accounts: readonly PairedAccount[]): boolean {
  const families = new Set(accounts.map(({ family }) => family));
  const isPaired = accounts.every(
    ({ family, purpose }, at) =>
      purpose === (at % 2 === 0 ? "hot" : "deposits") && family === accounts[at - (at % 2)]?.family,
  );
  return isPaired && accounts.length > 0 && accounts.length === 2 * families.size;
}

const pairedCurrency: Reader<PairedCurrency> = object({
  id: fields.currency,
  network: fields.network,
  contract: fields.destination,
  decimal: integer({ max: decimalMax }),
  maxFee: fields.amount,
});

const transcriptShape: Reader<PairingTranscript> = object({
  version: oneOf(1),
  keyId: fields.keyId,
  gatewayFingerprint: hex(16),
  signerKey: fields.publicKey,
  linkKey: fields.publicKey,
  wallet: fields.wallet,
  networks: list(fields.network, 64),
  accounts: list(pairedAccount, accountsMax),
  currencies: list(pairedCurrency, 512),
  nonce: fields.nonce,
  at: fields.time,
});

/**
 * Reads a transcript and checks that it agrees with itself. The two keys are usable and differ.
 * Each family has one hot wallet and then one deposit account, and the fingerprint is made from
 * them. Networks and currency ids are sorted without repeats, and every currency is on a named
 * network.
 * @throws AgentError JSON_*, ENVELOPE_KEY, PAIRING_TRANSCRIPT.
 */
export function parseTranscript(text: string | Uint8Array): PairingTranscript {
  const json = parseJson(text, { bytesMax: transcriptBytesMax });
  const transcript = transcriptShape(json, "transcript");
  const agrees = (holds: boolean, problem: string): void => {
    if (!holds)
      throw new AgentError(
        "PAIRING_TRANSCRIPT",
        "none",
        `the transcript contradicts itself: ${problem}`,
      );
  };
  publicKeyFromHex(transcript.signerKey);
  publicKeyFromHex(transcript.linkKey);
  agrees(transcript.signerKey !== transcript.linkKey, "signerKey and linkKey are the same key");
  agrees(
    isInPairs(transcript.accounts),
    "accounts are one hot and then one deposit account of each family",
  );
  agrees(
    walletFingerprintOf(transcript.accounts) === transcript.wallet,
    "wallet is not the fingerprint of its accounts",
  );
  agrees(rises(transcript.networks), "networks are not sorted or repeat");
  agrees(
    rises(transcript.currencies.map((currency) => currency.id)),
    "currencies are not sorted or repeat",
  );
  agrees(
    transcript.currencies.every((currency) => transcript.networks.includes(currency.network)),
    "a currency's network is not among the networks",
  );
  return transcript;
}

/** Compares by UTF-16 units; for these ASCII names the order equals the order of their bytes. */
function rises(texts: readonly string[]): boolean {
  return texts.every((text, index) => index === 0 || (texts[index - 1] as string) < text);
}
