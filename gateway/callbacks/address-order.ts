/**
 * The order in which one try goes through the addresses of a name, and the memory that this order
 * comes from: pure. The address that took the last callback is first. Then come new addresses,
 * those with another answer, those that gave none, and last a family without a route from this
 * machine. The families alternate, so that a dead family costs one attempt. Kept only in memory,
 * because each try learns it again. Source: RFC 8305 (Happy Eyeballs), sections 4 and 5.
 */
import { isIP } from "node:net";

/** Largest number of addresses that one try goes through; a name may have hundreds. */
export const addressesMax = 8;
/** Addresses in memory for one name. */
const keptMax = 2 * addressesMax;
/** Names in memory. Above it, the name that was used longest ago is forgotten. */
const namesMax = 4_096;
/** Time after which a family without a route is tried in its turn again. */
const noRouteMs = 60_000;

/**
 * The system's codes for a family that this machine has no route for; a host that is away has
 * another code.
 */
const noRouteCodes: ReadonlySet<string> = new Set(["ENETUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT"]);

/** The result of an attempt at one address. */
export type AddressResult = "took" | "answered" | "failed";

const ranks: Readonly<Record<AddressResult | "new" | "no route", number>> = {
  took: 0,
  new: 1,
  answered: 2,
  failed: 3,
  "no route": 4,
};

export class AddressOrder {
  /** By name: the newest attempts by address, the oldest first. */
  readonly #names = new Map<string, ReadonlyMap<string, AddressResult>>();
  readonly #noRouteUntil = new Map<number, number>();
  readonly #monotonic: () => number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** The addresses that a try uses, first to last: at most `addressesMax` of the given. */
  of(name: string, addresses: readonly string[]): readonly string[] {
    const known = this.#names.get(name);
    const nowMs = this.#monotonic();
    const rank = (address: string): number => {
      const last = known?.get(address) ?? "new";
      const isCutOff = last !== "took" && (this.#noRouteUntil.get(isIP(address)) ?? nowMs) > nowMs;
      return ranks[isCutOff ? "no route" : last];
    };
    const ranked = alternating([...new Set(addresses)]).map((address) => ({
      address,
      rank: rank(address),
    }));
    ranked.sort((a, b) => a.rank - b.rank);
    return ranked.slice(0, addressesMax).map(({ address }) => address);
  }

  /**
   * Keeps the result of an attempt. `code` is the system's for a connection that failed, else "".
   */
  keep(name: string, address: string, attempt: AddressResult, code: string): void {
    if (noRouteCodes.has(code))
      this.#noRouteUntil.set(isIP(address), this.#monotonic() + noRouteMs);
    if (attempt !== "failed") this.#noRouteUntil.delete(isIP(address));
    const others = [...(this.#names.get(name) ?? [])].filter(([known]) => known !== address);
    // One address at most is first: the one that took the newest callback.
    const known = attempt === "took" ? others.filter(([, last]) => last !== "took") : others;
    this.#names.delete(name);
    this.#names.set(name, new Map([...known, [address, attempt] as const].slice(-keptMax)));
    const [oldest] = this.#names.keys();
    if (this.#names.size > namesMax && oldest !== undefined) this.#names.delete(oldest);
  }
}

/** Each family in its own order, with the families in turn. */
function alternating(addresses: readonly string[]): readonly string[] {
  const families = [4, 6].map((family) => addresses.filter((address) => isIP(address) === family));
  const longest = Math.max(...families.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) =>
    families.flatMap((family) => family.slice(index, index + 1)),
  ).flat();
}
