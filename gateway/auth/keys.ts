/**
 * Makes, finds and revokes API keys. An HS256 secret is shown only once and stored sealed. For an
 * EdDSA key the database has only the public key, so a stolen database and key file cannot make
 * tokens for it. Scopes limit a key; no scope approves a withdrawal. Sources: docs/api.md, The
 * token; docs/protocol.md section 3 (apiKey).
 */

import { invariant } from "../../base/fault.ts";
import { privateKeyFromSeed, publicKeyFromHex, publicKeyHex } from "../../protocol/envelope.ts";
import { keyIdPattern } from "../../protocol/fields.ts";
import { createAddressTest } from "../config/address-list.ts";
import type { ClientAddress } from "../config/client-address.ts";
import { insertKey, markKeyRevoked, readCachedKey } from "../store/keys.ts";
import type { KeyProfile, KeyRow, MerchantRow } from "../store/rows.ts";
import type { Database, Store } from "../store/store.ts";
import type { GatewayKey } from "./gateway-key.ts";
import { sealSecret } from "./secret-box.ts";

export const scopes = [
  "read",
  "deposit",
  "deposit:accept",
  "withdraw:manual",
  "withdraw:auto",
  "withdraw:cancel",
  "callbacks",
  "agent:pair",
] as const;
export type Scope = (typeof scopes)[number];

/** Scopes of the agent's key that `merchant create` makes: nothing that a shop needs. */
export const pairingScopes: readonly Scope[] = ["agent:pair"];
/**
 * Scopes of the shop's key: all that move and read money. A key that only orders must not lead
 * events to another server, nor turn one unit into a paid order, so `callbacks` and
 * `deposit:accept` are given by name.
 */
export const shopScopes: readonly Scope[] = [
  "read",
  "deposit",
  "withdraw:manual",
  "withdraw:auto",
  "withdraw:cancel",
];

export interface NewKey {
  readonly merchant: string;
  readonly scopes: readonly Scope[];
  readonly profile: KeyProfile;
  readonly alg: "HS256" | "EdDSA";
  readonly publicKey?: string; // EdDSA only: the caller's own public key, hex; without it a pair is made
}

/** Makes random bytes. */
export type RandomBytes = (bytes: number) => Uint8Array;

const keyIdBytes = 8;
const secretBytes = 32;

/**
 * Makes a key inside the caller's transaction. `apiKey` is the only copy of the secret, or "" if
 * the caller brought a public key. For EdDSA its secret part is the base64url of the 32-byte seed.
 * A pairing key must be HS256, because pairing proves the shared secret.
 * @throws AgentError ENVELOPE_KEY for an unusable public key.
 */
export function createKey(
  database: Database,
  key: NewKey,
  by: { readonly gatewayKey: GatewayKey; readonly random: RandomBytes; readonly nowMs: number },
): { readonly keyId: string; readonly apiKey: string } {
  invariant(
    key.alg === "HS256" || !key.scopes.includes("agent:pair"),
    "pairing needs a key with a shared secret",
  );
  const keyId = `k_${Buffer.from(by.random(keyIdBytes)).toString("hex")}`;
  const seed = by.random(secretBytes);
  const text = Buffer.from(Buffer.from(seed).toString("base64url"), "utf8");
  const box =
    key.alg === "HS256" ? sealSecret(text, keyId, by.gatewayKey.sealingKey, by.random) : null;
  if (key.publicKey !== undefined) publicKeyFromHex(key.publicKey);
  const publicKey =
    key.alg === "EdDSA" ? (key.publicKey ?? publicKeyHex(privateKeyFromSeed(seed))) : null;
  insertKey(database, {
    id: keyId,
    merchant: key.merchant,
    profile: key.profile,
    alg: key.alg,
    scopes: scopes.filter((scope) => key.scopes.includes(scope)).join(","),
    secretBox: box,
    publicKey,
    createdAt: by.nowMs,
  });
  const apiKey =
    key.publicKey === undefined
      ? `${keyId}.${text.toString("utf8")}.${by.gatewayKey.fingerprint}`
      : "";
  text.fill(0);
  seed.fill(0);
  return { keyId, apiKey };
}

/** The row of a key, revoked or not; undefined if the text is not the id of a key. */
export function findKey(store: Pick<Store, "remembered">, keyId: string): KeyRow | undefined {
  return keyIdPattern.test(keyId) ? readCachedKey(store, keyId) : undefined;
}

export function keyHasScope(key: KeyRow, scope: Scope): boolean {
  return key.scopes.split(",").includes(scope);
}

/**
 * The reason why a key is refused now from this address, even with a valid secret; null without a
 * reason.
 */
export function keyProblem(
  key: KeyRow,
  merchant: MerchantRow,
  { address, unreadable }: ClientAddress,
  nowMs: number,
): "key_revoked" | "key_expired" | "merchant_disabled" | "address_not_allowed" | null {
  if (key.revokedAt !== null) return "key_revoked";
  if (key.expiresAt !== null && key.expiresAt <= nowMs) return "key_expired";
  if (merchant.disabledAt !== null) return "merchant_disabled";
  // A proxy's own address does not admit a client whose address the proxy did not name.
  const isAllowed =
    key.allowedAddresses === "" ||
    (unreadable === "" && createAddressTest(key.allowedAddresses.split(","))(address));
  return isAllowed ? null : "address_not_allowed";
}

/**
 * Revokes a key at once and permanently. False if there is no such key or it was revoked before.
 */
export function revokeKey(database: Database, keyId: string, nowMs: number): boolean {
  return markKeyRevoked(database, keyId, nowMs);
}
