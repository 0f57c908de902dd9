/**
 * Opens the interfaces to the nodes of a configured chain, by its family. Opens no connection
 * before the first question.
 */
import { AgentError, invariant } from "../base/fault.ts";
import { feeModelOf } from "./evm/fee-model.ts";
import { createEvmNodes } from "./evm/node.ts";
import { examineEvm } from "./evm/node-probe.ts";
import { createSender } from "./evm/node-sender.ts";
import { createWatcher } from "./evm/node-watcher.ts";
import { families, networkOf } from "./families.ts";
import type { ConfiguredChain, FamilyName } from "./family.ts";
import type {
  NodeLog,
  NodeToExamine,
  NodeView,
  PaidToken,
  SenderNodes,
  WatcherNodes,
} from "./nodes.ts";
import type { ReadSecretFile } from "./providers/further-headers.ts";
import type { NodeExaminer } from "./providers/node-check.ts";
import { type ServerAddress, type ServerOptions, serverOf } from "./providers/server.ts";
import { serverLinesOf } from "./server-lines.ts";
import { examineTron } from "./tron/node-probe.ts";
import { createSender as createTronSender } from "./tron/node-sender.ts";
import { createWatcher as createTronWatcher } from "./tron/node-watcher.ts";
import { type UtxoNetwork, networkOf as utxoNetworkNamed } from "./utxo/network.ts";
import { examineUtxo } from "./utxo/node-probe.ts";
import { createUtxoSender } from "./utxo/node-sender.ts";
import { createUtxoWatcher } from "./utxo/node-watcher.ts";
import { examineXrp } from "./xrp/node-probe.ts";
import { createXrpSender } from "./xrp/node-sender.ts";
import { createXrpWatcher } from "./xrp/node-watcher.ts";

export interface NodesOptions {
  readonly chain: ConfiguredChain & {
    readonly nodes: readonly string[];
    readonly confirmations: number | "finalized";
  };
  readonly tokens: readonly PaidToken[]; // whose balances count
  readonly clock: () => number; // milliseconds, never running back
  readonly log: NodeLog;
  /** Reads a node's `headersFile`; a chain without such a line needs none. */
  readonly readSecretFile?: ReadSecretFile;
}

/** Without a clock, the process's own. */
type WatchOptions = Pick<NodesOptions, "chain" | "log" | "readSecretFile"> & {
  readonly clock?: () => number;
};
type NodeServers<O> = Omit<O, "readSecretFile"> & { readonly urls: readonly ServerAddress[] };

/** Names one block of one node. */
type BlockQuestion = Omit<NodeToExamine, "contracts">;

/** A question to one server, opened. */
type AddressedQuestion<Q> = Omit<Q, "url" | "readSecretFile"> & { readonly url: ServerAddress };

interface Connectors {
  sender(options: NodeServers<NodesOptions>): SenderNodes;
  watcher(options: NodeServers<WatchOptions>): WatcherNodes;
  examine(question: AddressedQuestion<NodeToExamine>): NodeExaminer;
}

function utxoNetworkOf(chain: ConfiguredChain): UtxoNetwork {
  const network = utxoNetworkNamed(networkOf(chain));
  invariant(network !== null, "a chain of coins is a network of the table");
  return network;
}

