/**
 * Validated ledgers from one node, or by agreement of min(2, configured) nodes. A validated ledger
 * is final, so agreed ones are kept for a while; a network that begins again empties the memory.
 * Touches nodes only through node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import { createChainBlocks } from "../providers/chain-blocks.ts";
import { KeptBlocks } from "../providers/kept-blocks.ts";
import type { LedgerHead, ServerState } from "./node-answers.ts";
import { ledgerQuestion, serverQuestion } from "./node-questions.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

export interface XrpLedgerReader {
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

/** Time after which a node is asked again which ledgers it keeps. */
const rangesMs = 300_000;

export function createXrpLedgerReader(pool: NodePool, clock: () => number): XrpLedgerReader {
  const kept = new KeptBlocks<LedgerHead>(() => 1);
  const askedAt = new WeakMap<PoolNode, number>();

  /** Nobody waits for the answer: it only tells which ledgers are missing. */
  const lookAtHistory = (node: PoolNode): void => {
    const nowMs = clock();
    if (nowMs - (askedAt.get(node) ?? Number.NEGATIVE_INFINITY) < rangesMs) return;
    askedAt.set(node, nowMs);
    void Promise.allSettled([askServerState(pool, node)]);
  };

  const newest = async (node: PoolNode): Promise<LedgerHead> => {
    const head = await askNewestLedger(pool, node);
    lookAtHistory(node);
    return head;
  };

  const chain = createChainBlocks(pool, {
    newest,
    at: (node, number) => pool.ask(node, ledgerQuestion(number)),
    // A validated ledger is final.
    final: newest,
    timeOf: ({ timestampMs }) => timestampMs,
    keyOf: headKey,
  });

  return {
    head: chain.head,
    finalHead: async () => {
      const head = await chain.finalHead();
      kept.stands(head);
      return head;
    },
    agreedHead: (number) => kept.ask(number, () => chain.agreedAt(number)),
    headAt: async (number) => {
      const head = await pool.first((node) => pool.ask(node, ledgerQuestion(number)));
      if (head === null)
        throw new AgentError("NODE_NO_BLOCK", "none", "the node does not have the ledger", {
          number,
        });
      return head;
    },
    isForgotten: async (number) => {
      const settled = await pool.all((node) => askServerState(pool, node));
      const servers = settled.flatMap((one) => (one.ok ? [one.value] : []));
      const isBefore = ({ ledgers }: ServerState): boolean =>
        ledgers.length > 0 && ledgers.every(([from]) => number < from);
      return servers.length === settled.length && servers.every(isBefore);
    },
  };
}

/** A node's own figures. The pool remembers the ledgers that it keeps. */
export async function askServerState(pool: NodePool, node: PoolNode): Promise<ServerState> {
  const server = await pool.ask(node, serverQuestion);
  node.ranges = server.ledgers;
  return server;
}
/** The node's newest validated ledger. The pool remembers it as the newest that the node showed. */
export async function askNewestLedger(pool: NodePool, node: PoolNode): Promise<LedgerHead> {
  const head = await pool.ask(node, ledgerQuestion("validated"));
  pool.sawHead(node, head.number, head.timestampMs, head);
  return head;
}

function headKey({ number, hash, parentHash, timestampMs }: LedgerHead): string {
  return JSON.stringify([number, hash, parentHash, timestampMs]);
}
