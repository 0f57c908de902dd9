/**
 * `prices` of gateway.config.json: typed prices, the markets to ask, and the age at which a price
 * is stale. Reads only its arguments. Source: docs/api.md, Currencies; docs/operations.md, Prices.
 */
import { configFault, settings as readers } from "../../base/settings.ts";
import type { Reader } from "../../base/shape.ts";
import { currenciesMax } from "../../chains/settings.ts";
import { currencyPattern } from "../../protocol/fields.ts";
import { readBareUrl } from "./bare-url.ts";

const { integer, object, record, string, valueFault } = readers;

/** Prices that an operator typed: decimal strings, for one unit of the currency. */
export interface ManualPrice {
  readonly usd: string;
  readonly eur: string;
  readonly try: string;
  readonly atMs: number | null; // when it was right; null: the file's time
}

export const sourceNames = [
  "coinbase",
  "kraken",
  "bitstamp",
  "coingecko",
  "btcturk",
  "paribu",
  "binance",
] as const;
export type SourceName = (typeof sourceNames)[number];

export interface PriceSource {
  readonly name: SourceName;
  readonly url: string; // replaces the source's own address; "" by default
}

export interface PriceSettings {
  readonly manual: Readonly<Record<string, ManualPrice>>;
  readonly changedAtMs: number; // time of the file
  readonly manualHoursMax: number; // age at which a typed price is stale
  readonly sources: readonly PriceSource[]; // none: no market is asked
  readonly everySeconds: number; // between two questions to a source
  readonly guardPercent: number; // largest difference of the prices that count
  readonly staleMinutes: number; // age at which a market price is stale
}

const price = string({ min: 1, max: 40, pattern: /^(?:0|[1-9]\d{0,14})(?:\.\d{1,18})?$/ });

const positivePrice: Reader<string> = (value, path) => {
  const text = price(value, path);
  if (/^[0.]*$/.test(text)) throw valueFault(path, "must be above zero");
  return text;
};

const time: Reader<number> = (value, path) => {
  const text = string({
    min: 10,
    max: 24,
    pattern: /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{3})?)?Z)?$/,
  })(value, path);
  const at = Date.parse(text);
  if (Number.isNaN(at) || !new Date(at).toISOString().startsWith(text.slice(0, 10)))
    throw valueFault(path, "must be a time such as 2026-01-02T03:04Z");
  return at;
};

const positive = (max: number): Reader<number> => integer({ min: 1, max });

/**
 * Reads the section; a setting that is left out stays undefined.
 * @throws AgentError CONFIG_*
 */
export const readPriceSection = object(
  {},
  {
    manual: record(
      object({ usd: positivePrice, eur: positivePrice, try: positivePrice }, { at: time }),
      {
        keysMax: currenciesMax,
        keyPattern: currencyPattern,
      },
    ),
    manualHoursMax: positive(8_760),
    sources: record(object({}, { url: readBareUrl }), { keysMax: 16, keyPattern: /^[a-z]{1,16}$/ }),
    everySeconds: integer({ min: 15, max: 3_600 }),
    guardPercent: positive(50),
    staleMinutes: positive(1_440),
  },
);

export type PriceSection = ReturnType<typeof readPriceSection>;

const minuteSeconds = 60;
const defaults = { manualHoursMax: 24, everySeconds: 60, guardPercent: 5, staleMinutes: 5 };

function sourcesOf(section: NonNullable<PriceSection["sources"]>): readonly PriceSource[] {
  return Object.entries(section).map(([name, { url = "" }]) => {
    const known = sourceNames.find((one) => one === name);
    if (known === undefined)
      throw configFault(
        "CONFIG_VALUE",
        `config.prices.sources.${name} is the name of no source`,
        sourceNames,
        name,
      );
    return { name: known, url };
  });
}

/**
 * The settings of a section that was read; `changedAtMs` is when its file was written.
 * @throws AgentError CONFIG_* for an unknown source, a price of an unknown currency, and prices
 * that would be stale between two questions
 */
export function priceSettings(
  { manual = {}, sources = {}, ...numbers }: PriceSection,
  currencies: Readonly<Record<string, unknown>>,
  changedAtMs: number,
): PriceSettings {
  const typed: Record<string, ManualPrice> = {};
  for (const [id, { at, ...one }] of Object.entries(manual)) {
    if (!Object.hasOwn(currencies, id))
      throw configFault(
        "CONFIG_VALUE",
        `config.prices.manual.${id} is not one of config.currencies`,
        Object.keys(currencies),
        id,
      );
    typed[id] = { ...one, atMs: at ?? null };
  }
  const settings = {
    ...defaults,
    ...numbers,
    manual: typed,
    sources: sourcesOf(sources),
    changedAtMs,
  };
  if (settings.staleMinutes * minuteSeconds < settings.everySeconds * 2)
    throw valueFault("config.prices.staleMinutes", "must be at least two rounds of everySeconds");
  return settings;
}
