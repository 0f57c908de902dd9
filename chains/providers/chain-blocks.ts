/**
 * The head of a chain, its final block, agreed blocks and places, from one node or by agreement of
 * min(2, configured) nodes: one rule for every family. A family brings its questions, and says what
 * final means. The pool remembers the heads and final blocks that each node shows. Touches nodes
 * only through the family's questions.
 */
import { AgentError } from "../../base/fault.ts";
import type { BlockId } from "../nodes.ts";
import {
  type Client,
  disagreementFault,
  firstFault,
  type NodePool,
  noNodeFault,
  type PoolNode,
  type SettledAnswer,
} from "./node-pool.ts";
import { createAnswerSharing } from "./shared-answers.ts";

/**
 * Time after which the other nodes' answers no longer wait for a slow provider, or one at its
 * quota.
 */
export const slowNodeGraceMs = 500;

/** A head with its own time. */
export type TimedHead<H> = H & { readonly timestampMs: number };

/** `H`: a newest head; `I`: a block by its number, of which the hash may be all. */
export interface BlockQuestions<N, H extends BlockId, I extends BlockId> {
  /** The node's newest head. Tells the pool of it. */
  newest(node: N): Promise<H>;
  /** The block of a number, of the side that is final; null if the node has none. */
  at(node: N, number: number): Promise<I | null>;
  /** Blocks from the final one to the head, itself counted; or the node's newest final block. */
  readonly final: number | ((node: N) => Promise<I>);
  /** Own time of a final block, Unix milliseconds; 0 if unknown. */
  timeOf(block: I): number | Promise<number>;
  /** Equal for two nodes that show the same block. */
  keyOf(block: I): string;
}

export interface ChainBlocks<H, I> {
  /** The newest head, from one node. */
  head(): Promise<H>;
  /** The highest number of a head that any node has shown. @throws a fault if no node answers */
  highestHead(): Promise<number>;
  /** The newest block that is final on enough nodes, agreed. */
  finalHead(): Promise<I>;
  /** A block, agreed. @throws NODE_NO_BLOCK */
  agreedAt(number: number): Promise<I>;
}

type Pool<C extends Client> = Pick<
  NodePool<C>,
  "all" | "agree" | "first" | "lookAround" | "quorumMin" | "sawFinal" | "status"
>;

