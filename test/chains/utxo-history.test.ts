/**
 * Coins by the transactions of an address, on a made-up node: against a plain count of the same
 * chain while blocks come and go, page by page, and at every bound. SEED=<number> replays.
 */
import { describe, expect, it } from "vitest";
import type { AddressTransaction, ShownOutput } from "../../chains/utxo/answers.ts";
import { createHistoryReader, historyLimits } from "../../chains/utxo/node-history.ts";
import type { NodePool, PoolNode, Question } from "../../chains/utxo/node-wire.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";

const address = {
  account: "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080",
  script: `0014${"ab".repeat(20)}`,
};
const foreign = `0014${"cd".repeat(20)}`;

const fee = { satPerKvB: null, isReplaceable: true };

class FakeNode {
  readonly blocks: AddressTransaction[][] = [];
  readonly asked: string[] = [];
  falseCount = 0; // added to the totals
  #made = 0;

  /** A block of one transaction for each entry: coins as its inputs, and amounts that it makes. */
  mine(
    transactions: readonly {
      readonly inputs?: readonly ShownOutput[];
      readonly makes?: readonly bigint[];
    }[],
  ): void {
    const blockHash = this.#hash();
    this.blocks.push(
      transactions.map(({ inputs = [], makes = [] }) => {
        const txHash = this.#hash();
        const outputs = makes.map((units, at) => ({
          id: `${txHash}:${at}`,
          txHash,
          units,
          script: address.script,
        }));
        const other = { id: `${txHash}:${makes.length}`, txHash, units: 7n, script: foreign };
        return {
          txHash,
          place: { block: this.blocks.length, blockHash },
          inputs,
          outputs: [...outputs, other],
          ...fee,
        };
      }),
    );
  }

  coins(upTo = this.blocks.length): readonly ShownOutput[] {
    const all = this.blocks.slice(0, upTo).flat();
    const spent = new Set(all.flatMap(({ inputs }) => inputs.map(({ id }) => id)));
    return all
      .flatMap(({ outputs }) => outputs)
      .filter(({ id, script }) => script === address.script && !spent.has(id));
  }

  answer({ path }: Question<unknown>): unknown {
    this.asked.push(path);
    const [, after] = path.split("/txs/chain");
    if (after === undefined) {
      const coins = this.coins();
      return {
        count: coins.length + this.falseCount,
        units: coins.reduce((sum, { units }) => sum + units, 0n),
      };
    }
    const all = this.blocks.flat().reverse();
    const from = after === "" ? 0 : all.findIndex(({ txHash }) => txHash === after.slice(1)) + 1;
    return after !== "" && from === 0 ? [] : all.slice(from, from + historyLimits.page);
  }

  #hash(): string {
    this.#made += 1;
    return this.#made.toString(16).padStart(64, "0");
  }
}

function open() {
  const node = new FakeNode();
  const poolNode = { rpc: { origin: "http://node" } } as PoolNode;
  const pool = {
    nodes: [poolNode],
    ask: async (_: PoolNode, question: Question<unknown>) => node.answer(question),
  };
  const histories = createHistoryReader(pool as unknown as NodePool);
  const read = (since = Number.MAX_SAFE_INTEGER) => histories.read(poolNode, address, since);
  const many = (blocks: number, each: number): void => {
    for (let made = 0; made < blocks; made += 1)
      node.mine(Array.from({ length: each }, () => ({ makes: [1_000n] })));
  };
  return { node, read, many };
}

const ids = (coins: readonly { readonly id: string }[]): readonly string[] =>
  coins.map(({ id }) => id).sort();
const fault = (words: RegExp) =>
  expect.objectContaining({ code: "NODE_ERROR", message: expect.stringMatching(words) });

