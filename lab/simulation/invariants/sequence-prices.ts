/**
 * Invariants about fees and ends of attempts where a slot is a sequence and each attempt has a last
 * ledger, while the courier is honest. Checked at every attempt that leaves.
 */
import type { SignedTransaction } from "../world/raw.ts";
import type { PricesOfChain } from "./prices.ts";
import { must } from "./violation.ts";

const feeMinDrops = 10n;
/** Ledgers within which an attempt may be taken. */
const blocksToWait = 20;

export class SequencePrices implements PricesOfChain {
  readonly #mostDrops: () => bigint;
  readonly #newest: () => number;
  readonly #lastOf = new Map<number, number>(); // the latest end so far, by sequence

  /**
   * `most`: the highest fee that the ledger ever asked for, also between two ledgers, because nodes
   * tell the fee of the open one. `newest`: the number of the chain's newest block.
   */
  constructor(most: () => bigint, newest: () => number) {
    this.#mostDrops = most;
    this.#newest = newest;
  }

  see(): void {}

  left(
    { hash, nonce, feeMaxWei: feeDrops, lastBlock = 0 }: SignedTransaction,
    count: number,
  ): void {
    const say = (): string =>
      `${hash}: ${feeDrops} drops until ${lastBlock}, at most ${this.#mostDrops()} and ${this.#newest()}`;
    must(feeDrops >= feeMinDrops, "no price is below the chain's lowest", say);
    const asked = this.#mostDrops();
    let most = asked > feeMinDrops ? asked : feeMinDrops;
    // One attempt more may have been made that never left.
    for (let step = 0; step < count; step += 1) most = (most * 5n) / 4n + 1n;
    must(feeDrops <= most, "no price is one node's alone", say);
    must(
      lastBlock <= this.#newest() + blocksToWait,
      "no attempt lives longer than the rule says",
      say,
    );
    must(
      lastBlock >= (this.#lastOf.get(nonce) ?? 0),
      "no replacement ends before the attempt that it replaces",
      say,
    );
    this.#lastOf.set(nonce, lastBlock);
  }
}
