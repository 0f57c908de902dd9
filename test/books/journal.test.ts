/** The journal of money at its edges: openings, moves taken back, coins that get a name later. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Account, sheetsOf } from "../../gateway/books/accounts.ts";
import { addBookEntry } from "../../gateway/store/books.ts";
import { listMovesAfter, readAccount, unitsAt } from "../../gateway/store/journal.ts";
import { keepFinalPayment, removeFinalPayment } from "../../gateway/store/payments.ts";
import { keepNativeCoins } from "../../gateway/store/posting.ts";
import type { PaymentRow } from "../../gateway/store/rows.ts";
import { isOwnTopUp } from "../../gateway/store/top-ups.ts";
import { endWithdrawal, LaterSums } from "../../gateway/store/withdrawals.ts";
import {
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  insertTransaction,
} from "../../lab/kit/gateway-database.ts";
import { journalFaults } from "../../lab/kit/journal-audit.ts";

const network = "eip155:31337";
const hot = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const otherHot = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const address = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const request = "1".repeat(32);

let db: GatewayDatabase;
let made = 0;

beforeEach(() => {
  db = gatewayDatabase();
  made = 0;
  giveAddress(db.store, { id: request, address, place: 1, agent: null });
});
afterEach(() => db.remove());

const placeOf = (account: string, currency = "eth", on = network) => ({
  network: on,
  address: account,
  currency,
});

function open(account: string, units: bigint, block: number): void {
  const owner = { merchant: "m1", kind: "hot" } as const;
  db.store.write((database) =>
    addBookEntry(database, {
      ...{ ...placeOf(account), kind: "opening", units: `${units}`, block, at: 1 },
      ...{ operator: "", reason: "", owner },
    }),
  );
}

/** A transfer that ended in a block. */
function ended(change: Parameters<typeof insertTransaction>[1] | object): void {
  made += 1;
  const id = `${made}`.padStart(32, "a");
  insertTransaction(db.store, {
    ...{ id, orderId: id, operation: "withdraw", mode: "auto", payer: hot, receiver: otherHot },
    ...{ units: "100", status: 1, stage: "completed", txHash: `0x${made}`, feeUnits: "1" },
    finalBlock: 5,
    ...change,
  });
}

const paid = (units: string, block: number, change: Partial<PaymentRow> = {}): PaymentRow => ({
  ...{ network, txHash: "0x01", logIndex: 0, address, currency: "eth", units, block },
  ...{ blockHash: `hash ${block}`, final: 1, transactionId: request },
  ...change,
});

describe("an opening", () => {
  it("is the whole balance at its block, whatever moved before, and earlier moves that come late change nothing", () => {
    const { database } = db.store;
    ended({});
    open(hot, 1_000n, 10);
    expect([unitsAt(database, placeOf(hot), 10), unitsAt(database, placeOf(hot), 9)]).toEqual([
      1_000n,
      0n,
    ]);
    ended({ finalBlock: 10 });
    expect(unitsAt(database, placeOf(hot), 10)).toBe(1_000n);
    ended({ finalBlock: 11 });
    expect([unitsAt(database, placeOf(hot), 10), unitsAt(database, placeOf(hot), 11)]).toEqual([
      1_000n,
      899n,
    ]);
    open(hot, 7n, 12);
    expect([unitsAt(database, placeOf(hot), 12), journalFaults(database)]).toEqual([899n, []]);
  });

  it("keeps its balance when a move from before it is taken back, and when it comes again", () => {
    const { database } = db.store;
    const xrp = { network: "xrpl:0", currency: "xrp" };
    const payTo = "rHsMGQEkVNJmpGWs8XUBoTBiAAbwxZN5v3";
    const deposit = { id: "3".repeat(32), address: payTo, place: 7, agent: null };
    giveAddress(db.store, deposit, { ...xrp, payTo, tag: "" });
    const payment = paid("200", 90, { ...xrp, address: payTo, transactionId: deposit.id });
    db.store.write((writing) => keepFinalPayment(writing, payment));
    const owner = { merchant: "m1", kind: "hot" } as const;
    const place = placeOf(payTo, "xrp", xrp.network);
    db.store.write((writing) =>
      addBookEntry(writing, {
        ...{ ...place, kind: "opening", units: "500", block: 100, at: 1 },
        ...{ operator: "", reason: "", owner },
      }),
    );
    for (const act of [removeFinalPayment, keepFinalPayment, removeFinalPayment]) {
      db.store.write((writing) => act(writing, payment));
      expect([unitsAt(database, place, 100), journalFaults(database)]).toEqual([500n, []]);
    }
  });

  it("is none of a deposit address, and ends nothing", () => {
    db.store.write((database) => keepFinalPayment(database, paid("5", 5)));
    open(address, 9n, 10);
    expect(readAccount(db.store.database, placeOf(address))).toMatchObject({
      kind: "deposit",
      units: "5",
      openedBlock: null,
    });
  });
});

