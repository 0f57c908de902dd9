/**
 * A histogram whose buckets are counted elsewhere, even in another process, and given to the
 * Prometheus library unchanged.
 */
import { Histogram, type Registry } from "prom-client";

export interface HistogramCounts {
  readonly counts: readonly number[]; // one for each bucket, not cumulative; the last is above every bound
  readonly sum: number;
}

/**
 * A histogram whose numbers the caller gives at each scrape, one row for each set of labels.
 * `bounds` are upper bounds, ascending, in the unit at the end of the name.
 */
export function registerHistogram<L extends string>(
  registry: Registry,
  {
    name,
    help,
    bounds,
    labelNames,
  }: { name: string; help: string; bounds: readonly number[]; labelNames: readonly L[] },
  read: () => readonly {
    readonly labels: Readonly<Record<L, string>>;
    readonly buckets: HistogramCounts;
  }[],
): void {
  const metric = new Histogram({
    name,
    help,
    buckets: [...bounds],
    labelNames: [...labelNames],
    registers: [registry],
  });
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
  // The library has no such histogram. The registry prints by one of these methods and gives JSON
  // by the other.
  Object.assign(metric, { get: shown, getForPromString: shown });
}
