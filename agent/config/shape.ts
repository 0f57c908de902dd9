/**
 * Reads config.json field by field. Every field is known, bounded and checked against the others;
 * each mistake has its own code and names its place. Pure: value in, settings out. Sources: EIP-55,
 * EIP-155, CAIP-2.
 */

import { isAbsolute } from "node:path";
import type { JsonObject, JsonValue } from "../../base/json.ts";
import { isLoopback } from "../../base/loopback.ts";
import {
  addressSpaceNames,
  families,
  findFamilyOfAddressSpace,
  networkOf,
} from "../../chains/families.ts";
import type { ChainId, ConfiguredChain, Family, NodesFrom } from "../../chains/family.ts";
import { mainNetworkByAddressSpace } from "../../chains/network-names.ts";
import { expandPresets } from "../../chains/presets.ts";
import {
  type NodeLines,
  questionsPerHourMax,
  questionsPerHourMin,
  serverLinesByAddress,
} from "../../chains/server-lines.ts";
import { isNetworkInSignedBytes } from "../../chains/several-networks.ts";
import { decimalMax, parseAmount } from "../../protocol/amount.ts";
import { currencyPattern } from "../../protocol/fields.ts";
import { readNetworkSettings } from "./network.ts";
import type {
  AgentSettings,
  ChainSettings,
  CurrencySettings,
  MetricsSettings,
  NotifySettings,
  NotifyTarget,
  PolicySettings,
  SweepSettings,
} from "./settings.ts";
import {
  asInteger,
  asList,
  asObject,
  asText,
  configFault,
  parseUrl,
  quoteText,
  requireField,
} from "./values.ts";

/*
 * Reads `notify` and `metrics` of config.json: the receiver of events, and the address of the
 * metrics. Pure. docs/events.md.
 */

const notifyKeys = ["command", "url", "stuckMinutes", "awayMinutes", "lowFunds"];
const wordsMax = 32;
const wordCharactersMax = 4096;
const minutesMax = 10_080;
const stuckMinutesDefault = 30;
const awayMinutesDefault = 10;

/** @throws AgentError CONFIG_* */
export function readNotify(
  value: JsonValue,
  currencies: Readonly<Record<string, CurrencySettings>>,
): NotifySettings {
  const notify = asObject(value, "notify", notifyKeys);
  const minutes = (key: "stuckMinutes" | "awayMinutes", otherwise: number): number =>
    notify[key] === undefined ? otherwise : asInteger(notify[key], `notify.${key}`, 1, minutesMax);
  return {
    target: readTarget(notify),
    stuckMinutes: minutes("stuckMinutes", stuckMinutesDefault),
    awayMinutes: minutes("awayMinutes", awayMinutesDefault),
    lowFunds: notify.lowFunds === undefined ? {} : readLowFunds(notify.lowFunds, currencies),
  };
}

function readTarget({ command, url }: JsonObject): NotifyTarget {
  if ((command === undefined) === (url === undefined))
    throw configFault("CONFIG_VALUE", "notify needs command or url, and not both");
  if (url !== undefined) return { kind: "url", url: readUrl(asText(url, "notify.url")) };
  const words = asList(command as JsonValue, "notify.command", wordsMax).map((word, index) => {
    const text = asText(word, `notify.command[${index}]`);
    if (text.length > wordCharactersMax || text.includes("\0"))
      throw configFault("CONFIG_VALUE", `notify.command[${index}] is too long`);
    return text;
  });
  if (words[0]?.startsWith("/") !== true) {
    throw configFault(
      "CONFIG_VALUE",
      "notify.command must begin with the whole path of a program, such as /usr/local/bin/tell",
    );
  }
  return { kind: "command", command: words };
}

/** No message shows the URL: its path may be a secret of the receiver. */
function readUrl(text: string): string {
  const url = parseUrl(text);
  if (url === null || url.username !== "" || url.password !== "" || url.hash !== "") {
    throw configFault("CONFIG_VALUE", "notify.url must be an https address without user name or #");
  }
  if (url.protocol !== "https:" && !isLoopback(url.hostname)) {
    throw configFault(
      "CONFIG_VALUE",
      `notify.url is http, and ${url.hostname} is not this machine`,
    );
  }
  return url.href;
}

