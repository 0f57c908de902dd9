/**
 * The clients of test/generated, made by two public generators from /openapi.json, against the
 * running gateway: each makes every call, and the compiler takes the calls by the generated types.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { receiver, startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { inputDigest } from "../../packaging/generated-clients.ts";
import { readDescription } from "../support/described.ts";
import type { Called, Orders } from "./generated-clients/called.ts";

type CallAll = (baseUrl: string, apiKey: string, orders: Orders) => Promise<Called>;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    limits: { readsPerSecond: 1_000, writesPerSecond: 1_000, withdrawalWaitMs: 0 },
  });
  gateway.runClock();
  Object.assign(gateway.service.config.prices, { changedAtMs: Date.now() });
  expect((await gateway.pair()).status).toBe(200);
  gateway.fund("eth", 10n ** 19n);
});
afterAll(() => gateway.close());

const folder = join(projectRoot, "test", "gateway", "generated-clients");

describe("the generated clients", () => {
  it.each(["openapi-fetch", "hey-api"])(
    "the client of %s makes every call of the description",
    async (name) => {
      // Named by a variable, because the compiler reads these files with settings of their own.
      const { callAll } = (await import(/* @vite-ignore */ join(folder, `${name}-calls.ts`))) as {
        callAll: CallAll;
      };
      let count = 0;
      const late = (
        await gateway.call("POST", "/api/v1/createTransactionRequest", {
          ...{ currency: "eth", amount: "0.5", orderId: `late-${name}` },
        })
      ).body.transactionId;
      gateway.service.store.database.run(
        "UPDATE deposits SET status = 2, stage = 'expired', receivedUnits = ? WHERE id = ?",
        ...[`${10n ** 18n}`, late],
      );
      const orders = {
        late,
        month: new Date(gateway.clock.nowMs).toISOString().slice(0, 7),
        currency: "eth",
        address: receiver,
        orderId: (side: string) => `${side}-${name}-${++count}`,
      };
      const { apiKey } = gateway.key({
        scopes: [
          "read",
          "deposit",
          "deposit:accept",
          "withdraw:auto",
          "withdraw:manual",
          "withdraw:cancel",
          "callbacks",
        ],
      });
      const { status, read } = await callAll(gateway.url, apiKey, orders);
      const { paths } = await readDescription(gateway);
      const operations = paths.map(({ operation }) => operation.operationId);
      expect(Object.keys(status).sort()).toEqual(operations.sort());
      expect(Object.entries(status).filter(([, one]) => one !== 200)).toEqual([]);
      expect(read).toMatchObject({
        money: "1000",
        many: 200,
        held: "awaiting_approval",
        record: {},
        list: 2,
        balance: "eth",
      });
      expect(read).toMatchObject({
        currencies: ["eth", "usdt"],
        refused: ["amount_format", "amount"],
      });
    },
  );

  it("the compiler takes the calls by the generated types, and no order that the gateway refuses", () => {
    const compiler = join(projectRoot, "node_modules", "typescript", "bin", "tsc");
    const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", folder], {
      encoding: "utf8",
    });
    expect([status, stdout]).toEqual([0, ""]);
  });

  it("the clients are made from today's description: npm run client -- --generated", () => {
    expect(readFileSync(join(projectRoot, "test", "generated", "README.md"), "utf8")).toContain(
      inputDigest(),
    );
  });
});
