/**
 * Who may come in: counts failures by address before any signature work, verifies the token, takes from the key's bucket, checks the
 * scope and, for a POST, uses the token up. The order is the order of cost and of what a stranger may learn.
 * Source: docs/api.md, sections on the token and on limits.
 */
import type { Logger } from "pino";
import { type Answer, say } from "../api/answer.ts";
import type { GatewayConfig } from "../config.ts";
import type { KeyRow, MerchantRow } from "../store/rows.ts";
import type { Store } from "../store/store.ts";
import type { GatewayKey } from "./gateway-key.ts";
import { keyHasScope, type Scope } from "./keys.ts";
import { type Allowance, addressName, createBuckets, createFailureCounter } from "./rate.ts";
import { type TokenRequest, useUp, verifyToken } from "./signature-token.ts";

/** @public */
export interface Caller {
  readonly key: KeyRow;
  readonly merchant: MerchantRow;
}

/** @public */
export interface Knock {
  readonly ip: string;
  readonly token: string | undefined;
  readonly request: TokenRequest;
  readonly scope: Scope;
  readonly writes: boolean;
}

/** @public */
export interface Door {
  /** A 429 for an address that failed too often; null lets it try. */
  turnAway(ip: string): Answer | null;
  /** `limits` are the RateLimit headers of the answer, whatever it is. */
  admit(knock: Knock): Promise<{ readonly caller: Caller | Answer; readonly limits: Readonly<Record<string, string>> }>;
}

const failureWindowMs = 600_000;
const seenEveryMs = 60_000;

const secondsOf = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1000)));

function tooMany(allowance: Allowance): Answer {
  return say("rate_limited", {}, { "Retry-After": secondsOf(allowance.waitMs) });
}

function limitHeaders(allowance: Allowance): Record<string, string> {
  return {
    "RateLimit-Limit": String(allowance.limit),
    "RateLimit-Remaining": String(allowance.remaining),
    "RateLimit-Reset": allowance.allowed ? "0" : secondsOf(allowance.waitMs),
  };
}

/** @public */
export function createDoor(by: {
  readonly config: GatewayConfig;
  readonly store: Store;
  readonly key: GatewayKey;
  readonly log: Logger;
  readonly clock: () => number;
}): Door {
  const { config, store, log, clock } = by;
  const { limits } = config;
  const failures = createFailureCounter(limits.failedAuthPerTenMinutes, failureWindowMs);
  const reads = createBuckets(limits.readsPerSecond, limits.readsPerSecond * limits.burst);
  const writes = createBuckets(limits.writesPerSecond, limits.writesPerSecond * limits.burst);

  const refuse = (knock: Knock, reason: string): Answer => {
    failures.fail(addressName(knock.ip), clock());
    log.info({ ip: knock.ip, reason }, "token refused");
    return say("token_invalid", {}, { "WWW-Authenticate": 'signatureToken realm="api"' });
  };

  function noteUse(key: KeyRow, nowMs: number): void {
    if (key.lastUsedAt !== null && nowMs - key.lastUsedAt < seenEveryMs) return;
    store.write((database) => database.run("UPDATE keys SET lastUsedAt = ? WHERE id = ?", nowMs, key.id));
  }

  return {
    turnAway(ip) {
      const allowance = failures.check(addressName(ip), clock());
      return allowance.allowed ? null : tooMany(allowance);
    },
    async admit(knock) {
      const nowMs = clock();
      const at = { store, sealingKey: by.key.sealingKey, publicUrl: config.publicUrl, nowMs };
      const verdict = await verifyToken(knock.token, knock.request, at);
      if (!verdict.ok) return { caller: refuse(knock, verdict.reason), limits: {} };
      const { key } = verdict;
      const allowance = (knock.writes ? writes : reads).take(key.id, nowMs);
      const headers = limitHeaders(allowance);
      const no = (answer: Answer) => ({ caller: answer, limits: headers });
      if (!allowance.allowed) return no(tooMany(allowance));
      if (key.revokedAt !== null) return no(say("key_revoked"));
      if (!keyHasScope(key, knock.scope)) return no(say("scope_missing", { scope: knock.scope }));
      if (!knock.writes) noteUse(key, nowMs);
      else if (!useUp(store, verdict, nowMs)) return no(refuse(knock, "used before"));
      const merchant = store.database.get<MerchantRow>("SELECT * FROM merchants WHERE id = ?", key.merchant);
      return merchant === undefined ? no(refuse(knock, "no merchant")) : { caller: { key, merchant }, limits: headers };
    },
  };
}
