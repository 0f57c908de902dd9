/** The chains of the stream `restored`, by family. */

import { missing } from "../../utxo-node/daemon.ts";
import { MadeUpNode } from "../../utxo-node/made-up.ts";
import { xrpNodeMissing } from "../../xrp-node/xrp-node.ts";
import { UtxoStepsChain } from "../steps/utxo-chain.ts";
import { XrpStepsChain } from "../steps/xrp-chain.ts";
import type { OpenedChain } from "./chain.ts";
import { EvmRestoredChain } from "./evm-chain.ts";
import { TronRestoredChain } from "./tron-chain.ts";

export const restoredFamilies = ["evm", "tron", "bitcoin", "litecoin", "xrp"] as const;
export type RestoredFamily = (typeof restoredFamilies)[number];

/** One sentence where the family cannot run on this machine, else null. */
export function restoredLackOf(family: RestoredFamily): string | null {
  return family === "xrp" ? xrpNodeMissing : null;
}

const runsMax = 10;
const coinBlocks = 6;

const opens: Readonly<Record<RestoredFamily, (blockMs: number) => Promise<OpenedChain>>> = {
  async evm(blockMs) {
    return { chain: new EvmRestoredChain(blockMs), finalMs: 4 * blockMs, runsMax, words: "anvil" };
  },
  async tron(blockMs) {
    const { chain, runsMax: most, finalMs } = await TronRestoredChain.open(blockMs);
    return { chain, finalMs, runsMax: most, words: "the lab's node in the place of java-tron" };
  },
  bitcoin: (blockMs) => openCoins("bitcoin", blockMs),
  litecoin: (blockMs) => openCoins("litecoin", blockMs),
  async xrp(closeMs) {
    const chain = await XrpStepsChain.open(closeMs);
    return {
      chain,
      finalMs: 3 * closeMs,
      runsMax,
      words: "the lab's node in the place of rippled",
    };
  },
};

async function openCoins(name: "bitcoin" | "litecoin", blockMs: number): Promise<OpenedChain> {
  const isReal = missing(name) === null;
  const chain = await UtxoStepsChain.open(name, blockMs, isReal ? null : new MadeUpNode(name));
  return {
    chain,
    finalMs: coinBlocks * blockMs,
    runsMax,
    words: isReal ? `${name}d` : `the lab's node in the place of ${name}d`,
  };
}

export function openChain(family: RestoredFamily, blockMs: number): Promise<OpenedChain> {
  return opens[family](blockMs);
}
