/**
 * The domains of faults, as data: what a fault costs, what it never costs, and the thing that has
 * the fault when many of its items fail alike. A fault stays with the thing that has it. Pure.
 * Source: docs/architecture.md section 8.
 */

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const dayMs = 24 * 60 * minuteMs;

interface DomainRow {
  readonly item: string; // the thing that has the fault, and its id
  readonly costs: string;
  readonly neverCosts: string;
  /** The domain above it; null if the fault rises no further. */
  readonly parent: string | null;
  /** The longest time between two tries. */
  readonly restMaxMs: number;
  /** The fault is told after it has stood for this time. */
  readonly toldAfterMs: number;
  /** The room that keeps the faults; "book" for the watcher's own. */
  readonly keeper: "book" | "nodes" | "rows" | "callbacks" | "prices";
}

const table = <const T extends Readonly<Record<string, DomainRow>>>(rows: T): Readonly<T> =>
  Object.freeze(rows);

const told = { toldAfterMs: 10 * minuteMs, keeper: "book" } as const;

export const faultDomains = table({
  head: {
    item: "the chain's newest blocks",
    costs: "the chain's progress",
    neverCosts: "other chains",
    parent: null,
    restMaxMs: 0,
    ...told,
  },
  final: {
    item: "the chain's final block",
    costs: "the chain's progress",
    neverCosts: "other chains",
    parent: null,
    restMaxMs: 0,
    ...told,
  },
  span: {
    item: "a run of blocks",
    costs: "deposits in these blocks",
    neverCosts: "judging payouts",
    parent: null,
    restMaxMs: 0,
    ...told,
  },
  history: {
    item: "blocks that could not be read: an account, or * for all, and the first block",
    costs: "payments in these blocks; nothing that lived in them ends",
    neverCosts: "other accounts, later blocks",
    parent: "span",
    restMaxMs: 5 * minuteMs,
    ...told,
  },
  currency: {
    item: "a currency: its id",
    costs: "new requests and sweeps in it",
    neverCosts: "other currencies",
    parent: "head",
    restMaxMs: minuteMs,
    ...told,
  },
  account: {
    item: "a hot wallet in one currency: address and currency",
    costs: "what its merchant has available",
    neverCosts: "other merchants",
    parent: "currency",
    restMaxMs: minuteMs,
    ...told,
  },
  address: {
    item: "a deposit address in one currency: address and currency",
    costs: "its comparison, its sweep, its request's end",
    neverCosts: "payments that blocks show; other addresses",
    parent: "currency",
    restMaxMs: 15 * minuteMs,
    ...told,
  },
  withdrawal: {
    item: "a withdrawal: its id",
    costs: "its own judgement",
    neverCosts: "other withdrawals",
    parent: "head",
    restMaxMs: 5 * minuteMs,
    ...told,
  },
  transaction: {
    item: "a transaction in a block: block and hash",
    costs: "itself: it is credited when it can be read",
    neverCosts: "its block, its page, its account",
    parent: null,
    restMaxMs: dayMs,
    ...told,
    toldAfterMs: 0,
  },
  provider: {
    item: "a node: its address",
    costs: "itself; too few left are the head's",
    neverCosts: "other nodes",
    parent: "head",
    restMaxMs: 30 * secondMs,
    toldAfterMs: 10 * minuteMs,
    keeper: "nodes",
  },
  row: {
    item: "a stored row: table and id",
    costs: "its own view and event",
    neverCosts: "lists, other rows, the process",
    parent: null,
    restMaxMs: 0,
    toldAfterMs: 0,
    keeper: "rows",
  },
  target: {
    item: "a callback target: its id",
    costs: "its own events",
    neverCosts: "other targets",
    parent: null,
    restMaxMs: 0,
    toldAfterMs: 60 * minuteMs,
    keeper: "callbacks",
  },
  price: {
    item: "a market: its name",
    costs: "quotes, when too few are left",
    neverCosts: "requests in coins",
    parent: null,
    restMaxMs: 0,
    toldAfterMs: 15 * minuteMs,
    keeper: "prices",
  },
});

export type FaultDomain = keyof typeof faultDomains;

const restFirstMs = 15_000;

/**
 * True if a rest is over that ends at `retryAtMs`. One that is longer than any was noted while this
 * machine's clock was ahead: then it is over too, or the thing would not be asked for until the
 * clock has come there.
 */
export function isRestOver(retryAtMs: number, restMaxMs: number, nowMs: number): boolean {
  return nowMs >= retryAtMs || retryAtMs - nowMs > restMaxMs;
}

/** The rest after so many tries in a row: none, 15 s, then twice the time up to the longest. */
export function restMsAfterTries(tries: number, restMaxMs: number): number {
  return tries <= 1 ? 0 : Math.min(restMaxMs, restFirstMs * 2 ** Math.min(tries - 2, 20));
}

/** The longest rest of an item for which a person waits: an open request, an order. */
export const waitedRestMaxMs = minuteMs;

/** The begin of the reason for which a currency is out of service that only cannot be read. */
export const unreadPrefix = "unread: ";
