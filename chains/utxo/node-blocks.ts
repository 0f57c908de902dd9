/**
 * Heads, blocks and places of transactions from one node, or by agreement of min(2, configured)
 * nodes. A block is final by its depth. Nodes only have to agree on its hash, because the hash
 * proves the bytes. Touches nodes only through node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { BlockId } from "../nodes.ts";
import {
  createChainBlocks,
  noBlockFault,
  quorumAnswerOf,
  slowNodeGraceMs,
} from "../providers/chain-blocks.ts";
import { KeptBlocks } from "../providers/kept-blocks.ts";
import type { BlockHead, Place } from "./answers.ts";
import { type Block, readBlock } from "./block.ts";
import { finalDepth } from "./family.ts";
import {
  hashQuestion,
  headQuestion,
  rawBlockQuestion,
  tipHashQuestion,
  transactionPlaceQuestion,
} from "./node-questions.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

/** A block with its number, which the chain gives and not the bytes. */
export type NumberedBlock = Block & { readonly number: number };

/** The places of a transaction by the nodes that answered. */
export interface TransactionPlaces {
  /** In the chain of enough nodes, at the same place. */
  readonly place: Place | null;
  /** In the chain of any node. */
  readonly shown: Place | null;
}

export interface BlockReader {
  /** The newest head, from one node. */
  head(): Promise<BlockHead>;
  /** The highest number of a head that any node has shown. @throws a fault if no node answers */
  highestHead(): Promise<number>;
  /** The newest block that is deep enough on enough nodes, agreed. */
  finalHead(): Promise<BlockId>;
  /** The agreed hash of a block. @throws NODE_NO_BLOCK */
  agreedHash(number: number): Promise<string>;
  /** A block, whose hash enough nodes agree on. @throws NODE_NO_BLOCK */
  agreedBlock(number: number): Promise<NumberedBlock>;
  /** A block of the newest chain that one node has. @throws NODE_NO_BLOCK */
  block(number: number): Promise<NumberedBlock>;
  /** The head of a block, from one node. @throws NODE_NO_BLOCK */
  headAt(number: number): Promise<BlockHead>;
  /**
   * A place that enough nodes named is not asked for again while its block stands: a block of one
   * hash always has the same transactions.
   */
  placed(txHash: string): Promise<TransactionPlaces>;
  /** The place in a final block, agreed; null before that. */
  finalPlace(txHash: string): Promise<Place | null>;
}

/** A block is final with `confirmations` blocks from it to the head, itself counted. */
export function createBlockReader(pool: NodePool, confirmations: number): BlockReader {
  const kept = new KeptBlocks<NumberedBlock>(({ weight }) => weight);
  const newest = createNewestHeadReader(pool);
  const idAt = async (node: PoolNode, number: number): Promise<BlockId | null> => {
    const hash = await pool.ask(node, hashQuestion(number));
    return hash === null ? null : { number, hash };
  };

  const headOf = async (node: PoolNode, { hash }: BlockId): Promise<BlockHead> =>
    pool.ask(node, headQuestion(hash));

  const chain = createChainBlocks(pool, {
    newest,
    at: idAt,
    final: confirmations,
    // A final block was a head before, and is asked for only after a start.
    timeOf: async (id) =>
      newest.timeOf(id.hash) ?? (await pool.first((node) => headOf(node, id)))?.timestampMs ?? 0,
    keyOf: ({ number, hash }) => `${number} ${hash}`,
  });
  const hashes = createHashes(async (number) => (await chain.agreedAt(number)).hash);
  const { agreedHash } = hashes;
  const finalHead = async (): Promise<BlockId> => {
    const final = await chain.finalHead();
    kept.stands(final);
    hashes.stands(final);
    return final;
  };

  const places = createPlaces();
  const askPlace = async (txHash: string): Promise<TransactionPlaces> => {
    const settled = await pool.all(
      (node) => pool.ask(node, transactionPlaceQuestion(txHash)),
      slowNodeGraceMs,
    );
    const { agreed, shown } = quorumAnswerOf(
      settled,
      pool.quorumMin,
      ({ block, blockHash }) => `${block} ${blockHash}`,
    );
    if (agreed !== null) places.note(txHash, agreed);
    return { place: agreed, shown };
  };
  const stands = async ({ block, blockHash }: Place): Promise<boolean> =>
    (await agreedHash(block)) === blockHash;

  return {
    head: chain.head,
    highestHead: chain.highestHead,
    finalHead,
    agreedHash,
    agreedBlock: (number) =>
      kept.ask(number, async () => blockWith(pool, number, await agreedHash(number))),
    block: async (number) => {
      const block = await pool.first(async (node) => {
        const hash = await pool.ask(node, hashQuestion(number));
        return hash === null ? null : rawBlock(pool, node, number, hash);
      });
      if (block === null) throw noBlockFault(number);
      return block;
    },
    headAt: async (number) => {
      const head = await pool.first(async (node) => {
        const id = await idAt(node, number);
        return id === null ? null : headOf(node, id);
      });
      if (head === null) throw noBlockFault(number);
      return head;
    },
    placed: async (txHash) => {
      const place = places.get(txHash);
      if (place !== undefined && (await stands(place).catch(falseIfFault)))
        return { place, shown: place };
      return askPlace(txHash);
    },
    finalPlace: async (txHash) => {
      const place = places.get(txHash) ?? (await askPlace(txHash)).place;
      if (place === null) return null;
      const final = await finalHead();
      if (place.block > final.number) return null;
      if (await stands(place)) return place;
      places.forget(txHash);
      return null;
    },
  };
}

