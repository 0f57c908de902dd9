/**
 * Opens the books of a hot wallet at the first final block that is read after its pairing. Its
 * balance there is its opening, and every later block is compared from there on.
 */
import { addBookEntry, listBookEntries } from "../store/books.ts";
import { hotWalletAccounts } from "./accounts.ts";
import { type ClosingOptions, Comparison } from "./compare.ts";

type OpeningOptions = Omit<ClosingOptions, "rest">;

function unopened(options: OpeningOptions) {
  const { store, network, currencies } = options;
  const accounts = hotWalletAccounts(store.database, options);
  const entries = listBookEntries(
    store.database,
    network,
    accounts.map(({ address }) => address),
  ).filter(({ kind }) => kind === "opening");
  const known = new Set(entries.map(({ address, currency }) => `${address} ${currency}`));
  return accounts.flatMap((account) => {
    const missing = currencies.filter(({ id }) => !known.has(`${account.address} ${id}`));
    return missing.length === 0 ? [] : [{ account, missing }];
  });
}

/** True if a hot wallet has no opening yet in one of the currencies. */
export function hasUnopened(options: OpeningOptions): boolean {
  return unopened(options).length > 0;
}

/**
 * Opens the books that are not open. Harmless to call again.
 * @throws AgentError BOOKS_UNREAD, NODE_CLOSED, GATEWAY_STORE_*
 */
export async function openBooks(options: ClosingOptions): Promise<void> {
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
        } as const;
        addBookEntry(database, { ...place, ...opening });
      }
    });
  }
}
