/**
 * The books of the running gateway. Each night, one chain after the other, the balances of all
 * addresses and hot wallets are compared with the database, and the last blocks of months that
 * ended are kept. The watcher continues meanwhile, and each question is followed by a rest of the
 * same length.
 */
import type { Code } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import type { GatewayConfig } from "../config/config.ts";
import { agentsVersion } from "../store/agents.ts";
import { addBookEntry, listAccounts, readClosing } from "../store/books.ts";
import type { Store } from "../store/store.ts";
import { hotWalletAccounts } from "./accounts.ts";
import { closeBooks } from "./closing.ts";
import { type BookNodes, type ClosingOptions, Comparison } from "./compare.ts";
import { amountWords, type ClosingResult, differenceWords, keepFailedClosing } from "./keeping.ts";
import { keepMonthEnds, type MonthNodes } from "./months.ts";

/*
 * Opens the books of a hot wallet at the first final block that is read after its pairing. Its
 * balance there is its opening, and every later block is compared from there on.
 */

type OpeningOptions = Omit<ClosingOptions, "rest">;

function unopened(options: OpeningOptions) {
  const { store, network, currencies } = options;
  const accounts = hotWalletAccounts(store.database, options);
  const opened = listAccounts(
    store.database,
    network,
    accounts.map(({ address }) => address),
  ).filter(({ openedBlock }) => openedBlock !== null);
  const known = new Set(opened.map(({ address, currency }) => `${address} ${currency}`));
  return accounts.flatMap((account) => {
    const missing = currencies.filter(({ id }) => !known.has(`${account.address} ${id}`));
    return missing.length === 0 ? [] : [{ account, missing }];
  });
}

/** True if a hot wallet has no opening yet in one of the currencies. */
function hasUnopened(options: OpeningOptions): boolean {
  return unopened(options).length > 0;
}

/**
 * Opens the books that are not open. Harmless to call again.
 * @throws AgentError BOOKS_UNREAD, NODE_CLOSED, GATEWAY_STORE_*
 */
async function openBooks(options: ClosingOptions): Promise<void> {
  const { store, network, clock } = options;
  const comparison = new Comparison(options);
  for (const { account, missing } of unopened(options)) {
    const { compared } = await comparison.compare([account], missing);
    const exact = compared.filter(({ isExact }) => isExact);
    if (exact.length === 0) continue;
    store.write((database) => {
      for (const { currency, foundUnits, block } of exact) {
        const place = { network, address: account.address, currency: currency.id };
        const opening = {
          kind: "opening",
          units: foundUnits.toString(),
          block,
          at: clock(),
          operator: "",
          reason: "",
          owner: account,
        } as const;
        addBookEntry(database, { ...place, ...opening });
      }
    });
  }
}

export interface BooksOptions {
  readonly store: Store;
  readonly config: Pick<GatewayConfig, "currencies" | "books">;
  readonly log: GatewayLog;
  readonly clock: () => number; // milliseconds since 1970
  readonly rest?: (ms: number) => Promise<void>; // default: a timer
}

/** A chain that was just read up to its newest final block. */
interface ReadChain {
  readonly name: string; // name in the configuration
  readonly network: string;
  readonly reader: BookNodes & MonthNodes;
}

/** The work that is due in the books of a chain. */
interface DueWork {
  readonly isClosing: boolean;
  readonly isOpening: boolean; // a hot wallet's books
  readonly isMonthEnd: boolean;
}

