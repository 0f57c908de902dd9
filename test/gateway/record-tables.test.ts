/**
 * The tables of records and transfers refuse what a kind has not: a column that another kind has, a
 * blank in the place of what is absent, and a kind's row without what the kind has. Each column
 * comes from the catalogue of a new database.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isConstraintError, isUniqueConflictError } from "../../gateway/store/library-errors.ts";
import { schema } from "../../gateway/store/schema.ts";
import { listColumns } from "../../lab/kit/database-tables.ts";
import { type GatewayDatabase, gatewayDatabase } from "../../lab/kit/gateway-database.ts";

let db: GatewayDatabase;
beforeEach(() => {
  db = gatewayDatabase();
});
afterEach(() => db.remove());

type Values = Readonly<Record<string, string | number | null>>;

const times = { createdAt: 1, changedAt: 2, expiresAt: 3 };
const ordered: Values = {
  ...{ id: "d1", merchant: "m1", origin: "ordered", orderId: "o", contentHash: "00" },
  ...{ address: "A", payTo: "A", network: "n", currency: "eth", amount: "1", units: "10" },
  ...{ toleranceUnits: "0", stage: "waiting", ...times },
};
const ofShops = { contentHash: null, amount: null, units: null, toleranceUnits: null };
const unattributed: Values = { ...ordered, origin: "unattributed", ...ofShops };
const withdrawal: Values = {
  ...{ id: "t1", operation: "withdraw", merchant: "m1", contentHash: "00", network: "n" },
  ...{ currency: "eth", amount: "1", units: "10", payer: "P", receiver: "R", stage: "queued" },
  ...times,
};
const sweep: Values = { ...withdrawal, operation: "sweep" };
const topUp: Values = { ...withdrawal, operation: "topup", currency: null };
const order: Values = { id: "t1", merchant: "m1", orderId: "o", mode: "auto" };
const parts: Readonly<Record<string, Values>> = {
  withdrawals: order,
  sweeps: { id: "t1", address: "P", ordinal: 1, addressIndex: 0 },
  topUps: { id: "t1", sweep: "s1", sweptCurrency: "usd", addressIndex: 0 },
};

function insert(table: string, row: Values): void {
  const names = Object.keys(row);
  const { changes } = db.store.database.run(
    `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    ...names.map((name) => row[name] ?? null),
  );
  expect(changes).toBe(1);
}

/** True if a table takes a row, which is taken back; false if a rule of the table refuses it. */
function isTaken(table: string, row: Values): boolean {
  try {
    db.store.writeIfOk(() => {
      if (table in parts) insert("transfers", withdrawal);
      insert(table, row);
      return { ok: false };
    });
    return true;
  } catch (error) {
    expect(isConstraintError(error) && !isUniqueConflictError(error)).toBe(true);
    return false;
  }
}

const optionalTexts = (table: string): readonly string[] =>
  listColumns(db.store.database, table)
    .filter(({ name, type, notnull }) => type === "TEXT" && notnull === 0 && name !== "id")
    .map(({ name }) => name);

const rows: readonly (readonly [string, Values])[] = [
  ["deposits", ordered],
  ["deposits", unattributed],
  ["transfers", withdrawal],
  ["transfers", sweep],
  ["transfers", topUp],
  ...Object.entries(parts),
];

describe("the tables of records and transfers", () => {
  it.each(rows)("%s take a row of each kind", (table, row) => {
    expect(isTaken(table, row)).toBe(true);
  });

  it("no blank stands for what is absent, in any column that may be absent", () => {
    const tables = ["deposits", "transfers", ...Object.keys(parts)];
    const blanks = tables.flatMap((table) =>
      optionalTexts(table).map((name) => {
        const row = rows.find(([of]) => of === table)?.[1] ?? {};
        return [`${table}.${name}`, isTaken(table, { ...row, [name]: "" })] as const;
      }),
    );
    expect(blanks.length).toBeGreaterThanOrEqual(20);
    expect(blanks.filter(([, isAllowed]) => isAllowed)).toEqual([]);
  });

  it("a deposit that no shop asked for has nothing that a shop says, and an ordered one has all", () => {
    const shops = ["quote", "payToken", "returnUrl", "metadata", "invoice"];
    const said = ["contentHash", "amount", "units", "toleranceUnits"];
    // Every column that an unattributed deposit may lack is of a shop, or of what came later.
    const later = ["code", "txHash", "value"];
    expect([...optionalTexts("deposits")].sort()).toEqual([...shops, ...said, ...later].sort());
    for (const name of [...shops, ...said])
      expect([name, isTaken("deposits", { ...unattributed, [name]: "1" })]).toEqual([name, false]);
    for (const name of shops)
      expect([name, isTaken("deposits", { ...ordered, [name]: "1" })]).toEqual([name, true]);
    for (const name of said)
      expect([name, isTaken("deposits", { ...ordered, [name]: null })]).toEqual([name, false]);
    for (const name of later)
      expect([name, isTaken("deposits", { ...unattributed, [name]: "1" })]).toEqual([name, true]);
    expect(isTaken("deposits", { ...ordered, units: "0" })).toBe(false);
    expect(isTaken("deposits", { ...ordered, origin: "other" })).toBe(false);
  });

  it("a top-up names no currency, all others do; only a withdrawal may wait for its receiver", () => {
    expect(isTaken("transfers", { ...topUp, currency: "usd" })).toBe(false);
    for (const row of [withdrawal, sweep])
      expect(isTaken("transfers", { ...row, currency: null })).toBe(false);
    for (const row of [sweep, topUp])
      expect(isTaken("transfers", { ...row, receiver: null })).toBe(false);
    expect(isTaken("transfers", { ...withdrawal, receiver: null })).toBe(true);
    expect(isTaken("transfers", { ...withdrawal, operation: "deposit" })).toBe(false);
    expect(isTaken("withdrawals", { ...order, mode: "" })).toBe(false);
  });

  it("no column of a table has the name of the interface's field with two meanings", () => {
    expect(schema).not.toMatch(/\b(?:depositAddress|receiverAddress|amountUnits)\b/);
  });
});
