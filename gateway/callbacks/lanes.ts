/**
 * Chooses the next target: pure. Limits the requests in progress in total, for one merchant and for
 * one target; the merchant with the fewest comes first. A target that failed or was slow last time,
 * or was never tried, gets one lane. Each of these two kinds has a share of the lanes, so that the
 * other targets always find a free lane, however many receivers hang.
 */

type Health = "unheard" | "good" | "slow";

/** Largest number of requests in progress, in total and by the health of their targets. */
export const lanesMax = 64;
const lanesOf: Readonly<Record<Health, number>> = { unheard: 24, slow: 24, good: lanesMax };
const perMerchantMax = 8;
const perTargetMax: Readonly<Record<Health, number>> = { unheard: 1, slow: 1, good: 4 };
/** A target that answers later than this is slow. */
const slowMs = 2_000;

/** A target with a waiting delivery. */
export interface Waiting {
  readonly target: string;
  readonly merchant: string;
}

interface Lane {
  readonly merchant: string;
  taken: number;
  turn: number; // global number of its last turn; 0 never
  health: Health;
}

/**
 * Kept only in memory: a restart forgets which targets were slow, and learns it again with one
 * request each.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #ofMerchant = new Map<string, number>();
  readonly #ofHealth: Record<Health, number> = { unheard: 0, good: 0, slow: 0 };
  #taken = 0;
  #turn = 0;

  get taken(): number {
    return this.#taken;
  }

  /**
   * Takes a lane for the next target of `waiting` in fair order.
   * @returns null if none of them may have a lane now
   */
  take<W extends Waiting>(waiting: readonly W[]): W | null {
    if (this.#taken >= lanesMax) return null;
    let next: W | null = null;
    for (const one of waiting) if (this.#mayHave(one) && (next === null || this.#isBefore(one, next))) next = one;
    if (next === null) return null;
    const lane = this.#lane(next);
    this.#turn += 1;
    lane.turn = this.#turn;
    this.#count(lane, 1);
    return next;
  }

  /** Frees a lane after a request of `durationMs`. */
  free(target: string, arrived: boolean, durationMs: number): void {
    const lane = this.#lanes.get(target);
    if (lane === undefined) return;
    this.#count(lane, -1);
    this.#ofHealth[lane.health] -= lane.taken;
    lane.health = arrived && durationMs <= slowMs ? "good" : "slow";
    this.#ofHealth[lane.health] += lane.taken;
  }

  /** Frees a lane on which nothing was sent. */
  back(target: string): void {
    const lane = this.#lanes.get(target);
    if (lane !== undefined) this.#count(lane, -1);
  }

  /** Forgets targets without a waiting delivery. */
  keepOnly(targets: ReadonlySet<string>): void {
    for (const [target, lane] of this.#lanes) if (lane.taken === 0 && !targets.has(target)) this.#lanes.delete(target);
  }

  #mayHave(one: Waiting): boolean {
    const { taken, health } = this.#lane(one);
    const hasRoom = this.#ofHealth[health] < lanesOf[health] && (this.#ofMerchant.get(one.merchant) ?? 0) < perMerchantMax;
    return hasRoom && taken < perTargetMax[health];
  }

  #isBefore(one: Waiting, other: Waiting): boolean {
    const fewer = (this.#ofMerchant.get(one.merchant) ?? 0) - (this.#ofMerchant.get(other.merchant) ?? 0);
    return fewer === 0 ? this.#lane(one).turn < this.#lane(other).turn : fewer < 0;
  }

  #lane({ target, merchant }: Waiting): Lane {
    const known = this.#lanes.get(target);
    if (known !== undefined) return known;
    const made: Lane = { merchant, taken: 0, turn: 0, health: "unheard" };
    this.#lanes.set(target, made);
    return made;
  }

  #count(lane: Lane, by: 1 | -1): void {
    lane.taken += by;
    this.#taken += by;
    this.#ofHealth[lane.health] += by;
    const left = (this.#ofMerchant.get(lane.merchant) ?? 0) + by;
    if (left === 0) this.#ofMerchant.delete(lane.merchant);
    else this.#ofMerchant.set(lane.merchant, left);
  }
}
