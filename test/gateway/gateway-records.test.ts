/**
 * Deposit requests and their addresses, transactions one by one and in pages, and the list of
 * currencies.
 */
import { describe, expect, it } from "vitest";
import { depositAddressOf } from "../../chains/evm/address.ts";
import { createMerchant } from "../../gateway/operator/accounts.ts";
import {
  type GatewayAnswer,
  handmadeToken,
  newAgentKeys,
  receiver,
  testConfig,
  usdtContract,
  wallet,
} from "../../lab/kit/gateway-server.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import {
  agentRow,
  anotherGateway,
  auto,
  db,
  deposit,
  eachTestItsGateway,
  gateway,
  many,
  read,
  ready,
  release,
  row,
} from "../support/shop.ts";

eachTestItsGateway();

describe("createTransactionRequest", () => {
  it("hands out a fresh address each time, the same one for the same order, and none twice", async () => {
    await ready();
    const first = await deposit({ amount: "1.50" });
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({
      address: depositAddressOf(wallet.depositXpub, 0),
      amount: "1.5",
      tag: "",
      transactionId: deriveOrderTransactionId({
        merchant: gateway.merchant.merchantId,
        operation: "deposit",
        orderId: "order-1",
      }),
    });
    expect((await deposit({ amount: "1.5" })).body).toEqual(first.body);
    expect((await deposit({ amount: "2" })).body).toMatchObject({
      code: "order_id_reused",
      transactionId: first.body.transactionId,
    });
    const more = await Promise.all(
      Array.from({ length: 10 }, (_, i) => deposit({ orderId: `more-${i}` })),
    );
    expect(new Set(more.map((answer) => answer.body.address)).size).toBe(10);
    expect(agentRow().nextDepositIndex).toBe(11);
    expect(row(first.body.transactionId)).toMatchObject({
      stage: "waiting",
      status: 0,
      expiresAt: gateway.clock.nowMs + 3_600_000,
    });
  });

  it("says what became of a request that is asked for again, and refuses a new one while its token is out of service", async () => {
    await ready();
    const first = await deposit();
    expect(first.body).toMatchObject({ status: 0, stage: "waiting" });
    db().run(
      "UPDATE deposits SET status = 2, stage = 'expired' WHERE id = ?",
      first.body.transactionId,
    );
    expect((await deposit()).body).toMatchObject({
      address: first.body.address,
      status: 2,
      stage: "expired",
    });
    Object.assign(gateway.service, {
      outOfService: (currency: string) => (currency === "usdt" ? "WATCHER_DECIMALS: …" : ""),
    });
    const refused = await deposit({ currency: "usdt", amount: "5", orderId: "order-2" });
    expect([refused.status, refused.body.reason]).toEqual([503, "currency_out_of_service"]);
    expect((await deposit({ orderId: "order-3" })).status).toBe(200);
  });

  it("is refused in a currency that the agent cannot pay out, unless the operator says so", async () => {
    const currencies = (depositOnly: boolean) => ({
      ...testConfig.currencies,
      off: { ...testConfig.currencies.off, enabled: true, depositOnly, listUnpriced: true },
    });
    for (const [depositOnly, status, code] of [
      [false, 400, "currency_not_payable"],
      [true, 200, undefined],
    ] as const) {
      await anotherGateway({ ...many, currencies: currencies(depositOnly) });
      await ready();
      const answer = await deposit({ currency: "off", amount: "1" });
      expect([answer.status, answer.body.code]).toEqual([status, code]);
      expect((await auto({ currency: "off" })).body.code).toBe("currency_not_payable");
      expect((await read("/supportedCurrency")).body.at(-1)).toMatchObject({
        id: "off",
        depositOnly,
      });
    }
  });

  it("enforces minPaymentAmount, takes no address, and needs an agent", async () => {
    expect((await deposit()).body.code).toBe("deposits_not_ready");
    await ready();
    expect((await deposit({ currency: "usdt", amount: "4.999999" })).body).toMatchObject({
      code: "amount_below_minimum",
      minimum: "5",
    });
    expect((await deposit({ address: receiver })).body).toMatchObject({
      code: "field_unknown",
      field: "address",
    });
    expect((await deposit({ amount: 1 })).body.code).toBe("amount_format");
    expect((await deposit({ currency: "usdt", amount: "5" })).status).toBe(200);
  });

  it("never hands out an address again after the agent was released and another one paired with the same wallet", async () => {
    await ready();
    await deposit();
    release();
    const again = await gateway.pair({}, undefined, newAgentKeys());
    expect(again.status).toBe(200);
    expect((await deposit({ orderId: "order-2" })).body.address).toBe(
      depositAddressOf(wallet.depositXpub, 1),
    );
  });
});

