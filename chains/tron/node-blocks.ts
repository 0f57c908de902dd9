/**
 * Blocks and receipts from one node, or by agreement of min(2, configured) nodes. A solidified
 * block does not change, so agreed blocks are kept for a while. A chain that breaks this rule
 * empties the memory. Touches nodes only through node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { BlockFinds } from "../nodes.ts";
import { canonicalPathOf } from "../providers/canonical-text.ts";
import {
  agreedValueOrNull,
  createChainBlocks,
  quorumAnswerOf,
  slowNodeGraceMs,
} from "../providers/chain-blocks.ts";
import { KeptBlocks } from "../providers/kept-blocks.ts";
import { firstFault } from "../providers/node-pool.ts";
import {
  type Block,
  type BlockHead,
  type BlockTransaction,
  type Receipt,
  readBlock,
  readHead,
} from "./answers.ts";
import { type BlockIds, createTransactionPlaceFinder, type ShownPlace } from "./node-places.ts";
import {
  type ApiSide,
  blockBytesMax,
  createReceiptReader,
  receiptQuestion,
  receiptsQuestion,
} from "./node-receipts.ts";
import type { NodePool, PoolNode, Question } from "./node-wire.ts";

export interface BlockReader {
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
  read<T>(block: Block, reader: (block: Block) => BlockFinds<T>): BlockFinds<T>;
  /** A block of the newest chain that one node has. @throws NODE_NO_BLOCK */
  block(number: number): Promise<Block>;
  /**
   * The hash of a node's block of its newest chain, if the block has the transaction; else null.
   * Asked once of a node, for all transactions, until a node shows another head. @throws
   * NODE_NO_BLOCK
   */
  hashWith(node: PoolNode, number: number, txHash: string): Promise<string | null>;
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
   * Several of one block, in one turn of the event loop, are one question where that pays.
   */
  solidReceipt(txHash: string): Promise<SolidReceipt | null>;
  /** Remembers the block that a node shows for a transaction: a hint for `solidReceipt`. */
  notePlace(txHash: string, number: number): void;
  /** The receipt, or null, of every node that answered. @throws a fault when too few answered */
  shownReceipts(txHash: string, side: ApiSide): Promise<readonly NodeReceipt[]>;
  /**
   * The block of the newest chain, or null, by every node that answered. Of several transactions in
   * one turn of the event loop, those of one block are found in its list.
   * @throws a fault when too few answered
   */
  shownPlaces(txHash: string): Promise<readonly ShownPlace[]>;
}

export interface SolidReceipt {
  readonly receipt: Receipt;
  readonly transaction: BlockTransaction;
  readonly block: BlockHead;
}

export interface NodeReceipt {
  readonly node: PoolNode;
  readonly receipt: Receipt | null;
}

/** Bytes of a transaction in addition to those that are read. */
const fieldBytes = 300;
/** Blocks of one node whose lists of ids are kept below another head. */
const listsMax = 8;
/** Transactions whose block is remembered. */
const placesMax = 4096;

/** `clock` in milliseconds, never running back. */
export function createBlockReader(pool: NodePool, clock: () => number): BlockReader {
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

  const { head, idsOf } = createIds(pool, chain.head);

  const solidBlock = (number: number): Promise<Block> =>
    kept.ask(number, () =>
      pool.agree(
        (node) => pool.ask(node, blockQuestion("/walletsolidity", number)),
        blockKey,
        `block ${number}`,
      ),
    );

  const places = createHints();
  const askReceipt = createReceiptReader(pool, { blockOf: places.of, solidBlock, clock });
  const askPlace = createTransactionPlaceFinder(pool, idsOf);

  return {
    head,
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
    hashWith: async (node, number, txHash) => {
      const { hash, ids } = await idsOf(node, number);
      if (!ids.has(txHash)) return null;
      places.note(txHash, number);
      return hash;
    },
    notePlace: places.note,
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
      const shown = await shownReceipts(pool, (node) => askReceipt(node, txHash));
      const answers = shown.map(({ receipt }) => ({ ok: true, value: receipt }) as const);
      const keyOf = (receipt: Receipt): string => JSON.stringify(receiptFields(receipt));
      const receipt = agreedValueOrNull(
        quorumAnswerOf(answers, pool.quorumMin, keyOf),
        pool.quorumMin,
        `receipt of ${txHash}`,
      );
      if (receipt === null) return null;
      const block = await solidBlock(receipt.block);
      const transaction = kept.read(block, ({ transactions }) =>
        wholeOf(transactions.find((one) => one.txHash === txHash)),
      );
      if (transaction === undefined || transaction.isDone !== receipt.isDone)
        throw blockMismatchFault(block.number, "a receipt");
      return { receipt, transaction, block };
    },
    shownReceipts: (txHash, side) =>
      shownReceipts(pool, (node) => pool.ask(node, receiptQuestion(side, txHash))),
    shownPlaces: (txHash) =>
      enough(pool, async (node) => ({ node, block: await askPlace(node, txHash) })),
  };
}

