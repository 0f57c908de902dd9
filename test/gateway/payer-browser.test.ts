/**
 * The payment page in a real browser: ten looks, each without a violation of WCAG 2.2 AA, without
 * a request to anybody else and without a report of its own policy; and a payment that the open
 * page shows by itself. `npm run pages` has every combination of state, language, scheme and width.
 */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { payerStates } from "../../gateway/pages/state.ts";
import { type StatesGateway, startStatesGateway, tokenOf } from "../../lab/kit/payer-states.ts";
import { findChromium, noBrowser, openBrowser, openPage, violationsOf } from "../../lab/pages/browser.ts";

const path = findChromium();
if (path === null) process.stderr.write(`\n*** SKIPPED: ${noBrowser}\n\n`);

let states: StatesGateway;
let browser: Browser;
beforeAll(async () => {
  states = await startStatesGateway();
  if (path !== null) browser = await openBrowser(path);
});
afterAll(async () => {
  await browser?.close();
  await states.gateway.close();
});

const languages = ["en", "tr"] as const;
const schemes = ["light", "dark"] as const;
const firstPageMost = 60 * 1024;

describe.skipIf(path === null)("the payment page in Chromium", () => {
  it.each(payerStates.map((state, at) => ({ state, at })))(
    "the payment page in Chromium is readable for all in the state $state, and asks nobody else",
    async ({ state, at }) => {
      const wish = {
        language: languages[at % 2] ?? "en",
        scheme: schemes[(at >> 1) % 2] ?? "light",
        width: at % 3 === 0 ? 1280 : 360,
      };
      const look = await openPage(browser, `${states.gateway.url}${states.pathOf[state]}`, wish);
      expect([...(await violationsOf(look.page)), ...look.problems]).toEqual([]);
      expect(await look.page.locator("html").getAttribute("lang")).toBe(wish.language);
      expect(look.bytes()).toBeGreaterThan(1024);
      expect(look.bytes()).toBeLessThan(firstPageMost);
      await look.close();
    },
  );

  it("the payment page in Chromium copies amount and address as a wallet takes them, and shows a payment by itself", async () => {
    const wish = { language: "en", scheme: "light", width: 360 } as const;
    const { page, problems, close } = await openPage(browser, `${states.gateway.url}${states.pathOf.short}`, wish);
    for (const [button, text] of [
      ["Copy amount", "0.15"],
      ["Copy address", "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"],
    ] as const) {
      await page.getByRole("button", { name: button }).click();
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(text);
    }
    await page.getByText("Wallet link").click();
    expect(await page.getByRole("link", { name: "Open in a wallet" }).getAttribute("href")).toContain("value=150000000000000000");
    const { database } = states.gateway.service.store;
    database.run(
      "UPDATE transactions SET status = 1, stage = 'completed', amountReceivedUnits = amountUnits WHERE payToken = ?",
      tokenOf("short"),
    );
    await page.getByRole("heading", { name: "Paid" }).waitFor({ timeout: 10_000 });
    expect(await page.locator("#said").textContent()).toBe("Paid");
    expect(problems).toEqual([]);
    await close();
  });

  it("the payment page in Chromium says the same without script", async () => {
    const wish = { language: "en", scheme: "dark", width: 360, script: false } as const;
    const { page, close } = await openPage(browser, `${states.gateway.url}${states.pathOf.waiting}`, wish);
    expect(await page.locator("main").textContent()).toContain("47 min left");
    expect(await page.locator("meta[http-equiv=refresh]").getAttribute("content")).toBe("15");
    expect(await page.getByRole("button").count()).toBe(0);
    await close();
  });
});
