/**
 * Final blocks by agreement of several nodes. Nodes have to agree on the block and its list of
 * transactions. Their fields of a foreign transaction may differ; only the transactions of our
 * addresses are compared there. Touches nodes only through node.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { BlockFinds } from "../nodes.ts";
import { findAgreedAnswer } from "../providers/node-agreement.ts";
import { collectFinds, joinFinds } from "../providers/unread.ts";
import type { Block, BlockTransaction } from "./answers.ts";
import type { EvmNodes } from "./node.ts";

/** `others`: the same block as further nodes show it, if their fields differ. */
export interface AgreedBlock extends Block {
  readonly others?: readonly Block[];
}

/** Bytes of a transaction in addition to its data. */
const fieldBytes = 500;

/** @throws AgentError NODE_DISAGREE, or a node's fault when too few answered */
export async function fetchAgreedBlock(
  each: readonly EvmNodes[],
  number: number,
): Promise<AgreedBlock> {
  const asked = new Map<EvmNodes, Promise<Block>>();
  const ask = (nodes: EvmNodes): Promise<Block> => {
    const block = asked.get(nodes) ?? nodes.block(number, { full: true });
    asked.set(nodes, block);
    return block;
  };
  try {
    return await findAgreedAnswer(
      each,
      ask,
      (block) => JSON.stringify([headKey(block), block.transactions.map(shownKey)]),
      `block ${number}`,
    );
  } catch (fault) {
    if (!(fault instanceof AgentError) || fault.code !== "NODE_DISAGREE") throw fault;
    const block = await findAgreedAnswer(each, ask, headKey, `block ${number}`);
    const settled = await Promise.allSettled(asked.values());
    const shown = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    return {
      ...block,
      others: shown.filter((other) => other !== block && headKey(other) === headKey(block)),
    };
  }
}

/** The fields of a transaction that count for a payment or an outgoing transaction. */
export type ComparedFields = (one: BlockTransaction) => readonly unknown[];
export const paymentFields: ComparedFields = ({ hash, toKey, valueUnits }) => [
  hash,
  toKey,
  `${valueUnits}`,
];
export const outgoingFields: ComparedFields = ({
  hash,
  fromKey,
  toKey,
  nonce,
  valueUnits,
  input,
}) => [...[hash, fromKey, toKey, `${nonce}`, `${valueUnits}`, input]];
/** All that a payout's judgement reads. */
export const payoutFields: ComparedFields = (one) => [...outgoingFields(one), one.from, one.to];

/**
 * The transactions of a block that `isOurs` selects. Every node must show these fields alike. One
 * that a node shows with an odd field is unread, and no node's word on it counts.
 * @throws AgentError NODE_DISAGREE
 */
export function selectAgreedTransactions(
  block: AgreedBlock,
  isOurs: (one: BlockTransaction) => boolean,
  fields: ComparedFields,
  accountOf: (one: BlockTransaction) => string,
): BlockFinds<BlockTransaction> {
  const { number, others = [] } = block;
  const readIn = (shown: Block): BlockFinds<BlockTransaction> => {
    const read = (one: BlockTransaction): readonly BlockTransaction[] =>
      fields(one).length > 0 ? [one] : [];
    return collectFinds(shown.transactions.filter(isOurs), read, (one) => ({
      txHash: one.hash,
      block: number,
      account: accountOf(one),
    }));
  };
  const own = readIn(block);
  const theirs = others.map(readIn);
  const { unread } = joinFinds([own, ...theirs]);
  const hashes = new Set(unread.map(({ txHash }) => txHash));
  const agreedOf = ({ found }: BlockFinds<BlockTransaction>) =>
    found.filter(({ hash }) => !hashes.has(hash));
  const keyOf = (finds: BlockFinds<BlockTransaction>): string =>
    JSON.stringify(agreedOf(finds).map(fields));
  if (theirs.some((other) => keyOf(other) !== keyOf(own)))
    throw new AgentError(
      "NODE_DISAGREE",
      "none",
      `the nodes do not agree on our transactions in block ${number}`,
      { number },
    );
  return { found: agreedOf(own), unread };
}

/**
 * Approximate bytes of a kept block. Infinite for a block that nodes show in different words, so
 * such a block is not kept and is asked for again.
 */
export function blockBytesOf({ transactions, others = [] }: AgreedBlock): number {
  if (others.length > 0) return Number.POSITIVE_INFINITY;
  return transactions.reduce((sum, one) => sum + fieldBytes + one.bytes, 0);
}

function headKey({ number, hash, parentHash, transactions }: Block): string {
  return JSON.stringify([number, hash, parentHash, transactions.map((one) => one.hash)]);
}

/** A key for any sender: a transaction with odd fields is equal only to itself. */
function shownKey(one: BlockTransaction): readonly unknown[] {
  try {
    return outgoingFields(one);
  } catch (fault) {
    if (!(fault instanceof AgentError)) throw fault;
    return [one.hash, one.fromKey, one.toKey, fault.message];
  }
}
