/**
 * The shops of examples/shop as web sites: a customer orders, gets the gateway's payment page, also
 * after answers that a proxy spoiled, comes back, and sees that the order is paid.
 */
import type { ChildProcess } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { changeMerchantPage } from "../../gateway/operator/merchant-page.ts";
import { startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import { freePort } from "../../lab/kit/processes.ts";
import { startsTheBuild } from "../support/built.ts";
import { type BadDays, startBadDays } from "./bad-days.ts";
import { shops, stop } from "./shops.ts";

startsTheBuild();

let gateway: TestGateway;
let folder: string;
beforeAll(async () => {
  gateway = await startTestGateway({ limits: { readsPerSecond: 1_000, writesPerSecond: 1_000 } });
  gateway.runClock();
  expect((await gateway.pair()).status).toBe(200);
  folder = mkdtempSync(join(tmpdir(), "shop-pages-"));
});
afterAll(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

const secret = `whsec_${randomBytes(24).toString("base64")}`;

/** A callback about the deposit, as Standard Webhooks 1.0.0 says. */
function headersOf(body: string): Record<string, string> {
  const timestamp = Math.floor(Date.now() / 1000);
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const mac = createHmac("sha256", key).update(`msg_1.${timestamp}.${body}`).digest("base64");
  return {
    "webhook-id": "msg_1",
    "webhook-timestamp": `${timestamp}`,
    "webhook-signature": `v1,${mac}`,
  };
}

describe.each(shops)("the pages of the shop in $name", ({ name, isThere, listen }) => {
  let child: ChildProcess | null = null;
  let proxy: BadDays;
  afterAll(async () => {
    if (child !== null) await stop(child);
    await proxy?.close();
  });

  it.skipIf(!isThere)(
    `the shop in ${name} leads a customer to the payment page and back, on bad days with one order`,
    async () => {
      proxy = await startBadDays(gateway.url);
      const port = await freePort();
      const site = `http://127.0.0.1:${port}`;
      changeMerchantPage(gateway.operator, gateway.merchant.merchantId, { origins: [site] });
      child = listen(port, {
        ...{ BASE_URL: proxy.url, SHOP_KEY: gateway.merchant.shopKey, CALLBACK_SECRET: secret },
        ...{
          RECORDS: join(folder, name),
          TIMEOUT_SECONDS: "1",
          SHOP_URL: site,
          CURRENCY: "usdt",
          PRICE: "25",
        },
      });
      const view = async (path: string, init: RequestInit = {}) => {
        const answer = await fetch(`${site}${path}`, { redirect: "manual", ...init });
        return {
          status: answer.status,
          location: answer.headers.get("location") ?? "",
          text: await answer.text(),
        };
      };
      for (let tries = 0; tries < 200 && !(await view("/").then(Boolean, () => false)); tries += 1)
        await new Promise((done) => setTimeout(done, 50));
      expect(await view("/")).toMatchObject({
        status: 200,
        text: expect.stringContaining("One cup: 25 usdt"),
      });
      expect((await view(`/order/in-${"0".repeat(32)}`)).status).toBe(404);
      expect((await view("/order/../shop")).status).toBe(404);

      const { status, location } = await view("/buy", { method: "POST" });
      expect([status, location]).toEqual([
        303,
        expect.stringMatching(/^\/order\/in-[0-9a-f]{32}$/),
      ]);
      proxy.days = ["html-502", "cut", "html-404", "json", "silent", "good"];
      for (let day = 0; day < 5; day += 1)
        expect(await view(location), `day ${day}`).toMatchObject({
          status: 200,
          text: expect.stringContaining("One moment"),
        });
      // On a busy machine a good answer may be late as well.
      let { text } = await view(location);
      for (let tries = 0; tries < 10 && text.includes("One moment"); tries += 1)
        ({ text } = await view(location));
      const [, paymentUrl = ""] = /<iframe src="([^"]+)"/.exec(text) ?? [];
      expect(new URL(paymentUrl).pathname).toMatch(/^\/pay\/[\w-]{22}$/);
      const orderId = location.slice("/order/".length);
      const list = (await gateway.call("GET", `/api/v1/transactions?orderId=${orderId}`)).body;
      expect(list).toMatchObject([{ orderId, amount: "25", status: 0, paymentUrl }]);

      const [record] = list;
      const event = {
        type: "deposit.completed",
        timestamp: record.createdAt,
        sequence: 7,
        data: { ...record, status: 1 },
      };
      const body = JSON.stringify(event);
      expect((await view("/hook", { method: "POST", body, headers: headersOf(body) })).status).toBe(
        204,
      );
      expect(await view(location)).toMatchObject({
        status: 200,
        text: expect.stringContaining("Paid, thank you"),
      });
      // The way back stands on the payment page of a request that is paid.
      gateway.service.store.write((database) =>
        database.run(
          "UPDATE deposits SET status = 1, stage = 'completed' WHERE id = ?",
          record.transactionId,
        ),
      );
      const paid = await gateway.send(new URL(paymentUrl).pathname);
      expect(paid.text).toContain(`${site}${location}`);
      expect(paid.headers["content-security-policy"]).toContain(`frame-ancestors ${site}`); // the shop's frame
    },
  );

  it.skipIf(!isThere)(
    `the shop in ${name} says what cannot be ordered, and reads the record without a callback`,
    async () => {
      const port = await freePort();
      const site = `http://127.0.0.1:${port}`;
      if (child !== null) await stop(child);
      proxy.days = ["good"];
      changeMerchantPage(gateway.operator, gateway.merchant.merchantId, { origins: [] });
      child = listen(port, {
        ...{ BASE_URL: proxy.url, SHOP_KEY: gateway.merchant.shopKey, CALLBACK_SECRET: secret },
        ...{
          RECORDS: join(folder, `${name}-2`),
          TIMEOUT_SECONDS: "5",
          SHOP_URL: site,
          CURRENCY: "eth",
          PRICE: "0.5",
        },
      });
      const view = (path: string, init: RequestInit = {}) =>
        fetch(`${site}${path}`, { redirect: "manual", ...init });
      for (let tries = 0; tries < 200 && !(await view("/").then(Boolean, () => false)); tries += 1)
        await new Promise((done) => setTimeout(done, 50));
      const order = (await view("/buy", { method: "POST" })).headers.get("location") ?? "";
      expect((await view(order)).status).toBe(503); // the operator has not listed this site
      changeMerchantPage(gateway.operator, gateway.merchant.merchantId, { origins: [site] });
      expect(await (await view(order)).text()).toContain("<iframe");
      const orderId = order.slice("/order/".length);
      gateway.service.store.write((database) =>
        database.run(
          "UPDATE deposits SET status = 2, stage = 'expired' WHERE orderId = ?",
          orderId,
        ),
      );
      expect(await (await view(order)).text()).toContain("This order has ended");
    },
  );
});
