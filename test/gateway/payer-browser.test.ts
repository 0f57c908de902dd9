/**
 * The payment page in a real browser, each state of quick chains reached by payments on a local
 * chain: ten looks, each without a violation of WCAG 2.2 AA, without a request to anybody else and
 * without a report of its own policy; and a payment that the open page shows by itself. `npm run
 * pages` has every combination of state, language, scheme and width.
 */
import { createServer } from "node:http";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { changeMerchantPage } from "../../gateway/operator/merchant-page.ts";
import { startStatesGateway } from "../../lab/kit/payer-states.ts";
import {
  findChromium,
  noBrowser,
  openBrowser,
  openPage,
  violationsOf,
} from "../../lab/pages/browser.ts";
import {
  type PayerChain,
  reachedStates,
  rowStates,
  startPayerChain,
} from "../../lab/pages/payer-chain.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

const path = findChromium();
if (path === null) process.stderr.write(`\n*** SKIPPED: ${noBrowser}\n\n`);

let chain: PayerChain;
let browser: Browser;
beforeAll(async () => {
  if (path === null) return;
  [chain, browser] = await Promise.all([startPayerChain(), openBrowser(path)]);
});
afterAll(async () => {
  await browser?.close();
  await chain?.close();
});

const languages = ["en", "tr"] as const;
const schemes = ["light", "dark"] as const;
const firstPageMost = 60 * 1024;
const ether = 10n ** 18n;

