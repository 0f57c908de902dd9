/**
 * A block that anvil mines during its own reorganisation may come after the replaced ones, whose
 * numbers then have no block: nobody can ever read that chain. They are replaced once more.
 */

/** Asks the node. */
export type Ask = (method: string, params: readonly unknown[]) => Promise<unknown>;

const triesMax = 8;

/** Returns when each number of `from` up to the head has a block. @throws Error if not */
export async function replaceLost(ask: Ask, from: number): Promise<void> {
  let lost: number | null = null;
  for (let tries = 0; tries < triesMax; tries += 1) {
    const head = Number(await ask("eth_blockNumber", []));
    lost = await firstLost(ask, from, head);
    if (lost === null) return;
    await ask("anvil_reorg", [head - lost + 1, []]);
  }
  throw new Error(`the chain has no block ${lost}, whatever is replaced`);
}

async function firstLost(ask: Ask, from: number, head: number): Promise<number | null> {
  for (let number = from; number <= head; number += 1)
    if ((await ask("eth_getBlockByNumber", [`0x${number.toString(16)}`, false])) === null)
      return number;
  return null;
}
