/** Tokens that requests carried, by jti, until each token expires. */
import type { Database } from "./store.ts";

export interface SeenToken {
  readonly keyId: string;
  readonly jti: string;
  readonly expiresAtMs: number;
}

export function wasTokenSeen(database: Database, { keyId, jti }: SeenToken): boolean {
  return database.get("SELECT 1 FROM jtis WHERE key = ? AND jti = ?", keyId, jti) !== undefined;
}

/** Keeps a token. Harmless to call twice. */
export function markTokenSeen(database: Database, { keyId, jti, expiresAtMs }: SeenToken): void {
  database.run(
    "INSERT OR IGNORE INTO jtis (key, jti, expiresAt) VALUES (?, ?, ?)",
    keyId,
    jti,
    expiresAtMs,
  );
}

/** Deletes expired tokens: expiry alone is a reason to refuse them. */
export function forgetExpiredTokens(database: Database, nowMs: number): void {
  database.run("DELETE FROM jtis WHERE expiresAt < ?", nowMs);
}
