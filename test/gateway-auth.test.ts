/**
 * The signatureToken at the gateway's door, over real HTTP: every way a token can be wrong gives the same 401, and beside each stands
 * a token that differs in that one thing and is let in. jose makes the good ones, as an independent hand.
 */
import { createHmac, generateKeyPairSync, randomBytes } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SignJWT } from "jose";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readGatewayKey } from "../gateway/auth/gateway-key.ts";
import { addressName, createBuckets, createFailureCounter } from "../gateway/auth/rate.ts";
import { openSecret, sealSecret } from "../gateway/auth/secret-box.ts";
import { revoke } from "../gateway/operator/people.ts";
import type { KeyRow } from "../gateway/store/rows.ts";
import { openStore } from "../gateway/store/store.ts";
import { publicKeyHex } from "../protocol/envelope.ts";
import { parseApiKey } from "../protocol/pairing.ts";
import { type Answered, encode, handmadeToken, sha256, startTestGateway, type TestGateway } from "./support/gateway-server.ts";

const many = { limits: { failedAuthPerTenMinutes: 100_000, readsPerSecond: 100_000, writesPerSecond: 100_000 } };
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway(many);
});
afterAll(() => gateway.close());

const path = "/api/v1/supportedCurrency";

function knock(token: string | undefined, more: Record<string, string> = {}): Promise<Answered> {
  const headers = { "Content-Type": "application/json", ...(token === undefined ? {} : { signatureToken: token }), ...more };
  return gateway.send(path, { headers });
}

const made = (change: Parameters<typeof handmadeToken>[2] = {}): string =>
  handmadeToken(gateway.merchant.apiKey, gateway.clock.nowMs, change);

const nowSeconds = (): number => Math.floor(gateway.clock.nowMs / 1000);

function byJose(apiKey = gateway.merchant.apiKey): Promise<string> {
  const { keyId, secret } = parseApiKey(apiKey);
  return new SignJWT({ bodyHash: sha256("") })
    .setProtectedHeader({ alg: "HS256", typ: "JWT", kid: keyId })
    .setSubject(keyId)
    .setIssuedAt(nowSeconds())
    .setExpirationTime(nowSeconds() + 60)
    .setJti(randomBytes(12).toString("base64url"))
    .sign(secret);
}

/** Signs any header and claims text with the merchant's secret. */
function signed(header: string, claims: string): string {
  const text = `${encode(header)}.${encode(claims)}`;
  return `${text}.${createHmac("sha256", parseApiKey(gateway.merchant.apiKey).secret).update(text).digest("base64url")}`;
}

const headerText = (): string => JSON.stringify({ alg: "HS256", kid: gateway.merchant.keyId });
const claimsText = (change: object = {}): string => {
  const iat = nowSeconds();
  return JSON.stringify({ sub: gateway.merchant.keyId, iat, exp: iat + 60, jti: randomBytes(12).toString("hex"), ...change });
};

describe("a token that is let in", () => {
  it("was made by another library", async () => {
    const answer = await knock(await byJose());
    expect(answer.status).toBe(200);
    expect(Array.isArray(answer.body)).toBe(true);
  });

  it("has the least a token may have, or a Bearer prefix, or the full lifetime, or a known audience", async () => {
    const iat = nowSeconds();
    const good = [
      signed(headerText(), claimsText()),
      `Bearer ${made()}`,
      made({ claims: { exp: iat + 300 } }),
      made({ claims: { iat: iat + 30, exp: iat + 60 } }),
      made({ claims: { iat: iat - 60, exp: iat - 29 } }),
      made({ claims: { aud: gateway.service.config.publicUrl } }),
      made({ claims: { aud: ["https://elsewhere.example", `${gateway.service.config.publicUrl}/`] } }),
      made({ claims: { nbf: iat + 30 } }),
      made({ claims: { iss: "someone", extra: { any: [1, null] } } }),
      made({ header: { typ: "jwt" } }),
      made({ claims: { bodyHash: sha256("").toUpperCase() } }),
      made({ claims: { method: "GET", path } }),
      made({ claims: { jti: "a".repeat(16) } }),
    ];
    for (const token of good) expect((await knock(token)).status, token).toBe(200);
  });
});

