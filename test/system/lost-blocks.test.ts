/** Numbers without a block, which anvil leaves when it mines during a reorganisation. */
import { expect, it } from "vitest";
import { replaceLost } from "../../lab/deposits/lost-blocks.ts";

/** A chain up to block 20 without the blocks of each set; a reorganisation brings the next set. */
function chainWithout(...gone: readonly (readonly number[])[]) {
  const depths: number[] = [];
  const ask = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    if (method === "eth_blockNumber") return "0x14";
    if (method === "anvil_reorg") return void depths.push(Number(params[0]));
    return gone[Math.min(depths.length, gone.length - 1)]?.includes(Number(params[0])) ? null : {};
  };
  return { ask, depths };
}

it("blocks that a reorganisation lost are replaced from the first of them on, until none is missing", async () => {
  const { ask, depths } = chainWithout([16, 17], [19], []);
  await replaceLost(ask, 15);
  expect(depths).toEqual([5, 2]);
});

it("a chain without a lost block stays as it is, and one that never has it is a fault", async () => {
  const sound = chainWithout([]);
  await replaceLost(sound.ask, 15);
  expect(sound.depths).toEqual([]);
  await expect(replaceLost(chainWithout([18]).ask, 15)).rejects.toThrow("no block 18");
});
