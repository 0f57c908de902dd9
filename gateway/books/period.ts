/**
 * The books of a period, for an accountant: by merchant and currency the balance at the end of the
 * block before it, everything that came and went, and the balance at the end of its last block. The
 * sums are those of the nightly books, so that opening, movements and closing agree to the unit; on
 * demand both ends are compared with the chain. Reads the tables and the chain, writes nothing.
 */
import { invariant } from "../../base/fault.ts";
import { valuesIn } from "../../base/result.ts";
import { readTransferPurposes, type TransferPurpose } from "../store/posting.ts";
import { type Account, hotWalletAccounts, listDepositAccountSlices, sheetsOf } from "./accounts.ts";
import type { BookCurrency, ClosingOptions } from "./compare.ts";
import type { ChangeKind, ExpectedAccountBalances, MovedChange } from "./sheet.ts";

/** The blocks of a period: `before` is the last one before it, -1 without one. */
export interface PeriodBlocks {
  readonly before: number;
  readonly last: number;
}

/** Sums of one merchant in one currency, in base units; amounts that leave are negative. */
export interface PeriodSums {
  openingUnits: bigint;
  inUnits: bigint; // payments to deposit addresses
  outUnits: bigint; // withdrawals
  feeUnits: bigint; // of every transaction, in the coin that pays them
  broughtUnits: bigint; // into hot wallets from outside, their balance at the beginning of their books included
  correctedUnits: bigint; // notes of operators, and money that left to an account whose books do not count
  closingUnits: bigint;
  chainOpeningUnits: bigint | null; // as the nodes say; null if they were not asked
  chainClosingUnits: bigint | null;
  refundedUnits: bigint | null; // the part of `outUnits` that paid deposits back; null if not asked
  withdrawalFeeUnits: bigint | null; // the parts of `feeUnits`, by what the transaction was for
  sweepFeeUnits: bigint | null;
  topUpFeeUnits: bigint | null;
}

export interface PeriodLine extends PeriodSums {
  readonly merchant: string;
  readonly currency: string;
}

/** A chain's books, of one merchant or of all. */
export type PeriodOptions = Pick<
  ClosingOptions,
  "store" | "network" | "merchant" | "currencies" | "rest" | "onProgress"
> & {
  readonly reader?: ClosingOptions["reader"]; // asked if both ends are compared
  readonly isSplit?: true; // tells refunds, and what each fee was for
};

const restMs = 5;

/** The sum of a period's line that a change is a part of. */
export type ChangeSum = keyof Pick<
  PeriodSums,
  "inUnits" | "outUnits" | "feeUnits" | "broughtUnits" | "correctedUnits"
>;

const fields: Readonly<Record<ChangeKind, ChangeSum>> = {
  in: "inUnits",
  out: "outUnits",
  fee: "feeUnits",
  opening: "broughtUnits",
  outside: "broughtUnits",
  moved: "correctedUnits", // zero unless one of the two accounts has no books
  note: "correctedUnits",
  owner: "correctedUnits",
};

/** The part of a sum that a change is counted in, by what its transfer was for. */
type PeriodPart = keyof Pick<
  PeriodSums,
  "refundedUnits" | "withdrawalFeeUnits" | "sweepFeeUnits" | "topUpFeeUnits"
>;

const feeParts: Readonly<Record<TransferPurpose["operation"], PeriodPart>> = {
  withdraw: "withdrawalFeeUnits",
  sweep: "sweepFeeUnits",
  topup: "topUpFeeUnits",
};

/** Null: a payout that is no refund. */
function partOf({ kind, move }: MovedChange, purpose: TransferPurpose | undefined) {
  invariant(purpose !== undefined, `a move of no transfer is a ${kind}: ${move?.cause}`);
  if (kind === "fee") return feeParts[purpose.operation];
  return purpose.isRefund ? "refundedUnits" : null;
}

const purposesAtOnce = 500;

/** Adds the changes that pay something to the parts of their sums. */
async function addParts(
  { store, rest }: PeriodOptions,
  changes: readonly MovedChange[],
  lineOf: (currency: string) => PeriodLine,
): Promise<void> {
  const paying = changes.filter(({ kind }) => kind === "fee" || kind === "out");
  for (let at = 0; at < paying.length; at += purposesAtOnce) {
    const some = paying.slice(at, at + purposesAtOnce);
    const causes = new Set(some.map(({ move }) => move?.cause ?? ""));
    const purposes = readTransferPurposes(store.database, [...causes]);
    for (const change of some) {
      const part = partOf(change, purposes.get(change.move?.cause ?? ""));
      const line = lineOf(change.currency);
      if (part !== null) line[part] = (line[part] ?? 0n) + change.units;
    }
    if (some.length === purposesAtOnce) await rest(restMs);
  }
}

