/**
 * Pairing: what binds an agent to a gateway before either has a key of the other. The agent proves the API secret with a MAC and
 * its link key with a signature over the transcript; the gateway proves the key that apiKey names with a signature over its grant;
 * people compare a code.
 * HKDF is RFC 5869, HMAC RFC 2104, base32 RFC 4648 section 6. docs/protocol.md section 3.
 */
import { createHash, createHmac, hkdfSync, type KeyObject, sign, timingSafeEqual, verify } from "node:crypto";
import { decimalMax } from "./amount.ts";
import { publicKeyFromHex, publicKeyHex } from "./envelope.ts";
import { AgentError } from "./fault.ts";
import * as fields from "./fields.ts";
import { domainHash, walletFingerprintOf } from "./identity.ts";
import { parseJson } from "./json.ts";
import type { PairedAccount, PairedCurrency, PairingGrant, PairingTranscript } from "./messages.ts";
import { hex, integer, list, object, oneOf, type Reader, string } from "./shape.ts";

/**
 * Most bytes of a transcript's text.
 * @public
 */
export const transcriptBytesMax = 65536;

/** Most bytes of a grant's text. */
const grantBytesMax = 4096;

/** @public */
export interface ApiKey {
  readonly keyId: string;
  readonly secret: Uint8Array; // UTF-8 bytes of the secret's text; the caller wipes them
  readonly fingerprint: string; // of the gateway's key, hex
}

const apiKeyBytes = 18 + 1 + 43 + 1 + 32;

/**
 * Splits `<keyId>.<secret>.<fingerprint>`: k_ and 16 hex digits, 43 characters base64url (32 bytes), 32 hex digits. Given bytes, it
 * never makes the secret a string; the result owns its own copy.
 * @throws AgentError PAIRING_API_KEY, which says nothing about the text.
 * @public
 */
export function parseApiKey(text: string | Uint8Array): ApiKey {
  const bytes = Buffer.from(text);
  try {
    if (bytes.length !== apiKeyBytes || bytes[18] !== 0x2e || bytes[62] !== 0x2e) throw apiKeyFault();
    const keyId = bytes.toString("latin1", 0, 18);
    const fingerprint = bytes.toString("latin1", 63);
    const plain = fields.keyIdPattern.test(keyId) && /^[0-9a-f]{32}$/.test(fingerprint) && isSecret(bytes.subarray(19, 62));
    if (!plain) throw apiKeyFault();
    return { keyId, secret: Uint8Array.from(bytes.subarray(19, 62)), fingerprint };
  } finally {
    bytes.fill(0);
  }
}

function apiKeyFault(): AgentError {
  return new AgentError("PAIRING_API_KEY", "none", "apiKey is not keyId.secret.fingerprint");
}

/** Base64url, and the last of 43 characters carries only four bits: one text per secret. */
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
 * The fingerprint that an apiKey carries: first 16 bytes of SHA-256 of the raw public key, hex. @throws AgentError ENVELOPE_KEY.
 * @public
 */
export function gatewayFingerprintOf(gatewayKey: string): string {
  publicKeyFromHex(gatewayKey);
  return createHash("sha256").update(gatewayKey, "hex").digest("hex").slice(0, 32);
}

/**
 * HMAC-SHA256 over the transcript's text under a key made from the API secret, hex.
 * @public
 */
export function transcriptMac(secret: Uint8Array, transcript: string): string {
  const key = new Uint8Array(hkdfSync("sha256", secret, new Uint8Array(0), "autowithdraw/1 pairing", 32));
  try {
    return createHmac("sha256", key).update(transcript).digest("hex");
  } finally {
    key.fill(0);
  }
}

/**
 * Whether `mac` is the transcript's, compared in constant time. False for anything that is not a MAC at all.
 * @public
 */
export function transcriptMacFits(secret: Uint8Array, transcript: string, mac: string): boolean {
  if (!/^[0-9a-f]{64}$/.test(mac)) return false;
  return timingSafeEqual(Buffer.from(mac, "hex"), Buffer.from(transcriptMac(secret, transcript), "hex"));
}

