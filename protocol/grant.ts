/**
 * The gateway's answer to a pairing request: a grant under the key that apiKey names, and the code
 * that the operators of both sides compare. base32 is RFC 4648 section 6. docs/protocol.md sections
 * 3.2 and 3.3.
 */
import { type KeyObject, sign, verify } from "node:crypto";
import { AgentError } from "../base/fault.ts";
import { parseJson } from "../base/json.ts";
import { hex, object, oneOf, type Reader, string } from "../base/shape.ts";
import { publicKeyFromHex, publicKeyHex } from "./envelope.ts";
import * as fields from "./fields.ts";
import { domainHash } from "./identity.ts";
import { gatewayFingerprintOf, transcriptHashOf } from "./pairing.ts";

/** The gateway's answer, signed by the key whose fingerprint is inside apiKey. */
export interface PairingGrant {
  readonly version: 1;
  readonly agent: string;
  readonly merchant: string;
  readonly ledgerEpoch: number;
  readonly transcript: string; // SHA-256 of the transcript text, hex
  readonly at: number;
}

/** Most bytes of a grant's text. */
const grantBytesMax = 4096;

const grantShape: Reader<PairingGrant> = object({
  version: oneOf(1),
  agent: fields.agent,
  merchant: fields.merchant,
  ledgerEpoch: fields.ledgerEpoch,
  transcript: fields.hash,
  at: fields.time,
});

/** @throws AgentError JSON_*. */
function parseGrant(text: string | Uint8Array): PairingGrant {
  return grantShape(parseJson(text, { bytesMax: grantBytesMax, depthMax: 1 }), "grant");
}

/** The gateway's answer to a transcript as it crosses the wire. */
export interface SealedGrant {
  readonly grant: string; // exact text
  readonly gatewayKey: string; // Ed25519 public key, hex
  readonly signature: string; // hex
}

/** Signs a grant with the gateway's key. The same grant gives the same answer. */
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

/** Reads the body of the gateway's answer and verifies nothing. @throws AgentError JSON_*. */
export function parseSealedGrant(body: string | Uint8Array): SealedGrant {
  return sealedGrant(parseJson(body), "answer");
}

/**
 * Verifies the gateway's answer against the fingerprint inside apiKey and the transcript that was
 * sent.
 * @throws AgentError ENVELOPE_KEY, PAIRING_GATEWAY_KEY (another key than apiKey names),
 * PAIRING_GRANT (signature, or another transcript), JSON_*.
 */
export function openGrant(
  sealed: SealedGrant,
  expect: { readonly fingerprint: string; readonly transcript: string },
): { readonly grant: PairingGrant; readonly gatewayKey: string } {
  const publicKey = publicKeyFromHex(sealed.gatewayKey);
  if (gatewayFingerprintOf(sealed.gatewayKey) !== expect.fingerprint) {
    throw new AgentError(
      "PAIRING_GATEWAY_KEY",
      "unknown",
      "the gateway answered with another key than apiKey names",
    );
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
 * Eight letters like `ABCD-EFGH` that both sides print. An attacker who changes the transcript or
 * the grant on the way changes these letters.
 */
export function shortCodeOf(transcript: string, grant: string): string {
  const hash = domainHash(
    "short-code",
    Buffer.from(transcriptHashOf(transcript)),
    Buffer.from(grant),
  );
  let bits = BigInt(`0x${hash.slice(0, 10)}`);
  let letters = "";
  for (let index = 0; index < 8; index += 1) {
    letters = (base32[Number(bits & 31n)] ?? "") + letters;
    bits >>= 5n;
  }
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}
