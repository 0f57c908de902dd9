/**
 * Payments that nobody asked for: what one costs does not depend on how many came before, by counts
 * of statements, of rows read and kept, and of questions to the chain; nobody else waits for them;
 * and the sums of them explain balances, books and requests to the unit.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { familyOf } from "../../chains/families.ts";
import type { DetectedPayment, WatcherNodes } from "../../chains/nodes.ts";
import { encodeXAddress } from "../../chains/xrp/address.ts";
import { sheetsOf } from "../../gateway/books/accounts.ts";
import { explainedUnits } from "../../gateway/store/address-states.ts";
import { unsweptBalanceOf } from "../../gateway/store/journal.ts";
import {
  beginNewStraySums,
  listStrayTotals,
  paymentRowsMax,
  type StraySumRow,
} from "../../gateway/store/stray-sums.ts";
import type { Plant } from "../../lab/faults/items/plant-makers.ts";
import type { FamilyKey } from "../../lab/faults/items/plants.ts";
import { ItemWorld, type MerchantTransfer } from "../../lab/faults/items/world.ts";
import { journalFaults } from "../../lab/kit/journal-audit.ts";
import { repostRows } from "../../lab/kit/repost.ts";
import { isLongTier } from "../../lab/kit/share.ts";

interface Paid {
  readonly address: string;
  readonly units: bigint;
  readonly isWithoutTag?: boolean;
}

let world: ItemWorld;
let paid: Map<number, readonly Paid[]>; // by block
let questions = 0; // of the watcher to the chain
afterEach(() => world.close());

/** The same reader, whose questions are counted. */
function counted(honest: WatcherNodes): WatcherNodes {
  const entries = Object.entries(honest).map(([name, one]: [string, unknown]) => {
    if (typeof one !== "function") return [name, one];
    const ask = one as (...given: unknown[]) => unknown;
    return [
      name,
      (...given: unknown[]) => {
        if (name !== "status" && name !== "close") questions += 1;
        return ask(...given);
      },
    ];
  });
  return Object.fromEntries(entries) as WatcherNodes;
}

/** A world whose blocks hold whatever `paid` says, beside what the chain has. */
function worldOf(family: FamilyKey): ItemWorld {
  paid = new Map();
  const plant: Plant = {
    report: "public-bugs-coins.md 1, security.md A13",
    of: "request",
    wrap: (honest) => ({
      ...counted(honest),
      payments: async (blocks, contracts, addresses, isAgreed) => {
        questions += 1;
        const { found, unread } = await honest.payments(blocks, contracts, addresses, isAgreed);
        const more = blocks.flatMap(({ number: block, hash: blockHash }) =>
          (paid.get(block) ?? []).map(
            ({ address, units: amountUnits }, at): DetectedPayment => ({
              ...{
                txHash: world.chain.hashOf(`paid ${block} ${at}`),
                index: -1,
                address,
                contract: "",
                amountUnits,
                block,
                blockHash,
              },
            }),
          ),
        );
        return { found: [...found, ...more], unread };
      },
    }),
  };
  world = new ItemWorld(family, plant);
  world.fund();
  return world;
}

async function block(payments: readonly Paid[] = []): Promise<number> {
  world.nowMs += 3_000;
  const number = world.chain.mine(world.nowMs);
  if (payments.length > 0) paid.set(number, payments);
  await world.pass();
  return number;
}

interface Cost {
  readonly rows: number; // statements, and the rows that they return
  readonly questions: number;
}

/** The cost of the passes of a block, until it is final. */
async function costOf(payments: readonly Paid[]): Promise<Cost> {
  const { database } = world;
  const real = { get: database.get, all: database.all, run: database.run };
  let count = 0;
  const counting = database as unknown as Record<
    "get" | "all" | "run",
    (...given: never[]) => unknown
  >;
  for (const name of ["get", "all", "run"] as const)
    counting[name] = (...given) => {
      const told = (real[name] as (...given: never[]) => unknown).apply(database, given);
      count += 1 + (Array.isArray(told) ? told.length : 0);
      return told;
    };
  const before = questions;
  await block(payments);
  await block();
  Object.assign(database, real);
  return { rows: count, questions: questions - before };
}

