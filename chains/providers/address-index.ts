/**
 * Watched addresses by the bytes that nodes write, so a foreign address is recognised without a
 * conversion to another form. Touches nothing itself.
 */
import type { WatchedAddresses } from "../nodes.ts";

/** Number of addresses that are added before other work has its turn. */
const takenAtOnce = 5_000;

export interface WatchedAddressIndex {
  /** The watched address with these bytes, in the spelling of the book. */
  find(key: string): string | undefined;
}

/**
 * Keeps one index for each book, and adds the addresses that the book has got since the last call.
 * A book only grows, and returns its addresses in order of arrival. `keyOf` of an address: its
 * bytes as text.
 */
export function createAddressIndexes(
  keyOf: (address: string) => string,
): (book: WatchedAddresses) => Promise<WatchedAddressIndex> {
  const known = new WeakMap<
    WatchedAddresses,
    { readonly byKey: Map<string, string>; size: number }
  >();

  return async (book) => {
    const index = known.get(book) ?? { byKey: new Map<string, string>(), size: 0 };
    known.set(book, index);
    if (index.size !== book.size) {
      let at = 0;
      const from = index.size < book.size ? index.size : 0;
      const fresh: string[] = [];
      for (const address of book.all()) {
        if (at >= from) fresh.push(address);
        at += 1;
      }
      for (let next = 0; next < fresh.length; next += takenAtOnce) {
        for (const address of fresh.slice(next, next + takenAtOnce))
          index.byKey.set(keyOf(address), address);
        if (next + takenAtOnce < fresh.length)
          await new Promise((resolve) => setImmediate(resolve));
      }
      index.size = at;
    }
    return {
      find: (key) => {
        const address = index.byKey.get(key);
        return address !== undefined && book.has(address) ? address : undefined;
      },
    };
  };
}
