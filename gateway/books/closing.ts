/**
 * One closing of a chain's books. Every account is compared; a balance that does not fit is
 * compared again at a later block. A balance that still differs becomes a difference with the block
 * from which it exists. Entries, differences and the closing's own row are written in one
 * transaction at the end, so an interrupted closing writes nothing.
 */

import { AgentError } from "../../base/fault.ts";
import { valuesIn } from "../../base/result.ts";
import {
  type ClosingRow,
  type DifferenceRow,
  listDifferences,
  listForeignOutgoing,
  listUnendedTransfers,
  type OwnedBookRow,
  readClosing,
  readDifference,
} from "../store/books.ts";
import type { OutgoingRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import {
  type Account,
  countDepositAccounts,
  hotWalletAccounts,
  listDepositAccountSlices,
  sheetsOf,
} from "./accounts.ts";
import {
  type BookCurrency,
  type ClosingOptions,
  type ComparedBalance,
  Comparison,
  type UncomparedBalances,
} from "./compare.ts";
import { type ClosingResult, keepClosing } from "./keeping.ts";
import type { ExpectedAccountBalances } from "./sheet.ts";

/*
 * Judges a balance that was compared. It fits, or a hot wallet's books begin with it. Money that
 * came to a hot wallet from outside, or that an owner took from an address without a key here,
 * becomes an entry and is no fault. The account may be moving at the moment. Any other result is a
 * difference that an operator must check. Reads the tables, writes nothing.
 */

/** The verdict on one balance. */
type Verdict =
  | { readonly kind: "fits" }
  | { readonly kind: "moving" }
  | { readonly kind: "opening" | "outside" | "owner"; readonly units: bigint }
  | { readonly kind: "difference"; readonly detail: string; readonly foreignAt: number | null };

const namedMax = 3; // transactions named in one sentence
const unendedMax = 200;

/** Harmless to call twice. */
function verdictOf(database: Database, network: string, one: ComparedBalance): Verdict {
  const { account, currency, foundUnits, expectedUnits, takenUnits, isFit, isExact, sheet } = one;
  if (account.kind === "hot" && sheet.openedAt(currency.id) === null)
    return isExact ? { kind: "opening", units: foundUnits } : { kind: "moving" };
  const foreign = account.kind === "hot" ? foreignOutgoing(database, network, one) : [];
  const took = foreign.filter(
    ({ contract, units }) => contract === currency.contract && units !== "0",
  );
  if (isFit && took.length === 0)
    return takenUnits > 0n ? { kind: "owner", units: -takenUnits } : { kind: "fits" };
  const unended = listUnendedTransfers(database, network, account.address, unendedMax);
  const rest = foundUnits - expectedUnits;
  if (foreign.length === 0) {
    if (unended.some((row) => isOnItsWay(row, account.kind, rest))) return { kind: "moving" };
    if (account.kind === "hot" && rest > 0n) return { kind: "outside", units: rest };
    if (!account.isOurs && rest < 0n) return { kind: "owner", units: rest - takenUnits };
  }
  const words = [
    ...foreign
      .slice(0, namedMax)
      .map(({ txHash, block }) => `${txHash} in block ${block} was ordered by nobody here`),
    ...unended
      .slice(0, namedMax)
      .map(({ id, operation, stage }) => `${operation} ${id} is ${stage}`),
  ];
  return { kind: "difference", detail: words.join("; "), foreignAt: foreign[0]?.block ?? null };
}

/**
 * True if a final block may hold the transaction, though its row does not say so yet. The watcher
 * does not keep the outgoing transactions of deposit addresses on every chain, so a signed sweep
 * may be final. A stuck transaction waits for an operator, as the difference does. A hot wallet
 * does not count a stuck sweep's money as from outside.
 */
function isOnItsWay(
  { stage, operation, isFinal }: ReturnType<typeof listUnendedTransfers>[number],
  kind: ComparedBalance["account"]["kind"],
  rest: bigint,
): boolean {
  const mayHaveCome = operation === "sweep" && rest > 0n;
  if (stage === "stuck") return kind === "hot" && mayHaveCome;
  return kind === "deposit" || isFinal === 1 || (mayHaveCome && stage === "confirming");
}

/**
 * Unexplained outgoing transactions since the books began, or since an operator's newest note. For
 * the native coin all of them, because each costs a fee.
 */
function foreignOutgoing(
  database: Database,
  network: string,
  { account, currency, block, sheet }: ComparedBalance,
): readonly OutgoingRow[] {
  const after = Math.max(sheet.openedAt(currency.id) ?? -1, sheet.settledAt(currency.id));
  const outgoing = listForeignOutgoing(
    database,
    { network, account: account.address },
    { after, last: block, most: 100 },
  );
  return outgoing.filter(
    ({ contract }) => currency.contract === "" || contract === currency.contract,
  );
}

/*
 * Finds the block from which a difference exists, by binary search over past final blocks. Reads
 * about as many balances as the block count has binary digits. Reads only.
 */

/** A block, or the reason why it is unknown. */
type FirstBlock = { readonly block: number } | { readonly block: null; readonly why: string };

const restMs = 5;

/** An account's sheet from a block on: it reads the moves since once, whatever is asked of it. */
async function readSheetFrom(
  { store, network, rest }: ClosingOptions,
  account: Account,
  block: number,
): Promise<ExpectedAccountBalances> {
  const scope = { network };
  const sheets = await sheetsOf(store.database, scope, [account], block, () => rest(restMs));
  return sheets.get(account.address) as ExpectedAccountBalances;
}

/**
 * The first block at whose end the account differed from the database by the same amount as at the
 * end of the difference's own block.
 * @param floor the last block before the account's books began, -1 for the first of the chain
 * @param even a block whose closing had no difference; tested first
 */
async function sinceBlock(
  options: ClosingOptions,
  difference: ComparedBalance,
  { floor, even }: { readonly floor: number; readonly even: number | null },
): Promise<FirstBlock> {
  const { reader, rest } = options;
  const { account, currency, block, foundUnits, expectedUnits } = difference;
  if (reader.tellsNewestBalances === true)
    return { block: null, why: "the nodes tell of their newest final block alone" };
  const isThere = async (at: number): Promise<boolean> => {
    const [units = 0n] = valuesIn(
      await reader.balances([{ account: account.address, contract: currency.contract }], at),
    );
    await rest(restMs);
    return units - sheet.at(currency.id, at) === foundUnits - expectedUnits;
  };
  const sheet = even === null ? difference.sheet : await readSheetFrom(options, account, even);
  let [before, from] = [floor, block];
  try {
    if (even !== null) [before, from] = (await isThere(even)) ? [floor, even] : [even, block];
    while (from - before > 1) {
      const middle = before + Math.floor((from - before) / 2);
      if (await isThere(middle)) from = middle;
      else before = middle;
    }
  } catch (error) {
    if (
      !(error instanceof AgentError) ||
      error.code === "NODE_CLOSED" ||
      !error.code.startsWith("NODE_")
    )
      throw error;
    return { block: null, why: `the nodes keep no old state: ${error.code}` };
  }
  return { block: from };
}

const looksMax = 3;
const lookRestMs = 4_000;
const groupMax = 250; // accounts in one question of a later comparison
const sinceMax = 20; // differences whose first block is searched

interface FoundDifference {
  readonly one: ComparedBalance;
  readonly verdict: Exclude<Verdict, { readonly kind: "fits" }>;
}

/** Progress of a closing. */
interface Progress {
  readonly comparison: Comparison;
  readonly seen: Set<string>; // earlier differences whose balances were compared again
  readonly left: Map<string, UncomparedBalances>;
  compared: number;
  done: number;
}

/**
 * Closes the books of a network. Reads the chain and the tables as long as necessary, with rests,
 * and writes at the end. Harmless to call twice.
 * @throws AgentError BOOKS_UNREAD, NODE_CLOSED, GATEWAY_STORE_*
 */
export async function closeBooks(options: ClosingOptions): Promise<ClosingResult> {
  const { store, network, currencies } = options;
  const { database } = store;
  const of = countDepositAccounts(database, options);
  const hotWallet = hotWalletAccounts(database, options);
  const before = listDifferences(database, network);
  const progress: Progress = {
    comparison: new Comparison(options),
    seen: new Set(),
    left: new Map(),
    compared: 0,
    done: 0,
  };
  const open = new Set(before.map(nameOf));
  const suspects: ComparedBalance[] = [];
  for (const slice of slicesOf(options, hotWallet)) {
    if (options.isStopped?.() === true) return stoppedAt(options, progress);
    suspects.push(...(await look(options, progress, slice, currencies, open)));
    progress.done += slice.length;
    options.onProgress?.(progress.done, of + hotWallet.length);
  }
  const found = await lookAgain(options, progress, suspects);
  if (options.isStopped?.() === true) return stoppedAt(options, progress);
  const differences = await differencesOf(options, found);
  const closed: ClosingResult = {
    ...stoppedAt(options, progress),
    addresses: of,
    hotWallets: hotWallet.length,
    compared: progress.compared,
    left: [...progress.left.values()],
    differences,
    entries: found.flatMap((each) => entryOf(options, each)),
    isStopped: false,
  };
  const seen = before.filter((row) => progress.seen.has(nameOf(row)));
  return keepClosing(options, closed, { seen, entryCounts: countsOf(found) });
}

/** Hot wallets one by one, then the deposit addresses. */
function* slicesOf(
  options: ClosingOptions,
  hotWallet: readonly Account[],
): Generator<readonly Account[]> {
  for (const one of hotWallet) yield [one];
  yield* listDepositAccountSlices(options.store.database, options);
}

const nameOf = ({ address, currency }: Pick<DifferenceRow, "address" | "currency">): string =>
  `${address} ${currency}`;

function stoppedAt(
  { network, clock }: ClosingOptions,
  { comparison, compared }: Progress,
): ClosingResult {
  const { firstBlock, lastBlock } = comparison;
  return {
    network,
    at: clock(),
    firstBlock,
    lastBlock,
    addresses: 0,
    hotWallets: 0,
    compared,
    left: [],
    differences: [],
    entries: [],
    news: [],
    isStopped: true,
  };
}

/** Returns the balances that do not fit. */
async function look(
  { store, network }: ClosingOptions,
  progress: Progress,
  accounts: readonly Account[],
  currencies: readonly BookCurrency[],
  open: ReadonlySet<string>,
): Promise<readonly ComparedBalance[]> {
  const { compared, left } = await progress.comparison.compare(accounts, currencies);
  for (const one of left) keepLeft(progress, one);
  progress.compared += compared.length;
  for (const { account, currency } of compared) {
    const name = nameOf({ address: account.address, currency: currency.id });
    if (open.has(name)) progress.seen.add(name);
  }
  const doubtful = compared.filter(
    ({ account, isFit, takenUnits }) => !isFit || account.kind === "hot" || takenUnits > 0n,
  );
  return doubtful.filter((one) => verdictOf(store.database, network, one).kind !== "fits");
}

function keepLeft({ left }: Progress, { currency, code, balances }: UncomparedBalances): void {
  const name = `${currency} ${code}`;
  left.set(name, { currency, code, balances: (left.get(name)?.balances ?? 0) + balances });
}

/**
 * Compares the suspects again at a later block, because a payment may be read a little later than
 * its block, and a node may answer for another block.
 */
async function lookAgain(
  options: ClosingOptions,
  progress: Progress,
  suspects: readonly ComparedBalance[],
): Promise<readonly FoundDifference[]> {
  const { store, network, rest, isStopped } = options;
  const found: FoundDifference[] = [];
  let doubtful = suspects;
  for (let looks = 2; doubtful.length > 0 && isStopped?.() !== true; looks += 1) {
    await rest(lookRestMs);
    progress.comparison.moveOn();
    const again: ComparedBalance[] = [];
    for (const [currency, accounts] of groupsOf(doubtful)) {
      const { compared, left } = await progress.comparison.compare(accounts, [currency]);
      for (const each of left) {
        keepLeft(progress, each);
        for (const { address } of accounts)
          progress.seen.delete(nameOf({ address, currency: currency.id }));
      }
      again.push(...compared);
    }
    const judged = again.map((one) => ({ one, verdict: verdictOf(store.database, network, one) }));
    const isLast = looks === looksMax;
    found.push(
      ...judged.flatMap(({ one, verdict }) =>
        isSettled(verdict, isLast) ? [{ one, verdict }] : [],
      ),
    );
    doubtful = judged
      .filter(({ verdict }) => verdict.kind !== "fits" && !isSettled(verdict, isLast))
      .map(({ one }) => one);
    if (!isLast) continue;
    for (const { account, currency } of doubtful) {
      keepLeft(progress, { currency: currency.id, code: "moving", balances: 1 });
      progress.seen.delete(nameOf({ address: account.address, currency: currency.id }));
    }
    break;
  }
  return found;
}

/** Accounts to ask at once, by currency. */
function groupsOf(
  doubtful: readonly ComparedBalance[],
): readonly (readonly [BookCurrency, readonly Account[]])[] {
  const groups: [BookCurrency, Account[]][] = [];
  for (const { currency, account } of doubtful) {
    const group = groups.find(
      ([one, accounts]) => one.id === currency.id && accounts.length < groupMax,
    );
    if (group === undefined) groups.push([currency, [account]]);
    else group[1].push(account);
  }
  return groups;
}

/**
 * The books of a hot wallet begin with the second comparison; all other balances are judged by the
 * last.
 */
function isSettled(verdict: Verdict, isLast: boolean): verdict is FoundDifference["verdict"] {
  if (verdict.kind === "fits" || verdict.kind === "moving") return false;
  return verdict.kind === "opening" || isLast;
}

function entryOf(
  { network, clock }: ClosingOptions,
  { one, verdict }: FoundDifference,
): readonly OwnedBookRow[] {
  if (verdict.kind === "difference" || verdict.kind === "moving") return [];
  const { account, currency, block } = one;
  const place = { network, address: account.address, currency: currency.id };
  return [
    {
      ...place,
      kind: verdict.kind,
      units: verdict.units.toString(),
      block,
      at: clock(),
      operator: "",
      reason: "",
      owner: { merchant: account.merchant, kind: account.kind },
    },
  ];
}

/** The number of entries that an account had when it was compared. */
function countsOf(found: readonly FoundDifference[]): ReadonlyMap<string, number> {
  return new Map(found.map(({ one }) => [one.account.address, one.sheet.entries]));
}

async function differencesOf(
  options: ClosingOptions,
  found: readonly FoundDifference[],
): Promise<readonly DifferenceRow[]> {
  const { store, network, clock } = options;
  const closing = readClosing(store.database, network);
  const rows: DifferenceRow[] = [];
  for (const { one, verdict } of found) {
    if (verdict.kind !== "difference") continue;
    const { account, currency, block, expectedUnits, foundUnits } = one;
    const place = { network, address: account.address, currency: currency.id };
    const before = readDifference(store.database, place);
    const since = await sinceOf(options, { one, verdict }, before, closing, rows.length < sinceMax);
    const words = [since.why, verdict.detail].filter((text) => text !== "").join("; ");
    rows.push({
      ...place,
      merchant: account.merchant,
      kind: account.kind,
      block,
      sinceBlock: since.block,
      detail: words,
      expectedUnits: expectedUnits.toString(),
      foundUnits: foundUnits.toString(),
      at: before?.at ?? clock(),
    });
  }
  return rows;
}

/** The block of an unchanged earlier difference is already known. */
async function sinceOf(
  options: ClosingOptions,
  { one, verdict }: FoundDifference,
  before: DifferenceRow | undefined,
  closing: ClosingRow | undefined,
  isLookedFor: boolean,
): Promise<{ readonly block: number | null; readonly why: string }> {
  if (verdict.kind === "difference" && verdict.foreignAt !== null)
    return { block: verdict.foreignAt, why: "" };
  const rest = one.foundUnits - one.expectedUnits;
  const isOld =
    before !== undefined && BigInt(before.foundUnits) - BigInt(before.expectedUnits) === rest;
  if (isOld && before.sinceBlock !== null) return { block: before.sinceBlock, why: "" };
  if (!isLookedFor)
    return { block: null, why: `its first block is not looked for beyond ${sinceMax} differences` };
  const openedAt = Math.max(
    one.sheet.openedAt(one.currency.id) ?? -1,
    one.sheet.settledAt(one.currency.id),
  );
  const wasEven = before === undefined && closing !== undefined && closing.closedAt !== null;
  const even =
    wasEven && closing.lastBlock > openedAt && closing.lastBlock < one.block
      ? closing.lastBlock
      : null;
  const since = await sinceBlock(options, one, { floor: openedAt, even });
  return since.block === null ? since : { block: since.block, why: "" };
}
