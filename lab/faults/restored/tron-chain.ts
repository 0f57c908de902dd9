/**
 * The lab's node in the place of java-tron, in this process, behind two addresses. A block is three
 * seconds of the chain, which come faster than the machine's: the chain begins an hour behind, and
 * one started system has as many runs as fit into that hour.
 */
import { TronWeb } from "tronweb";
import type { Kit } from "../../kit/kit.ts";
import { inhabitant } from "../../kit/tron-sender.ts";
import { startTronNode, type TronNode } from "../../tron-node/tron-node.ts";
import type { ChainJudgement, Payment } from "../steps/chain.ts";
import type { RestoredChain } from "./chain.ts";
import { Pace } from "./pace.ts";

const hotWalletSun = 10_000_000_000n;
const behindMs = 3_600_000;
const runsMax = 4;
/** From the newest block down to a solidified one, and some more for the readers. */
const solidBlocks = 25;
const begunBlocks = 25;

export class TronRestoredChain implements RestoredChain {
  readonly id = "trx";
  readonly chainName = "tron";
  readonly decimal = 6;
  readonly unit = 1_000_000n;
  readonly fees = { maxFee: "60", maxFeePerDay: "9000" };
  readonly agentLines = { nodesFrom: "own" };
  readonly #node: TronNode;
  readonly #pace: Pace;

  private constructor(node: TronNode, blockMs: number) {
    this.#node = node;
    this.#pace = new Pace(blockMs, () => node.chain.mine());
  }

  static async open(blockMs: number) {
    const node = await startTronNode({ fronts: [{}, {}], startAtMs: Date.now() - behindMs });
    return { chain: new TronRestoredChain(node, blockMs), runsMax, finalMs: solidBlocks * blockMs };
  }

  async close(): Promise<void> {
    await this.#pace.close();
    await this.#node.close();
  }

  served() {
    const common = {
      chain: "tron",
      decimal: 6,
      minPaymentAmount: "1",
      minWithdrawAmount: "0.1",
      market: "",
    };
    const { chainId, urls: nodes } = this.#node;
    return {
      chains: { tron: { family: "tron", chainId, nodes, confirmations: "finalized" } },
      currencies: { trx: { ...common, name: "TRON", symbol: "TRX" } },
    };
  }

  async fund(_: Kit, hotWalletAddress: string): Promise<void> {
    this.#node.fund(hotWalletAddress, hotWalletSun);
    this.#node.chain.mine(begunBlocks);
  }

  receiver(name: string): string {
    return inhabitant(name).address;
  }

  goesOn(isOn: boolean): void {
    this.#pace.isOn = isOn;
  }

  async judge(hotWalletAddress: string, receivers: readonly string[]): Promise<ChainJudgement> {
    const own = hexOf(hotWalletAddress);
    const transactions = new Map<string, readonly Payment[]>();
    for (const { tx, result } of this.#node.chain.blocks.flatMap(({ done }) => done)) {
      if (tx.owner !== own) continue;
      const isPaid = tx.type === "TransferContract" && result.contractRet === "SUCCESS";
      const receiver = TronWeb.address.fromHex(String(tx.value.to_address));
      transactions.set(
        tx.txId,
        isPaid ? [{ txHash: tx.txId, receiver, units: BigInt(String(tx.value.amount)) }] : [],
      );
    }
    const held = new Map(receivers.map((receiver) => [receiver, this.#node.balance(receiver)]));
    return { transactions, held, violations: this.#pace.fault === null ? [] : [this.#pace.fault] };
  }
}

function hexOf(address: string): string {
  return TronWeb.address.toHex(address).toLowerCase();
}
