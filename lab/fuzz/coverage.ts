/**
 * Which blocks of the project's own code ran, and how often, from the engine's precise coverage in
 * this very process. To be started before the code under test is loaded: what was compiled earlier
 * has no counters. Source: Chrome DevTools protocol, Profiler.
 */

import type { HeapProfiler, Profiler } from "node:inspector";
import { Session } from "node:inspector";

const ours = /\/(?:protocol|chains|agent|gateway)\/(?!.*node_modules)/;

/** Parts of one function that did not run, as offsets. */
type Gaps = readonly (readonly [number, number])[];

/** Functions that ran, each with its gaps. */
export type Trace = ReadonlyMap<string, Gaps>;

export class Coverage {
  readonly #session = new Session();
  readonly #locations: RegExp;

  /** `places` is matched against the addresses of scripts. */
  constructor(locations: RegExp = ours) {
    this.#locations = locations;
  }

  start(): void {
    this.#session.connect();
    this.#post("Profiler.enable");
    this.#post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** The code that ran since the last call. */
  trace(): Trace {
    const trace = new Map<string, Gaps>();
    for (const { url, functions } of this.#take()) {
      for (const { ranges } of functions) {
        const [whole, ...parts] = ranges;
        if (whole === undefined || whole.count === 0) continue;
        const gaps = parts
          .filter(({ count }) => count === 0)
          .map(({ startOffset, endOffset }) => [startOffset, endOffset] as const);
        trace.set(`${url}:${whole.startOffset}`, gaps);
      }
    }
    return trace;
  }

  /** How often blocks ran since the last call, all together. */
  steps(): number {
    let steps = 0;
    for (const { functions } of this.#take())
      for (const { ranges } of functions) for (const { count } of ranges) steps += count;
    return steps;
  }

  /**
   * How many bytes objects and buffers take that `act` makes, kept or not: the engine's own
   * sampling, so about right.
   */
  async allocated(act: () => void | Promise<void>): Promise<number> {
    const buffersBefore = process.memoryUsage().arrayBuffers;
    const all = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
    this.#post("HeapProfiler.startSampling", { samplingInterval: 4_096, ...all });
    await act();
    const { profile } = this.#post(
      "HeapProfiler.stopSampling",
    ) as HeapProfiler.StopSamplingReturnType;
    const sizeOf = (node: HeapProfiler.SamplingHeapProfileNode): number =>
      node.children.reduce((sum, child) => sum + sizeOf(child), node.selfSize);
    return sizeOf(profile.head) + Math.max(0, process.memoryUsage().arrayBuffers - buffersBefore);
  }

  stop(): void {
    this.#post("Profiler.stopPreciseCoverage");
    this.#session.disconnect();
  }

  #take(): readonly Profiler.ScriptCoverage[] {
    const taken = this.#post(
      "Profiler.takePreciseCoverage",
    ) as Profiler.TakePreciseCoverageReturnType;
    return taken.result.filter(({ url }) => this.#locations.test(url));
  }

  /** A session of the own thread answers before it returns. */
  #post(method: string, params: object = {}): unknown {
    let answer: unknown;
    let failed: Error | null = null;
    this.#session.post(method, params, (error: Error | null, given?: object) => {
      failed = error;
      answer = given;
    });
    if (failed !== null) throw failed;
    return answer;
  }
}

/** Everything that ever ran. */
export class CoverageRecord {
  readonly #gaps = new Map<string, Gaps>();

  /** How many blocks of it never ran before. */
  fresh(trace: Trace): number {
    let fresh = 0;
    for (const [location, gaps] of trace) {
      const known = this.#gaps.get(location);
      if (known === undefined) {
        fresh += 1;
        continue;
      }
      const left = meet(known, gaps);
      if (lengthOf(left) < lengthOf(known)) fresh += Math.max(1, known.length - left.length);
    }
    return fresh;
  }

  /** Adds a trace; gives how many blocks of it never ran before. */
  add(trace: Trace): number {
    const fresh = this.fresh(trace);
    for (const [location, gaps] of trace) {
      const known = this.#gaps.get(location);
      this.#gaps.set(location, known === undefined ? gaps : meet(known, gaps));
    }
    return fresh;
  }
}

function lengthOf(gaps: Gaps): number {
  return gaps.reduce((sum, [start, end]) => sum + end - start, 0);
}

/** The ranges that lie in a gap of both. */
function meet(one: Gaps, other: Gaps): Gaps {
  const found: (readonly [number, number])[] = [];
  for (const [start, end] of one) {
    for (const [from, to] of other) {
      const low = Math.max(start, from);
      const high = Math.min(end, to);
      if (low < high) found.push([low, high]);
    }
  }
  return found;
}
