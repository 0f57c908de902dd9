/** The list of deposit addresses: each has one row, and the newest request's place. */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Bug } from "../../base/fault.ts";
import { newestAddressPlace } from "../../gateway/store/address-states.ts";
import {
  giveAddress,
  hasForgottenAfter,
  isDepositAddressOf,
  listAddressesAfter,
  type ReadPlaces,
} from "../../gateway/store/deposit-addresses.ts";
import {
  insertForgotten,
  insertFoundDeposit,
  readForgotten,
  unattributedIdOf,
} from "../../gateway/store/forgotten-addresses.ts";
import { keepFinalPayment } from "../../gateway/store/payments.ts";
import type { ForgottenAddressRow } from "../../gateway/store/rows.ts";
import { isRefused } from "../../lab/kit/database-tables.ts";
import {
  type GatewayDatabase,
  gatewayDatabase,
  insertTransaction,
  pairAgent,
} from "../../lab/kit/gateway-database.ts";

const space = "xrpl:";
const network = "xrpl:0";
const coin = { network, currency: "xrp" };

let db: GatewayDatabase;
let agent: string;

beforeEach(() => {
  db = gatewayDatabase();
  agent = pairAgent(db.store, "a").id;
});
afterEach(() => db.remove());

const forgotten = (address: string, change: Partial<ForgottenAddressRow> = {}) => ({
  ...{ address, merchant: "m1", agent, addressIndex: null, addressSpace: space, at: 1 },
  ...({ origin: "stray", ...change } as const),
});

/** A shop's request, which gets the address. */
function give(id: string, address: string, addressIndex: number): void {
  insertTransaction(db.store, { id, orderId: id, address, payTo: "rA", ...coin });
  const row = { address, addressSpace: space, merchant: "m1", agent, addressIndex, at: 2 };
  db.store.write((database) => giveAddress(database, { ...row, request: id }));
}

const all: ReadPlaces = { given: 0, forgotten: 0 };
const list = (places = all) =>
  listAddressesAfter(db.store.database, places).map(({ address, request }) => [address, request]);
const newest = (): ReadPlaces => {
  const places = listAddressesAfter(db.store.database, all).map(({ place }) => place);
  return { given: Math.max(0, ...places), forgotten: Math.min(0, ...places) };
};

describe("a deposit address", () => {
  it("that a payer's own tag named first becomes the request's, as the newest of the list", () => {
    const [one, two] = ["1".repeat(32), "2".repeat(32)];
    insertForgotten(db.store.database, forgotten("rA:7"));
    give(one, "rA:6", 6);
    const before = newest();
    expect(isDepositAddressOf(db.store.database, "rA:7", agent)).toBe(false);
    give(two, "rA:7", 7);
    expect(list(before)).toEqual([["rA:7", two]]);
    expect(list()).toEqual([
      ["rA:6", one],
      ["rA:7", two],
    ]);
    expect(isDepositAddressOf(db.store.database, "rA:7", agent)).toBe(true);
    expect(readForgotten(db.store.database, "rA:7")).toBeUndefined();
    // A second payer names it, and it stays the request's.
    insertForgotten(db.store.database, forgotten("rA:7"));
    expect(list()).toHaveLength(2);
  });

  it("is given to no second request, whatever its index", () => {
    give("1".repeat(32), "rA:7", 7);
    expect(() => give("2".repeat(32), "rA:7", 8)).toThrow(Bug);
    expect(isRefused(() => give("3".repeat(32), "rA:8", 7))).toBe(true);
    expect(list()).toEqual([["rA:7", "1".repeat(32)]]);
  });

  it("of an index that another address has gets a request and no place among those that are swept", () => {
    const found = forgotten("rA:7", { origin: "found", addressIndex: 7 });
    const beside = { ...found, address: "rB:7" };
    for (const row of [found, beside]) insertForgotten(db.store.database, row);
    const before = newest();
    expect(hasForgottenAfter(db.store.database, before)).toBe(false);
    expect(db.store.write((database) => insertFoundDeposit(database, beside, coin))).toBe(true);
    expect(db.store.write((database) => insertFoundDeposit(database, found, coin))).toBe(false);
    expect(list(before)).toEqual([["rB:7", expect.any(String)]]);
    expect(list()).toContainEqual(["rA:7", null]);
    expect(hasForgottenAfter(db.store.database, all)).toBe(true);
  });

  it("of nobody never has the number of one that got a request, so that a reader sees it", () => {
    for (const tag of [5, 7]) insertForgotten(db.store.database, forgotten(`rA:${tag}`));
    const before = newest();
    give("1".repeat(32), "rA:7", 7);
    insertForgotten(db.store.database, forgotten("rA:9"));
    expect(hasForgottenAfter(db.store.database, before)).toBe(true);
    expect(list(before)).toEqual([
      ["rA:9", null],
      ["rA:7", "1".repeat(32)],
    ]);
  });

  it("of nobody takes no place among those of requests", () => {
    give("1".repeat(32), "rA:1", 1);
    for (let tag = 100; tag < 200; tag += 1)
      insertForgotten(db.store.database, forgotten(`rA:${tag}`));
    give("2".repeat(32), "rA:2", 2);
    expect(newestAddressPlace(db.store.database)).toBe(2);
    expect(list({ given: 1, forgotten: -100 })).toEqual([["rA:2", "2".repeat(32)]]);
  });

  it("that is given out while an earlier payment to it is read keeps that payment apart", () => {
    const stray = forgotten("rA:7");
    insertForgotten(db.store.database, stray);
    const transactionId = unattributedIdOf(stray);
    give("1".repeat(32), "rA:7", 7);
    const payment = { ...coin, txHash: "AB", logIndex: 0, units: "5", block: 5, blockHash: "05" };
    db.store.write((database) =>
      keepFinalPayment(database, { ...payment, address: "rA:7", final: 1, transactionId }),
    );
    const sql = "SELECT origin FROM deposits WHERE id = ?";
    expect(db.store.database.get(sql, transactionId)).toEqual({ origin: "unattributed" });
    expect(list()).toEqual([["rA:7", "1".repeat(32)]]);
  });
});
