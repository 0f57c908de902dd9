/**
 * A watcher beside others of other families: each watches its own family's addresses alone, and
 * compares the balances of those.
 */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { goodResult } from "../../base/result.ts";
import type { NodeStatus, WatcherNodes } from "../../chains/nodes.ts";
import { keepIssuedComparison } from "../../gateway/store/address-states.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import { newDepositMemory } from "../../gateway/watcher/deposit-memory.ts";
import { scanDeposits } from "../../gateway/watcher/deposits.ts";
import { WatchList } from "../../gateway/watcher/findings.ts";
import {
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  readTransaction,
} from "../../lab/kit/gateway-database.ts";
import { watchedBy } from "../support/watched-by.ts";

const byWaiting = {
  network: "tron:0x2b6653dc",
  address: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
  id: "11".repeat(16),
};
const bySlot = {
  network: "eip155:31337",
  address: "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
  id: "22".repeat(16),
};

let db: GatewayDatabase;
beforeEach(() => {
  db = gatewayDatabase();
  for (const [place, { network, address, id }] of [byWaiting, bySlot].entries())
    giveAddress(db.store, { id, address, place, agent: null }, { network, units: "5" });
});
afterEach(() => db.remove());

/** Nothing new in any block, and 9 units on every address. */
function watched(network: string, asked = 0): WatchedChain {
  const final = { number: 7, hash: "seven" };
  const reader: Partial<WatcherNodes> = {
    status: () => [{ hour: { perHour: 100, asked } } as NodeStatus],
    balances: async (questions) => questions.map(() => goodResult(9n)),
    block: async () => ({ ...final, parentHash: "six", content: null as never }),
    timestamp: async () => -1_000_000,
  };
  return watchedBy({ db, network, reader });
}

describe("families beside one another", () => {
  it("the list of watched addresses holds those of its chain's family on each of its networks, and no other's", () => {
    for (const [own, other] of [
      [byWaiting, bySlot],
      [bySlot, byWaiting],
    ] as const) {
      const list = new WatchList(own.network);
      list.refresh(db.store.database);
      expect([list.size, list.requestOf(own.address), list.has(other.address)]).toEqual([
        1,
        own.id,
        false,
      ]);
    }
    const elsewhere = new WatchList("eip155:1");
    elsewhere.refresh(db.store.database);
    expect([...elsewhere.all()]).toEqual([bySlot.address]);
  });

  it("coins that no payment names are credited from the balance on every family, where nothing lay there before", async () => {
    const tip = {
      head: { number: 7, hash: "seven" },
      final: { number: 7, hash: "seven" },
      askedAt: 2_000,
    };
    for (const { network, address } of [byWaiting, bySlot]) {
      keepIssuedComparison(db.store.database, { network, address, block: 6, comparedAt: 5_000 });
      expect(await scanDeposits(watched(network), tip, newDepositMemory(network))).toBe(true);
    }
    const received = [byWaiting, bySlot].map(
      ({ id }) => readTransaction(db.store, id).receivedUnits,
    );
    expect(received).toEqual(["9", "9"]);
  });

  it.each([
    [74, "9"],
    [75, "0"],
  ])(
    "balances are compared up to three quarters of the hour's questions: %d of 100",
    async (asked, received) => {
      const tip = {
        head: { number: 7, hash: "seven" },
        final: { number: 7, hash: "seven" },
        askedAt: 2_000,
      };
      const { network, address, id } = bySlot;
      keepIssuedComparison(db.store.database, { network, address, block: 6, comparedAt: 5_000 });
      expect(await scanDeposits(watched(network, asked), tip, newDepositMemory(network))).toBe(
        true,
      );
      expect(readTransaction(db.store, id).receivedUnits).toBe(received);
    },
  );
});
