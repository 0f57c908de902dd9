/**
 * People on a regtest network: a miner that makes blocks at a pace, and customers whose coins lie
 * in the daemon's own wallet.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { UtxoTestNetwork } from "./network.ts";

/** Blocks after which the chain takes a reward. */
const matureBlocks = 101;
const satDecimal = 8;

export class UtxoPeople {
  readonly #testNetwork: UtxoTestNetwork;
  readonly #miner: string;
  #mining: Promise<void> | null = null;
  #isMining = false;

  private constructor(testNetwork: UtxoTestNetwork, miner: string) {
    this.#testNetwork = testNetwork;
    this.#miner = miner;
  }

  /** Makes the wallet, and blocks until its first reward can be paid out. */
  static async open(testNetwork: UtxoTestNetwork): Promise<UtxoPeople> {
    const { node } = testNetwork;
    await node.ask("createwallet", "customers");
    const miner = await node.ask<string>("getnewaddress");
    await testNetwork.mine(matureBlocks, miner);
    return new UtxoPeople(testNetwork, miner);
  }

  /** Makes a block each time so many milliseconds are over; a second call changes nothing. */
  mines(everyMs: number): void {
    if (this.#isMining) return;
    this.#isMining = true;
    this.#mining = this.#mine(everyMs);
  }

  /** No block is under way any more when this resolves. */
  async rest(): Promise<void> {
    this.#isMining = false;
    await this.#mining;
  }

  async pay(address: string, sat: bigint): Promise<void> {
    await this.#testNetwork.node.ask("sendtoaddress", address, coinsOf(sat));
  }

  newAddress(): Promise<string> {
    return this.#testNetwork.node.ask<string>("getnewaddress");
  }

  /** The coins of an address in the newest block. */
  async held(address: string): Promise<bigint> {
    const { total_amount } = await this.#testNetwork.node.ask<{ total_amount: number }>(
      "scantxoutset",
      "start",
      [`addr(${address})`],
    );
    return BigInt(total_amount.toFixed(satDecimal).replace(".", ""));
  }

  async #mine(everyMs: number): Promise<void> {
    while (this.#isMining) {
      await this.#testNetwork.mine(1, this.#miner);
      await sleep(everyMs);
    }
  }
}

function coinsOf(sat: bigint): string {
  const text = sat.toString().padStart(satDecimal + 1, "0");
  return `${text.slice(0, -satDecimal)}.${text.slice(-satDecimal)}`;
}
