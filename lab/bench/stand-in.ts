/**
 * A chain for the bench, run as a process of its own: a node of the lab in the place of rippled,
 * bitcoind or litecoind. Prints its address in one line of JSON, takes a JSON line for each wish,
 * answers each with a line, and lives until its standard input ends. Arguments: the network and the
 * milliseconds between two blocks.
 */
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { hexByte, littleEndian } from "../deposits/utxo-values.ts";
import { MadeUpNode } from "../utxo-node/made-up.ts";
import { startUtxoNetwork } from "../utxo-node/network.ts";
import { startXrpNode } from "../xrp-node/xrp-node.ts";
import { type CoinName, xrpChainId } from "./networks.ts";

interface Chain {
  readonly url: string;
  fund(address: string): Promise<void>;
  pace(isPaced: boolean): void;
}

const hotWalletDrops = 100_000_000_000n;
/** Each of them pays one withdrawal at a time. */
const hotWalletCoins = 120;
const hotWalletCoinSat = 100_000_000n;
/** Blocks after which a chain takes a reward: as long as a young chain of this kind is. */
const blocksAtFirst = 102;

async function openXrp(closeMs: number): Promise<Chain> {
  const node = await startXrpNode({
    fronts: [{}],
    isPaced: true,
    closeMs,
    rules: { networkId: xrpChainId },
  });
  return {
    url: node.urls[0] ?? "",
    fund: async (address) => void node.fund(address, hotWalletDrops),
    pace: (isPaced) => node.pace(isPaced),
  };
}

async function openCoins(name: CoinName, blockMs: number): Promise<Chain> {
  const network = await startUtxoNetwork(name, [{}], new MadeUpNode(name));
  const { node } = network;
  const miner = await node.ask<string>("getnewaddress");
  await network.mine(blocksAtFirst, miner);
  let isOn = true;
  const mine = async (): Promise<void> => {
    for (;;) {
      await sleep(blockMs);
      if (isOn) await network.mine(1, miner);
    }
  };
  void mine();
  return {
    url: network.urls[0] ?? "",
    async fund(address) {
      const { scriptPubKey } = await node.ask<{ scriptPubKey: string }>("validateaddress", address);
      const output = `${littleEndian(hotWalletCoinSat, 8)}${hexByte(scriptPubKey.length / 2)}${scriptPubKey}`;
      const unfunded = `0200000000${hexByte(hotWalletCoins)}${output.repeat(hotWalletCoins)}00000000`;
      const { hex } = await node.ask<{ hex: string }>("fundrawtransaction", unfunded, {}, false);
      await node.ask("sendrawtransaction", hex);
    },
    pace: (isPaced) => {
      isOn = isPaced;
    },
  };
}

const [name = "", blockMs = "1000"] = process.argv.slice(2);
const chain = await (name === "xrp"
  ? openXrp(Number(blockMs))
  : openCoins(name as CoinName, Number(blockMs)));
process.stdout.write(`${JSON.stringify({ url: chain.url })}\n`);
const lines = createInterface({ input: process.stdin });
lines.on("close", () => process.exit(0));
for await (const line of lines) {
  const { fund, isPaced } = JSON.parse(line) as {
    readonly fund?: string;
    readonly isPaced?: boolean;
  };
  if (fund !== undefined) await chain.fund(fund);
  if (isPaced !== undefined) chain.pace(isPaced);
  process.stdout.write("{}\n");
}
