/**
 * Chains and currencies by name: the lines that one line of a configuration, `"preset": NAME`,
 * stands for. Only data; a line given next to the preset wins over it. Offline.
 */
import type { JsonObject, JsonValue } from "../base/json.ts";
import { evmChains } from "./presets/evm.ts";
import { evmCurrencies } from "./presets/evm-currencies.ts";
import type { ChainPreset, CurrencyPreset } from "./presets/preset.ts";
import { tronChains, tronCurrencies } from "./presets/tron.ts";
import { utxoChains, utxoCurrencies } from "./presets/utxo.ts";
import { xrpChains, xrpCurrencies } from "./presets/xrp.ts";

export const chainPresets: Readonly<Record<string, ChainPreset>> = {
  ...evmChains,
  ...tronChains,
  ...utxoChains,
  ...xrpChains,
};

export const currencyPresets: Readonly<Record<string, CurrencyPreset>> = {
  ...evmCurrencies,
  ...tronCurrencies,
  ...utxoCurrencies,
  ...xrpCurrencies,
};

export function findChainPreset(name: string): ChainPreset | undefined {
  return Object.hasOwn(chainPresets, name) ? chainPresets[name] : undefined;
}

export function findCurrencyPreset(name: string): CurrencyPreset | undefined {
  return Object.hasOwn(currencyPresets, name) ? currencyPresets[name] : undefined;
}

/** The lines that differ from the preset. */
export function linesUnlikePreset(preset: JsonObject, lines: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(lines).filter(([name, value]) => preset[name] !== value),
  );
}

export interface PresetExpansion {
  /** The lines that the configuration's own readers know. Other lines of a preset are left out. */
  readonly chainLines: readonly string[];
  readonly currencyLines: readonly string[];
  /**
   * A fault at a location such as `chains.bsc.preset`; `known` are the words that could stand
   * there.
   */
  readonly wrong: (path: string, problem: string, known: readonly string[], given: string) => Error;
}

export interface ExpandedPresets {
  readonly chains: JsonObject;
  readonly currencies: JsonObject;
  /** The presets that chains and currencies name, by chain's name and by currency's id. */
  readonly chainPreset: ReadonlyMap<string, string>;
  readonly currencyPreset: ReadonlyMap<string, string>;
}

/**
 * Adds the lines of each named preset under the lines given next to it. Leaves all other errors of
 * an entry to the configuration's reader.
 * @throws the fault that `wrong` makes
 */
export function expandPresets(
  chains: JsonObject,
  currencies: JsonObject,
  options: PresetExpansion,
): ExpandedPresets {
  const { chainLines, currencyLines, wrong } = options;
  const chainPreset = new Map<string, string>();
  const currencyPreset = new Map<string, string>();
  const expandedChains = each(chains, (name, { preset, ...given }) => {
    const path = `chains.${name}.preset`;
    const found = named(preset, findChainPreset, Object.keys(chainPresets), path, wrong);
    chainPreset.set(name, preset as string);
    return { ...pick(found.lines, chainLines), ...given };
  });
  const expandedCurrencies = each(currencies, (id, { preset, ...given }) => {
    const path = `currencies.${id}.preset`;
    const found = named(preset, findCurrencyPreset, Object.keys(currencyPresets), path, wrong);
    currencyPreset.set(id, preset as string);
    const chain = given.chain ?? onlyChain(found, chainPreset);
    if (chain === undefined)
      throw wrong(
        path,
        `is of the preset ${found.chain}: ${whichChain(found, chainPreset)}`,
        [],
        "",
      );
    const isFit =
      typeof chain !== "string" || isFor(found, chainPreset.get(chain), expandedChains[chain]);
    if (!isFit) {
      const preset = chainPreset.get(chain as string);
      const other = preset === undefined ? "is another chain" : `is of the preset ${preset}`;
      throw wrong(
        path,
        `is a currency of the preset ${found.chain}, and the chain ${JSON.stringify(chain)} ${other}`,
        [],
        "",
      );
    }
    return { ...pick({ ...found.lines }, currencyLines), ...given, chain };
  });
  return { chains: expandedChains, currencies: expandedCurrencies, chainPreset, currencyPreset };
}

function each(
  entries: JsonObject,
  expand: (name: string, entry: JsonObject) => JsonObject,
): JsonObject {
  const read = Object.entries(entries).map(([name, entry]) => {
    const isNamed = isObject(entry) && entry.preset !== undefined;
    return [name, isNamed ? expand(name, entry) : entry] as const;
  });
  return Object.fromEntries(read);
}

function named<T>(
  preset: JsonValue | undefined,
  find: (name: string) => T | undefined,
  known: readonly string[],
  path: string,
  wrong: PresetExpansion["wrong"],
): T {
  const found = typeof preset === "string" ? find(preset) : undefined;
  if (found !== undefined) return found;
  throw wrong(path, "is the name of no preset", known, typeof preset === "string" ? preset : "");
}

/** The configured chain for which a currency's preset is meant, if there is exactly one. */
function onlyChain(
  { chain }: CurrencyPreset,
  presetOf: ReadonlyMap<string, string>,
): string | undefined {
  const fitting = [...presetOf].filter(([, preset]) => preset === chain).map(([name]) => name);
  return fitting.length === 1 ? fitting[0] : undefined;
}

/** The reason why no chain of the configuration could be chosen for the preset. */
function whichChain({ chain }: CurrencyPreset, presetOf: ReadonlyMap<string, string>): string {
  const fitting = [...presetOf].filter(([, preset]) => preset === chain).map(([name]) => name);
  return fitting.length === 0
    ? "no chain here has that preset"
    : `name one of ${fitting.join(", ")} as its chain`;
}

/** On another network, the address of a contract is empty or belongs to another contract. */
function isFor(
  { chain }: CurrencyPreset,
  preset: string | undefined,
  configured: JsonValue | undefined,
): boolean {
  // The configuration's reader reports a missing chain.
  if (preset === chain || configured === undefined || !isObject(configured)) return true;
  const lines = findChainPreset(chain)?.lines;
  return configured.family === lines?.family && configured.chainId === lines?.chainId;
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function pick(lines: JsonObject, known: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(lines).filter(([name]) => known.includes(name)));
}
