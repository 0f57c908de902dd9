/**
 * Chance of one simulated run: every draw follows from the seed, its label and how often that label
 * was drawn before, so taking one fault out of a run leaves all other draws as they were. Faults
 * that came true are kept by name; a run can be held to a list of them.
 */

/** How many parts a rate is given in: a rate of 100 comes true once in a hundred draws. */
export const rateParts = 10_000;

interface Label {
  readonly hash: number;
  count: number;
}

export class Random {
  /** Faults that came true, in order, as `label#number`. */
  readonly taken: string[] = [];
  readonly #seed: number;
  readonly #only: ReadonlySet<string> | null;
  readonly #labels = new Map<string, Label>();

  /** `only`: no fault comes true but these; null lets chance decide. */
  constructor(seed: number, only: ReadonlySet<string> | null = null) {
    this.#seed = mixed((seed >>> 0) ^ mixed(Math.floor(seed / 0x1_0000_0000) + 1));
    this.#only = only;
  }

  /** 0 … limit - 1 */
  below(label: string, limit: number): number {
    return this.#draw(this.#label(label)) % limit;
  }

  between(label: string, least: number, most: number): number {
    return least + this.below(label, most - least + 1);
  }

  pick<T>(label: string, items: readonly T[]): T {
    return items[this.below(label, items.length)] as T;
  }

  /** Whether something goes wrong here, `rate` in `rateParts`. */
  fault(label: string, rate: number): boolean {
    const drawn = this.#label(label);
    const isDue = this.#draw(drawn) % rateParts < rate;
    if (!isDue) return false;
    const name = `${label}#${drawn.count}`;
    if (this.#only !== null && !this.#only.has(name)) return false;
    this.taken.push(name);
    return true;
  }

  bytes(label: string, count: number): Buffer {
    const bytes = Buffer.alloc(count);
    const drawn = this.#label(label);
    for (let at = 0; at < count; at += 4) {
      const word = this.#draw(drawn);
      for (let i = 0; i < 4 && at + i < count; i += 1) bytes[at + i] = (word >>> (8 * i)) & 0xff;
    }
    return bytes;
  }

  #label(name: string): Label {
    let label = this.#labels.get(name);
    if (label === undefined) {
      label = { hash: hashOf(name), count: 0 };
      this.#labels.set(name, label);
    }
    return label;
  }

  #draw(label: Label): number {
    label.count += 1;
    return mixed(this.#seed ^ mixed(label.hash + Math.imul(label.count, 0x9e3779b9)));
  }
}

/** FNV-1a over the characters. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** The finaliser of MurmurHash3, twice: every bit of the input reaches every bit of the result. */
function mixed(value: number): number {
  let word = value | 0;
  word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
  word ^= word >>> 16;
  word = Math.imul(word + 0x6d2b79f5, 0x85ebca6b);
  word = Math.imul(word ^ (word >>> 15), 0xc2b2ae35);
  return (word ^ (word >>> 16)) >>> 0;
}
