/**
 * The signatureToken at the gateway's entry, over real HTTP: every way in which a token can be
 * wrong gives the same 401, and each has a twin that differs only there and is let in. jose makes
 * the good tokens, as an independent library.
 */
import { createHmac, generateKeyPairSync, randomBytes } from "node:crypto";
import { SignJWT } from "jose";
import { afterEach, describe, expect, it } from "vitest";
import { createSeenTokens } from "../../gateway/auth/replay-guard.ts";
import type { SeenToken } from "../../gateway/store/jtis.ts";
import type { KeyRow } from "../../gateway/store/rows.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import { encode, type GatewayAnswer, handmadeToken, sha256 } from "../../lab/kit/gateway-server.ts";
import { publicKeyHex } from "../../protocol/envelope.ts";
import { parseApiKey } from "../../protocol/pairing.ts";
import { gateway, knock, oneGateway, path } from "../support/one-gateway.ts";

oneGateway();

const made = (change: Parameters<typeof handmadeToken>[2] = {}): string =>
  handmadeToken(gateway.merchant.shopKey, gateway.clock.nowMs, change);

const nowSeconds = (): number => Math.floor(gateway.clock.nowMs / 1000);

function byJose(apiKey = gateway.merchant.shopKey): Promise<string> {
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
  return `${text}.${createHmac("sha256", parseApiKey(gateway.merchant.shopKey).secret).update(text).digest("base64url")}`;
}

const headerText = (): string => JSON.stringify({ alg: "HS256", kid: gateway.merchant.shopKeyId });
const claimsText = (change: object = {}): string => {
  const iat = nowSeconds();
  return JSON.stringify({
    sub: gateway.merchant.shopKeyId,
    iat,
    exp: iat + 60,
    jti: randomBytes(12).toString("hex"),
    ...change,
  });
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
      made({
        claims: { aud: ["https://elsewhere.example", `${gateway.service.config.publicUrl}/`] },
      }),
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
    "has a header with the same key twice": () =>
      signed(`{"alg":"none",${headerText().slice(1)}`, claimsText()),
    "has claims that are not JSON": () => signed(headerText(), "claims"),
    "has claims with the same key twice": () =>
      signed(headerText(), `{"sub":"other",${claimsText().slice(1)}`),
    "has claims that are null": () => signed(headerText(), "null"),
    "has claims with __proto__": () =>
      signed(headerText(), `{"__proto__":{},${claimsText().slice(1)}`),
    "says alg none, unsigned": () =>
      `${encode(JSON.stringify({ alg: "none", kid: gateway.merchant.shopKeyId }))}.${encode(claimsText())}.`,
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
    "has a kid that is a list": () => made({ header: { kid: [gateway.merchant.shopKeyId] } }),
    "has another typ": () => made({ header: { typ: "JWE" } }),
    "brings its own key": () => made({ header: { jwk: { kty: "oct", k: "AAAA" } } }),
    "names where its key is": () => made({ header: { jku: "https://attacker.example/keys" } }),
    "marks a header critical": () => made({ header: { crit: ["exp"], exp: 1 } }),
    "asks for an unencoded payload": () => made({ header: { b64: false, crit: ["b64"] } }),
    "was signed with another secret": () => made({ secret: randomBytes(32) }),
    "was signed with the secret's bytes instead of its text": () =>
      made({
        secret: Buffer.from(
          Buffer.from(parseApiKey(gateway.merchant.shopKey).secret).toString("utf8"),
          "base64url",
        ),
      }),
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
    "has iat with a fraction": () =>
      signed(headerText(), claimsText().replace(/"iat":(\d+)/, '"iat":$1.5')),
    "has a negative iat": () => made({ claims: { iat: -1 } }),
    "has a huge exp": () => made({ claims: { exp: Number.MAX_SAFE_INTEGER } }),
    "expired more than the skew ago": () =>
      made({ claims: { iat: nowSeconds() - 90, exp: nowSeconds() - 30 } }),
    "comes from too far in the future": () =>
      made({ claims: { iat: nowSeconds() + 31, exp: nowSeconds() + 60 } }),
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
      const { reason: _, ...body } = answer.body; // token-reasons.test.ts has each reason
      expect(Object.keys(body).sort()).toEqual(["code", "message", "requestId"]);
      bodies.add(JSON.stringify({ ...body, requestId: "" }));
    });
  }

  describe("whose time alone is wrong, while every chain contradicts the gateway's clock,", () => {
    const ofTime = [
      "expired more than the skew ago",
      "comes from too far in the future",
      "is not valid yet",
    ];
    afterEach(() => {
      delete gateway.clock.judged;
    });
    const isWrong = (): void => {
      gateway.clock.judged = {
        kind: "ahead",
        ownMs: gateway.clock.nowMs,
        chainMs: gateway.clock.nowMs - 86_400_000,
      };
    };
    it.each(ofTime)(
      "gets a 503 when it %s, is not counted, and is asked for again later",
      async (name) => {
        isWrong();
        for (let time = 0; time < 40; time += 1) {
          const answer = await knock((wrong[name] as () => string)());
          expect(answer).toMatchObject({ status: 503, body: { code: "clock_wrong" } });
          expect(answer.headers["retry-after"]).toBe("10");
        }
        delete gateway.clock.judged;
        expect((await knock(made())).status).toBe(200);
      },
    );

    it("is let in all the same if its time is right, and refused with 401 if anything else is wrong", async () => {
      isWrong();
      expect((await knock(made())).status).toBe(200);
      for (const [name, make] of Object.entries(wrong))
        if (!ofTime.includes(name)) expect((await knock(make())).status, name).not.toBe(503);
      const both = made({
        claims: {
          iat: nowSeconds() - 90,
          exp: nowSeconds() - 30,
          aud: "https://elsewhere.example",
        },
      });
      expect((await knock(both)).status).not.toBe(503);
    });
  });

  it("never learns which of these it was", () => expect([...bodies]).toHaveLength(1));
  it("is refused when the header comes twice", async () => {
    const answer = await gateway.send(path, {
      headers: { "Content-Type": "application/json", signatureToken: `${made()}, ${made()}` },
    });
    expect(answer.status).toBe(401);
  });
});