export function createChainBlocks<C extends Client, H extends BlockId, I extends BlockId>(
  pool: Pool<C>,
  questions: BlockQuestions<PoolNode<C>, H, I>,
): ChainBlocks<H, I> {
  const share = createAnswerSharing();
  const { newest, at, final, timeOf, keyOf } = questions;
  let timed: { readonly hash: string; readonly atMs: number } | null = null;
  /** The final block by depth, and the heads below which it was agreed. */
  let below: { readonly heads: string; readonly final: I } | null = null;

  const agreedAt = (number: number): Promise<I> =>
    // Just agreed as the final one, below the newest heads.
    below?.final.number === number ? Promise.resolve(below.final) : askAgreed(number);

  const askAgreed = (number: number): Promise<I> =>
    share(`at ${number}`, async () => {
      const keyOrNone = (block: I | null): string => (block === null ? "none" : keyOf(block));
      const block = await pool.agree((node) => at(node, number), keyOrNone, `block ${number}`);
      if (block === null) throw noBlockFault(number);
      return block;
    });

  /** One question more only where a block by its number has no time. */
  async function timeOnce(block: I): Promise<number> {
    if (timed?.hash === block.hash) return timed.atMs;
    try {
      timed = { hash: block.hash, atMs: await timeOf(block) };
      return timed.atMs;
    } catch (fault) {
      if (!(fault instanceof AgentError)) throw fault;
      return 0;
    }
  }

  const finalOf = async (node: PoolNode<C>): Promise<ReachedBlock<C, I>> => {
    if (typeof final !== "number") {
      const block = await final(node);
      return { node, number: block.number, block };
    }
    const head = await newest(node);
    return { node, number: Math.max(0, head.number - final + 1), block: null, head: head.hash };
  };

  /** By depth the same heads stand on the same block, so no node is asked for it again. */
  async function finalAt(number: number, told: readonly ReachedBlock<C, I>[]): Promise<I> {
    const heads = told.map(({ node, head }) => `${node.rpc.origin} ${head ?? ""}`).join();
    if (typeof final !== "number") return agreedAt(number);
    if (below?.heads !== heads || below.final.number !== number)
      below = { heads, final: await askAgreed(number) };
    return below.final;
  }

  return {
    head: async () => {
      pool.lookAround(newest);
      const head = await pool.first(newest);
      if (head === null) throw noNodeFault();
      return head;
    },
    highestHead: async () => {
      const settled = await pool.all(newest, slowNodeGraceMs);
      const asked = settled.flatMap((one) => (one.ok ? [one.value.number] : []));
      if (asked.length === 0) throw firstFault(settled);
      // Behind one address may stand machines that lag, so the heads of before count too.
      return Math.max(...asked, ...pool.status().map(({ head }) => head?.highest ?? 0));
    },
    finalHead: () =>
      share("final", async () => {
        pool.lookAround(newest);
        const settled = await pool.all(finalOf, slowNodeGraceMs);
        const told = settled
          .flatMap((one) => (one.ok ? [one.value] : []))
          .sort((a, b) => b.number - a.number);
        // The highest number that enough nodes have reached. A node that lags, or runs ahead, has
        // no effect.
        const reached = told[pool.quorumMin - 1];
        if (reached === undefined) throw firstFault(settled);
        // Nodes at the same block already agree, and a second question would only cost.
        const alike = told.flatMap(({ block }) =>
          block !== null && keyOf(block) === keyOfOr(reached, keyOf) ? [block] : [],
        );
        const agreed =
          alike.length >= pool.quorumMin ? (alike[0] as I) : await finalAt(reached.number, told);
        const atMs = await timeOnce(agreed);
        for (const { node, number, block } of told) {
          if (number >= agreed.number) pool.sawFinal(node, agreed.number, atMs);
          else pool.sawFinal(node, number, block === null ? 0 : await timeOf(block));
        }
        return agreed;
      }),
    agreedAt,
  };
}

/** A node's newest final block; by depth only its number is known. */
interface ReachedBlock<C extends Client, I> {
  readonly node: PoolNode<C>;
  readonly number: number;
  readonly block: I | null;
  readonly head?: string; // hash of the head, by depth
}

function keyOfOr<C extends Client, I>(
  { block }: ReachedBlock<C, I>,
  keyOf: (block: I) => string,
): string {
  return block === null ? "" : keyOf(block);
}

export function idOf({ number, hash }: BlockId): BlockId {
  return { number, hash };
}

export function noBlockFault(number: number): AgentError {
  return new AgentError("NODE_NO_BLOCK", "none", "the node does not have the block", { number });
}

/** An answer of several nodes, each of which may have none. */
export interface QuorumAnswer<T> {
  /** The same by enough nodes. */
  readonly agreed: T | null;
  /** The first of any node. */
  readonly shown: T | null;
  /** So many nodes have one. */
  readonly count: number;
  /** So many different ones were shown. */
  readonly versions: number;
}

/** @throws a node's fault when too few answered */
export function quorumAnswerOf<T>(
  settled: readonly SettledAnswer<T | null>[],
  quorum: number,
  keyOf: (value: T) => string,
): QuorumAnswer<T> {
  const answers = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (answers.length < quorum) throw firstFault(settled);
  const found = answers.filter((one) => one !== null);
  const keys = found.map(keyOf);
  const agreed =
    found.find((_, index) => keys.filter((key) => key === keys[index]).length >= quorum) ?? null;
  return { agreed, shown: found[0] ?? null, count: found.length, versions: new Set(keys).size };
}

/**
 * The agreed one, null while too few nodes have one.
 * @throws NODE_DISAGREE if enough have one and too few the same
 */
export function agreedValueOrNull<T>(
  { agreed, count, versions }: QuorumAnswer<T>,
  quorum: number,
  what: string,
): T | null {
  if (agreed === null && count >= quorum) throw disagreementFault(what, versions);
  return agreed;
}
