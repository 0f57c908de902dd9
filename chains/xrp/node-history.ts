/**
 * Transactions of an account in validated ledgers: all of a span, or the one that used a sequence.
 * A list counts only if the node says that it searched the whole span, and if enough nodes give the
 * same one. Touches nodes only through node-wire.ts. Source: the ledger's documentation of
 * `account_tx` and of markers.
 */
import { AgentError } from "../../base/fault.ts";
import type { BlockFinds, UnreadTransaction } from "../nodes.ts";
import { QuestionSizes } from "../providers/ask-smaller.ts";
import { createAnswerSharing } from "../providers/shared-answers.ts";
import { agreedFinds, joinFinds } from "../providers/unread.ts";
import {
  type HistoryPage,
  type LedgerTransaction,
  type Marker,
  transactionKey,
} from "./node-answers.ts";
import { historyQuestion, type LedgerSpan, pageSize } from "./node-questions.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

/*
 * Holds the list of an account's transactions against the ledger's own sum: the balance before a
 * span and all changes in the list make the balance after it, to the drop. A list that does not is
 * asked for again with other borders of its pages, from both ends; what lacks then too is a fault,
 * never a smaller number. Touches nodes only through its callers. Source: XRPLF/clio #1389, #700
 * and #699 (a transaction left out at each border of a page).
 */

/** How the pages of a list are cut. */
interface PageCut {
  readonly limit: number;
  readonly order: "oldest first" | "newest first";
}

type ListBy = (cut: PageCut) => Promise<BlockFinds<LedgerTransaction>>;

/** Borders that fall elsewhere: sizes without a common factor, and the other direction. */
const otherCuts: readonly PageCut[] = [
  { limit: 200, order: "newest first" },
  { limit: 183, order: "oldest first" },
  { limit: 167, order: "newest first" },
];

const explainedMax = 1_024;

interface Sums {
  /** The list, whole. @throws NODE_LIST_SHORT, or a fault of the nodes */
  complete(
    account: string,
    span: LedgerSpan,
    list: BlockFinds<LedgerTransaction>,
    ask: ListBy,
  ): Promise<BlockFinds<LedgerTransaction>>;
}

/** `balanceAt`: agreed drops of an account at a ledger, 0 for none. */
function createSums(balanceAt: (account: string, ledger: number) => Promise<bigint>): Sums {
  /** The newest balance that a list explained, by account. */
  const explained = new Map<string, { readonly ledger: number; readonly drops: bigint }>();

  async function before(account: string, { from }: LedgerSpan): Promise<bigint | null> {
    const known = explained.get(account);
    if (known?.ledger === from - 1) return known.drops;
    try {
      return await balanceAt(account, from - 1);
    } catch (fault) {
      // The ledger before the span is the first thing that a node forgets.
      if (fault instanceof AgentError && fault.code === "NODE_NO_BLOCK") return null;
      throw fault;
    }
  }

  return {
    complete: async (account, span, list, ask) => {
      // A transaction that cannot be read has no sum. It is named, and asked for again.
      if (list.unread.length > 0) return list;
      const from = await before(account, span);
      if (from === null) return list;
      const to = await balanceAt(account, span.to);
      const isWhole = ({ found }: BlockFinds<LedgerTransaction>): boolean =>
        from + changeOf(account, found) === to;
      const keep = (whole: BlockFinds<LedgerTransaction>): BlockFinds<LedgerTransaction> => {
        explained.delete(account);
        explained.set(account, { ledger: span.to, drops: to });
        const oldest = explained.keys().next();
        if (explained.size > explainedMax && !oldest.done) explained.delete(oldest.value);
        return whole;
      };
      if (isWhole(list)) return keep(list);
      const byHash = new Map(list.found.map((one) => [one.txHash, one]));
      for (const cut of otherCuts) {
        const { found, unread } = await ask(cut);
        for (const one of found) byHash.set(one.txHash, one);
        const all = [...byHash.values()].sort(
          (a, b) => a.ledger - b.ledger || (a.txHash < b.txHash ? -1 : 1),
        );
        if (unread.length > 0) return { found: all, unread };
        if (isWhole({ found: all, unread })) return keep({ found: all, unread });
      }
      throw short(account, span, to - from - changeOf(account, [...byHash.values()]));
    },
  };
}

