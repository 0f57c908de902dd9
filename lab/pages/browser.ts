/**
 * Debian's Chromium for looks at pages: every address but this machine's leads nowhere, and each
 * look notes requests that would have left, errors of the console and reports of the page's policy.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, chromium, type Page } from "playwright-core";

const require = createRequire(import.meta.url);

/** The path of a Chromium on this machine; null without one. */
export function findChromium(): string | null {
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    const found = spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" });
    if (found.status === 0) return found.stdout.trim();
  }
  return null;
}

export const noBrowser = "no Chromium on this machine: apt-get install chromium";

export function openBrowser(executablePath: string): Promise<Browser> {
  const nowhere = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1";
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", nowhere] });
}

export interface Wish {
  readonly language: "en" | "tr";
  readonly scheme: "light" | "dark";
  readonly width: number;
  readonly script?: boolean; // true
}

export interface Look {
  readonly page: Page;
  /** Everything that should not have happened, in words. */
  readonly problems: string[];
  /** Bytes of the first load, as they crossed the wire. */
  bytes(): number;
  close(): Promise<void>;
}

/** Opens an address as a reader with this language, scheme and width. */
export async function openPage(
  browser: Browser,
  url: string,
  { language, scheme, width, script = true }: Wish,
): Promise<Look> {
  const context = await browser.newContext({
    ...{
      locale: language,
      colorScheme: scheme,
      viewport: { width, height: 800 },
      javaScriptEnabled: script,
    },
    ...{
      timezoneId: "Europe/Istanbul",
      permissions: script ? ["clipboard-read", "clipboard-write"] : [],
    },
  });
  const page = await context.newPage();
  const problems: string[] = [];
  let bytes = 0;
  const { origin } = new URL(url);
  page.on("request", (request) => {
    const place = request.url();
    if (!place.startsWith(origin) && !place.startsWith("data:")) problems.push(`asks ${place}`);
  });
  page.on("response", (response) => {
    if (response.url().endsWith("/state")) return;
    void response.body().then(
      (body) => {
        bytes += body.length;
      },
      () => undefined,
    );
  });
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  await page.goto(url, { waitUntil: "load" });
  return { page, problems, bytes: () => bytes, close: () => context.close() };
}

const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** The violations of WCAG 2.2 AA that axe-core finds, and whether the page scrolls sideways. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  // Run by the debugger, which no policy of the page keeps out.
  const found = (await page.evaluate(`(async () => { ${axe}
    const { violations } = await axe.run(document, { runOnly: { type: "tag", values: ${JSON.stringify(rules)} } });
    const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
    return [...violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")), ...(wide ? ["scrolls sideways"] : [])];
  })()`)) as readonly string[];
  return found;
}
