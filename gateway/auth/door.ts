/**
 * Who may come in: counts failures before any signature work, verifies the token, takes from the key's bucket, checks the scope and,
 * for a POST, uses the token up. The order is the order of cost and of what a stranger may learn. Tokens that name no key of ours
 * count against their address; those that do against that key at that address, so that nobody's garbage locks a neighbour out.
 * Source: docs/api.md, sections on the token and on limits.
 */
import type { GatewayLog } from "../../protocol/log.ts";
import { type Answer, say } from "../api/answer.ts";
import type { GatewayConfig } from "../config.ts";
import type { KeyRow, MerchantRow } from "../store/rows.ts";
import type { Store } from "../store/store.ts";
import type { GatewayKey } from "./gateway-key.ts";
import { findKey, keyHasScope, type Scope } from "./keys.ts";
import { type Allowance, addressName, createBuckets, createFailureCounter } from "./rate.ts";
import { kidOf, type TokenRequest, useUp, verifyToken } from "./signature-token.ts";

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
  /** A 429 for whoever failed too often, before the token is verified; null lets it try. */
  turnAway(ip: string, token: string | undefined): Answer | null;
  /** `limits` are the RateLimit headers of the answer, whatever it is. */
  admit(knock: Knock): Promise<{ readonly caller: Caller | Answer; readonly limits: Readonly<Record<string, string>> }>;
}

const failureWindowMs = 600_000;
const seenEveryMs = 60_000;
const keysPerAddress = 50; // whose failed verifications one address may cause in full

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
  readonly log: GatewayLog;
  readonly clock: () => number;
}): Door {
  const { config, store, log, clock } = by;
  const { limits } = config;
  const strangers = createFailureCounter(limits.failedAuthPerTenMinutes, failureWindowMs);
  const byKey = createFailureCounter(limits.failedAuthPerTenMinutes, failureWindowMs);
  const work = createFailureCounter(limits.failedAuthPerTenMinutes * keysPerAddress, failureWindowMs);
  const reads = createBuckets(limits.readsPerSecond, limits.readsPerSecond * limits.burst);
  const writes = createBuckets(limits.writesPerSecond, limits.writesPerSecond * limits.burst);

  /** The counters that a token's failure counts in, each with the name it counts under. */
  function countersOf(ip: string, token: string | undefined): readonly (readonly [typeof strangers, string])[] {
    const address = addressName(ip);
    const kid = kidOf(token);
    const isKnown = kid !== null && findKey(store.database, kid) !== undefined;
    return isKnown
      ? [
          [byKey, `${kid} ${address}`],
          [work, address],
        ]
      : [[strangers, address]];
  }

  const refuse = (knock: Knock, reason: string): Answer => {
    for (const [counter, name] of countersOf(knock.ip, knock.token)) counter.fail(name, clock());
    log.info({ event: "token-refused", ip: knock.ip, reason }, "token refused");
    return say("token_invalid", {}, { "WWW-Authenticate": 'signatureToken realm="api"' });
  };

  function noteUse(key: KeyRow, nowMs: number): void {
    if (key.lastUsedAt !== null && nowMs - key.lastUsedAt < seenEveryMs) return;
    store.write((database) => database.run("UPDATE keys SET lastUsedAt = ? WHERE id = ?", nowMs, key.id));
  }

  return {
    turnAway(ip, token) {
      const checks = countersOf(ip, token).map(([counter, name]) => counter.check(name, clock()));
      const full = checks.find((allowance) => !allowance.allowed);
      return full === undefined ? null : tooMany(full);
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
