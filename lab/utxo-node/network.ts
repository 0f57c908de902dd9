/** A regtest network for tests: a daemon, and several providers over it. */
import { freePort } from "../kit/processes.ts";
import { ChainIndex } from "./chain-index.ts";
import { type NodeName, startNode, type UtxoNode } from "./daemon.ts";
import { Front, type FrontOptions } from "./front.ts";

export interface UtxoTestNetwork {
  readonly node: UtxoNode;
  readonly fronts: readonly Front[];
  readonly urls: readonly string[];
  /** Mines blocks whose reward goes to an address; returns their hashes. */
  mine(count: number, address: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** A daemon of its own unless another node is handed in, which this network then ends. */
export async function startUtxoNetwork(
  name: NodeName,
  fronts: readonly FrontOptions[] = [{}, {}],
  given: UtxoNode | null = null,
): Promise<UtxoTestNetwork> {
  const node = given ?? (await startNode(name, await freePort()));
  const index = new ChainIndex(node);
  const opened = fronts.map((options) => new Front(node, index, options));
  for (const front of opened) await front.listen();
  return {
    node,
    fronts: opened,
    urls: opened.map(({ url }) => url),
    mine: (count, address) => node.ask<string[]>("generatetoaddress", count, address),
    close: async () => {
      for (const front of opened) await front.close();
      await node.stop();
    },
  };
}