describe("a malformed or wrong token", () => {
  const wrong: Record<string, () => string | undefined> = {
    "is missing": () => undefined,
    "is empty": () => "",
    "is only a prefix": () => "Bearer ",
    "is one word": () => "token",
    "has two parts": () => made().split(".").slice(0, 2).join("."),
    "has four parts": () => `${made()}.x`,
    "has five parts, as an encrypted one": () => "a.b.c.d.e",
    "has an empty signature": () => `${made().split(".").slice(0, 2).join(".")}.`,
    "has an empty part in front": () => `.${made().split(".").slice(1).join(".")}`,
    "carries padding": () => `${made()}=`,
    "is plain base64": () => made().replace(/.$/, "+"),
    "has a space inside": () => made().replace(".", ". "),
    "has a second form of the same last byte": () => {
      const token = made();
      const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
      return token.slice(0, -1) + letters.charAt(letters.indexOf(token.slice(-1)) + 1);
    },
    "is too long": () => made({ claims: { filler: "x".repeat(4000) } }),
    "has a header that is not JSON": () => signed("{alg:HS256}", claimsText()),
    "has a header that is a list": () => signed("[]", claimsText()),
    "has a header with the same key twice": () => signed(`{"alg":"none",${headerText().slice(1)}`, claimsText()),
    "has claims that are not JSON": () => signed(headerText(), "claims"),
    "has claims with the same key twice": () => signed(headerText(), `{"sub":"other",${claimsText().slice(1)}`),
    "has claims that are null": () => signed(headerText(), "null"),
    "has claims with __proto__": () => signed(headerText(), `{"__proto__":{},${claimsText().slice(1)}`),
    "says alg none, unsigned": () =>
      `${encode(JSON.stringify({ alg: "none", kid: gateway.merchant.keyId }))}.${encode(claimsText())}.`,
    "says alg none, signed": () => made({ header: { alg: "none" } }),
    "says alg HS512": () => made({ header: { alg: "HS512" } }),
    "says alg hs256 in small letters": () => made({ header: { alg: "hs256" } }),
    "says alg EdDSA for an HS256 key": () => made({ header: { alg: "EdDSA" } }),
    "has no alg": () => made({ header: { alg: undefined } }),
    "has a number for alg": () => made({ header: { alg: 1 } }),
    "has no kid": () => made({ header: { kid: undefined } }),
    "has an unknown kid": () => made({ header: { kid: "k_0000000000000000" } }),
    "has a kid that is a path": () => made({ header: { kid: "../../etc/passwd" } }),
    "has a kid that is SQL": () => made({ header: { kid: "k_' OR '1'='1" } }),
    "has a kid that is a list": () => made({ header: { kid: [gateway.merchant.keyId] } }),
    "has another typ": () => made({ header: { typ: "JWE" } }),
    "brings its own key": () => made({ header: { jwk: { kty: "oct", k: "AAAA" } } }),
    "names where its key is": () => made({ header: { jku: "https://attacker.example/keys" } }),
    "marks a header critical": () => made({ header: { crit: ["exp"], exp: 1 } }),
    "asks for an unencoded payload": () => made({ header: { b64: false, crit: ["b64"] } }),
    "was signed with another secret": () => made({ secret: randomBytes(32) }),
    "was signed with the secret's bytes instead of its text": () =>
      made({ secret: Buffer.from(Buffer.from(parseApiKey(gateway.merchant.apiKey).secret).toString("utf8"), "base64url") }),
    "was signed with nothing": () => made({ secret: new Uint8Array(0) }),
    "had a claim changed after signing": () => {
      const [head, , signature] = made().split(".");
      return `${head}.${encode(claimsText())}.${signature}`;
    },
    "has no sub": () => made({ claims: { sub: undefined } }),
    "has another sub": () => made({ claims: { sub: "k_0000000000000000" } }),
    "has no iat": () => made({ claims: { iat: undefined } }),
    "has no exp": () => made({ claims: { exp: undefined } }),
    "has iat as text": () => made({ claims: { iat: String(nowSeconds()) } }),
    "has iat with a fraction": () => signed(headerText(), claimsText().replace(/"iat":(\d+)/, '"iat":$1.5')),
    "has a negative iat": () => made({ claims: { iat: -1 } }),
    "has a huge exp": () => made({ claims: { exp: Number.MAX_SAFE_INTEGER } }),
    "expired more than the skew ago": () => made({ claims: { iat: nowSeconds() - 90, exp: nowSeconds() - 30 } }),
    "comes from too far in the future": () => made({ claims: { iat: nowSeconds() + 31, exp: nowSeconds() + 60 } }),
    "lives 301 seconds": () => made({ claims: { exp: nowSeconds() + 301 } }),
    "ends before it begins": () => made({ claims: { exp: nowSeconds() } }),
    "is not valid yet": () => made({ claims: { nbf: nowSeconds() + 31 } }),
    "has no jti": () => made({ claims: { jti: undefined } }),
    "has a jti that is too short": () => made({ claims: { jti: "a".repeat(15) } }),
    "has a jti with a space": () => made({ claims: { jti: "a b".repeat(6) } }),
    "has a number as jti": () => made({ claims: { jti: 12345678901234 } }),
    "has another audience": () => made({ claims: { aud: "https://elsewhere.example" } }),
    "has an empty audience list": () => made({ claims: { aud: [] } }),
    "has a hash of another body": () => made({ claims: { bodyHash: sha256("x") } }),
    "has a bodyHash that is no hash": () => made({ claims: { bodyHash: "" } }),
    "has a number as bodyHash": () => made({ claims: { bodyHash: 0 } }),
    "is for another method": () => made({ claims: { method: "POST" } }),
    "is for another path": () => made({ claims: { path: "/api/v1/transactions" } }),
  };

  const bodies = new Set<string>();
  for (const [name, make] of Object.entries(wrong)) {
    it(`is refused when it ${name}`, async () => {
      const answer = await knock(make());
      expect(answer.status).toBe(401);
      expect(answer.headers["www-authenticate"]).toMatch(/^signatureToken /);
      expect(Object.keys(answer.body).sort()).toEqual(["code", "message", "requestId"]);
      bodies.add(JSON.stringify({ ...answer.body, requestId: "" }));
    });
  }

  it("never learns which of these it was", () => expect([...bodies]).toHaveLength(1));
  it("is refused when the header comes twice", async () => {
    const answer = await gateway.send(path, {
      headers: { "Content-Type": "application/json", signatureToken: `${made()}, ${made()}` },
    });
    expect(answer.status).toBe(401);
  });
});

