/**
 * How the routes serve long work beside short: orders and lists take turns of the event loop, and a
 * whole list is made part by part as its reader takes it.
 */
import { expect, it } from "vitest";
import { fundsOf } from "../../gateway/balance/funds.ts";
import { listTransactions } from "../../gateway/operations/transactions.ts";
import type { Database } from "../../gateway/store/store.ts";
import { handmadeToken, testConfig } from "../../lab/kit/gateway-server.ts";
import {
  agentRow,
  anotherGateway,
  auto,
  db,
  deposit,
  eachTestItsGateway,
  gateway,
  many,
  ready,
} from "../support/shop.ts";

eachTestItsGateway();

/** More records like the first, which is pending. */
async function fill(count: number): Promise<void> {
  await ready();
  await deposit();
  const columns = "merchant, origin, contentHash, currency, network, address, payTo, tag";
  const rest = "amount, units, toleranceUnits, status, stage, createdAt, changedAt, expiresAt";
  const copy = `INSERT INTO deposits (id, orderId, ${columns}, ${rest}) SELECT ?, ?, ${columns}, ${rest} FROM deposits LIMIT 1`;
  for (let i = 1; i < count; i += 1) db().run(copy, i.toString(16).padStart(32, "0"), `copy-${i}`);
}

function busy(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

/** Counts turns of the event loop until it is stopped. */
function turnCounter(): { count: number; stop(): void } {
  const counter = { count: 0, stop: () => clearImmediate(timer) };
  let timer = setImmediate(function next() {
    counter.count += 1;
    timer = setImmediate(next);
  });
  return counter;
}

const asked = (path: string) => {
  const signatureToken = handmadeToken(gateway.merchant.shopKey, gateway.clock.nowMs);
  return gateway.server.inject({
    url: path,
    headers: { "content-type": "application/json", signaturetoken: signatureToken },
  });
};

it("requests whose work fills a turn have one each, though they come together", async () => {
  const counter = turnCounter();
  const turns: number[] = [];
  Object.assign(gateway.service.prices, {
    of: (): null => {
      if (turns.at(-1) !== counter.count) turns.push(counter.count);
      busy(5);
      return null;
    },
  });
  const answers = await Promise.all(
    [1, 2, 3, 4, 5, 6].map(() => asked("/api/v1/supportedCurrency")),
  );
  counter.stop();
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200, 200]);
  expect(turns).toHaveLength(6);
});

it("a whole list has each of its parts in another turn", async () => {
  await fill(500);
  const counter = turnCounter();
  const rowsByTurn = new Map<number, number>();
  Object.assign(gateway.service, {
    confirmations: (): null => {
      rowsByTurn.set(counter.count, (rowsByTurn.get(counter.count) ?? 0) + 1);
      busy(0.1);
      return null;
    },
  });
  const answer = await asked("/api/v1/transactions");
  counter.stop();
  expect(answer.json()).toHaveLength(500);
  expect(Math.max(...rowsByTurn.values())).toBe(50);
});

it("a whole list is read from the database only as far as its reader took it", async () => {
  await fill(500);
  const { service, merchant } = gateway;
  let read = 0;
  const confirmations = (): null => {
    read += 1;
    return null;
  };
  const answer = listTransactions(
    { ...service, confirmations },
    merchant.merchantId,
    {},
    { headers: {}, isInterface: false },
  );
  if (answer.kind !== "list") throw new Error("no list");
  const parts = (answer.parts as Iterable<string>)[Symbol.iterator]();
  expect(read).toBe(0);
  parts.next();
  expect(read).toBe(50);
  while (parts.next().done !== true);
  expect(read).toBe(500);
});

it("a currency that is switched off is offered to nobody, though it has a price", async () => {
  const { eth, off } = testConfig.currencies;
  const price = { usd: "1", eur: "1", try: "40" };
  const list = async (enabled: boolean): Promise<string[]> => {
    const currencies = { eth, off: { ...off, enabled } };
    await anotherGateway({ ...many, currencies, prices: { manual: { eth: price, off: price } } });
    return (await asked("/api/v1/supportedCurrency")).json().map(({ id }: { id: string }) => id);
  };
  expect(await list(false)).toEqual(["eth"]);
  expect(await list(true)).toEqual(["eth", "off"]);
});

it("the funds for an order are counted from as many rows with many open withdrawals as with one", async () => {
  await ready();
  const rowsRead = (): number => {
    let rows = 0;
    const counted: Database = {
      ...db(),
      all: <Row>(sql: string, ...values: Parameters<Database["all"]>[1][]) => {
        const got = db().all<Row>(sql, ...values);
        rows += got.length;
        return got;
      },
    };
    const currency = gateway.service.config.currencies.eth;
    if (currency === undefined) throw new Error("no currency");
    expect(fundsOf(counted, agentRow(), currency)).not.toBeNull();
    return rows;
  };
  await auto({ amount: "0.001" });
  const one = rowsRead();
  for (let i = 0; i < 20; i += 1) await auto({ amount: "0.001", orderId: `many-${i}` });
  expect(one).toBeGreaterThan(0);
  expect(rowsRead()).toBe(one);
});
