/**
 * The claims of docs/api.md about amounts, about the rate's headers and about readiness, held
 * against a gateway.
 */
import { describe, expect, it } from "vitest";
import { createServer } from "../../gateway/api/server.ts";
import { addServiceRoutes } from "../../gateway/api/service-routes.ts";
import { rightClock } from "../../gateway/own-clock.ts";
import { probesOf } from "../../gateway/reporting/probes.ts";
import type { Watcher } from "../../gateway/watcher/watcher.ts";
import { handmadeToken } from "../../lab/kit/gateway-server.ts";
import { auto, deposit, eachTestItsGateway, gateway, read, ready } from "../support/shop.ts";

eachTestItsGateway();

describe("an amount", () => {
  it("may end in zeros beyond the currency's decimals, and comes back without them", async () => {
    await ready();
    const zeros = await deposit({ currency: "usdt", amount: "5.5000000000" });
    expect([zeros.status, zeros.body.amount]).toEqual([200, "5.5"]);
    expect(
      (await deposit({ currency: "usdt", amount: "5.50000001", orderId: "more" })).body.code,
    ).toBe("amount_precision");
    expect(
      (await deposit({ currency: "usdt", amount: `5.${"0".repeat(36)}`, orderId: "widest" }))
        .status,
    ).toBe(200);
    expect(
      (await deposit({ currency: "usdt", amount: `5.${"0".repeat(36)}1`, orderId: "wider" }))
        .status,
    ).toBe(400);
  });

  it("may have any 41 digits before the point, and no 42 beyond 2^256-1 in units of 36 decimals", async () => {
    await ready();
    expect((await deposit({ amount: "9".repeat(41) })).status).toBe(200);
    expect((await deposit({ amount: "2".repeat(42), orderId: "longer" })).body.code).toBe(
      "amount_format",
    );
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
      [
        415,
        await gateway.call("POST", "/api/v1/autoWithdraw", "{}", { "Content-Type": "text/plain" }),
      ],
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
      addServiceRoutes(server, gateway.service, [
        () => ({ name: "chain local", ok: isRead, detail: isRead ? "" : "not read lately" }),
        () => ({ name: "currency usdt", ok: false, detail: "out of service: …", aloneOut: true }),
      ]);
      const answer = await server.inject("/ready");
      await server.close();
      return { ...answer.json(), status: answer.statusCode };
    };
    const named = { name: "currency usdt", ok: false, detail: "out of service: …" };
    expect(await ask(true)).toMatchObject({ status: 200, checks: [{ ok: true }, named] });
    expect(await ask(false)).toMatchObject({
      status: 503,
      checks: [{ name: "chain local", ok: false }, named],
    });
  });

  it("is 503 when no chain is read, and for one that is asked for; one chain of two takes nothing else out", async () => {
    const { config, store } = gateway.service;
    const read: Record<string, boolean> = { one: true, two: true };
    const statusOf = (chain: string) => ({
      chain,
      ok: read[chain],
      detail: "NODE_TIMEOUT",
      plain: "NODE_TIMEOUT",
      nodes: [],
      delays: [],
    });
    const watcher = { chainStatus: () => ["one", "two"].map(statusOf) } as unknown as Watcher;
    const chains = {
      one: config.chains.local,
      two: config.chains.local,
    } as unknown as typeof config.chains;
    const probes = probesOf({
      ...{
        config: { ...config, chains },
        store,
        clock: () => gateway.clock.nowMs,
        watcher: () => watcher,
        outOfService: () => "",
      },
      ...{
        ownClock: () => rightClock,
        certificateEndsAtMs: () => null,
        prices: { of: () => null, canHave: () => false },
      },
    });
    const server = createServer(gateway.service);
    addServiceRoutes(server, gateway.service, probes);
    const ask = async (query = "") => (await server.inject(`/ready${query}`)).statusCode;
    const answers = async () => [
      await ask(),
      await ask("?chain=one"),
      await ask("?chain=two"),
      await ask("?chain=three"),
    ];
    expect(await answers()).toEqual([200, 200, 200, 503]);
    read.one = false;
    expect(await answers()).toEqual([200, 503, 200, 503]);
    expect((await server.inject("/ready")).json().checks).toContainEqual({
      ...{
        name: "chain one",
        ok: false,
        detail: "not read: NODE_TIMEOUT; 0 of 0 nodes answer",
        aloneOut: true,
      },
    });
    read.two = false;
    expect(await answers()).toEqual([503, 503, 503, 503]);
    await server.close();
  });
});