function readLowFunds(
  value: JsonValue,
  currencies: Readonly<Record<string, CurrencySettings>>,
): Readonly<Record<string, string>> {
  const given = asObject(value, "notify.lowFunds", Object.keys(currencies));
  for (const [id, amount] of Object.entries(given)) {
    const at = `notify.lowFunds.${id}`;
    if (typeof amount === "number")
      throw configFault(
        "CONFIG_AMOUNT",
        `${at} is a number; write amounts as text, such as "${amount}"`,
      );
    const parsed = parseAmount(asText(amount as JsonValue, at), currencies[id]?.decimal ?? 0);
    if (!parsed.ok)
      throw configFault(
        "CONFIG_AMOUNT",
        `${at} is not a plain decimal number above 0 such as "1.5"`,
      );
  }
  return given as Readonly<Record<string, string>>;
}

/** @throws AgentError CONFIG_* */
export function readMetrics(value: JsonValue): MetricsSettings {
  const metrics = asObject(value, "metrics", ["listen"]);
  const listen = asText(requireField(metrics, "listen", "metrics"), "metrics.listen");
  if (listen === "unix") return { listen: { kind: "unix" } };
  const [, host = "", port = ""] = /^(127(?:\.\d{1,3}){3}|\[::1\]):(\d{1,5})$/.exec(listen) ?? [];
  if (host === "" || Number(port) < 1 || Number(port) > 65_535) {
    throw configFault(
      "CONFIG_VALUE",
      'metrics.listen must be "unix", or an address of this machine such as 127.0.0.1:9464',
    );
  }
  return { listen: { kind: "tcp", host: host.replace(/[[\]]/g, ""), port: Number(port) } };
}

/*
 * Reads the nodes of a chain in config.json: addresses alone, or addresses with the lines of their
 * server. Pure.
 */

const nodesMax = 8;
const lineNames = ["url", "headersFile", "questionsPerHour"];

/** @throws AgentError CONFIG_* */
function readNodes(value: JsonValue, path: string): Pick<ChainSettings, "nodes" | "servers"> {
  const read = asList(value, path, nodesMax).map((node, index) =>
    readNode(node, `${path}[${index}]`),
  );
  const nodes = read.map(({ url }) => url);
  if (nodes.length === 0)
    throw configFault(
      "CONFIG_VALUE",
      `${path} is empty: write the addresses of your own nodes there, two or more of different providers`,
    );
  if (new Set(nodes).size < nodes.length)
    throw configFault("CONFIG_VALUE", `${path} names one node twice`);
  return { nodes, ...serverLinesByAddress(read) };
}

function readNode(value: JsonValue, path: string): NodeLines {
  const isAlone = typeof value === "string";
  const lines = isAlone ? { url: value } : asObject(value, path, lineNames);
  const url = asText(requireField(lines, "url", path), isAlone ? path : `${path}.url`);
  const [placeholder] = /<[^<>]*>/.exec(url) ?? [];
  if (placeholder !== undefined)
    throw configFault(
      "CONFIG_PLACEHOLDER",
      `still to be replaced with your own: ${placeholder} in ${path}`,
    );
  if (parseUrl(url) === null)
    throw configFault("CONFIG_NODE_URL", `${path} is not an http or https address`);
  const { headersFile, questionsPerHour } = lines;
  const hour = `${path}.questionsPerHour`;
  return {
    url,
    ...(headersFile === undefined
      ? {}
      : { headersFile: asPath(headersFile, `${path}.headersFile`) }),
    ...(questionsPerHour === undefined
      ? {}
      : {
          questionsPerHour: asInteger(
            questionsPerHour,
            hour,
            questionsPerHourMin,
            questionsPerHourMax,
          ),
        }),
  };
}

function asPath(value: JsonValue, path: string): string {
  const text = asText(value, path);
  if (!isAbsolute(text))
    throw configFault(
      "CONFIG_VALUE",
      `${path} must be a path from the root, such as /etc/crypto/node.headers`,
    );
  return text;
}

