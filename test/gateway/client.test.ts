/**
 * The merchant's client: jose checks its tokens, the real gateway its operations, and a server that
 * misbehaves on purpose its failures.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeProtectedHeader, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Client, createClient, type Failure } from "../../clients/typescript/client.ts";
import { createTokenMaker } from "../../clients/typescript/signature-token.ts";
import type { KeyRow } from "../../gateway/store/rows.ts";
import {
  receiver,
  sha256,
  startTestGateway,
  type TestGateway,
  wallet,
} from "../../lab/kit/gateway-server.ts";
import { publicKeyFromHex, publicKeyHex } from "../../protocol/envelope.ts";
import { parseApiKey } from "../../protocol/pairing.ts";

const nowMs = Date.parse("2026-01-02T03:04:05.678Z");
const now = (): number => nowMs;
const apiKey = `k_0123456789abcdef.${randomBytes(32).toString("base64url")}.${"ab".repeat(16)}`;
const currentDate = new Date(nowMs);

describe("a token", () => {
  it("is what another library verifies: HS256 by the text of the secret", async () => {
    const token = createTokenMaker({ apiKey }, now)();
    const { secret, keyId } = parseApiKey(apiKey);
    const { payload, protectedHeader } = await jwtVerify(token, secret, {
      algorithms: ["HS256"],
      currentDate,
    });
    expect(protectedHeader).toEqual({ alg: "HS256", typ: "JWT", kid: keyId });
    const iat = Math.floor(nowMs / 1000);
    expect(payload).toEqual({
      sub: keyId,
      iat,
      exp: iat + 60,
      jti: expect.stringMatching(/^[\w-]{22}$/),
      bodyHash: sha256(""),
    });
    await expect(
      jwtVerify(token, Buffer.from(Buffer.from(secret).toString(), "base64url"), { currentDate }),
    ).rejects.toThrow();
  });

  it("is EdDSA by the seed of an apiKey or by a key of one's own", async () => {
    const seed = Buffer.from(Buffer.from(parseApiKey(apiKey).secret).toString(), "base64url");
    const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
    const fromSeed = createPublicKey(createPrivateKey({ key: der, format: "der", type: "pkcs8" }));
    const token = createTokenMaker({ apiKey, alg: "EdDSA" }, now)();
    expect(
      (await jwtVerify(token, fromSeed, { algorithms: ["EdDSA"], currentDate })).payload.sub,
    ).toBe("k_0123456789abcdef");
    const own = generateKeyPairSync("ed25519");
    const ownToken = createTokenMaker(
      { keyId: "k_ffffffffffffffff", privateKey: own.privateKey },
      now,
    )();
    expect(decodeProtectedHeader(ownToken).kid).toBe("k_ffffffffffffffff");
    await jwtVerify(ownToken, own.publicKey, { algorithms: ["EdDSA"], currentDate });
    await expect(
      jwtVerify(ownToken, fromSeed, { algorithms: ["EdDSA"], currentDate }),
    ).rejects.toThrow();
  });

  it("binds method, path and body when asked, and differs each time", async () => {
    const make = createTokenMaker({ apiKey }, now);
    const bound = { method: "POST", path: "/api/v1/autoWithdraw", body: '{"ü":1}' };
    const token = make({ bound, audience: "https://pay.example.com", lifetimeSeconds: 300 });
    const { payload } = await jwtVerify(token, parseApiKey(apiKey).secret, {
      currentDate,
      audience: "https://pay.example.com",
    });
    expect(payload).toMatchObject({
      method: "POST",
      path: "/api/v1/autoWithdraw",
      bodyHash: sha256('{"ü":1}'),
    });
    expect(new Set([make(), make(), make()]).size).toBe(3);
  });

  it("is not made from a wrong key or with a wrong lifetime", () => {
    for (const wrong of ["", "k_1.x.y", `${apiKey} `, apiKey.replace("k_", "K_")]) {
      expect(() => createTokenMaker({ apiKey: wrong }), wrong).toThrow(TypeError);
    }
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    expect(() => createTokenMaker({ keyId: "k_0000000000000000", privateKey: rsa })).toThrow(
      TypeError,
    );
    for (const lifetimeSeconds of [0, 301, 1.5])
      expect(() => createTokenMaker({ apiKey })({ lifetimeSeconds })).toThrow(RangeError);
  });
});

describe("against the gateway", () => {
  let gateway: TestGateway;
  let client: Client;
  beforeAll(async () => {
    gateway = await startTestGateway({ limits: { readsPerSecond: 1000, writesPerSecond: 1000 } });
    expect((await gateway.pair()).status).toBe(200);
    gateway.fund("eth", 10n ** 19n);
    gateway.fund("usdt", 10n ** 9n);
    client = createClient({ baseUrl: gateway.url, key: { apiKey: gateway.merchant.shopKey }, now });
  });
  afterAll(() => gateway.close());

  it("the client, against the gateway, does all seven operations", async () => {
    const deposit = await client.createTransactionRequest({
      currency: "eth",
      amount: "0.5",
      orderId: "in-1",
    });
    expect(deposit).toMatchObject({ ok: true, value: { amount: "0.5", tag: "" } });
    const withdrawal = await client.autoWithdraw({
      currency: "usdt",
      amount: "25",
      address: receiver,
      orderId: "out-1",
    });
    expect(withdrawal).toMatchObject({
      ok: true,
      value: { message: "The withdrawal request was sent." },
    });
    const held = await client.manualWithdraw({ currency: "eth", amount: "1", orderId: "out-2" });
    expect(held).toMatchObject({ ok: true, value: { stage: "awaiting_approval" } });
    const id = withdrawal.ok ? withdrawal.value.transactionId : "";
    expect(await client.transaction(id, 2)).toMatchObject({
      ok: true,
      value: { status: 0, depositAddress: wallet.hotWalletAddress },
    });
    expect(await client.transaction(id, 1)).toMatchObject({
      ok: false,
      status: 404,
      code: "transaction_not_found",
      retry: "never",
    });
    const currencies = await client.supportedCurrency();
    expect(currencies.ok && currencies.value.map((currency) => currency.id)).toEqual([
      "eth",
      "usdt",
    ]);
    expect(await client.balance("usdt")).toMatchObject({
      ok: true,
      value: { balance: 975, available: "975", reserved: "25" },
    });
    expect(await client.balance("doge")).toMatchObject({
      ok: false,
      status: 404,
      code: "currency_not_found",
    });
  });

  it("the client, against the gateway, reads the list page by page", async () => {
    const first = await client.transactions({ limit: 2 });
    expect(first.ok && first.value.transactions).toHaveLength(2);
    const next = first.ok ? first.value.next : null;
    const second = await client.nextPage(next ?? "");
    expect(second).toMatchObject({
      ok: true,
      value: { transactions: [{ orderId: expect.any(String) }], next: null },
    });
    expect(await client.transactions({ transactionType: 1 })).toMatchObject({
      ok: true,
      value: { transactions: [{ orderId: "in-1" }], next: null },
    });
  });

  it("the client, against the gateway, tells a refusal by its code, in the language asked for, and repeats an order harmlessly", async () => {
    const order = { currency: "eth", amount: "0.25", address: receiver, orderId: "out-3" };
    const first = await client.autoWithdraw(order);
    expect(await client.autoWithdraw(order)).toEqual(first);
    const changed = await client.autoWithdraw({ ...order, amount: "0.26" });
    const transactionId = first.ok ? first.value.transactionId : "";
    expect(changed).toMatchObject({
      ok: false,
      status: 409,
      code: "order_id_reused",
      transactionId,
      retry: "never",
    });
    const turkish = createClient({
      baseUrl: `${gateway.url}/`,
      key: { apiKey: gateway.merchant.shopKey },
      language: "tr",
      now,
    });
    expect(await turkish.balance("none")).toMatchObject({
      message: "Para birimi bulunamadı.",
      requestId: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
  });

  it("the client, against the gateway, carries the error's own fields, and says never only if time heals nothing", async () => {
    const order = { currency: "eth", amount: "0.1", address: receiver, orderId: "out-4" };
    const { transactionId = "" } = await client
      .autoWithdraw(order)
      .then((done) => (done.ok ? done.value : {}) as { transactionId?: string });
    const fail = (code: string) =>
      gateway.service.store.write((database) =>
        database.run(
          "UPDATE transfers SET status = 2, stage = 'refused', code = ? WHERE id = ?",
          code,
          transactionId,
        ),
      );
    fail("POLICY_ABOVE_WITHDRAWAL");
    const failed = { status: 422, code: "withdrawal_failed", transactionId, signed: false };
    const never = { reason: "POLICY_ABOVE_WITHDRAWAL", retryable: false, retry: "never" };
    expect(await client.autoWithdraw(order)).toMatchObject({ ...failed, ...never });
    fail("POLICY_ABOVE_DAY");
    const another = { reason: "POLICY_ABOVE_DAY", retryable: true, retry: "new-order" };
    expect(await client.autoWithdraw(order)).toMatchObject({ ...failed, ...another });
    const poor = await client.autoWithdraw({ ...order, amount: "1000", orderId: "out-5" });
    const amount = expect.stringMatching(/^\d+(\.\d+)?$/);
    expect(poor).toMatchObject({
      code: "balance_insufficient",
      retry: "later",
      currency: "eth",
      available: amount,
      needed: amount,
    });
    expect(await client.autoWithdraw({ ...order, amount: "1e3", orderId: "out-6" })).toMatchObject({
      ...{ code: "amount_format", field: "amount", retry: "never" },
    });
    const small = await client.createTransactionRequest({
      currency: "usdt",
      amount: "0.1",
      orderId: "in-4",
    });
    expect(small).toMatchObject({ code: "amount_below_minimum", minimum: amount, retry: "never" });
    expect(await client.transactions({ status: 3 as 2 })).toMatchObject({
      code: "query_invalid",
      field: "status",
    });
    const many = await client.autoWithdraws([
      { ...order, amount: "1000", orderId: "out-7" },
      order,
    ]);
    expect(many.ok && many.value.map(({ result }) => result)).toMatchObject([
      { code: "balance_insufficient", retry: "later", needed: amount },
      { ...failed, ...another },
    ]);
    const reader = gateway.key({ scopes: ["read"] });
    const narrow = createClient({ baseUrl: gateway.url, key: { apiKey: reader.apiKey }, now });
    expect(await narrow.autoWithdraw(order)).toMatchObject({
      code: "scope_missing",
      scope: "withdraw:auto",
      retry: "later",
    });
    const off = await client.createTransactionRequest({
      currency: "off",
      amount: "1",
      orderId: "in-5",
    });
    expect(off).toMatchObject({ code: "currency_disabled", retry: "later" });
  });

  it("the client, against the gateway, works with a strict key, an EdDSA key from an apiKey and one of its own; compatible tokens fail on a strict key", async () => {
    const strict = gateway.key({ profile: "strict", scopes: ["read", "deposit"] });
    const order = { currency: "eth", amount: "0.5", orderId: "in-2" };
    const bound = createClient({ baseUrl: gateway.url, key: { apiKey: strict.apiKey }, now });
    expect((await bound.createTransactionRequest(order)).ok).toBe(true);
    expect((await bound.transactions({ limit: 1, status: 0 })).ok).toBe(true);
    const loose = createClient({
      baseUrl: gateway.url,
      key: { apiKey: strict.apiKey },
      profile: "compatible",
      now,
    });
    expect(await loose.createTransactionRequest(order)).toMatchObject({
      ok: false,
      status: 401,
      code: "token_invalid",
    });
    const seed = gateway.key({ alg: "EdDSA" });
    const bySeed = createClient({
      baseUrl: gateway.url,
      key: { apiKey: seed.apiKey, alg: "EdDSA" },
      now,
    });
    expect((await bySeed.supportedCurrency()).ok).toBe(true);
    const row = gateway.service.store.database.get<KeyRow>(
      "SELECT * FROM keys WHERE id = ?",
      seed.keyId,
    );
    expect(() => publicKeyFromHex(row?.publicKey ?? "")).not.toThrow();
    const pair = generateKeyPairSync("ed25519");
    const own = gateway.key({ alg: "EdDSA", publicKey: publicKeyHex(pair.publicKey) });
    const byOwn = createClient({
      baseUrl: gateway.url,
      key: { keyId: own.keyId, privateKey: pair.privateKey },
      now,
    });
    expect((await byOwn.supportedCurrency()).ok).toBe(true);
    const compatible = createClient({
      baseUrl: gateway.url,
      key: { apiKey: gateway.merchant.shopKey },
      profile: "compatible",
      now,
    });
    expect((await compatible.createTransactionRequest({ ...order, orderId: "in-3" })).ok).toBe(
      true,
    );
  });
});

describe("against a server that misbehaves", () => {
  let server: Server;
  let answer: (response: ServerResponse) => void = () => {};
  let client: Client;
  /** For the server that says nothing. */
  let hasty: Client;
  beforeAll(async () => {
    server = createServer((_request, response) => answer(response));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as AddressInfo;
    const misbehaving = { baseUrl: `http://127.0.0.1:${port}`, key: { apiKey } };
    client = createClient({ ...misbehaving, timeoutMs: 30_000 });
    hasty = createClient({ ...misbehaving, timeoutMs: 300 });
  });
  afterAll(() => void server.close());

  const order = { currency: "eth", amount: "1", address: receiver, orderId: "o" };
  const says =
    (status: number, body: unknown, headers: Record<string, string> = {}) =>
    (response: ServerResponse): void => {
      response.writeHead(status, { "Content-Type": "application/json", ...headers });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    };

  const cases: [
    name: string,
    act: (response: ServerResponse) => void,
    expected: Partial<Failure>,
  ][] = [
    ["says nothing", () => {}, { status: 0, code: "timeout", retry: "same-order" }],
    [
      "cuts the line",
      (response) => void response.destroy(),
      { status: 0, code: "network", retry: "same-order" },
    ],
    [
      "answers 200 with text",
      says(200, "fine"),
      { status: 200, code: "answer_invalid", retry: "same-order" },
    ],
    [
      "answers 200 without transactionId",
      says(200, { message: "ok" }),
      { code: "answer_invalid", retry: "same-order" },
    ],
    [
      "answers 502 with HTML",
      says(502, "<html>"),
      { status: 502, code: "answer_foreign", retry: "same-order" },
    ],
    [
      "answers 404 with a proxy's page",
      says(404, "<html><style>p{}</style><h1>404</h1> No such  site", {
        "Content-Type": "text/html; charset=utf-8",
      }),
      {
        ...{ status: 404, code: "answer_foreign", retry: "same-order" },
        message: "the answer with status 404 (text/html) is not the service's: 404 No such site",
      },
    ],
    [
      "answers 403 with a proxy's JSON",
      says(403, { message: "Forbidden" }),
      { code: "answer_foreign", retry: "same-order" },
    ],
    ["answers 400 with nothing", says(400, ""), { code: "answer_foreign", retry: "same-order" }],
    [
      "is the service and gives no code",
      says(400, { message: "m" }, { "X-Request-Id": "0123456789abcdef" }),
      { code: "unknown", message: "m", retry: "never" },
    ],
    [
      "refuses by a code of tomorrow",
      says(400, { code: "moon_full", message: "m" }),
      { code: "moon_full", retry: "never" },
    ],
    [
      "is down by a code of tomorrow",
      says(503, { code: "moon_down", message: "m" }),
      { retry: "same-order" },
    ],
    [
      "is busy",
      says(429, { code: "rate_limited", message: "m" }, { "Retry-After": "7" }),
      { retry: "same-order", retryAfterMs: 7000 },
    ],
    [
      "is down",
      says(503, { code: "unavailable", message: "m" }),
      { retry: "same-order", code: "unavailable" },
    ],
    ["refuses", says(400, { code: "amount_format", message: "m" }), { retry: "never" }],
    [
      "failed it, unsigned",
      says(422, { code: "withdrawal_failed", message: "m", transactionId: "t", retryable: true }),
      { retry: "new-order", transactionId: "t" },
    ],
    [
      "failed it on chain",
      says(422, { code: "withdrawal_failed", message: "m", transactionId: "t", retryable: false }),
      { retry: "never", transactionId: "t" },
    ],
    [
      "failed it and says no more",
      says(422, { code: "withdrawal_failed", message: "m", transactionId: "t" }),
      { retry: "never" },
    ],
    [
      "sends the token elsewhere",
      says(307, "", { Location: "http://127.0.0.1:1/" }),
      { status: 307, code: "answer_foreign", retry: "same-order" },
    ],
  ];
  for (const [name, act, expected] of cases) {
    it(`a server that ${name} is a value with advice to the client`, async () => {
      answer = act;
      const asking = expected.code === "timeout" ? hasty : client;
      expect(await asking.autoWithdraw(order)).toMatchObject({ ok: false, ...expected });
    });
  }

  it("a server that behaves is a success to the client", async () => {
    answer = says(200, { message: "m", transactionId: "t", more: 1 });
    expect(await client.autoWithdraw(order)).toEqual({
      ok: true,
      value: { message: "m", transactionId: "t", more: 1 },
    });
    answer = says(200, { balance: "1" });
    expect(await client.balance("eth")).toMatchObject({ ok: false, code: "answer_invalid" });
    answer = says(200, { balance: 1 });
    expect(await client.balance("eth")).toEqual({ ok: true, value: { balance: 1 } });
  });

  it("a server off this machine is never given a token over plaintext", () => {
    expect(() => createClient({ baseUrl: "http://pay.example.com", key: { apiKey } })).toThrow(
      TypeError,
    );
    expect(() =>
      createClient({ baseUrl: "https://pay.example.com", key: { apiKey } }),
    ).not.toThrow();
  });
});
