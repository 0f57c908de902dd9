/**
 * Keys of the profile `interface` over real HTTP: a client that was written from the interface
 * alone, and refuses every field that the interface does not name, makes each of its calls. The
 * same client fails with a key of another profile.
 */
import { describe, expect, it } from "vitest";
import { jsonAnswer } from "../../gateway/answer/answer.ts";
import { narrowAnswer } from "../../gateway/answer/interface-fields.ts";
import { handmadeToken, receiver } from "../../lab/kit/gateway-server.ts";
import { answering, db, eachTestItsGateway, gateway, ready } from "../support/shop.ts";

eachTestItsGateway();

/** The interface's tables, typed off: field, and whether it may be absent. */
const tables: Readonly<Record<string, Readonly<Record<string, "string" | "number">>>> = {
  deposit: { address: "string", amount: "string", tag: "string", transactionId: "string" },
  withdrawal: { message: "string", transactionId: "string" },
  transaction: {
    ...{
      transactionId: "string",
      receiverAddress: "string",
      depositAddress: "string",
      orderId: "string",
      tag: "string",
    },
    ...{
      currency: "string",
      amount: "string",
      callbackStatus: "number",
      createdAt: "string",
      status: "number",
    },
  },
  currency: {
    ...{ id: "string", name: "string", symbol: "string", decimal: "number" },
    ...{ usdPrice: "string", eurPrice: "string", tryPrice: "string", minPaymentAmount: "string" },
  },
  balance: { balance: "number" },
  error: { message: "string" },
  failed: { message: "string", transactionId: "string" },
};

/** A reader that takes exactly the fields of a table. */
function readStrictly(table: string, value: unknown): Record<string, never> {
  const fields = tables[table] ?? {};
  const found = value as Record<string, unknown>;
  const unknown = Object.keys(found).filter((name) => fields[name] === undefined);
  if (unknown.length > 0) throw new Error(`${table}: unknown fields ${unknown.join(", ")}`);
  for (const [name, type] of Object.entries(fields)) {
    const isMissing = found[name] === undefined;
    if (isMissing ? name !== "tag" : typeof found[name] !== type)
      throw new Error(`${table}: ${name} is not a ${type}`);
  }
  return found as Record<string, never>;
}

interface StrictClient {
  ask(
    method: "GET" | "POST",
    path: string,
    kind: string,
    body?: object,
  ): Promise<Record<string, never>>;
  askList(path: string, kind: string): Promise<readonly Record<string, never>[]>;
}

function clientWith(profile: "interface" | "compatible" | "strict"): StrictClient {
  const { apiKey } = gateway.key({
    profile,
    scopes: ["read", "deposit", "withdraw:auto", "withdraw:manual"],
  });
  const call = async (method: "GET" | "POST", path: string, body?: object) =>
    gateway.call(method, `/api/v1${path}`, body, {
      signatureToken: handmadeToken(apiKey, gateway.clock.nowMs),
    });
  return {
    async ask(method, path, kind, body) {
      const { status, body: answered } = await call(method, path, body);
      return readStrictly(status === 200 ? kind : status === 422 ? "failed" : "error", answered);
    },
    async askList(path, kind) {
      const { status, body } = await call("GET", path);
      if (status !== 200) throw new Error(`${status}`);
      return (body as readonly unknown[]).map((one) => readStrictly(kind, one));
    },
  };
}

const order = (orderId: string) => ({ currency: "eth", amount: "0.5", orderId });

describe("a client of the interface's fields alone", () => {
  it("makes all seven calls with a key of the profile interface", async () => {
    await ready();
    answering({ status: 0, stage: "queued" });
    const client = clientWith("interface");
    const deposit = await client.ask("POST", "/createTransactionRequest", "deposit", order("in-1"));
    const auto = await client.ask("POST", "/autoWithdraw", "withdrawal", {
      ...order("out-1"),
      address: receiver,
    });
    const manual = await client.ask("POST", "/manualWithdraw", "withdrawal", order("out-2"));
    for (const [{ transactionId }, type] of [
      [deposit, 1],
      [auto, 2],
      [manual, 2],
    ] as const) {
      const record = await client.ask(
        "GET",
        `/transaction/${transactionId}?transactionType=${type}`,
        "transaction",
      );
      expect(record).toMatchObject({ transactionId, status: 0, amount: "0.5" });
    }
    expect(await client.askList("/transactions", "transaction")).toHaveLength(3);
    expect(await client.askList("/transactions?limit=2", "transaction")).toHaveLength(2);
    expect((await client.askList("/supportedCurrency", "currency")).length).toBeGreaterThan(0);
    const { body } = await gateway.call("GET", "/api/v1/balance/usdt", undefined);
    expect(await client.ask("GET", "/balance/usdt", "balance")).toEqual({ balance: body.balance });
  });

  it("reads a list that is longer than one part", async () => {
    await ready();
    const client = clientWith("interface");
    for (let number = 0; number < 60; number += 1)
      await client.ask("POST", "/createTransactionRequest", "deposit", order(`n-${number}`));
    expect(await client.askList("/transactions", "transaction")).toHaveLength(60);
  });

  it("reads each error: a message, and a failed withdrawal's transactionId", async () => {
    await ready();
    answering({ status: 2, stage: "refused", code: "POLICY_ABOVE_DAY" });
    const client = clientWith("interface");
    const failed = await client.ask("POST", "/autoWithdraw", "withdrawal", {
      ...order("out-1"),
      address: receiver,
    });
    expect(Object.keys(failed).sort()).toEqual(["message", "transactionId"]);
    expect(
      db().get("SELECT 1 FROM transfers WHERE id = ?", failed.transactionId ?? ""),
    ).toBeDefined();
    for (const [path, body] of [
      ["/createTransactionRequest", { ...order("x"), amount: "0" }],
      ["/createTransactionRequest", { ...order("x"), currency: "unknown" }],
      ["/autoWithdraw", { ...order("out-1"), amount: "0.6", address: receiver }],
    ] as const)
      expect(Object.keys(await client.ask("POST", path, "error", body))).toEqual(["message"]);
    for (const path of ["/balance/unknown", `/transaction/${"0".repeat(32)}?transactionType=1`])
      expect(Object.keys(await client.ask("GET", path, "error"))).toEqual(["message"]);
  });

  it("a small balance keeps its digits when other fields are left out", () => {
    const whole = jsonAnswer('{"balance":0.0000001,"currency":"eth","available":"0.0000001"}');
    expect(narrowAnswer(whole, "balance")).toEqual(jsonAnswer('{"balance":0.0000001}'));
  });

  it("refuses the project's own fields of a compatible key", async () => {
    await ready();
    const client = clientWith("compatible");
    await expect(
      client.ask("POST", "/createTransactionRequest", "deposit", order("in-1")),
    ).rejects.toThrow(/unknown fields/);
    await expect(client.askList("/supportedCurrency", "currency")).rejects.toThrow(
      /unknown fields/,
    );
    await expect(client.ask("GET", "/balance/eth", "balance")).rejects.toThrow(/unknown fields/);
    await expect(client.ask("GET", "/balance/unknown", "balance")).rejects.toThrow(
      /unknown fields code, requestId/,
    );
  });
});