describe("a token on POST", () => {
  const order = JSON.stringify({ currency: "eth", amount: "1", orderId: "jti" });
  const post = (token: string, body = order): Promise<Answered> =>
    gateway.send("/api/v1/createTransactionRequest", {
      method: "POST",
      headers: { "Content-Type": "application/json", signatureToken: token },
      body,
    });

  it("is used up by its first use, also for another path and after a restart; reads may repeat one", async () => {
    const token = made();
    expect((await post(token)).status).toBe(400); // no agent paired: past the door
    expect((await post(token)).status).toBe(401);
    expect((await post(made())).status).toBe(400);
    const { database } = gateway.service.store;
    expect(database.get("SELECT 1 FROM jtis WHERE key = ?", gateway.merchant.keyId)).toBeDefined();
    const read = made();
    expect((await knock(read)).status).toBe(200);
    expect((await knock(read)).status).toBe(200);
  });

  it("forgets a jti only after its token has expired", async () => {
    const token = made({ claims: { jti: "remembered-for-as-long" } });
    await post(token);
    gateway.clock.nowMs += 89_000;
    expect((await post(token)).status).toBe(401);
    const { database } = gateway.service.store;
    expect(database.get("SELECT 1 FROM jtis WHERE jti = 'remembered-for-as-long'")).toBeDefined();
    gateway.clock.nowMs += 2_000;
    await post(made());
    expect(database.get("SELECT 1 FROM jtis WHERE jti = 'remembered-for-as-long'")).toBeUndefined();
    expect((await post(token)).status).toBe(401); // by time
  });

  it("may be bound to its body in the compatible profile, and then must fit", async () => {
    expect((await post(made({ claims: { bodyHash: sha256(order) } }))).status).toBe(400);
    expect((await post(made({ claims: { bodyHash: sha256(order) } }), `${order} `)).status).toBe(401);
  });
});

