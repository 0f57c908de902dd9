/**
 * Chance that can be repeated: a small generator with a seed (mulberry32), and the seed of this
 * run, new each time unless SEED= names one. A failing test prints the seed.
 */
export class SeededRandom {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  /** 0 … below - 1 */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  chance(oneIn: number): boolean {
    return this.below(oneIn) === 0;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }
}

/** `count` seeds from SEED= or from chance. */
export function seedsOfRun(count: number): readonly number[] {
  const named = process.env.SEED;
  if (named !== undefined) return [Number(named)];
  const first = Math.floor(Math.random() * 2 ** 31);
  return Array.from({ length: count }, (_, i) => first + i);
}