/** The keys of config.json that are secrets. */
export const secretNames = ["mnemonic", "apiKey", "encKey"] as const;

const topKeys = [
  "gatewayUrl",
  ...secretNames,
  "chains",
  "currencies",
  "policy",
  "stuckAfterMinutes",
  "notify",
  "metrics",
  "network",
];
const chainKeys = ["family", "chainId", "nodes", "nodesFrom", "confirmations", "feeModel"];
const currencyKeys = ["chain", "decimal", "contract"];
const presetKey = "preset";
const feeKeys = ["maxFee", "maxFeePerDay"] as const;
const tipKey = "maxTip";
const amountKeys = [
  "maxPerWithdrawal",
  "maxPerHour",
  "maxPerDay",
  "holdAbove",
  "twoApproversAbove",
  "manualReplaceAbove",
] as const;
const sweepAmountKeys = ["maxFee", "maxFeePerDay", "maxTopUp", "maxTopUpPerDay"] as const;
const newDestinationKeys = ["holdAbove", "delayMinutes"];
const listKeys = ["allow", "deny"] as const;
const neededPolicyKeys = ["maxPerWithdrawal", "maxPerDay", "maxFee", "maxFeePerDay"];

const namePattern = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const confirmationsMax = 10_000;
/**
 * A chain's own final block comes after a quarter of an hour; the rest is for full blocks and
 * unreachable nodes.
 */
const stuckAfterMinutesDefault = 60;
const stuckAfterMinutesMax = 10_080;
/** A week: the gateway waits no longer for an operator. */
const delayMinutesMax = 10_080;
const addressesMax = 4096;

/** Reads the complete file. Checks only the type of a secret. @throws AgentError CONFIG_* */
export function readSettings(value: JsonValue): AgentSettings {
  const top = asObject(value, "the file", topKeys);
  for (const name of secretNames) if (top[name] !== undefined) asText(top[name], name);
  const gatewayUrl = readGatewayUrl(requireField(top, "gatewayUrl", ""));
  const named = {
    chains: asObject(requireField(top, "chains", ""), "chains"),
    currencies: asObject(requireField(top, "currencies", ""), "currencies"),
  };
  const expanded = expandPresets(named.chains, named.currencies, {
    chainLines: chainKeys,
    currencyLines: currencyKeys,
    wrong: (path, problem, known, given) =>
      configFault("CONFIG_PRESET", `${path} ${problem}`, known, given),
  });
  const chains = readEach(expanded.chains, "chains", readChain);
  const networks = new Map<string, string>();
  for (const [name, chain] of Object.entries(chains)) {
    const network = networkOf(chain);
    const other = networks.get(network);
    if (other !== undefined)
      throw configFault("CONFIG_CHAIN_TWICE", `chains ${other} and ${name} have the same chainId`);
    networks.set(network, name);
  }
  oneOfEachUnnamed(chains);
  const currencies = readEach(expanded.currencies, "currencies", (entry, path) =>
    readCurrency(entry, path, chains),
  );
  const assets = new Map<string, string>();
  for (const [id, currency] of Object.entries(currencies)) {
    const asset = `${currency.chain} ${currency.contract ?? ""}`;
    const other = assets.get(asset);
    if (other !== undefined)
      throw configFault("CONFIG_ASSET_TWICE", `currencies ${other} and ${id} are the same asset`);
    assets.set(asset, id);
  }
  const policy = readEach(requireField(top, "policy", ""), "policy", (entry, path, id) => {
    const currency = currencies[id];
    if (currency === undefined)
      throw configFault(
        "CONFIG_POLICY_CURRENCY",
        `${path}: there is no currency ${id}`,
        Object.keys(currencies),
      );
    return readPolicy(entry, path, currency, chains[currency.chain] as ChainSettings);
  });
  const notify = top.notify === undefined ? {} : { notify: readNotify(top.notify, currencies) };
  const metrics = top.metrics === undefined ? {} : { metrics: readMetrics(top.metrics) };
  const network = top.network === undefined ? {} : { network: readNetworkSettings(top.network) };
  const stuckAfterMinutes =
    top.stuckAfterMinutes === undefined
      ? stuckAfterMinutesDefault
      : asInteger(top.stuckAfterMinutes, "stuckAfterMinutes", 1, stuckAfterMinutesMax);
  return {
    gatewayUrl,
    chains,
    currencies,
    policy,
    stuckAfterMinutes,
    ...notify,
    ...metrics,
    ...network,
  };
}