const seenOf = (token: string): SeenToken => {
  const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  return { keyId: claims.sub, jti: claims.jti, expiresAtMs: 0 };
};

describe("a token on POST", () => {
  const order = JSON.stringify({ currency: "eth", amount: "1", orderId: "jti" });
  const post = (token: string, body = order): Promise<GatewayAnswer> =>
    gateway.send("/api/v1/createTransactionRequest", {
      method: "POST",
      headers: { "Content-Type": "application/json", signatureToken: token },
      body,
    });

  it("is used up by its first use, also for another path and after a restart", async () => {
    const token = made();
    expect((await post(token)).status).toBe(400); // no agent paired: past the token
    expect((await post(token)).status).toBe(401);
    expect((await post(made())).status).toBe(400);
    const { database } = gateway.service.store;
    expect(
      database.get("SELECT 1 FROM jtis WHERE key = ?", gateway.merchant.shopKeyId),
    ).toBeDefined();
  });

  it("is used up by a request that made nothing, after a restart too", async () => {
    const token = made();
    expect((await post(token, "{")).status).toBe(400);
    // as a gateway that starts now sees it
    expect(createSeenTokens(gateway.service.store).has(seenOf(token))).toBe(true);
    expect(createSeenTokens(gateway.service.store).has(seenOf(made()))).toBe(false);
  });

  it("is refused when any request carried it before, after a restart too; a GET may carry it again and writes nothing more", async () => {
    const { database } = gateway.service.store;
    // PostgreSQL counts no changes of a connection; the rows of tokens are what might grow.
    const counted = isOnPostgres ? "count(*) AS n FROM jtis" : "total_changes() AS n";
    const writes = (): unknown => database.get(`SELECT ${counted}`);
    const read = made();
    expect((await knock(read)).status).toBe(200);
    const before = writes();
    for (let i = 0; i < 3; i += 1) expect((await knock(read)).status).toBe(200);
    expect(writes()).toEqual(before);
    expect((await post(read)).status).toBe(401);
    expect(writes()).toEqual(before);
    // as a gateway that starts now sees it
    expect(createSeenTokens(gateway.service.store).has(seenOf(read))).toBe(true);
    expect((await post(made())).status).toBe(400); // no agent paired: past the token
    const untyped = made();
    expect(
      (
        await gateway.send(path, {
          headers: { signatureToken: untyped, "Content-Type": "text/plain" },
        })
      ).status,
    ).toBe(415);
    expect((await post(untyped)).status).toBe(401);
    const unscoped = handmadeToken(gateway.merchant.apiKey, gateway.clock.nowMs);
    expect((await knock(unscoped)).status).toBe(403);
    expect(createSeenTokens(gateway.service.store).has(seenOf(unscoped))).toBe(true);
  });

  it("is refused in the very moment in which a GET carries it, and one commit keeps all that come together", async () => {
    const read = made();
    const answers = await Promise.all([
      knock(read),
      post(read),
      ...Array.from({ length: 20 }, () => knock(made())),
    ]);
    const [first, second, ...others] = answers.map(({ status }) => status);
    expect([first, ...others].every((status) => status === 200)).toBe(true);
    // Whichever came first: a GET may follow a POST, and never the other way round.
    expect([400, 401]).toContain(second);
    expect((await post(read)).status).toBe(401);
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
    expect((await post(made({ claims: { bodyHash: sha256(order) } }), `${order} `)).status).toBe(
      401,
    );
  });
});

