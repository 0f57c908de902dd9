/**
 * The destinations that this agent has paid, by network. Recognises new destinations, and
 * destinations that resemble a paid one (address poisoning). Built from observations of final
 * payments; payments before the newest checkpoint are in the ledger's sorted files. Neither the
 * cost of a question nor memory grows with their number. Touches only those files, through `Past`.
 */
import { domainHash } from "../../../protocol/identity.ts";
import type { Past } from "../../ledger/archive.ts";
import type { Row } from "../../ledger/sorted-file.ts";

/**
 * Hex digits that two addresses must share at the beginning and at the end to look alike. Wallets
 * and explorers show about four at each end, so people compare those. An attacker finds such an
 * address within about 2^32 keys, minutes on one graphics card. An honest address shares both ends
 * with one of 10,000 paid ones with a probability of two in a million.
 */
const startDigits = 4;
const endDigits = 4;

/** The last payment to a destination. */
export interface Paid {
  readonly address: string; // EIP-55
  readonly at: number; // ledger time of its final observation
  readonly amount: string; // decimal
  readonly currency: string;
}

/**
 * Network, address, time, amount, currency; the destination paid longest ago comes first. About 90
 * bytes each.
 */
export type PaidEntries = readonly (readonly [string, string, number, string, string])[];

interface Known extends Paid {
  readonly network: string;
}

/** Only `pay` and `putAway` change the destinations. */
export class Destinations {
  readonly #past: Past;
  /** Paid since the newest checkpoint, by network and address in lower case. */
  readonly #paid = new Map<string, Known>();
  /** By network and both ends: the last paid of the look-alikes since the newest checkpoint. */
  readonly #byEnds = new Map<string, Known>();

  /** The newest result from the files, because one job asks several times. */
  #asked: { readonly key: string; readonly known: readonly Known[] } | null = null;

  constructor(past: Past, entries: PaidEntries = []) {
    this.#past = past;
    for (const [network, address, at, amount, currency] of entries) this.pay(network, { address, at, amount, currency });
  }

  /** Notes a final payment. A repeated destination replaces its last payment. */
  pay(network: string, paid: Paid): void {
    const known = { network, ...paid };
    const lower = paid.address.toLowerCase();
    const key = `${network} ${lower}`;
    // Deleted first so that the entry moves to the end: a checkpoint keeps the order of last
    // payments, and `byEnds` is rebuilt in that order.
    this.#paid.delete(key);
    this.#paid.set(key, known);
    this.#byEnds.set(`${network} ${endsOf(lower)}`, known);
  }

  /** True if no payment to the address was ever final on this network, in any case of letters. */
  isNew(network: string, address: string): boolean {
    const lower = address.toLowerCase();
    if (this.#paid.has(`${network} ${lower}`)) return false;
    return !this.#before(network, lower).some((known) => known.address.toLowerCase() === lower);
  }

  /**
   * Returns the paid destination that a new one resembles, the last paid of several; null for none.
   * A paid destination resembles none.
   */
  likeness(network: string, address: string): Paid | null {
    const lower = address.toLowerCase();
    if (!this.isNew(network, address)) return null;
    const found = this.#byEnds.get(`${network} ${endsOf(lower)}`) ?? lastOf(this.#before(network, lower));
    if (found === undefined) return null;
    const { network: _network, ...paid } = found;
    return paid;
  }

  /** Returns the destinations since the newest checkpoint, as rows of the next one. */
  rows(): readonly Row[] {
    return [...this.#paid.values()].map(rowOf);
  }

  /** Forgets the rows that a checkpoint now holds; the sorted files answer for them. */
  putAway(): void {
    this.#paid.clear();
    this.#byEnds.clear();
    this.#asked = null;
  }

  /** Returns the destinations since the newest checkpoint. */
  entries(): PaidEntries {
    return [...this.#paid.values()].map(({ network, address, at, amount, currency }) => [network, address, at, amount, currency]);
  }

  /** Returns the destinations of the sorted files that have the same ends. */
  #before(network: string, lower: string): readonly Known[] {
    const ends = endsOf(lower);
    const key = `${network} ${ends}`;
    if (this.#asked?.key !== key) {
      const found = this.#past.find("paid", Buffer.from(endsHash(network, ends), "hex")).map(knownIn);
      const known = found.filter((each) => each.network === network && endsOf(each.address.toLowerCase()) === ends);
      this.#asked = { key, known };
    }
    return this.#asked.known;
  }
}

function lastOf(known: readonly Known[]): Known | undefined {
  return known.reduce<Known | undefined>((last, each) => (last === undefined || each.at > last.at ? each : last), undefined);
}

/**
 * Returns a key with the same beginning for all look-alikes, so a single read finds all; the rest
 * of the key is the address's own.
 */
function keyOf(network: string, lower: string): Uint8Array {
  const own = domainHash("destination", Buffer.from(`${network} ${lower}`));
  return Buffer.from(endsHash(network, endsOf(lower)) + own.slice(0, 16), "hex");
}

function endsHash(network: string, ends: string): string {
  return domainHash("destination's ends", Buffer.from(`${network} ${ends}`)).slice(0, 16);
}

function rowOf({ network, address, at, amount, currency }: Known): Row {
  const value = JSON.stringify([network, address, at, amount, currency]);
  return { key: keyOf(network, address.toLowerCase()), value: Buffer.from(value) };
}

/** JSON has no zero byte, so the first zero separates the text from the padding of the row. */
function knownIn({ value }: Row): Known {
  const end = value.indexOf(0);
  const text = Buffer.from(end < 0 ? value : value.subarray(0, end)).toString("utf8");
  const [network, address, at, amount, currency] = JSON.parse(text) as PaidEntries[number];
  return { network, address, at, amount, currency };
}

/** Returns both ends of a lower-case address, without its 0x. */
function endsOf(lower: string): string {
  return lower.slice(2, 2 + startDigits) + lower.slice(-endDigits);
}
