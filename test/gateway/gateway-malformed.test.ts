/**
 * Three hundred different malformed requests and more: each answer is a 4xx with the error body,
 * no table of the database has a row more, and no line of the log is an error. Beside each kind
 * stands a request of its own form that passes, so that no case is refused for another reason.
 */
import { connect } from "node:net";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listTables } from "../../lab/kit/database-tables.ts";
import {
  type GatewayAnswer,
  handmadeToken,
  receiver,
  startTestGateway,
  type TestGateway,
  usdtContract,
} from "../../lab/kit/gateway-server.ts";
import { many } from "../support/shop.ts";

const lines: { readonly level: string | number; readonly event: string }[] = [];
let gateway: TestGateway;
/** Each request by all its parts except the token, which is new in every request. */
const sent = new Set<string>();
let before: Readonly<Record<string, number>> = {};

beforeAll(async () => {
  const log = pino(
    { level: "info" },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  gateway = await startTestGateway(
    { ...many, limits: { ...many.limits, failedAuthPerTenMinutes: 1_000_000 } },
    log,
  );
  expect((await gateway.pair()).status).toBe(200);
  gateway.fund("eth", 10n ** 20n);
  gateway.fund("usdt", 10n ** 12n);
  before = rows();
});

/** The number of rows of each table, except the table of tokens: a token that was shown is used. */
function rows(): Readonly<Record<string, number>> {
  const { database } = gateway.service.store;
  const counted = listTables(database).filter((name) => name !== "jtis");
  return Object.fromEntries(
    counted.map((name) => [
      name,
      database.get<{ n: number }>(`SELECT count(*) AS n FROM ${name}`)?.n ?? -1,
    ]),
  );
}

afterAll(async () => {
  expect(sent.size).toBeGreaterThanOrEqual(400);
  expect([before.deposits, before.transfers]).toEqual([0, 0]);
  expect(rows()).toEqual(before);
  // pino: 40 is warn, 50 is error
  expect(lines.filter(({ level }) => Number(level) >= 50 || level === "error")).toEqual([]);
  await gateway.close();
});

const token = (change?: Parameters<typeof handmadeToken>[2]): string =>
  handmadeToken(gateway.merchant.shopKey, gateway.clock.nowMs, change);

async function refused(
  name: string,
  answering: Promise<GatewayAnswer>,
  want?: number,
): Promise<void> {
  const { status, body, headers } = await answering;
  expect(status, name).toBeGreaterThanOrEqual(400);
  expect(status, name).toBeLessThan(500);
  if (want !== undefined) expect(status, `${name}: ${JSON.stringify(body)}`).toBe(want);
  expect(headers["content-type"], name).toMatch(/^application\/json/);
  expect(Object.keys(body ?? {}), name).toEqual(
    expect.arrayContaining(["message", "code", "requestId"]),
  );
  for (const field of ["message", "code", "requestId"])
    expect(typeof body[field], `${name}: ${field}`).toBe("string");
}

/** `token`: what the request's own one is made with, or the text in its place. */
function ask(
  method: string,
  path: string,
  body?: string | Uint8Array,
  headers: Record<string, string> = {},
  kind: Parameters<typeof handmadeToken>[2] | string = {},
): Promise<GatewayAnswer> {
  const bytes = body === undefined ? "" : Buffer.from(body).toString("hex");
  sent.add(JSON.stringify([method, path, bytes, headers, kind]));
  const signatureToken = typeof kind === "string" ? kind : token(kind);
  return gateway.send(path, {
    method,
    headers: { signatureToken, "Content-Type": "application/json", ...headers },
    ...(body === undefined ? {} : { body }),
  });
}

const orders: Readonly<Record<string, object>> = {
  createTransactionRequest: { currency: "usdt", amount: "5", orderId: "malformed" },
  autoWithdraw: { currency: "eth", amount: "1", address: receiver, orderId: "malformed" },
  manualWithdraw: { currency: "eth", amount: "1", orderId: "malformed" },
};

const bodies: readonly (string | Uint8Array)[] = [
  ...[
    "",
    " ",
    "null",
    "true",
    "1",
    '"text"',
    "[]",
    "[{}]",
    "{",
    "{}}",
    "{'a':1}",
    "{a:1}",
    "// x",
    '{"currency"}',
    "undefined",
  ],
  ...[
    "\ufeff{}",
    '{"currency":"eth",}',
    '{"currency":"eth"} {}',
    '{"currency":"eth","currency":"eth"}',
    '{"__proto__":{}}',
  ],
  ...[
    '{"constructor":1}',
    '{"a":1e400}',
    '{"a":01}',
    '{"a":NaN}',
    '{"a":"\\ud800"}',
    '{"a":"\\x41"}',
    '{"a":"\n"}',
  ],
  "[".repeat(5_000),
  `${'{"a":'.repeat(400)}1${"}".repeat(400)}`,
  Uint8Array.of(0x7b, 0xff, 0x7d),
  Uint8Array.of(0x7b, 0x22, 0xc0, 0x80, 0x22, 0x7d),
  Uint8Array.of(0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00),
  "currency=eth&amount=1&orderId=malformed",
  "<order><currency>eth</currency></order>",
];

const amounts: readonly unknown[] = [
  ...[
    "0",
    "0.0",
    "-1",
    "+1",
    "1e3",
    "1E3",
    "NaN",
    "Infinity",
    "0x10",
    "1,5",
    "1.",
    ".5",
    "01",
    "1_000",
    " 1",
    "1 ",
    "１",
    "١",
    "²",
  ],
  ...[
    "1.0000000000000000001",
    "",
    "1.2.3",
    "1/2",
    "$1",
    "1\u0000",
    "9".repeat(80),
    1,
    1.5,
    0,
    null,
    true,
    [],
    {},
    ["1"],
  ],
];
const currencies: readonly unknown[] = [
  ...[
    "",
    "ETH",
    "Eth",
    "eth ",
    "usdt\n",
    "off",
    "none",
    "__proto__",
    "constructor",
    "toString",
    "eth\u0000",
    "ſ",
    "еth",
    1,
    null,
    [],
    {},
  ],
  "e".repeat(300),
];
const orderIds: readonly unknown[] = [
  "",
  " ",
  "a b",
  "ğ",
  "a\u0000",
  "a\n",
  "a".repeat(129),
  "\u200b",
  1,
  null,
  true,
  [],
  {},
];
const addresses: readonly unknown[] = [
  ...[
    "",
    "0x",
    `0x${"0".repeat(40)}`,
    receiver.slice(0, -1),
    `${receiver}0`,
    receiver.slice(2),
    usdtContract,
    "bc1qar0srrr7xfkvy5l6",
  ],
  ...[
    "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8",
    "vitalik.eth",
    receiver.replace("C5", "c5"),
    "ethereum:0x70",
    ` ${receiver}`,
    1,
    null,
    [],
    {},
  ],
];

describe("a malformed request", () => {
  it("with a body that is no order gets 400", async () => {
    for (const path of Object.keys(orders))
      for (const [at, body] of bodies.entries())
        await refused(`${path} body ${at}`, ask("POST", `/api/v1/${path}`, body), 400);
  });

  it("with a field that is missing, unknown or wrong gets 400", async () => {
    for (const [path, order] of Object.entries(orders)) {
      const post = (change: object): Promise<GatewayAnswer> =>
        ask("POST", `/api/v1/${path}`, JSON.stringify({ ...order, ...change }));
      for (const field of Object.keys(order))
        await refused(`${path} without ${field}`, post({ [field]: undefined }), 400);
      for (const field of ["Amount", "to", "memo", "approve"])
        await refused(`${path} with ${field}`, post({ [field]: "1" }), 400);
      for (const amount of amounts)
        await refused(`${path} amount ${String(amount)}`, post({ amount }), 400);
      for (const currency of currencies)
        await refused(`${path} currency ${String(currency)}`, post({ currency }), 400);
      for (const orderId of orderIds)
        await refused(`${path} orderId ${String(orderId)}`, post({ orderId }), 400);
    }
    for (const address of addresses) {
      const body = JSON.stringify({ ...orders.autoWithdraw, address });
      await refused(`address ${String(address)}`, ask("POST", "/api/v1/autoWithdraw", body), 400);
    }
    await refused(
      "a tag",
      ask("POST", "/api/v1/autoWithdraw", JSON.stringify({ ...orders.autoWithdraw, tag: "1" })),
      400,
    );
  });

  it("that asks for what is not there, or with what an operation does not know, gets 400, 404 or 405", async () => {
    for (const query of [
      "",
      "?transactionType=",
      "?transactionType=0",
      "?transactionType=01",
      "?transactionType=constructor",
      "?transactionType=__proto__",
      "?transactionType=١",
      "?x=1",
    ])
      await refused(query, ask("GET", `/api/v1/transaction/${"0".repeat(32)}${query}`), 400);
    for (const id of ["0", "'", "%00", "..", "%2e%2e", "x".repeat(600), "0".repeat(32)])
      await refused(id, ask("GET", `/api/v1/transaction/${id}?transactionType=1`), 404);
    for (const query of [
      "limit=0",
      "limit=501",
      "limit=x",
      "limit=",
      "cursor=x",
      "status=3",
      "currency=",
      "currency=none",
      "orderId=",
    ])
      await refused(query, ask("GET", `/api/v1/transactions?${query}`), 400);
    for (const query of [
      "from=2026-02-30",
      "from=yesterday",
      "to=1",
      "transactionType=3",
      "transactionType=toString",
      "page=2",
      "limit=1&limit=2",
      "merchant=m_1",
    ])
      await refused(query, ask("GET", `/api/v1/transactions?${query}`), 400);
    await refused("currencies?x", ask("GET", "/api/v1/supportedCurrency?x=1"), 400);
    await refused("balance?x", ask("GET", "/api/v1/balance/eth?x=1"), 400);
    for (const id of ["ETH", "none", "__proto__", "%20", "eth%00"])
      await refused(id, ask("GET", `/api/v1/balance/${id}`), 404);
    for (const path of [
      "/",
      "/api",
      "/api/v1",
      "/api/v2/transactions",
      "/API/v1/transactions",
      "/api/v1/transactions/",
      "/%2e%2e/x",
    ])
      await refused(path, ask("GET", path), 404);
    for (const method of ["PUT", "DELETE", "PATCH", "POST"])
      await refused(method, ask(method, "/api/v1/transactions"), 405);
    for (const method of ["GET", "PUT", "DELETE"])
      await refused(method, ask(method, "/api/v1/autoWithdraw"), 405);
  });

  it("with another content type, an unreadable encoding or too many bytes gets 400, 413, 415 or 431", async () => {
    const body = JSON.stringify(orders.autoWithdraw);
    for (const type of [
      "text/plain",
      "application/xml",
      "application/json; charset=utf-16",
      "application/jsonp",
      "",
      "multipart/form-data",
    ])
      await refused(type, ask("POST", "/api/v1/autoWithdraw", body, { "Content-Type": type }), 415);
    await refused(
      "large",
      ask("POST", "/api/v1/autoWithdraw", `${body}${" ".repeat(20_000)}`),
      413,
    );
    await refused(
      "headers",
      ask("GET", "/api/v1/transactions", undefined, { "X-Large": "x".repeat(20_000) }),
      431,
    );
  });

  it("with a token that is wrong in any way gets 401", async () => {
    const claims: readonly object[] = [
      ...[
        { exp: 1 },
        { exp: "9" },
        { iat: null },
        { jti: "" },
        { jti: "short" },
        { jti: 5 },
        { jti: "a".repeat(129) },
        { sub: "other" },
      ],
      ...[
        { bodyHash: "00" },
        { bodyHash: 1 },
        { aud: "https://elsewhere.example" },
        { nbf: 9_999_999_999 },
        { method: "PUT" },
        { path: "/" },
      ],
    ];
    for (const change of claims)
      await refused(
        JSON.stringify(change),
        ask("GET", "/api/v1/transactions", undefined, {}, { claims: change }),
        401,
      );
    for (const header of [
      { alg: "none" },
      { alg: "HS384" },
      { alg: "EdDSA" },
      { kid: "k_0" },
      { kid: null },
      { crit: ["b64"] },
      { jku: "x" },
    ])
      await refused(
        JSON.stringify(header),
        ask("GET", "/api/v1/transactions", undefined, {}, { header }),
        401,
      );
    for (const text of [
      "",
      "a",
      "a.b.c",
      "..",
      "Bearer",
      "Bearer ",
      "null",
      "{}",
      "x".repeat(4_097),
      gateway.merchant.shopKey,
    ])
      await refused(
        `token ${text.slice(0, 9)}`,
        ask("GET", "/api/v1/transactions", undefined, {}, text),
        401,
      );
  });

  it("that is no HTTP at all gets an answer with the error body too", async () => {
    const port = Number(new URL(gateway.url).port);
    const raw = (text: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(port, "127.0.0.1", () => socket.end(text));
        let got = "";
        socket.on("data", (part) => {
          got += part.toString("utf8");
        });
        socket.on("close", () => resolve(got));
        socket.on("error", reject);
      });
    for (const text of [
      "GET / HTTP/1.1\r\n\r\n",
      "NONSENSE\r\n\r\n",
      "GET /health HTTP/9.9\r\nHost: x\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
      "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n",
      "GET /elsewhere HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
      "POST /api/v1/autoWithdraw HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
      "POST /api/v1/autoWithdraw HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
      "POST /api/v1/autoWithdraw HTTP/1.1\r\nHost: x\r\nExpect: the-moon\r\nContent-Length: 2\r\n\r\n{}",
    ]) {
      sent.add(text);
      const answer = await raw(text);
      expect(answer, JSON.stringify(text)).toMatch(/^HTTP\/1\.1 4\d\d /);
      // some come in chunks
      const body = JSON.parse(/\{"message".*?\}/.exec(answer)?.[0] ?? "null") ?? answer;
      expect(Object.keys(body), JSON.stringify(text)).toEqual(
        expect.arrayContaining(["message", "code", "requestId"]),
      );
    }
  });

  it("differs from one that passes by the mistake alone", async () => {
    const passing = await startTestGateway(many);
    expect((await passing.pair()).status).toBe(200);
    passing.fund("eth", 10n ** 20n);
    passing.fund("usdt", 10n ** 12n);
    for (const [path, order] of Object.entries(orders))
      expect(
        (await passing.call("POST", `/api/v1/${path}`, { ...order, orderId: path })).status,
        path,
      ).toBe(200);
    for (const path of ["/transactions?limit=1", "/supportedCurrency", "/balance/eth"])
      expect((await passing.call("GET", `/api/v1${path}`)).status, path).toBe(200);
    await passing.close();
  });
});
