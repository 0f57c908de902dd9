/**
 * The accounts whose books are closed, a slice at a time, each with the database's explanation. A
 * hot wallet can have many movements, so they are read page by page with a rest between.
 */
import { addressSpaceOf } from "../../chains/network-names.ts";
import { hasTags } from "../../chains/payees.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { listPairedWallets } from "../store/agents.ts";
import {
  type BookAddress,
  countBookAddresses,
  countForgottenBookAddresses,
  listAdjustments,
  listBookAddresses,
  listForgottenBookAddresses,
} from "../store/books.ts";
import {
  type AccountAtMove,
  type AccountMove,
  isDepositAccount,
  listAccountsAtMove,
  listMovesAfter,
  listMovesOfMany,
  unitsAt,
} from "../store/journal.ts";
import type { Database } from "../store/store.ts";
import { ExpectedAccountBalances } from "./sheet.ts";

/** An account whose balances are compared. */
export interface Account {
  readonly address: string;
  readonly merchant: string;
  readonly kind: "deposit" | "hot";
  /** True if an agent here has the key; a payment from any other address was made by its owner. */
  readonly isOurs: boolean;
}

/** The accounts of one chain, of one merchant or of all. */
export interface BooksScope {
  readonly network: string;
  readonly merchant: string | null;
}

const sliceMax = 250; // about the size of a chain interface's own batch
const pageMax = 500;

/**
 * An address that is a deposit address as well has one set of books, the deposit address's.
 * @returns the hot wallets of the paired agents
 */
export function hotWalletAccounts(
  database: Database,
  { network, merchant }: BooksScope,
): readonly Account[] {
  return listPairedWallets(database, network)
    .filter((agent) => merchant === null || agent.merchant === merchant)
    .map((agent) => ({
      address: hotWalletAddressOn(agent, network),
      merchant: agent.merchant,
      kind: "hot" as const,
      isOurs: true,
    }))
    .filter(({ address }) => address !== "" && !isDepositAccount(database, network, address));
}

const startOf = (network: string): string => addressSpaceOf(network);

/** The number of deposit addresses with a balance of their own; none on a chain with tags. */
export function countDepositAccounts(
  database: Database,
  { network, merchant }: BooksScope,
): number {
  if (hasTags(network)) return 0;
  const addressSpace = addressSpaceOf(network);
  const forgotten = countForgottenBookAddresses(database, { addressSpace, merchant });
  return countBookAddresses(database, { start: startOf(network), merchant }) + forgotten;
}

/**
 * Every deposit address that was ever given out, and every address that may have been before the
 * database was restored from a backup, a slice at a time. None on a chain with tags, where the hot
 * wallet holds the money.
 */
export function* listDepositAccountSlices(
  database: Database,
  { network, merchant }: BooksScope,
): Generator<readonly Account[]> {
  if (hasTags(network)) return;
  const start = startOf(network);
  const addressSpace = addressSpaceOf(network);
  yield* slicesOf((place) => listBookAddresses(database, { start, merchant }, place, sliceMax));
  yield* slicesOf((place) =>
    listForgottenBookAddresses(database, { addressSpace, merchant }, place, sliceMax),
  );
}

function* slicesOf(
  listAfter: (place: number) => readonly BookAddress[],
): Generator<readonly Account[]> {
  for (let rows = listAfter(0); rows.length > 0; rows = listAfter(rows.at(-1)?.place ?? 0)) {
    yield rows.map(({ address, merchant, agent }) => ({
      address,
      merchant,
      kind: "deposit" as const,
      isOurs: agent !== null,
    }));
  }
}

/**
 * The database's explanation of these accounts now, for blocks from `block` on.
 * @param rest waits between pages
 */
export async function sheetsOf(
  database: Database,
  { network }: Pick<BooksScope, "network">,
  accounts: readonly Account[],
  block: number,
  rest: () => Promise<void>,
): Promise<ReadonlyMap<string, ExpectedAccountBalances>> {
  const addresses = accounts.map(({ address }) => address);
  // Before the sums: an entry that another process adds in between is told by its missing count.
  const adjustments = groupByAddress(listAdjustments(database, network, addresses));
  const found = listAccountsAtMove(database, network, addresses, block);
  const rows = groupByAddress(found);
  const moved = accounts.filter(({ address }) => rows.has(address));
  // Moves that are posted while pages are read are no part of the sums that were read before.
  const posted = found[0]?.posted ?? 0;
  const after = await movesAfter(database, network, moved, { block, posted }, rest);
  const moves = groupByAddress([...after, ...found.flatMap(sumMovesOf)]);
  const sheetOf = (address: string): ExpectedAccountBalances =>
    new ExpectedAccountBalances({
      accounts: rows.get(address) ?? [],
      moves: moves.get(address) ?? [],
      adjustments: adjustments.get(address) ?? [],
      block,
      unitsBefore: (currency, before) => unitsAt(database, { network, address, currency }, before),
    });
  return new Map(addresses.map((address) => [address, sheetOf(address)]));
}

function groupByAddress<T extends { readonly address: string }>(
  rows: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(row.address);
    if (group === undefined) groups.set(row.address, [row]);
    else group.push(row);
  }
  return groups;
}

/** The sums of small payments to an account in later blocks, as moves. */
function sumMovesOf({ address, currency, sums }: AccountAtMove): readonly AccountMove[] {
  return (JSON.parse(sums) as readonly (readonly [string, number])[]).map(([units, block]) => ({
    kind: "payment",
    address,
    farSide: "@customers",
    currency,
    block,
    number: 0,
    cause: "",
    undoes: null,
    units: BigInt(units),
    isPayer: false,
    why: null,
  }));
}

/**
 * The moves of accounts in later blocks, up to the number `posted`. A hot wallet can have many, so
 * they come in pages.
 */
async function movesAfter(
  database: Database,
  network: string,
  accounts: readonly Account[],
  { block, posted }: { readonly block: number; readonly posted: number },
  rest: () => Promise<void>,
): Promise<readonly AccountMove[]> {
  if (accounts.length === 0) return [];
  const isHot = ({ kind }: Account): boolean => kind === "hot";
  const [hot, deposits] = [accounts.filter(isHot), accounts.filter((one) => !isHot(one))].map(
    (some) => some.map(({ address }) => address),
  ) as [string[], string[]];
  const moves: AccountMove[] = [];
  if (deposits.length > 0)
    for (const move of listMovesOfMany(database, network, deposits, block))
      if (move.number <= posted) moves.push(move);
  for (const address of hot)
    for (const direction of ["in", "out"] as const) {
      let after = { block, number: Number.MAX_SAFE_INTEGER };
      for (let isMore = true; isMore; ) {
        const page = listMovesAfter(database, network, address, direction, after, pageMax);
        for (const move of page) if (move.number <= posted) moves.push(move);
        after = page.at(-1) ?? after;
        isMore = page.length === pageMax;
        if (isMore) await rest();
      }
    }
  return moves;
}
