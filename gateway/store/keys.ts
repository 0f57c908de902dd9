/** API keys, revoked ones included: no row is ever removed. */
import type { KeyRow } from "./rows.ts";
import type { Database } from "./store.ts";

/** @public */
export function readKey(database: Database, id: string): KeyRow | undefined {
  return database.get<KeyRow>("SELECT * FROM keys WHERE id = ?", id);
}

/** @public */
export function insertKey(
  database: Database,
  key: Pick<KeyRow, "id" | "merchant" | "scopes" | "profile" | "alg" | "secretBox" | "publicKey" | "createdAt">,
): void {
  database.run(
    "INSERT INTO keys (id, merchant, scopes, profile, alg, secretBox, publicKey, createdAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    ...[key.id, key.merchant, key.scopes, key.profile, key.alg, key.secretBox, key.publicKey, key.createdAt],
  );
}

/**
 * Revokes a key for ever.
 * @returns false when there is none, or it was revoked before
 * @public
 */
export function markKeyRevoked(database: Database, id: string, nowMs: number): boolean {
  return database.run("UPDATE keys SET revokedAt = ? WHERE id = ? AND revokedAt IS NULL", nowMs, id).changes === 1;
}

/**
 * Sets when a key ends; null for never.
 * @public
 */
export function setKeyExpiry(database: Database, id: string, at: number | null): void {
  database.run("UPDATE keys SET expiresAt = ? WHERE id = ?", at, id);
}

/**
 * Sets from where a key may be used: addresses and networks; none for anywhere.
 * @public
 */
export function setKeyAddresses(database: Database, id: string, addresses: readonly string[]): void {
  database.run("UPDATE keys SET allowedAddresses = ? WHERE id = ?", addresses.join(","), id);
}

/**
 * Gives a key that was made just now the old one's addresses, and its right to pair as far as that
 * is not used up.
 * @public
 */
export function takeKeyRights(database: Database, id: string, old: KeyRow): void {
  const sql = "UPDATE keys SET allowedAddresses = ?, pairingUsed = ? WHERE id = ?";
  database.run(sql, old.allowedAddresses, old.pairingUsed, id);
}

/** @public */
export function markKeyUsed(database: Database, id: string, nowMs: number): void {
  database.run("UPDATE keys SET lastUsedAt = ? WHERE id = ?", nowMs, id);
}

/**
 * Uses up a key's right to pair.
 * @public
 */
export function useUpPairing(database: Database, id: string, nowMs: number): void {
  database.run("UPDATE keys SET pairingUsed = 1, lastUsedAt = ? WHERE id = ?", nowMs, id);
}

/**
 * Gives all of a merchant's keys their right to pair back.
 * @public
 */
export function giveBackPairing(database: Database, merchant: string): void {
  database.run("UPDATE keys SET pairingUsed = 0 WHERE merchant = ?", merchant);
}

/**
 * A key without its secret or public half, and its merchant's name.
 * @public
 */
export type ListedKey = Omit<KeyRow, "secretBox" | "publicKey"> & { readonly name: string };

/**
 * One merchant's keys, or all: the good ones first, then by merchant's name and age.
 * @public
 */
export function listKeyRows(database: Database, merchant: string | undefined): readonly ListedKey[] {
  return database.all<ListedKey>(
    `SELECT keys.id, keys.merchant, merchants.name, scopes, profile, alg, pairingUsed, keys.createdAt, lastUsedAt, revokedAt,
       expiresAt, allowedAddresses
     FROM keys JOIN merchants ON merchants.id = keys.merchant WHERE ? IS NULL OR keys.merchant = ?
     ORDER BY revokedAt IS NOT NULL, merchants.name, keys.createdAt, keys.rowid`,
    ...[merchant ?? null, merchant ?? null],
  );
}
