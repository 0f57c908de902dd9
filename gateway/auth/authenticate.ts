/**
 * Admits requests: verifies the token, takes from the key's bucket, keeps that the token was seen,
 * then checks key, address and scope. The order follows cost, and how much an unauthenticated
 * client may learn.
 *
 * Failures are counted by address block. Tokens without a key of ours share one counter; above its
 * limit such tokens are refused before any work. Each key has its own counter for tokens that name
 * the key. Such a token is always verified, so bad tokens never lock out a good token; above the
 * limit only the answer changes. Tokens that come a second time, for example because an HTTP
 * library repeats a POST, are counted apart from wrong tokens. Source: docs/api.md, sections on the
 * token and on limits.
 */
import type { GatewayLog } from "../../base/log.ts";
import { type Answer, isAnswer, problem } from "../answer/answer.ts";
import type { ClientAddress } from "../config/client-address.ts";
import type { GatewayConfig } from "../config/config.ts";
import type { ClockState } from "../own-clock.ts";
import { recallMerchant } from "../store/merchants.ts";
import type { KeyRow, MerchantRow } from "../store/rows.ts";
import type { Store } from "../store/store.ts";
import type { GatewayKey } from "./gateway-key.ts";
import { findKey, keyHasScope, keyProblem, type Scope } from "./keys.ts";
import { type Allowance, addressBlock, createBuckets, createFailureCounter } from "./rate.ts";
import { createSeen, type TokenUse } from "./replay-guard.ts";
import { kidOf, type TokenRequest, type TokenVerdict, verifyToken } from "./signature-token.ts";

export interface Caller {
  readonly key: KeyRow;
  readonly merchant: MerchantRow;
}

export interface AccessRequest {
  readonly requestId: string; // for the log
  readonly client: ClientAddress;
  readonly token: string | undefined;
  readonly request: TokenRequest;
  readonly scope: Scope;
  readonly writes: boolean;
}

export interface AdmittedRequest {
  readonly caller: Caller | Answer;
  readonly limits: Readonly<Record<string, string>>;
  /**
   * The token's use, for an admitted request that writes. The caller ends the use before the
   * answer.
   */
  readonly use: TokenUse | null;
}

export interface RequestGuard {
  /**
   * Returns a 429 for a client that sent too many tokens without a known key and sends another;
   * null admits the try.
   */
  turnAway(knock: Pick<AccessRequest, "requestId" | "client" | "token">): Answer | null;
  /**
   * Keeps that a token was seen in a request that was refused before `admit`. Does nothing for an
   * invalid token.
   */
  keep(token: string | undefined): Promise<void>;
  /** Counts `more` further writes of a key from one request. Returns the new RateLimit headers. */
  owe(keyId: string, more: number): Readonly<Record<string, string>>;
  /**
   * Admits or refuses a request. `limits` are the RateLimit headers of any answer. Rejects if the
   * store cannot write.
   */
  admit(knock: AccessRequest): Promise<AdmittedRequest>;
}

const failureWindowMs = 600_000;
const clockWrong = problem("clock_wrong", {}, { "Retry-After": "10" });

const secondsOf = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1000)));

function tooMany(allowance: Allowance): Answer {
  return problem("rate_limited", {}, { "Retry-After": secondsOf(allowance.waitMs) });
}

function limitHeaders(allowance: Allowance): Record<string, string> {
  return {
    "RateLimit-Limit": String(allowance.limit),
    "RateLimit-Remaining": String(allowance.remaining),
    "RateLimit-Reset": allowance.allowed ? "0" : secondsOf(allowance.waitMs),
  };
}