describe("a payment", () => {
  it("counts once, whatever is read again: other units, another block, gone and back", () => {
    const { database } = db.store;
    const at = (block: number): bigint => unitsAt(database, placeOf(address), block);
    const acts: readonly [
      typeof keepFinalPayment | typeof removeFinalPayment,
      PaymentRow,
      bigint,
      bigint,
    ][] = [
      [keepFinalPayment, paid("5", 5), 5n, 5n],
      [keepFinalPayment, paid("5", 5), 5n, 5n],
      [keepFinalPayment, paid("7", 5), 7n, 7n],
      [keepFinalPayment, paid("7", 8), 0n, 7n],
      [removeFinalPayment, paid("7", 8), 0n, 0n],
      [removeFinalPayment, paid("7", 8), 0n, 0n],
      [keepFinalPayment, paid("7", 8), 0n, 7n],
    ];
    for (const [act, payment, early, late] of acts) {
      db.store.write((writing) => act(writing, payment));
      expect([at(5), at(8), journalFaults(database)]).toEqual([early, late, []]);
    }
  });
});

describe("a transfer", () => {
  it("to its own account moves nothing but its fee; to another hot wallet it arrives there, also before that has books", () => {
    const { database } = db.store;
    open(hot, 1_000n, 1);
    ended({ receiver: hot });
    expect(unitsAt(database, placeOf(hot), 9)).toBe(999n);
    ended({});
    expect(readAccount(database, placeOf(otherHot))).toBeUndefined();
    open(otherHot, 0n, 4);
    ended({});
    expect([unitsAt(database, placeOf(hot), 9), unitsAt(database, placeOf(otherHot), 9)]).toEqual([
      797n,
      200n,
    ]);
    expect(journalFaults(database)).toEqual([]);
  });

  it("that ended by a transaction which is kept as a payment counts once, with its signature or without", () => {
    const { database } = db.store;
    const swept = "5".repeat(32);
    const sweep = { id: swept, operation: "sweep", payer: address, receiver: hot, currency: "usd" };
    insertTransaction(db.store, { ...sweep, units: "9", orderId: swept } as never);
    db.store.write((writing) =>
      keepFinalPayment(writing, paid("6", 5, { txHash: "0xtop", logIndex: -1 })),
    );
    expect(unitsAt(database, placeOf(address), 5)).toBe(6n);
    const topUp = { operation: "topup", payer: hot, receiver: address, currency: "usd" };
    ended({ ...topUp, orderId: swept, units: "6", feeUnits: "1", txHash: "0xtop" });
    expect([unitsAt(database, placeOf(address), 5), journalFaults(database)]).toEqual([6n, []]);
    // The same payment, read only after the end.
    expect(isOwnTopUp(database, paid("6", 5, { txHash: "0xtop", logIndex: -1 }))).toBe(true);
    expect(isOwnTopUp(database, paid("7", 5, { txHash: "0xtop", logIndex: -1 }))).toBe(false);
    expect(isOwnTopUp(database, paid("6", 5, { txHash: "0xother", logIndex: -1 }))).toBe(false);
    // A payout that another order signed is a payment, also where it ended a failed top-up.
    const signed = { ...topUp, orderId: "9".repeat(32), units: "6", feeUnits: "1" };
    insertTransaction(db.store, {
      ...sweep,
      id: signed.orderId,
      orderId: signed.orderId,
      units: "9",
    } as never);
    ended({
      ...signed,
      txHash: "0xpayout",
      status: 2,
      stage: "failed",
      code: "chain_slot_consumed",
    });
    expect(isOwnTopUp(database, paid("6", 5, { txHash: "0xpayout", logIndex: -1 }))).toBe(false);
    db.store.database.run(
      "INSERT INTO signatures VALUES (?, 1, 'agent', ?, ?, '0', '0xtop', '1', 1, 0, '', NULL, 0)",
      ...[swept, network, address],
    );
    expect(isOwnTopUp(database, paid("6", 5, { txHash: "0xtop", logIndex: -1 }))).toBe(false);
  });

  it("keeps its fee in the name that the coin had, whatever is settled after the coin has another", () => {
    const { database } = db.store;
    ended({ currency: "usd", feeUnits: "3" });
    const before = unitsAt(database, placeOf(hot), 5);
    db.store.write((writing) => keepNativeCoins(writing, new Map([[network, "ether"]])));
    open(otherHot, 7n, 2);
    expect(unitsAt(database, placeOf(hot), 5)).toBe(before);
    expect(unitsAt(database, placeOf(hot, "ether"), 5)).toBe(0n);
    // A fee from now on has the new name.
    ended({ currency: "usd", feeUnits: "4" });
    expect(unitsAt(database, placeOf(hot, "ether"), 5)).toBe(-4n);
  });

  it("to a hot wallet whose first move is a fee of the coin's first name arrives there, in whatever order", () => {
    const { database } = db.store;
    db.store.write((writing) => writing.run("DELETE FROM nativeCoins"));
    ended({ units: "6", payer: hot, receiver: otherHot, finalBlock: 5 });
    ended({
      units: "1",
      status: 2,
      payer: otherHot,
      receiver: "0xb",
      feeUnits: "9",
      finalBlock: 9,
    });
    ended({
      units: "1",
      status: 2,
      payer: otherHot,
      receiver: "0xa",
      feeUnits: "9",
      finalBlock: 2,
    });
    db.store.write((writing) => keepNativeCoins(writing, new Map([[network, "eth"]])));
    expect([unitsAt(database, placeOf(otherHot), 9), journalFaults(database)]).toEqual([-12n, []]);
  });

  it("whose coin gets a name later has its fee from then on, and a top-up what it brought", () => {
    const { database } = db.store;
    database.run("DELETE FROM nativeCoins");
    const sweep = "5".repeat(32);
    const ends = { payer: address, receiver: hot, currency: "usdt", units: "3" };
    insertTransaction(db.store, {
      ...{ ...ends, id: sweep, orderId: `${address}/1`, operation: "sweep", status: 1 },
      ...{ stage: "completed", feeUnits: "60", finalBlock: 6 },
    });
    const brings = { payer: hot, receiver: address, currency: "usdt", orderId: sweep };
    ended({ ...brings, operation: "topup", units: "100", feeUnits: "1", finalBlock: 5 });
    expect(unitsAt(database, placeOf(address), 9)).toBe(0n);
    const coins = new Map([[network, "eth"]]);
    for (const _ of ["once", "twice"]) {
      db.store.write((writing) => keepNativeCoins(writing, coins));
      expect([unitsAt(database, placeOf(address), 9), unitsAt(database, placeOf(hot), 9)]).toEqual([
        40n,
        -101n,
      ]);
    }
    expect(journalFaults(database)).toEqual([]);
  });
});