const rows = (table: string): number =>
  world.database.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n ?? 0;
const sums = () =>
  world.database.all<StraySumRow>("SELECT * FROM straySums ORDER BY fromBlock, kind");
const alarms = () =>
  world.database.all<{ subject: string }>(
    "SELECT subject FROM audit WHERE act = 'alarm WATCHER_STRAYS'",
  );
const rowOf = ({ id }: MerchantTransfer) =>
  world.database.get<{ status: number; stage: string; receivedUnits: string; late: number }>(
    "SELECT status, stage, receivedUnits, late FROM deposits WHERE id = ?",
    id,
  );

/** The quick tier ends at the 3,000th. */
const perBlock = isLongTier ? 1_000 : 500;
const blocks = isLongTier ? 50 : 6;
const drop = 1n;
const dayMs = 86_400_000;

interface Story {
  readonly name: string;
  readonly family: FamilyKey;
  /** The payments of block `at`, to merchant A's request or account. */
  readonly to: (request: MerchantTransfer, at: number, of: number) => Paid;
  readonly isClosed?: boolean;
  /** Rows of `payments` in the end. */
  readonly rows: number;
}

const accountOf = (address: string): string =>
  familyOf(world.network).accounts.payeeOf(address).address;
const tagged = (request: MerchantTransfer, tag: number): string =>
  encodeXAddress({ address: accountOf(request.address), tag: `${tag}` });

const stories: readonly Story[] = [
  {
    name: "drops with tags of nobody to an XRP account",
    family: "xrp",
    to: (request, at, of) => ({
      address: tagged(request, 3_000_000_000 + at * perBlock + of),
      units: drop,
    }),
    rows: 0,
  },
  {
    name: "drops without a tag to an XRP account",
    family: "xrp",
    to: (request) => ({ address: accountOf(request.address), units: drop }),
    rows: 0,
  },
  {
    name: "payments of an XRP with tags of nobody",
    family: "xrp",
    to: (request, at, of) => ({
      address: tagged(request, 3_000_000_000 + at * perBlock + of),
      units: 1_000_000n,
    }),
    rows: paymentRowsMax,
  },
  {
    name: "drops with the tag of an open request",
    family: "xrp",
    to: ({ address }) => ({ address, units: drop }),
    rows: paymentRowsMax,
  },
  {
    name: "coins of one Bitcoin address whose request is open",
    family: "bitcoin",
    to: ({ address }) => ({ address, units: 300n }),
    rows: paymentRowsMax,
  },
  {
    name: "coins of one Bitcoin address whose request is over",
    family: "bitcoin",
    isClosed: true,
    to: ({ address }) => ({ address, units: 300n }),
    rows: 0,
  },
];

