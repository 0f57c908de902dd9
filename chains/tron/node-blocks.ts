/**
 * Blocks and receipts from one node, or by agreement of min(2, configured) nodes. A solidified
 * block does not change, so agreed blocks are kept for a while. A chain that breaks this rule
 * empties the memory. Touches nodes only through node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { Finds } from "../nodes.ts";
import { type CanonicalText, canonicalText, pathOf } from "../providers/canonical-text.ts";
import { agreedOrNone, byQuorum, createChainBlocks, graceMs } from "../providers/chain-blocks.ts";
import { KeptBlocks } from "../providers/kept-blocks.ts";
import { firstFault } from "../providers/node-pool.ts";
import {
  type Block,
  type BlockHead,
  type BlockTransaction,
  type Receipt,
  readBlock,
  readHead,
  readReceipt,
  readReceipts,
} from "./answers.ts";
import type { NodePool, PoolNode, Question } from "./node-wire.ts";

/** The head's side of the API, and that of solidified blocks. */
export type Side = "/wallet" | "/walletsolidity";

export interface Blocks {
  /** The newest head, from one node. */
  head(): Promise<BlockHead>;
  /** The highest number of a head that any node has shown. @throws a fault if no node answers */
  highestHead(): Promise<number>;
  /** The newest block that enough nodes have solidified, agreed. */
  solidHead(): Promise<BlockHead>;
  /** A solidified block without its transactions, agreed. @throws NODE_NO_BLOCK */
  solidHeadAt(number: number): Promise<BlockHead>;
  /** A solidified block, agreed to the last field that is read. @throws NODE_NO_BLOCK */
  solidBlock(number: number): Promise<Block>;
  /**
   * The finds of a reader in a block. A solidified block with a transaction that cannot be read is
   * asked for again the next time.
   */
  read<T>(block: Block, reader: (block: Block) => Finds<T>): Finds<T>;
  /** A block of the newest chain that one node has. @throws NODE_NO_BLOCK */
  block(number: number): Promise<Block>;
  /**
   * The result of `find` for all receipts of a solidified block, exactly those of its transactions.
   * Nodes only have to agree on this result.
   */
  solidFound<T>(
    block: Block,
    find: (receipts: readonly Receipt[]) => T,
    keyOf: (found: T) => string,
  ): Promise<T>;
  /** All receipts of a block, from one node. */
  receipts(block: Block): Promise<readonly Receipt[]>;
  /**
   * Null until enough nodes show the same solidified receipt, in a block that has the transaction.
   */
  solidReceipt(txHash: string): Promise<SolidReceipt | null>;
  /** The receipt, or null, of every node that answered. @throws a fault when too few answered */
  shownReceipts(txHash: string, side: Side): Promise<readonly Shown[]>;
}

export interface SolidReceipt {
  readonly receipt: Receipt;
  readonly transaction: BlockTransaction;
  readonly block: BlockHead;
}

export interface Shown {
  readonly node: PoolNode;
  readonly receipt: Receipt | null;
}

/**
 * Bounds: a full block has some thousand transactions of a few hundred bytes, and receipts are
 * somewhat larger.
 */
