/**
 * API keys: made, found, revoked. An HS256 secret is shown once and stored sealed; of an EdDSA key the database holds the public
 * half only, so that a stolen database and key file mint no token for it. Scopes say what a key may do; none approves a withdrawal.
 * Sources: docs/api.md, The token; docs/protocol.md section 3 (apiKey).
 */
import { privateKeyFromSeed, publicKeyFromHex, publicKeyHex } from "../../protocol/envelope.ts";
import { invariant } from "../../protocol/fault.ts";
import { keyIdPattern } from "../../protocol/fields.ts";
import type { KeyRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import type { GatewayKey } from "./gateway-key.ts";
import { sealSecret } from "./secret-box.ts";

/** @public */
export const scopes = ["read", "deposit", "withdraw:manual", "withdraw:auto", "agent:pair"] as const;
/** @public */
export type Scope = (typeof scopes)[number];

/** @public */
export interface NewKey {
  readonly merchant: string;
  readonly scopes: readonly Scope[];
  readonly profile: "compatible" | "strict";
  readonly alg: "HS256" | "EdDSA";
  readonly publicKey?: string; // EdDSA only: the caller's own public key, hex; else a pair is made
}

/** Makes random bytes. */
export type Random = (bytes: number) => Uint8Array;

const keyIdBytes = 8;
const secretBytes = 32;

/**
 * Makes a key inside the caller's transaction. `apiKey` is the only copy of the secret, "" when the caller brought a public key: for
 * EdDSA its secret part is the base64url of the 32-byte seed. A pairing key must be HS256, because pairing proves the shared secret.
 * @throws AgentError ENVELOPE_KEY for an unusable public key.
 * @public
 */
export function createKey(
  database: Database,
  key: NewKey,
  by: { readonly gatewayKey: GatewayKey; readonly random: Random; readonly nowMs: number },
): { readonly keyId: string; readonly apiKey: string } {
  invariant(key.alg === "HS256" || !key.scopes.includes("agent:pair"), "pairing needs a key with a shared secret");
  const keyId = `k_${Buffer.from(by.random(keyIdBytes)).toString("hex")}`;
  const seed = by.random(secretBytes);
  const text = Buffer.from(Buffer.from(seed).toString("base64url"), "utf8");
  const box = key.alg === "HS256" ? sealSecret(text, keyId, by.gatewayKey.sealingKey, by.random) : null;
  if (key.publicKey !== undefined) publicKeyFromHex(key.publicKey);
  const publicKey = key.alg === "EdDSA" ? (key.publicKey ?? publicKeyHex(privateKeyFromSeed(seed))) : null;
  database.run(
    "INSERT INTO keys (id, merchant, scopes, profile, alg, secretBox, publicKey, createdAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    keyId,
    key.merchant,
    scopes.filter((scope) => key.scopes.includes(scope)).join(","),
    key.profile,
    key.alg,
    box,
    publicKey,
    by.nowMs,
  );
  const apiKey = key.publicKey === undefined ? `${keyId}.${text.toString("utf8")}.${by.gatewayKey.fingerprint}` : "";
  text.fill(0);
  seed.fill(0);
  return { keyId, apiKey };
}

/**
 * The row of a key, revoked ones included; undefined for anything that is not the id of a key.
 * @public
 */
export function findKey(database: Database, keyId: string): KeyRow | undefined {
  return keyIdPattern.test(keyId) ? database.get<KeyRow>("SELECT * FROM keys WHERE id = ?", keyId) : undefined;
}

/** @public */
export function keyHasScope(key: KeyRow, scope: Scope): boolean {
  return key.scopes.split(",").includes(scope);
}

/**
 * Revokes a key at once and for ever; false when there is none or it was revoked before.
 * @public
 */
export function revokeKey(database: Database, keyId: string, nowMs: number): boolean {
  return database.run("UPDATE keys SET revokedAt = ? WHERE id = ? AND revokedAt IS NULL", nowMs, keyId).changes === 1;
}