describe("transfers that end in one pass", () => {
  const end = (ids: readonly [string, number, string][]): void =>
    db.store.write((database) => {
      const later = new LaterSums();
      for (const [id, finalBlock, feeUnits] of ids) {
        const place = { txHash: `0x${id}`, feeUnits, finalBlock, changedAt: 1 };
        const ending = { status: 1, stage: "completed", code: "", ...place } as const;
        expect(endWithdrawal(database, id, ending, later)).toBe(true);
      }
      later.flush(database);
    });
  const unended = { status: 0, stage: "broadcast", txHash: "", feeUnits: "", finalBlock: null };
  const sweep = (id: string, units: string): void => {
    insertTransaction(db.store, {
      ...{ id, orderId: `${address}/1`, operation: "sweep", payer: address, receiver: hot },
      ...{ units, ...unended, status: 0 },
    });
  };
  const payout = (id: string, change: object): void => {
    insertTransaction(db.store, {
      ...{ id, orderId: id, operation: "withdraw", mode: "auto", payer: hot, receiver: otherHot },
      ...{ ...unended, status: 0, ...change },
    });
  };
  const [first, second] = ["6".repeat(32), "7".repeat(32)];

  it("and cancel out leave the balance between their blocks", () => {
    sweep(first, "9");
    payout(second, { units: "6" });
    end([
      [first, 6, "0"],
      [second, 7, "3"],
    ]);
    const { database } = db.store;
    const at = [5, 6, 7].map((block) => unitsAt(database, placeOf(hot), block));
    expect([at, journalFaults(database)]).toEqual([[0n, 9n, 0n], []]);
  });

  it("see a hot wallet that another of them gave its first row, and one that pays itself", () => {
    sweep(first, "9");
    payout(second, { payer: otherHot, receiver: hot, units: "4" });
    end([
      [first, 6, "0"],
      [second, 7, "1"],
    ]);
    const { database } = db.store;
    const held = [hot, otherHot].map((one) => unitsAt(database, placeOf(one), 9));
    expect([held, journalFaults(database)]).toEqual([[13n, -5n], []]);
    const third = "8".repeat(32);
    const alone = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65";
    payout(third, { payer: alone, receiver: alone, units: "4" });
    end([[third, 8, "1"]]);
    expect([unitsAt(database, placeOf(alone), 9), journalFaults(database)]).toEqual([-1n, []]);
  });
});

