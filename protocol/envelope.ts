/**
 * The signed envelope around every payload: version(1) ‖ kind(1) ‖ signature(64) ‖ payload. The
 * signature is Ed25519 over utf8("autowithdraw/1 <kind>\n") ‖ payload and is verified before a byte
 * of the payload is parsed. Ed25519 is node's own (RFC 8032 section 5.1); the layout and the
 * refused keys are docs/protocol.md section 2.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { AgentError, invariant } from "../base/fault.ts";
import { type EnvelopeKind, envelopeKinds } from "./messages.ts";
import { isUsablePoint } from "./point.ts";

/** Largest frame an agent accepts, in bytes. */
export const agentFrameBytesMax = 65536;

/** Largest frame a gateway accepts, in bytes. */
export const gatewayFrameBytesMax = 262144;

/** Bytes of a frame before its payload. */
export const envelopeHeaderBytes = 66;

const envelopeVersion = 1;
const signatureAt = 2;

const kindOfByte = new Map<number, EnvelopeKind>();
const domainOfKind = new Map<EnvelopeKind, Uint8Array>();
for (const [kind, byte] of Object.entries(envelopeKinds) as [EnvelopeKind, number][]) {
  kindOfByte.set(byte, kind);
  domainOfKind.set(kind, Buffer.from(`autowithdraw/1 ${kind}\n`));
}

/** Signs a payload, objects as JSON, into one frame. The same input gives the same frame. */
export function sealEnvelope(
  kind: EnvelopeKind,
  payload: object | Uint8Array,
  privateKey: KeyObject,
): Uint8Array {
  const bytes = payload instanceof Uint8Array ? payload : Buffer.from(JSON.stringify(payload));
  const signature = sign(null, signedBytes(kind, bytes), privateKey);
  return Buffer.concat([Uint8Array.of(envelopeVersion, envelopeKinds[kind]), signature, bytes]);
}

/**
 * Signs the text of one job with the gateway's key, 64 bytes as hex. The signature stays with the
 * job after the envelope is gone, so a gateway that was restored from a backup can accept its own
 * order from an agent.
 */
export function signJob(text: string, privateKey: KeyObject): string {
  return sign(null, jobBytes(text), privateKey).toString("hex");
}

export function verifyJobSignature(text: string, signature: string, publicKey: KeyObject): boolean {
  return verify(null, jobBytes(text), publicKey, Buffer.from(signature, "hex"));
}

function jobBytes(text: string): Uint8Array {
  return Buffer.from(`autowithdraw/1 job\n${text}`);
}

export interface EnvelopeExpectation {
  readonly kind?: EnvelopeKind;
  readonly kinds?: readonly EnvelopeKind[]; // used when `kind` is absent
  readonly publicKey: KeyObject;
  readonly bytesMax: number; // size of the complete frame
}

/**
 * Verifies a frame and returns its kind and payload. The payload is a view into `frame`: the caller
 * must not change the frame while the payload is in use.
 * @throws AgentError ENVELOPE_SIZE, ENVELOPE_VERSION, ENVELOPE_KIND, ENVELOPE_SIGNATURE, checked in
 * this order.
 */
export function openEnvelope(
  frame: Uint8Array,
  expect: EnvelopeExpectation,
): { readonly kind: EnvelopeKind; readonly payload: Uint8Array } {
  if (frame.length <= envelopeHeaderBytes || frame.length > expect.bytesMax) {
    throw new AgentError("ENVELOPE_SIZE", "none", "an envelope of a size that cannot be", {
      bytes: frame.length,
    });
  }
  if (frame[0] !== envelopeVersion) {
    throw new AgentError("ENVELOPE_VERSION", "none", "an envelope of an unknown version", {
      version: frame[0] ?? 0,
    });
  }
  const kind = kindOfByte.get(frame[1] ?? 0);
  const wanted =
    kind !== undefined &&
    (expect.kind === undefined ? expect.kinds?.includes(kind) === true : expect.kind === kind);
  if (!wanted)
    throw new AgentError("ENVELOPE_KIND", "none", "an envelope of a kind not expected here", {
      kind: frame[1] ?? 0,
    });
  const payload = frame.subarray(envelopeHeaderBytes);
  if (
    !verify(
      null,
      signedBytes(kind, payload),
      expect.publicKey,
      frame.subarray(signatureAt, envelopeHeaderBytes),
    )
  ) {
    throw new AgentError("ENVELOPE_SIGNATURE", "none", "an envelope whose signature does not fit", {
      kind,
    });
  }
  return { kind, payload };
}

/**
 * The kind that a frame claims, without any verification; it serves to choose the key. Null if the
 * frame is too short, has another version or an unknown kind.
 */
export function frameKind(frame: Uint8Array): EnvelopeKind | null {
  if (frame.length <= envelopeHeaderBytes || frame[0] !== envelopeVersion) return null;
  return kindOfByte.get(frame[1] ?? 0) ?? null;
}

function signedBytes(kind: EnvelopeKind, payload: Uint8Array): Uint8Array {
  const domain = domainOfKind.get(kind);
  invariant(domain !== undefined, "every kind has its domain");
  return Buffer.concat([domain, payload]);
}

// DER around a raw Ed25519 key, RFC 8410 sections 4 and 7.
const spkiPrefix = Buffer.from("302a300506032b6570032100", "hex");
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

/**
 * Reads an Ed25519 public key from 32 bytes as lower-case hex.
 * @throws AgentError ENVELOPE_KEY for another text, a point that is not in canonical form, or a
 * point of small order.
 */
export function publicKeyFromHex(hex: string): KeyObject {
  if (!/^[0-9a-f]{64}$/.test(hex))
    throw new AgentError("ENVELOPE_KEY", "none", "a public key is not 32 bytes as hex");
  const raw = Buffer.from(hex, "hex");
  if (!isUsablePoint(raw)) {
    throw new AgentError("ENVELOPE_KEY", "none", "a public key is not a usable point", {
      key: hex,
    });
  }
  return createPublicKey({ key: Buffer.concat([spkiPrefix, raw]), format: "der", type: "spki" });
}

/** Makes the private key of a 32-byte seed; the caller still owns and wipes the seed. */
export function privateKeyFromSeed(seed: Uint8Array): KeyObject {
  invariant(seed.length === 32, "an Ed25519 seed has 32 bytes");
  const der = Buffer.concat([pkcs8Prefix, seed]);
  try {
    return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  } finally {
    der.fill(0);
  }
}

/** The raw public key of either half of a pair, as hex. */
export function publicKeyHex(key: KeyObject): string {
  const half = key.type === "private" ? createPublicKey(key) : key;
  return half.export({ format: "der", type: "spki" }).subarray(spkiPrefix.length).toString("hex");
}