/**
 * The body of the pairing request: the transcript's exact text, its MAC, and the link key's signature.
 * @public
 */
export interface SealedTranscript {
  readonly transcript: string;
  readonly mac: string; // hex
  readonly signature: string; // hex
}

/**
 * Makes the body of the pairing request: `secret` is the one inside apiKey, `linkKey` the private half of the one that the
 * transcript names. The same input gives the same body.
 * @public
 */
export function sealTranscript(
  transcript: string,
  by: { readonly secret: Uint8Array; readonly linkKey: KeyObject },
): SealedTranscript {
  const signature = sign(null, signedTranscript(transcript), by.linkKey).toString("hex");
  return { transcript, mac: transcriptMac(by.secret, transcript), signature };
}

/**
 * Whether `signature` is one of `linkKey` (hex) over the transcript. False for anything that is not a signature at all.
 * @throws AgentError ENVELOPE_KEY for an unusable key.
 * @public
 */
export function transcriptSignatureFits(linkKey: string, transcript: string, signature: string): boolean {
  const publicKey = publicKeyFromHex(linkKey);
  if (!/^[0-9a-f]{128}$/.test(signature)) return false;
  return verify(null, signedTranscript(transcript), publicKey, Buffer.from(signature, "hex"));
}

function signedTranscript(transcript: string): Uint8Array {
  return Buffer.from(`autowithdraw/1 pairing\n${transcript}`);
}

const sealedTranscript: Reader<SealedTranscript> = object({
  transcript: string({ min: 2, max: transcriptBytesMax }),
  mac: hex(32),
  signature: hex(64),
});

/**
 * Reads the body of the pairing request; neither MAC nor signature is checked. @throws AgentError JSON_*.
 * @public
 */
export function parseSealedTranscript(body: string | Uint8Array): SealedTranscript {
  // Every quote of the transcript is escaped once more inside the body.
  const limits = { bytesMax: transcriptBytesMax * 2, stringBytesMax: transcriptBytesMax };
  return sealedTranscript(parseJson(body, limits), "request");
}

/**
 * SHA-256 of the transcript's text under its domain, hex: what a grant names.
 * @public
 */
export function transcriptHashOf(transcript: string): string {
  return domainHash("transcript", Buffer.from(transcript));
}

const pairedAccount: Reader<PairedAccount> = object({
  family: oneOf("evm"),
  address: string({ max: 42, pattern: /^0x[0-9a-fA-F]{40}$/ }),
  depositXpub: string({ max: 112, pattern: /^xpub[1-9A-HJ-NP-Za-km-z]{107}$/ }),
});

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
  accounts: list(pairedAccount, 16),
  currencies: list(pairedCurrency, 512),
  nonce: fields.nonce,
  at: fields.time,
});

/**
 * Reads a transcript and checks it against itself: two different usable keys, one account per family, the wallet's fingerprint
 * made from that account, networks and currency ids sorted without repeats, every currency on a named network.
 * @throws AgentError JSON_*, ENVELOPE_KEY, PAIRING_TRANSCRIPT.
 * @public
 */
export function parseTranscript(text: string | Uint8Array): PairingTranscript {
  const transcript = transcriptShape(parseJson(text, { bytesMax: transcriptBytesMax }), "transcript");
  publicKeyFromHex(transcript.signerKey);
  publicKeyFromHex(transcript.linkKey);
  const demand = (holds: boolean, problem: string): void => {
    if (!holds) throw new AgentError("PAIRING_TRANSCRIPT", "none", `the transcript contradicts itself: ${problem}`);
  };
  demand(transcript.signerKey !== transcript.linkKey, "signerKey and linkKey are the same key");
  const [account, ...more] = transcript.accounts;
  demand(account !== undefined && more.length === 0, "not exactly one account of the family evm");
  if (account !== undefined) {
    const wallet = walletFingerprintOf({ hotAddress: account.address, depositXpub: account.depositXpub });
    demand(wallet === transcript.wallet, "wallet is not the fingerprint of its account");
  }
  demand(rises(transcript.networks), "networks are not sorted or repeat");
  demand(rises(transcript.currencies.map((currency) => currency.id)), "currencies are not sorted or repeat");
  demand(
    transcript.currencies.every((currency) => transcript.networks.includes(currency.network)),
    "a currency's network is not among the networks",
  );
  return transcript;
}