describe("the 50,000th payment that nobody asked for costs what the 1,000th did", () => {
  it.each(stories)("$name", async ({ name, family, to, isClosed, rows: kept }) => {
    worldOf(family);
    await world.settle();
    await world.order("A", "coin", isClosed === true ? 1_000 : undefined);
    const [request] = world.requests as [MerchantTransfer];
    await world.settle();
    if (isClosed === true) expect(rowOf(request)).toMatchObject({ status: 2 });
    const costs: Cost[] = [];
    for (let at = 0; at < blocks; at += 1) {
      const payments = Array.from({ length: perBlock }, (_, of) => to(request, at, of));
      costs.push(await costOf(payments));
      // The runner hears of the test only between two turns.
      await nextTurn();
    }
    const [first, second, last] = [costs[0], costs[paymentRowsMax / perBlock], costs.at(-1)] as [
      Cost,
      Cost,
      Cost,
    ];
    if (isLongTier)
      process.stderr.write(
        `${name}, a block of ${perBlock}: ${JSON.stringify({ first, second, last })}\n`,
      );
    // The first thousand may be rows; from the next one on nothing grows.
    for (const { rows: cost, questions: asked } of [first, second]) {
      expect(last.rows).toBeLessThanOrEqual(1.5 * cost);
      expect(last.questions).toBeLessThanOrEqual(1.5 * asked);
    }
    expect(rows("payments WHERE final = 1")).toBe(kept);
    expect(rows("straySums")).toBeLessThan(4);
    expect(rows("addresses WHERE origin = 'stray'")).toBeLessThanOrEqual(paymentRowsMax);
    const summed = sums().reduce((all, { count }) => all + count, 0);
    expect(summed + kept).toBe(blocks * perBlock);
    if (family === "xrp")
      expect(alarms()).toHaveLength(
        kept === paymentRowsMax && to(request, 0, 0).units > drop ? 1 : 0,
      );
    // Another merchant's request is paid in the next block beside as many, and is not later for it.
    await world.order("B", "coin");
    const other = world.requests.at(-1) as MerchantTransfer;
    const { address } = other;
    const units = 10n ** BigInt(world.currencies[0]?.decimal ?? 0);
    await costOf([
      ...Array.from({ length: perBlock }, (_, of) => to(request, blocks, of)),
      { address, units },
    ]);
    expect(rowOf(other)).toMatchObject({ status: 1 });
  });
});

