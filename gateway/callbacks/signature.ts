/**
 * Secrets and signatures of callbacks. A secret is `whsec_` and the base64 of its bytes; a
 * signature is `v1,` and the base64 of HMAC-SHA256(bytes, id ‖ "." ‖ timestamp ‖ "." ‖ body).
 * During a rotation there are two signatures, with a space between them. Source: Standard Webhooks
 * 1.0.0, Signature scheme.
 */
import { createHmac } from "node:crypto";

const prefix = "whsec_";
const secretBytes = 32;

/** Makes a new secret in the form that the receiver gets. */
export function newSecret(random: (bytes: number) => Uint8Array): string {
  return `${prefix}${Buffer.from(random(secretBytes)).toString("base64")}`;
}

/**
 * The header fields of one try. `timestamp` is in seconds since 1970; `secrets` begin with the
 * newest.
 */
export function signedHeaders(
  secrets: readonly string[],
  message: { readonly id: string; readonly timestamp: number; readonly body: string },
): Readonly<Record<string, string>> {
  const { id, timestamp, body } = message;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`, "utf8").digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
}
