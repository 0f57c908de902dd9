/**
 * The shell lines of docs/api.md, as they stand there, in two shells against the gateway. A reader
 * copies them in this order.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway, testConfig } from "../../lab/kit/gateway-server.ts";
import { projectRoot } from "../../lab/kit/kit.ts";

const tether = {
  chain: "local",
  decimal: 6,
  name: "Tether",
  symbol: "USDT",
  minPaymentAmount: "5",
  depositOnly: true,
};
const contract = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65";

let gateway: TestGateway;
let folder: string;
beforeAll(async () => {
  gateway = await startTestGateway({
    limits: { readsPerSecond: 1_000, writesPerSecond: 1_000, withdrawalWaitMs: 0 },
    currencies: { ...testConfig.currencies, "usdt-erc20": { ...tether, contract } },
    prices: {
      manual: { ...testConfig.prices.manual, "usdt-erc20": { usd: "1", eur: "0.93", try: "42" } },
    },
  });
  gateway.runClock();
  Object.assign(gateway.service.config.prices, { changedAtMs: Date.now() });
  expect((await gateway.pair()).status).toBe(200);
  gateway.fund("eth", 10n ** 20n);
  folder = mkdtempSync(join(tmpdir(), "docs-shell-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await gateway.close();
});

const page = readFileSync(join(projectRoot, "docs", "api.md"), "utf8");
const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
const eddsa = blocks.filter((text) => text.includes("genpkey"));
const renewing = blocks.filter((text) => text.includes('"renew"'));
const usual = blocks.filter((text) => ![...eddsa, ...renewing].includes(text));

/** Runs the lines in a shell; a mark stands between the outputs of two blocks. */
function run(
  shell: string,
  texts: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  // The orders of two shells differ in their orderId alone.
  const script = texts
    .join("\nprintf '\\n%%%%\\n'\n")
    .replaceAll(/"((?:in|out|run)-[\d-]+)"/g, `"$1-${shell}"`);
  return new Promise((resolve, reject) => {
    const given = {
      PATH: process.env.PATH ?? "",
      BASE_URL: gateway.url,
      SHOP_KEY: gateway.merchant.shopKey,
      ...env,
    };
    const child = spawn(shell, ["-eu", "-c", script], {
      cwd: folder,
      env: given,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let problems = "";
    child.stdout.on("data", (part) => (out += part));
    child.stderr.on("data", (part) => (problems += part));
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0 && problems === "") resolve(out.split("\n%%\n").map((text) => text.trim()));
      else reject(new Error(`${shell} ended with ${code}: ${problems}`));
    });
  });
}

describe.each(["bash", "dash"])("the shell lines of docs/api.md in %s", (shell) => {
  it(`the lines in ${shell} order deposits and withdrawals, and read record and list`, async () => {
    const answers = await run(shell, usual, {});
    const read = (text: string) =>
      text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text;
    const [
      currencies,
      balance,
      deposit,
      inLira,
      invoice,
      out,
      many,
      fee,
      check,
      held,
      cancelled,
      record,
      list,
      events,
    ] = answers.map(read);
    expect(currencies.map(({ id }: { id: string }) => id)).toContain("usdt-erc20");
    expect(balance).toMatchObject({ currency: "eth" });
    expect(deposit).toMatchObject({ amount: "25", currency: "usdt-erc20", status: 0 });
    expect(inLira).toMatchObject({
      amount: "23.809524",
      quote: { fiatAmount: "1000", price: "42" },
    });
    expect(invoice).toMatchObject({ status: 0, stage: "choosing", fiatAmount: "1249.9" });
    expect(out).toMatchObject({ status: 0, stage: "queued" });
    expect(many.answers.map(({ httpStatus }: { httpStatus: number }) => httpStatus)).toEqual([
      200, 400,
    ]);
    expect(held).toMatchObject({ stage: "awaiting_approval" });
    expect(cancelled).toMatchObject({ cancelled: false, stage: "awaiting_approval" });
    expect(record).toMatchObject({ code: "transaction_not_found" });
    expect(list).toMatch(/^transactionId,.*\bmetadata\b/);
    expect(fee).toMatchObject({ feeAsset: "eth", samples: 0 });
    expect(check).toMatchObject({ valid: true });
    expect(events).toMatchObject({ events: [], next: "1767323920120" });
    expect(answers.length).toBe(14);
    // A strict key takes the functions' tokens as well.
    const strict = gateway.key({
      profile: "strict",
      scopes: ["read", "deposit", "withdraw:auto", "withdraw:manual"],
    });
    const [again] = (
      await run(shell, [`${usual[0]?.split("NOW=")[0]}\n${usual[1]}`], { SHOP_KEY: strict.apiKey })
    ).map(read);
    expect(again).toMatchObject({ currency: "eth" });
  });

  it(`the lines in ${shell} renew a request that has ended, and not one that is open`, async () => {
    expect(renewing).toHaveLength(1);
    const [head = "", functions = ""] = usual;
    const lines = [
      head.replace(/^curl [\s\S]*/m, ""),
      functions.replace("get balance/eth\n", ""),
      renewing[0] ?? "",
    ];
    const answer = async () => JSON.parse((await run(shell, lines, {})).at(-1) ?? "");
    expect(await answer()).toMatchObject({ code: "not_renewable", reason: "open" });
    const { database } = gateway.service.store;
    const orderId = `in-1042-${shell}`;
    const ended = database.get<{ id: string }>(
      "SELECT id FROM deposits WHERE orderId = ?",
      orderId,
    )?.id;
    database.run(
      "UPDATE deposits SET status = 2, stage = 'expired', code = 'deposit_expired' WHERE id = ?",
      ended ?? "",
    );
    expect(await answer()).toMatchObject({
      amount: "25",
      status: 0,
      stage: "waiting",
      renews: ended,
    });
  });

  it(`the lines in ${shell} make a pair of keys of the shop's own, and sign by it`, async () => {
    expect(eddsa).toHaveLength(1);
    const [head = "", functions = ""] = usual;
    const [publicKey = ""] = await run(shell, [`${eddsa[0]}`], {});
    expect(publicKey).toMatch(/^[0-9a-f]{64}$/);
    const { keyId } = gateway.key({ alg: "EdDSA", publicKey });
    // The same lines but for the one that makes another pair.
    const signing = `${eddsa[0]}`.replace(/^openssl (?:genpkey|pkey ).*\n/gm, "");
    const own = `${head.split("NOW=")[0]}\n${functions.replace("get balance/eth\n", "")}\n${signing}\nget balance/eth`;
    const [answer = ""] = await run(shell, [own], { SHOP_KEY: `${keyId}.none.none` });
    expect(JSON.parse(answer)).toMatchObject({ currency: "eth" });
    const [refused = ""] = await run(shell, [own.replace("ALG=EdDSA", "ALG=HS256")], {
      SHOP_KEY: `${keyId}.none.none`,
    });
    expect(JSON.parse(refused)).toMatchObject({ code: "token_invalid" });
  });
});
