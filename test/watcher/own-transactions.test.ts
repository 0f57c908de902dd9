/**
 * Transactions of a hot wallet that nothing explains and no final block has: so many of one
 * merchant that they are not kept hold that merchant's wallet, and nothing of anybody else.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { UnconfirmedTransaction } from "../../chains/nodes.ts";
import {
  countSeenUnexplainedOutgoing,
  keepUnexplainedOutgoing,
} from "../../gateway/store/outgoing-holds.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import { endSeenOutgoing, keepSeenOutgoing } from "../../gateway/watcher/outgoing-transactions.ts";
import { ItemWorld } from "../../lab/faults/items/world.ts";
import { type GatewayDatabase, gatewayDatabase } from "../../lab/kit/gateway-database.ts";
import { watchedBy } from "../support/watched-by.ts";
import { currency, network } from "../support/watched-chain.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;
let db: GatewayDatabase | null = null;
let world: ItemWorld | null = null;
afterEach(async () => {
  db?.remove();
  await world?.close();
  [db, world] = [null, null];
});

describe("transactions of one wallet that nothing explains", () => {
  let nowMs = 100 * dayMs;
  const chainOf = (): WatchedChain => {
    db = gatewayDatabase();
    return watchedBy({
      db,
      network,
      reader: {},
      currencies: [currency("eth", "")],
      clock: () => nowMs,
    });
  };
  const sent = (account: string, at: number): UnconfirmedTransaction & { block: number } => ({
    ...{
      account,
      slot: `${at}`,
      txHash: `${account} ${at}`,
      receiver: "r",
      tag: "",
      contract: "",
      amountUnits: 1n,
      block: 7,
    },
  });
  const many = (account: string, count: number) =>
    Array.from({ length: count }, (_, at) => sent(account, at));
  const seenOf = (account: string): number =>
    countSeenUnexplainedOutgoing(db!.store.database, { network, account });

  it("are kept up to a thousand of an account, and those of another wallet beside them", () => {
    const chain = chainOf();
    expect([...keepSeenOutgoing(chain, many("a", 1_000))]).toEqual([]);
    // The same ones again take no place.
    expect([...keepSeenOutgoing(chain, many("a", 1_000))]).toEqual([]);
    expect([...keepSeenOutgoing(chain, [sent("a", 1_000), sent("b", 0)])]).toEqual(["a"]);
    expect([seenOf("a"), seenOf("b")]).toEqual([1_000, 1]);
  });

  it("end after seven days in no final block, and a final one stays", () => {
    const chain = chainOf();
    keepSeenOutgoing(chain, [sent("a", 0), sent("a", 1)]);
    const final = { ...sent("a", 1), network, units: "1", final: 1 as const };
    db!.store.write((database) => keepUnexplainedOutgoing(database, final, nowMs));
    nowMs += 7 * dayMs;
    endSeenOutgoing(chain);
    expect(seenOf("a")).toBe(1);
    nowMs += 1;
    endSeenOutgoing(chain);
    expect(seenOf("a")).toBe(0);
    expect(db!.store.database.all("SELECT txHash FROM unexplained")).toEqual([{ txHash: "a 1" }]);
  });
});

it("a wallet with too many of its own transactions stops no other merchant's request from ending", async () => {
  world = new ItemWorld("evm", null);
  world.fund();
  await world.settle();
  await world.order("B", "coin", 10 * minuteMs);
  await world.settle();
  world.nowMs += 11 * minuteMs;
  const [from, to] = [world.hotOf("A"), world.hotOf("B")];
  const { store, network: id } = world;
  store.write((database) => {
    for (let at = 0; at < 1_000; at += 1) {
      const row = {
        network: id,
        account: from,
        txHash: `old ${at}`,
        receiver: to,
        tag: "",
        contract: "",
        units: "1",
        block: null,
      };
      keepUnexplainedOutgoing(database, { ...row, final: 0 }, world!.nowMs);
    }
  });
  for (let at = 0; at < 6; at += 1) {
    world.nowMs += 12_000;
    world.chain.mine(world.nowMs, [
      { hash: world.chain.hashOf(`mine ${at}`), from, slot: `${at}`, to, units: 1n, fee: 0n },
    ] as never);
    await world.pass();
  }
  const [request] = world.requests;
  expect(world.database.get("SELECT status FROM deposits WHERE id = ?", request!.id)).toEqual({
    status: 2,
  });
});