describe("transaction and transactions", () => {
  it("show the interface's fields with their types", async () => {
    await ready();
    const out = (await auto()).body.transactionId;
    const into = (await deposit()).body;
    const one = await read(`/transaction/${out}?transactionType=2`);
    expect(one.body).toMatchObject({
      transactionId: out,
      receiverAddress: receiver,
      depositAddress: wallet.hotWalletAddress,
      orderId: "order-1",
      tag: "",
      currency: "eth",
      amount: "1",
      callbackStatus: 3,
      createdAt: "2026-01-02T03:04:05.678Z",
      status: 0,
      transactionType: 2,
    });
    const other = await read(`/transaction/${into.transactionId}?transactionType=1`);
    expect(other.body).toMatchObject({
      receiverAddress: into.address,
      depositAddress: into.address,
      amountReceived: "0",
      late: false,
      stage: "waiting",
    });
    db().run("UPDATE deposits SET late = 1 WHERE id = ?", into.transactionId);
    expect((await read(`/transaction/${into.transactionId}?transactionType=1`)).body.late).toBe(
      true,
    );
    expect((await deposit({ orderId: into.orderId ?? "order-1" })).body.late).toBe(true);
    expect(one.body.late).toBeUndefined();
  });

  it("are not found under the wrong type, for another merchant, or for an id that is none", async () => {
    await ready();
    const id = (await auto()).body.transactionId;
    expect((await read(`/transaction/${id}?transactionType=2`)).status).toBe(200);
    for (const path of [
      `${id}?transactionType=1`,
      `${"0".repeat(32)}?transactionType=2`,
      "x'--?transactionType=2",
    ]) {
      const answer = await read(`/transaction/${path}`);
      expect([answer.status, answer.body.code], path).toEqual([404, "transaction_not_found"]);
    }
    for (const query of [
      "",
      "?transactionType=",
      "?transactionType=3",
      "?transactionType=2&transactionType=2",
      "?transactionType=deposit",
    ]) {
      const answer = await read(`/transaction/${id}${query}`);
      expect([answer.status, answer.body.code], query).toEqual([400, "transaction_type_invalid"]);
    }
    const outsider = createMerchant(gateway.operator, { name: "Other", language: "tr" });
    const headers = {
      "Content-Type": "application/json",
      signatureToken: handmadeToken(outsider.shopKey, gateway.clock.nowMs),
    };
    expect(
      (await gateway.send(`/api/v1/transaction/${id}?transactionType=2`, { headers })).status,
    ).toBe(404);
    expect((await gateway.send("/api/v1/transactions", { headers })).body).toEqual([]);
  });

  it("come newest first, in pages that neither skip nor repeat, filtered as asked", async () => {
    await ready();
    for (let i = 0; i < 7; i += 1) {
      gateway.clock.nowMs += i % 2 === 0 ? 1000 : 0; // pairs within one millisecond
      await deposit({ orderId: `o-${i}` });
    }
    await auto();
    const all = (await read("/transactions")).body as {
      transactionId: string;
      createdAt: string;
      orderId: string;
    }[];
    expect(all).toHaveLength(8);
    const times = all.map((record) => record.createdAt);
    expect(times).toEqual([...times].sort().reverse());
    const seen: string[] = [];
    let path: string | null = "/api/v1/transactions?limit=3";
    while (path !== null) {
      const page: GatewayAnswer = await gateway.call("GET", path);
      seen.push(...page.body.map((record: { transactionId: string }) => record.transactionId));
      path = /^<([^>]+)>; rel="next"$/.exec(String(page.headers.link ?? ""))?.[1] ?? null;
    }
    expect(seen).toEqual(all.map((record) => record.transactionId));
    expect((await read("/transactions?transactionType=2")).body).toHaveLength(1);
    expect(
      (await read("/transactions?orderId=o-3&status=0&currency=eth&transactionType=1")).body,
    ).toHaveLength(1);
    expect((await read("/transactions?status=1")).body).toEqual([]);
    expect((await read(`/transactions?from=${all[0]?.createdAt}`)).body).toHaveLength(2);
    expect((await read(`/transactions?to=${all[0]?.createdAt}`)).body).toHaveLength(6);
    for (const bad of [
      "limit=0",
      "limit=501",
      "limit=x",
      "status=3",
      "cursor=abc",
      "from=yesterday",
      "typo=1",
      "limit=1&limit=2",
      "from=2026-02-30",
      "to=2026-13-01",
      "currency=nope",
      "orderId=",
      "orderId=has%20space",
      "__proto__=1",
    ]) {
      const answer = await read(`/transactions?${bad}`);
      expect([answer.status, answer.body.code], bad).toEqual([400, "query_invalid"]);
    }
  });

  it("take a day that the calendar has", async () => {
    await ready();
    for (const day of ["2026-02-28", "2024-02-29T12:00Z"])
      expect((await read(`/transactions?from=${day}`)).status, day).toBe(200);
  });

  it("are all of them when nobody asks for a page: over several parts, none twice, and HEAD without a body", async () => {
    await ready();
    await deposit();
    const columns = "merchant, origin, contentHash, currency, network, address, payTo, tag";
    const rest = "amount, units, toleranceUnits, status, stage, createdAt, changedAt, expiresAt";
    const copy = `INSERT INTO deposits (id, orderId, ${columns}, ${rest}) SELECT ?, ?, ${columns}, ${rest} FROM deposits LIMIT 1`;
    gateway.service.store.write((database) => {
      for (let i = 0; i < 1_201; i += 1)
        database.run(copy, i.toString(16).padStart(32, "0"), `copy-${i}`);
    });
    const all = (await read("/transactions")).body as { transactionId: string }[];
    expect([all.length, new Set(all.map(({ transactionId }) => transactionId)).size]).toEqual([
      1_202, 1_202,
    ]);
    expect((await read("/transactions?orderId=copy-7")).body).toHaveLength(1);
    const token = handmadeToken(gateway.merchant.shopKey, gateway.clock.nowMs);
    const headers = { "Content-Type": "application/json", signatureToken: token };
    const head = await gateway.send("/api/v1/transactions", { method: "HEAD", headers });
    expect([head.status, head.text]).toEqual([200, ""]);
  });

  it("are bounded where the operator says so", async () => {
    await anotherGateway({ limits: { ...many.limits, listMax: 2 } });
    await ready();
    for (let i = 0; i < 3; i += 1) await deposit({ orderId: `o-${i}` });
    const page = await read("/transactions");
    expect(page.body).toHaveLength(2);
    expect(
      (await gateway.call("GET", /<([^>]+)>/.exec(String(page.headers.link))?.[1] ?? "")).body,
    ).toHaveLength(1);
  });
});

