/**
 * The destinations that this agent has paid, by network: tells a new one, and one that resembles a paid one. Folded from
 * observations of final payments. A question costs the same however many there are. Touches nothing.
 */

/**
 * Hex digits that two addresses must share at their beginning and at their end to look alike. Wallets and explorers show about four
 * at each end, so people compare those. A thief finds such an address within some 2^32 keys, minutes of one graphics card; an honest
 * address has both ends of one of 10,000 paid ones twice in a million.
 */
const startDigits = 4;
const endDigits = 4;

/**
 * The last payment to a destination.
 * @public
 */
export interface Paid {
  readonly address: string; // EIP-55
  readonly at: number; // ledger time of its final observation
  readonly amount: string; // decimal
  readonly currency: string;
}

/** By network, the one paid longest ago first: address, time, amount, currency. About 90 bytes a destination. */
export type PaidEntries = readonly (readonly [string, readonly (readonly [string, number, string, string])[]])[];

interface Network {
  readonly paid: Map<string, Paid>; // by address in lower case
  readonly byEnds: Map<string, Paid>; // of those that look alike, the one paid last
}

/** Only `pay` changes it. */
export class Destinations {
  readonly #networks = new Map<string, Network>();

  constructor(entries: PaidEntries = []) {
    for (const [network, paid] of entries) {
      for (const [address, at, amount, currency] of paid) this.pay(network, { address, at, amount, currency });
    }
  }

  /** Notes a final payment. The same destination again replaces its last payment. */
  pay(network: string, paid: Paid): void {
    let known = this.#networks.get(network);
    if (known === undefined) {
      known = { paid: new Map(), byEnds: new Map() };
      this.#networks.set(network, known);
    }
    const key = paid.address.toLowerCase();
    // Deleted first so that it goes to the end: a checkpoint keeps the order of last payments, and `byEnds` is rebuilt in that order.
    known.paid.delete(key);
    known.paid.set(key, paid);
    known.byEnds.set(endsOf(key), paid);
  }

  /** Whether no payment to the address was ever final on this network. Any case of its letters. */
  isNew(network: string, address: string): boolean {
    return this.#networks.get(network)?.paid.has(address.toLowerCase()) !== true;
  }

  /** The paid destination that a new one resembles, null for none; of several the one paid last. A paid one resembles none. */
  likeness(network: string, address: string): Paid | null {
    if (!this.isNew(network, address)) return null;
    return this.#networks.get(network)?.byEnds.get(endsOf(address.toLowerCase())) ?? null;
  }

  /** For a checkpoint. */
  entries(): PaidEntries {
    return [...this.#networks].map(([network, { paid }]) => [
      network,
      [...paid.values()].map(({ address, at, amount, currency }) => [address, at, amount, currency] as const),
    ]);
  }
}

/** Both ends of an address in lower case, without its 0x. */
function endsOf(lower: string): string {
  return lower.slice(2, 2 + startDigits) + lower.slice(-endDigits);
}
