/**
 * Seals API secrets for the database: AES-256-GCM under the key derived from the gateway's key
 * file, bound to the key's id. So a copied database opens nothing, and a row moved to another key
 * does not open either. Box: version(1)=1 ‖ iv(12) ‖ tag(16) ‖ ciphertext. Source: NIST SP 800-38D
 * (96-bit random iv, 128-bit tag).
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import { AgentError } from "../../base/fault.ts";

const boxVersion = 1;
const ivBytes = 12;
const tagBytes = 16;
const headBytes = 1 + ivBytes + tagBytes;
const algorithm = "aes-256-gcm";

const boundTo = (keyId: string): Buffer =>
  Buffer.from(`autowithdraw/1 api-secret\n${keyId}`, "utf8");

/**
 * Seals the secret of an API key or of a callback target for its row. The caller keeps and wipes
 * `secret`.
 */
export function sealSecret(
  secret: Uint8Array,
  keyId: string,
  sealingKey: Uint8Array,
  random: (bytes: number) => Uint8Array,
): Uint8Array {
  const iv = random(ivBytes);
  const cipher = createCipheriv(algorithm, sealingKey, iv, { authTagLength: tagBytes });
  cipher.setAAD(boundTo(keyId));
  const body = Buffer.concat([cipher.update(secret), cipher.final()]);
  return Buffer.concat([Uint8Array.of(boxVersion), iv, cipher.getAuthTag(), body]);
}

/**
 * Opens a sealed API secret; the caller wipes the result.
 * @throws AgentError GATEWAY_SECRET_SEALED if key file, row and bytes do not belong together
 */
export function openSecret(box: Uint8Array, keyId: string, sealingKey: Uint8Array): Uint8Array {
  const refuse = (cause?: unknown): AgentError =>
    new AgentError(
      "GATEWAY_SECRET_SEALED",
      "none",
      "an API secret does not open under this gateway's key",
      { keyId },
      { cause },
    );
  if (box.length <= headBytes || box[0] !== boxVersion) throw refuse();
  try {
    const decipher = createDecipheriv(algorithm, sealingKey, box.subarray(1, 1 + ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(boundTo(keyId));
    decipher.setAuthTag(box.subarray(1 + ivBytes, headBytes));
    return Buffer.concat([decipher.update(box.subarray(headBytes)), decipher.final()]);
  } catch (cause) {
    throw refuse(cause);
  }
}