describe("a read that takes no parameter", () => {
  it("says so of one that comes, as the list does", async () => {
    await ready();
    const id = (await auto()).body.transactionId;
    for (const path of [
      "/supportedCurrency?x=1",
      "/balance/eth?at=now",
      `/transaction/${id}?transactionType=2&verbose=1`,
    ]) {
      const answer = await read(path);
      expect([answer.status, answer.body.code], path).toEqual([400, "query_invalid"]);
      const bare = path.replace(/[?&](?:x|at|verbose)=\w+/, "");
      expect((await read(bare)).status, bare).toBe(200);
    }
  });
});

describe("supportedCurrency", () => {
  it("calls a typed price stale when it is older than the operator allows", async () => {
    const manual = { eth: { usd: "3000", eur: "2800.5", try: "126000" } };
    await anotherGateway({ ...many, prices: { manual, manualHoursMax: 2 } });
    const stale = async () => (await read("/supportedCurrency")).body[0].priceStale;
    gateway.clock.nowMs += 2 * 3_600_000;
    expect(await stale()).toBe(false);
    gateway.clock.nowMs += 1;
    expect(await stale()).toBe(true);
  });

  it("counts the age of a typed price from its own time where it has one", async () => {
    const eth = { usd: "3000", eur: "2800.5", try: "126000", at: "2026-01-02T01:00Z" };
    await anotherGateway({ ...many, prices: { manual: { eth }, manualHoursMax: 3 } });
    const listed = async () => (await read("/supportedCurrency")).body[0];
    expect(await listed()).toMatchObject({
      priceStale: false,
      priceUpdatedAt: "2026-01-02T01:00:00.000Z",
    });
    gateway.clock.nowMs = Date.parse("2026-01-02T04:00:00.001Z");
    expect((await listed()).priceStale).toBe(true);
  });

  it("lists what is switched on and priced; one without a price only where the operator says so, and none is invented", async () => {
    const { eth } = testConfig.prices.manual;
    await anotherGateway({ ...many, prices: { manual: { eth } } });
    expect((await read("/supportedCurrency")).body.map(({ id }: { id: string }) => id)).toEqual([
      "eth",
    ]);
    const currencies = {
      ...testConfig.currencies,
      usdt: { ...testConfig.currencies.usdt, listUnpriced: true },
    };
    await anotherGateway({ ...many, currencies, prices: { manual: { eth } } });
    const { body } = await read("/supportedCurrency");
    expect(body.map((currency: { id: string }) => currency.id)).toEqual(["eth", "usdt"]);
    expect(body[0]).toMatchObject({
      name: "Ether",
      symbol: "ETH",
      decimal: 18,
      usdPrice: "3000",
      eurPrice: "2800.5",
      tryPrice: "126000",
      minPaymentAmount: "0.001",
      priceStale: false,
    });
    expect(body[1]).toMatchObject({
      usdPrice: "",
      eurPrice: "",
      tryPrice: "",
      priceStale: true,
      priceUpdatedAt: "",
      contract: usdtContract,
    });
  });
});
