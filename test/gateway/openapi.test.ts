/**
 * The description at /openapi.json against its own gateway, in both directions: a third party's
 * validator takes it; every operation takes the requests of its schemas; every answer is
 * documented, and every documented code and field occurs.
 */
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dataAnswer } from "../../gateway/answer/answer.ts";
import { recordOf } from "../../gateway/answer/record.ts";
import { objectSchema, schemaReference, textSchema } from "../../gateway/answer/schema.ts";
import { createServer } from "../../gateway/api/server.ts";
import { addServiceRoutes } from "../../gateway/api/service-routes.ts";
import { makeEventsOfChanges } from "../../gateway/callbacks/outbox.ts";
import { invoiceBodyOf } from "../../gateway/invoices/view.ts";
import { createDocument } from "../../gateway/openapi/document.ts";
import {
  defineGet,
  limitParameter,
  type Operation,
  type Query,
  type SentCall,
} from "../../gateway/operations/operation.ts";
import { operations } from "../../gateway/operations/operations.ts";
import { listParameterNames } from "../../gateway/operations/transactions.ts";
import { createMerchant, revokeMerchantKey } from "../../gateway/operator/accounts.ts";
import { addCallback } from "../../gateway/operator/callbacks.ts";
import { changeMerchantPage } from "../../gateway/operator/merchant-page.ts";
import { moveCursor } from "../../gateway/store/cursors.ts";
import { keepMonthEnd } from "../../gateway/store/month-ends.ts";
import { keepFinalPayment } from "../../gateway/store/payments.ts";
import type { DepositRow, TransactionRow } from "../../gateway/store/rows.ts";
import { readDeposit } from "../../gateway/store/transactions.ts";
import { isOnPostgres, openOtherWriter } from "../../lab/kit/fresh-store.ts";
import {
  type GatewayAnswer,
  handmadeToken,
  receiver,
  startTestGateway,
  type TestGateway,
  testConfig,
  usdtContract,
  wallet,
} from "../../lab/kit/gateway-server.ts";
import { type DescribedPath, rawAnswer, readDescription } from "../support/described.ts";
import { until } from "../support/until.ts";

const unpaid = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const settings = {
  chains: {
    ...testConfig.chains,
    tagged: {
      family: "xrp",
      chainId: 1,
      nodes: ["http://127.0.0.1:9"],
      confirmations: "finalized",
    },
  },
  limits: {
    readsPerSecond: 100_000,
    writesPerSecond: 100_000,
    pairingsPerMinute: 10_000,
    failedAuthPerTenMinutes: 10_000,
    withdrawalWaitMs: 0,
  },
  currencies: {
    ...testConfig.currencies,
    extra: {
      chain: "local",
      decimal: 6,
      contract: unpaid,
      name: "Extra",
      symbol: "EXT",
      minPaymentAmount: "1",
    },
    tagged: {
      chain: "tagged",
      decimal: 6,
      name: "Tagged",
      symbol: "TAG",
      minPaymentAmount: "0.01",
    },
  },
};

let gateway: TestGateway;
let about: Awaited<ReturnType<typeof readDescription>>;
let places: Readonly<Record<string, DescribedPath>>;
let shop: readonly DescribedPath[];
let orders = 0;
const orderId = (): string => `order-${++orders}`;

/** A good order for each operation that takes orders, with every possible field. */
const good: Readonly<Record<string, () => Record<string, unknown>>> = {
  createTransactionRequest: () => ({
    ...{
      currency: "eth",
      amount: "0.5",
      orderId: orderId(),
      metadata: { a: "1" },
      expiresInMinutes: 30,
      tolerancePercent: "0.5",
    },
  }),
  autoWithdraw: () => ({
    currency: "eth",
    amount: "0.01",
    address: receiver,
    orderId: orderId(),
    tag: "",
    metadata: {},
  }),
  autoWithdraws: () => ({ orders: [good.autoWithdraw!()] }),
  manualWithdraw: () => ({
    currency: "eth",
    amount: "0.01",
    address: receiver,
    orderId: orderId(),
    tag: "",
    metadata: {},
  }),
  cancelWithdraw: () => ({ transactionId: known.withdrawal }),
  acceptDeposit: () => ({ transactionId: known.late, reason: "in time", short: false }),
  createInvoice: () => ({
    ...{ orderId: orderId(), fiatCurrency: "TRY", fiatAmount: "1000", currencies: ["eth", "usdt"] },
    ...{ quoteMinutes: 30, expiresInMinutes: 60, tolerancePercent: "1", metadata: { a: "1" } },
    returnUrl: "https://shop.example.com/thanks",
  }),
  chooseCurrency: () => ({ invoice: known.invoice, currency: "eth" }),
  cancelRequest: () => ({ invoice: known.cancelled }),
};
/** Orders about a record that is there already, and each with codes of its own below. */
const onRecords = ["cancelWithdraw", "acceptDeposit", "chooseCurrency", "cancelRequest"];
/** A good body for each operation on a callback target. */
const onTargets: Readonly<Record<string, () => Record<string, unknown>>> = {
  createCallback: () => ({
    url: `https://shop.example/${++orders}`,
    events: ["deposit.completed"],
  }),
  pauseCallback: () => ({ callbackId: known.target }),
  resumeCallback: () => ({ callbackId: known.target }),
  removeCallback: () => ({ callbackId: known.spare }),
  testCallback: () => ({ callbackId: known.target }),
  redeliverCallback: () => ({ callbackId: known.target, since: "2026-01-02" }),
};
const allScopes = [
  "read",
  "deposit",
  "deposit:accept",
  "withdraw:auto",
  "withdraw:manual",
  "withdraw:cancel",
  "callbacks",
] as const;
const fiat = { currency: "eth", fiatCurrency: "TRY", fiatAmount: "1000" };
/** Other good orders, of fields that exclude those of the first. */
const others: Readonly<Record<string, () => Record<string, unknown>>> = {
  createTransactionRequest: () => ({
    ...fiat,
    orderId: orderId(),
    returnUrl: "https://shop.example.com/thanks",
  }),
  cancelRequest: () => ({ transactionId: known.unwanted }),
};
const withdrawals = ["autoWithdraw", "manualWithdraw"];
/** The parameters that a query must have. */
const query: Readonly<Record<string, string>> = {
  transaction: "?transactionType=2",
  report: "?month=2026-01",
};
/** The network's first month, with a payment in it. */
function keepMonthOfReport({ store }: TestGateway["service"]): void {
  const network = "eip155:31337";
  const place = { network, month: "2025-12", block: 5 };
  const { address } = readDeposit(store.database, known.deposit) as DepositRow;
  store.write((database) => {
    moveCursor(database, { network, block: 100, hash: "0x64" });
    keepMonthEnd(database, place);
    keepFinalPayment(database, {
      ...{ network, txHash: "0x1", logIndex: -1, address, currency: "eth", units: "7" },
      ...{ block: 6, blockHash: "0x6", final: 1, transactionId: known.deposit },
    });
  });
}
let known: Readonly<
  Record<
    | ("deposit" | "late" | "unwanted" | "withdrawal" | "invoice" | "cancelled")
    | ("target" | "spare"),
    string
  >
