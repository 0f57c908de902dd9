/**
 * The gateway's own Ed25519 key, in one file that only its owner can read (PKCS #8, PEM). Agents
 * pin the key, and every apiKey includes its fingerprint. The key that seals API secrets in the
 * database is derived from it, so a copied database alone opens nothing. Sources: RFC 8410 (PKCS #8
 * of Ed25519), RFC 5869 (HKDF), docs/protocol.md section 3.
 */
import { createPrivateKey, generateKeyPairSync, hkdfSync, type KeyObject } from "node:crypto";
import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { AgentError, reasonOf } from "../../base/fault.ts";
import { publicKeyHex } from "../../protocol/envelope.ts";
import { gatewayFingerprintOf } from "../../protocol/pairing.ts";

export interface GatewayKey {
  readonly privateKey: KeyObject;
  readonly publicKey: string; // raw Ed25519 public key, hex
  readonly fingerprint: string; // 16 bytes, hex: the last part of apiKey
  readonly sealingKey: Uint8Array; // 32 bytes for AES-256-GCM; kept until the process ends
}

const othersBits = 0o077;
const seedBytes = 32;

function fromPem(pem: Uint8Array, path: string): GatewayKey {
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey({
      key: Buffer.from(pem.buffer, pem.byteOffset, pem.byteLength),
      format: "pem",
    });
  } catch (cause) {
    throw new AgentError(
      "GATEWAY_KEY_INVALID",
      "none",
      `${path} holds no key`,
      { path },
      { cause },
    );
  }
  if (privateKey.asymmetricKeyType !== "ed25519") {
    throw new AgentError("GATEWAY_KEY_INVALID", "none", `the key in ${path} is not Ed25519`, {
      path,
    });
  }
  const der = privateKey.export({ format: "der", type: "pkcs8" });
  const sealingKey = new Uint8Array(
    hkdfSync("sha256", der.subarray(der.length - seedBytes), "", "autowithdraw/1 sealing", 32),
  );
  der.fill(0);
  const publicKey = publicKeyHex(privateKey);
  return { privateKey, publicKey, fingerprint: gatewayFingerprintOf(publicKey), sealingKey };
}

/**
 * Reads the key file.
 * @throws AgentError GATEWAY_KEY_MISSING, GATEWAY_KEY_OPEN (readable by group or world),
 * GATEWAY_KEY_INVALID
 */
export function readGatewayKey(path: string): GatewayKey {
  let pem: Buffer;
  try {
    pem = readOwners(path);
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    const message = `the gateway's key file ${path} cannot be read: ${reasonOf(cause)}`;
    throw new AgentError("GATEWAY_KEY_MISSING", "none", message, { path }, { cause });
  }
  try {
    return fromPem(pem, path);
  } finally {
    pem.fill(0);
  }
}

/** Reads mode and bytes from one open file, so that no other file can replace it in between. */
function readOwners(path: string): Buffer {
  const descriptor = openSync(path, "r");
  try {
    if ((fstatSync(descriptor).mode & othersBits) !== 0) {
      throw new AgentError("GATEWAY_KEY_OPEN", "none", `others than the owner can read ${path}`, {
        path,
      });
    }
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Makes a new key in a new file that only its owner can read. Returns when the file is durable.
 * @throws AgentError GATEWAY_KEY_EXISTS
 */
export function createGatewayKey(path: string): GatewayKey {
  const pem = Buffer.from(
    generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }),
  );
  let descriptor: number;
  try {
    descriptor = openSync(path, "wx", 0o600);
  } catch (cause) {
    const message = `the key file ${path} cannot be made: ${reasonOf(cause)}`;
    throw new AgentError("GATEWAY_KEY_EXISTS", "none", message, { path }, { cause });
  }
  try {
    writeSync(descriptor, pem);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  const key = fromPem(pem, path);
  pem.fill(0);
  return key;
}
