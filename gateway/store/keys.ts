/** API keys, including revoked keys. No row is ever removed. */
import type { KeyRow } from "./rows.ts";
import type { Database, Store } from "./store.ts";

const oneKey = "SELECT * FROM keys WHERE id = ?";

export function readKey(database: Database, id: string): KeyRow | undefined {
  return database.get<KeyRow>(oneKey, id);
}

/** Like `readKey`, for a request. */
export function readCachedKey(
  { remembered }: Pick<Store, "remembered">,
  id: string,
): KeyRow | undefined {
  return remembered.read<KeyRow>(oneKey, id);
}

export function insertKey(
  database: Database,
  key: Pick<
    KeyRow,
    "id" | "merchant" | "scopes" | "profile" | "alg" | "secretBox" | "publicKey" | "createdAt"
  >,
): void {
  database.run(
    "INSERT INTO keys (id, merchant, scopes, profile, alg, secretBox, publicKey, createdAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    ...[
      key.id,
      key.merchant,
      key.scopes,
      key.profile,
      key.alg,
      key.secretBox,
      key.publicKey,
      key.createdAt,
    ],
  );
}

/**
 * Revokes a key permanently.
 * @returns false if there is no such key, or it was revoked before
 */
export function markKeyRevoked(database: Database, id: string, nowMs: number): boolean {
  return (
    database.run("UPDATE keys SET revokedAt = ? WHERE id = ? AND revokedAt IS NULL", nowMs, id)
      .changes === 1
  );
}

/** Sets when a key expires; null for never. */
export function setKeyExpiry(database: Database, id: string, at: number | null): void {
  database.run("UPDATE keys SET expiresAt = ? WHERE id = ?", at, id);
}

/** Sets the addresses and networks that may use a key; an empty list allows any. */
export function setKeyAddresses(
  database: Database,
  id: string,
  addresses: readonly string[],
): void {
  database.run("UPDATE keys SET allowedAddresses = ? WHERE id = ?", addresses.join(","), id);
}

/**
 * Gives a new key the old key's allowed addresses, and the old key's right to pair if it is not
 * used up.
 */
export function copyKeyRights(database: Database, id: string, old: KeyRow): void {
  const sql = "UPDATE keys SET allowedAddresses = ?, pairingUsed = ? WHERE id = ?";
  database.run(sql, old.allowedAddresses, old.pairingUsed, id);
}

export function markKeyUsed(database: Database, id: string, nowMs: number): void {
  database.run("UPDATE keys SET lastUsedAt = ? WHERE id = ?", nowMs, id);
}

/** Uses up a key's right to pair. */
export function useUpPairingRight(database: Database, id: string, nowMs: number): void {
  database.run("UPDATE keys SET pairingUsed = 1, lastUsedAt = ? WHERE id = ?", nowMs, id);
}

/** Restores the right to pair of all of a merchant's keys. */
export function restorePairingRights(database: Database, merchant: string): void {
  database.run("UPDATE keys SET pairingUsed = 0 WHERE merchant = ?", merchant);
}

/** A key with its merchant's name, without the secret and the public key. */
export type ListedKey = Omit<KeyRow, "secretBox" | "publicKey"> & { readonly name: string };

/**
 * The keys of one merchant, or of all: keys that are not revoked first, then by merchant's name and
 * age.
 */
export function listKeyRows(
  database: Database,
  merchant: string | undefined,
): readonly ListedKey[] {
  return database.all<ListedKey>(
    `SELECT keys.id, keys.merchant, merchants.name, scopes, profile, alg, pairingUsed, keys.createdAt, lastUsedAt, revokedAt,
       expiresAt, allowedAddresses
     FROM keys JOIN merchants ON merchants.id = keys.merchant WHERE ? IS NULL OR keys.merchant = ?
     ORDER BY revokedAt IS NOT NULL, merchants.name, keys.createdAt, keys.rowid`,
    ...[merchant ?? null, merchant ?? null],
  );
}
