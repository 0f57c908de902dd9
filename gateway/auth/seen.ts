/**
 * Which tokens the gateway has seen, by the jti of each, until a token's time is over. A POST takes
 * only a token that no request carried before, so a token caught on its way with a GET orders
 * nothing. A GET may carry one again, and then writes nothing more. The answer to a request waits
 * until its token stands on disk, so a restart forgets none. Source: docs/api.md, The token.
 */
import { forgetExpiredTokens, isTokenKept, keepToken, type SeenToken } from "../store/jtis.ts";
import { markKeyUsed } from "../store/keys.ts";
import type { Database, Store } from "../store/store.ts";

/** @public */
export interface Seen {
  has(token: SeenToken): boolean;
  /**
   * Keeps that a request carried the token; resolves once that is durable. Twice is harmless.
   * Rejects as `Store.write` throws.
   */
  keep(token: SeenToken, nowMs: number): Promise<void>;
  /**
   * Uses the token up; resolves once that is durable, with false when a request carried it before.
   * Rejects as `Store.write` throws.
   */
  useUp(token: SeenToken, nowMs: number): Promise<boolean>;
}

const nameOf = ({ keyId, jti }: SeenToken): string => `${keyId} ${jti}`;

/** @public */
export function createSeen(store: Store): Seen {
  // seen since the last transaction: all of them are written by the next
  const waiting = new Map<string, SeenToken>();
  let commit: Promise<void> | null = null;

  function write(database: Database, nowMs: number): void {
    const tokens = [...waiting.values()];
    waiting.clear();
    commit = null;
    forgetExpiredTokens(database, nowMs);
    for (const token of tokens) keepToken(database, token);
    for (const keyId of new Set(tokens.map((token) => token.keyId))) markKeyUsed(database, keyId, nowMs);
  }

  const isKept = (token: SeenToken): boolean => isTokenKept(store.database, token);
  const has = (token: SeenToken): boolean => waiting.has(nameOf(token)) || isKept(token);

  function commitWith(token: SeenToken, nowMs: number): Promise<void> {
    waiting.set(nameOf(token), token);
    commit ??= begun(nowMs);
    return commit;
  }

  /** A transaction that fails is nobody's any more: the next token asks for another. */
  function begun(nowMs: number): Promise<void> {
    const own = store.writeTogether((database) => write(database, nowMs));
    const over = (): void => {
      if (commit === own) commit = null;
    };
    own.then(over, over);
    return own;
  }

  return {
    has,
    async keep(token, nowMs) {
      if (!isKept(token)) await commitWith(token, nowMs);
    },
    async useUp(token, nowMs) {
      if (has(token)) return false;
      await commitWith(token, nowMs);
      return true;
    },
  };
}