function readGatewayUrl(value: JsonValue): string {
  const text = asText(value, "gatewayUrl");
  const url = parseUrl(text);
  if (url === null)
    throw configFault("CONFIG_GATEWAY_URL", "gatewayUrl is not an http or https address");
  if (
    url.username !== "" ||
    url.password !== "" ||
    url.pathname !== "/" ||
    url.search !== "" ||
    url.hash !== ""
  ) {
    throw configFault(
      "CONFIG_GATEWAY_URL",
      "gatewayUrl must be scheme, host and port alone, such as https://pay.example.com",
    );
  }
  if (url.protocol !== "https:" && !isLoopback(url.hostname)) {
    throw configFault(
      "CONFIG_GATEWAY_PLAINTEXT",
      `gatewayUrl is http, and ${url.hostname} is not this machine`,
    );
  }
  return url.origin;
}

function readChain(value: JsonValue, path: string): ChainSettings {
  const chain = asObject(value, path, [...chainKeys, presetKey]);
  const family = readFamily(requireField(chain, "family", path), path);
  const chainId = readChainId(family, requireField(chain, "chainId", path), `${path}.chainId`);
  const nodes = readNodes(requireField(chain, "nodes", path), `${path}.nodes`);
  const wanted = requireField(chain, "confirmations", path);
  if (typeof wanted === "string" && wanted !== "finalized") {
    throw configFault(
      "CONFIG_VALUE",
      `${path}.confirmations must be a whole number or "finalized"`,
    );
  }
  if (wanted !== "finalized" && !family.countsConfirmations) {
    throw configFault(
      "CONFIG_VALUE",
      `${path}.confirmations must be "finalized": this chain says by itself which blocks are final`,
    );
  }
  const confirmations =
    wanted === "finalized"
      ? wanted
      : asInteger(wanted, `${path}.confirmations`, 1, confirmationsMax);
  const feeModel =
    chain.feeModel === undefined
      ? {}
      : { feeModel: readFeeModel(chain.feeModel, `${path}.feeModel`, family) };
  const nodesFrom =
    chain.nodesFrom === undefined
      ? {}
      : { nodesFrom: readNodesFrom(chain.nodesFrom, `${path}.nodesFrom`) };
  return {
    family: family.addressSpace.name,
    chainId,
    ...nodes,
    confirmations,
    ...feeModel,
    ...nodesFrom,
  };
}

function readNodesFrom(value: JsonValue, path: string): NodesFrom {
  if (value === "gateway" || value === "own") return value;
  throw configFault("CONFIG_VALUE", `${path} must be "own" or "gateway"`);
}

function readFamily(value: JsonValue, path: string): Family {
  const family = typeof value === "string" ? findFamilyOfAddressSpace(value) : undefined;
  if (family !== undefined) return family;
  throw configFault(
    "CONFIG_VALUE",
    `${path}.family must be one of ${addressSpaceNames.map(quoteText).join(", ")}`,
  );
}

/** In a family with numbers as ids, the message names a mistake in numbers. */
function readChainId(family: Family, value: JsonValue, path: string): ChainId {
  const id = family.readChainId(value);
  if (id !== null) return id;
  if (typeof family.readChainId(1) === "number") asInteger(value, path, 0, Number.MAX_SAFE_INTEGER);
  throw configFault("CONFIG_VALUE", `${path} is the id of no chain of this family`);
}

/**
 * Allows only one chain of each family whose bytes name no network, because an attempt signed for
 * one chain might be valid on another chain of the wallet.
 */
