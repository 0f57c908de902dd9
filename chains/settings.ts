/**
 * Chains and currencies in the configuration of both programs: the settings that both have, with
 * their bounds and the checks of the chain's family. Pure. Sources: EIP-55, EIP-155, CAIP-2.
 */
import type { JsonObject, JsonValue } from "../base/json.ts";
import {
  chainNamePattern,
  configFault,
  parseUrl,
  quoteText,
  readUrl,
  settings,
} from "../base/settings.ts";
import type { Reader } from "../base/shape.ts";
import { decimalMax, parseAmount } from "../protocol/amount.ts";
import { addressSpaceNames, families, findFamilyOfAddressSpace, networkOf } from "./families.ts";
import type { AddressSpaceName, ChainId, ConfiguredChain, Family } from "./family.ts";
import { mainNetworkByAddressSpace } from "./network-names.ts";
import { type ExpandedPresets, expandPresets } from "./presets.ts";
import { type NodeLines, questionsPerHourMax, questionsPerHourMin } from "./server-lines.ts";

const { integer, list, object, string, valueFault } = settings;

const nodesMax = 8;
const confirmationsMax = 10_000;

/** The most chains and currencies of a file. */
export const chainsMax = 64;
export const currenciesMax = 512;

const readFamily: Reader<AddressSpaceName> = (value, path) => {
  const family = typeof value === "string" ? findFamilyOfAddressSpace(value) : undefined;
  if (family !== undefined) return family.addressSpace.name;
  throw valueFault(path, `must be one of ${addressSpaceNames.map(quoteText).join(", ")}`);
};

const readConfirmations: Reader<number | "finalized"> = (value, path) => {
  if (typeof value !== "string") return integer({ min: 1, max: confirmationsMax })(value, path);
  if (value === "finalized") return value;
  throw valueFault(path, 'must be a whole number or "finalized"');
};

/** A placeholder as the examples and `--config-out` write it. */
const ownPlaceholder = /^<[A-Z]{1,16}(?:_[A-Z]{1,16}){0,2}>$/;

const readNodeUrl: Reader<string> = (value, path) => {
  const url = string({ min: 1 })(value, path);
  const [placeholder] = /<[^<>]*>/.exec(url) ?? [];
  if (placeholder !== undefined) {
    // An operator may put the key between the brackets.
    const shown = ownPlaceholder.test(placeholder) ? placeholder : "what stands in < >";
    throw configFault(
      "CONFIG_PLACEHOLDER",
      `still to be replaced with your own: ${shown} in ${path}`,
    );
  }
  if (parseUrl(url) === null)
    throw configFault("CONFIG_NODE_URL", `${path} is not an http or https address`);
  return url;
};

/**
 * Addresses alone, or addresses with the lines of their server.
 * @param readHeadersFile the rule for the path of a file
 */
export function createNodesReader(readHeadersFile: Reader<string>): Reader<readonly NodeLines[]> {
  const lines = object(
    { url: readNodeUrl },
    {
      headersFile: readHeadersFile,
      questionsPerHour: integer({ min: questionsPerHourMin, max: questionsPerHourMax }),
    },
  );
  const readNode: Reader<NodeLines> = (value, path) =>
    typeof value === "string" ? { url: readNodeUrl(value, path) } : lines(value, path);
  const readNodes = list(readNode, nodesMax);
  return (value, path) => {
    const nodes = readNodes(value, path);
    if (nodes.length === 0)
      throw valueFault(
        path,
        "is empty: write the addresses of your own nodes there, two or more of different providers",
      );
    if (new Set(nodes.map(({ url }) => url)).size < nodes.length)
      throw valueFault(path, "names one node twice");
    return nodes;
  };
}

/** Addresses of nodes alone, for others to use. */
export const readNodeUrls: Reader<readonly string[]> = list(readUrl, nodesMax);

