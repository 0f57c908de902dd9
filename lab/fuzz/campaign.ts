/**
 * A campaign against one target: input made by its grammar or mutated from what was kept, kept when
 * it reaches a block that none before reached. Coverage is read once for many inputs; only when
 * something new is in it are they run again one by one.
 */
import { SeededRandom } from "../kit/seeded.ts";
import { type Coverage, CoverageRecord, type Trace } from "./coverage.ts";
import { mutate } from "./mutate.ts";
import { runOnce, type Target } from "./target.ts";

const togetherMax = 48;
const failuresDefault = 20;

export interface Failure {
  readonly input: Uint8Array;
  readonly message: string;
}

export interface Outcome {
  readonly runs: number;
  readonly corpus: readonly Uint8Array[];
  readonly newBlocks: number; // beyond those the corpus reached at the start
  readonly failures: readonly Failure[];
}

export interface CampaignOptions {
  readonly coverage: Coverage;
  readonly known: readonly Uint8Array[]; // the corpus so far
  readonly seed: number;
  readonly isOver: (runs: number) => boolean;
  readonly failuresMax?: number; // different ones, after which it ends; 20 unless told
}

export async function campaign(target: Target, options: CampaignOptions): Promise<Outcome> {
  const hunt = new Hunt(target, options);
  await hunt.begin();
  while (!options.isOver(hunt.runs) && !hunt.isFull) await hunt.turn();
  return {
    runs: hunt.runs,
    corpus: await hunt.fewest(),
    newBlocks: hunt.newBlocks,
    failures: hunt.failures,
  };
}

class Hunt {
  readonly failures: Failure[] = [];
  runs = 0;
  newBlocks = 0;
  readonly #target: Target;
  readonly #coverage: Coverage;
  readonly #random: SeededRandom;
  readonly #reached = new CoverageRecord();
  readonly #known: readonly Uint8Array[];
  readonly #pool: Uint8Array[] = [];
  readonly #failuresMax: number;

  constructor(
    target: Target,
    { coverage, known, seed, failuresMax = failuresDefault }: CampaignOptions,
  ) {
    this.#failuresMax = failuresMax;
    this.#target = target;
    this.#coverage = coverage;
    this.#random = new SeededRandom(seed);
    this.#known = known;
  }

  get isFull(): boolean {
    return this.failures.length >= this.#failuresMax;
  }

  /** Known coverage counts as reached. */
  async begin(): Promise<void> {
    this.#coverage.trace();
    for (const input of [...this.#known, ...this.#target.seeds]) {
      this.#reached.add(await this.#traced(input));
      this.#pool.push(input);
    }
  }

  async turn(): Promise<void> {
    const inputs = Array.from({ length: togetherMax }, () => this.#next());
    for (const input of inputs) await this.#try(input);
    if (this.#reached.fresh(this.#coverage.trace()) === 0) return;
    for (const input of inputs) {
      const fresh = this.#reached.add(await this.#traced(input));
      this.newBlocks += fresh;
      if (fresh > 0) this.#pool.push(input);
    }
  }

  /** As few inputs as reach all that the pool reaches: each time the one that adds most. */
  async fewest(): Promise<readonly Uint8Array[]> {
    const traces: { readonly input: Uint8Array; readonly trace: Trace }[] = [];
    for (const input of this.#pool) traces.push({ input, trace: await this.#traced(input) });
    traces.sort((one, other) => one.input.length - other.input.length);
    const reached = new CoverageRecord();
    const chosen: Uint8Array[] = [];
    for (const { input, trace } of traces) if (reached.add(trace) > 0) chosen.push(input);
    const again = new CoverageRecord();
    return chosen
      .reverse()
      .filter(
        (input) => again.add(traces.find((each) => each.input === input)?.trace ?? new Map()) > 0,
      );
  }

  #next(): Uint8Array {
    const random = this.#random;
    if (random.chance(2)) return this.#target.make(random);
    return mutate(random.pick(this.#pool), this.#pool, this.#target.words, random);
  }

  async #traced(input: Uint8Array): Promise<Trace> {
    this.#coverage.trace();
    await this.#try(input);
    return this.#coverage.trace();
  }

  async #try(input: Uint8Array): Promise<void> {
    this.runs += 1;
    try {
      await runOnce(this.#target, input);
    } catch (error) {
      if (this.isFull) return;
      const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      if (!this.failures.some((known) => known.message === message))
        this.failures.push({ input, message });
    }
  }
}