export interface Books {
  /** Must be called at the end of each complete pass over a chain; returns at once. */
  onPass(chain: ReadChain): void;
  /** Resolves when nothing more is written. Harmless to call again. */
  close(): Promise<void>;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A failed closing is tried again after this time. */
const retryMs = hourMs;
const openingRetryMs = 60_000;

/** The newest time up to `nowMs` at which a day's `hour` (UTC) began. */
export function lastStartOfDailyHour(nowMs: number, hour: number): number {
  const today = Math.floor(nowMs / dayMs) * dayMs + hour * hourMs;
  return today <= nowMs ? today : today - dayMs;
}

/** Starts the books. Closes nothing before the first call of `onPass`. */
export function startBooks(options: BooksOptions): Books {
  const { store, log, clock } = options;
  let running: Promise<void> | null = null;
  let isClosed = false;
  const openedAt = new Map<string, number>(); // newest try to open books, by network
  const allOpen = new Map<string, number>(); // the list of agents whose books are all open, by network
  const endsDueAt = new Map<string, number>(); // ends of months are missing still, by network
  const timers = new Set<() => void>();
  const rest = (ms: number): Promise<void> => {
    if (isClosed) return Promise.resolve();
    if (options.rest !== undefined) return options.rest(ms);
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        timers.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      timers.add(end);
    });
  };
  const work = async (chain: ReadChain, due: DueWork): Promise<void> => {
    if (due.isMonthEnd) await workOnMonthEnds(chain);
    if (!due.isClosing && !due.isOpening) return;
    const closing = { ...closingOf(options, chain), rest, isStopped: () => isClosed };
    try {
      if (!due.isClosing) await openBooks(closing);
      else tell(options, chain, closing, await closeBooks(closing));
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      if (isClosed || store.poisoned) return;
      const { code, message } = error;
      log.warn({ event: "books-unclosed", chain: chain.name, code }, message);
      if (due.isClosing) keep(chain.network, code);
    }
  };
  /** Ends that are missing afterwards are looked for again sooner than in the next night. */
  const workOnMonthEnds = async ({ name, network, reader }: ReadChain): Promise<void> => {
    endsDueAt.set(network, clock() + retryMs);
    try {
      const of = { store, network, reader, clock, rest, isStopped: () => isClosed };
      if (await keepMonthEnds(of)) endsDueAt.delete(network);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      if (isClosed || store.poisoned) return;
      const { code, message } = error;
      log.warn({ event: "month-end-unread", chain: name, code }, message);
    }
  };
  /** The database itself may take nothing now. Then the closing is due again at the next pass. */
  const keep = (network: string, code: Code): void => {
    try {
      store.write((database) => keepFailedClosing(database, network, code, clock()));
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
    }
  };
  const isOpeningDue = (chain: ReadChain): boolean => {
    const nowMs = clock();
    if (Math.abs(nowMs - (openedAt.get(chain.network) ?? 0)) < openingRetryMs) return false;
    const version = agentsVersion(store.database);
    if (allOpen.get(chain.network) === version) return false;
    if (!hasUnopened(closingOf(options, chain))) {
      allOpen.set(chain.network, version);
      return false;
    }
    openedAt.set(chain.network, nowMs);
    return true;
  };
  return {
    onPass(chain) {
      if (running !== null || isClosed) return;
      const isClosing = isClosingDue(options, chain.network);
      const isOpening = !isClosing && isOpeningDue(chain);
      const endsAt = endsDueAt.get(chain.network);
      const isMonthEnd = isClosing || (endsAt !== undefined && clock() >= endsAt);
      if (!isClosing && !isOpening && !isMonthEnd) return;
      running = work(chain, { isClosing, isOpening, isMonthEnd }).finally(() => {
        running = null;
      });
    },
    async close() {
      isClosed = true;
      for (const end of [...timers]) end();
      await running;
    },
  };
}

function closingOf(
  { store, config, clock }: BooksOptions,
  { network, reader }: ReadChain,
): Omit<ClosingOptions, "rest"> {
  const currencies = Object.values(config.currencies).filter((one) => one.network === network);
  return { store, network, reader, currencies, merchant: null, isWhole: true, clock };
}

/** The first closing of a chain waits for the night, like every other closing. */
function isClosingDue({ store, config, clock }: BooksOptions, network: string): boolean {
  const nowMs = clock();
  const closing = readClosing(store.database, network);
  const due = lastStartOfDailyHour(nowMs, config.books.hour);
  if (closing === undefined) return nowMs - due < hourMs;
  if (closing.closedAt !== null && closing.closedAt >= due) return false;
  return closing.fault === "" || nowMs - closing.triedAt >= retryMs;
}

function tell(
  { log }: BooksOptions,
  { name: chain }: ReadChain,
  { currencies }: Pick<ClosingOptions, "currencies">,
  closed: ClosingResult,
): void {
  if (closed.isStopped) return;
  const { addresses, hotWallets, compared, firstBlock, lastBlock, differences, left } = closed;
  const counts = {
    addresses,
    hotWallets,
    compared,
    differences: differences.length,
    firstBlock,
    lastBlock,
  };
  const uncompared = left.map(
    ({ currency, code, balances }) => `${balances} of ${currency}: ${code}`,
  );
  log.info(
    { event: "books-closed", chain, ...counts, uncompared: uncompared.join("; ") },
    "the books were closed",
  );
  for (const row of closed.news) {
    const { address: about, currency, sinceBlock, detail } = row;
    const fields = { chain, code: "BOOKS_DIFFERENCE", about, currency, sinceBlock, detail };
    log.error({ event: "books-differ", ...fields }, differenceWords(row, currencies));
  }
  for (const { kind, address: about, units, currency, block } of closed.entries) {
    if (kind !== "outside") continue;
    const words = `${amountWords(BigInt(units), currency, currencies)} came to a hot wallet from outside`;
    log.info({ event: "books-incoming", chain, about, block }, words);
  }
}
