/** The questions to one node, with readers of their answers. */

import {
  type CanonicalText,
  canonicalPathOf,
  requireCanonicalText,
} from "../providers/canonical-text.ts";
import {
  type AddressSums,
  type AddressTotals,
  type AddressTransaction,
  type BlockHead,
  type FeeRates,
  type Place,
  readAddressSums,
  readAddressTotals,
  readHash,
  readHead,
  readHexAnswer,
  readHistory,
  readOutspend,
  readOutspendOf,
  readRates,
  readRecommendedRate,
  readRewardId,
  readSpentInMempool,
  readTransactionCount,
  readTransactionPlace,
  readUnspent,
  type SpendingTransaction,
  type UnspentOutput,
} from "./answers.ts";
import { blockBytesMax } from "./block.ts";
import type { Question } from "./node-wire.ts";

/** A list of some thousand outputs; servers refuse by themselves above 500. */
const unspentBytesMax = 4 * 1024 * 1024;
/** Each transaction is shown whole, and some pay thousands of receivers. */
const historyBytesMax = 32 * 1024 * 1024;
/** Some ten thousand ids fit into a block, and as many outputs into a transaction. */
const idsBytesMax = 2 * 1024 * 1024;
const outspendsBytesMax = 8 * 1024 * 1024;
/** Two digits a byte, for the longest transaction that fits into a block. */
const transactionBytesMax = 2 * 4_000_000 + 1024;

const outputForm = /^(?:0|[1-9][0-9]{0,9})$/;

/** The id of a block or a transaction. */
const idOf = (text: string): CanonicalText => requireCanonicalText(text, /^[0-9a-f]{64}$/, "hash");
const addressOf = (text: string): CanonicalText =>
  requireCanonicalText(text, /^[0-9A-Za-z]{14,90}$/, "address");

export const tipHashQuestion: Question<string> = {
  path: canonicalPathOf`/blocks/tip/hash`,
  read: readHash,
};

/** Null if the node's chain is shorter. */
export function hashQuestion(number: number): Question<string | null> {
  return { path: canonicalPathOf`/block-height/${number}`, read: readHash, absent: null };
}

export function headQuestion(hash: string): Question<BlockHead> {
  return { path: canonicalPathOf`/block/${idOf(hash)}`, read: readHead };
}

export function rawBlockQuestion(hash: string): Question<Buffer> {
  return {
    path: canonicalPathOf`/block/${idOf(hash)}/raw`,
    read: (bytes) => bytes,
    answerBytesMax: blockBytesMax,
  };
}

/** The place of a transaction in the node's chain; null in its mempool, and where it has none. */
export function transactionPlaceQuestion(txHash: string): Question<Place | null> {
  return {
    path: canonicalPathOf`/tx/${idOf(txHash)}/status`,
    read: readTransactionPlace,
    absent: null,
  };
}

/** A transaction's bytes; null if the node does not have it. */
export function transactionQuestion(txHash: string): Question<Buffer | null> {
  return {
    path: canonicalPathOf`/tx/${idOf(txHash)}/hex`,
    read: readHexAnswer,
    absent: null,
    answerBytesMax: transactionBytesMax,
  };
}

/** The transaction that spends a coin by this node, null for none; the other way is all of them. */
export const outspendQuestions = {
  usual: (id: string): Question<SpendingTransaction | null> => {
    const [txHash = "", output = ""] = id.split(":");
    const number = requireCanonicalText(output, outputForm, "number of an output");
    return {
      path: canonicalPathOf`/tx/${idOf(txHash)}/outspend/${number}`,
      read: readOutspend,
      absent: null,
    };
  },
  other: (id: string): Question<SpendingTransaction | null> => {
    const [txHash = "", output = ""] = id.split(":");
    const number = Number(requireCanonicalText(output, outputForm, "number of an output"));
    const read = (bytes: Buffer): SpendingTransaction | null => readOutspendOf(bytes, number);
    return {
      path: canonicalPathOf`/tx/${idOf(txHash)}/outspends`,
      read,
      absent: null,
      answerBytesMax: outspendsBytesMax,
    };
  },
};

/** Outputs to an address that nothing spends in the node's chain and mempool. */
export function unspentQuestion(address: string): Question<readonly UnspentOutput[]> {
  return {
    path: canonicalPathOf`/address/${addressOf(address)}/utxo`,
    read: readUnspent,
    answerBytesMax: unspentBytesMax,
  };
}

/** Transactions of an address: up to 50 without a block, then the newest of blocks. */
export function newestTransactionsQuestion(
  address: string,
): Question<readonly AddressTransaction[]> {
  return {
    path: canonicalPathOf`/address/${addressOf(address)}/txs`,
    read: readHistory,
    answerBytesMax: historyBytesMax,
    isOfOthers: true,
  };
}

/** The newest 25 transactions of an address in blocks, or the 25 before one of them. */
export function historyQuestion(
  address: string,
  after = "",
): Question<readonly AddressTransaction[]> {
  const newest = canonicalPathOf`/address/${addressOf(address)}/txs/chain`;
  const path = after === "" ? newest : canonicalPathOf`${newest}/${idOf(after)}`;
  return { path, read: readHistory, answerBytesMax: historyBytesMax, isOfOthers: true };
}

/** Up to 50 transactions of an address that no block has. */
export function mempoolTransactionsQuestion(
  address: string,
): Question<readonly AddressTransaction[]> {
  return {
    path: canonicalPathOf`/address/${addressOf(address)}/txs/mempool`,
    read: readHistory,
    answerBytesMax: historyBytesMax,
    isOfOthers: true,
  };
}

export function addressSumsQuestion(address: string): Question<AddressSums> {
  return { path: canonicalPathOf`/address/${addressOf(address)}`, read: readAddressSums };
}

export function addressTotalsQuestion(address: string): Question<AddressTotals> {
  return { path: canonicalPathOf`/address/${addressOf(address)}`, read: readAddressTotals };
}

/** The number of coins of an address that transactions without a block spend. */
export function spentInMempoolQuestion(address: string): Question<number> {
  return { path: canonicalPathOf`/address/${addressOf(address)}`, read: readSpentInMempool };
}

export function transactionCountQuestion(address: string): Question<number> {
  return { path: canonicalPathOf`/address/${addressOf(address)}`, read: readTransactionCount };
}

/** The id of a block's first transaction; the other way is the list of all ids. */
export const rewardQuestions = {
  usual: (hash: string): Question<string> => ({
    path: canonicalPathOf`/block/${idOf(hash)}/txid/0`,
    read: readHash,
  }),
  other: (hash: string): Question<string> => ({
    path: canonicalPathOf`/block/${idOf(hash)}/txids`,
    read: readRewardId,
    answerBytesMax: idsBytesMax,
  }),
};

export const ratesQuestion: Question<FeeRates> = {
  path: canonicalPathOf`/fee-estimates`,
  read: readRates,
};

/** The rate for about three blocks by mempool's own server. */
export const recommendedQuestion: Question<bigint> = {
  path: canonicalPathOf`/v1/fees/recommended`,
  read: readRecommendedRate,
};
