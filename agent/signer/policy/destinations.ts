/**
 * The destinations that this agent has paid, by network: tells a new one, and one that resembles a
 * paid one. Folded from observations of final payments; those before the newest checkpoint lie in
 * the ledger's sorted files. Neither a question nor memory grows with their number. Touches nothing
 * but those files, through `Past`.
 */
import { domainHash } from "../../../protocol/identity.ts";
import type { Past } from "../../ledger/past.ts";
import type { Row } from "../../ledger/sorted-file.ts";

/**
 * Hex digits that two addresses must share at their beginning and at their end to look alike.
 * Wallets and explorers show about four at each end, so people compare those. A thief finds such an
 * address within some 2^32 keys, minutes of one graphics card; an honest address has both ends of
 * one of 10,000 paid ones twice in a million.
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

/**
 * Network, address, time, amount, currency; the one paid longest ago first. About 90 bytes a
 * destination.
 */
export type PaidEntries = readonly (readonly [string, string, number, string, string])[];

interface Known extends Paid {
  readonly network: string;
}

/** Only `pay` and `putAway` change it. */
export class Destinations {
  readonly #past: Past;
  /** Paid since the newest checkpoint, by network and address in lower case. */
  readonly #paid = new Map<string, Known>();
  /** By network and both ends: of those that look alike, the one paid last since then. */
  readonly #byEnds = new Map<string, Known>();

  /** The newest look into the files: one job asks several times. */
  #asked: { readonly key: string; readonly known: readonly Known[] } | null = null;

  constructor(past: Past, entries: PaidEntries = []) {
    this.#past = past;
    for (const [network, address, at, amount, currency] of entries) this.pay(network, { address, at, amount, currency });
  }

  /** Notes a final payment. The same destination again replaces its last payment. */
  pay(network: string, paid: Paid): void {
    const known = { network, ...paid };
    const lower = paid.address.toLowerCase();
    const key = `${network} ${lower}`;
    // Deleted first so that it goes to the end: a checkpoint keeps the order of last payments, and
    // `byEnds` is rebuilt in that order.
    this.#paid.delete(key);
    this.#paid.set(key, known);
    this.#byEnds.set(`${network} ${endsOf(lower)}`, known);
  }

  /** Whether no payment to the address was ever final on this network. Any case of its letters. */
  isNew(network: string, address: string): boolean {
    const lower = address.toLowerCase();
    if (this.#paid.has(`${network} ${lower}`)) return false;
    return !this.#before(network, lower).some((known) => known.address.toLowerCase() === lower);
  }

  /**
   * The paid destination that a new one resembles, null for none; of several the one paid last. A
   * paid one resembles none.
   */
  likeness(network: string, address: string): Paid | null {
    const lower = address.toLowerCase();
    if (!this.isNew(network, address)) return null;
    const found = this.#byEnds.get(`${network} ${endsOf(lower)}`) ?? lastOf(this.#before(network, lower));
    if (found === undefined) return null;
    const { network: _network, ...paid } = found;
    return paid;
  }

  /** Those since the newest checkpoint, for the next one. */
  rows(): readonly Row[] {
    return [...this.#paid.values()].map(rowOf);
  }

  /** A checkpoint stands for `rows`: the sorted files answer for them. */
  putAway(): void {
    this.#paid.clear();
    this.#byEnds.clear();
    this.#asked = null;
  }

  /** Those since the newest checkpoint. */
  entries(): PaidEntries {
    return [...this.#paid.values()].map(({ network, address, at, amount, currency }) => [network, address, at, amount, currency]);
  }

  /** Those of the sorted files that have the same ends. */
  #before(network: string, lower: string): readonly Known[] {
    const ends = endsOf(lower);
    const key = `${network} ${ends}`;
    if (this.#asked?.key !== key) {
      const found = this.#past.find("paid", Buffer.from(endsHash(network, ends), "hex")).map(knownIn);
      this.#asked = {
        key,
        known: found.filter((each) => each.network === network && endsOf(each.address.toLowerCase()) === ends),
      };
    }
    return this.#asked.known;
  }
}

function lastOf(known: readonly Known[]): Known | undefined {
  return known.reduce<Known | undefined>((last, each) => (last === undefined || each.at > last.at ? each : last), undefined);
}

/**
 * All that look alike begin alike, so that one look finds them; then each has a place of its own.
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

/** JSON has no zero byte, so what follows it in the row is told from it. */
function knownIn({ value }: Row): Known {
  const end = value.indexOf(0);
  const text = Buffer.from(end < 0 ? value : value.subarray(0, end)).toString("utf8");
  const [network, address, at, amount, currency] = JSON.parse(text) as PaidEntries[number];
  return { network, address, at, amount, currency };
}

/** Both ends of an address in lower case, without its 0x. */
function endsOf(lower: string): string {
  return lower.slice(2, 2 + startDigits) + lower.slice(-endDigits);
}
