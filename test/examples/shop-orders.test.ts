/**
 * The shops of examples/shop against the gateway: orders, repeated orders, a record's end, and bad
 * days between the two, on which an order is stored although no answer says so.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import { receiver, startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import { startsTheBuild } from "../support/built.ts";
import { startBadDays } from "./bad-days.ts";
import { ordering } from "./shops.ts";

startsTheBuild();

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    limits: { readsPerSecond: 1_000, writesPerSecond: 1_000, withdrawalWaitMs: 0 },
  });
  gateway.runClock();
  expect((await gateway.pair()).status).toBe(200);
  gateway.fund("eth", 10n ** 20n);
});
afterAll(() => gateway.close());

const settings = (change: Readonly<Record<string, string>> = {}) => ({
  ...{ BASE_URL: gateway.url, SHOP_KEY: gateway.merchant.shopKey },
  ...{ TIMEOUT_SECONDS: "5", PAUSE_SECONDS: "0.02", ...change },
});

const countOf = (orderId: string): number | undefined =>
  gateway.service.store.database.get<{ n: number }>(
    "SELECT count(*) AS n FROM withdrawals WHERE orderId = ?",
    orderId,
  )?.n;

function complete(transactionId: string): void {
  gateway.service.store.write((database) =>
    updateWithdrawal(
      database,
      transactionId,
      { status: 1, code: "", stage: "completed" },
      gateway.clock.nowMs,
    ),
  );
}

describe.each(ordering)("the shop in $name", ({ name, isThere, command }) => {
  const run = async (words: readonly string[], change?: Readonly<Record<string, string>>) => {
    const { code, line } = await command(words, settings(change));
    return {
      code,
      line,
      said: line.startsWith("[") ? (JSON.parse(line) as [number, Record<string, unknown>]) : null,
    };
  };
  const withdraw = (orderId: string, amount: string, change?: Readonly<Record<string, string>>) =>
    run(["withdraw", orderId, "eth", amount, receiver], change);

  it.skipIf(!isThere)(
    `the shop in ${name} orders, repeats without harm, learns a clear no, and waits for the end`,
    async () => {
      const orderId = `out-${name}`;
      const first = await withdraw(orderId, "0.5");
      expect(first, first.line).toMatchObject({
        code: 0,
        said: [200, { status: 0, stage: "queued" }],
      });
      const transactionId = String(first.said?.[1].transactionId);
      const [again, other, waiting] = await Promise.all([
        withdraw(orderId, "0.50"),
        withdraw(orderId, "0.6"),
        run(["wait", "withdrawal", transactionId]),
        new Promise<void>((resolve) => setTimeout(resolve, 200)).then(() =>
          complete(transactionId),
        ),
      ]);
      expect(again).toMatchObject({ code: 0, said: [200, { transactionId }] });
      expect(other).toMatchObject({
        code: 1,
        said: [409, { code: "order_id_reused", transactionId }],
      });
      expect(waiting).toMatchObject({
        code: 0,
        said: [200, { status: 1, amount: "0.5", orderId }],
      });
      expect(countOf(orderId)).toBe(1);
    },
  );

  it.skipIf(!isThere)(
    `the shop in ${name} asks for a deposit, and refuses an amount that is no plain text`,
    async () => {
      const [deposit, unknown, exponent] = await Promise.all([
        run(["deposit", `in-${name}`, "usdt", "25"]),
        run(["deposit", `none-${name}`, "none", "25"]),
        withdraw(`exponent-${name}`, "5e-1"),
      ]);
      expect(deposit).toMatchObject({
        code: 0,
        said: [200, { amount: "25", address: expect.stringMatching(/^0x/) }],
      });
      expect(unknown).toMatchObject({ code: 1, said: [400, { code: "currency_unknown" }] });
      expect([exponent.code, exponent.line]).toEqual([2, expect.stringContaining("plain digits")]);
    },
  );

  it.skipIf(!isThere)(
    `the shop in ${name} sends the same order until an answer of the service arrives`,
    async () => {
      const proxy = await startBadDays(gateway.url);
      try {
        proxy.days = ["html-502", "cut", "silent", "html-404", "good"];
        const done = await withdraw(`bad-${name}`, "0.1", {
          BASE_URL: proxy.url,
          TIMEOUT_SECONDS: "1",
        });
        expect(done, done.line).toMatchObject({ code: 0, said: [200, { status: 0 }] });
        expect([proxy.asked() >= 5, countOf(`bad-${name}`)]).toEqual([true, 1]);
      } finally {
        await proxy.close();
      }
    },
  );

  it.skipIf(!isThere)(
    `the shop in ${name} says "not known" when no answer, or only a 401, follows a lost one`,
    async () => {
      const [lost, closed] = await Promise.all([
        startBadDays(gateway.url),
        startBadDays(gateway.url),
      ]);
      try {
        lost.days = ["json", "html-200"];
        const [keyId, , fingerprint] = gateway.merchant.shopKey.split(".");
        const [none, refused] = await Promise.all([
          withdraw(`lost-${name}`, "0.1", { BASE_URL: lost.url }),
          withdraw(`closed-${name}`, "0.1", {
            BASE_URL: closed.url,
            SHOP_KEY: `${keyId}.${"A".repeat(43)}.${fingerprint}`,
          }),
        ]);
        expect([none.code, none.said?.[0], lost.asked(), countOf(`lost-${name}`)]).toEqual([
          3, 0, 6, 1,
        ]);
        expect([
          refused.code,
          refused.said?.[0],
          closed.asked(),
          countOf(`closed-${name}`),
        ]).toEqual([3, 401, 1, 0]);
      } finally {
        await Promise.all([lost.close(), closed.close()]);
      }
    },
  );
});
