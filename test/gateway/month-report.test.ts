/**
 * GET /report through HTTP: whose month it is, what is refused, and that one report of a merchant
 * is made at a time. The sums themselves stand in test/books/months.test.ts.
 */
import { describe, expect, it } from "vitest";
import { reportMonth } from "../../gateway/books/month-report.ts";
import { createMerchant } from "../../gateway/operator/accounts.ts";
import { moveCursor } from "../../gateway/store/cursors.ts";
import { keepMonthEnd } from "../../gateway/store/month-ends.ts";
import { keepFinalPayment } from "../../gateway/store/payments.ts";
import type { DepositRow } from "../../gateway/store/rows.ts";
import { readDeposit } from "../../gateway/store/transactions.ts";
import { handmadeToken } from "../../lab/kit/gateway-server.ts";
import { db, deposit, eachTestItsGateway, gateway, read, ready } from "../support/shop.ts";

eachTestItsGateway();

const network = "eip155:31337";
const month = () => new Date(gateway.clock.nowMs).toISOString().slice(0, 7);

/** A payment of 1.5 ETH in this month, and the end of the month before. */
async function paidMonth(): Promise<void> {
  await ready();
  const { transactionId } = (await deposit()).body;
  const { address } = readDeposit(db(), transactionId) as DepositRow;
  gateway.service.store.write((database) => {
    moveCursor(database, { network, block: 100, hash: "0x64" });
    keepMonthEnd(database, { network, month: "2025-12", block: 5 });
    keepFinalPayment(database, {
      ...{ network, txHash: "0x1", logIndex: -1, address, currency: "eth" },
      ...{ units: `${15n * 10n ** 17n}`, block: 6, blockHash: "0x6", final: 1, transactionId },
    });
  });
}

describe("GET /report", () => {
  it("answers the month of the merchant of the key, and of no other", async () => {
    await paidMonth();
    const own = await read(`/report?month=${month()}`);
    expect([own.status, own.body]).toEqual([
      200,
      {
        ...{ month: "2026-01", since: "2026-01-01T00:00:00.000Z" },
        ...{ until: "2026-02-01T00:00:00.000Z", complete: false },
        networks: [{ network, state: "open", afterBlock: 5, lastBlock: 100 }],
        lines: [
          {
            ...{ currency: "eth", network, opening: "0", paidIn: "1.5", paidOut: "0" },
            ...{ refunded: "0", fees: "0", feesOfWithdrawals: "0", feesOfSweeps: "0" },
            ...{ feesOfTopUps: "0", broughtIn: "0", corrected: "0", closing: "1.5" },
          },
        ],
      },
    ]);
    const { shopKey } = createMerchant(gateway.operator, { name: "Other", language: "en" });
    const foreign = await read(`/report?month=${month()}`, {
      signatureToken: handmadeToken(shopKey, gateway.clock.nowMs),
    });
    expect([foreign.status, foreign.body.lines]).toEqual([200, []]);
  });

  it.each(["", "?month=", "?month=2026-13", "?month=2026-02", "?month=2020-01", "?month=2026-1"])(
    "refuses the query %j",
    async (query) => {
      await paidMonth();
      expect(await read(`/report${query}`)).toMatchObject({
        status: 400,
        body: { code: "query_invalid", field: "month" },
      });
      expect((await read("/report?month=2025-12")).status).toBe(200);
    },
  );

  it("makes one report of a merchant at a time, and the next one then", async () => {
    await paidMonth();
    const { service, merchant } = gateway;
    let nowMs = gateway.clock.nowMs;
    const first = reportMonth(
      { store: service.store, config: service.config, clock: () => (nowMs += 1_000) }, // it rests long
      { id: merchant.merchantId, createdAt: gateway.clock.nowMs },
      month(),
    );
    const refused = await read(`/report?month=${month()}`);
    expect([refused.status, refused.body.code, refused.headers["retry-after"]]).toEqual([
      ...[429, "rate_limited", "5"],
    ]);
    expect(typeof (await first)).toBe("object");
    expect((await read(`/report?month=${month()}`)).status).toBe(200);
  });
});
