/**
 * The pictures of docs/: pages as a browser shows them, from rows that are always the same, and an
 * operator's terminal with what the agent's own commands printed.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import type { PayerState } from "../../gateway/pages/state.ts";
import { type Kit, startPairedKit } from "../kit/kit.ts";
import { startStatesGateway } from "../kit/payer-states.ts";
import { until } from "../kit/processes.ts";
import { createShop } from "../kit/shop.ts";
import { openPage } from "./browser.ts";

const pages: Readonly<Record<string, PayerState>> = {
  "payment-waiting.png": "waiting",
  "payment-short.png": "short",
  "payment-completed.png": "completed",
};

/** The payment page on a phone. */
async function takePages(browser: Browser, folder: string): Promise<void> {
  const { gateway, pathOf } = await startStatesGateway();
  for (const [name, state] of Object.entries(pages)) {
    const wish = { language: "en", scheme: "light", width: 360 } as const;
    const { page, close } = await openPage(browser, `${gateway.url}${pathOf[state]}`, wish);
    await page.screenshot({ path: join(folder, name), fullPage: true });
    await close();
  }
  await gateway.close();
}

const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const ether = 10n ** 18n;
/** Two that policy lets through, and one that waits for an operator. */
const orders = [
  { currency: "eth", amount: "0.25", receiver, orderId: "order-2001", isHeld: false },
  { currency: "usdt", amount: "125.5", receiver, orderId: "order-2002", isHeld: false },
  { currency: "eth", amount: "2.5", receiver, orderId: "order-2003", isHeld: true },
];

/** The commands of an operator with their output. */
async function operate(kit: Kit): Promise<string> {
  const shop = createShop(kit);
  const isFunded = async (): Promise<true | undefined> =>
    (await shop.balance("usdt")).available === "10000" ? true : undefined;
  await until("the balance at the gateway", 60_000, isFunded);
  for (const { isHeld, ...order } of orders) {
    const { transactionId } = await shop.autoWithdraw(order);
    const isThere = async (): Promise<true | undefined> => {
      const { status, stage } = await shop.transaction(transactionId);
      return status === 1 || (isHeld && stage === "awaiting_approval") ? true : undefined;
    };
    await until(`the withdrawal ${order.orderId}`, 60_000, isThere);
  }
  const shown: string[] = [];
  for (const command of ["withdrawals", "verify"]) {
    const { code, output } = await kit.cli(command);
    if (code !== 0) throw new Error(`autowithdraw ${command} ended with ${code}:\n${output}`);
    shown.push(`$ autowithdraw ${command}`, output.trim(), "");
  }
  return shown.join("\n").trim();
}

const [lineHeight, charWidth, margin] = [19, 8, 16];
const escaped = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

/** Text as a terminal shows it; typed lines stand out. */
export function terminalOf(text: string): string {
  const lines = text.split("\n");
  const width = 2 * margin + charWidth * Math.max(...lines.map((line) => line.length));
  const height = 2 * margin + lineHeight * lines.length;
  const spans = lines.map((line, at) => {
    const ink = line.startsWith("$ ") ? "#8db6ff" : "#edf0f4";
    return `<text x="${margin}" y="${margin + lineHeight * at + 13}" fill="${ink}" xml:space="preserve">${escaped(line)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13">
<title>An operator's terminal</title>
<rect width="100%" height="100%" rx="10" fill="#171b21"/>
${spans.join("\n")}
</svg>
`;
}

/** Writes every picture into a folder that is there. */
export async function takePictures(browser: Browser, folder: string): Promise<void> {
  await takePages(browser, folder);
  const kit = await startPairedKit(
    { preset: "ethereum", blockTimeMs: 500 },
    { wei: 10n * ether, units: 10_000_000_000n },
  );
  try {
    writeFileSync(join(folder, "terminal.svg"), terminalOf(await operate(kit)));
  } finally {
    await kit.close();
  }
}
