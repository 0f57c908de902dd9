/**
 * The destinations that this agent has paid, by network: an address, and the tag that names the
 * payee behind it. Recognises new destinations, and addresses that resemble a paid one (address
 * poisoning). Built from observations of final payments; payments before the newest checkpoint are
 * in the ledger's sorted files. Neither the cost of a question nor memory grows with their number.
 * Touches only those files, through `ArchiveLookup`.
 */
import { domainHash } from "../../../protocol/identity.ts";
import type { ArchiveLookup } from "../../ledger/archive.ts";
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
export interface LastPayment {
  readonly network: string; // CAIP-2
  readonly address: string; // EIP-55
  readonly tag: string; // "" for none
  readonly at: number; // ledger time of its final observation
  readonly amount: string; // decimal
  readonly currency: string;
}

/** A destination, its address canonical. */
export type Payee = Pick<LastPayment, "network" | "address" | "tag">;

/**
 * Network, address, time, amount, currency, and the tag if there is one; the destination paid
 * longest ago comes first. About 90 bytes each.
 */
export type PaidEntries = readonly (readonly [string, string, number, string, string, string?])[];

/** Only `pay` and `putAway` change the destinations. */
export class PaidDestinations {
  readonly #past: ArchiveLookup;
  /** Paid since the newest checkpoint, by network, address in lower case, and tag. */
  readonly #paid = new Map<string, LastPayment>();
  /** By network and both ends: the last paid of the look-alikes since the newest checkpoint. */
  readonly #byEnds = new Map<string, LastPayment>();

  /** The newest result from the files, because one job asks several times. */
  #asked: { readonly key: string; readonly known: readonly LastPayment[] } | null = null;

  constructor(past: ArchiveLookup, entries: PaidEntries = []) {
    this.#past = past;
    for (const entry of entries) this.pay(paidIn(entry));
  }

  /** Notes a final payment. A repeated destination replaces its last payment. */
  pay(paid: LastPayment): void {
    const lower = paid.address.toLowerCase();
    const key = `${paid.network} ${lower} ${paid.tag}`;
    // Deleted first so that the entry moves to the end: a checkpoint keeps the order of last
    // payments, and `byEnds` is rebuilt in that order.
    this.#paid.delete(key);
    this.#paid.set(key, paid);
    this.#byEnds.set(`${paid.network} ${endsOf(lower)}`, paid);
  }

  /**
   * True if no payment to the address with this tag was ever final on this network, in any case of
   * letters.
   */
  isNew({ network, address, tag }: Payee): boolean {
    const lower = address.toLowerCase();
    if (this.#paid.has(`${network} ${lower} ${tag}`)) return false;
    return !this.#before(network, lower).some(
      (known) => known.address.toLowerCase() === lower && known.tag === tag,
    );
  }

  /**
   * Returns the paid destination that a new one resembles, the last paid of several; null for none.
   * A paid destination resembles none, and neither does another tag of the address found.
   */
  likeness(payee: Payee): LastPayment | null {
    if (!this.isNew(payee)) return null;
    const lower = payee.address.toLowerCase();
    const found =
      this.#byEnds.get(`${payee.network} ${endsOf(lower)}`) ??
      lastOf(this.#before(payee.network, lower));
    return found === undefined || found.address.toLowerCase() === lower ? null : found;
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
    return [...this.#paid.values()].map(entryOf);
  }

  /** Returns the destinations of the sorted files that have the same ends. */
  #before(network: string, lower: string): readonly LastPayment[] {
    const ends = endsOf(lower);
    const key = `${network} ${ends}`;
    if (this.#asked?.key !== key) {
      const found = this.#past
        .find("paid", Buffer.from(endsHash(network, ends), "hex"))
        .map(knownIn);
      const known = found.filter(
        (each) => each.network === network && endsOf(each.address.toLowerCase()) === ends,
      );
      this.#asked = { key, known };
    }
    return this.#asked.known;
  }
}

function lastOf(known: readonly LastPayment[]): LastPayment | undefined {
  return known.reduce<LastPayment | undefined>(
    (last, each) => (last === undefined || each.at > last.at ? each : last),
    undefined,
  );
}

function endsHash(network: string, ends: string): string {
  return domainHash("destination's ends", Buffer.from(`${network} ${ends}`)).slice(0, 16);
}

/**
 * The key begins the same for all look-alikes, so a single read finds all; the rest of it is the
 * destination's own.
 */
function rowOf(paid: LastPayment): Row {
  const { network, address, tag } = paid;
  const lower = address.toLowerCase();
  const own = domainHash("destination", Buffer.from(`${network} ${lower} ${tag}`));
  const key = Buffer.from(endsHash(network, endsOf(lower)) + own.slice(0, 16), "hex");
  return { key, value: Buffer.from(JSON.stringify(entryOf(paid))) };
}

function entryOf({
  network,
  address,
  tag,
  at,
  amount,
  currency,
}: LastPayment): PaidEntries[number] {
  return [
    network,
    address,
    at,
    amount,
    currency,
    ...(tag === "" ? ([] as const) : ([tag] as const)),
  ];
}

/** JSON has no zero byte, so the first zero separates the text from the padding of the row. */
function knownIn({ value }: Row): LastPayment {
  const end = value.indexOf(0);
  const text = Buffer.from(end < 0 ? value : value.subarray(0, end)).toString("utf8");
  return paidIn(JSON.parse(text) as PaidEntries[number]);
}

function paidIn([
  network,
  address,
  at,
  amount,
  currency,
  tag = "",
]: PaidEntries[number]): LastPayment {
  return { network, address, tag, at, amount, currency };
}

/** Returns both ends of a lower-case address, without its 0x. */
function endsOf(lower: string): string {
  return lower.slice(2, 2 + startDigits) + lower.slice(-endDigits);
}
