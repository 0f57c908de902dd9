/**
 * The made-up family's nodes. Heads, finality, prices, offers and the check are the engine's; the
 * family brings its wire, questions and refusals. Its chain knows no accounts.
 */
import { goodResult } from "../../../base/result.ts";
import type {
  BlockId,
  IndependentReading,
  SenderNodes,
  WatcherNodes,
} from "../../../chains/nodes.ts";
import { broadcastTo, takenReply } from "../../../chains/providers/broadcasts.ts";
import {
  createChainBlocks,
  idOf,
  slowNodeGraceMs,
} from "../../../chains/providers/chain-blocks.ts";
import { createAgreedFeeRates, middleOf } from "../../../chains/providers/market.ts";
import { examineNode, type NodeExaminer } from "../../../chains/providers/node-check.ts";
import type { ServerAddress } from "../../../chains/providers/server.ts";
import { askNewest, type Block, blockQuestion, lacksOf, priceQuestion } from "./questions.ts";
import { refusals } from "./refusals.ts";
import { createPool, type NodePool, type PoolNode } from "./wire.ts";

interface Opened {
  readonly urls: readonly ServerAddress[];
}

const depth = 2; // a block is final with another one on top
const clock = (): number => performance.now();
const open = ({ urls }: Opened): NodePool => createPool({ urls, log: () => undefined, clock });

function chainOf(pool: NodePool) {
  return createChainBlocks(pool, {
    newest: (node: PoolNode) => askNewest(pool, node),
    at: (node: PoolNode, number) => pool.ask(node, blockQuestion(number)),
    final: depth,
    timeOf: ({ timestampMs }) => timestampMs,
    keyOf: ({ number, hash }) => `${number} ${hash}`,
  });
}

const shared = (pool: NodePool) => ({ status: pool.status, close: pool.close });

function sender(options: Opened): SenderNodes {
  const pool = open(options);
  const chain = chainOf(pool);
  const price = createAgreedFeeRates({ quorumMin: pool.quorumMin, clock });
  return {
    ...shared(pool),
    tip: async () => idOf(await chain.head()),
    chainState: async () => {
      const { number } = await chain.head();
      const figures = price.figures(
        await pool.all((node) => pool.ask(node, priceQuestion), slowNodeGraceMs),
      );
      return {
        number,
        finalNumber: (await chain.finalHead()).number,
        feeMarket: { price: middleOf(figures, "higher") },
        balances: new Map(),
        unfit: new Map(),
        accountHasCode: false,
      };
    },
    computeLimit: async () => ({ ok: true, computeLimit: 1n }),
    locations: async (_, wanted) => wanted.map(() => ({ location: null, isDoubtful: false })),
    chainOutcome: async () => null,
    holds: async (block, blockHash) => (await chain.agreedAt(block)).hash === blockHash,
    closed: async () => ({ latest: 1n, pending: 1n, final: 1n, quorum: 1, isSame: true }),
    broadcast: (raw) =>
      broadcastTo({
        nodes: pool.nodes,
        refusals,
        hand: async (node) => {
          const { ok, text } = await pool.hand(node, { path: "/offer", body: raw, isWrite: true });
          return ok ? takenReply : { kind: "refused", words: text, status: 400 };
        },
      }),
  };
}

function watcher(options: Opened): WatcherNodes {
  const pool = open(options);
  const chain = chainOf(pool);
  const block = async (number: number): Promise<Block> => chain.agreedAt(number);
  return {
    nobody: "nobody",
    ...shared(pool),
    tip: async () => idOf(await chain.head()),
    finalTip: async (): Promise<BlockId> => idOf(await chain.finalHead()),
    block: async (number) => ({ ...(await block(number)), content: null }),
    timestamp: async (number) => Math.floor((await block(number)).timestampMs / 1000),
    balance: async () => 0n,
    balances: async (questions) => questions.map(() => goodResult(0n)),
    wereUsed: async (accounts) => accounts.map(() => goodResult(false)),
    decimals: async () => 0n,
    payments: async () => ({ found: [], unread: [] }),
    outgoing: async () => ({ found: [], unread: [] }),
    hasFailed: async () => false,
    cost: async () => ({ ok: true, feeUnits: 1n }),
    judgeOutgoing: async () => ({ kind: "waiting" }),
    pass: () => ({ judge: async () => ({ kind: "waiting" }) }),
  };
}

export const connectors = {
  sender,
  watcher,
  examine: ({ url }: { readonly url: ServerAddress }): NodeExaminer =>
    examineNode<NodePool, PoolNode, Block>({
      open: () => open({ urls: [url] }),
      newest: askNewest,
      atMsOf: ({ timestampMs }) => timestampMs,
      hashAt: async (pool, node, number) =>
        (await pool.ask(node, blockQuestion(number)))?.hash ?? null,
      lacksOf,
    }),
};

export const readBack: IndependentReading = async (raw, { txHash }) =>
  raw.startsWith(txHash) ? "" : "another transaction";
