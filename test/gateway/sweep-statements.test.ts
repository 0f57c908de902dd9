/**
 * The SQL that the gateway asks about sweeps in each pass, and in each question for a balance, reads
 * what is open or newer than a block; no statement reads each sweep or top-up that ever ended.
 */
import { afterEach, beforeEach, expect, describe as group, it, vi } from "vitest";
import type { Database } from "../../gateway/store/store.ts";
import { countOpenSweeps, listToppingUp, sweepingUnits, toppedUnitsAfter } from "../../gateway/store/sweeps.ts";
import { type GatewayDatabase, gatewayDatabase, insertTransaction } from "../../lab/kit/gateway-database.ts";

const network = "eip155:31337";
let db: GatewayDatabase;
beforeEach(() => {
  db = gatewayDatabase();
});
afterEach(() => db.remove());

/** Index and bounds of each table that SQLite reads for the statements of `ask`. */
function readsOf(ask: (database: Database) => unknown): readonly string[] {
  const { database } = db.store;
  const asked: string[] = [];
  const spies = (["get", "all"] as const).map((name) => {
    const real = database[name] as (sql: string, ...values: never[]) => unknown;
    return vi.spyOn(database as Record<typeof name, typeof real>, name).mockImplementation((sql, ...values) => {
      asked.push(sql);
      return real(sql, ...values);
    });
  });
  ask(database);
  for (const spy of spies) spy.mockRestore();
  return asked.flatMap((sql) =>
    database
      .all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .map(({ detail }) => detail)
      .filter((detail) => /^(?:SEARCH|SCAN) \w+ /.test(detail)),
  );
}

group("statements about sweeps", () => {
  it.each([
    ["sweeps behind a top-up", (database: Database) => listToppingUp(database, network)],
    ["open sweeps", (database: Database) => countOpenSweeps(database, "m1")],
  ])("%s are found among what is open", (_, ask) => {
    const [first = ""] = readsOf(ask);
    expect(first).toMatch(/^SEARCH s USING .*operation=\? AND status=\?\)$/);
  });

  it.each([
    ["sweepsByBlock", (database: Database) => sweepingUnits(database, "m1", "usdt", 5)],
    ["topUpsByBlock", (database: Database) => toppedUnitsAfter(database, "m1", network, 5)],
  ])("units are summed over %s from a block on", (index, ask) => {
    const ended = readsOf(ask).filter((read) => !read.includes("transactionsOpen"));
    expect(ended).toHaveLength(1);
    expect(ended[0]).toMatch(new RegExp(`USING .*${index} \\(merchant=\\? AND \\w+=\\? AND finalBlock>\\?\\)$`));
  });

  it("units moved are those of open sweeps and of sweeps and top-ups that ended after the block", () => {
    const rows = [
      { operation: "sweep", status: 0, amountUnits: "1" },
      { operation: "sweep", status: 1, amountUnits: "10", finalBlock: 5 },
      { operation: "sweep", status: 1, amountUnits: "100", finalBlock: 6 },
      { operation: "sweep", status: 2, amountUnits: "1000", finalBlock: 6 },
      { operation: "topup", status: 0, amountUnits: "1" },
      { operation: "topup", status: 1, amountUnits: "10", finalBlock: 5 },
      { operation: "topup", status: 1, amountUnits: "100", finalBlock: 6 },
    ] as const;
    for (const [at, row] of rows.entries()) {
      insertTransaction(db.store, { id: `${at}`.padStart(32, "0"), orderId: `${at}`, currency: "usdt", network, ...row });
    }
    expect(sweepingUnits(db.store.database, "m1", "usdt", 5)).toBe(101n);
    expect(toppedUnitsAfter(db.store.database, "m1", network, 5)).toBe(100n);
  });
});
