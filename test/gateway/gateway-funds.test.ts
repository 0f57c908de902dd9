/** The reservation of a withdrawal, its release, and its part in the balance operation's answer. */
import { describe, expect, it } from "vitest";
import { balanceNumber } from "../../gateway/balance/balance.ts";
import { keepDetectedPayment, keepFinalPayment } from "../../gateway/store/payments.ts";
import { keepUnusable } from "../../gateway/store/unusable-coins.ts";
import { endWithdrawal } from "../../gateway/store/withdrawals.ts";
import { repostRows } from "../../lab/kit/repost.ts";
import {
  auto,
  countOf,
  db,
  decide,
  deposit,
  eachTestItsGateway,
  ether,
  gateway,
  read,
  ready,
} from "../support/shop.ts";

eachTestItsGateway();

describe("funds", () => {
  it("are reserved with the agent's own maxFee: the last wei counts", async () => {
    await ready();
    const above = await auto({ amount: "9.990000000000000001" });
    expect([above.status, above.body]).toEqual([
      400,
      expect.objectContaining({
        code: "balance_insufficient",
        currency: "eth",
        available: "10",
        needed: "10.000000000000000001",
      }),
    ]);
    expect((await auto({ amount: "9.99" })).status).toBe(200);
    expect((await read("/balance/eth")).body).toMatchObject({
      balance: 0,
      available: "0",
      reserved: "10",
    });
    expect((await auto({ amount: "0.001", orderId: "order-2" })).body.code).toBe(
      "balance_insufficient",
    );
  });

  it("are not those that lie in coins which no payment can spend, until the balance was read without", async () => {
    await ready();
    const { account } = db().get<{ account: string }>(
      "SELECT account FROM balances WHERE currency = 'eth'",
    )!;
    const place = { account, currency: "eth" };
    keepUnusable(db(), place, { units: `${4n * ether}`, words: "coin x: too large", at: 1 });
    expect((await read("/balance/eth")).body).toMatchObject({ available: "6", reserved: "0" });
    expect((await auto({ amount: "5.990000000000000001" })).body).toMatchObject({
      code: "balance_insufficient",
      available: "6",
    });
    expect((await auto({ amount: "5.99" })).status).toBe(200);
    keepUnusable(db(), place, null);
    expect((await read("/balance/eth")).body).toMatchObject({ available: "4", reserved: "6" });
  });

  it("of a token need the native coin for the fee", async () => {
    await ready();
    gateway.fund("eth", ether / 50n - 1n);
    const short = await auto({ currency: "usdt", amount: "5" });
    expect([short.status, short.body.code, short.body.currency]).toEqual([
      400,
      "balance_insufficient",
      "eth",
    ]);
    expect((await read("/balance/usdt")).body).toMatchObject({
      available: "1000",
      feeAsset: "eth",
      feeReserve: "0.02",
      feeSufficient: false,
    });
    gateway.fund("eth", ether / 50n);
    expect((await read("/balance/usdt")).body.feeSufficient).toBe(true);
    expect((await auto({ currency: "usdt", amount: "5" })).status).toBe(200);
    expect((await read("/balance/usdt")).body).toMatchObject({ balance: 995, reserved: "5" });
    expect((await read("/balance/eth")).body).toMatchObject({ available: "0", reserved: "0.02" });
  });

  it("stay reserved until the balance was read at a block that has the payment", async () => {
    await ready();
    const { transactionId } = (await auto()).body;
    const place = { txHash: "0x01", feeUnits: "1000000000000000", finalBlock: 120, changedAt: 1 };
    endWithdrawal(db(), transactionId, { status: 1, stage: "final", code: "", ...place });
    gateway.fund("eth", 10n * ether, 119);
    expect((await read("/balance/eth")).body).toMatchObject({
      available: "8.999",
      reserved: "1.001",
    });
    gateway.fund("eth", 8_999_000_000_000_000_000n, 120);
    expect((await read("/balance/eth")).body).toMatchObject({ available: "8.999", reserved: "0" });
  });

  it("of a refused withdrawal are free again; of a reverted one all but the fee", async () => {
    await ready();
    const { transactionId } = (await auto()).body;
    decide(transactionId, { status: 2, stage: "refused", code: "POLICY_DENIED" });
    expect((await read("/balance/eth")).body).toMatchObject({ available: "10", reserved: "0" });
    const fee = `${ether / 100n}`;
    const sql = "UPDATE transfers SET finalBlock = 101, feeUnits = ? WHERE id = ?";
    db().run(sql, fee, transactionId);
    repostRows(gateway.service.store);
    expect((await read("/balance/eth")).body).toMatchObject({
      available: "9.99",
      reserved: "0.01",
    });
  });

  it("that nobody has read yet make it 503, and nothing is created", async () => {
    await gateway.pair();
    const answer = await auto();
    expect([answer.status, answer.body.code, answer.headers["retry-after"]]).toEqual([
      503,
      "unavailable",
      "5",
    ]);
    expect(["deposits", "transfers"].map(countOf)).toEqual([0, 0]);
    gateway.fund("eth", 10n * ether);
    expect((await auto()).status).toBe(200);
  });

  it("are told as a number that is never above the truth", async () => {
    expect(balanceNumber(1_234_567_890_123_456_789n, 18)).toBe("1.23456789012345");
    expect(balanceNumber(999_999_999_999_999_999n, 18)).toBe("0.999999999999999");
    expect(balanceNumber(1n, 18)).toBe("0.000000000000000001");
    expect(balanceNumber(0n, 18)).toBe("0");
    expect(balanceNumber(123_456_789_012_345_678_901n, 0)).toBe("123456789012345000000");
    await ready();
    gateway.fund("eth", 1n);
    const answer = await read("/balance/eth");
    expect(answer.text).toMatch(/^\{"balance":0\.000000000000000001,/);
    expect(answer.body.available).toBe("0.000000000000000001");
    const unknown = await read("/balance/nothing");
    expect([unknown.status, unknown.body.code]).toEqual([404, "currency_not_found"]);
    expect((await read("/balance/__proto__")).status).toBe(404);
    expect((await read("/balance/constructor")).status).toBe(404);
  });

  it("without a paired agent are zero; deposits paid finally are pending, not available", async () => {
    expect((await read("/balance/eth")).body).toMatchObject({
      balance: 0,
      total: "0",
      pending: "0",
    });
    await ready();
    const { transactionId, address } = (await deposit()).body;
    const paid = {
      network: "eip155:31337",
      txHash: "0x1",
      logIndex: 0,
      block: 5,
      blockHash: "0x2",
    };
    const payment = { ...paid, address, currency: "eth", units: `${2n * ether}`, transactionId };
    keepDetectedPayment(db(), { ...payment, final: 0 });
    // its block may still vanish
    expect((await read("/balance/eth")).body).toMatchObject({ pending: "0", total: "10" });
    keepFinalPayment(db(), { ...payment, final: 1 });
    expect((await read("/balance/eth")).body).toMatchObject({
      balance: 10,
      available: "10",
      pending: "2",
      total: "12",
    });
  });
});
