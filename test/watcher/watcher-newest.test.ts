/**
 * Comparing where nodes tell the newest balance alone, as on Tron: over random interleavings of
 * direct payments, coins by contracts that receipts name or do not name, entries that move nothing
 * (staked coins), nodes at different blocks and restarts, nothing counts twice, nothing is lost.
 * Reported for such software: tronprotocol/java-tron #3064 and #6119 (nodes without internal
 * transactions); trezor/blockbook (entries of delegated resources that move no coin).
 */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { goodResult } from "../../base/result.ts";
import type {
  BalanceQuestion,
  DetectedPayment,
  WatchedBlock,
  WatcherNodes,
} from "../../chains/nodes.ts";
import { keepIssuedComparison } from "../../gateway/store/address-states.ts";
import { unsweptBalanceOf } from "../../gateway/store/journal.ts";
import type { Tip } from "../../gateway/watcher/chain.ts";
import { newDepositMemory } from "../../gateway/watcher/deposit-memory.ts";
import {
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  insertTransaction,
  readTransaction,
} from "../../lab/kit/gateway-database.ts";
import { repostRows } from "../../lab/kit/repost.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";
import { scan, watchedBy } from "../support/watched-by.ts";
import { currency } from "../support/watched-chain.ts";

const network = "tron:0x2b6653dc";
const addresses = ["TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"];
const solidLag = 19;

/** A movement in a block; only a staked entry moves nothing. */
interface Move {
  readonly kind: "direct" | "named" | "unnamed" | "staked";
  readonly address: string;
  readonly units: bigint;
}

let db: GatewayDatabase;
let blocks: Move[][];
let ahead: () => number; // blocks that a node is ahead of the final block when it tells a balance
let tipBehind: () => number; // blocks that the node which tells the tip lags behind the others
const clock = { nowMs: 0 };

const idOf = (at: number): string => `${at + 1}`.repeat(32);
const head = (): number => blocks.length - 1;
const final = (): number => Math.max(0, head() - solidLag);
const hashOf = (number: number): string => `block ${number}`;

beforeEach(() => {
  db = gatewayDatabase();
  blocks = [[]];
  ahead = () => 0;
  tipBehind = () => 0;
  clock.nowMs = 1_000_000;
  for (const [at, address] of addresses.entries()) {
    const id = idOf(at);
    const row = { network, currency: "trx", units: "900000", createdAt: 0, expiresAt: 1e15 };
    giveAddress(db.store, { id, address, place: at, agent: null }, row);
    keepIssuedComparison(db.store.database, {
      network,
      address,
      block: 0,
      comparedAt: clock.nowMs,
    });
  }
});
afterEach(() => db.remove());

function balanceAt(address: string, block: number): bigint {
  const moves = blocks.slice(0, block + 1).flat();
  return moves.reduce(
    (sum, one) => (one.address === address && one.kind !== "staked" ? sum + one.units : sum),
    0n,
  );
}

function namedIn({ number, hash }: WatchedBlock): readonly DetectedPayment[] {
  return (blocks[number] ?? []).flatMap(({ kind, address, units }, at) => {
    if (kind === "unnamed") return [];
    const txHash = `${number} ${at}`;
    return [
      {
        txHash,
        index: kind === "direct" ? -1 : -2,
        address,
        contract: "",
        amountUnits: units,
        block: number,
        blockHash: hash,
      },
    ];
  });
}

const reader: Partial<WatcherNodes> = {
  tellsNewestBalances: true,
  tip: async () => {
    const number = Math.max(0, head() - tipBehind());
    return { number, hash: hashOf(number) };
  },
  highestHead: async () => head(),
  finalTip: async () => ({ number: final(), hash: hashOf(final()) }),
  status: () => [],
  timestamp: async () => Math.ceil(clock.nowMs / 1_000),
  block: async (number: number) => ({
    number,
    hash: hashOf(number),
    parentHash: hashOf(number - 1),
    content: null as never,
  }),
  outgoing: async () => ({ found: [], unread: [] }),
  payments: async (some: readonly WatchedBlock[]) => ({ found: some.flatMap(namedIn), unread: [] }),
  balances: async (questions: readonly BalanceQuestion[]) =>
    questions.map(({ account }) =>
      goodResult(balanceAt(account, Math.min(final() + ahead(), head()))),
    ),
};

async function pass(memory: ReturnType<typeof newDepositMemory>): Promise<void> {
  const tip = (): Tip => ({
    ...{
      head: { number: head(), hash: hashOf(head()) },
      final: { number: final(), hash: hashOf(final()) },
    },
    askedAt: clock.nowMs,
  });
  await scan(
    watchedBy({ db, network, reader, currencies: [currency("trx", "")], clock: () => clock.nowMs }),
    tip,
    memory,
  );
}

const credited = (at: number): bigint =>
  unsweptBalanceOf(db.store.database, addresses[at]!, network, "trx");

/** An address of which no process knows yet what lay there before. */
function forgetLooks(): void {
  db.store.database.run("DELETE FROM addressStates");
}

function expectNothingTwice(): void {
  for (const [at, address] of addresses.entries())
    expect(credited(at)).toBeLessThanOrEqual(balanceAt(address, final()));
}

