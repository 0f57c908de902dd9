/**
 * Chains and currencies by name in gateway.config.json: each preset is expanded before the file is
 * read, which is then checked as strictly as a file without presets. Source: docs/chains.md,
 * section 1.
 */

import type { JsonObject, JsonValue } from "../../base/json.ts";
import { expandPresets } from "../../chains/presets.ts";
import { shapeFault } from "../../protocol/shape.ts";

/** The preset of each chain or currency, by the chain's name or currency's id. */
export type PresetOf = ReadonlyMap<string, string>;

const chainLines = ["family", "chainId", "confirmations", "feeModel", "explorer"];
const currencyLines = ["decimal", "name", "symbol", "minPaymentAmount", "contract", "market"];

/** The file with each preset expanded. The reader reports a value that is no object. */
export function expandChainPresets(value: JsonValue): {
  readonly value: JsonValue;
  readonly chainPreset: PresetOf;
  readonly currencyPreset: PresetOf;
} {
  const none = {
    value,
    chainPreset: new Map<string, string>(),
    currencyPreset: new Map<string, string>(),
  };
  if (!isObject(value) || value.chains === undefined || value.currencies === undefined) return none;
  if (!isObject(value.chains) || !isObject(value.currencies)) return none;
  const { chains, currencies, ...presets } = expandPresets(value.chains, value.currencies, {
    chainLines,
    currencyLines,
    wrong: (path, problem, known) =>
      shapeFault(
        `config.${path}`,
        known.length === 0 ? problem : `${problem}; known are ${known.join(", ")}`,
      ),
  });
  return { value: { ...value, chains, currencies }, ...presets };
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