/**
 * The lines of a chain, by merchant and currency, without those in which nothing was and nothing
 * moved.
 * @param isCompared asks the nodes for both ends; they must keep the state of those blocks
 * @throws AgentError NODE_* if they do not, or do not answer
 */
export async function sumPeriod(
  options: PeriodOptions,
  { before, last }: PeriodBlocks,
  isCompared: boolean,
): Promise<readonly PeriodLine[]> {
  const { store, currencies, rest } = options;
  const lines = new Map<string, PeriodLine>();
  const lineOf = (merchant: string, currency: string): PeriodLine => {
    const name = `${currency} ${merchant}`;
    const known = lines.get(name) ?? {
      merchant,
      currency,
      ...nothing(isCompared, options.isSplit === true),
    };
    lines.set(name, known);
    return known;
  };
  const ofCurrency = new Set(currencies.map(({ id }) => id));
  let done = 0;
  for (const slice of slicesOf(options)) {
    const sheets = await sheetsOf(store.database, options, slice, before, () => rest(restMs));
    for (const { address, merchant } of slice) {
      const sheet = sheets.get(address) as ExpectedAccountBalances;
      const changes = sheet
        .changes(before, last)
        .filter(({ currency }) => ofCurrency.has(currency));
      for (const { kind, currency, units } of changes)
        lineOf(merchant, currency)[fields[kind]] += units;
      if (options.isSplit === true)
        await addParts(options, changes, (currency) => lineOf(merchant, currency));
      for (const { id } of currencies) {
        const [opening, closing] = [sheet.at(id, before), sheet.at(id, last)];
        if (opening === 0n && closing === 0n) continue;
        const line = lineOf(merchant, id);
        line.openingUnits += opening;
        line.closingUnits += closing;
      }
    }
    if (isCompared)
      for (const currency of currencies)
        await compare(options, slice, sheets, currency, { before, last }, lineOf);
    done += slice.length;
    options.onProgress?.(done, done);
    await rest(restMs);
  }
  return [...lines.values()]
    .filter((line) => !isEmpty(line))
    .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

/** A change of an account in a period. */
export interface PeriodMove extends Pick<MovedChange, "currency" | "units" | "block" | "move"> {
  readonly account: Account;
  readonly sum: ChangeSum;
}

const movesAtOnce = 2_000;

/**
 * The changes that the lines of a chain add up, some at a time: of each account by block, in the
 * order in which they were posted.
 */
export async function* listPeriodMoves(
  options: PeriodOptions,
  { before, last }: PeriodBlocks,
): AsyncGenerator<readonly PeriodMove[]> {
  const { store, currencies, rest } = options;
  const ofCurrency = new Set(currencies.map(({ id }) => id));
  for (const slice of slicesOf(options)) {
    const sheets = await sheetsOf(store.database, options, slice, before, () => rest(restMs));
    for (const account of slice) {
      const sheet = sheets.get(account.address) as ExpectedAccountBalances;
      const changes = sheet
        .changes(before, last)
        .filter(({ currency }) => ofCurrency.has(currency))
        .sort((a, b) => a.block - b.block || (a.move?.number ?? 0) - (b.move?.number ?? 0));
      for (let at = 0; at < changes.length; at += movesAtOnce)
        yield changes
          .slice(at, at + movesAtOnce)
          .map(({ kind, ...change }) => ({ ...change, account, sum: fields[kind] }));
    }
    await rest(restMs);
  }
}

const nameOf = ({ merchant, currency }: PeriodLine): string => `${merchant} ${currency}`;

function nothing(isCompared: boolean, isSplit: boolean): PeriodSums {
  const chain = isCompared ? 0n : null;
  const part = isSplit ? 0n : null;
  const none = {
    openingUnits: 0n,
    inUnits: 0n,
    outUnits: 0n,
    feeUnits: 0n,
    broughtUnits: 0n,
    correctedUnits: 0n,
    closingUnits: 0n,
  };
  const parts = {
    refundedUnits: part,
    withdrawalFeeUnits: part,
    sweepFeeUnits: part,
    topUpFeeUnits: part,
  };
  return { ...none, ...parts, chainOpeningUnits: chain, chainClosingUnits: chain };
}

const isEmpty = ({ merchant: _merchant, currency: _currency, ...sums }: PeriodLine): boolean =>
  Object.values(sums).every((units) => units === null || units === 0n);

function* slicesOf(options: PeriodOptions): Generator<readonly Account[]> {
  for (const one of hotWalletAccounts(options.store.database, options)) yield [one];
  yield* listDepositAccountSlices(options.store.database, options);
}

/** Adds what the nodes say at both ends. A hot wallet counts from the beginning of its books on. */
async function compare(
  { reader }: PeriodOptions,
  accounts: readonly Account[],
  sheets: ReadonlyMap<string, ExpectedAccountBalances>,
  { id, contract }: BookCurrency,
  { before, last }: PeriodBlocks,
  lineOf: (merchant: string, currency: string) => PeriodLine,
): Promise<void> {
  const startsBy = ({ address, kind }: Account, block: number): boolean =>
    block >= 0 && (kind === "deposit" || (sheets.get(address)?.openedAt(id) ?? block + 1) <= block);
  const ask = async (
    block: number,
    add: (line: PeriodLine, units: bigint) => void,
  ): Promise<void> => {
    const counted = accounts.filter((account) => startsBy(account, block));
    if (counted.length === 0) return;
    const questions = counted.map(({ address: account }) => ({ account, contract }));
    invariant(reader !== undefined, "no nodes to compare with");
    const told = valuesIn(await reader.balances(questions, block));
    for (const [at, { merchant }] of counted.entries()) {
      const units = told[at] ?? 0n;
      if (units !== 0n) add(lineOf(merchant, id), units);
    }
  };
  await ask(before, (line, units) => {
    line.chainOpeningUnits = (line.chainOpeningUnits ?? 0n) + units;
  });
  await ask(last, (line, units) => {
    line.chainClosingUnits = (line.chainClosingUnits ?? 0n) + units;
  });
}

/**
 * The last block before a time, by halving; -1 if the chain began later, `final` if that is before
 * the time too. Costs about as many questions as the number of blocks has binary digits.
 * @param timestamp the time of a block, in seconds since 1970
 * @param floor a block that is known to be before the time, -1 without one
 */
export async function lastBlockBefore(
  timestamp: (block: number) => Promise<number>,
  final: number,
  atMs: number,
  floor = -1,
): Promise<number> {
  const isBefore = async (block: number): Promise<boolean> =>
    (await timestamp(block)) * 1000 < atMs;
  if (await isBefore(final)) return final;
  let [low, high] = [floor, final];
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2);
    if (await isBefore(middle)) low = middle;
    else high = middle;
  }
  return low;
}

