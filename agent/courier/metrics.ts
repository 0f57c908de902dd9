/** Small counters of one courier process, for its log, and how long jobs take until they are signed, for `status`. Pure. */

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
  /** Median time from frame to signature on disk, whole microseconds; 0 before the first. */
  durableMedianUs(): number;
}

/** @public */
export function createMetrics(monotonic: () => number): Metrics {
  const counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Counter, number>;
  const awaited = new Map<string, number>();
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
      for (const oldest of awaited.keys()) {
        if (awaited.size <= awaitedMax) break;
        awaited.delete(oldest);
      }
    },
    durable(transactionId) {
      const atMs = awaited.get(transactionId);
      if (atMs === undefined) return;
      awaited.delete(transactionId);
      timesUs[timed % timedMax] = Math.round((monotonic() - atMs) * 1000);
      timed += 1;
    },
    durableMedianUs: () => [...timesUs].sort((a, b) => a - b)[timesUs.length >> 1] ?? 0,
  };
}
