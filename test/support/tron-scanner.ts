/**
 * Reads a chain for deposits as the gateway's watcher does: final blocks in order from a cursor
 * that moves only with everything found up to it, by parents; a fault leaves the cursor where it
 * was. Keeps the promise "none twice" by throwing.
 */

import { AgentError } from "../../base/fault.ts";
import type { DetectedPayment, WatchedAddresses, WatcherNodes } from "../../chains/nodes.ts";

const blocksAtOnce = 8;

export class Scanner {
  readonly credited = new Map<string, DetectedPayment>();
  readonly blockOf = new Map<string, string>(); // block by transaction
  faults = 0;
  cursor: { number: number; hash: string };
  readonly #addresses: WatchedAddresses;
  readonly #contracts: readonly string[];

  constructor(
    cursor: { number: number; hash: string },
    addresses: readonly string[],
    contracts: readonly string[],
  ) {
    const all = new Set(addresses);
    this.cursor = cursor;
    this.#addresses = { size: all.size, has: (address) => all.has(address), all: () => all };
    this.#contracts = contracts;
  }

  /** As far as the nodes let it. True when it stands at the final tip. */
  async read(watcher: WatcherNodes): Promise<boolean> {
    try {
      const final = await watcher.finalTip();
      while (this.cursor.number < final.number) {
        const last = Math.min(final.number, this.cursor.number + blocksAtOnce);
        const numbers = Array.from(
          { length: last - this.cursor.number },
          (_, at) => this.cursor.number + 1 + at,
        );
        const blocks = await Promise.all(numbers.map((number) => watcher.block(number, true)));
        let before = this.cursor.hash;
        for (const block of blocks) {
          if (block.parentHash !== before)
            throw new AgentError("NODE_DISAGREE", "none", "a block does not follow");
          before = block.hash;
        }
        this.#keep((await watcher.payments(blocks, this.#contracts, this.#addresses, true)).found);
        this.cursor = { number: last, hash: before };
      }
      return true;
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      this.faults += 1;
      return false;
    }
  }

  sum(address: string, contract: string): bigint {
    return [...this.credited.values()]
      .filter((one) => one.address === address && one.contract === contract)
      .reduce((sum, one) => sum + one.amountUnits, 0n);
  }

  #keep(payments: readonly DetectedPayment[]): void {
    for (const payment of payments) {
      const key = `${payment.txHash} ${payment.index}`;
      if (this.credited.has(key)) throw new Error(`${key} was credited twice`);
      const block = this.blockOf.get(payment.txHash) ?? payment.blockHash;
      if (block !== payment.blockHash)
        throw new Error(`${payment.txHash} was credited in two blocks`);
      this.blockOf.set(payment.txHash, block);
      this.credited.set(key, payment);
    }
  }
}
