/**
 * Breadth first through the small model, to its fixpoint or to the first step that breaks a
 * sentence. The set of seen states is exact: 160 bits each, no fingerprints. Touches nothing; the
 * clock is passed in.
 */
import type { Sentence } from "./mutants.ts";
import type { Setup } from "./reduction.ts";
import { Rules } from "./rules.ts";
import { fieldCount, initialState, packCanonical, unpack, words } from "./state.ts";

export interface SearchResult {
  readonly states: number;
  readonly depth: number; // steps from the beginning to the farthest state
  readonly isComplete: boolean; // the fixpoint was reached
  readonly broken: Sentence | null;
  readonly trace: readonly string[]; // the shortest way to the broken sentence
}

/**
 * States in the order they were found, each with the one it came from, and a hash table over them.
 */
class Seen {
  #packed = new Uint32Array(words << 16);
  #from = new Uint32Array(1 << 16);
  #table = new Uint32Array(1 << 17); // index + 1, 0 for free
  count = 0;

  /** False when it was seen. */
  add(key: Uint32Array, from: number): boolean {
    let slot = this.#slotOf(key);
    const mask = this.#table.length - 1;
    for (let found = this.#table[slot] as number; found !== 0; found = this.#table[slot] as number) {
      if (this.#isAt(found - 1, key)) return false;
      slot = (slot + 1) & mask;
    }
    if (this.count === this.#from.length) this.#grow();
    this.#packed.set(key, this.count * words);
    this.#from[this.count] = from;
    this.count += 1;
    this.#table[slot] = this.count;
    if (this.count * 2 > this.#table.length) this.#rehash();
    return true;
  }

  read(index: number, state: Uint16Array): void {
    unpack(this.#packed, index * words, state);
  }

  keyAt(index: number): Uint32Array {
    return this.#packed.slice(index * words, (index + 1) * words);
  }

  /** From the beginning to `index`. */
  pathTo(index: number): number[] {
    const path: number[] = [];
    for (let at = index; at !== 0; at = this.#from[at] as number) path.push(at);
    return path.reverse();
  }

  #isAt(index: number, key: Uint32Array): boolean {
    const at = index * words;
    for (let i = 0; i < words; i++) if (this.#packed[at + i] !== key[i]) return false;
    return true;
  }

  #slotOf(key: Uint32Array): number {
    let hash = 0x9e3779b9;
    for (let i = 0; i < words; i++) {
      hash = Math.imul(hash ^ (key[i] as number), 0x85ebca6b);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash, 0xc2b2ae35);
    return ((hash ^ (hash >>> 16)) >>> 0) & (this.#table.length - 1);
  }

  #grow(): void {
    const packed = new Uint32Array(this.#packed.length * 2);
    packed.set(this.#packed);
    this.#packed = packed;
    const from = new Uint32Array(this.#from.length * 2);
    from.set(this.#from);
    this.#from = from;
  }

  #rehash(): void {
    this.#table = new Uint32Array(this.#table.length * 2);
    const mask = this.#table.length - 1;
    for (let index = 0; index < this.count; index++) {
      let slot = this.#slotOf(this.#packed.subarray(index * words, (index + 1) * words));
      while (this.#table[slot] !== 0) slot = (slot + 1) & mask;
      this.#table[slot] = index + 1;
    }
  }
}

/**
 * Searches one configuration.
 * @param wanted the sentence to break; null stops at any
 * @param statesMax gives up, incomplete, at more
 * @param tell called now and then with how far it is
 */
export function search(
  setup: Setup,
  wanted: Sentence | null,
  statesMax: number,
  tell: (states: number, depth: number) => void = () => {},
): SearchResult {
  const rules = new Rules(setup);
  const seen = new Seen();
  const key = new Uint32Array(words);
  const state = new Uint16Array(fieldCount);
  packCanonical(initialState(), key);
  seen.add(key, 0);
  let depth = 0;
  let levelEnd = 1;
  let at = 0;
  let broken: Sentence | null = null;
  for (; at < seen.count; at++) {
    if (at === levelEnd) {
      depth += 1;
      levelEnd = seen.count;
      if (depth % 5 === 0) tell(seen.count, depth);
    }
    seen.read(at, state);
    rules.each(state, (next, _name, breaks) => {
      if (broken !== null) return;
      if (breaks !== null && (wanted === null || breaks === wanted)) {
        broken = breaks;
        return;
      }
      packCanonical(next, key);
      seen.add(key, at);
    });
    if (broken !== null)
      return { states: seen.count, depth: depth + 1, isComplete: false, broken, trace: traceOf(rules, seen, at, broken) };
    if (seen.count > statesMax) return { states: seen.count, depth, isComplete: false, broken: null, trace: [] };
  }
  return { states: seen.count, depth, isComplete: true, broken: null, trace: [] };
}

/** Walks the path once more without renaming, so that names stay the same from step to step. */
function traceOf(rules: Rules, seen: Seen, last: number, broken: Sentence): string[] {
  const trace: string[] = [];
  const key = new Uint32Array(words);
  const state = initialState();
  for (const index of seen.pathTo(last)) {
    const wanted = seen.keyAt(index);
    let reached: Uint16Array | null = null;
    rules.each(state, (next, name) => {
      if (reached !== null) return;
      packCanonical(next, key);
      if (!key.every((word, i) => word === wanted[i])) return;
      reached = next.slice();
      trace.push(name());
    });
    if (reached !== null) state.set(reached);
  }
  let isTold = false;
  rules.each(state, (_next, name, breaks) => {
    if (breaks !== broken || isTold) return;
    isTold = true;
    trace.push(`${name()}: ${broken}`);
  });
  return trace;
}
