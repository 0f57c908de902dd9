/**
 * The client's check of a callback beside the stock verifier: both take the same and refuse the
 * same.
 */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, vi } from "vitest";
import { verifyCallback } from "../../clients/typescript/callbacks.ts";
import { newSecret, signedHeaders } from "../../gateway/callbacks/signature.ts";
import { share } from "../../lab/kit/share.ts";

const secret = newSecret(randomBytes);
const other = newSecret(randomBytes);
const nowMs = Date.now();
const seconds = Math.floor(nowMs / 1000);
const body = JSON.stringify({
  type: "deposit.completed",
  timestamp: new Date(nowMs).toISOString(),
  data: { orderId: "ü" },
  sequence: 7,
});
const headers = signedHeaders([secret], { id: "msg_1", timestamp: seconds, body });

/**
 * The stock package reads the machine's clock, which stands still for it: a slow machine changes
 * nothing.
 */
function stock(one: string, given: Readonly<Record<string, string>>, text: string): boolean {
  vi.setSystemTime(nowMs);
  try {
    new Webhook(one).verify(text, given);
    return true;
  } catch {
    return false;
  } finally {
    vi.useRealTimers();
  }
}

describe("verifyCallback", () => {
  it("takes what the stock package signs, and the stock package what the gateway signs", () => {
    const signature = new Webhook(secret).sign("msg_1", new Date(seconds * 1000), body);
    expect(headers["webhook-signature"]).toBe(signature);
    const taken = verifyCallback(secret, { headers, body });
    expect(taken).toEqual({
      ok: true,
      callback: {
        id: "msg_1",
        type: "deposit.completed",
        timestamp: new Date(nowMs).toISOString(),
        data: { orderId: "ü" },
        sequence: 7,
      },
    });
    expect(
      verifyCallback(secret, { headers: new Headers(headers), body: Buffer.from(body) }).ok,
    ).toBe(true);
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    expect(verifyCallback(secret, { headers: upper, body }).ok).toBe(true);
    const both = signedHeaders([other, secret], { id: "msg_1", timestamp: seconds, body });
    for (const one of [secret, other])
      expect([verifyCallback(one, { headers: both, body }).ok, stock(one, both, body)]).toEqual([
        true,
        true,
      ]);
  });

  it("refuses every change of it, as the stock package does", () => {
    const malformed = {
      ...headers,
      "webhook-signature": `${headers["webhook-signature"]?.slice(0, -3)}AA=`,
    };
    const cases: readonly [string, Readonly<Record<string, string>>, string, string][] = [
      [other, headers, body, "signature_wrong"],
      [secret, headers, `${body} `, "signature_wrong"],
      [secret, { ...headers, "webhook-id": "msg_2" }, body, "signature_wrong"],
      [secret, { ...headers, "webhook-timestamp": String(seconds - 1) }, body, "signature_wrong"],
      [secret, malformed, body, "signature_wrong"],
      [
        secret,
        { ...headers, "webhook-signature": `v2,${headers["webhook-signature"]?.slice(3)}` },
        body,
        "signature_wrong",
      ],
      [secret, { ...headers, "webhook-signature": "v1," }, body, "signature_wrong"],
      [secret, { ...headers, "webhook-timestamp": "soon" }, body, "timestamp_wrong"],
      [secret, { "webhook-id": "msg_1" }, body, "headers_missing"],
      [secret, {}, body, "headers_missing"],
      ...[-301, 302].map((away) => {
        const signed = signedHeaders([secret], { id: "msg_1", timestamp: seconds + away, body });
        return [secret, signed, body, "timestamp_wrong"] as [
          string,
          Readonly<Record<string, string>>,
          string,
          string,
        ];
      }),
    ];
    for (const [one, given, text, code] of cases) {
      expect(
        verifyCallback(one, { headers: given, body: text }, { now: () => nowMs }),
        code,
      ).toMatchObject({ ok: false, code });
      expect(stock(one, given, text), `stock: ${code}`).toBe(false);
    }
  });

  it("refuses a secret that is none, and a body that is no callback although it is signed", () => {
    for (const none of [
      "",
      "whsec_",
      `whsec_${secret}`,
      secret.replace("whsec_", "WHSEC_"),
      "not base64!",
    ])
      expect(verifyCallback(none, { headers, body }), none).toMatchObject({
        ok: false,
        code: "secret_invalid",
      });
    for (const text of [
      "",
      "null",
      "[]",
      '"x"',
      "{}",
      '{"type":"x","timestamp":"","sequence":"1","data":{}}',
    ]) {
      const signed = signedHeaders([secret], { id: "msg_1", timestamp: seconds, body: text });
      expect(verifyCallback(secret, { headers: signed, body: text })).toMatchObject({
        ok: false,
        code: "body_invalid",
      });
    }
  });

  it("takes a secret in the spellings of the stock package, and in no other", () => {
    const digits = secret.slice("whsec_".length);
    expect(verifyCallback(digits, { headers, body }).ok).toBe(true);
    const spelled = fc.oneof(
      fc.base64String({ maxLength: 12 }),
      fc.string({ maxLength: 8 }),
      fc.stringMatching(/^(whsec_)?[A-Za-z0-9+/]{0,9}={0,4}[ \n-]?$/),
    );
    fc.assert(
      fc.property(spelled, (one) => {
        let key: Uint8Array | null;
        try {
          // The stock package has no name for its key; its signature shows which one it took.
          key = Buffer.from(new Webhook(one).sign("msg_1", new Date(seconds * 1000), body));
        } catch {
          key = null;
        }
        const given = {
          headers: { ...headers, "webhook-signature": key === null ? "v1," : `${key}` },
          body,
        };
        const said = verifyCallback(one, given);
        expect(said.ok ? "ok" : said.code, one).toBe(key === null ? "secret_invalid" : "ok");
      }),
      { numRuns: share(2_000) },
    );
  });

  it("takes a signature in the one spelling of the stock package", () => {
    const mac = headers["webhook-signature"]!.slice(3);
    const spelled = [
      `v1,${mac}`,
      `v1,${mac.slice(0, -1)}`,
      `v1,${mac}=`,
      `v1,${mac}A`,
      `v1,${mac.slice(0, -1)}=A`,
      `v1,${mac} `,
    ];
    spelled.push(
      `v1,${mac.replace(/\+/g, "-").replace(/\//g, "_")} `,
      `v1,${mac},x`,
      `v1a,${mac}`,
      `V1,${mac}`,
      ` v1,${mac}`,
      `v1, ${mac}`,
    );
    // The last digit before "=" carries bits that no byte has.
    const last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const other = last[last.indexOf(mac.at(-2)!) + 1] ?? "A";
    spelled.push(`v1,${mac.slice(0, -2)}${other}=`);
    const taken = spelled.filter(
      (one) =>
        verifyCallback(secret, { headers: { ...headers, "webhook-signature": one }, body }).ok,
    );
    expect(taken).toEqual(
      spelled.filter((one) => stock(secret, { ...headers, "webhook-signature": one }, body)),
    );
    expect([taken.length > 1, taken.includes(`v1,${mac.slice(0, -1)}`)]).toEqual([true, false]);
  });
});

