/**
 * Lists of transactions: each filter gives the same rows as a reading of every row, and reads by an
 * index no more rows than it gives.
 */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../gateway/store/store.ts";
import { listTransactionRows, type TransactionFilter } from "../../gateway/store/transactions.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import {
  type AnyTransaction,
  type GatewayDatabase,
  gatewayDatabase,
  insertTransaction,
} from "../../lab/kit/gateway-database.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";

let db: GatewayDatabase;
beforeEach(() => {
  db = gatewayDatabase();
  db.store.database.run("INSERT INTO merchants (id, name, createdAt) VALUES ('m2', 'Other', 0)");
});
afterEach(() => db.remove());

const operations = ["deposit", "withdraw"] as const;
const currencies = ["eth", "usdt"] as const;

function fill(count: number, seeded: SeededRandom): readonly AnyTransaction[] {
  return Array.from({ length: count }, (_, number) =>
    db.store.write(() =>
      insertTransaction(db.store, {
        id: `${seeded.below(1_000_000_000)}${number}`.padStart(32, "0"),
        orderId: `o-${seeded.below(count)}-${number % 3}-${number}`,
        merchant: seeded.pick(["m1", "m1", "m2"]),
        operation: seeded.pick(operations),
        status: seeded.pick([0, 1, 2] as const),
        currency: seeded.pick(currencies),
        createdAt: seeded.below(40), // many share a millisecond
        changedAt: seeded.below(40),
        refundOf: seeded.below(3) === 0 ? `${seeded.below(4)}`.repeat(32) : "",
      }),
    ),
  );
}

/** The same by reading every row. */
function listed(
  rows: readonly AnyTransaction[],
  filter: TransactionFilter,
  most: number,
): readonly string[] {
  const { merchant, operation, status, currency, orderId, refundOf, from, to, changedFrom, after } =
    filter;
  const isAfter = ({ createdAt, changedAt, id }: AnyTransaction): boolean => {
    if (after === undefined) return true;
    const past = changedFrom === undefined ? after.at - createdAt : changedAt - after.at;
    return past > 0 || (past === 0 && id > after.id);
  };
  const fits = (row: AnyTransaction): boolean =>
    row.merchant === merchant &&
    (operation === undefined || row.operation === operation) &&
    (status === undefined || row.status === status) &&
    (currency === undefined || row.currency === currency) &&
    (orderId === undefined || row.orderId === orderId) &&
    (from === undefined || row.createdAt >= from) &&
    (to === undefined || row.createdAt < to) &&
    (changedFrom === undefined || row.changedAt >= changedFrom) &&
    (refundOf === undefined || row.refundOf === refundOf) &&
    isAfter(row);
  const order = (a: AnyTransaction, b: AnyTransaction): number =>
    (changedFrom === undefined ? b.createdAt - a.createdAt : a.changedAt - b.changedAt) ||
    (a.id < b.id ? -1 : 1);
  const ordered = rows.filter(fits).sort(order);
  return ordered.slice(0, most).map(({ id }) => id);
}

function filterOf(rows: readonly AnyTransaction[], seeded: SeededRandom): TransactionFilter {
  const maybe = <T>(value: T): T | undefined => (seeded.below(3) === 0 ? value : undefined);
  const some = seeded.pick(rows);
  const parts = {
    ...{
      operation: maybe(seeded.pick(operations)),
      status: maybe(seeded.below(3)),
      currency: maybe(seeded.pick(currencies)),
    },
    ...{
      orderId: seeded.below(8) === 0 ? some.orderId : undefined,
      from: maybe(seeded.below(40)),
      to: maybe(seeded.below(40)),
    },
    changedFrom: maybe(seeded.below(40)),
    refundOf: seeded.below(8) === 0 ? some.refundOf || undefined : undefined,
    after: maybe({ at: seeded.below(40), id: some.id }),
  };
  const asked = Object.entries(parts).filter(([, value]) => value !== undefined);
  return { merchant: some.merchant, ...Object.fromEntries(asked) };
}

describe("a list of transactions", () => {
  it.each(seedsOfRun(share(2, 1)))(
    "is what reading every row gives, for every filter, seed %i",
    (seed) => {
      const seeded = new SeededRandom(seed);
      const rows = fill(300, seeded);
      for (let i = 0; i < share(400, 100); i += 1) {
        const filter = filterOf(rows, seeded);
        const most = 1 + seeded.below(30);
        const got = listTransactionRows(db.store.database, filter, most).map(({ id }) => id);
        expect(got, JSON.stringify({ filter, most })).toEqual(listed(rows, filter, most));
      }
    },
  );

  it.skipIf(isOnPostgres)(
    "takes an index for every filter, and sorts no row but those of one order or one refunded deposit",
    () => {
      const seeded = new SeededRandom(3);
      const rows = fill(20, seeded);
      for (let i = 0; i < 200; i += 1) {
        const filter = filterOf(rows, seeded);
        const plan = planOf(db.store.database, filter);
        const { operation, orderId, refundOf, changedFrom } = filter;
        // No deposit pays one back, so nothing is read; nor for a status that does not exist.
        const kind = operation === undefined ? {} : { operation };
        const hasNone = listed(rows, { merchant: filter.merchant, ...kind }, 1).length === 0;
        const isByStatus = plan === "" && filter.status !== undefined;
        if ((operation === "deposit" && refundOf !== undefined) || (hasNone && isByStatus)) {
          expect(plan, JSON.stringify(filter)).toBe("");
          continue;
        }
        expect(plan, JSON.stringify(filter)).not.toContain("SCAN");
        expect(plan, JSON.stringify(filter)).toContain("USING INDEX");
        const isFew =
          changedFrom === undefined && (orderId !== undefined || refundOf !== undefined);
        if (!isFew) expect(plan, JSON.stringify(filter)).not.toContain("TEMP B-TREE");
        else
          expect(plan, JSON.stringify(filter)).toContain(
            refundOf === undefined ? "orderId=?" : "refundOf=?",
          );
        if (changedFrom !== undefined) expect(plan).toContain("changedAt>?");
        else if (!isFew && filter.after !== undefined) expect(plan).toContain("createdAt<?");
      }
    },
  );
});

/** SQLite's plan for reading the rows. */
function planOf(database: Database, filter: TransactionFilter): string {
  const steps: string[] = [];
  const asked: Database = {
    ...database,
    all: (sql: string, ...values: readonly (string | number)[]) => {
      const plan = database.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
      steps.push(...plan.map(({ detail }) => detail));
      return [];
    },
  };
  listTransactionRows(asked, filter, 10);
  return steps.join("\n");
}