/** The change of an account's balance by these transactions, fees included. */
function changeOf(account: string, found: readonly LedgerTransaction[]): bigint {
  const sumOf = (moves: LedgerTransaction["risen"]): bigint =>
    moves.reduce((sum, [address, drops]) => (address === account ? sum + drops : sum), 0n);
  return found.reduce((sum, { risen, fallen }) => sum + sumOf(risen) - sumOf(fallen), 0n);
}

function short(account: string, { from, to }: LedgerSpan, drops: bigint): AgentError {
  const words = `the lists of ${account} in ledgers ${from} to ${to} leave ${drops} drops of its balance unexplained`;
  return new AgentError("NODE_LIST_SHORT", "none", words, { account, from, to });
}

/** A span whose ends the caller knows, with the hash of its last ledger. */
export interface AnchoredSpan extends LedgerSpan {
  readonly hash: string;
}

export interface HistoryReader {
  /**
   * All transactions of the account in a span, oldest first, and those that a node shows so that
   * they cannot be read. @throws NODE_NO_BLOCK if a node did not search all of it
   */
  within(
    account: string,
    span: AnchoredSpan,
    isAgreed: boolean,
  ): Promise<BlockFinds<LedgerTransaction>>;
  /**
   * The transaction of the account that used a sequence, up to a ledger, agreed. Null if the nodes
   * do not find it, which proves nothing.
   */
  userOf(account: string, sequence: string, upTo: number): Promise<LedgerTransaction | null>;
}

/** The page that each server answers. */
const sizes = new QuestionSizes<PoolNode>(pageSize);
/**
 * Pages of one span, the small ones too; more transactions than that are no list of one account.
 */
const pagesMax = 20_000;
/** Pages that are searched for a sequence, from the newest ledger back. */
const searchedPagesMax = 10;
/** Agreed lists that are kept, none of them longer than this: the same span is asked for thrice. */
const keptMax = 16;
const keptLengthMax = 2_000;

/** `balanceAt`: agreed drops of an account at a ledger, 0 for none. */
export function createHistoryReader(
  pool: NodePool,
  balanceAt: (account: string, ledger: number) => Promise<bigint>,
): HistoryReader {
  const sums = createSums(balanceAt);
  const share = createAnswerSharing();
  const kept = new Map<string, BlockFinds<LedgerTransaction>>();

  /** A list with an unread transaction is asked for again the next time. */
  const keep = (key: string, list: BlockFinds<LedgerTransaction>): void => {
    if (list.found.length > keptLengthMax || list.unread.length > 0) return;
    kept.set(key, list);
    const oldest = kept.keys().next();
    if (kept.size > keptMax && !oldest.done) kept.delete(oldest.value);
  };

  return {
    within: async (account, span, isAgreed) => {
      const key = `${account} ${span.from} ${span.to} ${span.hash}`;
      const known = kept.get(key);
      if (known !== undefined) return known;
      const ask = (node: PoolNode, cut: PageCut = usualCut) =>
        listOf(pool, node, { account, span, cut });
      if (!isAgreed)
        return share(
          `one ${key}`,
          async () => (await pool.first((node) => ask(node))) ?? { found: [], unread: [] },
        );
      const what = `transactions of ${account} in ledgers ${span.from} to ${span.to}`;
      const agreedBy = async (cut: PageCut): Promise<BlockFinds<LedgerTransaction>> => {
        const told = new Map<PoolNode, Promise<BlockFinds<LedgerTransaction>>>();
        const answered: BlockFinds<LedgerTransaction>[] = [];
        const askOnce = async (node: PoolNode): Promise<BlockFinds<LedgerTransaction>> => {
          const asked = told.get(node) ?? ask(node, cut);
          told.set(node, asked);
          const list = await asked;
          answered.push(list);
          return list;
        };
        const agree = (keyOf: (list: BlockFinds<LedgerTransaction>) => string) =>
          pool.agree(askOnce, keyOf, what);
        return agreedFinds(
          agree,
          () => answered,
          (all) => all.map(transactionKey).join(),
        );
      };
      return share(key, async () => {
        const list = await sums.complete(account, span, await agreedByAny(agreedBy), agreedBy);
        keep(key, list);
        return list;
      });
    },
    userOf: (account, sequence, upTo) => {
      const ask = (node: PoolNode) => searched(pool, node, { account, sequence, upTo });
      return share(`user ${account} ${sequence} ${upTo}`, () =>
        pool.agree(ask, transactionKey, `user of sequence ${sequence}`),
      );
    },
  };
}