const blockBytesMax = 32 * 1024 * 1024;
const receiptBytesMax = 2 * 1024 * 1024;
/** Bytes of a transaction in addition to those that are read. */
const fieldBytes = 300;
export function createBlocks(pool: NodePool): Blocks {
  const kept = new KeptBlocks<Block>(({ transactions }) =>
    transactions.reduce((sum, { shown }) => sum + fieldBytes + shown.length, 0),
  );

  const chain = createChainBlocks(pool, {
    newest: (node) => newest(pool, node),
    at: (node, number) => pool.ask(node, headQuestion("/walletsolidity", number)),
    final: (node) => pool.ask(node, headQuestion("/walletsolidity", null)),
    timeOf: ({ timestampMs }) => timestampMs,
    keyOf: headKey,
  });

  const solidBlock = (number: number): Promise<Block> =>
    kept.ask(number, () =>
      pool.agree(
        (node) => pool.ask(node, blockQuestion("/walletsolidity", number)),
        blockKey,
        `block ${number}`,
      ),
    );

  return {
    head: chain.head,
    highestHead: chain.highestHead,
    solidHead: async () => {
      const head = await chain.finalHead();
      kept.stands(head);
      return head;
    },
    solidHeadAt: async (number) => kept.get(number) ?? chain.agreedAt(number),
    solidBlock,
    read: (block, reader) => {
      const finds = reader(block);
      if (finds.unread.length > 0) kept.forget(block);
      return finds;
    },
    block: async (number) =>
      (await pool.first((node) => pool.ask(node, blockQuestion("/wallet", number)))) as Block,
    solidFound: (block, find, keyOf) => {
      const shown = new Map<string, readonly Receipt[]>();
      const ask = async (node: PoolNode): Promise<ReturnType<typeof find>> => {
        const receipts = together(
          block,
          await pool.ask(node, receiptsQuestion("/walletsolidity", block.number)),
        );
        shown.set(node.rpc.origin, receipts);
        return find(receipts);
      };
      return pool
        .agree(ask, keyOf, `receipts of block ${block.number}`)
        .catch((fault: unknown) => byKeepers(fault, shown, find, keyOf));
    },
    receipts: async (block) => {
      const ask = async (node: PoolNode): Promise<readonly Receipt[]> =>
        together(block, await pool.ask(node, receiptsQuestion("/wallet", block.number)));
      return (await pool.first(ask)) as readonly Receipt[];
    },
    solidReceipt: async (txHash) => {
      const shown = await shownReceipts(pool, txHash, "/walletsolidity");
      const answers = shown.map(({ receipt }) => ({ ok: true, value: receipt }) as const);
      const keyOf = (receipt: Receipt): string => JSON.stringify(receiptFields(receipt));
      const receipt = agreedOrNone(
        byQuorum(answers, pool.quorumMin, keyOf),
        pool.quorumMin,
        `receipt of ${txHash}`,
      );
      if (receipt === null) return null;
      const block = await solidBlock(receipt.block);
      const transaction = kept.read(block, ({ transactions }) =>
        wholeOf(transactions.find((one) => one.txHash === txHash)),
      );
      if (transaction === undefined || transaction.isDone !== receipt.isDone)
        throw notTogether(block.number, "a receipt");
      return { receipt, transaction, block };
    },
    shownReceipts: (txHash, side) => shownReceipts(pool, txHash, side),
  };
}

/** The transaction with every field read. @throws NODE_ANSWER if one is odd */
function wholeOf(transaction: BlockTransaction | undefined): BlockTransaction | undefined {
  return transaction === undefined ? undefined : { ...transaction };
}

/** The node's newest head. The pool remembers it as the newest that this node showed. */
async function newest(pool: NodePool, node: PoolNode): Promise<BlockHead> {
  const head = await pool.ask(node, headQuestion("/wallet", null));
  pool.sawHead(node, head.number, head.timestampMs, head);
  return head;
}

async function shownReceipts(
  pool: NodePool,
  txHash: string,
  side: Side,
): Promise<readonly Shown[]> {
  const ask = async (node: PoolNode): Promise<Shown> => ({
    node,
    receipt: await pool.ask(node, receiptQuestion(side, txHash)),
  });
  const settled = await pool.all(ask, graceMs);
  const shown = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (shown.length < pool.quorumMin) throw firstFault(settled);
  return shown;
}

/** By number, or the newest. */
export function headQuestion(side: Side, number: number | null): Question<BlockHead> {
  const fields =
    number === null ? { detail: false } : { id_or_num: pathOf`${number}`, detail: false };
  return { path: `${side}/getblock`, fields, read: (value) => there(readHead(value), number) };
}

export function blockQuestion(side: Side, number: number): Question<Block> {
  const read = (value: unknown): Block => there(readBlock(value), number);
  return {
    path: `${side}/getblockbynum`,
    fields: { num: number },
    answerBytesMax: blockBytesMax,
    isOfOthers: true,
    read,
  };
}

function receiptsQuestion(side: Side, number: number): Question<readonly Receipt[]> {
  const fields = { num: number };
  return {
    path: `${side}/gettransactioninfobyblocknum`,
    fields,
    answerBytesMax: blockBytesMax,
    isOfOthers: true,
    read: readReceipts,
  };
}

const idOfText = (text: string): CanonicalText => canonicalText(text, /^[0-9a-f]{64}$/, "hash");

