/** The chain as one node sees it: some ledgers behind the others, or with holes in its history. */
import type { Chain } from "./chain.ts";
import type { ReadTransaction } from "./transaction.ts";

/** Ledgers from one to another, both included. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export interface View {
  readonly chain: Chain;
  readonly head: number; // its newest validated ledger
  readonly isBehind: boolean;
  readonly first: number; // its oldest ledger
  readonly holes: readonly Range[];
  readonly networkId: number;
  readonly serverState: string;
  readonly openFeeDrops: bigint;
  readonly taking: "takes" | "drops" | "keeps"; // submitted transactions
  readonly kept: Map<string, ReadTransaction>; // never passed on to others
  readonly isClio: boolean; // Clio, the server for validated ledgers before a rippled
  readonly pageMost: number; // transactions in an answer
  readonly skipsAtBorders: boolean; // leaves one transaction out behind each page, oldest first
}

export function hasLedger({ first, head, holes }: View, index: number): boolean {
  return (
    index >= first && index <= head && !holes.some(({ from, to }) => index >= from && index <= to)
  );
}

/** The oldest ledger from which the node has all up to its newest. */
export function contiguous(view: View): number {
  const ends = view.holes.filter(({ to }) => to < view.head).map(({ to }) => to + 1);
  return Math.max(view.first, ...ends);
}

/** As server_info writes it: "95000000-95000010,95000014-95000020", or "empty". */
export function completeLedgers(view: View): string {
  const ranges: string[] = [];
  let from: number | null = null;
  for (let index = view.first; index <= view.head + 1; index += 1) {
    const isThere = hasLedger(view, index);
    if (isThere && from === null) from = index;
    if (isThere || from === null) continue;
    ranges.push(from === index - 1 ? String(from) : `${from}-${index - 1}`);
    from = null;
  }
  return ranges.length === 0 ? "empty" : ranges.join(",");
}
