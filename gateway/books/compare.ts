/**
 * Compares balances of accounts at a final block with the database's explanation up to that block.
 * A node that keeps no old state answers for its newest final block. The closing then continues
 * there, but each account is compared at exactly one block. Asks the chain, reads the tables,
 * writes nothing.
 */

import { AgentError } from "../../base/fault.ts";
import { valuesIn } from "../../base/result.ts";
import type { WatcherNodes } from "../../chains/nodes.ts";
import { readCursor } from "../store/cursors.ts";
import type { Store } from "../store/store.ts";
import { beginNewStraySums } from "../store/stray-sums.ts";
import { type Account, type BooksScope, sheetsOf } from "./accounts.ts";
import type { ExpectedAccountBalances } from "./sheet.ts";

/** Questions of the books to a chain's nodes. */
export type BookNodes = Pick<WatcherNodes, "balances" | "finalTip" | "tellsNewestBalances">;

/** The fields of a currency that the books need. */
export interface BookCurrency {
  readonly id: string;
  readonly contract: string; // "" the native coin
  readonly decimal: number;
}

/** The chain to close, and the options. */
export interface ClosingOptions extends BooksScope {
  readonly store: Pick<Store, "database" | "write">;
  readonly reader: BookNodes;
  readonly currencies: readonly BookCurrency[]; // the currencies to compare
  readonly isWhole: boolean; // every account and every currency of the network
  readonly clock: () => number; // milliseconds since 1970
  readonly rest: (ms: number) => Promise<void>;
  readonly isStopped?: () => boolean;
  readonly onProgress?: (done: number, of: number) => void; // counts accounts
}

/** A compared balance. */
export interface ComparedBalance {
  readonly account: Account;
  readonly currency: BookCurrency;
  readonly block: number;
  readonly foundUnits: bigint;
  readonly expectedUnits: bigint; // by the sheet; equal to `foundUnits` if it fits
  readonly takenUnits: bigint; // the owner of the key took them out, and the sheet has them
  readonly sheet: ExpectedAccountBalances;
  readonly isFit: boolean;
  readonly isExact: boolean; // found at the end of `block`, or nothing moved around it
}

/** The number of balances of a currency that were not compared, and the reason. */
export interface UncomparedBalances {
  readonly currency: string;
  readonly code: string; // code of the fault; "moving" if the account moves too often
  readonly balances: number;
}

const triesMax = 4;
const firstRestMs = 500;
const restMinMs = 5;
const restMaxMs = 10_000; // even if the clock was corrected
const cursorRestMs = 500;
const cursorTries = 60;

/**
 * The rest after a question is as long as the question, so that at least half of a node's time is
 * left for payments. Times in milliseconds.
 */
export const restMsAfter = (askedAt: number, nowMs: number): number =>
  Math.min(restMaxMs, Math.max(restMinMs, nowMs - askedAt));

interface BalanceReading {
  readonly first: number;
  readonly last: number;
  readonly units: readonly bigint[];
}

/** The state of a closing; each closing has its own. */
export class Comparison {
  readonly #options: ClosingOptions;
  firstBlock: number;
  lastBlock: number;

  /** @throws AgentError BOOKS_UNREAD before the watcher has read a final block */
  constructor(options: ClosingOptions) {
    this.#options = options;
    this.firstBlock = this.cursor();
    this.lastBlock = this.firstBlock;
    this.#beginSums();
  }

  /** The newest final block up to which the database is complete. */
  cursor(): number {
    const { store, network } = this.#options;
    const cursor = readCursor(store.database, network);
    if (cursor === undefined)
      throw new AgentError("BOOKS_UNREAD", "none", `no final block of ${network} was read yet`, {
        network,
      });
    return cursor.block;
  }

  /** Moves the next comparisons to the newest block that was read. */
  moveOn(): void {
    this.lastBlock = this.cursor();
    this.#beginSums();
  }

  /** Sums of payments end at the block, so that they count for it as a whole. */
  #beginSums(): void {
    const { store, network } = this.#options;
    store.write((database) => beginNewStraySums(database, network, this.lastBlock));
  }

  /**
   * Compares these accounts in these currencies.
   * @throws AgentError NODE_CLOSED, STORE_*; any other fault of the nodes leaves balances out
   */
  async compare(
    accounts: readonly Account[],
    currencies: readonly BookCurrency[] = this.#options.currencies,
  ): Promise<{
    readonly compared: readonly ComparedBalance[];
    readonly left: readonly UncomparedBalances[];
  }> {
    const { store, rest } = this.#options;
    const readings: (readonly [BookCurrency, BalanceReading])[] = [];
    const left: UncomparedBalances[] = [];
    for (const currency of currencies) {
      const reading = await this.#read(accounts, currency);
      if (typeof reading === "string")
        left.push({ currency: currency.id, code: reading, balances: accounts.length });
      else readings.push([currency, reading]);
    }
    // Read after the balances, so that the database is complete up to their last block.
    const from = readings.reduce((least, [, { first }]) => Math.min(least, first), this.lastBlock);
    const sheets = await sheetsOf(store.database, this.#options, accounts, from, () =>
      rest(restMinMs),
    );
    const compared = readings.flatMap(([currency, reading]) =>
      accounts.map((account, at) =>
        judge(account, currency, sheets.get(account.address) as ExpectedAccountBalances, {
          ...reading,
          found: reading.units[at] as bigint,
        }),
      ),
    );
    return { compared, left };
  }

  /** Returns a code if the balances cannot be read. */
  async #read(
    accounts: readonly Account[],
    { contract }: BookCurrency,
  ): Promise<BalanceReading | string> {
    const { reader, rest, clock } = this.#options;
    const questions = accounts.map(({ address: account }) => ({ account, contract }));
    let code = "";
    for (let tries = 1; tries <= triesMax; tries += 1) {
      const askedAt = clock();
      try {
        const first = this.lastBlock;
        const units = valuesIn(await reader.balances(questions, first));
        await rest(restMsAfter(askedAt, clock()));
        if (reader.tellsNewestBalances !== true) return { first, last: first, units };
        const { number: last } = await reader.finalTip();
        if (await this.#isReadTo(last)) return { first, last: Math.max(first, last), units };
        code = "BOOKS_UNREAD";
      } catch (error) {
        if (
          !(error instanceof AgentError) ||
          error.code === "NODE_CLOSED" ||
          !error.code.startsWith("NODE_")
        )
          throw error;
        code = error.code;
      }
      await rest(firstRestMs * 2 ** tries);
      this.moveOn();
    }
    return code;
  }

  async #isReadTo(block: number): Promise<boolean> {
    const { rest } = this.#options;
    for (let tries = 0; tries < cursorTries; tries += 1) {
      if (this.cursor() >= block) {
        this.moveOn();
        return true;
      }
      await rest(cursorRestMs);
    }
    return false;
  }
}

/**
 * A balance that nodes report for some block of a range fits if it is right at the end of one of
 * the blocks.
 */
function judge(
  account: Account,
  currency: BookCurrency,
  sheet: ExpectedAccountBalances,
  { first, last, found }: Omit<BalanceReading, "units"> & { readonly found: bigint },
): ComparedBalance {
  const values = sheet.between(currency.id, first, last);
  const isFit = values.includes(found);
  const expectedUnits = isFit ? found : (values[0] ?? 0n);
  return {
    account,
    currency,
    block: last,
    foundUnits: found,
    expectedUnits,
    takenUnits: sheet.takenUnits(currency.id, last),
    sheet,
    isFit,
    isExact: values.length === 1,
  };
}
