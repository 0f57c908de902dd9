/**
 * The price that payments offer, from what the nodes of a chain name: one rule for every family. A
 * price is for the wanted time, or none; silence is never the lowest price. It decides no payment,
 * and the policy bounds it, so one good answer is enough. Reaches the network only through its
 * callers.
 */
import { AgentError } from "../../base/fault.ts";
import { firstFault, type SettledAnswer } from "./node-pool.ts";

/** Time for which an agreed price stands for later silence, and bounds one node's word. */
const agreedMs = 3_600_000;
/** One node alone names at most this many times the last agreed price. */
const aloneTimes = 3n;

export interface AgreedFeeRatesOptions {
  readonly quorumMin: number;
  readonly clock: () => number; // milliseconds, never running back
  /** The price of a chain on which no node names any, in its own unit; null if it has none. */
  readonly withoutEstimate?: bigint | null;
}

export interface AgreedFeeRates {
  /**
   * The figures that count, rising: those named, by one node alone at most three times the last
   * agreed ones of the hour; without any, those of the hour, or the one for silence.
   * @throws AgentError NODE_NO_RATE, or a node's fault where none named a price
   */
  figures(settled: readonly SettledAnswer<bigint | null>[]): readonly bigint[];
}

export function createAgreedFeeRates({
  quorumMin,
  clock,
  withoutEstimate = null,
}: AgreedFeeRatesOptions): AgreedFeeRates {
  let agreed: { readonly figures: readonly bigint[]; readonly atMs: number } | null = null;
  return {
    figures: (settled) => {
      const named = settled
        .flatMap((one) => (one.ok && one.value !== null ? [one.value] : []))
        .sort(rising);
      const last = agreed !== null && clock() - agreed.atMs < agreedMs ? agreed.figures : null;
      if (named.length >= quorumMin) {
        agreed = { figures: named, atMs: clock() };
        return named;
      }
      const most = last === null ? null : (last.at(-1) ?? 0n) * aloneTimes;
      const isCapped = (one: bigint): boolean => most !== null && one > most;
      if (named.length > 0) return named.map((one) => (isCapped(one) ? (most as bigint) : one));
      if (last !== null) return last;
      if (withoutEstimate !== null) return [withoutEstimate];
      if (settled.length === 0 || settled.some(({ ok }) => !ok)) throw firstFault(settled);
      throw new AgentError("NODE_NO_RATE", "none", "no node names a fee for the next blocks");
    },
  };
}

/** The middle of rising figures; of two middle ones the lower, or the higher. */
export function middleOf(figures: readonly bigint[], of: "lower" | "higher"): bigint {
  return figures[Math.floor(of === "lower" ? (figures.length - 1) / 2 : figures.length / 2)] ?? 0n;
}

function rising(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Codes of a node that lacks a question: by a refusal, a status, or an odd answer. */
const lackingCodes: ReadonlySet<string> = new Set([
  "NODE_ERROR",
  "NODE_HTTP",
  "NODE_PATH",
  "NODE_ANSWER",
  "NODE_NO_BLOCK",
]);
/** After this number of answers by another way, the node is asked in the usual way again. */
const usualAgainAfter = 64;

/**
 * The ways by which nodes give one figure, the usual one first. Remembers the way by which each
 * node answers, so an unsupported question is not asked every time.
 */
export class FigureWays<N extends object, C, T> {
  readonly #ways: readonly ((node: N, context: C) => Promise<T | null>)[];
  readonly #taken = new WeakMap<N, { readonly way: number; times: number }>();

  constructor(ways: readonly ((node: N, context: C) => Promise<T | null>)[]) {
    this.#ways = ways;
  }

  /**
   * The figure by the first way that gives one; null if the node answers, and names none.
   * @throws AgentError the fault of the usual way if the node answers in no other
   */
  async ask(node: N, context: C): Promise<T | null> {
    const taken = this.#taken.get(node);
    const isKnown = taken !== undefined && taken.times < usualAgainAfter;
    const first = isKnown ? taken.way : 0;
    let fault: unknown = null;
    let isSilent = false;
    for (const way of [first, ...this.#ways.keys()].filter(
      (one, at) => at === 0 || one !== first,
    )) {
      try {
        const figure = await this.#ways[way]?.(node, context);
        if (figure !== undefined && figure !== null) {
          this.#keep(node, way, isKnown && way === first);
          return figure;
        }
        isSilent = true;
      } catch (error) {
        if (!isUnsupportedQuestion(error)) throw error;
        fault ??= error;
      }
    }
    this.#taken.delete(node);
    if (isSilent) return null;
    throw fault;
  }

  /** True if the node gives the figure in a way other than the usual. Rejects only for bugs. */
  async hasOther(node: N, context: C): Promise<boolean> {
    for (const way of this.#ways.slice(1)) {
      try {
        if ((await way(node, context)) !== null) return true;
      } catch (error) {
        if (!(error instanceof AgentError)) throw error;
      }
    }
    return false;
  }

  #keep(node: N, way: number, isSame: boolean): void {
    const times = isSame ? (this.#taken.get(node)?.times ?? 0) + 1 : 1;
    if (way === 0) this.#taken.delete(node);
    else this.#taken.set(node, { way, times });
  }
}

export function isUnsupportedQuestion(error: unknown): boolean {
  return error instanceof AgentError && lackingCodes.has(error.code);
}
