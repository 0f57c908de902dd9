/**
 * Gauges and counters whose numbers the caller gives at each scrape. Touches only the given
 * registry.
 */
import { Counter, Gauge, type Registry } from "prom-client";

/** The numbers of one metric: the labels' values in the order of their names, then the number. */
export type MetricRows = readonly (readonly [...labels: string[], value: number])[];

export interface GivenMetric {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** A gauge. A row that `read` no longer returns is no longer shown. */
export function registerGauge(
  registry: Registry,
  { name, help, labelNames }: GivenMetric,
  read: () => MetricRows,
): void {
  new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset();
      for (const row of read()) {
        const { labels, value } = labelled(labelNames, row);
        this.set(labels, value);
      }
    },
  });
}

/** A counter. `read` gives totals since the process's start, which never fall. */
export function registerCounterFromReader(
  registry: Registry,
  { name, help, labelNames }: GivenMetric,
  read: () => MetricRows,
): void {
  new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset();
      for (const row of read()) {
        const { labels, value } = labelled(labelNames, row);
        this.inc(labels, value);
      }
    },
  });
}

function labelled(
  labelNames: readonly string[],
  row: MetricRows[number],
): { readonly labels: Record<string, string>; readonly value: number } {
  const values = [...row];
  const value = values.pop() as number;
  return {
    labels: Object.fromEntries(labelNames.map((name, index) => [name, `${values[index]}`])),
    value,
  };
}