function oneOfEachUnnamed(chains: Readonly<Record<string, ChainSettings>>): void {
  const known = new Map<string, string>();
  for (const [name, chain] of Object.entries(chains)) {
    if (isNetworkInSignedBytes(networkOf(chain))) continue;
    const other = known.get(chain.family);
    if (other !== undefined)
      throw configFault(
        "CONFIG_VALUE",
        `chains ${other} and ${name} are two networks of ${chain.family}, whose transactions name no network: ` +
          "what is signed for one could be paid on the other; keep one of them, the other needs a wallet of its own",
      );
    known.set(chain.family, name);
  }
}

function readFeeModel(value: JsonValue, path: string, { feeModels }: Family): string {
  const text = asText(value, path);
  if (feeModels.length === 0)
    throw configFault(
      "CONFIG_VALUE",
      `${path}: this chain bills in one way alone, so leave it out`,
    );
  if (!feeModels.includes(text))
    throw configFault(
      "CONFIG_VALUE",
      `${path} must be one of ${feeModels.join(", ")}`,
      feeModels,
      text,
    );
  return text;
}

function readCurrency(
  value: JsonValue,
  path: string,
  chains: Readonly<Record<string, ChainSettings>>,
): CurrencySettings {
  const currency = asObject(value, path, [...currencyKeys, presetKey]);
  const chain = asText(requireField(currency, "chain", path), `${path}.chain`);
  if (chains[chain] === undefined)
    throw configFault(
      "CONFIG_CURRENCY_CHAIN",
      `${path}: there is no chain ${quoteText(chain)}`,
      Object.keys(chains),
    );
  const decimal = asInteger(
    requireField(currency, "decimal", path),
    `${path}.decimal`,
    0,
    decimalMax,
  );
  const family = families[chains[chain].family];
  if (currency.contract === undefined) {
    const coinDecimal = family.fees.decimal;
    if (decimal !== coinDecimal) {
      throw configFault(
        "CONFIG_DECIMAL",
        `${path} has no contract, so it is the native coin, which has ${coinDecimal} decimals, not ${decimal}`,
      );
    }
    return { chain, decimal };
  }
  return {
    chain,
    decimal,
    contract: readAddress(chains[chain], currency.contract, `${path}.contract`, "CONFIG_CONTRACT"),
  };
}

function readPolicy(
  value: JsonValue,
  path: string,
  currency: CurrencySettings,
  chain: ConfiguredChain,
): PolicySettings {
  const family = families[chain.family];
  const { decimal, tipDecimal, tipUnit } = family.fees;
  const policy = asObject(value, path, [
    ...amountKeys,
    ...feeKeys,
    tipKey,
    ...listKeys,
    "newDestination",
    "sweeps",
  ]);
  for (const key of neededPolicyKeys) requireField(policy, key, path);
  const result: Record<
    string,
    string | readonly string[] | PolicySettings["newDestination"] | SweepSettings
  > = {};
  for (const key of amountKeys)
    if (policy[key] !== undefined)
      result[key] = asAmount(policy[key], `${path}.${key}`, currency.decimal);
  for (const key of feeKeys)
    if (policy[key] !== undefined) result[key] = asAmount(policy[key], `${path}.${key}`, decimal);
  if (policy[tipKey] !== undefined) {
    if (tipUnit === "")
      throw configFault(
        "CONFIG_VALUE",
        `${path}.${tipKey} is for chains where a block producer is offered a tip, and on this one nobody is: leave it out`,
      );
    result[tipKey] = asAmount(policy[tipKey], `${path}.${tipKey}`, tipDecimal);
  }
  for (const key of listKeys) {
    const given = policy[key];
    if (given === undefined) continue;
    const at = `${path}.${key}`;
    result[key] = asList(given, at, addressesMax).map((entry, index) =>
      readAddress(chain, entry, `${at}[${index}]`, "CONFIG_ADDRESS"),
    );
  }
  if (policy.newDestination !== undefined)
    result.newDestination = readNewDestination(
      policy.newDestination,
      `${path}.newDestination`,
      currency,
    );
  if (policy.sweeps !== undefined)
    result.sweeps = readSweeps(policy.sweeps, `${path}.sweeps`, decimal);
  return result as unknown as PolicySettings;
}