describe("the strict profile", () => {
  const target = "/api/v1/createTransactionRequest";
  const body = JSON.stringify({ currency: "eth", amount: "1", orderId: "strict" });
  const post = (apiKey: string, claims: object): Promise<Answered> =>
    gateway.send(target, {
      method: "POST",
      headers: { "Content-Type": "application/json", signatureToken: handmadeToken(apiKey, gateway.clock.nowMs, { claims }) },
      body,
    });
  const bound = { bodyHash: sha256(body), method: "POST", path: target };

  it("takes a token bound to method, path and body, and no other", async () => {
    const { apiKey } = gateway.key({ profile: "strict", scopes: ["deposit", "read"] });
    expect((await post(apiKey, bound)).body.code).toBe("agent_not_paired");
    for (const change of [
      { bodyHash: undefined },
      { bodyHash: sha256("") },
      { method: undefined },
      { method: "PUT" },
      { method: "post" },
      { path: undefined },
      { path: `${target}/` },
    ]) {
      expect((await post(apiKey, { ...bound, ...change })).status, JSON.stringify(change)).toBe(401);
    }
  });

  it("binds the query of a read too", async () => {
    const { apiKey } = gateway.key({ profile: "strict", scopes: ["read"] });
    const full = "/api/v1/transactions?status=1";
    const read = (claimed: string): Promise<Answered> => {
      const claims = { method: "GET", path: claimed };
      const token = handmadeToken(apiKey, gateway.clock.nowMs, { claims });
      return gateway.send(full, { headers: { "Content-Type": "application/json", signatureToken: token } });
    };
    expect((await read(full)).status).toBe(200);
    expect((await read("/api/v1/transactions?status=2")).status).toBe(401);
    expect((await read("/api/v1/transactions")).status).toBe(401);
  });
});

