/** Counts in buckets: kept by hand where they are made, and shown to the Prometheus library as they are. */
import { Histogram, type Registry } from "prom-client";

/** @public */
export interface Buckets {
  readonly counts: readonly number[]; // one a bucket, each for itself; one more than there are bounds
  readonly sum: number;
}

/**
 * A histogram whose numbers are given at each scrape, one row a set of labels. `bounds` ascending.
 * @public
 */
export function givenHistogram<L extends string>(
  registry: Registry,
  { name, help, bounds, labelNames }: { name: string; help: string; bounds: readonly number[]; labelNames: readonly L[] },
  read: () => readonly { readonly labels: Readonly<Record<L, string>>; readonly buckets: Buckets }[],
): void {
  const metric = new Histogram({ name, help, buckets: [...bounds], labelNames: [...labelNames], registers: [registry] });
  const shown = async () => {
    const values = read().flatMap(({ labels, buckets: { counts, sum } }) => {
      let total = 0;
      const rows = [...bounds, "+Inf" as const].map((le, index) => {
        total += counts[index] ?? 0;
        return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: total };
      });
      return [
        ...rows,
        { metricName: `${name}_sum`, labels: { ...labels }, value: sum },
        { metricName: `${name}_count`, labels: { ...labels }, value: total },
      ];
    });
    return { name, help, type: "histogram", aggregator: "sum", values };
  };
  // What the registry prints, and what it gives as JSON.
  Object.assign(metric, { get: shown, getForPromString: shown });
}