>;
let shopKey = "";

/** The path of a good request, and its body. */
function request(place: DescribedPath): {
  readonly path: string;
  readonly body: string | undefined;
} {
  const { operationId } = place.operation;
  const path = place.path
    .replace("{transactionId}", known.withdrawal)
    .replace("{invoice}", known.invoice)
    .replace("{currencyId}", "eth")
    .replace("{address}", receiver);
  const order = (good[operationId] ?? onTargets[operationId])?.();
  return {
    path: `${path}${query[operationId] ?? ""}`,
    body: order === undefined ? undefined : JSON.stringify(order),
  };
}

interface Malformed {
  readonly to?: TestGateway;
  readonly key?: string;
  readonly path?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

async function ask(place: DescribedPath, malformed: Malformed = {}): Promise<GatewayAnswer> {
  const {
    to = gateway,
    headers = {},
    key = to === gateway ? shopKey : to.merchant.shopKey,
  } = malformed;
  const usual = request(place);
  const { path = usual.path } = malformed;
  const body =
    malformed.body === undefined
      ? usual.body
      : typeof malformed.body === "string"
        ? malformed.body
        : JSON.stringify(malformed.body);
  const token = handmadeToken(key, to.clock.nowMs);
  const answer = await to.send(path, {
    method: place.method,
    headers: { "Content-Type": "application/json", signatureToken: token, ...headers },
    ...(body === undefined ? {} : { body }),
  });
  about.judge(place, answer);
  return answer;
}

/** Asks, and gives the code that came in the place of an answer. */
const code = async (place: DescribedPath, malformed: Malformed = {}): Promise<string> =>
  (await ask(place, malformed)).body.code;

const at = (operationId: string): DescribedPath => places[operationId]!;

beforeAll(async () => {
  gateway = await startTestGateway(settings);
  expect((await gateway.pair()).status).toBe(200);
  gateway.fund("eth", 10n ** 19n);
  gateway.fund("usdt", 10n ** 9n);
  changeMerchantPage(gateway.operator, gateway.merchant.merchantId, {
    origins: ["https://shop.example.com"],
  });
  about = await readDescription(gateway);
  places = Object.fromEntries(about.paths.map((place) => [place.operation.operationId, place]));
  shop = about.paths.filter(({ operation }) => operation.security.length > 0);
  const made = await gateway.call(
    "POST",
    "/api/v1/createTransactionRequest",
    good.createTransactionRequest!(),
  );
  const paid = await gateway.call("POST", "/api/v1/autoWithdraw", good.autoWithdraw!());
  const target = (path: string): string => {
    const wanted = {
      merchant: gateway.merchant.merchantId,
      url: `https://shop.example/${path}`,
      events: [],
    };
    const added = addCallback(gateway.operator, wanted, gateway.service.config.callbacks);
    if (!added.ok) throw new Error(added.code);
    return added.callbackId;
  };
  shopKey = gateway.key({ scopes: allScopes }).apiKey;
  const late = await gateway.call(
    "POST",
    "/api/v1/createTransactionRequest",
    good.createTransactionRequest!(),
  );
  gateway.service.store.database.run(
    "UPDATE deposits SET status = 2, stage = 'expired', code = 'deposit_expired', receivedUnits = ?, late = 1 WHERE id = ?",
    ...[`${10n ** 18n}`, late.body.transactionId],
  );
  const invoices = [];
  for (let made = 0; made < 2; made += 1)
    invoices.push(
      (await gateway.call("POST", "/api/v1/createInvoice", good.createInvoice!())).body.invoice,
    );
  const unwanted = await gateway.call(
    "POST",
    "/api/v1/createTransactionRequest",
    good.createTransactionRequest!(),
  );
  const records = {
    unwanted: unwanted.body.transactionId,
    invoice: invoices[0],
    cancelled: invoices[1],
    deposit: made.body.transactionId,
    late: late.body.transactionId,
    withdrawal: paid.body.transactionId,
  };
  known = { ...records, target: target("target"), spare: target("spare") };
});
afterAll(() => gateway.close());

describe("/openapi.json", () => {
  it("is OpenAPI 3.1 to a third party's validator, which refuses it without its title", async () => {
    const { body } = await gateway.send("/openapi.json");
    const validator = new Validator();
    expect(await validator.validate(body)).toEqual({ valid: true });
    expect(validator.version).toBe("3.1");
    delete body.info.title;
    expect((await new Validator().validate(body)).valid).toBe(false);
  });

  it("has each operation of the routes with its method and scope, and no other under /api", () => {
    const served = operations.map(
      ({ method, path, scope }) => `${method} /api/v1${path.replace(/:(\w+)/g, "{$1}")} ${scope}`,
    );
    const shown = shop.map(
      ({ method, path, operation }) => `${method} ${path} ${operation.security[0]?.signatureToken}`,
    );
    expect(shown.sort()).toEqual(served.sort());
    const names = at("transactions").operation.parameters?.flatMap(({ name, in: where }) =>
      where === "query" ? [name] : [],
    );
    expect(names).toEqual(listParameterNames);
  });

  it("has all of a new operation from its one object, and never two schemas of one name", async () => {
    const made = (name: string) =>
      defineGet({
        id: "ping",
        scope: "read",
        name: { en: "Ping", tr: "Yoklama" },
        description: "Says that the service is there.",
        path: { word: textSchema("A word.") },
        query: { times: limitParameter("How often.") },
        result: {
          schema: schemaReference({ name, schema: objectSchema("What was asked.", {}) }),
          example: {},
        },
        codes: ["currency_not_found"],
        answer: (_service, { path, query }) => dataAnswer({ path, query }),
      });
    const documentOf = (more: readonly Operation[]) =>
      createDocument({ publicUrl: "http://x", version: "0", operations: [...operations, ...more] });
    const schemasOf = (document: object): readonly string[] =>
      Object.keys((document as { components: { schemas: object } }).components.schemas);
    const [known, ping] = [documentOf([]), documentOf([made("Pong")])];
    expect([...schemasOf(ping)].sort()).toEqual([...schemasOf(known), "Pong"].sort());
    const { paths } = ping as object as {
      paths: Record<string, { get: DescribedPath["operation"] }>;
    };
    const { parameters, responses } = paths["/api/v1/ping/{word}"]!.get;
    expect(parameters?.map(({ name }) => name)).toEqual(["word", "times", undefined]);
    expect(JSON.stringify(responses[400])).toContain('"query_invalid"');
    expect(JSON.stringify(responses[404])).toContain('"currency_not_found"');
    expect(() => documentOf([made("Transaction")])).toThrow("its own name");

    const ask = (query: Query) =>
      made("Pong").answer(gateway.service, { path: { word: "a" }, query } as object as SentCall);
    expect(await ask({ times: "2" })).toEqual(
      dataAnswer({ path: { word: "a" }, query: { times: "2" } }),
    );
    expect(await ask({ times: "2", more: "1" })).toMatchObject({
      code: "query_invalid",
      extra: { field: "more" },
    });
  });

  it("is taken at its word: what the schema of an order takes the gateway takes, and the rest neither", async () => {
    for (const [operationId, make] of Object.entries(good)) {
      const place = at(operationId);
      const order = make();
      const schema =
        about.schemas[
          `${place.operation.requestBody?.content["application/json"]?.schema.$ref}`
            .split("/")
            .pop() ?? ""
        ];
      const other = others[operationId]?.() ?? {};
      const forms = schema?.oneOf?.map(
        ({ $ref = "" }) => about.schemas[$ref.split("/").pop() ?? ""],
      ) ?? [schema];
      const fields = new Set(forms.flatMap((form) => Object.keys(form?.properties ?? {})));
      // These need an earlier record, and have tests of their own.
      for (const name of ["renew", "refundOf"]) fields.delete(name);
      expect(Object.keys({ ...order, ...other }).sort(), operationId).toEqual([...fields].sort());
      const malformed = [order, { ...make(), more: "1" }];
      for (const name of Object.keys(order)) {
        const { [name]: _, ...rest } = make();
        malformed.push(rest);
      }
      for (const name of Object.keys(other)) {
        const { [name]: one, ...rest } = others[operationId]!();
        malformed.push(rest, { ...make(), [name]: one });
      }
      if (others[operationId] !== undefined) malformed.push(others[operationId]());
      for (const body of malformed) {
        const { status } = await ask(place, { body });
        expect([JSON.stringify(body), status === 200]).toEqual([
          JSON.stringify(body),
          about.takes(place, body),
        ]);
      }
      const { example } = place.operation.requestBody?.content["application/json"] ?? {
        example: {},
      };
      const isMade = !onRecords.includes(operationId); // their examples' records are not here
      expect((await ask(place, { body: example })).status, operationId).toBe(isMade ? 200 : 404);
    }
  });

  it("has parameters that work by their examples", async () => {
    const place = at("transactions");
    const values: Record<string, string> = { transactionType: "2", status: "0", limit: "1" };
    for (const { name = "", in: where, schema } of place.operation.parameters ?? []) {
      if (where !== "query" || name === "cursor") continue;
      const value = values[name] ?? `${schema?.examples?.[0]}`;
      expect(
        (await ask(place, { path: `/api/v1/transactions?${name}=${value}` })).status,
        name,
      ).toBe(200);
    }
    const { headers } = await ask(place, { path: "/api/v1/transactions?limit=1" });
    const next = /<([^>]+cursor=[^>]+)>/.exec(`${headers.link}`)?.[1];
    expect((await ask(place, { path: next ?? "" })).status).toBe(200);
    const documented = Object.keys(place.operation.responses[200]?.headers ?? {}).map((name) =>
      name.toLowerCase(),
    );
    expect(documented.filter((name) => headers[name] === undefined)).toEqual([]);
  });
});

describe("each documented code comes, and no other: ", () => {
  it("each documented code comes, and no other: what any operation may answer", async () => {
    const strict = await startTestGateway({
      limits: { readsPerSecond: 1, writesPerSecond: 1, burst: 1 },
    });
    // A gateway of its own, because on a busy machine a good request would be too slow for it.
    const hasty = await startTestGateway();
    hasty.server.server.headersTimeout = 100;
    await Promise.all(
      shop.map(async (place) => {
        const { path, body = "" } = request(place);
        const top = `${place.method} ${path} HTTP/1.1\r\n`;
        const raw = async (head: string, to: TestGateway = gateway): Promise<string> => {
          const answer = await rawAnswer(to, head);
          about.judge(place, answer);
          return answer.body.code;
        };
        const scope = place.operation.security[0]?.signatureToken?.[0];
        const other = gateway.key({ scopes: [scope === "read" ? "deposit" : "read"] });
        const gone = gateway.key({ scopes: allScopes });
        revokeMerchantKey(gateway.operator, gone.keyId);
        const all = ["read", "deposit", "withdraw:auto", "withdraw:manual"] as const;
        const ended = gateway.key({ scopes: all });
        const elsewhere = gateway.key({ scopes: all });
        const off = createMerchant(gateway.operator, { name: "Switched off", language: "en" });
        const { database } = gateway.service.store;
        database.run("UPDATE keys SET expiresAt = 1 WHERE id = ?", ended.keyId);
        database.run(
          "UPDATE keys SET allowedAddresses = '203.0.113.0/24' WHERE id = ?",
          elsewhere.keyId,
        );
        database.run("UPDATE merchants SET disabledAt = 1 WHERE id = ?", off.merchantId);
        const busy = strict.key({ scopes: allScopes }).apiKey;
        await strict.send(path, {
          method: place.method,
          headers: {
            "Content-Type": "application/json",
            signatureToken: handmadeToken(busy, strict.clock.nowMs),
          },
          body,
        });
        const far = await gateway.server.inject({
          method: place.method,
          url: path,
          remoteAddress: "203.0.113.9",
          headers: { "content-type": "application/json" },
        });
        about.judge(place, {
          status: far.statusCode,
          headers: far.headers as GatewayAnswer["headers"],
          text: far.body,
          body: far.json(),
        });
        expect(far.json().code).toBe("plaintext_refused");
        expect(await code(place, { headers: { signatureToken: "no" } })).toBe("token_invalid");
        expect(await code(place, { key: other.apiKey })).toBe("scope_missing");
        expect(await code(place, { key: gone.apiKey })).toBe("key_revoked");
        expect(await code(place, { key: ended.apiKey })).toBe("key_expired");
        expect(await code(place, { key: elsewhere.apiKey })).toBe("address_not_allowed");
        expect(await code(place, { key: off.shopKey })).toBe("merchant_disabled");
        expect(await code(place, { headers: { "Content-Type": "text/plain" } })).toBe(
          "content_type",
        );
        expect(await code(place, { headers: { "Content-Encoding": "gzip" } })).toBe(
          "content_encoding",
        );
        expect(await code(place, { to: strict, key: busy })).toBe("rate_limited");
        expect(await raw(`${top}Connection: close\r\n\r\n`)).toBe("request_invalid");
        expect(await raw(`${top}Host: x\r\nExpect: tea\r\nConnection: close\r\n\r\n`)).toBe(
          "expectation_failed",
        );
        expect(await raw(`${top}Host: x\r\nA: ${"a".repeat(20_000)}\r\n\r\n`)).toBe(
          "headers_too_large",
        );
        expect(await raw(`${top}Host: x\r\n`, hasty)).toBe("request_timeout");
      }),
    );
    await Promise.all([strict.close(), hasty.close()]);
  });

  it("each documented code comes, and no other: what is wrong with an order", async () => {
    const outsider = createMerchant(gateway.operator, {
      name: "Not paired",
      language: "en",
    }).shopKey;
    for (const [operationId, make] of Object.entries(good)) {
      if (["autoWithdraws", "createInvoice", ...onRecords].includes(operationId)) continue; // below
      const place = at(operationId);
      const expected: Record<string, Malformed> = {
        json_invalid: { body: "{" },
        field_missing: { body: {} },
        field_unknown: { body: { ...make(), more: "1" } },
        currency_unknown: { body: { ...make(), currency: "nope" } },
        currency_disabled: { body: { ...make(), currency: "off" } },
        currency_not_payable: { body: { ...make(), currency: "extra", amount: "2" } },
        amount_format: { body: { ...make(), amount: "-1" } },
        amount_precision: { body: { ...make(), currency: "usdt", amount: "10.1234567" } },
        amount_below_minimum: { body: { ...make(), amount: "0.0000001" } },
        metadata_invalid: { body: { ...make(), metadata: { a: 1 } } },
        order_id_invalid: { body: { ...make(), orderId: "a b" } },
        body_too_large: { body: `${JSON.stringify(make())}${" ".repeat(300_000)}` },
      };
      for (const [name, malformed] of Object.entries(expected))
        expect(await code(place, malformed), operationId).toBe(name);
      const first = make();
      expect((await ask(place, { body: first })).status).toBe(200);
      expect(await code(place, { body: { ...first, amount: "0.02" } })).toBe("order_id_reused");
      if (operationId === "createTransactionRequest") {
        await wrongSums(place, others[operationId]!);
        expect(await code(place, { body: { ...make(), expiresInMinutes: 4 } })).toBe(
          "lifetime_invalid",
        );
        expect(await code(place, { body: { ...make(), tolerancePercent: "10.01" } })).toBe(
          "tolerance_invalid",
        );
      } else await wrongRefunds(place, make);
      const notPaired = withdrawals.includes(operationId)
        ? "agent_not_paired"
        : "deposits_not_ready";
      expect(await code(place, { key: outsider })).toBe(notPaired);
    }
  });

  it("each documented code comes, and no other: a withdrawal that is cancelled", async () => {
    const place = at("cancelWithdraw");
    const order = { transactionId: known.withdrawal };
    expect(await code(place, { body: "{" })).toBe("json_invalid");
    expect(await code(place, { body: {} })).toBe("field_missing");
    expect(await code(place, { body: { ...order, more: "1" } })).toBe("field_unknown");
    expect(await code(place, { body: `${JSON.stringify(order)}${" ".repeat(300_000)}` })).toBe(
      "body_too_large",
    );
    for (const transactionId of ["0".repeat(32), "x", 1])
      expect(await code(place, { body: { transactionId } })).toBe("transaction_not_found");
    expect(await code(place, { body: { transactionId: known.deposit } })).toBe("not_cancellable");
    expect((await ask(place, { body: order })).body).toMatchObject({ cancelled: false, status: 0 });
  });

  it("each documented code comes, and no other: a deposit that is accepted", async () => {
    const place = at("acceptDeposit");
    const order = good.acceptDeposit!();
    expect(await code(place, { body: "{" })).toBe("json_invalid");
    expect(await code(place, { body: {} })).toBe("field_missing");
    expect(await code(place, { body: { ...order, more: "1" } })).toBe("field_unknown");
    expect(await code(place, { body: `${JSON.stringify(order)}${" ".repeat(300_000)}` })).toBe(
      "body_too_large",
    );
    expect(await code(place, { body: { ...order, reason: "" } })).toBe("accept_invalid");
    for (const transactionId of ["0".repeat(32), "x", 1])
      expect(await code(place, { body: { ...order, transactionId } })).toBe(
        "transaction_not_found",
      );
    expect(await code(place, { body: { ...order, transactionId: known.deposit } })).toBe(
      "not_acceptable",
    );
    expect((await ask(place, { body: order })).body).toMatchObject({ accepted: true, status: 1 });
  });

  it("each documented code comes, and no other: an invoice, its choice and its cancel", async () => {
    const make = good.createInvoice!;
    const outsider = createMerchant(gateway.operator, {
      name: "No wallet",
      language: "en",
    }).shopKey;
    const expected: Record<string, Malformed> = {
      json_invalid: { body: "{" },
      field_missing: { body: {} },
      field_unknown: { body: { ...make(), more: "1" } },
      fiat_currency_unknown: { body: { ...make(), fiatCurrency: "GBP" } },
      amount_format: { body: { ...make(), fiatAmount: "-1" } },
      amount_precision: { body: { ...make(), fiatAmount: "1.001" } },
      currencies_invalid: { body: { ...make(), currencies: [] } },
      quote_minutes_invalid: { body: { ...make(), quoteMinutes: 9 } },
      lifetime_invalid: { body: { ...make(), expiresInMinutes: 4 } },
      tolerance_invalid: { body: { ...make(), tolerancePercent: "10.01" } },
      metadata_invalid: { body: { ...make(), metadata: { a: 1 } } },
      order_id_invalid: { body: { ...make(), orderId: "a b" } },
      renew_invalid: { body: { ...make(), renew: "0".repeat(32) } },
      return_url_invalid: { body: { ...make(), returnUrl: "https://elsewhere.example/" } },
      body_too_large: { body: `${JSON.stringify(make())}${" ".repeat(300_000)}` },
    };
    const place = at("createInvoice");
    for (const [name, malformed] of Object.entries(expected))
      expect(await code(place, malformed)).toBe(name);
    const { returnUrl: _, currencies: __, ...bare } = make();
    expect(await code(place, { body: bare, key: outsider })).toBe("deposits_not_ready");
    const order = make();
    const { invoice } = (await ask(place, { body: order })).body;
    expect(await code(place, { body: { ...order, fiatAmount: "2" } })).toBe("order_id_reused");
    expect(await code(place, { body: { ...order, renew: invoice } })).toBe("not_renewable");
    expect(await code(at("invoice"), { path: `/api/v1/invoice/${"0".repeat(32)}` })).toBe(
      "invoice_not_found",
    );
    await wrongChoices();
    await wrongCancels(invoice);
  });

  async function wrongChoices(): Promise<void> {
    const place = at("chooseCurrency");
    const order = good.chooseCurrency!();
    const small = { ...good.createInvoice!(), fiatAmount: "0.01" };
    const tiny = (await ask(at("createInvoice"), { body: small })).body.invoice;
    const every = { ...good.createInvoice!(), currencies: undefined };
    const whole = (await ask(at("createInvoice"), { body: every })).body.invoice;
    const { database } = gateway.service.store;
    const offered = JSON.stringify(["eth", "usdt", "off", "extra", "tagged"]);
    database.run("UPDATE invoices SET currencies = ? WHERE id = ?", offered, whole);
    const expected: Record<string, Malformed> = {
      json_invalid: { body: "{" },
      field_missing: { body: {} },
      field_unknown: { body: { ...order, more: "1" } },
      invoice_not_found: { body: { ...order, invoice: "0".repeat(32) } },
      currency_unknown: { body: { ...order, currency: "nope" } },
      currency_disabled: { body: { invoice: whole, currency: "off" } },
      currency_unpriced: { body: { invoice: whole, currency: "extra" } },
      amount_below_minimum: { body: { invoice: tiny, currency: "usdt" } },
      invoice_ended: { body: { invoice: known.cancelled, currency: "eth" } },
      body_too_large: { body: `${JSON.stringify(order)}${" ".repeat(300_000)}` },
    };
    expect((await ask(at("cancelRequest"))).status).toBe(200);
    for (const [name, malformed] of Object.entries(expected))
      expect(await code(place, malformed)).toBe(name);
    const { prices } = gateway.service.config;
    const { changedAtMs, manual } = prices;
    Object.assign(prices, { changedAtMs: 0 });
    expect(await code(place, { body: { invoice: whole, currency: "eth" } })).toBe("price_stale");
    Object.assign(prices, { changedAtMs, manual: { ...manual, extra: manual.usdt } });
    expect(await code(place, { body: { invoice: whole, currency: "extra" } })).toBe(
      "currency_not_payable",
    );
    Object.assign(prices, { manual });
    database.run("UPDATE agents SET unpairedAt = 1");
    expect(await code(place, { body: { invoice: whole, currency: "eth" } })).toBe(
      "deposits_not_ready",
    );
    database.run("UPDATE agents SET unpairedAt = NULL");
  }

  async function wrongCancels(invoice: string): Promise<void> {
    const place = at("cancelRequest");
    const order = { invoice };
    const expected: Record<string, Malformed> = {
      json_invalid: { body: "{" },
      field_missing: { body: {} },
      field_unknown: { body: { ...order, more: "1" } },
      invoice_not_found: { body: { invoice: "0".repeat(32) } },
      transaction_not_found: { body: { transactionId: "0".repeat(32) } },
      not_cancellable: { body: { transactionId: known.late } },
      body_too_large: { body: `${JSON.stringify(order)}${" ".repeat(300_000)}` },
    };
    for (const [name, malformed] of Object.entries(expected))
      expect(await code(place, malformed)).toBe(name);
    const { transactionId } = (
      await ask(at("createTransactionRequest"), { body: good.createTransactionRequest!() })
    ).body;
    for (const body of [order, { transactionId }])
      expect((await ask(place, { body })).body).toEqual({ ...body, cancelled: true });
  }

  it("each documented code comes, and no other: a request that is renewed", async () => {
    for (const operationId of ["createTransactionRequest", ...withdrawals]) {
      const place = at(operationId);
      const order = good[operationId]!();
      expect(await code(place, { body: { ...order, renew: "0".repeat(32) } }), operationId).toBe(
        "renew_invalid",
      );
      const { transactionId } = (await ask(place, { body: order })).body;
      const again = { ...order, renew: transactionId };
      expect(about.takes(place, again), operationId).toBe(true);
      expect(await code(place, { body: again }), operationId).toBe("not_renewable");
      const table = withdrawals.includes(operationId) ? "transfers" : "deposits";
      const end = `UPDATE ${table} SET status = 2, stage = 'expired', code = 'JOB_EXPIRED' WHERE id = ?`;
      gateway.service.store.database.run(end, transactionId);
      expect((await ask(place, { body: again })).body, operationId).toMatchObject({
        renews: transactionId,
        status: 0,
      });
      gateway.service.store.database.run(
        end,
        (await ask(place, { body: again })).body.transactionId,
      );
      const own = withdrawals.includes(operationId) ? 422 : 200;
      expect(await ask(place, { body: again }), operationId).toMatchObject({
        status: own,
        body: { renews: transactionId },
      });
      const { body } = await ask(place, { body: order });
      expect([body.transactionId, typeof body.renewedBy], operationId).toEqual([
        transactionId,
        "string",
      ]);
    }
  });

  async function wrongRefunds(
    place: DescribedPath,
    make: () => Record<string, unknown>,
  ): Promise<void> {
    const refund = { ...make(), refundOf: known.deposit };
    expect(about.takes(place, refund)).toBe(true);
    expect(await code(place, { body: { ...refund, refundOf: known.withdrawal } })).toBe(
      "refund_invalid",
    );
    expect(await code(place, { body: refund })).toBe("refund_above_received");
    const { database } = gateway.service.store;
    database.run(
      "UPDATE deposits SET receivedUnits = ? WHERE id = ?",
      `${10n ** 18n}`,
      known.deposit,
    );
    expect(await ask(place, { body: refund })).toMatchObject({ status: 200 });
    database.run("UPDATE deposits SET receivedUnits = '0' WHERE id = ?", known.deposit);
  }

  async function wrongSums(
    place: DescribedPath,
    make: () => Record<string, unknown>,
  ): Promise<void> {
    expect(await code(place, { body: { ...make(), amount: "1" } })).toBe("amount_twice");
    expect(await code(place, { body: { ...make(), fiatCurrency: "GBP" } })).toBe(
      "fiat_currency_unknown",
    );
    expect(await code(place, { body: { ...make(), currency: "extra" } })).toBe("currency_unpriced");
    expect(
      await code(place, { body: { ...make(), returnUrl: "https://elsewhere.example/" } }),
    ).toBe("return_url_invalid");
    const { prices } = gateway.service.config;
    const { changedAtMs } = prices;
    Object.assign(prices, { changedAtMs: 0 });
    expect(await code(place, { body: make() })).toBe("price_stale");
    Object.assign(prices, { changedAtMs });
  }

  it("each documented code comes, and no other: what is wrong with a withdrawal, and one that has failed", async () => {
    for (const operationId of withdrawals) {
      const place = at(operationId);
      const make = good[operationId]!;
      const expected: Record<string, object> = {
        address_invalid: { address: "0x1" },
        address_own: { address: wallet.hotWalletAddress },
        address_contract: { address: usdtContract },
        tag_not_supported: { tag: "7" },
        tag_invalid: { currency: "tagged", tag: "07" },
        balance_insufficient: { amount: "1000" },
      };
      for (const [name, change] of Object.entries(expected)) {
        expect(await code(place, { body: { ...make(), ...change } }), operationId).toBe(name);
      }
      const order = make();
      const setLedger = (atMs: number) =>
        gateway.service.store.database.run("UPDATE agents SET ledgerAt = ?", atMs);
      setLedger(gateway.clock.nowMs + 1_000 * 3_600_000);
      expect(await code(place, { body: order }), operationId).toBe("agent_clock_ahead");
      setLedger(0);
      const { body } = await ask(place, { body: order });
      const sql =
        "UPDATE transfers SET status = 2, stage = 'refused', code = 'POLICY_DENIED' WHERE id = ?";
      gateway.service.store.database.run(sql, body.transactionId);
      expect(await code(place, { body: order })).toBe("withdrawal_failed");
    }
  });

  it("each documented code comes, and no other: what is wrong with many orders, together and each", async () => {
    const place = at("autoWithdraws");
    const one = good.autoWithdraw!;
    const expected: Record<string, unknown> = {
      json_invalid: "{",
      field_missing: {},
      field_unknown: { orders: [one()], more: 1 },
      orders_count: { orders: Array.from({ length: 101 }, one) },
      body_too_large: `${JSON.stringify({ orders: [one()] })}${" ".repeat(300_000)}`,
    };
    for (const [name, body] of Object.entries(expected))
      expect(await code(place, { body })).toBe(name);
    expect(await code(place, { body: { orders: [] } })).toBe("orders_count");
    const { body } = await ask(place, {
      body: { orders: [one(), "x", { ...one(), amount: "1000" }, {}] },
    });
    expect(body.answers.map(({ httpStatus }: { httpStatus: number }) => httpStatus)).toEqual([
      200, 400, 400, 400,
    ]);
  });

  it("each documented code comes, and no other: what is wrong with a callback target", async () => {
    for (const [operationId, make] of Object.entries(onTargets)) {
      const place = at(operationId);
      const { callbackId: _, url: __, ...rest } = make();
      const expected: Record<string, Malformed> = {
        json_invalid: { body: "{" },
        field_missing: { body: rest },
        field_unknown: { body: { ...make(), more: "1" } },
        body_too_large: { body: `${JSON.stringify(make())}${" ".repeat(300_000)}` },
      };
      for (const [name, malformed] of Object.entries(expected))
        expect(await code(place, malformed), operationId).toBe(name);
      expect(about.takes(place, make()), operationId).toBe(true);
      expect(about.takes(place, rest), operationId).toBe(false);
      if (operationId === "createCallback") continue;
      expect(await code(place, { body: { callbackId: "cb_0" } }), operationId).toBe(
        "callback_not_found",
      );
    }
    const place = at("createCallback");
    const [one, two] = [onTargets.createCallback!(), onTargets.createCallback!()];
    expect(await code(place, { body: { ...one, url: "http://shop.example/" } })).toBe(
      "callback_url_invalid",
    );
    expect(await code(place, { body: { ...one, events: ["a"] } })).toBe("callback_events_invalid");
    expect((await ask(place, { body: one })).status).toBe(200);
    expect(await code(place, { body: one })).toBe("callback_exists");
    expect((await ask(at("callbacks"))).body.callbacks).toHaveLength(3);
    const most = gateway.service.store.database;
    most.run(
      `INSERT INTO callbackTargets (id, merchant, url, events, secretBox, createdAt)
       WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 13) SELECT 'x' || i, ?, 'x' || i, '', x'00', 0 FROM n`,
      gateway.merchant.merchantId,
    );
    expect(await code(place, { body: two })).toBe("callbacks_full");
    most.run("DELETE FROM callbackTargets WHERE id LIKE 'x%'");
    expect((await ask(place, { body: two })).status).toBe(200);
    expect(
      await code(at("redeliverCallback"), { body: { callbackId: known.target, since: "soon" } }),
    ).toBe("since_invalid");
    most.run("UPDATE callbackTargets SET offAt = 1, offReason = 'gone' WHERE id = ?", known.target);
    for (const operationId of ["testCallback", "redeliverCallback"]) {
      expect(await code(at(operationId))).toBe("callback_off");
    }
    expect((await ask(at("resumeCallback"))).body.state).toBe("active");
    for (const operationId of ["testCallback", "redeliverCallback"])
      expect((await ask(at(operationId))).status).toBe(200);
  });

  it("each documented code comes, and no other: what is wrong with a question", async () => {
    const record = (id: string, type: string) => ({
      path: `/api/v1/transaction/${id}?transactionType=${type}`,
    });
    expect(await code(at("transaction"), record(known.deposit, "3"))).toBe(
      "transaction_type_invalid",
    );
    expect(await code(at("transaction"), record(known.deposit, "2"))).toBe("transaction_not_found");
    expect((await ask(at("transaction"), record(known.deposit, "1"))).status).toBe(200);
    const outsider = createMerchant(gateway.operator, {
      name: "Without an agent",
      language: "en",
    }).shopKey;
    for (const [operationId, more] of Object.entries({
      balance: "",
      estimate: "",
      address: `/${receiver}`,
    }))
      expect(await code(at(operationId), { path: `/api/v1/${operationId}/doge${more}` })).toBe(
        "currency_not_found",
      );
    expect(await code(at("estimate"), { key: outsider })).toBe("agent_not_paired");
    expect(await code(at("estimate"), { path: "/api/v1/estimate/extra" })).toBe(
      "currency_not_payable",
    );
    const questions = {
      ...{ transaction: "&a=1", transactions: "?a=1", supportedCurrency: "?a=1", balance: "?a=1" },
      ...{
        balances: "?a=1",
        report: "&a=1",
        invoice: "?a=1",
        invoices: "?a=1",
        estimate: "?a=1",
        address: "?a=1",
        events: "?after=01",
        callbacks: "?a=1",
      },
    };
    for (const [operationId, more] of Object.entries(questions)) {
      expect(await code(at(operationId), { path: `${request(at(operationId)).path}${more}` })).toBe(
        "query_invalid",
      );
    }
  });

  it("each documented code comes, and no other: a good answer of each, every field of it", async () => {
    const { service } = gateway;
    Object.assign(service, { confirmations: () => 3 });
    keepMonthOfReport(service);
    for (const place of shop) expect((await ask(place)).status, place.path).toBe(200);
    expect(
      (await ask(at("createTransactionRequest"), { body: others.createTransactionRequest!() }))
        .status,
    ).toBe(200);
    const value = JSON.stringify({
      usd: "1",
      eur: "1",
      try: "40",
      pricedAt: "2026-01-02T03:04:05.678Z",
    });
    for (const table of ["deposits", "withdrawals"])
      service.store.database.run(`UPDATE ${table} SET value = ?`, value);
    service.store.database.run(
      "UPDATE transfers SET code = 'chain_moved' WHERE id = ?",
      known.withdrawal,
    );
    expect((await ask(at("transactions"))).status).toBe(200);
    const paid =
      "UPDATE deposits SET status = 1, stage = 'completed', acceptedAt = 1 WHERE invoice = ?";
    service.store.database.run(paid, known.invoice);
    service.store.database.run("UPDATE invoices SET renews = ?", known.cancelled);
    expect((await ask(at("invoice"))).body).toMatchObject({ status: 1, paidWith: "eth" });
    // The first question for events came above; what is ordered from then on has events.
    expect((await ask(at("manualWithdraw"))).status).toBe(200);
    const { config, store, random } = service;
    const recordOfRow = (row: TransactionRow): object => recordOf(row, service);
    store.write((database) =>
      makeEventsOfChanges(database, {
        config,
        random,
        clock: () => gateway.clock.nowMs,
        recordOf: recordOfRow,
        invoiceOf: (row) => invoiceBodyOf(service, row),
      }),
    );
    const { body } = await ask(at("events"), { path: "/api/v1/events?after=0&limit=500" });
    expect(body.events.length).toBeGreaterThan(0);
  });

  it("each documented code comes, and no other: /health and /ready, whether the gateway is ready or not", async () => {
    const station = about.paths.filter(({ operation }) => operation.security.length === 0);
    expect(station.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /health",
      "GET /ready",
    ]);
    for (const isRead of [true, false]) {
      const server = createServer(gateway.service);
      addServiceRoutes(server, gateway.service, [
        () => ({ name: "chain local", ok: isRead, detail: isRead ? "" : "not read: starting" }),
        () => ({ name: "currency usdt", ok: false, detail: "out of service: …", aloneOut: true }),
      ]);
      for (const place of station) {
        const { statusCode: status, headers, body: text, json } = await server.inject(place.path);
        expect(status).toBe(place.path === "/ready" && !isRead ? 503 : 200);
        about.judge(place, {
          status,
          headers: headers as GatewayAnswer["headers"],
          text,
          body: json(),
        });
      }
      await server.close();
    }
    for (const { operation } of station)
      expect(
        [...(about.codes.get(operation.operationId) ?? [])].sort(),
        operation.operationId,
      ).toEqual(Object.keys(operation.responses));
    const malformed = {
      status: 503,
      headers: { "content-type": "application/json" },
      text: "",
      body: { status: "ready" },
    };
    expect(() => about.judge(at("ready"), malformed)).toThrow();
  });

  it("each documented code comes, and no other: a clock that every chain contradicts", async () => {
    const { clock } = gateway;
    clock.judged = { kind: "behind", ownMs: clock.nowMs, chainMs: clock.nowMs + 3_600_000 };
    for (const place of shop) {
      const token = handmadeToken(shopKey, clock.nowMs + 3_600_000);
      expect(await code(place, { headers: { signatureToken: token } }), place.path).toBe(
        "clock_wrong",
      );
    }
    delete clock.judged;
  });

  it("each documented code comes, and no other: a database that another process holds, and one that is broken", async () => {
    if (!isOnPostgres) gateway.service.store.database.get("PRAGMA busy_timeout = 0");
    const other = openOtherWriter(gateway.service.config.database);
    other.begin();
    for (const place of shop) expect(await code(place), place.path).toBe("unavailable");
    other.end();
    // A file that was held is looked at again a quarter of a second later.
    await until(() => gateway.service.store.trouble === "");
    gateway.service.store.write((database) => database.run("DROP TABLE jtis"));
    for (const place of shop) expect(await code(place), place.path).toBe("internal");
  });

  it("each documented code comes, and no other: nothing documented is left that never came", () => {
    for (const { operation } of shop) {
      expect(
        [...(about.codes.get(operation.operationId) ?? [])].sort(),
        operation.operationId,
      ).toEqual([...about.codesOf(operation)].sort());
    }
    for (const [name, { properties = {} }] of Object.entries(about.schemas)) {
      // Sent, not answered: orders are held above, callbacks in test/callbacks/webhooks.test.ts.
      if (/Order$|Callback$|^UnattributedRecord$/.test(name)) continue;
      expect([...(about.fields.get(name) ?? [])].sort(), name).toEqual(
        Object.keys(properties).sort(),
      );
    }
  });
});
