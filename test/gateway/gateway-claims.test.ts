/**
 * The claims of docs/api.md about amounts, about the rate's headers and about readiness, held
 * against a gateway.
 */
import { describe, expect, it } from "vitest";
import { createServer } from "../../gateway/api/server.ts";
import { addStation } from "../../gateway/api/service-routes.ts";
import { handmadeToken } from "../../lab/kit/gateway-server.ts";
import { auto, deposit, eachTestItsGateway, gateway, read, ready } from "../support/shop.ts";

eachTestItsGateway();

describe("an amount", () => {
  it("may end in zeros beyond the currency's decimals, and comes back without them", async () => {
    await ready();
    const zeros = await deposit({ currency: "usdt", amount: "5.5000000000" });
    expect([zeros.status, zeros.body.amount]).toEqual([200, "5.5"]);
    expect((await deposit({ currency: "usdt", amount: "5.50000001", orderId: "more" })).body.code).toBe("amount_precision");
    expect((await deposit({ currency: "usdt", amount: `5.${"0".repeat(36)}`, orderId: "widest" })).status).toBe(200);
    expect((await deposit({ currency: "usdt", amount: `5.${"0".repeat(36)}1`, orderId: "wider" })).status).toBe(400);
  });

  it("may have any 41 digits before the point, and no 42 beyond 2^256-1 in units of 36 decimals", async () => {
    await ready();
    expect((await deposit({ amount: "9".repeat(41) })).status).toBe(200);
    expect((await deposit({ amount: "2".repeat(42), orderId: "longer" })).body.code).toBe("amount_format");
    expect((await auto({ amount: "9".repeat(41) })).body.code).toBe("balance_insufficient");
  });
});

describe("the headers of the rate", () => {
  const names = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];
  const hasAll = (headers: object): boolean[] => names.map((name) => name in headers);

  it("are on every answer that comes after the token was verified, errors included", async () => {
    await ready();
    const { apiKey } = gateway.key({ scopes: ["deposit"] });
    const narrow = {
      signatureToken: handmadeToken(apiKey, gateway.clock.nowMs),
      "Content-Type": "application/json",
    };
    for (const answer of [
      await auto(),
      await auto({ amount: "2" }), // 409
      await auto({ amount: "x", orderId: "x" }),
      await read("/balance/none"),
      await gateway.send("/api/v1/transactions", { headers: narrow }), // 403
    ])
      expect(hasAll(answer.headers), String(answer.status)).toEqual([true, true, true]);
  });

  it("are on none that is given before: 401, 404, 405, 413, 415", async () => {
    const bare = { "Content-Type": "application/json" };
    for (const [status, answer] of [
      [401, await gateway.send("/api/v1/transactions", { headers: bare })],
      [404, await read("/elsewhere")],
      [405, await gateway.call("PUT" as "POST", "/api/v1/transactions")],
      [413, await gateway.call("POST", "/api/v1/autoWithdraw", " ".repeat(20_000))],
      [415, await gateway.call("POST", "/api/v1/autoWithdraw", "{}", { "Content-Type": "text/plain" })],
    ] as const) {
      expect(answer.status).toBe(status);
      expect(hasAll(answer.headers), String(status)).toEqual([false, false, false]);
    }
  });
});

describe("/ready", () => {
  it("names a currency that is out of service, which takes nothing else out; a chain that is not read does", async () => {
    const ask = async (isRead: boolean) => {
      const server = createServer(gateway.service);
      addStation(server, gateway.service, [
        () => ({ name: "chain local", ok: isRead, detail: isRead ? "" : "not read lately" }),
        () => ({ name: "currency usdt", ok: false, detail: "out of service: …", aloneOut: true }),
      ]);
      const answer = await server.inject("/ready");
      await server.close();
      return { ...answer.json(), status: answer.statusCode };
    };
    const named = { name: "currency usdt", ok: false, detail: "out of service: …" };
    expect(await ask(true)).toMatchObject({ status: 200, checks: [{ ok: true }, named] });
    expect(await ask(false)).toMatchObject({ status: 503, checks: [{ name: "chain local", ok: false }, named] });
  });
});
