/**
 * Everything secret that a request can carry, and that the gateway's log at its chattiest level
 * leaves out: the table of places is the test. Secrets in addresses
 * that the product asks itself have tests of their own, which stand in the second table.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { handmadeToken, startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { many } from "../support/shop.ts";

const lines: string[] = [];
let gateway: TestGateway;
let payPath = "";

beforeAll(async () => {
  gateway = await startTestGateway(
    many,
    pino({ level: "debug" }, { write: (line: string) => void lines.push(line) }),
  );
  await gateway.pair();
  const order = { currency: "eth", amount: "1", orderId: "order-1" };
  const { body } = await gateway.call("POST", "/api/v1/createTransactionRequest", order);
  payPath = new URL(body.paymentUrl).pathname;
});
afterAll(() => gateway.close());

/** The paths that the log has of a request, and whether it has the secret. */
async function logged(
  path: string,
  secret: string,
  sent: Parameters<TestGateway["send"]>[1] = {},
): Promise<readonly unknown[]> {
  lines.length = 0;
  await gateway.send(path, sent);
  await expect.poll(() => lines.some((line) => JSON.parse(line).event === "request")).toBe(true);
  const paths = lines
    .map((line) => JSON.parse(line))
    .flatMap((line) => (line.event === "request" ? [line.path] : []));
  return [...paths, lines.join("").includes(secret)];
}

describe("the log of a request", () => {
  const token = (): string => payPath.split("/")[2] ?? "";
  it.each<[string, () => string, string]>([
    ["a payment page", () => payPath, "/pay/…"],
    ["its state", () => `${payPath}/state`, "/pay/…/state"],
    ["a payment page with a query", () => `${payPath}?lang=tr`, "/pay/…"],
    [
      "a payment page under another spelling of its path",
      () => payPath.replace("pay", "p%61y"),
      "/pay/…",
    ],
    ["a page that is not there", () => `${payPath}/receipt`, "/pay/…/receipt"],
    ["a page in capitals", () => payPath.replace("pay", "PAY"), "/PAY/…"],
    ["a page with two slashes", () => payPath.replace("pay", "pay/"), "/pay//…"],
    ["a page below a proxy's folder", () => `/shop${payPath}`, "/shop/pay/…"],
    ["a token alone", () => `/${token()}`, "/…"],
    ["a token as a record", () => `/api/v1/transaction/${token()}`, "/api/v1/transaction/…"],
  ])("leaves out the token of %s", async (_what, path, shown) => {
    expect(token()).toHaveLength(22);
    expect(await logged(path(), token())).toEqual([shown, false]);
  });

  it("keeps every other path, so that an operator finds the request", async () => {
    const id = "0123456789abcdef0123456789abcdef";
    expect(await logged(`/api/v1/transaction/${id}?transactionType=1`, "transactionType")).toEqual([
      `/api/v1/transaction/${id}`,
      false,
    ]);
    expect(await logged("/pay/page.css", "nothing")).toEqual(["/pay/page.css", false]);
  });

  it("leaves out tokens, keys, proofs and bodies", async () => {
    const signatureToken = handmadeToken(gateway.merchant.shopKey, gateway.clock.nowMs);
    const secret = gateway.merchant.shopKey;
    const json = { "Content-Type": "application/json" };
    const cases: readonly (readonly [string, Parameters<TestGateway["send"]>[1]])[] = [
      [signatureToken, { headers: { ...json, signatureToken } }],
      [secret, { headers: { ...json, signatureToken: secret } }],
      [secret, { headers: { ...json, Authorization: `Bearer ${secret}` } }],
      [secret, { headers: { "operator-proof": secret } }],
      [
        secret,
        {
          method: "POST",
          headers: { ...json, signatureToken },
          body: JSON.stringify({ orderId: secret }),
        },
      ],
      [secret, { method: "POST", headers: json, body: `{"${secret}` }],
    ];
    for (const [hidden, sent] of cases)
      expect(await logged("/api/v1/balances", hidden, sent)).toEqual(["/api/v1/balances", false]);
    expect(
      await logged(`/agent/v1/pair?key=${secret}`, secret, {
        method: "POST",
        headers: json,
        body: secret,
      }),
    ).toEqual(["/agent/v1/pair", false]);
  });
});

/** Secrets in addresses that the product asks itself, with the test that looks for them. */
const asked: readonly (readonly [place: string, file: string, title: string])[] = [
  ["the key in a node's words", "test/chains/node-quota.test.ts", "without what may be a key"],
  [
    "the address of an alert's receiver",
    "test/protocol/alerts.test.ts",
    "no word shows the address",
  ],
  [
    "mnemonic, encKey and the keys made of them",
    "test/system/secrecy.test.ts",
    "places of the planted secrets",
  ],
];

it.each(asked)("%s stays out of every log by a test of its own", (_place, file, title) => {
  expect(readFileSync(join(projectRoot, file), "utf8").includes(title)).toBe(true);
});
