/** Small counters of one courier process, for its log. Pure. */

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

/** @public */
export interface Metrics {
  count(name: Counter): void;
  read(): Readonly<Record<Counter, number>>;
}

/** @public */
export function createMetrics(): Metrics {
  const counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Counter, number>;
  return {
    count(name) {
      counts[name] += 1;
    },
    read: () => ({ ...counts }),
  };
}
