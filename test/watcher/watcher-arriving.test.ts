/**
 * Payments to open requests that no block has: shown and never credited, and the request that stays
 * open for one that was seen in time.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import type { ArrivingPayment, ArrivingPayments } from "../../chains/nodes.ts";
import { isHeldOpen, listArrivingPayments } from "../../gateway/store/arriving.ts";
import { keepDetectedPayment, keepFinalPayment } from "../../gateway/store/payments.ts";
import { newArrivingMemory, watchArriving } from "../../gateway/watcher/arriving.ts";
import type { Tip, WatchedChain } from "../../gateway/watcher/chain.ts";
import { newCompareMemory } from "../../gateway/watcher/compare-lists.ts";
import {
  endOverdueRequests,
  keepRequestEnds,
  newRequestEndMemory,
} from "../../gateway/watcher/ends.ts";
import { judgeRequests } from "../../gateway/watcher/payments.ts";
import {
  type AgentKeys,
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  pairAgent,
  readTransaction,
} from "../../lab/kit/gateway-database.ts";
import { watchedBy } from "../support/watched-by.ts";
import { currency } from "../support/watched-chain.ts";

const network = "bip122:000000000019d6689c085ae165831e93";
const hourMs = 3_600_000;
const endMs = 10 * hourMs;
const address = (index: number): string => `an address ${index}`;
const txHash = "a".repeat(64);

let db: GatewayDatabase;
let keys: AgentKeys;
let nowMs: number;
let head: number;
let shown: Map<string, ArrivingPayments>;
let asked: string[];
let away: ReadonlySet<string>; // addresses of which no node tells
const memory = {
  arriving: newArrivingMemory(),
  ends: newRequestEndMemory(),
  compare: newCompareMemory(),
};
beforeEach(() => {
  db = gatewayDatabase();
  keys = pairAgent(db.store);
  nowMs = endMs - hourMs;
  head = 100;
  shown = new Map();
  asked = [];
  away = new Set();
  Object.assign(memory, {
    arriving: newArrivingMemory(),
    ends: newRequestEndMemory(),
    compare: newCompareMemory(),
  });
});
afterEach(() => db.remove());

function request(index = 0, change: object = {}): string {
  const id = (index + 1).toString(16).padStart(32, "d");
  const place = { id, address: address(index), place: index, agent: keys.id };
  const asks = {
    network,
    currency: "btc",
    units: "1000",
    toleranceUnits: "0",
    expiresAt: endMs,
  };
  giveAddress(db.store, place, { orderId: `d-${index}`, ...asks, ...change });
  return id;
}

function chainOf(confirmingMs = 24 * hourMs): WatchedChain {
  const reader = {
    status: () => [],
    timestamp: async () => nowMs / 1000,
    arriving: async (addresses: readonly string[]) => {
      asked.push(...addresses);
      const fault = new AgentError("NODE_UNREACHABLE", "none", "away");
      return addresses.map((one) =>
        away.has(one)
          ? { ok: false as const, fault }
          : { ok: true as const, value: shown.get(one) ?? { isWhole: true, payments: [] } },
      );
    },
  };
  const currencies = [{ ...currency("btc", ""), decimal: 8 }];
  return watchedBy({ db, network, reader, currencies, confirmingMs, clock: () => nowMs });
}

const tip = (): Tip => ({
  head: { number: head, hash: `${head}` },
  final: { number: head, hash: `${head}` },
  askedAt: nowMs,
});

const commit = (fn: Parameters<typeof db.store.write>[0]): void => void db.store.write(fn);

/** A pass over open requests and their ends, at a time later by so much. */
async function pass(chain: WatchedChain, laterMs = 30_000): Promise<void> {
  nowMs += laterMs;
  head += 1;
  await watchArriving(chain, tip(), memory.arriving);
  const over = await keepRequestEnds(chain, memory.ends, tip(), commit as never);
  // In the coin the comparison of balances ends what is over; here it has compared all.
  for (const { id } of over)
    db.store.write((database) =>
      judgeRequests(chain, database, [id], memory.ends.ends.has(id) ? nowMs : 0),
    );
  endOverdueRequests(chain, memory.compare, over, tip(), commit as never);
}

const payment = (change: Partial<ArrivingPayment> = {}): ArrivingPayment => ({
  ...{ txHash, units: 1000n, isReplaceable: false, isSure: true },
  ...change,
});
const show = (index: number, ...payments: readonly ArrivingPayment[]): void => {
  shown.set(address(index), { isWhole: true, payments });
};
const row = (id: string) => readTransaction(db.store, id);
const isHeld = (id: string): boolean => isHeldOpen(db.store.database, id);

/** A block has the payment: a final one, or one that may still leave the chain. */
function include(
  chain: WatchedChain,
  id: string,
  units = 1000,
  hash = txHash,
  final: 0 | 1 = 1,
): void {
  db.store.write((database) => {
    const keep = final === 1 ? keepFinalPayment : keepDetectedPayment;
    keep(database, {
      ...{
        network,
        txHash: hash,
        logIndex: 0,
        address: row(id).address,
        currency: "btc",
        units: `${units}`,
      },
      ...{ transactionId: id, block: head, blockHash: `${head}`, final },
    });
    judgeRequests(chain, database, [id], 0);
  });
}