/** One server may leave out at a border what the other one shows: then other borders are asked. */
async function agreedByAny(
  agreedBy: (cut: PageCut) => Promise<BlockFinds<LedgerTransaction>>,
): Promise<BlockFinds<LedgerTransaction>> {
  let first: unknown = null;
  for (const cut of [usualCut, ...otherCuts]) {
    try {
      return await agreedBy(cut);
    } catch (fault) {
      if (!(fault instanceof AgentError) || fault.code !== "NODE_DISAGREE") throw fault;
      first ??= fault;
    }
  }
  throw first;
}

const usualCut: PageCut = { limit: pageSize, order: "oldest first" };

interface HistoryListing {
  readonly account: string;
  readonly span: LedgerSpan;
  readonly cut: PageCut;
}

async function listOf(
  pool: NodePool,
  node: PoolNode,
  { account, span, cut }: HistoryListing,
): Promise<BlockFinds<LedgerTransaction>> {
  const found = new Map<string, LedgerTransaction>();
  const unread: UnreadTransaction[] = [];
  for await (const page of pagesOf(
    pool,
    node,
    (marker, limit) =>
      historyQuestion(account, span, cut.order, marker, Math.min(limit, cut.limit)),
    pagesMax,
  )) {
    if (page.from > span.from || page.to < span.to) {
      const searched = { from: page.from, to: page.to, node: node.rpc.origin };
      throw new AgentError(
        "NODE_NO_BLOCK",
        "none",
        "the node did not search all ledgers that were asked for",
        searched,
      );
    }
    for (const transaction of page.transactions) {
      if (transaction.ledger < span.from || transaction.ledger > span.to)
        throw outside(node, transaction);
      found.set(transaction.txHash, transaction);
    }
    for (const { txHash, ledger, fault } of page.unread) {
      // Without its ledger nobody knows where to look again, so that the whole list is missing.
      if (ledger === 0) throw fault;
      unread.push({ txHash, block: ledger, account, fault });
    }
  }
  const sorted = [...found.values()].sort(
    (a, b) => a.ledger - b.ledger || (a.txHash < b.txHash ? -1 : 1),
  );
  return joinFinds([{ found: sorted, unread }]);
}

interface Search {
  readonly account: string;
  readonly sequence: string;
  readonly upTo: number;
}

/** The sequences of an account fall from page to page. */
async function searched(
  pool: NodePool,
  node: PoolNode,
  { account, sequence, upTo }: Search,
): Promise<LedgerTransaction | null> {
  const span = { from: -1, to: upTo };
  const question: PageQuestion = (marker, limit) =>
    historyQuestion(account, span, "newest first", marker, limit);
  for await (const page of pagesOf(pool, node, question, searchedPagesMax, true)) {
    const own = page.transactions.filter((one) => one.account === account && one.sequence !== "");
    const user = own.find((one) => one.sequence === sequence);
    if (user !== undefined) return user;
    if (own.some((one) => BigInt(one.sequence) < BigInt(sequence))) return null;
  }
  return null;
}

type PageQuestion = (
  marker: Marker | undefined,
  limit: number,
) => ReturnType<typeof historyQuestion>;

/**
 * The pages of a list, each the largest that the server answers: one whose metadata is too long, or
 * with a transaction that cannot be read, is asked for with fewer of them.
 * @throws NODE_ANSWER_SIZE above `most` pages, unless they may be cut off
 */
async function* pagesOf(
  pool: NodePool,
  node: PoolNode,
  question: PageQuestion,
  most: number,
  isCutOff = false,
): AsyncGenerator<HistoryPage> {
  let marker: Marker | undefined;
  for (let count = 0; count < most; count += 1) {
    const page = await sizes
      .of(node)
      .ask(pageSize, (limit) => pool.ask(node, question(marker, limit)));
    yield page;
    if (page.marker === undefined) return;
    if (JSON.stringify(page.marker) === JSON.stringify(marker)) {
      const fault = new AgentError("NODE_ANSWER", "none", "the node's list does not go on", {
        node: node.rpc.origin,
      });
      pool.fail(node, fault);
      throw fault;
    }
    marker = page.marker;
  }
  if (!isCutOff)
    throw new AgentError(
      "NODE_ANSWER_SIZE",
      "none",
      `the node's list has more than ${most} pages`,
      { most },
    );
}

function outside(node: PoolNode, { txHash, ledger }: LedgerTransaction): AgentError {
  const context = { node: node.rpc.origin, txHash, ledger };
  return new AgentError(
    "NODE_ANSWER",
    "none",
    "the node lists a transaction outside the ledgers that were asked for",
    context,
  );
}