describe("a sheet", () => {
  it("counts no entry that is added while its pages are read, so that a closing leaves it alone", async () => {
    const { database } = db.store;
    open(hot, 10_000n, 1);
    db.store.write(() => {
      for (let at = 0; at < 500; at += 1) ended({ units: "1", feeUnits: "0", finalBlock: 20 });
    });
    const account: Account = { address: hot, merchant: "m1", kind: "hot", isOurs: true };
    const entry = { ...placeOf(hot), kind: "note", units: "-7", block: 21, at: 1 } as const;
    const owner = { merchant: "m1", kind: "hot" } as const;
    let notes = 0;
    const sheets = await sheetsOf(database, { network }, [account], 10, async () => {
      notes += 1;
      db.store.write((writing) =>
        addBookEntry(writing, { ...entry, operator: "ann", reason: "seen", owner }),
      );
    });
    const sheet = sheets.get(hot);
    expect([notes, sheet?.entries, sheet?.at("eth", 30)]).toEqual([1, 1, 9_500n]);
  });

  it("is of one moment, though moves are posted while it is read page by page", async () => {
    const { database } = db.store;
    open(hot, 10_000n, 1);
    db.store.write(() => {
      for (let at = 0; at < 501; at += 1) ended({ units: "1", feeUnits: "0", finalBlock: 20 });
    });
    const account: Account = { address: hot, merchant: "m1", kind: "hot", isOurs: true };
    let isLate = false;
    const sheets = await sheetsOf(database, { network }, [account], 10, async () => {
      if (!isLate) ended({ units: "100", feeUnits: "0", finalBlock: 21 });
      isLate = true;
    });
    const sheet = sheets.get(hot);
    expect([isLate, sheet?.at("eth", 10), sheet?.at("eth", 20), sheet?.at("eth", 30)]).toEqual([
      true,
      10_000n,
      9_499n,
      9_499n,
    ]);
  });
});

describe("the moves of an account", () => {
  it("come in the order of blocks, a page at a time", () => {
    for (const finalBlock of [9, 7, 8]) ended({ finalBlock, feeUnits: "0" });
    const page = listMovesAfter(db.store.database, network, hot, "out", { block: 7, number: 9 }, 1);
    expect(page.map(({ block, units }) => [block, units])).toEqual([[8, -100n]]);
  });
});
