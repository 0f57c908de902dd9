/**
 * Chooses the next target: pure. Each request in progress has a permit. Permits are limited in
 * total, for one merchant and for one target; the merchant with the fewest comes first. A target
 * that failed or was slow last time, or was never tried, gets one permit. Each of these two kinds
 * has a share of all permits, so that the other targets always find a free one, however many
 * receivers hang.
 */

type Health = "untried" | "good" | "slow";

/** Largest number of permits, in total and by the health of their targets. */
export const permitsMax = 64;
const permitsOf: Readonly<Record<Health, number>> = { untried: 24, slow: 24, good: permitsMax };
const perMerchantMax = 8;
/** Largest number of permits of a target that answered well. */
export const goodTargetMax = 4;
const perTargetMax: Readonly<Record<Health, number>> = { untried: 1, slow: 1, good: goodTargetMax };
/** A target that answers later than this is slow. */
const slowMs = 2_000;

/** A target with a waiting delivery. */
export interface DeliveryTarget {
  readonly target: string;
  readonly merchant: string;
}

interface Share {
  readonly merchant: string;
  taken: number;
  turn: number; // global number of its last turn; 0 never
  health: Health;
}

/**
 * Kept only in memory: a restart forgets which targets were slow, and learns it again with one
 * request each.
 */
export class DeliveryConcurrency {
  readonly #shares = new Map<string, Share>();
  readonly #ofMerchant = new Map<string, number>();
  readonly #ofHealth: Record<Health, number> = { untried: 0, good: 0, slow: 0 };
  #taken = 0;
  #turn = 0;

  get taken(): number {
    return this.#taken;
  }

  /**
   * Takes a permit for the next target of `waiting` in fair order.
   * @returns null if none of them may have a permit now
   */
  take<W extends DeliveryTarget>(waiting: readonly W[]): W | null {
    if (this.#taken >= permitsMax) return null;
    let next: W | null = null;
    for (const one of waiting)
      if (this.#mayHave(one) && (next === null || this.#isBefore(one, next))) next = one;
    if (next === null) return null;
    const share = this.#share(next);
    this.#turn += 1;
    share.turn = this.#turn;
    this.#count(share, 1);
    return next;
  }

  /** Gives the permit back after a request of `durationMs`. */
  free(target: string, arrived: boolean, durationMs: number): void {
    const share = this.#shares.get(target);
    if (share === undefined) return;
    this.#count(share, -1);
    this.#ofHealth[share.health] -= share.taken;
    share.health = arrived && durationMs <= slowMs ? "good" : "slow";
    this.#ofHealth[share.health] += share.taken;
  }

  /** Gives a permit back with which nothing was sent. */
  back(target: string): void {
    const share = this.#shares.get(target);
    if (share !== undefined) this.#count(share, -1);
  }

  /** Forgets targets without a waiting delivery. */
  keepOnly(targets: ReadonlySet<string>): void {
    for (const [target, share] of this.#shares)
      if (share.taken === 0 && !targets.has(target)) this.#shares.delete(target);
  }

  #mayHave(one: DeliveryTarget): boolean {
    const { taken, health } = this.#share(one);
    const hasRoom =
      this.#ofHealth[health] < permitsOf[health] &&
      (this.#ofMerchant.get(one.merchant) ?? 0) < perMerchantMax;
    return hasRoom && taken < perTargetMax[health];
  }

  #isBefore(one: DeliveryTarget, other: DeliveryTarget): boolean {
    const fewer =
      (this.#ofMerchant.get(one.merchant) ?? 0) - (this.#ofMerchant.get(other.merchant) ?? 0);
    return fewer === 0 ? this.#share(one).turn < this.#share(other).turn : fewer < 0;
  }

  #share({ target, merchant }: DeliveryTarget): Share {
    const known = this.#shares.get(target);
    if (known !== undefined) return known;
    const made: Share = { merchant, taken: 0, turn: 0, health: "untried" };
    this.#shares.set(target, made);
    return made;
  }

  #count(share: Share, by: 1 | -1): void {
    share.taken += by;
    this.#taken += by;
    this.#ofHealth[share.health] += by;
    const left = (this.#ofMerchant.get(share.merchant) ?? 0) + by;
    if (left === 0) this.#ofMerchant.delete(share.merchant);
    else this.#ofMerchant.set(share.merchant, left);
  }
}