function falseIfFault(fault: unknown): false {
  if (fault instanceof AgentError) return false;
  throw fault;
}

/** Transactions whose place is remembered. */
const placesMax = 4096;

/** The places that enough nodes named; the oldest are forgotten. */
function createPlaces() {
  const known = new Map<string, Place>();
  return {
    get: (txHash: string): Place | undefined => known.get(txHash),
    forget: (txHash: string): void => void known.delete(txHash),
    note(txHash: string, place: Place): void {
      known.delete(txHash);
      known.set(txHash, place);
      const oldest = known.keys().next();
      if (known.size > placesMax && !oldest.done) known.delete(oldest.value);
    },
  };
}

/**
 * Agreed hashes. Below the same final block they are asked for once, since its hash covers them.
 */
function createHashes(ask: (number: number) => Promise<string>) {
  const below = new Map<number, string>();
  let final: BlockId | null = null;
  return {
    stands(block: BlockId): void {
      if (final?.hash !== block.hash) below.clear();
      final = block;
    },
    async agreedHash(number: number): Promise<string> {
      const known = below.get(number);
      if (known !== undefined) return known;
      const at = final;
      const hash = await ask(number);
      if (at !== null && at.hash === final?.hash && number <= at.number) below.set(number, hash);
      return hash;
    },
  };
}

/** Heads whose times are remembered. */
const timesMax = 256;

interface NewestBlockReader {
  (node: PoolNode): Promise<BlockHead>;
  /** Own time of a block that was a head here, Unix milliseconds. */
  timeOf(hash: string): number | undefined;
}

/**
 * The newest head of a node. Its fields are asked for only when the hash is another one: most
 * questions find the chain unchanged. Height and hash are never asked apart, because behind one
 * address may stand machines at two heads.
 */
export function createNewestHeadReader(pool: NodePool): NewestBlockReader {
  const known = new WeakMap<PoolNode, BlockHead>();
  const times = new Map<string, number>();
  const newest = async (node: PoolNode): Promise<BlockHead> => {
    const hash = await pool.ask(node, tipHashQuestion);
    const before = known.get(node);
    const head = before?.hash === hash ? before : await pool.ask(node, headQuestion(hash));
    if (head.hash !== hash) {
      const fault = new AgentError("NODE_ANSWER", "none", "the node answered another block", {
        node: node.rpc.origin,
      });
      pool.fail(node, fault);
      throw fault;
    }
    known.set(node, head);
    times.set(head.hash, head.timestampMs);
    const oldest = times.keys().next();
    if (times.size > timesMax && !oldest.done) times.delete(oldest.value);
    pool.sawHead(node, head.number, head.timestampMs, head);
    return head;
  };
  return Object.assign(newest, { timeOf: (hash: string) => times.get(hash) });
}

/** The block from the first node that has its bytes. */
async function blockWith(pool: NodePool, number: number, hash: string): Promise<NumberedBlock> {
  const block = await pool.first((node) => rawBlock(pool, node, number, hash));
  if (block === null) throw noBlockFault(number);
  return block;
}

async function rawBlock(
  pool: NodePool,
  node: PoolNode,
  number: number,
  hash: string,
): Promise<NumberedBlock> {
  const read = readBlock(await pool.ask(node, rawBlockQuestion(hash)), hash);
  if (read.ok) return { ...read.block, number };
  const fault = new AgentError("NODE_ANSWER", "none", `block ${number}: ${read.problem}`, {
    node: node.rpc.origin,
  });
  pool.fail(node, fault);
  throw fault;
}

/** Blocks until one counts as final. Such a chain finalizes none itself, so the default is six. */
export function finalDepthOf(confirmations: number | "finalized"): number {
  return confirmations === "finalized" ? finalDepth : confirmations;
}
