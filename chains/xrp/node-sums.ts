/**
 * Holds the list of an account's transactions against the ledger's own sum: the balance before a
 * span and all changes in the list make the balance after it, to the drop. A list that does not is
 * asked for again with other borders of its pages, from both ends; what lacks then too is a fault,
 * never a smaller number. Touches nodes only through its callers. Source: XRPLF/clio #1389, #700
 * and #699 (a transaction left out at each border of a page).
 */
import { AgentError } from "../../base/fault.ts";
import type { Finds } from "../nodes.ts";
import type { LedgerTransaction } from "./node-answers.ts";
import type { Span } from "./node-questions.ts";

/** How the pages of a list are cut. */
export interface PageCut {
  readonly limit: number;
  readonly order: "oldest first" | "newest first";
}

export type ListBy = (cut: PageCut) => Promise<Finds<LedgerTransaction>>;

/** Borders that fall elsewhere: sizes without a common factor, and the other direction. */
export const otherCuts: readonly PageCut[] = [
  { limit: 200, order: "newest first" },
  { limit: 183, order: "oldest first" },
  { limit: 167, order: "newest first" },
];

const keptMax = 1_024;

export interface Sums {
  /** The list, whole. @throws NODE_LIST_SHORT, or a fault of the nodes */
  complete(
    account: string,
    span: Span,
    list: Finds<LedgerTransaction>,
    ask: ListBy,
  ): Promise<Finds<LedgerTransaction>>;
}

/** `balanceAt`: agreed drops of an account at a ledger, 0 for none. */
export function createSums(balanceAt: (account: string, ledger: number) => Promise<bigint>): Sums {
  /** The newest balance that a list explained, by account. */
  const explained = new Map<string, { readonly ledger: number; readonly drops: bigint }>();

  async function before(account: string, { from }: Span): Promise<bigint | null> {
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
      const isWhole = ({ found }: Finds<LedgerTransaction>): boolean =>
        from + changeOf(account, found) === to;
      const keep = (whole: Finds<LedgerTransaction>): Finds<LedgerTransaction> => {
        explained.delete(account);
        explained.set(account, { ledger: span.to, drops: to });
        const oldest = explained.keys().next();
        if (explained.size > keptMax && !oldest.done) explained.delete(oldest.value);
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

function short(account: string, { from, to }: Span, drops: bigint): AgentError {
  const words = `the lists of ${account} in ledgers ${from} to ${to} leave ${drops} drops of its balance unexplained`;
  return new AgentError("NODE_LIST_SHORT", "none", words, { account, from, to });
}