describe("the history of an address", () => {
  it.each(seedsOfRun(share(20)))(
    "has the coins of the chain while blocks come and go: seed %i",
    async (seed) => {
      const random = new SeededRandom(seed);
      const { node, read } = open();
      for (let step = 0; step < 60; step += 1) {
        if (node.blocks.length > 3 && random.below(5) === 0)
          node.blocks.splice(node.blocks.length - 1 - random.below(3));
        for (let made = random.below(4); made > 0; made -= 1) {
          const coins = [...node.coins()];
          const transactions = Array.from({ length: random.below(30) }, () => ({
            inputs: coins.splice(0, random.below(3)),
            makes: Array.from({ length: random.below(3) }, () => BigInt(1 + random.below(1_000))),
          }));
          node.mine(transactions);
        }
        const since =
          random.below(2) === 0 ? Number.MAX_SAFE_INTEGER : random.below(node.blocks.length + 1);
        const { unspent, later } = await read(since);
        expect(ids(unspent)).toEqual(ids(node.coins()));
        const above = node.blocks.slice(since + 1).flat();
        expect(
          ids(later.filter(({ place }) => place!.block > since).map(({ txHash: id }) => ({ id }))),
        ).toEqual(ids(above.map(({ txHash: id }) => ({ id }))));
      }
    },
  );

  it("is read only until all coins are found, and then by its newest page", async () => {
    const { node, read, many } = open();
    many(50, 25);
    node.mine([{ inputs: node.coins() }]);
    many(2, 25);
    expect(ids((await read()).unspent)).toEqual(ids(node.coins()));
    expect(node.asked).toHaveLength(3);
    many(1, 3);
    expect(ids((await read()).unspent)).toEqual(ids(node.coins()));
    expect(node.asked).toHaveLength(5);
  });

  it("has old coins again once the block that spent them is gone", async () => {
    const { node, read, many } = open();
    many(50, 25);
    node.mine([{ inputs: node.coins() }]);
    many(1, 3);
    expect((await read()).unspent).toHaveLength(3);
    node.blocks.splice(50);
    many(1, 4);
    expect((await read()).unspent).toHaveLength(1_254);
    expect(ids((await read()).unspent)).toEqual(ids(node.coins()));
  });

  it("goes on where the question before it ended, and says how far it is", async () => {
    const { node, read, many } = open();
    many(historyLimits.pagesAtOnce, 30);
    await expect(read()).rejects.toEqual(
      fault(/being read, 2500 so far, with 2500 of its 3000 coins: wait$/),
    );
    many(1, 3);
    expect(ids((await read()).unspent)).toEqual(ids(node.coins()));
    expect(node.asked.length).toBeLessThan(130);
  });

  it("takes no more pages for totals that fit nothing", async () => {
    const { node, read, many } = open();
    many(400, 25);
    node.mine([{ inputs: node.coins() }, ...Array.from({ length: 24 }, () => ({}))]);
    await read();
    for (let page = 1; page < historyLimits.pagesAtOnce; page += 1)
      node.mine(Array.from({ length: 25 }, () => ({})));
    node.falseCount = 1;
    const before = node.asked.length;
    await expect(read()).rejects.toEqual(fault(/being read/));
    expect(node.asked.length - before).toBeLessThan(historyLimits.pagesAtOnce + 10);
  });

  it("keeps of old transactions only the coins", async () => {
    const { node, read, many } = open();
    for (let part = 0; part < 3; part += 1) {
      many(70, 30);
      await read();
    }
    node.mine([{ inputs: node.coins().slice(0, 2_000) }, { makes: [5n] }]);
    const { unspent, later } = await read(node.blocks.length - 1);
    expect(ids(unspent)).toEqual(ids(node.coins()));
    expect(later.length).toBeLessThan(2 * historyLimits.kept);
    await expect(read(0)).rejects.toEqual(fault(/too long ago/));
  });

  it("begins again where a block is gone that spent coins of which no transaction is kept", async () => {
    const { node, read, many } = open();
    many(60, 25);
    const old = node.coins();
    for (let block = 0; block < 170; block += 1) node.mine(Array.from({ length: 25 }, () => ({})));
    node.mine([{ inputs: old, makes: [5n] }]);
    for (let part = 0; part < 2; part += 1) await read(61).catch(() => undefined);
    expect((await read()).unspent).toHaveLength(1);
    node.blocks.pop();
    node.mine([{ makes: [9n] }]);
    for (let part = 0; part < 2; part += 1)
      await expect(read()).rejects.toEqual(fault(/being read/));
    expect(ids((await read()).unspent)).toEqual(ids(node.coins()));
  });

  it("above the bound of coins has those that are worth something, and its totals; up to it all of them", async () => {
    const { node, read } = open();
    node.mine([{ makes: [5_000n, 681n, 680n] }]);
    node.mine([{ makes: Array.from({ length: historyLimits.coins - 3 }, () => 335n) }]);
    expect(await read()).toMatchObject({ partialOf: null });
    expect((await read()).unspent).toHaveLength(historyLimits.coins);
    node.mine([{ makes: [335n] }, { makes: [7_000n] }]);
    const units = 5_000n + 681n + 680n + 335n * BigInt(historyLimits.coins - 2) + 7_000n;
    const { unspent, partialOf } = await read();
    expect(partialOf).toEqual({ count: historyLimits.coins + 2, units });
    expect(unspent.map((coin) => coin.units).sort()).toEqual([5_000n, 681n, 7_000n].sort());
    // A payment out of it is followed as before.
    node.mine([{ inputs: node.coins().filter((coin) => coin.units === 5_000n), makes: [900n] }]);
    expect((await read()).unspent.map((coin) => coin.units).sort()).toEqual(
      [681n, 7_000n, 900n].sort(),
    );
  });

  it("that does not fit the node's own totals is refused, and read again once it does", async () => {
    const { node, read, many } = open();
    many(5, 30);
    node.falseCount = 1;
    await expect(read()).rejects.toMatchObject({ code: "NODE_LIST_SHORT" });
    node.falseCount = 0;
    expect(ids((await read()).unspent)).toEqual(ids(node.coins()));
  });
});
