/**
 * Small counters of one courier process, for its log and for Prometheus, and how long withdrawals take: until they are signed, for
 * `status`, and to each step. Pure.
 */

const names = [
  "linkUp",
  "linkDown",
  "jobFrames",
  "ackFrames",
  "statements",
  "signed",
  "replaced",
  "declined",
  "sent",
  "unsent",
  "included",
  "final",
  "blocks",
  "nodeFaults",
  "refusals",
] as const;

type Counter = (typeof names)[number];

const steps = ["approved", "signed", "released", "broadcast", "included", "final"] as const;

/** @public */
export type Step = (typeof steps)[number];

/**
 * Upper bounds of the buckets, seconds: from a signature on a fast disk to finality on a slow chain.
 * @public
 */
export const stepBoundsS = [0.005, 0.02, 0.1, 0.5, 2, 5, 15, 30, 60, 180, 600, 1800, 7200] as const;

/** The newest this many make the median. */
const timedMax = 256;
/** Jobs whose signature is awaited; beyond it the oldest is no longer timed. */
const awaitedMax = 10_000;

/** @public */
export interface Metrics {
  count(name: Counter): void;
  read(): Readonly<Record<Counter, number>>;
  /** A job frame came at `atMs` (monotonic) and the signer approved this withdrawal of it. Asked twice, the first counts. */
  approved(transactionId: string, atMs: number): void;
  /** The signer has its first version on disk. Others than those approved here are not timed. */
  durable(transactionId: string): void;
  /** A withdrawal of those approved here came to this step. Again is harmless. */
  reached(transactionId: string, step: Step): void;
  steps(): readonly { readonly step: Step; readonly buckets: { readonly counts: readonly number[]; readonly sum: number } }[];
  /** Median time from frame to signature on disk, whole microseconds; 0 before the first. */
  durableMedianUs(): number;
}

/** @public */
export function createMetrics(monotonic: () => number): Metrics {
  const counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Counter, number>;
  const awaited = new Map<string, number>();
  const journeys = new Map<string, { readonly atMs: number; readonly done: Set<Step> }>();
  const times = new Map(steps.map((step) => [step, { counts: [...stepBoundsS, 0].map(() => 0), sum: 0 }]));
  const reached = (transactionId: string, step: Step): void => {
    const journey = journeys.get(transactionId);
    if (journey === undefined || journey.done.has(step)) return;
    journey.done.add(step);
    const seconds = Math.max(0, monotonic() - journey.atMs) / 1000;
    const time = times.get(step);
    const found = stepBoundsS.findIndex((bound) => seconds <= bound);
    const at = found === -1 ? stepBoundsS.length : found;
    if (time !== undefined) {
      time.counts[at] = (time.counts[at] ?? 0) + 1;
      time.sum += seconds;
    }
    if (step === "final") journeys.delete(transactionId);
  };
  const timesUs: number[] = [];
  let timed = 0;
  return {
    count(name) {
      counts[name] += 1;
    },
    read: () => ({ ...counts }),
    approved(transactionId, atMs) {
      if (awaited.has(transactionId)) return;
      awaited.set(transactionId, atMs);
      journeys.set(transactionId, { atMs, done: new Set() });
      reached(transactionId, "approved");
      for (const oldest of awaited.keys()) {
        if (awaited.size <= awaitedMax) break;
        awaited.delete(oldest);
      }
      for (const oldest of journeys.keys()) {
        if (journeys.size <= awaitedMax) break;
        journeys.delete(oldest);
      }
    },
    durable(transactionId) {
      reached(transactionId, "signed");
      const atMs = awaited.get(transactionId);
      if (atMs === undefined) return;
      awaited.delete(transactionId);
      timesUs[timed % timedMax] = Math.round((monotonic() - atMs) * 1000);
      timed += 1;
    },
    reached,
    steps: () => [...times].map(([step, { counts, sum }]) => ({ step, buckets: { counts: [...counts], sum } })),
    durableMedianUs: () => [...timesUs].sort((a, b) => a - b)[timesUs.length >> 1] ?? 0,
  };
}
