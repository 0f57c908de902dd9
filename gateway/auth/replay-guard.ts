/**
 * Remembers the tokens that requests have used, by jti, until each token expires. A POST accepts
 * only a token that no request carried before, so a token stolen from a GET cannot order anything.
 * The writes of a POST and its token are in one transaction, so neither exists without the other. A
 * GET may carry a token again, and then nothing is written. The answer to a request waits until its
 * token is on disk, so a restart forgets no token. Source: docs/api.md, The token.
 */
import { invariant } from "../../base/fault.ts";
import { forgetExpiredTokens, markTokenSeen, type SeenToken, wasTokenSeen } from "../store/jtis.ts";
import { markKeyUsed } from "../store/keys.ts";
import type { Database, Store } from "../store/store.ts";

/** Writes together with the request's token; resolves when both are durable. `fn` may run twice. */
export type TokenWriter = <T>(fn: (database: Database) => T) => Promise<T>;

/** The single use of a token by a request that writes. */
export interface TokenUse {
  readonly write: TokenWriter;
  /** Keeps the token if nothing was written with it. Must be called before any answer. */
  end(): Promise<void>;
}

export interface SeenTokens {
  has(token: SeenToken): boolean;
  /**
   * Keeps that a request carried the token; resolves when this is durable. Harmless to call twice.
   * Rejects if `Store.write` throws.
   */
  keep(token: SeenToken, nowMs: number): Promise<void>;
  /** Takes the token's single use. Only for a token that `has` denied in the same turn. */
  use(token: SeenToken, nowMs: number): TokenUse;
}

/** Largest delay of a key's shown last use, and of the deletion of expired tokens. */
const lagMs = 1_000;

const nameOf = ({ keyId, jti }: SeenToken): string => `${keyId} ${jti}`;

export function createSeenTokens(store: Store): SeenTokens {
  // Tokens of requests in progress: each is on disk, or will be before the answer.
  const held = new Set<string>();
  const markedAtMs = new Map<string, number>();
  let forgottenAtMs = Number.NEGATIVE_INFINITY;

  const isDue = (atMs: number | undefined, nowMs: number): boolean =>
    atMs === undefined || Math.abs(nowMs - atMs) >= lagMs;

  function note(database: Database, token: SeenToken, nowMs: number): void {
    if (isDue(forgottenAtMs, nowMs)) forgetExpiredTokens(database, nowMs);
    if (isDue(markedAtMs.get(token.keyId), nowMs)) markKeyUsed(database, token.keyId, nowMs);
    markTokenSeen(database, token);
  }

  /**
   * Runs `fn` and writes the token's row in one transaction. Remembers afterwards when the optional
   * writes were made.
   */
  async function writeWith<T>(
    token: SeenToken,
    nowMs: number,
    fn: (database: Database) => T,
  ): Promise<T> {
    const value = await store.writeTogether((database) => {
      note(database, token, nowMs);
      return fn(database);
    });
    if (isDue(forgottenAtMs, nowMs)) forgottenAtMs = nowMs;
    if (isDue(markedAtMs.get(token.keyId), nowMs)) markedAtMs.set(token.keyId, nowMs);
    return value;
  }

  const isKept = (token: SeenToken): boolean => wasTokenSeen(store.database, token);
  const has = (token: SeenToken): boolean => held.has(nameOf(token)) || isKept(token);

  return {
    has,
    async keep(token, nowMs) {
      if (isKept(token)) return;
      held.add(nameOf(token));
      try {
        await writeWith(token, nowMs, () => undefined);
      } finally {
        held.delete(nameOf(token));
      }
    },
    use(token, nowMs) {
      invariant(!held.has(nameOf(token)), "a token is used once");
      held.add(nameOf(token));
      let isWritten = false;
      const write: TokenWriter = async (fn) => {
        const value = await writeWith(token, nowMs, fn);
        isWritten = true;
        return value;
      };
      return {
        write,
        async end() {
          try {
            if (!isWritten) await write(() => undefined);
          } finally {
            held.delete(nameOf(token));
          }
        },
      };
    },
  };
}
