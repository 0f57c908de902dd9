/**
 * Which tokens the gateway has seen, by the jti of each, until a token's time is over. A POST takes
 * only a token that no request carried before, so a token caught on its way with a GET orders
 * nothing. What a POST writes stands in one transaction with its token: neither is ever there
 * without the other. A GET may carry one again, and then writes nothing more. The answer to a
 * request waits until its token stands on disk, so a restart forgets none. Source: docs/api.md, The
 * token.
 */
import { invariant } from "../../protocol/fault.ts";
import { forgetExpiredTokens, isTokenKept, keepToken, type SeenToken } from "../store/jtis.ts";
import { markKeyUsed } from "../store/keys.ts";
import type { Database, Store } from "../store/store.ts";

/**
 * Writes together with the request's token; durable when it resolves. `fn` may run twice.
 * @public
 */
export type WriteOnce = <T>(fn: (database: Database) => T) => Promise<T>;

/**
 * The one use of a token by a request that writes.
 * @public
 */
export interface TokenUse {
  readonly write: WriteOnce;
  /**
   * Keeps the token where nothing was written with it. Call it before the answer, whatever it is.
   */
  end(): Promise<void>;
}

/** @public */
export interface Seen {
  has(token: SeenToken): boolean;
  /**
   * Keeps that a request carried the token; resolves once that is durable. Twice is harmless.
   * Rejects as `Store.write` throws.
   */
  keep(token: SeenToken, nowMs: number): Promise<void>;
  /** Takes the token's one use. Only for a token that `has` denies in the same moment. */
  use(token: SeenToken, nowMs: number): TokenUse;
}

/** How far the last use that is shown of a key, and the end of old tokens, may lag behind. */
const lagMs = 1_000;

const nameOf = ({ keyId, jti }: SeenToken): string => `${keyId} ${jti}`;

/** @public */
export function createSeen(store: Store): Seen {
  // of requests that are being answered: these stand on disk, or will before the answer
  const held = new Set<string>();
  const markedAtMs = new Map<string, number>();
  let forgottenAtMs = Number.NEGATIVE_INFINITY;

  const isDue = (atMs: number | undefined, nowMs: number): boolean => atMs === undefined || Math.abs(nowMs - atMs) >= lagMs;

  function note(database: Database, token: SeenToken, nowMs: number): void {
    if (isDue(forgottenAtMs, nowMs)) forgetExpiredTokens(database, nowMs);
    if (isDue(markedAtMs.get(token.keyId), nowMs)) markKeyUsed(database, token.keyId, nowMs);
    keepToken(database, token);
  }

  /**
   * Runs `fn` with the token's row in one transaction. What it may leave out is remembered after
   * it.
   */
  async function writeWith<T>(token: SeenToken, nowMs: number, fn: (database: Database) => T): Promise<T> {
    const value = await store.writeTogether((database) => {
      note(database, token, nowMs);
      return fn(database);
    });
    if (isDue(forgottenAtMs, nowMs)) forgottenAtMs = nowMs;
    if (isDue(markedAtMs.get(token.keyId), nowMs)) markedAtMs.set(token.keyId, nowMs);
    return value;
  }

  const isKept = (token: SeenToken): boolean => isTokenKept(store.database, token);
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
      invariant(!has(token), "a token is used once");
      held.add(nameOf(token));
      let isWritten = false;
      const write: WriteOnce = async (fn) => {
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
