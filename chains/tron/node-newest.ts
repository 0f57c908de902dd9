/**
 * The newest blocks as the watcher reads them, each the parent of the next: they show where
 * transactions are without a question for each. By one node's word, so for progress alone. Touches
 * nodes only through node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { Block, BlockHead } from "./answers.ts";
import type { Blocks } from "./node-blocks.ts";

/** Blocks whose transactions are remembered: more than the chain takes until one is solidified. */
const keptMax = 32;
/** Blocks that are read at once to follow the head; below more of them the run begins again. */
const followMax = 8;
/**
 * A transaction that comes while the run goes on was signed within it, so the run alone shows it
 * for so many blocks. Then nodes are asked, and again after more: a late statement may name an old
 * one.
 */
const freshBlocks = 2;
const askedBlocks = 16;
/** A block so far above the agreed final one is no place: one node alone can name any number. */
const farBlocks = 64;
/** Transactions in no block of the run that are remembered. */
const waitingMax = 4096;

export interface NewestBlocks {
  /** The newest head, from one node. */
  head(): Promise<BlockHead>;
  /** A block of the newest chain that one node has, as it was just read. @throws NODE_NO_BLOCK */
  block(number: number): Promise<Block>;
  /** Reads on to the newest head. A fault leaves the run as it was. */
  readOn(): Promise<void>;
  /**
   * The number of the block by any node's word, or null; `final`: the number of the agreed final
   * block. @throws a fault when too few answered
   */
  includedIn(txHash: string, final: number): Promise<number | null>;
}

interface NewestBlock {
  readonly number: number;
  readonly hash: string;
  readonly ids: ReadonlySet<string>;
}

export function createNewestBlocks(blocks: Blocks): NewestBlocks {
  const run: NewestBlock[] = [];
  /** The next head at which nodes are asked for a transaction; null: at each one. */
  const waiting = new Map<string, number | null>();
  /** Whole blocks below the newest head, for the next reader. */
  const whole = new Map<number, Block>();
  let newest: BlockHead | null = null;
  /** The run ends with the newest head; one node that shows odd heads may keep it from that. */
  let isReadOn = false;

  function beginAgain(): void {
    run.length = 0;
    waiting.clear();
  }

  function keep(block: Block): void {
    whole.set(block.number, block);
    run.push({
      number: block.number,
      hash: block.hash,
      ids: new Set(block.transactions.map(({ txHash }) => txHash)),
    });
    if (run.length > keptMax) run.shift();
  }

  /** The blocks up to the head, oldest first; null if one does not follow the one before. */
  async function follow(from: number, head: BlockHead): Promise<readonly Block[] | null> {
    const numbers = Array.from({ length: head.number - from + 1 }, (_, at) => from + at);
    const read = await Promise.all(numbers.map((number) => blocks.block(number)));
    const isLinked = read.every(({ hash }, at) => hash === (read[at + 1]?.parentHash ?? head.hash));
    return isLinked ? read : null;
  }

  async function readTo(head: BlockHead): Promise<void> {
    const top = run.at(-1);
    if (top?.hash === head.hash) return;
    const from = (top?.number ?? Number.NEGATIVE_INFINITY) + 1;
    const isNear = from <= head.number && head.number - from < followMax;
    const read = await follow(isNear ? from : head.number, head);
    if (read === null) return;
    if (!isNear || read[0]?.parentHash !== top?.hash) beginAgain();
    for (const block of read) keep(block);
  }

  /** True if the run would show the transaction. */
  function isAbsent(txHash: string, final: number): boolean {
    const top = run.at(-1);
    // A run that goes on no more shows nothing of what came since.
    if (top === undefined || !isReadOn || top.number <= final) return false;
    const known = waiting.get(txHash);
    if (known === undefined && waiting.size >= waitingMax) return false;
    const askedAt =
      known === undefined ? (run.length > freshBlocks ? top.number + freshBlocks : null) : known;
    if (known === undefined) waitUntil(txHash, askedAt);
    return askedAt !== null && top.number < askedAt;
  }

  function waitUntil(txHash: string, number: number | null): void {
    waiting.delete(txHash);
    waiting.set(txHash, number);
  }

  return {
    head: async () => {
      const head = await blocks.head();
      if (head.hash !== newest?.hash) whole.clear();
      newest = head;
      return head;
    },
    block: async (number) => whole.get(number) ?? blocks.block(number),
    readOn: async () => {
      const head = newest;
      if (head === null) return;
      try {
        await readTo(head);
      } catch (fault) {
        if (!(fault instanceof AgentError)) throw fault;
      }
      isReadOn = run.at(-1)?.hash === head.hash;
    },
    includedIn: async (txHash, final) => {
      const holder = run.find(({ ids }) => ids.has(txHash));
      if (holder !== undefined && holder.number <= final + farBlocks) {
        blocks.notePlace(txHash, holder.number);
        return holder.number;
      }
      if (holder === undefined && isAbsent(txHash, final)) return null;
      const top = run.at(-1)?.number;
      const shown = await blocks.shownReceipts(txHash, "/wallet");
      // The lowest, so that no single node holds a payout above the final block.
      const numbers = shown.flatMap(({ receipt }) => (receipt === null ? [] : [receipt.block]));
      const number = numbers.length === 0 ? null : Math.min(...numbers);
      if (number !== null) blocks.notePlace(txHash, number);
      else if (top !== undefined && waiting.get(txHash) !== null)
        waitUntil(txHash, top + askedBlocks);
      return number;
    },
  };
}
