/** The questions to one node, with readers of their answers. */
import { AgentError } from "../../base/fault.ts";
import { type CanonicalText, requireCanonicalText } from "../providers/canonical-text.ts";
import {
  type Account,
  type FeeAnswer,
  type HistoryPage,
  type LedgerHead,
  type LedgerTransaction,
  type Marker,
  readAccount,
  readFee,
  readHistoryPage,
  readLedger,
  readServerState,
  readTransaction,
  type ServerState,
} from "./node-answers.ts";
import type { NewestLedger, Question } from "./node-wire.ts";
import type { Fields } from "./rpc.ts";

/** A transaction with metadata of a very long path is some ten thousand bytes long. */
const transactionBytesMax = 2 * 1024 * 1024;
/** Transactions that each eat a thousand offers have some megabytes; a smaller page has fewer. */
const pageBytesMax = 32 * 1024 * 1024;
/** Transactions on a page, at most; a server answers at least ten. */
export const pageSize = 200;
const otherLedger = "the node answered another ledger";

const addressOf = (text: string): CanonicalText =>
  requireCanonicalText(text, /^r[1-9A-HJ-NP-Za-km-z]{23,35}$/, "address");

/** Figures of the node itself. */
export const serverQuestion: Question<ServerState> = {
  method: "server_info",
  params: {},
  read: readServerState,
};

export const feeQuestion: Question<FeeAnswer> = { method: "fee", params: {}, read: readFee };

/** A validated ledger without its transactions, by number or the newest. */
export function ledgerQuestion(number: number | "validated"): Question<LedgerHead> {
  const read = (result: Fields): LedgerHead => {
    const head = readLedger(result);
    if (number === "validated" || head.number === number) return head;
    throw new AgentError("NODE_ANSWER", "none", otherLedger, { number });
  };
  return {
    method: "ledger",
    params: { ledger_index: number, transactions: false, expand: false },
    read,
  };
}

/**
 * An account at a ledger; null if it is not there. A node that has not validated a ledger of that
 * number may answer out of its open one, which counts for nothing.
 */
export function accountQuestion(
  address: string,
  at: number | NewestLedger,
): Question<Account | null> {
  const params = {
    account: addressOf(address),
    ledger_index: at,
    ...(at === "current" ? { queue: true } : {}),
  };
  const read = (result: Fields): Account => {
    if (at !== "current" && result.validated !== true) throw unvalidated(at);
    if (typeof at === "number" && result.ledger_index !== at)
      throw new AgentError("NODE_ANSWER", "none", otherLedger, { at });
    return readAccount(result);
  };
  const readAbsent = (result: Fields): null => {
    if (at !== "current" && result.validated === false) throw unvalidated(at);
    return null;
  };
  return {
    method: "account_info",
    params,
    read,
    absent: { error: "actNotFound", read: readAbsent },
  };
}

function unvalidated(at: number | NewestLedger): AgentError {
  return new AgentError("NODE_NO_BLOCK", "none", "the node has not validated the ledger", { at });
}

/**
 * A transaction in a validated ledger; null if the node shows none there. Null proves nothing: a
 * node that lacks ledgers does not find their transactions.
 */
export function transactionQuestion(txHash: string): Question<LedgerTransaction | null> {
  const read = (result: Fields): LedgerTransaction | null => {
    const transaction = readTransaction(result);
    if (transaction === null || transaction.txHash === txHash) return transaction;
    throw new AgentError("NODE_ANSWER", "none", "the node answered another transaction");
  };
  const absent = { error: "txnNotFound", read: () => null };
  return {
    method: "tx",
    params: { transaction: requireCanonicalText(txHash, /^[0-9A-F]{64}$/, "hash"), binary: false },
    read,
    absent,
    answerBytesMax: transactionBytesMax,
    isOfOthers: true,
  };
}

/** Ledgers `from` to `to`; -1 leaves an end to the node. */
export interface LedgerSpan {
  readonly from: number;
  readonly to: number;
}

/** A page of an account's validated transactions, oldest or newest ledger first. */
export function historyQuestion(
  account: string,
  { from, to }: LedgerSpan,
  order: "oldest first" | "newest first",
  marker?: Marker,
  limit: number = pageSize,
): Question<HistoryPage> {
  const span = {
    ledger_index_min: from,
    ledger_index_max: to,
    binary: false,
    forward: order === "oldest first",
    limit,
  };
  const params = {
    account: addressOf(account),
    ...span,
    ...(marker === undefined ? {} : { marker }),
  };
  return {
    method: "account_tx",
    params,
    read: readHistoryPage,
    answerBytesMax: pageBytesMax,
    isOfOthers: true,
  };
}