describe("an address that left before anybody had looked at it", () => {
  it.each(["named", "direct"] as const)(
    "gets what came since, and nothing of it is a baseline (%s)",
    async (kind) => {
      forgetLooks();
      const memory = newDepositMemory(network);
      await pass(memory);
      forgetLooks();
      blocks.push([{ kind, address: addresses[0]!, units: 700n }]);
      for (let block = 0; block < solidLag; block += 1) blocks.push([]);
      // The blocks are read up to the payment, and the first look at the balance is behind it.
      const other = newDepositMemory(network);
      for (let round = 0; round < 4; round += 1) {
        await pass(other);
        for (let block = 0; block <= solidLag; block += 1) blocks.push([]);
      }
      expect(credited(0)).toBe(700n);
    },
  );
});

describe("a provider whose machines do not stand at one block", () => {
  const mine = (count: number): void => {
    for (let block = 0; block < count; block += 1) blocks.push([]);
  };
  const unnamed = (): readonly string[] =>
    db.store.database
      .all<{ units: string }>("SELECT units FROM payments WHERE txHash LIKE 'internal:%'")
      .map(({ units }) => units);
  const compared = async (): Promise<void> => {
    clock.nowMs += 21 * 3_600_000;
    const memory = newDepositMemory(network);
    for (let round = 0; round < 3; round += 1) {
      await pass(memory);
      mine(solidLag + 1);
    }
  };

  it("a provider that tells a balance from before a sweep makes no payment of it, and what comes later is one", async () => {
    const address = addresses[0]!;
    blocks.push([{ kind: "direct", address, units: 700n }]);
    mine(solidLag + 1);
    await pass(newDepositMemory(network));
    expect(credited(0)).toBe(700n);
    blocks.push([{ kind: "unnamed", address, units: -700n }]);
    const sweep = {
      network,
      currency: "trx",
      units: "700",
      payer: address,
      receiver: "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH",
      orderId: `${address}/1`,
    };
    insertTransaction(db.store, { id: "f".repeat(32), operation: "sweep", ...sweep });
    db.store.database.run(
      "UPDATE transfers SET status = 1, finalBlock = ? WHERE operation = 'sweep'",
      head(),
    );
    repostRows(db.store);
    mine(solidLag + 3);
    ahead = () => -6;
    await compared();
    expect(unnamed()).toEqual([]);
    mine(200);
    blocks.push([{ kind: "unnamed", address, units: 300n }]);
    mine(solidLag + 10);
    await compared();
    expect(unnamed()).toEqual(["300"]);
  });
});

describe("comparing where nodes tell the newest balance alone", () => {
  it.each(seedsOfRun(share(8, 2)))(
    "comparing credits what is on chain, to the unit, over random interleavings, seed %i",
    async (seed) => {
      const random = new SeededRandom(seed);
      ahead = () => random.below(4);
      tipBehind = () => random.below(40);
      let memory = newDepositMemory(network);
      for (let step = 0; step < 120; step += 1) {
        for (let made = random.below(3); made >= 0; made -= 1) {
          const kinds = ["direct", "named", "unnamed", "staked"] as const;
          const moves = Array.from({ length: random.below(3) }, (): Move => {
            const [kind, address] = [kinds[random.below(4)]!, addresses[random.below(2)]!];
            return { kind, address, units: BigInt(1 + random.below(9)) };
          });
          blocks.push(step < 90 ? moves : []);
        }
        if (random.below(12) === 0) memory = newDepositMemory(network);
        await pass(memory);
        expectNothingTwice();
      }
      for (let more = 0; more < 30; more += 1) {
        blocks.push([], [], []);
        if (more % 10 === 0) clock.nowMs += 86_400_000;
        await pass(memory);
        expectNothingTwice();
      }
      for (const [at, address] of addresses.entries())
        expect(credited(at)).toBe(balanceAt(address, head()));
      expect(db.store.database.all("SELECT 1 FROM payments WHERE final = 0")).toEqual([]);
    },
  );

  it("comparing believes no receipt: an entry that moves nothing shows as seen and counts for nothing", async () => {
    const memory = newDepositMemory(network);
    await pass(memory);
    blocks.push([{ kind: "staked", address: addresses[0]!, units: 900_000n }]);
    blocks.push([{ kind: "named", address: addresses[1]!, units: 900_000n }]);
    await pass(memory);
    expect([0, 1].map((at) => readTransaction(db.store, idOf(at)).stage)).toEqual([
      "confirming",
      "confirming",
    ]);
    for (let more = 0; more < 60; more += 1) {
      blocks.push([]);
      await pass(memory);
      expectNothingTwice();
    }
    expect(readTransaction(db.store, idOf(0))).toMatchObject({
      status: 0,
      stage: "waiting",
      receivedUnits: "0",
    });
    expect(readTransaction(db.store, idOf(1))).toMatchObject({
      status: 1,
      receivedUnits: "900000",
      txHash: "2 0",
    });
  });

  it("comparing finds what nodes without internal transactions never name, before its request ends", async () => {
    const memory = newDepositMemory(network);
    await pass(memory);
    db.store.database.run("UPDATE deposits SET expiresAt = ?", clock.nowMs + 60_000);
    blocks.push([{ kind: "unnamed", address: addresses[0]!, units: 900_000n }]);
    await pass(memory);
    clock.nowMs += 60_000;
    for (let more = 0; more < 60; more += 1) {
      await pass(memory);
      if (more === 10)
        expect([0, 1].map((at) => readTransaction(db.store, idOf(at)).status)).toEqual([0, 0]);
      blocks.push([]);
    }
    expect([0, 1].map((at) => readTransaction(db.store, idOf(at)).status)).toEqual([1, 2]);
  });
});
