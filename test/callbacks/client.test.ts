/**
 * The client's check of a callback beside the stock verifier: both take the same and refuse the
 * same.
 */
import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { verifyCallback } from "../../client/callbacks.ts";
import { newSecret, signedHeaders } from "../../gateway/callbacks/signature.ts";

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

function stock(one: string, given: Readonly<Record<string, string>>, text: string): boolean {
  try {
    new Webhook(one).verify(text, given);
    return true;
  } catch {
    return false;
  }
}

describe("verifyCallback", () => {
  it("verifyCallback takes what the stock package signs, and the stock package what the gateway signs", () => {
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
    expect(verifyCallback(secret, { headers: new Headers(headers), body: Buffer.from(body) }).ok).toBe(true);
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
    expect(verifyCallback(secret, { headers: upper, body }).ok).toBe(true);
    const both = signedHeaders([other, secret], { id: "msg_1", timestamp: seconds, body });
    for (const one of [secret, other])
      expect([verifyCallback(one, { headers: both, body }).ok, stock(one, both, body)]).toEqual([true, true]);
  });

  it("verifyCallback refuses every change of it, as the stock package does", () => {
    const malformed = { ...headers, "webhook-signature": `${headers["webhook-signature"]?.slice(0, -3)}AA=` };
    const cases: readonly [string, Readonly<Record<string, string>>, string, string][] = [
      [other, headers, body, "signature_wrong"],
      [secret, headers, `${body} `, "signature_wrong"],
      [secret, { ...headers, "webhook-id": "msg_2" }, body, "signature_wrong"],
      [secret, { ...headers, "webhook-timestamp": String(seconds - 1) }, body, "signature_wrong"],
      [secret, malformed, body, "signature_wrong"],
      [secret, { ...headers, "webhook-signature": `v2,${headers["webhook-signature"]?.slice(3)}` }, body, "signature_wrong"],
      [secret, { ...headers, "webhook-signature": "v1," }, body, "signature_wrong"],
      [secret, { ...headers, "webhook-timestamp": "soon" }, body, "timestamp_wrong"],
      [secret, { "webhook-id": "msg_1" }, body, "headers_missing"],
      [secret, {}, body, "headers_missing"],
      ...[-301, 302].map((away) => {
        const signed = signedHeaders([secret], { id: "msg_1", timestamp: seconds + away, body });
        return [secret, signed, body, "timestamp_wrong"] as [string, Readonly<Record<string, string>>, string, string];
      }),
    ];
    for (const [one, given, text, code] of cases) {
      expect(verifyCallback(one, { headers: given, body: text }, { now: () => nowMs }), code).toEqual({ ok: false, code });
      expect(stock(one, given, text), `stock: ${code}`).toBe(false);
    }
  });

  it("verifyCallback refuses a secret that is none, and a body that is no callback although it is signed", () => {
    for (const none of ["", "whsec_", secret.slice(6)])
      expect(verifyCallback(none, { headers, body })).toEqual({ ok: false, code: "secret_invalid" });
    for (const text of ["", "null", "[]", '"x"', "{}", '{"type":"x","timestamp":"","sequence":"1","data":{}}']) {
      const signed = signedHeaders([secret], { id: "msg_1", timestamp: seconds, body: text });
      expect(verifyCallback(secret, { headers: signed, body: text })).toEqual({ ok: false, code: "body_invalid" });
    }
  });
});
