/** Rows of deposits and transfers by kind: fields, absence, rows that no code writes. */

import { afterEach, beforeEach, expect, it } from "vitest";
import { recordOf } from "../../gateway/answer/record.ts";
import { readTransaction } from "../../gateway/store/transactions.ts";
import { appendJob } from "../../gateway/withdrawals/jobs.ts";
import { isRefused } from "../../lab/kit/database-tables.ts";
import {
  type AnyTransaction,
  type GatewayDatabase,
  gatewayDatabase,
  insertTransaction,
  pairAgent,
  readAgent,
  transferRow,
} from "../../lab/kit/gateway-database.ts";

const network = "eip155:31337";
const transfer = { network, amount: "5", units: "500", payer: "from", receiver: "to" } as const;
const withdrawal = { ...transfer, operation: "withdraw", mode: "manual", tag: "7" } as const;

let db: GatewayDatabase;
beforeEach(() => {
  db = gatewayDatabase();
});
afterEach(() => db.remove());

/** The row as the product reads it. */
function planted(change: Partial<AnyTransaction>) {
  const id = "1".repeat(32);
  insertTransaction(db.store, { id, orderId: "o", ...change });
  return readTransaction(db.store.database, id)!;
}

it("a deposit has its own fields, and none of a transfer's", () => {
  const row = planted({ address: "from", payTo: "to", units: "500" });
  expect(row).toMatchObject({ operation: "deposit", address: "from", payTo: "to", units: "500" });
  for (const name of ["payer", "receiver", "feeUnits", "mode", "refundOf", "addressIndex"])
    expect(row).not.toHaveProperty(name);
});

it("a withdrawal has its own fields, and none of a deposit's or a sweep's", () => {
  const row = planted(withdrawal);
  expect(row).toMatchObject({ payer: "from", receiver: "to", mode: "manual", orderId: "o" });
  for (const name of ["address", "payTo", "origin", "quote", "late", "addressIndex", "nextSlot"])
    expect(row).not.toHaveProperty(name);
});

it("a sweep and a top-up say the place of their address, and nothing that a shop sets", () => {
  const sweep = { ...transfer, operation: "sweep", addressIndex: 3, nextSlot: "9" } as const;
  const row = planted({ ...sweep, orderId: "from/1" });
  const place = { payer: "from", receiver: "to", addressIndex: 3, nextSlot: "9" };
  expect(row).toMatchObject({ ...place, orderId: "from/1" });
  const id = "2".repeat(32);
  const topUp = { ...transfer, operation: "topup", addressIndex: 4, currency: "usdt" } as const;
  insertTransaction(db.store, { ...topUp, id, orderId: row.id });
  const other = readTransaction(db.store.database, id);
  expect(other).toMatchObject({ orderId: row.id, currency: "usdt", addressIndex: 4 });
  expect(other).not.toHaveProperty("nextSlot");
  for (const name of ["metadata", "renews", "refundOf", "value", "callbackStatus", "mode"])
    for (const one of [row, other]) expect(one).not.toHaveProperty(name);
});

it("what nobody asked for has no amount, and the table takes none for it", () => {
  const none = { origin: "unattributed", contentHash: null, amount: null, units: null };
  const { id } = planted({ contentHash: null });
  const name = () =>
    db.store.database.run("UPDATE deposits SET amount = '5', units = '500' WHERE id = ?", id);
  expect(isRefused(name)).toBe(true);
  expect(readTransaction(db.store.database, id)).toMatchObject(none);
});

it("a receiver that nobody named is null, and a sweep has one always", () => {
  expect(planted({ ...withdrawal, receiver: "" })).toMatchObject({ receiver: null });
  const sweep = { ...transfer, operation: "sweep", receiver: "" } as const;
  const plant = () =>
    insertTransaction(db.store, { ...sweep, id: "2".repeat(32), orderId: "from/1" });
  expect(isRefused(plant)).toBe(true);
});

it("an open record on a network that no family has any more is shown whole", () => {
  const context = {
    config: { chains: {}, currencies: {}, publicUrl: "" },
    confirmations: () => null,
  };
  const row = planted({ ...withdrawal, network: "none:1" });
  expect(recordOf(row, context)).toMatchObject({ fee: "", mode: "manual", depositAddress: "from" });
});

it("a withdrawal without a mode is refused and makes no job, and one with a mode makes one", () => {
  const agent = readAgent(db.store, pairAgent(db.store).id);
  const order = { ...withdrawal, amount: "1", tag: "", id: "1".repeat(32), orderId: "o" };
  const row = insertTransaction(db.store, order);
  for (const mode of ["", null])
    expect(isRefused(() => db.store.database.run("UPDATE withdrawals SET mode = ?", mode))).toBe(
      true,
    );
  expect(db.store.database.all("SELECT * FROM jobs")).toEqual([]);
  expect(appendJob(db.store.database, agent, transferRow(row))).toMatchObject({ sequence: 1 });
  expect(db.store.database.all("SELECT sequence FROM jobs")).toEqual([{ sequence: 1 }]);
});