describe("a payment that no block has", () => {
  it("shows as a stage of its own, credits nothing, and goes when no node shows it any more", async () => {
    const chain = chainOf();
    const id = request();
    show(0, payment({ units: 400n }));
    await pass(chain);
    expect(row(id)).toMatchObject({ status: 0, stage: "unconfirmed", receivedUnits: "0" });
    expect(isHeld(id)).toBe(false);
    show(0);
    await pass(chain, 60_000);
    expect(row(id)).toMatchObject({ stage: "unconfirmed" });
    await pass(chain, 60_000);
    expect(row(id)).toMatchObject({ stage: "waiting" });
    expect(listArrivingPayments(db.store.database, id)).toEqual([]);
  });

  it("that was whole, sure and in time keeps its request open past the end, and counts in whatever block it comes", async () => {
    const chain = chainOf();
    const [held, other] = [request(0), request(1)];
    show(0, payment());
    await pass(chain);
    expect([isHeld(held), isHeld(other)]).toEqual([true, false]);
    await pass(chain, hourMs);
    await pass(chain);
    expect(row(other)).toMatchObject({ status: 2, stage: "expired" });
    expect(row(held)).toMatchObject({ status: 0, stage: "unconfirmed" });
    show(0);
    include(chain, held);
    expect(row(held)).toMatchObject({ status: 1, stage: "completed", late: 0 });
    expect(listArrivingPayments(db.store.database, held)).toEqual([]);
  });

  it.each([
    ["a part of the sum", { units: 999n }],
    ["one that is not sure", { isSure: false }],
  ])("holds nothing as %s", async (_, change) => {
    const chain = chainOf();
    const id = request();
    show(0, payment(change));
    await pass(chain);
    expect(isHeld(id)).toBe(false);
    await pass(chain, hourMs);
    await pass(chain);
    expect(row(id)).toMatchObject({ status: 2, stage: "expired" });
  });

  it("holds nothing when it came after the end, or where no hours are given", async () => {
    const chain = chainOf();
    const id = request();
    await pass(chain, hourMs - 1_000);
    nowMs = endMs;
    show(0, payment());
    await pass(chain);
    expect(isHeld(id)).toBe(false);
    const never = chainOf(0);
    const second = request(1, { expiresAt: nowMs + hourMs });
    show(1, payment());
    await pass(never);
    expect([row(second).stage, isHeld(second)]).toEqual(["unconfirmed", false]);
  });

  it("counts in a block behind the end, which was named while nobody said what is on its way", async () => {
    const chain = chainOf();
    const [held, unsure] = [request(0), request(1)];
    const hash = "b".repeat(64);
    show(0, payment());
    show(1, payment({ txHash: hash, isSure: false }));
    await pass(chain);
    nowMs += 26 * hourMs;
    await keepRequestEnds(chain, memory.ends, tip(), commit as never);
    head += 1;
    include(chain, held);
    include(chain, unsure, 1000, hash);
    db.store.write((database) => judgeRequests(chain, database, [held, unsure], nowMs));
    expect(row(held)).toMatchObject({ status: 1, late: 0 });
    expect(row(unsure)).toMatchObject({ status: 2, late: 1 });
  });

  it("counts together with what blocks have, and with its replacement at a higher fee", async () => {
    const chain = chainOf();
    const id = request();
    include(chain, id, 300, "b".repeat(64));
    show(0, payment({ units: 700n }));
    await pass(chain);
    expect(isHeld(id)).toBe(true);
    show(0, payment({ units: 700n, txHash: "c".repeat(64), isSure: false }));
    await pass(chain, hourMs);
    include(chain, id, 700, "c".repeat(64));
    expect(row(id)).toMatchObject({ status: 1, late: 0 });
  });

  it("is not held as a replacement that pays less, and holds no more once a final block has it", async () => {
    const chain = chainOf();
    const [taken, paid] = [request(0), request(1)];
    show(0, payment());
    show(1, payment({ txHash: "e".repeat(64) }));
    await pass(chain);
    show(0, payment({ units: 5n, txHash: "c".repeat(64) }));
    await pass(chain);
    const held = listArrivingPayments(db.store.database, taken).map(
      ({ txHash: hash, isHeld: one }) => [hash.charAt(0), one],
    );
    expect(held).toEqual([
      ["a", 1],
      ["c", 0],
    ]);
    include(chain, paid, 400, "e".repeat(64));
    expect([isHeld(taken), isHeld(paid)]).toEqual([true, false]);
  });

  it("holds no more when no node has shown it for an hour, and not because a node was away", async () => {
    const chain = chainOf();
    const id = request();
    show(0, payment());
    await pass(chain);
    shown.set(address(0), { isWhole: false, payments: [] });
    await pass(chain, 3 * hourMs);
    expect([row(id).status, isHeld(id)]).toEqual([0, true]);
    show(0);
    await pass(chain);
    await pass(chain);
    expect([row(id).status, isHeld(id)]).toEqual([2, false]);
  });

  it("is held by a block behind the hours that are given, though a slow node still shows it", async () => {
    const chain = chainOf();
    const [seen, shownAlone] = [request(0), request(1)];
    show(0, payment());
    show(1, payment({ txHash: "b".repeat(64) }));
    await pass(chain);
    await pass(chain, 23 * hourMs);
    include(chain, seen, 1000, txHash, 0);
    await pass(chain, 3 * hourMs);
    expect([isHeld(seen), isHeld(shownAlone)]).toEqual([true, false]);
    include(chain, seen);
    expect(row(seen)).toMatchObject({ status: 1, late: 0 });
  });

  it("holds no more after an hour of answers without it, also where a node is away for good, and not by looks without an answer", async () => {
    const chain = chainOf();
    const [gone, unanswered] = [request(0), request(1)];
    show(0, payment());
    show(1, payment({ txHash: "e".repeat(64) }));
    await pass(chain);
    for (const index of [0, 1]) shown.set(address(index), { isWhole: false, payments: [] });
    for (let at = 0; at < 60; at += 1) {
      // Every second look at the second request has no answer, so that no time between two answers
      // counts.
      away = at % 2 === 0 ? new Set([address(1)]) : new Set();
      await pass(chain, 60_000);
    }
    expect([isHeld(gone), isHeld(unanswered)]).toEqual([true, true]);
    await pass(chain, 60_000);
    expect([isHeld(gone), isHeld(unanswered)]).toEqual([false, true]);
    for (const one of [[address(1)], []]) {
      away = new Set(one);
      await pass(chain, 5 * 60_000);
    }
    expect(isHeld(unanswered)).toBe(true);
  });

  it("is one of at most 64 rows, the last shown and the largest, whatever a node makes up", async () => {
    const chain = chainOf();
    const id = request();
    for (let look = 0; look < 4; look += 1) {
      const dust = (at: number) =>
        payment({ txHash: `${look}x${at}`.padStart(64, "0"), units: 1n, isSure: false });
      const all = [
        ...Array.from({ length: 50 }, (_, at) => dust(at)),
        payment({ units: 400n, isSure: false }),
      ];
      shown.set(address(0), { isWhole: false, payments: all });
      await pass(chain);
      expect(listArrivingPayments(db.store.database, id)).toHaveLength(look === 0 ? 51 : 64);
    }
    expect(listArrivingPayments(db.store.database, id).map(({ txHash: hash }) => hash)).toContain(
      txHash,
    );
  });

  it("holds no longer than the hours that are given", async () => {
    const chain = chainOf(2 * hourMs);
    const id = request();
    show(0, payment());
    await pass(chain);
    await pass(chain, 2 * hourMs);
    expect(row(id).status).toBe(0);
    await pass(chain, hourMs);
    await pass(chain);
    expect(row(id).status).toBe(2);
  });
});

