/**
 * Blocks whose payments are kept in several writes, of which one account's list is missing: its gap
 * reaches as far as the cursor does, however the gateway stops between two writes.
 */
import { afterEach, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import type { DetectedPayment } from "../../chains/nodes.ts";
import { insertForgotten } from "../../gateway/store/forgotten-addresses.ts";
import { listGaps, retryGapSoon } from "../../gateway/store/gaps.ts";
import type { Plant } from "../../lab/faults/items/plant-makers.ts";
import { ItemWorld } from "../../lab/faults/items/world.ts";

let world: ItemWorld;
let paid: Map<number, readonly { readonly address: string; readonly units: bigint }[]>;
let isLost = false; // no node has the list of merchant A's account
afterEach(() => world.close());

const plant: Plant = {
  report: "a review of the reading of gaps",
  of: "request",
  wrap: (honest) => ({
    ...honest,
    payments: async (blocks, contracts, addresses, isAgreed) => {
      const { found, unread } = await honest.payments(blocks, contracts, addresses, isAgreed);
      const account = world.hotOf("A");
      const more = blocks.flatMap(({ number: block, hash: blockHash }) =>
        (paid.get(block) ?? []).map(({ address, units: amountUnits }, at): DetectedPayment => {
          const txHash = world.chain.hashOf(`paid ${block} ${at}`);
          return { txHash, index: -1, address, contract: "", amountUnits, block, blockHash };
        }),
      );
      if (!isLost || !isAgreed) return { found: [...found, ...more], unread };
      const fault = new AgentError("NODE_PRUNED", "none", "no list");
      return {
        found: more.filter(({ address }) => address !== account),
        unread,
        missing: [{ account, fault }],
      };
    },
  }),
};

/** Two final blocks, too full for one write, each with a payment of seven drops to merchant A. */
async function begin(): Promise<void> {
  [paid, isLost] = [new Map(), false];
  world = new ItemWorld("xrp", plant);
  world.fund();
  await world.settle();
  await world.order("A", "coin");
  await world.order("B", "coin");
  await world.settle();
  world.nowMs += 3_000;
  const blocks = [world.chain.mine(world.nowMs), world.chain.mine(world.nowMs)];
  world.chain.mine(world.nowMs);
  const many = Array.from({ length: 200 }, () => ({ address: world.hotOf("B"), units: 1n }));
  for (const block of blocks) paid.set(block, [...many, { address: world.hotOf("A"), units: 7n }]);
  isLost = true;
}

async function fill(): Promise<void> {
  isLost = false;
  const { store, database, network } = world;
  store.write((inside) => {
    for (const { account, fromBlock } of listGaps(database, network))
      retryGapSoon(inside, { network, account, fromBlock });
  });
  await world.settle();
}
const sums = () =>
  world.database.all("SELECT count, units FROM straySums WHERE account = ?", world.hotOf("A"));

it("an account's gap over several writes counts each payment once it is filled", async () => {
  await begin();
  await world.pass();
  await fill();
  expect(sums()).toEqual([{ count: 2, units: "14" }]);
});

it("an account's gap that a stop cut between two writes adds nothing twice", async () => {
  await begin();
  const store = world.store as { write: typeof world.store.write };
  const write = store.write.bind(store);
  store.write = ((fn: never) => {
    const told = write(fn);
    if (isLost && listGaps(world.database, world.network).length > 0) {
      isLost = false;
      // Any stop between two writes: here an agent reports an address, as a restart would do.
      const address = {
        address: "x",
        merchant: "m-b",
        agent: null,
        addressIndex: 9_999,
        addressSpace: "xrpl:",
        origin: "skipped",
        at: 0,
      };
      write((database) => insertForgotten(database, address as never));
    }
    return told;
  }) as never;
  await world.pass();
  await fill();
  expect(sums()).toEqual([{ count: 2, units: "14" }]);
});