describe("an EdDSA key", () => {
  const pair = generateKeyPairSync("ed25519");
  const token = (keyId: string, alg = "EdDSA"): Promise<string> =>
    new SignJWT({})
      .setProtectedHeader({ alg, kid: keyId })
      .setSubject(keyId)
      .setIssuedAt(nowSeconds())
      .setExpirationTime(nowSeconds() + 60)
      .setJti(randomBytes(12).toString("hex"))
      .sign(pair.privateKey);

  it("is pinned to its algorithm: its public key is no HMAC secret", async () => {
    const publicKey = publicKeyHex(pair.publicKey);
    const { keyId, apiKey } = gateway.key({ alg: "EdDSA", publicKey });
    expect(apiKey).toBe("");
    expect((await knock(await token(keyId))).status).toBe(200);
    const row = gateway.service.store.database.get<KeyRow>("SELECT * FROM keys WHERE id = ?", keyId);
    expect(row?.secretBox).toBeNull();
    const iat = nowSeconds();
    const claims = JSON.stringify({ sub: keyId, iat, exp: iat + 60, jti: "confusion-of-keys-1" });
    for (const secret of [publicKey, Buffer.from(publicKey, "hex")]) {
      const text = `${encode(JSON.stringify({ alg: "HS256", kid: keyId }))}.${encode(claims)}`;
      const forged = `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
      expect((await knock(forged)).status).toBe(401);
    }
  });

  it("does not take another key's signature", async () => {
    const { keyId } = gateway.key({ alg: "EdDSA", publicKey: publicKeyHex(generateKeyPairSync("ed25519").publicKey) });
    expect((await knock(await token(keyId))).status).toBe(401);
  });
});

describe("a key", () => {
  it("does only what its scopes say", async () => {
    const { apiKey } = gateway.key({ scopes: ["deposit"] });
    const answer = await knock(handmadeToken(apiKey, gateway.clock.nowMs));
    expect([answer.status, answer.body.code, answer.body.scope]).toEqual([403, "scope_missing", "read"]);
    const other = gateway.key({ scopes: ["read"] });
    expect((await knock(handmadeToken(other.apiKey, gateway.clock.nowMs))).status).toBe(200);
    const post = await gateway.send("/api/v1/autoWithdraw", {
      method: "POST",
      headers: { "Content-Type": "application/json", signatureToken: handmadeToken(other.apiKey, gateway.clock.nowMs) },
      body: "{}",
    });
    expect([post.status, post.body.scope]).toEqual([403, "withdraw:auto"]);
  });

  it("is told it was revoked only when it could have signed", async () => {
    const { keyId, apiKey } = gateway.key({});
    expect((await knock(handmadeToken(apiKey, gateway.clock.nowMs))).status).toBe(200);
    expect(revoke(gateway.operator, keyId).ok).toBe(true);
    const answer = await knock(handmadeToken(apiKey, gateway.clock.nowMs));
    expect([answer.status, answer.body.code]).toEqual([403, "key_revoked"]);
    expect((await knock(handmadeToken(apiKey, gateway.clock.nowMs, { secret: randomBytes(32) }))).status).toBe(401);
    expect(revoke(gateway.operator, keyId)).toEqual({ ok: false, code: "GATEWAY_UNKNOWN_KEY" });
  });

  it("has a secret that stands nowhere in the database, and opens for its own row only", () => {
    const { secret, keyId } = parseApiKey(gateway.merchant.apiKey);
    const { database } = gateway.service.store;
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
    const file = readFileSync(join(gateway.dir, "gateway.db"));
    expect(file.includes(Buffer.from(secret))).toBe(false);
    expect(file.includes(Buffer.from(Buffer.from(secret).toString("utf8"), "base64url"))).toBe(false);
    const { sealingKey } = gateway.service.key;
    const box = sealSecret(secret, keyId, sealingKey, randomBytes);
    expect(Buffer.from(openSecret(box, keyId, sealingKey)).equals(Buffer.from(secret))).toBe(true);
    expect(() => openSecret(box, "k_0000000000000000", sealingKey)).toThrow(/does not open/);
    expect(() => openSecret(box, keyId, randomBytes(32))).toThrow(/does not open/);
    for (const at of [0, 1, 13, 29, box.length - 1]) {
      const bent = Uint8Array.from(box);
      bent[at] = (bent[at] ?? 0) ^ 1;
      expect(() => openSecret(bent, keyId, sealingKey), `byte ${at}`).toThrow(/does not open/);
    }
    expect(() => openSecret(box.subarray(0, 29), keyId, sealingKey)).toThrow(/does not open/);
  });
});

describe("limits", () => {
  it("turn an address away after too many failures, before any signature work, and let it back in", async () => {
    const small = await startTestGateway({ limits: { failedAuthPerTenMinutes: 3 } });
    const send = (token: string): Promise<Answered> =>
      small.send(path, { headers: { "Content-Type": "application/json", signatureToken: token } });
    const good = (): string => handmadeToken(small.merchant.apiKey, small.clock.nowMs);
    const unknown = (): string => {
      const { secret, fingerprint } = parseApiKey(small.merchant.apiKey);
      return handmadeToken(`k_0000000000000000.${Buffer.from(secret).toString("utf8")}.${fingerprint}`, small.clock.nowMs);
    };
    for (const token of ["wrong", unknown(), ""]) expect((await send(token)).status).toBe(401);
    for (const token of ["wrong", unknown(), ""]) {
      const away = await send(token);
      expect([away.status, away.body.code, away.headers["retry-after"]]).toEqual([429, "rate_limited", "600"]);
    }
    expect((await send(good())).status).toBe(200); // others' garbage locks no key out
    small.clock.nowMs += 600_000;
    expect((await send("wrong")).status).toBe(401);
    await small.close();
  });

  it("turn a key away at an address where it failed too often, and no other key", async () => {
    const small = await startTestGateway({ limits: { failedAuthPerTenMinutes: 3 } });
    const send = (token: string): Promise<Answered> =>
      small.send(path, { headers: { "Content-Type": "application/json", signatureToken: token } });
    const good = (apiKey: string): string => handmadeToken(apiKey, small.clock.nowMs);
    const bad = (apiKey: string): string => handmadeToken(apiKey, small.clock.nowMs, { secret: randomBytes(32) });
    const other = small.key({}).apiKey;
    for (let i = 0; i < 3; i += 1) expect((await send(bad(small.merchant.apiKey))).status).toBe(401);
    const away = await send(good(small.merchant.apiKey));
    expect([away.status, away.body.code, away.headers["retry-after"]]).toEqual([429, "rate_limited", "600"]);
    expect((await send(good(other))).status).toBe(200);
    expect((await send("wrong")).status).toBe(401);
    small.clock.nowMs += 600_000;
    expect((await send(good(small.merchant.apiKey))).status).toBe(200);
    await small.close();
  });

  it("bound the verifications that one address may waste, over all keys", async () => {
    const small = await startTestGateway({ limits: { failedAuthPerTenMinutes: 1 } });
    const send = (token: string): Promise<Answered> =>
      small.send(path, { headers: { "Content-Type": "application/json", signatureToken: token } });
    const bad = (apiKey: string): string => handmadeToken(apiKey, small.clock.nowMs, { secret: randomBytes(32) });
    for (let i = 0; i < 50; i += 1) {
      if (i === 49) expect((await send(handmadeToken(small.merchant.apiKey, small.clock.nowMs))).status).toBe(200);
      expect((await send(bad(small.key({}).apiKey))).status, `failure ${i}`).toBe(401);
    }
    expect((await send(bad(small.key({}).apiKey))).status).toBe(429);
    await small.close();
  });

  it("warn once of a proxy that nobody named", async () => {
    const lines: string[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
    const forward = async (change: object): Promise<number> => {
      lines.length = 0;
      const small = await startTestGateway(change, log);
      const headers = { "X-Forwarded-For": "203.0.113.7" };
      for (let i = 0; i < 2; i += 1) expect((await small.send("/health", { headers })).status).toBe(200);
      await small.close();
      return lines.filter((line) => line.includes("trustProxy")).length;
    };
    expect(await forward({})).toBe(1);
    expect(await forward({ trustProxy: ["127.0.0.1"] })).toBe(0);
  });

  it("hold per key, apart for reads and writes", async () => {
    const small = await startTestGateway({ limits: { readsPerSecond: 2, writesPerSecond: 1, burst: 1 } });
    const read = (): Promise<Answered> => small.call("GET", path);
    expect((await read()).headers["ratelimit-remaining"]).toBe("1");
    expect((await read()).status).toBe(200);
    const away = await read();
    expect([away.status, away.headers["retry-after"], away.headers["ratelimit-limit"]]).toEqual([429, "1", "2"]);
    expect((await small.call("POST", "/api/v1/autoWithdraw", {})).status).toBe(400);
    expect((await small.call("POST", "/api/v1/autoWithdraw", {})).status).toBe(429);
    small.clock.nowMs += 500;
    expect((await read()).status).toBe(200);
    await small.close();
  });

  it("count addresses as their owners hold them, in bounded memory", () => {
    expect(addressName("::ffff:192.0.2.1")).toBe("192.0.2.1");
    expect(addressName("2001:db8:1:2:3:4:5:6")).toBe(addressName("2001:db8:1:2::1"));
    expect(addressName("2001:db8:1:2::1")).not.toBe(addressName("2001:db8:1:3::1"));
    expect(addressName("::1")).toBe("0:0:0:0::/64");
    const failures = createFailureCounter(1, 1000);
    failures.fail("first", 0);
    expect(failures.check("first", 999).allowed).toBe(false);
    for (let i = 0; i < 10_000; i += 1) failures.fail(`other ${i}`, 0);
    expect(failures.check("first", 999).allowed).toBe(true);
    const buckets = createBuckets(1, 1);
    expect(buckets.take("a", 0).allowed).toBe(true);
    expect(buckets.take("a", 999)).toMatchObject({ allowed: false, waitMs: 1 });
    expect(buckets.take("a", 1000).allowed).toBe(true);
  });
});

describe("the gateway's own files", () => {
  it("are refused when others can read the key, when it is gone, and when it is no key", () => {
    const file = gateway.service.config.keyFile;
    expect(readGatewayKey(file).fingerprint).toBe(gateway.service.key.fingerprint);
    chmodSync(file, 0o640);
    expect(() => readGatewayKey(file)).toThrow(expect.objectContaining({ code: "GATEWAY_KEY_OPEN" }));
    chmodSync(file, 0o600);
    expect(() => readGatewayKey(`${file}.gone`)).toThrow(expect.objectContaining({ code: "GATEWAY_KEY_MISSING" }));
    const other = join(gateway.dir, "other.key");
    writeFileSync(other, "no key", { mode: 0o600 });
    expect(() => readGatewayKey(other)).toThrow(expect.objectContaining({ code: "GATEWAY_KEY_INVALID" }));
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "pem", type: "pkcs8" });
    writeFileSync(other, rsa, { mode: 0o600 });
    expect(() => readGatewayKey(other)).toThrow(expect.objectContaining({ code: "GATEWAY_KEY_INVALID" }));
  });

  it("are refused when the database is gone or another version's", () => {
    const { log, config, store } = gateway.service;
    expect(() => openStore(`${config.database}.gone`, log)).toThrow(expect.objectContaining({ code: "GATEWAY_STORE_MISSING" }));
    openStore(config.database, log).close();
    store.database.run("UPDATE meta SET value = '99' WHERE name = 'schema'");
    expect(() => openStore(config.database, log)).toThrow(expect.objectContaining({ code: "GATEWAY_STORE_VERSION" }));
    store.database.run("UPDATE meta SET value = '1' WHERE name = 'schema'");
    expect(store.database.get("PRAGMA synchronous")).toEqual({ synchronous: 2 });
    expect(store.database.get("PRAGMA journal_mode")).toEqual({ journal_mode: "wal" });
  });
});
