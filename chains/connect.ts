/**
 * Opens the interfaces to the nodes of a configured chain, by its family. Opens no connection
 * before the first question.
 */
import { feeModelOf } from "./evm/fee-model.ts";
import { createEvmNodes } from "./evm/node.ts";
import { blockHashAt as evmBlockHashAt, lookAtNode as lookAtEvmNode } from "./evm/node-check.ts";
import { createSender } from "./evm/node-sender.ts";
import { createWatcher } from "./evm/node-watcher.ts";
import type { ConfiguredChain, FamilyName } from "./family.ts";
import type { NodeLog, NodeQuestion, NodeView, PaidToken, SenderNodes, WatcherNodes } from "./nodes.ts";
import { lookAtNode as lookAtTronNode, blockHashAt as tronBlockHashAt } from "./tron/node-check.ts";
import { createSender as createTronSender } from "./tron/node-sender.ts";
import { createWatcher as createTronWatcher } from "./tron/node-watcher.ts";
import { ofEachFamily, type UtxoNetwork } from "./utxo/network.ts";
import { lookAtNode as lookAtUtxoNode, blockHashAt as utxoBlockHashAt } from "./utxo/node-check.ts";
import { createUtxoSender } from "./utxo/node-sender.ts";
import { createUtxoWatcher } from "./utxo/node-watcher.ts";
import { lookAtNode as lookAtXrpNode, blockHashAt as xrpBlockHashAt } from "./xrp/node-check.ts";
import { createXrpSender } from "./xrp/node-sender.ts";
import { createXrpWatcher } from "./xrp/node-watcher.ts";

export interface NodesOptions {
  readonly chain: ConfiguredChain & { readonly nodes: readonly string[]; readonly confirmations: number | "finalized" };
  readonly tokens: readonly PaidToken[]; // whose balances count
  readonly clock: () => number; // milliseconds, never running back
  readonly log: NodeLog;
}

/** Names one block of one node. */
type BlockQuestion = Pick<NodeQuestion, "url" | "timeoutMs"> & { readonly chain: ConfiguredChain };

interface Connectors {
  sender(options: NodesOptions): SenderNodes;
  watcher(options: Pick<NodesOptions, "chain" | "log">): WatcherNodes;
  lookAtNode(question: NodeQuestion): Promise<NodeView>;
  blockHashAt(question: BlockQuestion, number: number): Promise<string>;
}

function utxoConnectors(network: UtxoNetwork): Connectors {
  return {
    sender: ({ chain: { nodes: urls, confirmations }, clock, log }) =>
      createUtxoSender({ urls, network, confirmations, clock, log }),
    watcher: ({ chain: { nodes: urls, confirmations }, log }) => createUtxoWatcher({ urls, network, confirmations, log }),
    lookAtNode: ({ url, timeoutMs }) => lookAtUtxoNode({ url, timeoutMs, network }),
    blockHashAt: ({ url, timeoutMs }, number) => utxoBlockHashAt({ url, timeoutMs, network }, number),
  };
}

const connectors: Readonly<Record<FamilyName, Connectors>> = {
  evm: {
    sender: ({ chain, tokens, clock, log }) => {
      const { nodes: urls, confirmations } = chain;
      const chainId = Number(chain.chainId);
      return createSender(createEvmNodes({ urls, chainId, confirmations, feeModel: feeModelOf(chain), log }), tokens, clock);
    },
    watcher: ({ chain, log }) => createWatcher({ ...chain, chainId: Number(chain.chainId) }, log),
    lookAtNode: ({ chain, ...question }) => {
      const { chainId, confirmations } = chain;
      return lookAtEvmNode({ ...question, chainId: Number(chainId), confirmations, feeModel: feeModelOf(chain) });
    },
    blockHashAt: ({ chain: { chainId }, ...question }, number) =>
      evmBlockHashAt({ ...question, chainId: Number(chainId) }, number),
  },
  tron: {
    sender: ({ chain: { chainId, nodes: urls }, tokens, clock, log }) =>
      createTronSender({ urls, chainId: String(chainId), tokens, clock, log }),
    watcher: ({ chain: { chainId, nodes: urls }, log }) => createTronWatcher({ urls, chainId: String(chainId), log }),
    lookAtNode: ({ chain: { chainId }, ...question }) => lookAtTronNode({ ...question, chainId: String(chainId) }),
    blockHashAt: ({ chain: { chainId }, ...question }, number) =>
      tronBlockHashAt({ ...question, chainId: String(chainId) }, number),
  },
  ...ofEachFamily(utxoConnectors),
  xrp: {
    sender: ({ chain: { chainId, nodes: urls }, clock, log }) =>
      createXrpSender({ urls, networkId: Number(chainId), clock, log }),
    watcher: ({ chain: { chainId, nodes: urls }, log }) => createXrpWatcher({ urls, networkId: Number(chainId), log }),
    lookAtNode: ({ chain: { chainId }, url, timeoutMs }) => lookAtXrpNode({ url, timeoutMs, networkId: Number(chainId) }),
    blockHashAt: ({ chain: { chainId }, ...question }, number) =>
      xrpBlockHashAt({ ...question, networkId: Number(chainId) }, number),
  },
};

/** For the courier. @throws NODE_URL */
export function openSender(options: NodesOptions): SenderNodes {
  return connectors[options.chain.family].sender(options);
}

/** For the gateway's watcher. @throws NODE_URL */
export function openWatcher(options: Pick<NodesOptions, "chain" | "log">): WatcherNodes {
  return connectors[options.chain.family].watcher(options);
}

/** Looks at one node. Rejects only for bugs. */
export function lookAtNode(question: NodeQuestion): Promise<NodeView> {
  return connectors[question.chain.family].lookAtNode(question);
}

/**
 * The hash of a block that all nodes of a chain should share, "" if this node does not give one.
 * Rejects only for bugs.
 */
export function blockHashAt(question: BlockQuestion, number: number): Promise<string> {
  return connectors[question.chain.family].blockHashAt(question, number);
}
