/**
 * The counters of one courier process, for its log and for Prometheus, and the durations of
 * withdrawals: to the signature, for `status`, and to each milestone. Pure.
 */
import type { HistogramCounts } from "../../base/alerts/metrics/histogram.ts";

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

const milestones = ["approved", "signed", "released", "broadcast", "included", "final"] as const;

export type Milestone = (typeof milestones)[number];

/**
 * Upper bounds of the buckets, seconds: from a signature on a fast disk to finality on a slow
 * chain.
 */
export const milestoneBoundsS = [
  0.005, 0.02, 0.1, 0.5, 2, 5, 15, 30, 60, 180, 600, 1800, 7200,
] as const;

/** The median is over this number of the newest durations. */
const timedMax = 256;
/** Most withdrawals under timing at the same moment; beyond it the oldest is dropped. */
const timedAtOnceMax = 10_000;

export interface Metrics {
  count(name: Counter): void;
  read(): Readonly<Record<Counter, number>>;
  /**
   * The signer approved a withdrawal whose job frame came at `atMs` (monotonic). The first call for
   * an id counts.
   */
  approved(transactionId: string, atMs: number): void;
  /** The signer has the first attempt on disk. An id that was not approved here is not timed. */
  durable(transactionId: string): void;
  /**
   * A withdrawal came to a milestone. A second call does no harm. Ignores an id that was not
   * approved here.
   */
  reached(transactionId: string, milestone: Milestone): void;
  /**
   * Durations in seconds from the job frame to each milestone, by the bounds of `milestoneBoundsS`.
   */
  durations(): readonly { readonly milestone: Milestone; readonly buckets: HistogramCounts }[];
  /** Median time from job frame to signature on disk, in microseconds; 0 before the first. */
  durableMedianUs(): number;
}

/** `monotonic` in milliseconds. */
export function createMetrics(monotonic: () => number): Metrics {
  const counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Counter, number>;
  const awaited = new Map<string, number>();
  const journeys = new Map<string, { readonly atMs: number; readonly done: Set<Milestone> }>();
  const times = new Map(
    milestones.map((milestone) => [
      milestone,
      { counts: [...milestoneBoundsS, 0].map(() => 0), sum: 0 },
    ]),
  );
  const reached = (transactionId: string, milestone: Milestone): void => {
    const journey = journeys.get(transactionId);
    if (journey === undefined || journey.done.has(milestone)) return;
    journey.done.add(milestone);
    const seconds = Math.max(0, monotonic() - journey.atMs) / 1000;
    const time = times.get(milestone);
    const found = milestoneBoundsS.findIndex((bound) => seconds <= bound);
    const at = found === -1 ? milestoneBoundsS.length : found;
    if (time !== undefined) {
      time.counts[at] = (time.counts[at] ?? 0) + 1;
      time.sum += seconds;
    }
    if (milestone === "final") journeys.delete(transactionId);
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
        if (awaited.size <= timedAtOnceMax) break;
        awaited.delete(oldest);
      }
      for (const oldest of journeys.keys()) {
        if (journeys.size <= timedAtOnceMax) break;
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
    durations: () =>
      [...times].map(([milestone, { counts, sum }]) => ({
        milestone,
        buckets: { counts: [...counts], sum },
      })),
    durableMedianUs: () => [...timesUs].sort((a, b) => a - b)[timesUs.length >> 1] ?? 0,
  };
}