export function receiptQuestion(side: Side, txHash: string): Question<Receipt | null> {
  const read = (value: unknown): Receipt | null => {
    const receipt = readReceipt(value);
    if (receipt === null || receipt.txHash === txHash) return receipt;
    throw new AgentError("NODE_ANSWER", "none", "the receipt is of another transaction");
  };
  return {
    path: `${side}/gettransactioninfobyid`,
    fields: { value: idOfText(txHash) },
    answerBytesMax: receiptBytesMax,
    read,
  };
}

function there<T extends BlockHead>(block: T | null, number: number | null): T {
  if (block === null)
    throw new AgentError("NODE_NO_BLOCK", "none", "the node does not have the block", {
      number: number ?? -1,
    });
  if (number === null || block.number === number) return block;
  throw new AgentError("NODE_ANSWER", "none", "the node answered another block", { number });
}

/**
 * Compares receipts with the block's transactions, because receipts name their block only by
 * number. Each transaction has a receipt with the same end, and there are no others. A missing
 * receipt is no failure: the node is not ready yet.
 */
function together(block: Block, receipts: readonly Receipt[]): readonly Receipt[] {
  const byHash = new Map(receipts.map((receipt) => [receipt.txHash, receipt]));
  const isWhole =
    receipts.length === block.transactions.length &&
    block.transactions.every(({ txHash, isDone }) => {
      const receipt = byHash.get(txHash);
      return receipt !== undefined && receipt.block === block.number && receipt.isDone === isDone;
    });
  if (!isWhole) throw notTogether(block.number, "the receipts");
  return receipts;
}

function headKey({ number, hash, parentHash, timestampMs }: BlockHead): string {
  return JSON.stringify([number, hash, parentHash, timestampMs]);
}

function blockKey(block: Block): string {
  return JSON.stringify([headKey(block), block.transactions.map(({ shown }) => shown)]);
}

/** The fields of our own transactions that count: payments by events, and the end. */
function receiptFields({ txHash, block, isDone, callResult, feeSun, logs }: Receipt): unknown {
  return [txHash, block, isDone, callResult, `${feeSun}`, logs];
}

/**
 * Accepts receipts of nodes that keep internal entries, if other nodes list none in the same block
 * (vm.saveInternalTx): those other nodes say nothing about entries. The nodes with entries must be
 * alike in all fields, and all nodes in all other fields. The watcher counts an entry only as far
 * as an agreed balance confirms it.
 * @throws the fault, which names the nodes without entries
 */
function byKeepers<T>(
  fault: unknown,
  shown: ReadonlyMap<string, readonly Receipt[]>,
  find: (receipts: readonly Receipt[]) => T,
  keyOf: (found: T) => string,
): T {
  const hasEntries = (receipts: readonly Receipt[]): boolean =>
    receipts.some(({ internal, others }) => internal.length + others.length > 0);
  const all = [...shown.values()];
  const keepers = all.filter(hasEntries);
  const [keeper] = keepers;
  const isApart = keeper !== undefined && keepers.length < all.length;
  if (!isApart || !(fault instanceof AgentError) || fault.code !== "NODE_DISAGREE") throw fault;
  const sizeOf = (keys: readonly string[]): number => new Set(keys).size;
  const isAlike =
    sizeOf(keepers.map((receipts) => keyOf(find(receipts)))) === 1 &&
    sizeOf(all.map((receipts) => keyOf(find(receipts.map(withoutEntries))))) === 1;
  if (isAlike) return find(keeper);
  const without = [...shown]
    .flatMap(([origin, receipts]) => (hasEntries(receipts) ? [] : [origin]))
    .join(", ");
  const message = `${fault.message}; ${without} keeps no internal transactions (vm.saveInternalTx)`;
  throw new AgentError(fault.code, fault.effect, message, { ...fault.context, node: without });
}

/** The same receipt without entries. A field that is read when asked for stays so. */
function withoutEntries(receipt: Receipt): Receipt {
  return Object.create(receipt, { internal: { value: [] }, others: { value: [] } }) as Receipt;
}

export function notTogether(block: number, what: string): AgentError {
  return new AgentError(
    "NODE_DISAGREE",
    "none",
    `the nodes' block ${block} and ${what} of it do not belong together`,
    { block },
  );
}