/** A list of ids on its way, or there. */
interface KeptIds {
  readonly asked: Promise<BlockIds>;
  ids: BlockIds | null;
}

/**
 * The lists of ids of each node's blocks. Below the same head a node has the same blocks, so they
 * are kept; below another one, those to which its chain leads back without a gap.
 */
function createIds(pool: NodePool, newestHead: () => Promise<BlockHead>) {
  let kept = new Map(pool.nodes.map((node) => [node, new Map<number, KeptIds>()]));
  let shownHead = "";

  function below(lists: ReadonlyMap<number, KeptIds>, head: BlockHead): Map<number, KeptIds> {
    const leading = new Map<number, KeptIds>();
    let { parentHash } = head;
    for (let number = head.number - 1; ; number -= 1) {
      const list = lists.get(number);
      if (list === undefined || list.ids?.hash !== parentHash || leading.size === listsMax)
        return leading;
      leading.set(number, list);
      parentHash = list.ids.parentHash;
    }
  }

  return {
    async head(): Promise<BlockHead> {
      const shown = await newestHead();
      if (shown.hash !== shownHead)
        kept = new Map([...kept].map(([node, lists]) => [node, below(lists, shown)]));
      shownHead = shown.hash;
      return shown;
    },
    idsOf(node: PoolNode, number: number): Promise<BlockIds> {
      const lists = kept.get(node) as Map<number, KeptIds>;
      const known = lists.get(number);
      if (known !== undefined) return known.asked;
      const list: KeptIds = { asked: readIds(pool, node, number), ids: null };
      lists.set(number, list);
      list.asked.then(
        (ids) => {
          list.ids = ids;
        },
        () => lists.delete(number),
      );
      return list.asked;
    },
  };
}

/** The blocks of transactions as nodes showed them last; the oldest are forgotten. */
function createHints() {
  const blockOf = new Map<string, number>();
  return {
    of: (txHash: string): number | undefined => blockOf.get(txHash),
    note(txHash: string, number: number): void {
      blockOf.delete(txHash);
      blockOf.set(txHash, number);
      const oldest = blockOf.keys().next();
      if (blockOf.size > placesMax && !oldest.done) blockOf.delete(oldest.value);
    },
  };
}

async function readIds(pool: NodePool, node: PoolNode, number: number): Promise<BlockIds> {
  const { hash, parentHash, transactions } = await pool.ask(node, blockQuestion("/wallet", number));
  return { hash, parentHash, ids: new Set(transactions.map(({ txHash }) => txHash)) };
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

function shownReceipts(
  pool: NodePool,
  ask: (node: PoolNode) => Promise<Receipt | null>,
): Promise<readonly NodeReceipt[]> {
  return enough(pool, async (node) => ({ node, receipt: await ask(node) }));
}

/** The answers of all nodes that gave one in time. @throws a fault when too few did */
async function enough<T>(
  pool: NodePool,
  ask: (node: PoolNode) => Promise<T>,
): Promise<readonly T[]> {
  const settled = await pool.all(ask, slowNodeGraceMs);
  const shown = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (shown.length < pool.quorumMin) throw firstFault(settled);
  return shown;
}

/** By number, or the newest. */
export function headQuestion(side: ApiSide, number: number | null): Question<BlockHead> {
  const fields =
    number === null ? { detail: false } : { id_or_num: canonicalPathOf`${number}`, detail: false };
  return { path: `${side}/getblock`, fields, read: (value) => there(readHead(value), number) };
}

export function blockQuestion(side: ApiSide, number: number): Question<Block> {
  const read = (value: unknown): Block => there(readBlock(value), number);
  return {
    path: `${side}/getblockbynum`,
    fields: { num: number },
    answerBytesMax: blockBytesMax,
    isOfOthers: true,
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
  if (!isWhole) throw blockMismatchFault(block.number, "the receipts");
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

export function blockMismatchFault(block: number, what: string): AgentError {
  return new AgentError(
    "NODE_DISAGREE",
    "none",
    `the nodes' block ${block} and ${what} of it do not belong together`,
    { block },
  );
}
