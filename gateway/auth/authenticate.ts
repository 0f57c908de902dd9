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

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { compactVerify } from "jose";
import { AgentError } from "../../base/fault.ts";
import { type JsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import type { GatewayLog } from "../../base/log.ts";
import { publicKeyFromHex } from "../../protocol/envelope.ts";
import { type Answer, isAnswer, problemAnswer } from "../answer/answer.ts";
import type { ClientAddress } from "../config/client-address.ts";
import type { GatewayConfig } from "../config/config.ts";
import type { ClockState } from "../own-clock.ts";
import { readCachedMerchant } from "../store/merchants.ts";
import type { KeyRow, MerchantRow } from "../store/rows.ts";
import type { Store } from "../store/store.ts";
import type { GatewayKey } from "./gateway-key.ts";
import { findKey, keyHasScope, keyProblem, type Scope } from "./keys.ts";
import { type Allowance, addressBlock, createFailureCounter, createRateBuckets } from "./rate.ts";
import { createSeenTokens, type TokenUse } from "./replay-guard.ts";
import { openSecret } from "./secret-box.ts";

/*
 * The header `signatureToken`: a compact JWT, fully checked before any part of the request is used.
 * The key determines the algorithm, never the token; the key is looked up by `kid` only in our own
 * table. The answer names a flaw only after the signature was found good; `reason` is for the log.
 * Sources: RFC 7515, 7519, 8725, 8037; docs/api.md, section on the token.
 */

/**
 * The flaw of a token whose signature is good, as the answer names it. Only the holder of the key's
 * secret can make such a token, so nobody else learns anything. Source: docs/api.md, The answer to
 * a wrong token.
 */
export type TokenFlaw =
  | "used"
  | "expired"
  | "not_yet"
  | "lifetime"
  | "method"
  | "path"
  | "body"
  | "audience"
  | "jti"
  | "subject";

/**
 * The request that the token is checked against. `path` is the request target from /api on, with
 * the query; `body` has the exact bytes, empty for none.
 */
interface TokenRequest {
  readonly method: string;
  readonly path: string;
  readonly body: Uint8Array;
}

/**
 * `key` is the row as it is now. A revoked key's valid token verifies, so that the caller can
 * report the revocation.
 */
type TokenVerdict =
  | { readonly ok: true; readonly key: KeyRow; readonly jti: string; readonly expiresAtMs: number }
  | {
      readonly ok: false;
      readonly reason: string;
      readonly signed?: SignedFlaw; // absent without a good signature
      readonly isTimeAlone?: true; // all else is valid
    };

/** A flaw, and the key that signed the token which has it. */
interface SignedFlaw {
  readonly key: KeyRow;
  readonly flaw: TokenFlaw;
}

const tokenCharsMax = 4096;
const lifetimeSecondsMax = 300;
const skewSeconds = 30;
const jtiPattern = /^[\x21-\x7e]{16,128}$/; // 96 random bits are 16 characters of base64
const headerFields: ReadonlySet<string> = new Set(["alg", "typ", "kid"]);
const hashOfNothing = createHash("sha256").digest();

const no = (reason: string): { readonly ok: false; readonly reason: string } => ({
  ok: false,
  reason,
});

/** Decodes one part; null unless it is base64url without padding and in its only form. */
function decodePart(part: string): Uint8Array | null {
  if (!/^[A-Za-z0-9_-]+$/.test(part)) return null;
  const bytes = Buffer.from(part, "base64url");
  return bytes.toString("base64url") === part ? bytes : null;
}

function parseObject(bytes: Uint8Array): JsonObject | null {
  let value: JsonValue;
  try {
    value = parseJson(bytes, { bytesMax: tokenCharsMax, depthMax: 4 });
  } catch (error) {
    if (error instanceof AgentError) return null;
    throw error;
  }
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : null;
}

interface SplitToken {
  readonly token: string;
  readonly kid: string;
  readonly alg: string;
  readonly claims: JsonObject;
}

/**
 * Splits the token without checking it: three parts in canonical base64url, header and claims
 * strict JSON objects.
 */
function split(value: string | undefined): SplitToken | string {
  if (value === undefined || value === "") return "no token";
  const token = value.startsWith("Bearer ") ? value.slice("Bearer ".length) : value;
  if (token.length > tokenCharsMax) return "too long";
  const parts = token.split(".");
  if (parts.length !== 3) return "not three parts";
  const [head, body, signature] = parts.map(decodePart);
  if (head == null || body == null || signature == null) return "not base64url";
  const header = parseObject(head);
  const claims = parseObject(body);
  if (header === null || claims === null) return "header or claims are not a JSON object";
  for (const name in header)
    if (!headerFields.has(name)) return `header field ${name.slice(0, 20)}`;
  const { alg, typ, kid } = header;
  if (typ !== undefined && (typeof typ !== "string" || !/^jwt$/i.test(typ))) return "typ";
  if (typeof alg !== "string" || typeof kid !== "string") return "alg or kid missing";
  return { token, kid, alg, claims };
}

/**
 * The id of the key that a token names, before the token is verified; null if the token cannot be
 * split.
 */
export function keyIdOfToken(value: string | undefined): string | null {
  const parts = split(value);
  return typeof parts === "string" ? null : parts.kid;
}

async function signatureFits(token: string, key: KeyRow, sealingKey: Uint8Array): Promise<boolean> {
  if (key.secretBox !== null)
    return macFits(token, key, openSecret(key.secretBox, key.id, sealingKey));
  try {
    await compactVerify(token, publicKeyFromHex(key.publicKey ?? ""), { algorithms: [key.alg] });
    return true;
  } catch (error) {
    if (error instanceof AgentError) throw error;
    return false;
  }
}

/** HS256 (RFC 7518 section 3.2) at once, because a library's WebCrypto takes a thread's turn. */
function macFits(token: string, { alg }: KeyRow, secret: Uint8Array): boolean {
  try {
    const end = token.lastIndexOf(".");
    const mac = createHmac("sha256", secret).update(token.slice(0, end)).digest();
    const claimed = Buffer.from(token.slice(end + 1), "base64url");
    return alg === "HS256" && claimed.length === mac.length && timingSafeEqual(claimed, mac);
  } finally {
    secret.fill(0);
  }
}

/** Integer seconds since 1970 that a date can hold, or null. */
function seconds(value: JsonValue | undefined): number | null {
  return typeof value === "number" && value >= 0 && value <= 8.64e12 ? value : null;
}

function audienceFits(aud: JsonValue | undefined, publicUrl: string): boolean {
  if (aud === undefined) return true;
  const names = Array.isArray(aud) ? (aud as readonly JsonValue[]) : [aud];
  return names.some((name) => typeof name === "string" && name.replace(/\/+$/, "") === publicUrl);
}

/**
 * In the compatible profile the hash of an empty body, or no hash, leaves the body unbound. Any
 * other hash must match in both profiles.
 */
function bindingFlaw(
  claims: JsonObject,
  key: KeyRow,
  request: TokenRequest,
): "method" | "path" | "body" | null {
  const strict = key.profile === "strict";
  const { bodyHash, method, path } = claims;
  if (method === undefined ? strict : method !== request.method) return "method";
  if (path === undefined ? strict : path !== request.path) return "path";
  if (bodyHash === undefined) return strict ? "body" : null;
  if (typeof bodyHash !== "string" || !/^[0-9a-fA-F]{64}$/.test(bodyHash)) return "body";
  const claimed = Buffer.from(bodyHash, "hex");
  if (!strict && timingSafeEqual(claimed, hashOfNothing)) return null;
  return timingSafeEqual(claimed, createHash("sha256").update(request.body).digest())
    ? null
    : "body";
}

/** A flaw in the times, and its reason for the log; null for none. */
function timesProblem(
  claims: JsonObject,
  nowSeconds: number,
): readonly [flaw: TokenFlaw, reason: string] | null {
  const iat = seconds(claims.iat);
  const exp = seconds(claims.exp);
  if (iat === null || exp === null) return ["lifetime", "iat or exp missing"];
  if (exp <= iat || exp - iat > lifetimeSecondsMax) return ["lifetime", "lifetime"];
  const nbf = claims.nbf === undefined ? 0 : seconds(claims.nbf);
  if (nbf === null) return ["lifetime", "nbf"];
  if (iat > nowSeconds + skewSeconds) return ["not_yet", "issued in the future"];
  if (exp <= nowSeconds - skewSeconds) return ["expired", "expired"];
  return nbf > nowSeconds + skewSeconds ? ["not_yet", "not valid yet"] : null;
}

/** The flaws that another time on this machine's clock would take away. */
const clockFlaws: ReadonlySet<TokenFlaw> = new Set(["expired", "not_yet"]);

/**
 * Verifies a token for one request, or for no particular request if it is null. Does not check
 * whether its jti was used before (replay-guard.ts). Reasons never include the token or a secret.
 * @throws AgentError GATEWAY_SECRET_SEALED if the key's own row does not open.
 */
export async function verifyToken(
  value: string | undefined,
  request: TokenRequest | null,
  at: {
    readonly store: Store;
    readonly sealingKey: Uint8Array;
    readonly publicUrl: string;
    readonly nowMs: number;
  },
): Promise<TokenVerdict> {
  const parts = split(value);
  if (typeof parts === "string") return no(parts);
  const { claims, kid } = parts;
  const key = findKey(at.store, kid);
  if (key === undefined) return no("unknown key");
  if (parts.alg !== key.alg) return no("another algorithm than the key's");
  if (!(await signatureFits(parts.token, key, at.sealingKey))) return no("signature");
  const flawed = (flaw: TokenFlaw, reason: string = flaw) => ({
    ok: false as const,
    reason,
    signed: { key, flaw },
  });
  if (claims.sub !== kid) return flawed("subject");
  const times = timesProblem(claims, Math.floor(at.nowMs / 1000));
  if (times !== null && !clockFlaws.has(times[0])) return flawed(...times);
  if (typeof claims.jti !== "string" || !jtiPattern.test(claims.jti)) return flawed("jti");
  if (!audienceFits(claims.aud, at.publicUrl)) return flawed("audience");
  const binding = request === null ? null : bindingFlaw(claims, key, request);
  if (binding !== null) return flawed(binding);
  if (times !== null) {
    const [flaw, reason] = times;
    return { ok: false, reason, signed: { key, flaw }, isTimeAlone: true };
  }
  return {
    ok: true,
    key,
    jti: claims.jti,
    expiresAtMs: ((claims.exp as number) + skewSeconds) * 1000,
  };
}

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
  /** True for a token that a key of the profile `interface` signed. */
  readonly isInterface: boolean;
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
const clockWrong = problemAnswer("clock_wrong", {}, { "Retry-After": "10" });

const secondsOf = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1000)));

