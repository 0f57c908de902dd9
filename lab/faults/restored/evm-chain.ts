/** The kit's own anvil, with blocks at a pace of ours; read by JSON-RPC alone. */
import { createHash } from "node:crypto";
import { getAddress } from "ethers";
import type { Kit } from "../../kit/kit.ts";
import { balanceWei, rpc } from "../../kit/rpc.ts";
import type { ChainJudgement, Payment } from "../steps/chain.ts";
import type { RestoredChain } from "./chain.ts";
import { Pace } from "./pace.ts";

interface Block {
  readonly transactions: readonly {
    readonly hash: string;
    readonly from: string;
    readonly to: string;
    readonly value: string;
  }[];
}

export class EvmRestoredChain implements RestoredChain {
  readonly id = "eth";
  readonly chainName = "local";
  readonly decimal = 18;
  readonly unit = 10n ** 15n;
  readonly fees = { maxFee: "0.01", maxFeePerDay: "20" };
  readonly #blockMs: number;
  #pace: Pace | null = null;
  #url = "";

  constructor(blockMs: number) {
    this.#blockMs = blockMs;
  }

  async begins(evmUrl: string): Promise<void> {
    this.#url = evmUrl;
    await rpc(evmUrl, "evm_setAutomine", [false]);
    await rpc(evmUrl, "evm_setIntervalMining", [0]);
    this.#pace = new Pace(this.#blockMs, () => rpc(evmUrl, "evm_mine"));
  }

  async close(): Promise<void> {
    await this.#pace?.close();
  }

  served() {
    return { chains: {}, currencies: {} };
  }

  fund(kit: Kit): Promise<void> {
    return kit.fund(10n ** 20n, 0n);
  }

  receiver(name: string): string {
    return getAddress(`0x${createHash("sha256").update(name).digest("hex").slice(0, 40)}`);
  }

  goesOn(isOn: boolean): void {
    if (this.#pace !== null) this.#pace.isOn = isOn;
  }

  /** Reads every block. */
  async judge(hotWalletAddress: string, receivers: readonly string[]): Promise<ChainJudgement> {
    const transactions = new Map<string, readonly Payment[]>();
    const height = Number(BigInt((await rpc(this.#url, "eth_blockNumber")) as string));
    for (let number = 0; number <= height; number += 1) {
      const block = (await rpc(this.#url, "eth_getBlockByNumber", [
        `0x${number.toString(16)}`,
        true,
      ])) as Block;
      for (const { hash, from, to, value } of block.transactions) {
        if (from.toLowerCase() !== hotWalletAddress.toLowerCase()) continue;
        transactions.set(hash, [{ txHash: hash, receiver: getAddress(to), units: BigInt(value) }]);
      }
    }
    const held = new Map<string, bigint>();
    for (const receiver of receivers) held.set(receiver, await balanceWei(this.#url, receiver));
    const fault = this.#pace?.fault ?? null;
    return { transactions, held, violations: fault === null ? [] : [fault] };
  }
}