/** A site with the payment page in a frame. */
async function startSite(page: string): Promise<{ readonly origin: string; close(): void }> {
  const server = createServer((_request, response) => {
    response
      .setHeader("content-type", "text/html")
      .end(`<title>Shop</title><iframe src="${page}" title="Payment"></iframe>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { origin: `http://127.0.0.1:${port}`, close: () => server.close() };
}

describe.skipIf(path === null)("the payment page in Chromium", () => {
  it.each(reachedStates.map((state, at) => ({ state, at })))(
    "is readable for all in the state $state, and asks nobody else",
    async ({ state, at }) => {
      const wish = {
        language: languages[at % 2] ?? "en",
        scheme: schemes[(at >> 1) % 2] ?? "light",
        width: at % 3 === 0 ? 1280 : 360,
      };
      const look = await openPage(browser, `${chain.url}${chain.pathOf[state]}`, wish);
      expect([...(await violationsOf(look.page)), ...look.problems]).toEqual([]);
      expect(await look.page.locator("html").getAttribute("lang")).toBe(wish.language);
      expect(await look.page.locator("main").getAttribute("data-state")).toBe(state);
      if (state === "seen")
        expect(await look.page.locator("main").textContent()).toContain("12 onaydan 3 tanesi");
      expect(look.bytes()).toBeGreaterThan(1024);
      expect(look.bytes()).toBeLessThan(firstPageMost);
      await look.close();
    },
    20_000,
  );

  it("copies amount and address as a wallet takes them, and shows a payment by itself", async () => {
    const wish = { language: "en", scheme: "light", width: 360 } as const;
    const { page, problems, close } = await openPage(
      browser,
      `${chain.url}${chain.pathOf.short}`,
      wish,
    );
    const copied = async (button: string): Promise<unknown> => {
      await page.getByRole("button", { name: button }).click();
      return page.evaluate("navigator.clipboard.readText()");
    };
    expect(await copied("Copy amount")).toBe("0.15");
    const turkish = await openPage(browser, `${chain.url}${chain.pathOf.short}`, {
      ...wish,
      language: "tr",
    });
    await turkish.page.getByRole("button", { name: "Tutarı kopyala" }).click();
    expect(await turkish.page.evaluate("navigator.clipboard.readText()")).toBe("0.15");
    expect(await turkish.page.locator("#amount").textContent()).toBe("0,15");
    await turkish.close();
    const address = await copied("Copy address");
    expect(address).toMatch(/^0x[0-9A-Fa-f]{40}$/);
    await page.getByText("Wallet link").click();
    expect(await page.getByRole("link", { name: "Open in a wallet" }).getAttribute("href")).toBe(
      `ethereum:${address}@1?value=150000000000000000`,
    );
    await chain.pay("short", "eth", (15n * ether) / 100n);
    await page.getByText("1 of 12 confirmations").waitFor({ timeout: 10_000 });
    await chain.mine(12);
    await page.getByRole("heading", { name: "Paid" }).waitFor({ timeout: 10_000 });
    expect(await page.locator("#said").textContent()).toBe("Paid");
    expect(
      await page.getByRole("link", { name: "Back to Çınar Kitabevi" }).getAttribute("href"),
    ).toMatch(/^https:\/\/shop\.example\.com\//);
    expect(problems).toEqual([]);
    await close();
  });

  it("lets a payer choose a currency, without script, and shows the invoice as paid", async () => {
    const path = await chain.invoice("in-2001");
    const wish = { language: "en", scheme: "light", width: 360, script: false } as const;
    const look = await openPage(browser, `${chain.url}${path}`, wish);
    expect(await look.page.getByRole("button").count()).toBe(2);
    await look.page.getByRole("button", { name: /USDT/ }).click();
    expect(await look.page.locator("#amount").textContent()).toBe("25.5");
    const address = (await look.page.locator("#address").textContent()) ?? "";
    await look.page.goto(`${chain.url}${path}`);
    await look.page.getByRole("link", { name: /USDT.*chosen/s }).click();
    expect(await look.page.locator("#address").textContent()).toBe(address);
    expect(look.problems).toEqual([]);
    await look.close();
    await chain.payTo(address, 25_500_000n);
    await chain.mine(12);
    const paid = await openPage(browser, `${chain.url}${path}`, { ...wish, script: true });
    await paid.page.getByRole("heading", { name: "Paid" }).waitFor({ timeout: 20_000 });
    expect([...(await violationsOf(paid.page)), ...paid.problems]).toEqual([]);
    await paid.close();
  }, 60_000);

  it("is readable for all in the states that rows reach, and where a payer chooses", async () => {
    const { gateway, pathOf, choosingPath } = await startStatesGateway();
    const paths = [...rowStates.map((state) => pathOf[state]), choosingPath];
    for (const [at, path] of paths.entries()) {
      const wish = {
        language: languages[at % 2] ?? "en",
        scheme: schemes[(at >> 1) % 2] ?? "light",
        width: at % 2 === 0 ? 360 : 1280,
      };
      const look = await openPage(browser, `${gateway.url}${path}`, wish);
      expect([path, ...(await violationsOf(look.page)), ...look.problems]).toEqual([path]);
      await look.close();
    }
    await gateway.close();
  }, 60_000);

  it("says the same without script", async () => {
    const wish = { language: "en", scheme: "dark", width: 360, script: false } as const;
    const { page, close } = await openPage(browser, `${chain.url}${chain.pathOf.waiting}`, wish);
    expect(await page.locator("main").textContent()).toMatch(/5\d min left/);
    expect(await page.locator("meta[http-equiv=refresh]").getAttribute("content")).toBe("15");
    expect(await page.getByRole("button").count()).toBe(0);
    await close();
  });

  it("is shown in a frame of the shop's own site, and of no other site", async () => {
    const { gateway, pathOf } = await startStatesGateway();
    const page = `${gateway.url}${pathOf.waiting}`;
    const [own, other] = await Promise.all([startSite(page), startSite(page)]);
    changeMerchantPage(gateway.operator, gateway.merchant.merchantId, { origins: [own.origin] });
    const wish = { language: "en", scheme: "light", width: 1280 } as const;
    for (const [site, isShown] of [
      [own, 1],
      [other, 0],
    ] as const) {
      const look = await openPage(browser, site.origin, wish);
      expect(await look.page.frameLocator("iframe").locator("#address").count()).toBe(isShown);
      expect(look.problems.some((one) => one.includes("frame-ancestors"))).toBe(isShown === 0);
      await look.close();
      site.close();
    }
    await gateway.close();
  });
});
