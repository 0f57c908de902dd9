/**
 * The accounts whose books are closed, a slice at a time, each with the database's explanation. A
 * hot wallet can have many movements, so they are read page by page with a rest between.
 */
import { addressSpaceOf } from "../../chains/network-names.ts";
import { hasTags } from "../../chains/payees.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { listPairedWallets } from "../store/agents.ts";
import {
  listDepositAddressMoves,
  listHotWalletMoves,
  listTaggedMoves,
} from "../store/book-moves.ts";
import {
  type BookAddress,
  type BookEntryRow,
  countBookAddresses,
  countForgottenBookAddresses,
  listBookAddresses,
  listBookEntries,
  listForgottenBookAddresses,
} from "../store/books.ts";
import type { Database } from "../store/store.ts";
import { listSumMoves } from "../store/stray-sums.ts";
import { type BalanceMove, movesOf, Sheet } from "./sheet.ts";

/** An account whose balances are compared. */
export interface Account {
  readonly address: string;
  readonly merchant: string;
  readonly kind: "deposit" | "hot";
  /** True if an agent here has the key; a payment from any other address was made by its owner. */
  readonly isOurs: boolean;
}

/** The accounts of one chain, of one merchant or of all. */
export interface Scope {
  readonly network: string;
  readonly coin: string | null; // the currency that pays fees
  readonly merchant: string | null;
}

const sliceMax = 250; // about the size of a chain interface's own batch
const pageMax = 500;

/** @returns the hot wallets of the paired agents */
export function hotWalletAccounts(
  database: Database,
  { network, merchant }: Scope,
): readonly Account[] {
  return listPairedWallets(database, network)
    .filter((agent) => merchant === null || agent.merchant === merchant)
    .map((agent) => ({
      address: hotWalletAddressOn(agent, network),
      merchant: agent.merchant,
      kind: "hot" as const,
      isOurs: true,
    }))
    .filter(({ address }) => address !== "");
}

const startOf = (network: string): string => addressSpaceOf(network);

/** The number of deposit addresses with a balance of their own; none on a chain with tags. */
export function countDepositAccounts(database: Database, { network, merchant }: Scope): number {
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
export function* depositSlices(
  database: Database,
  { network, merchant }: Scope,
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
 * The database's explanation of these accounts now.
 * @param rest waits between pages
 * @param onMove hears each movement that counts
 */
export async function sheetsOf(
  database: Database,
  { network, coin }: Scope,
  accounts: readonly Account[],
  rest: () => Promise<void>,
  onMove: ((address: string, move: BalanceMove) => void) | null = null,
): Promise<ReadonlyMap<string, Sheet>> {
  const hearer = (address: string) =>
    onMove === null ? null : (move: BalanceMove) => onMove(address, move);
  const addresses = accounts.map(({ address }) => address);
  const entries = new Map<string, BookEntryRow[]>(addresses.map((address) => [address, []]));
  for (const entry of listBookEntries(database, network, addresses))
    entries.get(entry.address)?.push(entry);
  const sheets = new Map(
    [...entries].map(([address, own]) => [address, new Sheet(own, hearer(address))]),
  );
  const deposits = accounts.filter(({ kind }) => kind === "deposit").map(({ address }) => address);
  for (const row of deposits.length === 0
    ? []
    : listDepositAddressMoves(database, network, deposits))
    for (const move of movesOf(row, coin)) sheets.get(row.address)?.add(move);
  const summed = accounts
    .filter(({ kind }) => kind === "deposit" || hasTags(network))
    .map(({ address }) => address);
  for (const row of summed.length === 0 ? [] : listSumMoves(database, network, summed))
    for (const move of movesOf(row, coin)) sheets.get(row.address)?.add(move);
  for (const { address: account, kind } of accounts) {
    if (kind !== "hot") continue;
    for (const side of hasTags(network)
      ? (["out", "in", "tagged"] as const)
      : (["out", "in"] as const)) {
      let after = { block: -1, row: 0 };
      for (let isMore = true; isMore; ) {
        const place = { network, account };
        const page =
          side === "tagged"
            ? listTaggedMoves(database, place, after, pageMax)
            : listHotWalletMoves(database, side, place, after, pageMax);
        for (const row of page)
          for (const move of movesOf(row, coin)) sheets.get(account)?.add(move);
        after = page.at(-1) ?? after;
        isMore = page.length === pageMax;
        if (isMore) await rest();
      }
    }
  }
  return sheets;
}