function tooMany(allowance: Allowance): Answer {
  return problemAnswer("rate_limited", {}, { "Retry-After": secondsOf(allowance.waitMs) });
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
  const seen = createSeenTokens(store);
  const reads = createRateBuckets(readsPerSecond, readsPerSecond * burst);
  const writes = createRateBuckets(writesPerSecond, writesPerSecond * burst);

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
    const kid = keyIdOfToken(token);
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

  const refuse = (knock: AccessRequest, reason: string, flaw?: TokenFlaw): Answer => {
    const [counter, name, keyId] = countOf(knock.client.address, knock.token);
    return refuseBy(counter, name, knock, keyId, reason, flaw);
  };

  /** A clock that is wrong refuses the tokens of every shop: that is no fault of theirs. */
  function refuseToken(
    knock: AccessRequest,
    { reason, signed, isTimeAlone }: Extract<TokenVerdict, { ok: false }>,
  ): Answer {
    if (isTimeAlone !== true || ownClock().kind === "right")
      return refuse(knock, reason, signed?.flaw);
    return clockWrong;
  }

  const refuseReplay = (knock: AccessRequest, keyId: string): Answer =>
    refuseBy(
      replays,
      `${keyId} ${addressBlock(knock.client.address)}`,
      knock,
      keyId,
      "seen before",
      "used",
    );

  function refuseBy(
    counter: typeof unauthenticated,
    name: string,
    knock: AccessRequest,
    keyId: string,
    reason: string,
    flaw?: TokenFlaw,
  ): Answer {
    tell(knock, keyId, reason);
    const allowance = counter.check(name, clock());
    if (!allowance.allowed) return tooMany(allowance);
    counter.fail(name, clock());
    return problemAnswer("token_invalid", flaw === undefined ? {} : { reason: flaw }, {
      "WWW-Authenticate": 'signatureToken realm="api"',
    });
  }

  /** The answer if the token's key is not allowed here and now; null admits the request. */
  function barred(
    knock: AccessRequest,
    key: KeyRow,
    merchant: MerchantRow,
    nowMs: number,
  ): Answer | null {
    const reason = keyProblem(key, merchant, knock.client, nowMs);
    if (reason !== null) return problemAnswer(reason);
    return keyHasScope(key, knock.scope)
      ? null
      : problemAnswer("scope_missing", { scope: knock.scope });
  }

  /** The caller of a valid token, or the answer that refuses it. */
  function callerOf(knock: AccessRequest, key: KeyRow, nowMs: number): Caller | Answer {
    const merchant = readCachedMerchant(store, key.merchant);
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
      const signer = verdict.ok ? verdict.key : verdict.signed?.key;
      const isInterface = signer?.profile === "interface";
      if (!verdict.ok)
        return { caller: refuseToken(knock, verdict), isInterface, limits: {}, use: null };
      const { key, jti, expiresAtMs } = verdict;
      const token = { keyId: key.id, jti, expiresAtMs };
      // Checked before the bucket, so that a stolen token that is sent again and again takes
      // nothing from the key's own requests.
      if (knock.writes && seen.has(token))
        return { caller: refuseReplay(knock, key.id), isInterface, limits: {}, use: null };
      const allowance = (knock.writes ? writes : reads).take(key.id, nowMs);
      const limits = limitHeaders(allowance);
      if (!allowance.allowed) return { caller: tooMany(allowance), isInterface, limits, use: null };
      const caller = callerOf(knock, key, nowMs);
      if (knock.writes && !isAnswer(caller))
        return { caller, isInterface, limits, use: seen.use(token, nowMs) };
      await seen.keep(token, nowMs);
      return { caller, isInterface, limits, use: null };
    },
  };
}