/** By UTF-16 units, which for these ASCII names is the order of their bytes. */
function rises(texts: readonly string[]): boolean {
  return texts.every((text, index) => index === 0 || (texts[index - 1] as string) < text);
}

const grantShape: Reader<PairingGrant> = object({
  version: oneOf(1),
  agent: fields.agent,
  merchant: fields.merchant,
  epoch: fields.epoch,
  transcript: fields.hash,
  at: fields.time,
});

/** @throws AgentError JSON_*. */
function parseGrant(text: string | Uint8Array): PairingGrant {
  return grantShape(parseJson(text, { bytesMax: grantBytesMax, depthMax: 1 }), "grant");
}

/**
 * The gateway's answer to a transcript as it crosses the wire.
 * @public
 */
export interface SealedGrant {
  readonly grant: string; // exact text
  readonly gatewayKey: string; // Ed25519 public key, hex
  readonly signature: string; // hex
}

/**
 * Signs a grant with the gateway's key. The same grant gives the same answer.
 * @public
 */
export function sealGrant(grant: PairingGrant, privateKey: KeyObject): SealedGrant {
  const text = JSON.stringify(grant);
  return {
    grant: text,
    gatewayKey: publicKeyHex(privateKey),
    signature: sign(null, signedGrant(text), privateKey).toString("hex"),
  };
}

const sealedGrant: Reader<SealedGrant> = object({
  grant: string({ min: 2, max: grantBytesMax }),
  gatewayKey: fields.publicKey,
  signature: hex(64),
});

/**
 * Reads the body of the gateway's answer; nothing verified. @throws AgentError JSON_*.
 * @public
 */
export function parseSealedGrant(body: string | Uint8Array): SealedGrant {
  return sealedGrant(parseJson(body), "answer");
}

/**
 * Verifies the gateway's answer against the fingerprint inside apiKey and the transcript that was sent.
 * @throws AgentError ENVELOPE_KEY, PAIRING_GATEWAY_KEY (another key than apiKey names), PAIRING_GRANT (signature, or another
 * transcript), JSON_*.
 * @public
 */
export function openGrant(
  sealed: SealedGrant,
  expect: { readonly fingerprint: string; readonly transcript: string },
): { readonly grant: PairingGrant; readonly gatewayKey: string } {
  const publicKey = publicKeyFromHex(sealed.gatewayKey);
  if (gatewayFingerprintOf(sealed.gatewayKey) !== expect.fingerprint) {
    throw new AgentError("PAIRING_GATEWAY_KEY", "unknown", "the gateway answered with another key than apiKey names");
  }
  if (!verify(null, signedGrant(sealed.grant), publicKey, Buffer.from(sealed.signature, "hex"))) {
    throw new AgentError("PAIRING_GRANT", "unknown", "the grant's signature does not fit");
  }
  const grant = parseGrant(sealed.grant);
  if (grant.transcript !== transcriptHashOf(expect.transcript)) {
    throw new AgentError("PAIRING_GRANT", "unknown", "the grant answers another transcript");
  }
  return { grant, gatewayKey: sealed.gatewayKey };
}

function signedGrant(text: string): Uint8Array {
  return Buffer.from(`autowithdraw/1 grant\n${text}`);
}

const base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/**
 * Eight letters like `ABCD-EFGH` that both sides print: whoever changed transcript or grant on the way changes them.
 * @public
 */
export function shortCodeOf(transcript: string, grant: string): string {
  const hash = domainHash("short-code", Buffer.from(transcriptHashOf(transcript)), Buffer.from(grant));
  let bits = BigInt(`0x${hash.slice(0, 10)}`);
  let letters = "";
  for (let index = 0; index < 8; index += 1) {
    letters = (base32[Number(bits & 31n)] ?? "") + letters;
    bits >>= 5n;
  }
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}
