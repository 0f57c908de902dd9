/**
 * Agreed blocks, each asked for only once: callers share an answer that is under way, and recently
 * agreed blocks are kept, as long as what is read in them can be read. A chain that changes a final
 * block empties the memory. Bounded by number and by weight. Touches nothing itself.
 */

interface BlockIdentity {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
}

const keptMax = 64;
/**
 * Bound for the bytes of all kept blocks, as `weightOf` counts them. A block above it is not kept.
 */
const weightMax = 64 * 1024 * 1024;

export class KeptBlocks<B extends BlockIdentity> {
  readonly #kept = new Map<number, { readonly block: B; readonly weight: number }>();
  readonly #underWay = new Map<number, Promise<B>>();
  readonly #weightOf: (block: B) => number;
  #weight = 0;

  constructor(weightOf: (block: B) => number) {
    this.#weightOf = weightOf;
  }

  get(number: number): B | undefined {
    return this.#kept.get(number)?.block;
  }

  /** The block; asks for it if it is neither kept nor under way. */
  ask(number: number, job: () => Promise<B>): Promise<B> {
    const known = this.get(number);
    if (known !== undefined) return Promise.resolve(known);
    const shared = this.#underWay.get(number);
    if (shared !== undefined) return shared;
    const asked = job()
      .then((block) => this.#keep(block))
      .finally(() => this.#underWay.delete(number));
    this.#underWay.set(number, asked);
    return asked;
  }

  /**
   * The find of a reader in a block. A block in which it cannot read all is forgotten: nodes may
   * show it oddly for a moment, and alike. The next question asks for it again.
   */
  read<T>(block: B, reader: (block: B) => T): T {
    try {
      return reader(block);
    } catch (fault) {
      this.forget(block);
      throw fault;
    }
  }

  /** Lets the next question ask for the block again. Harmless for a block that is not kept. */
  forget(block: B): void {
    const known = this.#kept.get(block.number);
    if (known?.block !== block) return;
    this.#kept.delete(block.number);
    this.#weight -= known.weight;
  }

  /** Takes the agreed hash of a block. A hash other than the kept one empties the memory. */
  stands({ number, hash }: Pick<BlockIdentity, "number" | "hash">): void {
    const known = this.get(number);
    if (known !== undefined && known.hash !== hash) this.#clear();
  }

  #keep(block: B): B {
    const before = this.get(block.number - 1);
    if (before !== undefined && before.hash !== block.parentHash) this.#clear();
    const weight = this.#weightOf(block);
    if (weight > weightMax) return block;
    this.#kept.set(block.number, { block, weight });
    this.#weight += weight;
    for (const [number, one] of this.#kept) {
      if (this.#kept.size <= keptMax && this.#weight <= weightMax) break;
      this.#kept.delete(number);
      this.#weight -= one.weight;
    }
    return block;
  }

  #clear(): void {
    this.#kept.clear();
    this.#weight = 0;
  }
}