interface BlockDay {
  readonly block: number;
  readonly day: string;
}

/**
 * The days of a chain's blocks in UTC, such as 2026-11-30. Blocks between two of one day are of
 * that day, so the number of questions grows with the days of a period and not with the blocks
 * asked for.
 */
export class BlockDays {
  readonly #timestamp: (block: number) => Promise<number>;
  readonly #known: BlockDay[] = []; // by rising block

  /** @param timestamp the time of a block, in seconds since 1970 */
  constructor(timestamp: (block: number) => Promise<number>) {
    this.#timestamp = timestamp;
  }

  /** @param blocks the first and the last block of the period, between which `block` is */
  async dayOf(block: number, [first, last]: readonly [number, number]): Promise<string> {
    if (this.#known.length === 0)
      this.#known.push(await this.#ask(first), ...(last > first ? [await this.#ask(last)] : []));
    for (;;) {
      const above = this.#placeOf(block);
      const high = this.#known[above] as BlockDay;
      const low = this.#known[above - 1];
      if (low === undefined || high.block === block || low.day === high.day) return high.day;
      const middle = Math.floor((low.block + high.block) / 2);
      if (middle === low.block) return low.day;
      this.#known.splice(above, 0, await this.#ask(middle));
    }
  }

  /** The place of the first known block that is not below `block`. */
  #placeOf(block: number): number {
    let [low, high] = [0, this.#known.length - 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#known[middle] as BlockDay).block < block) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  async #ask(block: number): Promise<BlockDay> {
    const seconds = await this.#timestamp(block);
    return { block, day: new Date(seconds * 1000).toISOString().slice(0, 10) };
  }
}