/** The settings of a chain that both files need, but for its nodes; `chainId` is not read yet. */
export const chainShape = {
  family: readFamily,
  chainId: (value: JsonValue) => value,
  confirmations: readConfirmations,
};
/** The further ones that both files may have. `preset` was expanded before. */
export const chainOptions = { feeModel: string({ max: 32 }), preset: string() };

/**
 * The settings of a chain that its family decides on: the id in its one spelling, and the model of
 * fees if one is given.
 * @throws AgentError CONFIG_VALUE, CONFIG_TYPE
 */
export function checkChain(
  chain: {
    readonly family: AddressSpaceName;
    readonly chainId: JsonValue;
    readonly confirmations: number | "finalized";
    readonly feeModel?: string;
  },
  path: string,
): { readonly chainId: ChainId; readonly feeModel?: string } {
  const family = families[chain.family];
  const chainId = readChainId(family, chain.chainId, `${path}.chainId`);
  if (chain.confirmations !== "finalized" && !family.countsConfirmations)
    throw valueFault(
      `${path}.confirmations`,
      'must be "finalized": this chain says by itself which blocks are final',
    );
  const { feeModel } = chain;
  if (feeModel === undefined) return { chainId };
  checkFeeModel(feeModel, `${path}.feeModel`, family);
  return { chainId, feeModel };
}

/** In a family with numbers as ids, the message names a mistake in numbers. */
function readChainId(family: Family, value: JsonValue, path: string): ChainId {
  const id = family.readChainId(value);
  if (id !== null) return id;
  if (typeof family.readChainId(1) === "number") integer()(value, path);
  throw valueFault(path, "is the id of no chain of this family");
}

function checkFeeModel(text: string, path: string, { feeModels }: Family): void {
  if (feeModels.length === 0)
    throw valueFault(path, "is for other chains: this one bills in one way alone, so leave it out");
  if (!feeModels.includes(text))
    throw configFault(
      "CONFIG_VALUE",
      `${path} must be one of ${feeModels.join(", ")}`,
      feeModels,
      text,
    );
}

/** @throws AgentError CONFIG_CHAIN_TWICE for two chains of one network */
export function checkNetworks(
  chains: Readonly<Record<string, ConfiguredChain>>,
  path: string,
): void {
  const known = new Map<string, string>();
  for (const [name, chain] of Object.entries(chains)) {
    const network = networkOf(chain);
    const other = known.get(network);
    if (other !== undefined)
      throw configFault("CONFIG_CHAIN_TWICE", `${path} ${other} and ${name} have the same chainId`);
    known.set(network, name);
  }
}

/** The settings of a currency that both files have. `preset` was expanded before. */
export const currencyShape = { chain: string(), decimal: integer({ max: decimalMax }) };
export const currencyOptions = { contract: string(), preset: string() };

/**
 * The contract of a currency in its one spelling, undefined for the native coin.
 * @throws AgentError CONFIG_CURRENCY_CHAIN, CONFIG_DECIMAL, CONFIG_CONTRACT
 */
export function readContract(
  {
    chain,
    decimal,
    contract,
  }: {
    readonly chain: string;
    readonly decimal: number;
    readonly contract?: string | undefined;
  },
  path: string,
  chains: Readonly<Record<string, ConfiguredChain>>,
): string | undefined {
  const on = Object.hasOwn(chains, chain) ? chains[chain] : undefined;
  if (on === undefined)
    throw configFault(
      "CONFIG_CURRENCY_CHAIN",
      `${path}.chain ${chainNamePattern.test(chain) ? `is ${quoteText(chain)}, and there is no such chain` : "is the name of no chain"}`,
      Object.keys(chains),
      chain,
    );
  if (contract !== undefined)
    return readAddress(on, contract, `${path}.contract`, "CONFIG_CONTRACT");
  const coinDecimal = families[on.family].fees.decimal;
  if (decimal === coinDecimal) return undefined;
  throw configFault(
    "CONFIG_DECIMAL",
    `${path} has no contract, so it is the native coin, which has ${coinDecimal} decimals, not ${decimal}`,
  );
}