function readSweeps(value: JsonValue, path: string, feeDecimal: number): SweepSettings {
  const { allowed, ...given } = asObject(value, path, ["allowed", ...sweepAmountKeys]);
  if (allowed !== undefined && typeof allowed !== "boolean")
    throw configFault("CONFIG_VALUE", `${path}.allowed must be true or false`);
  const amounts: Record<string, string> = {};
  for (const key of sweepAmountKeys) {
    const amount = given[key];
    if (amount !== undefined) amounts[key] = asAmount(amount, `${path}.${key}`, feeDecimal);
  }
  return { ...(allowed === undefined ? {} : { allowed }), ...amounts };
}

function readNewDestination(
  value: JsonValue,
  path: string,
  currency: CurrencySettings,
): PolicySettings["newDestination"] {
  const { holdAbove, delayMinutes } = asObject(value, path, newDestinationKeys);
  if (holdAbove === undefined && delayMinutes === undefined)
    throw configFault("CONFIG_MISSING_KEY", `${path} needs holdAbove, delayMinutes or both`);
  return {
    ...(holdAbove === undefined
      ? {}
      : { holdAbove: asAmount(holdAbove, `${path}.holdAbove`, currency.decimal) }),
    ...(delayMinutes === undefined
      ? {}
      : { delayMinutes: asInteger(delayMinutes, `${path}.delayMinutes`, 1, delayMinutesMax) }),
  };
}

/** An amount as text. "0" is allowed: a fee of zero, or "hold everything above 0". */
function asAmount(given: JsonValue, at: string, decimal: number): string {
  if (typeof given === "number")
    throw configFault(
      "CONFIG_AMOUNT",
      `${at} is a number; write amounts as text, such as "${given}"`,
    );
  const text = asText(given, at);
  const parsed = parseAmount(text, decimal);
  if (parsed.ok || parsed.code === "AMOUNT_ZERO") return text;
  if (parsed.code === "AMOUNT_PRECISION")
    throw configFault("CONFIG_AMOUNT", `${at} has more than ${decimal} digits after the point`);
  throw configFault("CONFIG_AMOUNT", `${at} is not a plain decimal number such as "1.5"`);
}

function readAddress(
  chain: ConfiguredChain,
  value: JsonValue,
  path: string,
  code: "CONFIG_CONTRACT" | "CONFIG_ADDRESS",
): string {
  const family = families[chain.family];
  const parsed = family.parseAddress(asText(value, path), family.networkOf(chain));
  if (parsed.ok) return parsed.address;
  if (parsed.code === "ADDRESS_CHECKSUM")
    throw configFault(code, `${path} is mistyped: its checksum does not fit`);
  if (parsed.code === "ADDRESS_ZERO") throw configFault(code, `${path} is the zero address`);
  const other = addressSpaceNames.find(
    (name) => families[name].parseAddress(value as string, mainNetworkByAddressSpace[name]).ok,
  );
  if (other !== undefined)
    throw configFault(
      code,
      `${path} is an address of another family of chains, ${other}, and this chain is of ${family.addressSpace.name}`,
    );
  throw configFault(
    code,
    `${path} is not an address of this chain: ${parsed.detail ?? "it wants 0x and 40 hex digits"}`,
  );
}

function readEach<T>(
  value: JsonValue,
  path: string,
  read: (entry: JsonValue, path: string, name: string) => T,
): Record<string, T> {
  const entries = Object.entries(asObject(value, path));
  if (entries.length === 0 && path !== "policy")
    throw configFault("CONFIG_VALUE", `${path} is empty`);
  const result: Record<string, T> = Object.create(null);
  const pattern = path === "chains" ? namePattern : currencyPattern;
  for (const [name, entry] of entries) {
    if (!pattern.test(name))
      throw configFault(
        "CONFIG_VALUE",
        `${path}: ${quoteText(name)} is not a name: a-z, 0-9, - and _, at most 64`,
      );
    result[name] = read(entry, `${path}.${name}`, name);
  }
  return result;
}
