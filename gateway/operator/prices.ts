/**
 * `prices`: shows the valid price of each currency in each fiat currency, and the newest answer of
 * each source with its age and the reason why it does not count. Reads only the rows that the
 * running gateway writes each round.
 */
import type { Command } from "commander";
import type { GatewayConfig, GatewayCurrency } from "../config/config.ts";
import { type Fiat, fiats } from "../config/fiat.ts";
import { priceText } from "../prices/decimal.ts";
import { markets } from "../prices/markets.ts";
import type { SourceRejection } from "../prices/price-median.ts";
import { openPriceBoard } from "../prices/prices.ts";
import { type PriceReadingRow, readPriceReadings } from "../store/prices.ts";
import type { Store } from "../store/store.ts";
import { formatTimestamp } from "./accounts.ts";
import { type JsonOption, printJson, printText, runInOperatorContext } from "./command.ts";
import { addConfigAndJsonOptions } from "./words.ts";

export interface SourceLine {
  readonly source: string;
  readonly price: string; // "" before its first answer
  readonly readAt: string; // time of its newest price; "" never
  readonly movedAt: string; // time of its newest known trade
  readonly leftOut: SourceRejection; // "" if it counts
  readonly trouble: string; // problem of its newest answer
}

export interface PriceLine {
  readonly currency: string;
  readonly fiat: Fiat;
  readonly price: string; // "" if no price was ever known
  readonly updatedAt: string;
  readonly stale: boolean;
  readonly origin: "typed" | "markets" | "none";
  readonly sources: readonly SourceLine[];
}

const noSource: Omit<PriceReadingRow, "asset" | "fiat" | "source"> = {
  price: "",
  readAt: null,
  movedAt: null,
  leftOut: "silent",
  trouble: "not asked yet",
};

function sourcesOf(
  { prices }: GatewayConfig,
  { market }: GatewayCurrency,
  fiat: Fiat,
  rows: readonly PriceReadingRow[],
): readonly SourceLine[] {
  if (market === "") return [];
  const asked = prices.sources.filter(({ name }) => markets[name].fiats.includes(fiat));
  return asked.map(({ name: source }) => {
    const row =
      rows.find((one) => one.asset === market && one.fiat === fiat && one.source === source) ??
      noSource;
    const { price, readAt, movedAt, leftOut, trouble } = row;
    return {
      source,
      price,
      readAt: formatTimestamp(readAt),
      movedAt: formatTimestamp(movedAt),
      leftOut: leftOut as SourceRejection,
      trouble,
    };
  });
}

/**
 * Every enabled currency, in the order of the configuration. A currency with a typed price has no
 * sources, because they are not asked.
 */
export function listPrices(
  store: Store,
  config: GatewayConfig,
  nowMs: number,
): readonly PriceLine[] {
  const board = openPriceBoard({ config, store, clock: () => nowMs });
  const rows = readPriceReadings(store.database);
  const currencies = Object.values(config.currencies).filter(({ enabled }) => enabled);
  return currencies.flatMap((currency) =>
    fiats.map((fiat) => {
      const found = board.of(currency, fiat);
      const isTyped = found?.origin === "typed";
      return {
        currency: currency.id,
        fiat,
        price: found === null ? "" : priceText(found.price),
        updatedAt: formatTimestamp(found?.atMs ?? null),
        stale: found?.isStale ?? true,
        origin: found?.origin ?? "none",
        sources: isTyped ? [] : sourcesOf(config, currency, fiat, rows),
      };
    }),
  );
}

const reasons: Readonly<Record<SourceRejection, string>> = {
  "": "counts",
  silent: "left out: no price lately",
  stuck: "left out: nothing moves there",
  outlier: "left out: the others agree on another price",
  split: "left out: the sources do not agree",
  alone: "left out: no second source agrees",
};

const secondMs = 1_000;

/** Seconds up to two minutes, then minutes, then hours. */
function ageOf(time: string, nowMs: number): string {
  if (time === "") return "never";
  const seconds = Math.max(0, Math.trunc((nowMs - Date.parse(time)) / secondMs));
  if (seconds < 120) return `${seconds} s ago`;
  return seconds < 7_200
    ? `${Math.trunc(seconds / 60)} min ago`
    : `${Math.trunc(seconds / 3_600)} h ago`;
}

function headOf(
  { currency, fiat, price, updatedAt, stale, origin }: PriceLine,
  nowMs: number,
): string {
  if (price === "") return `${currency} ${fiat}  no price`;
  return `${currency} ${fiat}  ${price}  ${origin}, ${ageOf(updatedAt, nowMs)}${stale ? ", stale: no quotes" : ""}`;
}

function sourceLine(
  { source, price, readAt, movedAt, leftOut, trouble }: SourceLine,
  nowMs: number,
): string {
  const moved = leftOut === "stuck" ? ` since ${movedAt}` : "";
  const why = trouble === "" ? "" : ` (${trouble})`;
  return `  ${source.padEnd(10)} ${(price || "-").padEnd(20)} ${ageOf(readAt, nowMs).padEnd(12)} ${reasons[leftOut]}${moved}${why}`;
}

/** The lines for an operator. */
export function describePrices(lines: readonly PriceLine[], nowMs: number): string {
  if (lines.length === 0) return "No currency is switched on.";
  const asked = lines.flatMap((line) => [
    headOf(line, nowMs),
    ...line.sources.map((source) => sourceLine(source, nowMs)),
  ]);
  const unpriced = [
    ...new Set(lines.filter(({ price }) => price === "").map(({ currency }) => currency)),
  ];
  if (unpriced.length === 0) return asked.join("\n");
  return [
    ...asked,
    `Without a price, so not in supportedCurrency unless listUnpriced says so: ${unpriced.join(", ")}`,
  ].join("\n");
}

function list(options: JsonOption): void {
  runInOperatorContext(options, ({ store, nowMs }, config) => {
    const lines = listPrices(store, config, nowMs);
    if (options.json === true) printJson(lines);
    else printText(describePrices(lines, nowMs));
  });
}

export function addPriceCommand(program: Command): void {
  addConfigAndJsonOptions(
    program
      .command("prices")
      .description("what each source of prices said, its age, and why it does not count"),
  ).action(list);
}
