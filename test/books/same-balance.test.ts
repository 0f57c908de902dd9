/**
 * An account has one balance: `pending` and the sheet of the books agree about units that no
 * payment, sweep or payout explains. A note never changes what the watcher credits to a payer.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { encodeXAddress } from "../../chains/xrp/address.ts";
import { type Account, sheetsOf } from "../../gateway/books/accounts.ts";
import { acceptDifference } from "../../gateway/books/taking-in.ts";
import {
  explainedUnits,
  keepBaseline,
  keepTakenByOwner,
} from "../../gateway/store/address-states.ts";
import { keepDifference } from "../../gateway/store/books.ts";
import { sumUnsweptUnits } from "../../gateway/store/journal.ts";
import { keepFinalPayment } from "../../gateway/store/payments.ts";
import { addToSum } from "../../gateway/store/stray-sums.ts";
import {
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  insertTransaction,
} from "../../lab/kit/gateway-database.ts";
import { journalFaults } from "../../lab/kit/journal-audit.ts";

const network = "eip155:31337";
const address = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const request = "1".repeat(32);
const place = { network, address, currency: "eth" };

let db: GatewayDatabase;

beforeEach(() => {
  db = gatewayDatabase();
  giveAddress(db.store, { id: request, address, place: 1, agent: null });
});
afterEach(() => db.remove());

/** The three figures, and how many accounts have other sums than the rows say. */
async function figures(block = 9): Promise<readonly bigint[]> {
  const { database } = db.store;
  const account: Account = { address, merchant: "m1", kind: "deposit", isOurs: false };
  const sheets = await sheetsOf(database, { network }, [account], 0, async () => {});
  return [
    sumUnsweptUnits(database, "m1", "eth"),
    explainedUnits(database, place, block),
    sheets.get(address)?.at("eth", block) ?? -1n,
    BigInt(journalFaults(database).length),
  ];
}

function pay(units: string): void {
  const payment = { ...place, txHash: "0x01", logIndex: 0, units, block: 5, blockHash: "0x05" };
  db.store.write((database) =>
    keepFinalPayment(database, { ...payment, final: 1, transactionId: request }),
  );
}

describe("the balance of a deposit address", () => {
  it.each([
    ["-5", [0n, 5n, 0n, 0n]],
    ["-2", [3n, 5n, 3n, 0n]],
    ["4", [9n, 5n, 9n, 0n]],
  ])(
    "is 5 and a note of %s units in balance and books, and credits nothing",
    async (noted, after) => {
      pay("5");
      expect(await figures()).toEqual([5n, 5n, 5n, 0n]);
      const foundUnits = `${5n + BigInt(noted)}`;
      const found = {
        ...place,
        merchant: "m1",
        kind: "deposit",
        expectedUnits: "5",
        foundUnits,
      } as const;
      db.store.write((database) =>
        keepDifference(database, { ...found, block: 7, sinceBlock: null, detail: "", at: 1 }),
      );
      const note = { decimal: 0, amount: noted, operator: "ann", reason: "seen", nowMs: 1 };
      expect(acceptDifference(db.store, { ...place, ...note }).ok).toBe(true);
      expect(await figures()).toEqual(after);
      expect((await figures(6)).slice(1, 3)).toEqual([5n, 5n]);
    },
  );

  it("falls by what the owner of its key takes out, and has what lay there before", async () => {
    pay("5");
    db.store.write((database) => keepBaseline(database, place, 2n));
    const held = async () => (await figures()).filter((_, at) => at !== 1 && at !== 2);
    expect(await held()).toEqual([7n, 0n]);
    db.store.write((database) => keepBaseline(database, place, 9n));
    expect(await held()).toEqual([7n, 0n]);
    for (const [taken, left] of [
      [4n, 3n],
      [3n, 0n],
    ] as const) {
      db.store.write((database) => keepTakenByOwner(database, place, taken, 6));
      expect(await held()).toEqual([left, 0n]);
    }
  });
});

describe("the balance of a hot wallet whose deposits have tags", () => {
  const xrp = { network: "xrpl:0", currency: "xrp" };
  const [payer, receiver] = ["rPayer", "rHsMGQEkVNJmpGWs8XUBoTBiAAbwxZN5v3"];
  const account: Account = { address: receiver, merchant: "m1", kind: "hot", isOurs: true };
  const at = async (): Promise<bigint> => {
    const { network: of } = xrp;
    const sheets = await sheetsOf(db.store.database, { network: of }, [account], 0, async () => {});
    return sheets.get(receiver)?.at("xrp", 9) ?? -1n;
  };
  const paidOut = (id: string, txHash: string, tag: string) =>
    insertTransaction(db.store, {
      ...{ ...xrp, id, orderId: id, operation: "withdraw", mode: "auto", payer, receiver, tag },
      ...{ units: "100", status: 1, stage: "completed", txHash, feeUnits: "1", finalBlock: 5 },
    });

  it("counts another merchant's payout to a tag once, and one without a deposit too", async () => {
    const { database } = db.store;
    paidOut("2".repeat(32), "AB", "7");
    expect(await at()).toBe(0n);
    const tagged = { ...xrp, payTo: receiver, tag: "7" };
    const deposit = {
      id: "3".repeat(32),
      address: encodeXAddress({ address: receiver, tag: "7" }),
      place: 7,
      agent: null,
    };
    giveAddress(db.store, deposit, tagged);
    const payment = { ...xrp, txHash: "AB", logIndex: 0, units: "100", block: 5, blockHash: "05" };
    const place = { address: deposit.address, final: 1, transactionId: deposit.id } as const;
    db.store.write((writing) => keepFinalPayment(writing, { ...payment, ...place }));
    expect(await at()).toBe(100n);
    paidOut("4".repeat(32), "CD", "");
    expect(await at()).toBe(100n);
    // Small payments are in a sum, which tells no hash but its newest.
    const { network: of, currency } = xrp;
    const small = {
      network: of,
      account: receiver,
      currency,
      kind: "dust",
      transactionId: "",
    } as const;
    for (const units of [60n, 40n])
      db.store.write((writing) =>
        addToSum(writing, { ...small, merchant: "m1", txHash: "CD", block: 5, units, end: null }),
      );
    expect([await at(), journalFaults(database)]).toEqual([200n, []]);
  });
});
