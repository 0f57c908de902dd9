/**
 * The newest blocks of Tron as one node shows them: they save questions about payouts, and a node
 * that shows odd heads keeps no payout from being asked about.
 */
import { describe, expect, it } from "vitest";
import type { Block, BlockHead } from "../../chains/tron/answers.ts";
import type { BlockReader } from "../../chains/tron/node-blocks.ts";
import { createNewestBlockReader } from "../../chains/tron/node-watcher.ts";

const txHash = "ab".repeat(32);
const hashOf = (number: number, by = "a"): string =>
  number.toString(16).padStart(16, "0") + by.repeat(48);

/** One node's blocks; the payout is in block 108, and every node that is asked shows that. */
class OneNode {
  top = 100;
  hash = ""; // of the head, where the node makes it up
  asked = 0;
  shown: readonly number[] = [108];
  readonly extra = new Set<number>(); // blocks that list the payout besides

  readonly blocks = {
    head: async () => this.#head(),
    block: async (number: number) => this.#block(number),
    notePlace: () => {},
    shownReceipts: async () => {
      this.asked += 1;
      return this.shown.map((block) => ({ receipt: this.top < 108 ? null : { block } }));
    },
  } as unknown as BlockReader;

  #head(): BlockHead {
    const hash = this.hash === "" ? hashOf(this.top) : this.hash;
    return {
      number: this.top,
      hash,
      parentHash: hashOf(this.top - 1),
      timestampMs: 0,
    } as BlockHead;
  }

  #block(number: number): Block {
    const has = number === 108 || this.extra.has(number);
    const transactions = has ? [{ txHash }] : [];
    return {
      number,
      hash: hashOf(number),
      parentHash: hashOf(number - 1),
      transactions,
    } as unknown as Block;
  }
}

async function passTo(
  node: OneNode,
  newest: ReturnType<typeof createNewestBlockReader>,
  top: number,
  id = txHash,
): Promise<number | null> {
  node.top = top;
  await newest.head();
  await newest.readOn();
  return newest.includedIn(id, top - 19);
}

async function followed(): Promise<{
  readonly node: OneNode;
  readonly newest: ReturnType<typeof createNewestBlockReader>;
}> {
  const node = new OneNode();
  const newest = createNewestBlockReader(node.blocks);
  for (let top = 100; top < 105; top += 1) await passTo(node, newest, top, "cd".repeat(32));
  node.asked = 0;
  return { node, newest };
}

describe("the newest blocks of one node", () => {
  it("show a payout without a question", async () => {
    const { node, newest } = await followed();
    expect(await passTo(node, newest, 107)).toBe(null);
    expect(await passTo(node, newest, 108)).toBe(108);
    expect(node.asked).toBe(0);
  });

  it("are no reason not to ask once their head is made up", async () => {
    const { node, newest } = await followed();
    node.hash = hashOf(1, "e");
    expect(await passTo(node, newest, 107)).toBe(null);
    expect(await passTo(node, newest, 108)).toBe(108);
    expect(node.asked).toBe(2);
  });

  it("are no reason not to ask once the agreed final block has passed them", async () => {
    const { node, newest } = await followed();
    // The node stands still, and shows the same head again.
    await passTo(node, newest, 107);
    expect(await newest.includedIn(txHash, 107)).toBe(null);
    expect(node.asked).toBe(1);
  });

  it("are no place of a payout far above the agreed final block", async () => {
    const { node, newest } = await followed();
    node.extra.add(1_000_000);
    await passTo(node, newest, 1_000_000, "cd".repeat(32));
    node.shown = [1_000_000_000_000, 108];
    expect(await newest.includedIn(txHash, 120)).toBe(108);
  });
});
