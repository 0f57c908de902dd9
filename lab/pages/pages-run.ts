/**
 * `npm run pages [-- --out DIR]`: looks at the payment page in two languages, light and dark, 360
 * and 1280 px wide. The states are reached by payments on a local chain; two pages of Tron and two
 * of slow chains come from rows; /docs is looked at too. Each look must be free of violations of
 * WCAG 2.2 AA, must ask nobody but the gateway, and must not break the page's own policy. With
 * --pictures it makes the pictures of docs/ instead.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { readCommandLine } from "../kit/command-line.ts";
import { projectRoot } from "../kit/kit.ts";
import { startStatesGateway } from "../kit/payer-states.ts";
import { findChromium, noBrowser, openBrowser, openPage, violationsOf } from "./browser.ts";
import { reachedStates, rowStates, startPayerChain } from "./payer-chain.ts";
import { takePictures } from "./pictures.ts";

const { values } = readCommandLine({
  name: "pages",
  does: "Looks at the payment page in a browser: fifteen states and the page of an invoice, two languages, light and dark, two widths.",
  options: {
    out: { takes: "DIR", says: "keeps a picture of each look there" },
    pictures: { says: "only makes the pictures of docs/ again" },
  },
});

const path = findChromium();
if (path === null) {
  process.stderr.write(`pages: ${noBrowser}\n`);
  process.exit(3);
}
const browser = await openBrowser(path);
if (values.pictures) {
  const folder = join(projectRoot, "docs", "pictures");
  mkdirSync(folder, { recursive: true });
  await takePictures(browser, folder);
  await browser.close();
  process.stdout.write(`pages: the pictures are in ${folder}\n`);
  process.exit(0);
}
if (values.out !== undefined) mkdirSync(values.out, { recursive: true });
let looks = 0;
let problems = 0;
let bytesMost = 0;

/** Looks at a page in two languages, light and dark, at two widths. */
async function lookAt(name: string, url: string): Promise<void> {
  for (const language of ["en", "tr"] as const)
    for (const scheme of ["light", "dark"] as const)
      for (const width of [360, 1280]) {
        const look = await openPage(browser, url, { language, scheme, width });
        const full = `${name}-${language}-${scheme}-${width}`;
        const found = [...(await violationsOf(look.page)), ...look.problems];
        for (const one of found) process.stderr.write(`pages: ${full}: ${one}\n`);
        if (values.out !== undefined)
          await look.page.screenshot({ path: join(values.out, `${full}.png`), fullPage: true });
        if (name !== "docs") bytesMost = Math.max(bytesMost, look.bytes());
        looks += 1;
        problems += found.length;
        await look.close();
      }
}

const chain = await startPayerChain();
for (const state of reachedStates) await lookAt(state, `${chain.url}${chain.pathOf[state]}`);
await chain.close();
const { gateway, pathOf, choosingPath } = await startStatesGateway();
for (const state of ["waiting", "over"] as const)
  await lookAt(`tron-${state}`, `${gateway.url}${pathOf[state]}`);
for (const state of rowStates) await lookAt(state, `${gateway.url}${pathOf[state]}`);
await lookAt("choose", `${gateway.url}${choosingPath}`);
await lookAt("docs", `${gateway.url}/docs`);
await gateway.close();
await browser.close();
process.stdout.write(
  `pages: ${looks} looks, ${problems} problems, at most ${(bytesMost / 1024).toFixed(1)} KiB for the first payment page\n`,
);
process.exit(problems === 0 ? 0 : 1);
