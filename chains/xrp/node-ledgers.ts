/**
 * Validated ledgers from one node, or by agreement of min(2, configured) nodes. A validated ledger
 * is final, so agreed ones are kept for a while; a network that begins again empties the memory.
 * Touches nodes only through node-pool.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { BlockId } from "../nodes.ts";
import { KeptBlocks } from "../providers/kept-blocks.ts";
import { firstFault, noNode } from "../providers/node-pool.ts";
import { createSharing } from "../providers/shared-answers.ts";
import type { LedgerHead, Server } from "./node-answers.ts";
import type { NodePool, PoolNode } from "./node-pool.ts";
import { ledgerQuestion, serverQuestion } from "./node-questions.ts";

export interface Ledgers {
  /** The newest validated ledger, from one node. */
  head(): Promise<LedgerHead>;
  /** The newest validated ledger that enough nodes have, with the same hash. */
  finalHead(): Promise<LedgerHead>;
  /** A validated ledger, agreed. @throws NODE_NO_BLOCK */
  agreedHead(number: number): Promise<LedgerHead>;
  /** A validated ledger of one node. @throws NODE_NO_BLOCK */
  headAt(number: number): Promise<LedgerHead>;
  /** True if every node has forgotten a ledger of this number, and has newer ones. */
  isForgotten(number: number): Promise<boolean>;
}

/**
 * Time after which the other nodes' answers no longer wait for a slow provider, or one at its
 * quota.
 */
export const graceMs = 500;

export function createLedgers(pool: NodePool): Ledgers {
  const kept = new KeptBlocks<LedgerHead>(() => 1);
  const share = createSharing();
  const newest = (node: PoolNode): Promise<LedgerHead> => newestOf(pool, node);

  const agreedHead = (number: number): Promise<LedgerHead> =>
    kept.ask(number, () => pool.agree((node) => pool.ask(node, ledgerQuestion(number)), headKey, `ledger ${number}`));

  return {
    head: async () => {
      pool.lookAround(newest);
      const head = await pool.first(newest);
      if (head === null) throw noNode();
      return head;
    },
    finalHead: () =>
      share("final", async () => {
        pool.lookAround(newest);
        const settled = await pool.all(newest, graceMs);
        const heads = settled.flatMap((one) => (one.ok ? [one.value] : [])).sort((a, b) => b.number - a.number);
        // The highest number that enough nodes have reached. A node that lags, or runs ahead, has
        // no effect.
        const reached = heads[pool.quorumMin - 1];
        if (reached === undefined) throw firstFault(settled);
        // Nodes at the same ledger already agree, and a second question would only cost.
        const alike = heads.filter((one) => headKey(one) === headKey(reached));
        const head = alike.length >= pool.quorumMin ? reached : await agreedNow(pool, reached.number);
        kept.stands(head);
        return head;
      }),
    agreedHead,
    headAt: async (number) => {
      const head = await pool.first((node) => pool.ask(node, ledgerQuestion(number)));
      if (head === null) throw new AgentError("NODE_NO_BLOCK", "none", "the node does not have the ledger", { number });
      return head;
    },
    isForgotten: async (number) => {
      const settled = await pool.all((node) => pool.ask(node, serverQuestion));
      const servers = settled.flatMap((one) => (one.ok ? [one.value] : []));
      const isBefore = ({ ledgers }: Server): boolean => ledgers.length > 0 && ledgers.every(([from]) => number < from);
      return servers.length === settled.length && servers.every(isBefore);
    },
  };
}

function agreedNow(pool: NodePool, number: number): Promise<LedgerHead> {
  return pool.agree((node) => pool.ask(node, ledgerQuestion(number)), headKey, `ledger ${number}`);
}

/** The node's newest validated ledger. The pool remembers it as the newest that the node showed. */
export async function newestOf(pool: NodePool, node: PoolNode): Promise<LedgerHead> {
  const head = await pool.ask(node, ledgerQuestion("validated"));
  pool.sawHead(node, head.number, head.timestampMs);
  return head;
}

export function idOf({ number, hash }: BlockId): BlockId {
  return { number, hash };
}

function headKey({ number, hash, parentHash, timestampMs }: LedgerHead): string {
  return JSON.stringify([number, hash, parentHash, timestampMs]);
}