describe("the mistakes that everybody makes", () => {
  const anything = verifyCallback as (
    secret: unknown,
    received: unknown,
    options?: object,
  ) => ReturnType<typeof verifyCallback>;
  const parsed = JSON.parse(body);
  const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
  const doubled = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value, value]]),
  );
  const shopKey = `k_0123456789abcdef.${"A".repeat(43)}.${"ab".repeat(16)}`;
  const hourAgo = { now: () => seconds * 1000 + 3_600_000 };
  const hourAhead = { now: () => seconds * 1000 - 3_600_000 };
  const cases: readonly [
    name: string,
    secret: unknown,
    received: unknown,
    code: string,
    words: string,
    options?: object,
  ][] = [
    [
      "a body that the framework parsed",
      secret,
      { headers, body: parsed },
      "body_not_raw",
      "express.raw",
    ],
    ["a body that nobody read", secret, { headers, body: undefined }, "body_not_raw", "missing"],
    [
      "a body that is a list of numbers",
      secret,
      { headers, body: [1, 2] },
      "body_not_raw",
      "received bytes",
    ],
    [
      "a body that was written again",
      secret,
      { headers, body: JSON.stringify(parsed, null, 1) },
      "signature_wrong",
      "written again",
    ],
    ["no secret", undefined, { headers, body }, "secret_invalid", "missing"],
    [
      "the shop's key in the place of the secret",
      shopKey,
      { headers, body },
      "secret_invalid",
      "shopKey",
    ],
    [
      "the secret's bytes",
      Buffer.from(secret.slice(6), "base64"),
      { headers, body },
      "secret_invalid",
      "base64",
    ],
    ["another target's secret", other, { headers, body }, "signature_wrong", "another target's"],
    ["no headers", secret, { body }, "headers_missing", "webhook-id"],
    ["nothing at all", secret, undefined, "body_not_raw", "missing"],
    ["the body in the place of the request", secret, body, "body_not_raw", "missing"],
    [
      "one header field dropped",
      secret,
      { headers: { ...headers, "webhook-id": undefined }, body },
      "headers_missing",
      "webhook-id is",
    ],
    [
      "each header field twice",
      secret,
      { headers: doubled, body },
      "headers_missing",
      "webhook-signature",
    ],
    [
      "a clock that is an hour ahead",
      secret,
      { headers, body },
      "timestamp_wrong",
      "3600 s before the time",
      hourAgo,
    ],
    [
      "a clock that is an hour behind",
      secret,
      { headers, body },
      "timestamp_wrong",
      "3600 s after the time",
      hourAhead,
    ],
    [
      "a tolerance that is no number",
      secret,
      { headers, body },
      "timestamp_wrong",
      "clock",
      { toleranceSeconds: Number.NaN },
    ],
  ];
  it.each(cases)(
    "%s is a value that names the correction, and never throws",
    (_name, one, received, code, words, options) => {
      expect(anything(one, received, options)).toEqual({
        ok: false,
        code,
        message: expect.stringContaining(words),
      });
    },
  );

  it("the same message without the mistake is taken: as text, bytes, ArrayBuffer, and with headers as lists of one", () => {
    const bytes = new TextEncoder().encode(body);
    for (const received of [body, bytes, bytes.buffer, Buffer.from(`xx${body}`).subarray(2)])
      expect(anything(secret, { headers, body: received }).ok).toBe(true);
    expect(anything(secret, { headers: lists, body }).ok).toBe(true);
    expect(anything(secret, { headers: new Map(Object.entries(headers)), body }).ok).toBe(true);
  });

  it("anything that a server passes on is a value", () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.anything(), (one, given, text) => {
        const said = anything(fc.stringify(one).length % 2 === 0 ? one : secret, {
          headers: given,
          body: text,
        });
        expect(said.ok).toBe(false);
      }),
      { numRuns: share(2_000) },
    );
  });
});