export function createRequestGuard(by: {
  readonly config: GatewayConfig;
  readonly store: Store;
  readonly key: GatewayKey;
  readonly log: GatewayLog;
  readonly clock: () => number;
  readonly ownClock: () => ClockState;
}): RequestGuard {
  const { config, store, log, clock, ownClock } = by;
  const { failedAuthPerTenMinutes, readsPerSecond, writesPerSecond, burst } = config.limits;
  const unauthenticated = createFailureCounter(failedAuthPerTenMinutes, failureWindowMs);
  const byKey = createFailureCounter(failedAuthPerTenMinutes, failureWindowMs);
  const replays = createFailureCounter(failedAuthPerTenMinutes, failureWindowMs);
  const seen = createSeen(store);
  const reads = createBuckets(readsPerSecond, readsPerSecond * burst);
  const writes = createBuckets(writesPerSecond, writesPerSecond * burst);

  const verify = (
    token: string | undefined,
    request: TokenRequest | null,
    nowMs: number,
  ): Promise<TokenVerdict> =>
    verifyToken(token, request, {
      store,
      sealingKey: by.key.sealingKey,
      publicUrl: config.publicUrl,
      nowMs,
    });

  /**
   * The counter for a wrong token, its name there, and the id of the key that the token names; ""
   * for an unknown key.
   */
  function countOf(
    ip: string,
    token: string | undefined,
  ): readonly [counter: typeof unauthenticated, name: string, keyId: string] {
    const block = addressBlock(ip);
    const kid = kidOf(token);
    const isKnown = kid !== null && findKey(store, kid) !== undefined;
    return isKnown ? [byKey, `${kid} ${block}`, kid] : [unauthenticated, block, ""];
  }

  function tell(
    { requestId, client }: Pick<AccessRequest, "requestId" | "client">,
    keyId: string,
    reason: string,
  ): void {
    log.info(
      { event: "token-refused", requestId, ip: addressBlock(client.address), keyId, reason },
      "token refused",
    );
  }

  const refuse = (knock: AccessRequest, reason: string): Answer => {
    const [counter, name, keyId] = countOf(knock.client.address, knock.token);
    return refuseBy(counter, name, knock, keyId, reason);
  };

  /** A clock that is wrong refuses the tokens of every shop: that is no fault of theirs. */
  function refuseToken(
    knock: AccessRequest,
    { reason, isTimeAlone }: Extract<TokenVerdict, { ok: false }>,
  ): Answer {
    if (isTimeAlone !== true || ownClock().kind === "right") return refuse(knock, reason);
    return clockWrong;
  }

  const refuseReplay = (knock: AccessRequest, keyId: string): Answer =>
    refuseBy(
      replays,
      `${keyId} ${addressBlock(knock.client.address)}`,
      knock,
      keyId,
      "seen before",
    );

  function refuseBy(
    counter: typeof unauthenticated,
    name: string,
    knock: AccessRequest,
    keyId: string,
    reason: string,
  ): Answer {
    tell(knock, keyId, reason);
    const allowance = counter.check(name, clock());
    if (!allowance.allowed) return tooMany(allowance);
    counter.fail(name, clock());
    return problem("token_invalid", {}, { "WWW-Authenticate": 'signatureToken realm="api"' });
  }

  /** The answer if the token's key is not allowed here and now; null admits the request. */
  function barred(
    knock: AccessRequest,
    key: KeyRow,
    merchant: MerchantRow,
    nowMs: number,
  ): Answer | null {
    const reason = keyProblem(key, merchant, knock.client, nowMs);
    if (reason !== null) return problem(reason);
    return keyHasScope(key, knock.scope) ? null : problem("scope_missing", { scope: knock.scope });
  }

  /** The caller of a valid token, or the answer that refuses it. */
  function callerOf(knock: AccessRequest, key: KeyRow, nowMs: number): Caller | Answer {
    const merchant = recallMerchant(store, key.merchant);
    if (merchant === undefined) return refuse(knock, "no merchant");
    return barred(knock, key, merchant, nowMs) ?? { key, merchant };
  }

  return {
    turnAway(knock) {
      const allowance = unauthenticated.check(addressBlock(knock.client.address), clock());
      if (allowance.allowed) return null; // first, because it costs less than reading a token
      const [, , keyId] = countOf(knock.client.address, knock.token);
      if (keyId !== "") return null;
      tell(knock, "", "turned away: too many wrong ones before");
      return tooMany(allowance);
    },
    async keep(token) {
      const nowMs = clock();
      const verdict = await verify(token, null, nowMs);
      if (!verdict.ok || !reads.take(verdict.key.id, nowMs).allowed) return;
      await seen.keep(
        { keyId: verdict.key.id, jti: verdict.jti, expiresAtMs: verdict.expiresAtMs },
        nowMs,
      );
    },
    owe: (keyId, more) => limitHeaders(writes.owe(keyId, more, clock())),
    async admit(knock) {
      const nowMs = clock();
      const verdict = await verify(knock.token, knock.request, nowMs);
      if (!verdict.ok) return { caller: refuseToken(knock, verdict), limits: {}, use: null };
      const { key, jti, expiresAtMs } = verdict;
      const token = { keyId: key.id, jti, expiresAtMs };
      // Checked before the bucket, so that a stolen token that is sent again and again takes
      // nothing from the key's own requests.
      if (knock.writes && seen.has(token))
        return { caller: refuseReplay(knock, key.id), limits: {}, use: null };
      const allowance = (knock.writes ? writes : reads).take(key.id, nowMs);
      const headers = limitHeaders(allowance);
      if (!allowance.allowed) return { caller: tooMany(allowance), limits: headers, use: null };
      const caller = callerOf(knock, key, nowMs);
      if (knock.writes && !isAnswer(caller))
        return { caller, limits: headers, use: seen.use(token, nowMs) };
      await seen.keep(token, nowMs);
      return { caller, limits: headers, use: null };
    },
  };
}