const connectors: Readonly<Record<FamilyName, Connectors>> = {
  evm: {
    sender: ({ urls, chain, tokens, clock, log }) => {
      const { confirmations } = chain;
      const chainId = Number(chain.chainId);
      const nodes = createEvmNodes({
        urls,
        chainId,
        confirmations,
        feeModel: feeModelOf(chain),
        log,
        clock,
      });
      return createSender(nodes, tokens, clock);
    },
    watcher: ({ urls, chain, log, clock }) =>
      createWatcher(
        {
          ...chain,
          nodes: urls,
          chainId: Number(chain.chainId),
          ...(clock === undefined ? {} : { clock }),
        },
        log,
      ),
    examine: ({ chain, ...question }) => {
      const { chainId, confirmations } = chain;
      return examineEvm({
        ...question,
        chainId: Number(chainId),
        confirmations,
        feeModel: feeModelOf(chain),
      });
    },
  },
  tron: {
    sender: ({ urls, chain: { chainId }, tokens, clock, log }) =>
      createTronSender({ urls, chainId: String(chainId), tokens, clock, log }),
    watcher: ({ chain: { chainId }, ...options }) =>
      createTronWatcher({ ...options, chainId: String(chainId) }),
    examine: ({ chain: { chainId }, ...question }) =>
      examineTron({ ...question, chainId: String(chainId) }),
  },
  utxo: {
    sender: ({ urls, chain, clock, log }) => {
      const network = utxoNetworkOf(chain);
      return createUtxoSender({ urls, network, confirmations: chain.confirmations, clock, log });
    },
    watcher: ({ chain, ...options }) => {
      const network = utxoNetworkOf(chain);
      return createUtxoWatcher({ ...options, network, confirmations: chain.confirmations });
    },
    examine: ({ chain, url, timeoutMs }) =>
      examineUtxo({ url, timeoutMs, network: utxoNetworkOf(chain) }),
  },
  xrp: {
    sender: ({ urls, chain: { chainId }, clock, log }) =>
      createXrpSender({ urls, networkId: Number(chainId), clock, log }),
    watcher: ({ chain: { chainId }, ...options }) =>
      createXrpWatcher({ ...options, networkId: Number(chainId) }),
    examine: ({ chain: { chainId }, url, timeoutMs }) =>
      examineXrp({ url, timeoutMs, networkId: Number(chainId) }),
  },
};

function connectorsOf({ family }: ConfiguredChain): Connectors {
  return connectors[families[family].name];
}

const noReader: ReadSecretFile = (path) => {
  throw new AgentError("NODE_HEADERS", "none", `${path} is not read by this program`);
};

function opened(
  chain: ConfiguredChain,
  url: string,
  { readSecretFile = noReader, clock = () => performance.now() }: Partial<ServerOptions>,
): ServerAddress {
  return serverOf(url, serverLinesOf(chain, url), { readSecretFile, clock });
}

/** For the courier. @throws NODE_URL */
export function openSender({ readSecretFile, ...options }: NodesOptions): SenderNodes {
  const { chain, clock } = options;
  const urls = chain.nodes.map((url) => opened(chain, url, { ...reading(readSecretFile), clock }));
  return connectorsOf(chain).sender({ ...options, urls });
}

/** For the gateway's watcher. @throws NODE_URL */
export function openWatcher({ readSecretFile, ...options }: WatchOptions): WatcherNodes {
  const { chain, clock } = options;
  const clocked = clock === undefined ? {} : { clock };
  const urls = chain.nodes.map((url) =>
    opened(chain, url, { ...reading(readSecretFile), ...clocked }),
  );
  return connectorsOf(chain).watcher({ ...options, urls });
}

/** Looks at one node. Rejects only for bugs. */
export function lookAtNode(question: NodeToExamine): Promise<NodeView> {
  return examined(question).look(question.contracts);
}

/**
 * The hash of a block that all nodes of a chain should share, "" if this node does not give one.
 * Rejects only for bugs.
 */
export function blockHashAt(question: BlockQuestion, number: number): Promise<string> {
  return examined({ ...question, contracts: [] }).hashAt(number);
}

function examined({ readSecretFile, ...question }: NodeToExamine): NodeExaminer {
  const { chain, url } = question;
  return connectorsOf(chain).examine({
    ...question,
    url: opened(chain, url, reading(readSecretFile)),
  });
}

function reading(readSecretFile: ReadSecretFile | undefined): Partial<ServerOptions> {
  return readSecretFile === undefined ? {} : { readSecretFile };
}