describe("the strict profile", () => {
  const target = "/api/v1/createTransactionRequest";
  const body = JSON.stringify({ currency: "eth", amount: "1", orderId: "strict" });
  const post = (apiKey: string, claims: object): Promise<GatewayAnswer> =>
    gateway.send(target, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        signatureToken: handmadeToken(apiKey, gateway.clock.nowMs, { claims }),
      },
      body,
    });
  const bound = { bodyHash: sha256(body), method: "POST", path: target };

  it("takes a token bound to method, path and body, and no other", async () => {
    const { apiKey } = gateway.key({ profile: "strict", scopes: ["deposit", "read"] });
    expect((await post(apiKey, bound)).body.code).toBe("deposits_not_ready");
    for (const change of [
      { bodyHash: undefined },
      { bodyHash: sha256("") },
      { method: undefined },
      { method: "PUT" },
      { method: "post" },
      { path: undefined },
      { path: `${target}/` },
    ]) {
      expect((await post(apiKey, { ...bound, ...change })).status, JSON.stringify(change)).toBe(
        401,
      );
    }
  });

  it("binds the query of a read too", async () => {
    const { apiKey } = gateway.key({ profile: "strict", scopes: ["read"] });
    const full = "/api/v1/transactions?status=1";
    const read = (claimed: string): Promise<GatewayAnswer> => {
      const claims = { method: "GET", path: claimed };
      const token = handmadeToken(apiKey, gateway.clock.nowMs, { claims });
      return gateway.send(full, {
        headers: { "Content-Type": "application/json", signatureToken: token },
      });
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
    const row = gateway.service.store.database.get<KeyRow>(
      "SELECT * FROM keys WHERE id = ?",
      keyId,
    );
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
    const { keyId } = gateway.key({
      alg: "EdDSA",
      publicKey: publicKeyHex(generateKeyPairSync("ed25519").publicKey),
    });
    expect((await knock(await token(keyId))).status).toBe(401);
  });
});
