/**
 * Heads, blocks and places of transactions from one node, or by agreement of min(2, configured)
 * nodes. A block is final by its depth. Nodes only have to agree on its hash, because the hash
 * proves the bytes. Touches nodes only through node-pool.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { BlockId } from "../nodes.ts";
import { KeptBlocks } from "../providers/kept-blocks.ts";
import { firstFault, noNode } from "../providers/node-pool.ts";
import { createSharing } from "../providers/shared-answers.ts";
import type { BlockHead, Place } from "./answers.ts";
import { type Block, readBlock } from "./block.ts";
import type { NodePool, PoolNode } from "./node-pool.ts";
import { hashQuestion, headQuestion, rawBlockQuestion, statusQuestion, tipHash } from "./node-questions.ts";

/** A block with its number, which the chain gives and not the bytes. */
export type NumberedBlock = Block & { readonly number: number };

/** The places of a transaction by the nodes that answered. */
export interface Placed {
  /** In the chain of enough nodes, at the same place. */
  readonly place: Place | null;
  /** In the chain of any node. */
  readonly shown: Place | null;
}

export interface Blocks {
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
  placed(txHash: string): Promise<Placed>;
  /** The place in a final block, agreed; null before that. */
  finalPlace(txHash: string): Promise<Place | null>;
}

/**
 * Time after which the other nodes' answers no longer wait for a slow provider, or one at its
 * quota.
 */
export const graceMs = 500;
const confirmationsDefault = 6;

/** A block is final with `confirmations` blocks from it to the head, itself counted. */
export function createBlocks(pool: NodePool, confirmations: number): Blocks {
  const kept = new KeptBlocks<NumberedBlock>(({ weight }) => weight);
  const newest = createNewest(pool);
  const share = createSharing();

  const agreedHash = (number: number): Promise<string> =>
    share(`hash ${number}`, async () => {
      const hash = await pool.agree((node) => pool.ask(node, hashQuestion(number)), String, `hash of block ${number}`);
      if (hash === null) throw noBlock(number);
      return hash;
    });

  const finalHead = (): Promise<BlockId> =>
    share("final", async () => {
      pool.lookAround(newest);
      const settled = await pool.all(newest, graceMs);
      const numbers = settled.flatMap((one) => (one.ok ? [one.value.number] : [])).sort((a, b) => b - a);
      // The highest number that enough nodes have reached. A node that lags, or runs ahead, has no
      // effect.
      const reached = numbers[pool.quorumMin - 1];
      if (reached === undefined) throw firstFault(settled);
      const number = Math.max(0, reached - confirmations + 1);
      const final = { number, hash: await agreedHash(number) };
      kept.stands(final);
      return final;
    });

  const placed = async (txHash: string): Promise<Placed> => {
    const settled = await pool.all((node) => pool.ask(node, statusQuestion(txHash)), graceMs);
    const answers = settled.flatMap((one) => (one.ok ? [one.value] : []));
    if (answers.length < pool.quorumMin) throw firstFault(settled);
    const places = answers.filter((place) => place !== null);
    const isAgreed = (place: Place): boolean =>
      places.filter((other) => other.block === place.block && other.blockHash === place.blockHash).length >= pool.quorumMin;
    return { place: places.find(isAgreed) ?? null, shown: places[0] ?? null };
  };

  return {
    head: async () => {
      pool.lookAround(newest);
      const head = await pool.first(newest);
      if (head === null) throw noNode();
      return head;
    },
    highestHead: async () => {
      const settled = await pool.all(newest, graceMs);
      const asked = settled.flatMap((one) => (one.ok ? [one.value.number] : []));
      if (asked.length === 0) throw firstFault(settled);
      // Behind one address may stand machines that lag, so the heads of before count too.
      return Math.max(...asked, ...pool.status().map(({ head }) => head?.highest ?? 0));
    },
    finalHead,
    agreedHash,
    agreedBlock: (number) => kept.ask(number, async () => blockWith(pool, number, await agreedHash(number))),
    block: async (number) => {
      const block = await pool.first(async (node) => {
        const hash = await pool.ask(node, hashQuestion(number));
        return hash === null ? null : rawBlock(pool, node, number, hash);
      });
      if (block === null) throw noBlock(number);
      return block;
    },
    headAt: async (number) => {
      const head = await pool.first(async (node) => {
        const hash = await pool.ask(node, hashQuestion(number));
        return hash === null ? null : pool.ask(node, headQuestion(hash));
      });
      if (head === null) throw noBlock(number);
      return head;
    },
    placed,
    finalPlace: async (txHash) => {
      const { place } = await placed(txHash);
      if (place === null) return null;
      const final = await finalHead();
      if (place.block > final.number) return null;
      return (await agreedHash(place.block)) === place.blockHash ? place : null;
    },
  };
}

export function idOf({ number, hash }: BlockId): BlockId {
  return { number, hash };
}

/**
 * The newest head of a node. Its fields are asked for only when the hash is another one: most
 * questions find the chain unchanged. Height and hash are never asked apart, because behind one
 * address may stand machines at two heads.
 */
export function createNewest(pool: NodePool): (node: PoolNode) => Promise<BlockHead> {
  const known = new WeakMap<PoolNode, BlockHead>();
  return async (node) => {
    const hash = await pool.ask(node, tipHash);
    const before = known.get(node);
    const head = before?.hash === hash ? before : await pool.ask(node, headQuestion(hash));
    if (head.hash !== hash) {
      const fault = new AgentError("NODE_ANSWER", "none", "the node answered another block", { node: node.rpc.origin });
      pool.fail(node, fault);
      throw fault;
    }
    known.set(node, head);
    pool.sawHead(node, head.number, head.timestampMs);
    return head;
  };
}

/** The block from the first node that has its bytes. */
async function blockWith(pool: NodePool, number: number, hash: string): Promise<NumberedBlock> {
  const block = await pool.first((node) => rawBlock(pool, node, number, hash));
  if (block === null) throw noBlock(number);
  return block;
}

async function rawBlock(pool: NodePool, node: PoolNode, number: number, hash: string): Promise<NumberedBlock> {
  const read = readBlock(await pool.ask(node, rawBlockQuestion(hash)), hash);
  if (read.ok) return { ...read.block, number };
  const fault = new AgentError("NODE_ANSWER", "none", `block ${number}: ${read.problem}`, { node: node.rpc.origin });
  pool.fail(node, fault);
  throw fault;
}

/** Blocks until one counts as final. Such a chain finalizes none itself, so the default is six. */
export function depthOf(confirmations: number | "finalized"): number {
  return confirmations === "finalized" ? confirmationsDefault : confirmations;
}

function noBlock(number: number): AgentError {
  return new AgentError("NODE_NO_BLOCK", "none", "the node does not have the block", { number });
}
