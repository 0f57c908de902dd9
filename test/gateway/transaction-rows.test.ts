/** Rows of the table of transactions by kind: fields, absence, rows that no code writes. */
import { expect, it } from "vitest";
import { recordOf } from "../../gateway/answer/record.ts";
import type { TransactionColumns } from "../../gateway/store/rows.ts";
import { rowOf } from "../../gateway/store/transaction-rows.ts";
import { appendJob } from "../../gateway/withdrawals/jobs.ts";
import {
  gatewayDatabase,
  insertTransaction,
  pairAgent,
  readAgent,
  transferRow,
} from "../../lab/kit/gateway-database.ts";

const columns: TransactionColumns = {
  ...{ id: "1", merchant: "m1", orderId: "o", contentHash: "00", currency: "eth", tag: "7" },
  ...{ network: "eip155:1", amount: "5", amountUnits: "500", receiverAddress: "to" },
  ...{ depositAddress: "from", stage: "waiting", code: "", txHash: "", feeUnits: "" },
  ...{ amountReceivedUnits: "0", finalBlock: null, createdAt: 1, changedAt: 2, expiresAt: 3 },
  ...{ quote: "", toleranceUnits: "0", metadata: "", payToken: "", returnUrl: "", renews: "" },
  ...{ refundOf: "", value: "" },
  ...({ operation: "deposit", mode: "", status: 0, late: 0, callbackStatus: 3 } as const),
};
const withdrawal: TransactionColumns = { ...columns, operation: "withdraw", mode: "manual" };

it("each kind has its own names for what a column says", () => {
  expect(rowOf(columns)).toMatchObject({ address: "from", payTo: "to", units: "500" });
  expect(rowOf(withdrawal)).toMatchObject({ payer: "from", receiver: "to", mode: "manual" });
  expect(rowOf({ ...columns, operation: "sweep", metadata: "{}" })).toMatchObject({
    ...{ payer: "from", receiver: "to", placeText: "{}" },
  });
  expect(rowOf(columns)).not.toHaveProperty("payer");
  expect(rowOf({ ...columns, operation: "topup" })).not.toHaveProperty("metadata");
});

it("what is absent is null, and an amount that stands there is none of that", () => {
  const nobodys = { ...columns, contentHash: "", amount: "0", amountUnits: "0" };
  expect(rowOf(nobodys)).toMatchObject({ origin: "unattributed", contentHash: null, units: null });
  const named = { ...columns, contentHash: "" };
  expect(rowOf(named)).toMatchObject({ origin: "unattributed", amount: "5", units: "500" });
  expect(rowOf({ ...withdrawal, receiverAddress: "" })).toMatchObject({ receiver: null });
});

it("an open record on a network that no family has any more is shown whole", () => {
  const context = {
    config: { chains: {}, currencies: {}, publicUrl: "" },
    confirmations: () => null,
  };
  const row = rowOf({ ...withdrawal, network: "none:1" });
  expect(recordOf(row, context)).toMatchObject({ fee: "", mode: "manual", depositAddress: "from" });
});

it("a withdrawal without a mode makes no job, and one with a mode does", () => {
  const db = gatewayDatabase();
  try {
    const agent = readAgent(db.store, pairAgent(db.store).id);
    const order = { ...withdrawal, network: "eip155:31337", amount: "1", tag: "" };
    const make = (id: string, mode: "" | "manual") => {
      const row = insertTransaction(db.store, { ...order, id, orderId: id, mode });
      return appendJob(db.store.database, agent, transferRow(row));
    };
    expect(() => make("1".repeat(32), "")).toThrow("with a mode");
    expect(db.store.database.all("SELECT * FROM jobs")).toEqual([]);
    expect(make("2".repeat(32), "manual")).toMatchObject({ sequence: 1 });
    expect(db.store.database.all("SELECT sequence FROM jobs")).toEqual([{ sequence: 1 }]);
  } finally {
    db.remove();
  }
});
