/** The made-up family's nodes, of a chain that has its first block alone. */
import { good } from "../../../base/result.ts";
import type { BlockId, IndependentReading, NodeView, SenderNodes, WatcherNodes } from "../../../chains/nodes.ts";

const first: BlockId = { number: 0, hash: "0".repeat(64) };
const shared = { status: () => [], close: () => undefined, tip: async () => first };

const sender = (): SenderNodes => ({
  ...shared,
  chainState: async () => ({
    number: 0,
    finalNumber: 0,
    feeMarket: { price: 1n },
    balances: new Map(),
    unfit: new Map(),
    accountHasCode: false,
  }),
  computeLimit: async () => ({ ok: true, computeLimit: 1n }),
  locations: async (_, wanted) => wanted.map(() => ({ location: null, isDoubtful: false })),
  chainOutcome: async () => null,
  holds: async (block, blockHash) => block === first.number && blockHash === first.hash,
  closed: async () => ({ latest: 1n, pending: 1n, final: 1n, quorum: 1, isSame: true }),
  broadcast: async () => ({ node: "", standing: "unsent", meaning: "", text: "no node", byNode: [] }),
});

const watcher = (): WatcherNodes => ({
  nobody: "nobody",
  ...shared,
  finalTip: async () => first,
  block: async () => ({ ...first, parentHash: "", content: null }),
  timestamp: async () => 0,
  balance: async () => 0n,
  balances: async (questions) => questions.map(() => good(0n)),
  wereUsed: async (accounts) => accounts.map(() => good(false)),
  decimals: async () => 0n,
  payments: async () => ({ found: [], unread: [] }),
  outgoing: async () => ({ found: [], unread: [] }),
  hasFailed: async () => false,
  cost: async () => ({ ok: true, feeUnits: 1n }),
  judgeOutgoing: async () => ({ kind: "waiting" }),
  pass: () => ({ judge: async () => ({ kind: "waiting" }) }),
});

const lookAtNode = async ({ url }: { readonly url: string }): Promise<NodeView> => ({
  ...{ url, code: "", detail: "", block: 0, blockAtMs: 0, blockMs: null, lacks: [], tokens: [] },
});

export const connectors = { sender, watcher, lookAtNode, blockHashAt: async (): Promise<string> => first.hash };

export const readBack: IndependentReading = async (raw, { txHash }) => (raw.startsWith(txHash) ? "" : "another transaction");
