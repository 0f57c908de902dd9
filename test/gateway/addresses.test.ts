/** The list of deposit addresses: each has one row, and the newest request's place. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Bug } from "../../base/fault.ts";
import {
  giveAddress,
  hasForgottenAfter,
  isDepositAddressOf,
  listAddressesAfter,
} from "../../gateway/store/deposit-addresses.ts";
import {
  insertForgotten,
  insertFoundDeposit,
  readForgotten,
} from "../../gateway/store/forgotten-addresses.ts";
import type { ForgottenAddressRow } from "../../gateway/store/rows.ts";
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

const list = (place = 0) =>
  listAddressesAfter(db.store.database, place).map(({ address, request }) => [address, request]);
const newest = () => listAddressesAfter(db.store.database, 0).at(-1)?.place ?? 0;

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
    expect(() => give("3".repeat(32), "rA:8", 7)).toThrow("UNIQUE");
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
    expect(hasForgottenAfter(db.store.database, before)).toBe(true);
  });
});
