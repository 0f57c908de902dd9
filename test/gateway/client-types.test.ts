/**
 * The client's types beside the description that the gateway serves: the committed files are made
 * from it, the compiler takes what the gateway takes, and each code has its advice.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Callback } from "../../clients/typescript/callbacks.ts";
import type { DepositOrder, WithdrawalOrder } from "../../clients/typescript/orders.ts";
import type { ErrorBody, Transaction } from "../../clients/typescript/records.ts";
import { startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { clientTypes, type Description } from "../../packaging/client-types.ts";

let gateway: TestGateway;
let served: Description;
beforeAll(async () => {
  gateway = await startTestGateway();
  served = (await gateway.send("/openapi.json")).body as Description;
});
afterAll(() => gateway.close());

const committed = (name: string): string =>
  readFileSync(join(projectRoot, "clients/typescript", name), "utf8");

describe("the client's types", () => {
  it("are made from the description that the gateway serves: npm run client -- --types", () => {
    const made = clientTypes(served);
    expect(Object.keys(made)).toEqual([
      "orders.ts",
      "records.ts",
      "targets.ts",
      "events.ts",
      "codes.ts",
    ]);
    for (const [name, text] of Object.entries(made)) expect(committed(name), name).toBe(text);
  });

  it("change with a field, a value, a code and an event of the description", () => {
    const { components, paths, webhooks } = structuredClone(served);
    const fields = components.schemas.Transaction as { properties: Record<string, object> };
    fields.properties.tide = { type: "string", description: "New." };
    fields.properties.mode = { type: "string", enum: ["auto", "moon"] };
    const changed = clientTypes({
      components,
      paths,
      webhooks: { ...webhooks, "moon.full": webhooks["deposit.late"]! },
    });
    expect(changed["records.ts"]).toContain("  /** New. */\n  readonly tide?: string;\n");
    expect(changed["records.ts"]).toContain('readonly mode?: "auto" | "moon";');
    expect(changed["events.ts"]).toContain('    | "moon.full"');
    const odd = {
      ...components.schemas,
      Odd: { type: "object", properties: { a: { type: "moon" } } },
    };
    expect(() => clientTypes({ components: { schemas: odd }, paths, webhooks })).toThrow(
      "no type for",
    );
  });

  it("the compiler refuses an order that the gateway refuses, and knows each event's data", () => {
    const byAmount: DepositOrder = {
      currency: "eth",
      amount: "1",
      orderId: "a",
      metadata: { a: "1" },
    };
    const byMoney: DepositOrder = {
      currency: "eth",
      fiatCurrency: "TRY",
      fiatAmount: "1",
      orderId: "a",
      metadata: { a: "1" },
    };
    const sum = { fiatCurrency: "TRY", fiatAmount: "1" } as const;
    // @ts-expect-error both an amount and a sum of money
    const both: DepositOrder = { currency: "eth", amount: "1", ...sum, orderId: "a" };
    // @ts-expect-error neither
    const neither: DepositOrder = { currency: "eth", orderId: "a" };
    const order: WithdrawalOrder = { currency: "eth", amount: "1", address: "0x", orderId: "a" };
    // @ts-expect-error a field that the operation does not know
    const unknown: WithdrawalOrder = { ...order, speed: "fast" };
    const record = (one: Transaction): readonly unknown[] => [
      one.explorerUrl,
      one.confirmations,
      one.metadata,
    ];
    const reasons = ({ reason, signed, field, needed, available }: ErrorBody) => [
      reason,
      signed,
      field,
      needed,
      available,
    ];
    const nameOf = (event: Callback): string => {
      if (event.type === "webhook.test") return event.data.callbackId;
      if (event.type === "deposit.unattributed") return event.data.unattributed.txHash;
      // @ts-expect-error a record has no target
      void event.data.callbackId;
      return event.data.orderId;
    };
    expect([byAmount, byMoney, both, neither, unknown].map(({ orderId }) => orderId)).toEqual([
      "a",
      "a",
      "a",
      "a",
      "a",
    ]);
    expect([record, reasons, nameOf].map(({ length }) => length)).toEqual([1, 1, 1]);
  });
});