describe("the looks at open requests", () => {
  it("go round in turn, sixteen in a pass and a lap in half a minute at the quickest", async () => {
    const chain = chainOf();
    for (let index = 0; index < 20; index += 1) request(index);
    for (const seconds of [0, 1, 1, 27]) await pass(chain, seconds * 1_000);
    expect(asked).toEqual(Array.from({ length: 20 }, (_, index) => address(index)));
    await pass(chain, 1_000);
    expect(asked).toHaveLength(36);
  });

  it("are of merchants in turn, and of a merchant at the nearest end first", async () => {
    const chain = chainOf();
    db.store.database.run("INSERT INTO merchants (id, name, createdAt) VALUES ('m9', 'Other', 0)");
    for (let index = 0; index < 60; index += 1) request(index);
    request(60, { expiresAt: endMs - 55 * 60_000 });
    request(61, { merchant: "m9", expiresAt: endMs + hourMs });
    await pass(chain, 0);
    expect(asked).toHaveLength(16);
    expect(asked[0]).toBe(address(60));
    expect(asked).toContain(address(61));
    await pass(chain, 1_000);
    expect(asked.slice(16)).toEqual(Array.from({ length: 16 }, (_, at) => address(14 + at)));
  });

  it("are a twentieth of a long list in a pass, and at most 6,000 in an hour", async () => {
    const chain = chainOf();
    for (let index = 0; index < 200; index += 1) request(index);
    const of = {
      network,
      currency: "btc",
      units: "1000",
      toleranceUnits: "0",
      expiresAt: endMs,
    };
    for (let index = 0; index < 200; index += 1) {
      const place = {
        id: (index + 1).toString(16).padStart(32, "0"),
        address: address(200 + index),
        place: 200 + index,
        agent: keys.id,
      };
      giveAddress(db.store, place, { orderId: `e-${index}`, ...of });
    }
    await pass(chain, 0);
    expect(asked).toHaveLength(20);
    const beginsAt = asked.length;
    for (let at = 0; at < 120; at += 1) await pass(chain, 5_000);
    const count = asked.length - beginsAt;
    expect([count > 990, count <= 1_064]).toEqual([true, true]);
  });
});