describe("sums of payments", () => {
  it("count for the open request that got them, and complete it", async () => {
    worldOf("bitcoin");
    await world.settle();
    await world.order("A", "coin");
    const [request] = world.requests as [MerchantTransfer];
    const half = { address: request.address, units: 50_000_000n };
    await block([
      ...Array.from({ length: paymentRowsMax }, () => ({ ...half, units: 300n })),
      half,
    ]);
    await block();
    expect(rowOf(request)).toMatchObject({
      status: 0,
      receivedUnits: `${paymentRowsMax * 300 + 50_000_000}`,
    });
    await block([half]);
    await block();
    expect(rowOf(request)).toMatchObject({
      status: 1,
      receivedUnits: `${paymentRowsMax * 300 + 100_000_000}`,
    });
    expect(sums()).toMatchObject([
      {
        kind: "more",
        transactionId: request.id,
        count: 2,
        units: "100000000",
        largest: "50000000",
      },
    ]);
    // A sweep takes what counted, and a start counts the same.
    const held = unsweptBalanceOf(world.database, request.address, world.network, "coin");
    expect(held).toBe(BigInt(paymentRowsMax) * 300n + 100_000_000n);
    expect(journalFaults(world.store.database)).toEqual([]);
  });

  it("of small coins are left out of sweeps on a chain of coins, and belong to them on an account chain", async () => {
    for (const [family, expected] of [
      ["bitcoin", 0n],
      ["evm", 600n],
    ] as const) {
      worldOf(family);
      await world.settle();
      await world.order("A", "coin", 1_000);
      const [request] = world.requests as [MerchantTransfer];
      await world.settle();
      await block([{ address: request.address, units: 300n }]);
      await block([{ address: request.address, units: 300n }]);
      await block();
      expect(rowOf(request)).toMatchObject({ status: 2, receivedUnits: "0", late: 0 });
      expect(unsweptBalanceOf(world.database, request.address, world.network, "coin")).toBe(
        expected,
      );
      expect(journalFaults(world.store.database)).toEqual([]);
      expect(listStrayTotals(world.database, { account: request.address })).toMatchObject([
        { count: 2, units: 600n, largest: 300n },
      ]);
      if (family === "bitcoin") await world.close();
    }
  });

  it("are late behind the end of the request, and in time before", async () => {
    worldOf("xrp");
    await world.settle();
    await world.order("A", "coin");
    const [request] = world.requests as [MerchantTransfer];
    const one = { address: request.address, units: 100n };
    await block(Array.from({ length: paymentRowsMax + 5 }, () => one));
    await block();
    world.database.run(
      "UPDATE deposits SET endBlock = ? WHERE id = ?",
      world.chain.final,
      request.id,
    );
    await block([one, one]);
    await block();
    expect(sums().map(({ count }) => count)).toEqual([5, 2]);
    expect(rowOf(request)).toMatchObject({
      status: 0,
      receivedUnits: `${(paymentRowsMax + 5) * 100}`,
    });
  });

  it("explain the balance of an address and the books at the end of each block that is compared", async () => {
    worldOf("evm");
    await world.settle();
    await world.order("A", "coin", 1_000);
    const [request] = world.requests as [MerchantTransfer];
    await world.settle();
    const dust = { address: request.address, units: 300n };
    const first = await block([dust]);
    await block([dust]);
    await block();
    const place = { network: world.network, address: request.address, currency: "coin" };
    const explained = (at: number, sumsBeyond: "counted" | "left out"): bigint =>
      explainedUnits(world.database, place, at, sumsBeyond);
    expect([
      explained(first + 1, "counted"),
      explained(first, "counted"),
      explained(first, "left out"),
    ]).toEqual([600n, 600n, 0n]);
    // The books begin a new sum at the block that they compare, and so many blocks have their own.
    const compared = world.chain.final;
    world.store.write((database) => beginNewStraySums(database, world.network, compared));
    await block([dust]);
    await block([dust]);
    await block();
    expect(sums().map(({ count }) => count)).toEqual([2, 1, 1]);
    const account = {
      address: request.address,
      merchant: "m1",
      kind: "deposit",
      isOurs: true,
    } as const;
    const { network } = world;
    const sheets = await sheetsOf(world.database, { network }, [account], 0, async () => {});
    const sheet = sheets.get(request.address);
    expect([compared, compared + 1, compared + 2].map((at) => sheet?.at("coin", at))).toEqual([
      600n,
      600n,
      900n,
    ]);
  });

  it("count a block once, however often it is read", async () => {
    worldOf("xrp");
    await world.settle();
    await world.order("A", "coin");
    const [request] = world.requests as [MerchantTransfer];
    await block([{ address: tagged(request, 4_000_000_000), units: drop }]);
    await block();
    expect(sums()).toMatchObject([
      { kind: "dust", merchant: "m1", count: 1, account: accountOf(request.address) },
    ]);
    world.database.run(
      "UPDATE cursors SET block = ?, hash = ?",
      0,
      (await world.chain.reader().block(0, true)).hash,
    );
    await block();
    await block();
    expect(sums()).toMatchObject([{ count: 1, units: "1" }]);
  });

  it("have a payment alone when its block is read again on another day; one that no sum has becomes a row", async () => {
    worldOf("evm");
    await world.settle();
    await world.order("A", "coin", 1_000);
    const [request] = world.requests as [MerchantTransfer];
    await world.settle();
    const units = 10n ** 16n; // above the least payment
    const explained = (): bigint => {
      const where = { network: world.network, address: request.address, currency: "coin" };
      return explainedUnits(world.database, where, world.chain.final);
    };
    const again = async (from: number): Promise<void> => {
      world.nowMs += dayMs;
      const back = await world.chain.reader().block(from - 1, true);
      world.database.run("UPDATE cursors SET block = ?, hash = ?", back.number, back.hash);
      await world.settle();
    };
    const sql = "INSERT INTO strayRecords (network, account, day, count) VALUES (?, ?, ?, ?)";
    world.database.run(
      sql,
      world.network,
      request.address,
      Math.floor(world.nowMs / dayMs),
      paymentRowsMax,
    );
    const first = await block([{ address: request.address, units }]);
    await world.settle();
    expect([explained(), sums().length, rows("payments")]).toEqual([units, 1, 0]);
    await again(first);
    expect([explained(), sums().length, rows("payments")]).toEqual([units, 1, 0]);
    // Another block at this height, as after a weak finality, may have what none had before.
    world.database.run("DELETE FROM straySums");
    repostRows(world.store);
    await again(first);
    expect([explained(), sums().length, rows("payments")]).toEqual([units, 0, 1]);
  });
});
