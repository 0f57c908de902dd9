/**
 * The reason in the answer to a wrong token: the holder of the key's secret reads what is wrong,
 * and nobody else does. A key of the profile `interface` reads the interface's fields alone.
 * Source: docs/api.md, The answer to a wrong token.
 */
import { describe, expect, it } from "vitest";
import type { TokenFlaw } from "../../gateway/auth/authenticate.ts";
import { revokeMerchantKey } from "../../gateway/operator/accounts.ts";
import { type GatewayAnswer, sha256 } from "../../lab/kit/gateway-server.ts";
import { gateway, path } from "../support/one-gateway.ts";
import {
  newJti,
  nowSeconds,
  oneGatewayWithKeys,
  press,
  read,
  type Signer,
  shared,
} from "../support/token-press.ts";

oneGatewayWithKeys();

const target = "/api/v1/createTransactionRequest";
const order = JSON.stringify({ currency: "eth", amount: "1", orderId: "reasons" });
const post = (signatureToken: string, body = order): Promise<GatewayAnswer> =>
  gateway.send(target, {
    method: "POST",
    headers: { "Content-Type": "application/json", signatureToken },
    body,
  });

type Claims = Readonly<Record<string, unknown>>;

/** The claims that make each flaw, in a token of a POST. */
const flawed: Readonly<Record<TokenFlaw, readonly (() => Claims)[]>> = {
  used: [], // a second use of a good token, below
  expired: [() => ({ iat: nowSeconds() - 90, exp: nowSeconds() - 30 })],
  not_yet: [
    () => ({ iat: nowSeconds() + 31, exp: nowSeconds() + 60 }),
    () => ({ nbf: nowSeconds() + 31 }),
  ],
  lifetime: [
    () => ({ exp: nowSeconds() + 301 }),
    () => ({ exp: nowSeconds() - 1 }),
    () => ({ iat: undefined }),
    () => ({ exp: "soon" }),
    () => ({ nbf: "soon" }),
  ],
  method: [() => ({ method: "GET" })],
  path: [() => ({ path })],
  body: [() => ({ bodyHash: sha256(`${order} `) })],
  audience: [() => ({ aud: "https://elsewhere.example" })],
  jti: [() => ({ jti: "short" }), () => ({ jti: undefined })],
  subject: [() => ({ sub: "k_0000000000000000" })],
};
const cases = Object.entries(flawed).flatMap(([flaw, makers]) =>
  makers.map((make) => [flaw, make] as const),
);

const damaged = (token: string): string => `${token.slice(0, -8)}AAAAAAAA`;

describe("a wrong token", () => {
  it.each(cases)("of the flaw %s tells it, and its forgery does not", async (flaw, make) => {
    const bound = { method: "POST", path: target, bodyHash: sha256(order) };
    expect((await post(press({ claims: bound }))).status).toBe(400); // past the token
    const token = press({ claims: { ...bound, ...make() } });
    const { status, body } = await post(token);
    expect([status, body.code, body.reason]).toEqual([401, "token_invalid", flaw]);
    const forged = await post(damaged(token));
    expect([forged.status, forged.body.code]).toEqual([401, "token_invalid"]);
    expect(forged.body).not.toHaveProperty("reason");
  });

  it("that was used before tells it, also after a read", async () => {
    const token = press();
    expect((await post(token)).status).toBe(400);
    expect((await post(token)).body).toMatchObject({ code: "token_invalid", reason: "used" });
    const seen = press();
    expect((await read(seen)).status).toBe(200);
    expect((await post(seen)).body).toMatchObject({ code: "token_invalid", reason: "used" });
  });

  it("with two flaws tells one that a right clock leaves", async () => {
    const late = { iat: nowSeconds() - 90, exp: nowSeconds() - 30 };
    expect((await read(press({ claims: { ...late, jti: "short" } }))).body.reason).toBe("jti");
  });

  it("of a revoked key tells it to the holder of the secret", async () => {
    const { keyId, apiKey } = gateway.key({ scopes: ["read"] });
    revokeMerchantKey(gateway.operator, keyId);
    const by = shared(apiKey);
    expect((await read(press({ by }))).body.code).toBe("key_revoked");
    expect((await read(press({ by, claims: { path: "/" } }))).body.reason).toBe("path");
  });
});

describe("a key of the profile interface", () => {
  const made = (): Signer =>
    shared(gateway.key({ profile: "interface", scopes: ["deposit"] }).apiKey);
  const fieldsOf = ({ body }: GatewayAnswer): readonly string[] => Object.keys(body);

  it("reads the message alone of a wrong token, a missing scope and a used token", async () => {
    const by = made();
    const wrong = await read(press({ by, claims: { path: "/" } }));
    expect([wrong.status, fieldsOf(wrong)]).toEqual([401, ["message"]]);
    const scope = await read(press({ by }));
    expect([scope.status, fieldsOf(scope)]).toEqual([403, ["message"]]);
    const token = press({ by, claims: { jti: newJti() } });
    expect((await post(token)).status).toBe(400);
    const used = await post(token);
    expect([used.status, fieldsOf(used)]).toEqual([401, ["message"]]);
  });

  it("is not known by its forged token, which is answered like any other", async () => {
    const forged = await read(damaged(press({ by: made() })));
    expect([forged.status, fieldsOf(forged)]).toEqual([401, ["message", "code", "requestId"]]);
  });
});