/** @throws AgentError CONFIG_ASSET_TWICE for two currencies of one asset */
export function checkAssets(
  currencies: Readonly<Record<string, { readonly chain: string; readonly contract?: string }>>,
  path: string,
): void {
  const known = new Map<string, string>();
  for (const [id, { chain, contract = "" }] of Object.entries(currencies)) {
    const asset = `${chain} ${contract}`;
    const other = known.get(asset);
    if (other !== undefined)
      throw configFault("CONFIG_ASSET_TWICE", `${path} ${other} and ${id} are the same asset`);
    known.set(asset, id);
  }
}

/** An address of the chain in its one spelling. @throws AgentError with the code */
export function readAddress(
  chain: ConfiguredChain,
  text: string,
  path: string,
  code: "CONFIG_CONTRACT" | "CONFIG_ADDRESS",
): string {
  const family = families[chain.family];
  const parsed = family.parseAddress(text, family.networkOf(chain));
  if (parsed.ok) return parsed.address;
  if (parsed.code === "ADDRESS_CHECKSUM")
    throw configFault(code, `${path} is mistyped: its checksum does not fit`);
  if (parsed.code === "ADDRESS_ZERO") throw configFault(code, `${path} is the zero address`);
  const other = addressSpaceNames.find(
    (name) => families[name].parseAddress(text, mainNetworkByAddressSpace[name]).ok,
  );
  if (other !== undefined)
    throw configFault(
      code,
      `${path} is an address of another family of chains, ${other}, and this chain is of ${family.addressSpace.name}`,
    );
  throw configFault(
    code,
    `${path} is not an address of this chain: ${parsed.detail ?? "it has another form"}`,
  );
}

/**
 * An amount that `readAmount` reads once its currency's decimals are known. Null is no way to leave
 * it out.
 */
export const readAmountLater: Reader<JsonValue> = (value, path) =>
  value === null ? string()(value, path) : value;

/** An amount as text. "0" is allowed. @throws AgentError CONFIG_AMOUNT, CONFIG_TYPE */
export function readAmount(given: JsonValue, path: string, decimal: number): string {
  if (typeof given === "number")
    throw configFault(
      "CONFIG_AMOUNT",
      `${path} is a number; write amounts as text, such as "${given}"`,
    );
  const text = string()(given, path);
  const parsed = parseAmount(text, decimal);
  if (parsed.ok || parsed.code === "AMOUNT_ZERO") return text;
  if (parsed.code === "AMOUNT_PRECISION")
    throw configFault("CONFIG_AMOUNT", `${path} has more than ${decimal} digits after the point`);
  throw configFault("CONFIG_AMOUNT", `${path} is not a plain decimal number such as "1.5"`);
}

/** As `readAmount`, above zero. */
export function readPositiveAmount(given: JsonValue, path: string, decimal: number): string {
  const text = readAmount(given, path, decimal);
  if (parseAmount(text, decimal).ok) return text;
  throw configFault("CONFIG_AMOUNT", `${path} is not a plain decimal number above 0 such as "1.5"`);
}

/**
 * The file with each preset of `chains` and `currencies` expanded; the readers report a value that
 * is no object. `lines` are the settings that the file's own readers know.
 * @throws AgentError CONFIG_PRESET
 */
export function expandPresetsOfFile(
  value: JsonValue,
  path: string,
  lines: { readonly chainLines: readonly string[]; readonly currencyLines: readonly string[] },
): { readonly value: JsonValue } & Pick<ExpandedPresets, "chainPreset" | "currencyPreset"> {
  const isReadable = isObject(value) && isObject(value.chains) && isObject(value.currencies);
  if (!isReadable) return { value, chainPreset: new Map(), currencyPreset: new Map() };
  const { chains, currencies, ...presets } = expandPresets(
    value.chains as JsonObject,
    value.currencies as JsonObject,
    {
      ...lines,
      wrong: (at, problem, known, given) =>
        configFault("CONFIG_PRESET", `${path}${at} ${problem}`, known, given),
    },
  );
  return { value: { ...value, chains, currencies }, ...presets };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
