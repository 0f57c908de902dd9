/**
 * gateway.config.json: every key, its bounds and its default. Unknown keys are refused; relative
 * paths are relative to the file. The file has no secret of its own, because the gateway's key is
 * in `keyFile`. Source: docs/api.md, section on running it.
 */
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { AgentError, reasonOf } from "../../base/fault.ts";
import { assertVisible, countByteOrderMarkBytes } from "../../base/invisible.ts";
import { type JsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import { isLoopback } from "../../base/loopback.ts";
import { addressSpaceNames, families, networkOf } from "../../chains/families.ts";
import type {
  AddressSpaceName,
  ChainId,
  ConfiguredChain,
  ServerLines,
} from "../../chains/family.ts";
import { expandPresets, findCurrencyPreset } from "../../chains/presets.ts";
import {
  type NodeLines,
  questionsPerHourMax,
  questionsPerHourMin,
  serverLinesByAddress,
} from "../../chains/server-lines.ts";
import { decimalMax, formatAmount, parseAmount } from "../../protocol/amount.ts";
import { currencyPattern } from "../../protocol/fields.ts";
import {
  boolean,
  integer,
  list,
  object,
  oneOf,
  type Reader,
  record,
  shapeFault,
  string,
} from "../../protocol/shape.ts";
import { isAddressOrNetwork } from "./address-list.ts";
import { readBareUrl } from "./bare-url.ts";
import { type CallbackSettings, callbackSettings, callbacksShape } from "./callback-settings.ts";
import { withoutNodeKey } from "./node-keys.ts";
import { type PriceSettings, priceSettings, readPriceSection } from "./price-settings.ts";
import {
  type GatewaySweepSettings,
  readSweepSection,
  readSweepsAtOnce,
  sweepSettingsOf,
  sweepsAtOnceDefault,
} from "./sweep-settings.ts";

/*
 * Reads the settings of a chain in gateway.config.json and runs the checks of the chain's family.
 */

const urlReader: Reader<string> = (value, path) => {
  const text = string({ min: 1, max: 2048 })(value, path);
  let parsed: URL;
  try {
    parsed = new URL(text);
  } catch {
    throw shapeFault(path, "must be a URL");
  }
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:")
    throw shapeFault(path, "must begin with http:// or https://");
  return text;
};

const positiveReader = (max: number): Reader<number> => integer({ min: 1, max });

/** The family decides which kind of id a chain has. */
const chainId: Reader<ChainId> = (value, path) =>
  typeof value === "string"
    ? string({ min: 1, max: 64 })(value, path)
    : integer({ min: 0 })(value, path);

/** An address alone, or one with the lines of its server. */
const node: Reader<NodeLines> = (value, path) =>
  typeof value === "string" ? { url: urlReader(value, path) } : nodeObject(value, path);

const nodeObject = object(
  { url: urlReader },
  {
    headersFile: string({ min: 1, max: 4096 }),
    questionsPerHour: integer({ min: questionsPerHourMin, max: questionsPerHourMax }),
  },
);

const chainShape = object(
  {
    family: oneOf(...addressSpaceNames),
    chainId,
    nodes: list(node, 8),
    confirmations: (value, path) =>
      (value === "finalized" ? "finalized" : positiveReader(10_000)(value, path)) as
        | number
        | "finalized",
  },
  { agentNodes: list(urlReader, 8), feeModel: string({ max: 32 }), explorer: urlReader },
);

/** The chain's id in its one spelling. Also checks the other settings that the family needs. */
function chainIdOf(
  { family: name, chainId, feeModel, confirmations }: ReturnType<typeof chainShape>,
  path: string,
): ChainId {
  const family = families[name];
  const id = family.readChainId(chainId);
  if (id === null)
    throw shapeFault(`${path}.chainId`, `is the id of no chain of the family ${name}`);
  if (feeModel !== undefined && !family.feeModels.includes(feeModel)) {
    const { feeModels } = family;
    throw shapeFault(
      `${path}.feeModel`,
      feeModels.length === 0 ? "is not for this family" : `must be one of ${feeModels.join(", ")}`,
    );
  }
  if (confirmations !== "finalized" && !family.countsConfirmations)
    throw shapeFault(
      `${path}.confirmations`,
      'must be "finalized": this chain says by itself which blocks are final',
    );
  return id;
}

/** Addresses and further lines of a chain's nodes. `base` is the folder of relative paths. */
function nodesIn(
  { nodes }: Pick<ReturnType<typeof chainShape>, "nodes">,
  path: string,
  base: string,
): Pick<ConfiguredChain, "servers"> & { readonly nodes: readonly string[] } {
  const urls = nodes.map((one) => one.url);
  if (urls.length === 0) throw shapeFault(`${path}.nodes`, "must name at least one node");
  const lines = nodes.map(({ headersFile, ...one }) =>
    headersFile === undefined ? one : { ...one, headersFile: resolve(base, headersFile) },
  );
  return { nodes: urls, ...serverLinesByAddress(lines) };
}

/*
 * Chains and currencies by name in gateway.config.json: each preset is expanded before the file is
 * read, which is then checked as strictly as a file without presets. Source: docs/chains.md,
 * section 1.
 */

/** The preset of each chain or currency, by the chain's name or currency's id. */
type PresetOf = ReadonlyMap<string, string>;

const chainLines = ["family", "chainId", "confirmations", "feeModel", "explorer"];
const currencyLines = ["decimal", "name", "symbol", "minPaymentAmount", "contract", "market"];

/** The file with each preset expanded. The reader reports a value that is no object. */
function expandChainPresets(value: JsonValue): {
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

/* Amounts of a currency in the configuration: decimal strings in one spelling. */

/**
 * @throws AgentError JSON_SHAPE unless the text is an amount above zero in the currency's decimals
 */
function amountIn(text: string, decimal: number, path: string): string {
  const amount = parseAmount(text, decimal);
  if (!amount.ok)
    throw shapeFault(path, `must be an amount above zero with at most ${decimal} decimals`);
  return formatAmount(amount.units, decimal);
}

/**
 * The amount that may be missing from a deposit: zero, or below the smallest deposit, so that a
 * payment of nothing completes no deposit.
 * @throws AgentError JSON_SHAPE
 */
function toleranceIn(text: string, least: string, decimal: number, path: string): string {
  if (text === "0") return text;
  const [tolerance, floor] = [
    parseAmount(amountIn(text, decimal, path), decimal),
    parseAmount(least, decimal),
  ];
  if (!tolerance.ok || !floor.ok || tolerance.units >= floor.units)
    throw shapeFault(path, "must be below minPaymentAmount");
  return formatAmount(tolerance.units, decimal);
}

export interface GatewayChain {
  readonly family: AddressSpaceName;
  readonly chainId: ChainId;
  readonly feeModel?: string; // one of the family's; default: by chain id
  readonly preset: string; // preset that its settings extend; "" none
  readonly explorer: string; // address that a transaction's hash is appended to; "" none
  readonly network: string; // CAIP-2, derived from chainId
  readonly nodes: readonly string[];
  readonly servers?: Readonly<Record<string, ServerLines>>; // further lines of nodes, by address
  // Written into agents' config.json; default: the gateway's own nodes, without their keys.
  readonly agentNodes: readonly string[];
  readonly confirmations: number | "finalized";
}

export interface GatewayCurrency {
  readonly id: string;
  readonly preset: string; // preset that its settings extend; "" none
  readonly chain: string;
  readonly network: string;
  readonly name: string;
  readonly symbol: string;
  readonly decimal: number;
  readonly contract: string; // EIP-55; "" native
  readonly minPaymentAmount: string;
  readonly paymentTolerance: string; // this much may be missing from a deposit's amount; below minPaymentAmount
  readonly minWithdrawAmount: string;
  readonly enabled: boolean;
  readonly depositOnly: boolean; // accepted even if the merchant's agent may not pay it out
  readonly market: string; // its ticker on the markets; "" no market
  readonly listUnpriced: boolean; // also listed while it lacks a price
  readonly sweep: GatewaySweepSettings;
}

export interface GatewayLimits {
  readonly readsPerSecond: number; // per key
  readonly writesPerSecond: number; // per key
  readonly burst: number; // buckets hold this many seconds of requests
  readonly failedAuthPerTenMinutes: number; // per address
  readonly pairingsPerMinute: number; // per address
  readonly payerReadsPerSecond: number; // per address
  readonly bodyBytesMax: number;
  readonly withdrawalWaitMs: number; // longest wait of autoWithdraw for the agent
  readonly listMax: number; // largest number of records in an answer of /transactions without `limit`; 0 for all
}

export interface GatewayLifetimes {
  readonly depositMinutes: number;
  readonly confirmingHours: number; // a request stays open so long after its end for a payment seen in time; 0 never
  readonly withdrawalHours: number; // unsigned and unanswered
  readonly approvalDays: number; // manual, waiting for an operator
}

/** The receiver of the gateway's alerts, and the time after which an agent counts as away. */
export interface GatewayAlerts {
  readonly target:
    | { readonly kind: "command"; readonly command: readonly string[] }
    | { readonly kind: "url"; readonly url: string };
  readonly agentAwayMinutes: number;
}

export interface GatewayConfig {
  readonly listen: {
    readonly host: string;
    readonly port: number;
    readonly tls: { readonly certificate: string; readonly key: string } | null;
  };
  readonly publicUrl: string; // without a slash at the end
  readonly trustProxy: readonly string[]; // addresses or networks of TLS proxies
  readonly database: string; // path
  readonly keyFile: string; // path
  readonly chains: Readonly<Record<string, GatewayChain>>;
  readonly currencies: Readonly<Record<string, GatewayCurrency>>;
  readonly prices: PriceSettings;
  readonly limits: GatewayLimits;
  readonly lifetimes: GatewayLifetimes;
  readonly sweepsAtOnce: number; // open sweeps of one merchant
  readonly books: { readonly hour: number }; // hour of each day in UTC for closing the books
  readonly callbacks: CallbackSettings;
  readonly alerts: GatewayAlerts | null; // null: no alerts
  // A port of this machine; null: not served.
  readonly metrics: { readonly host: string; readonly port: number } | null;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
}

const configBytesMax = 262_144;
const namePattern = /^[a-z0-9][a-z0-9_-]{0,63}$/;
/** Its path may be a secret of the receiver's, so no fault shows the path. */
const alertUrl: Reader<string> = (value, path) => {
  const parsed = new URL(urlReader(value, path));
  if (parsed.username !== "" || parsed.password !== "" || parsed.hash !== "")
    throw shapeFault(path, "must have no user name and no #");
  if (parsed.protocol === "http:" && !isLoopback(parsed.hostname))
    throw shapeFault(path, "must be https off loopback");
  return parsed.href;
};

const network: Reader<string> = (value, path) => {
  const text = string({ min: 2, max: 64 })(value, path);
  if (!isAddressOrNetwork(text)) throw shapeFault(path, "must be an IP address or network");
  return text;
};

const currency = object(
  {
    chain: string({ pattern: namePattern }),
    decimal: integer({ max: decimalMax }),
    name: string({ min: 1, max: 64 }),
    symbol: string({ min: 1, max: 16 }),
    minPaymentAmount: string({ min: 1, max: 79 }),
  },
  {
    contract: string({ max: 42 }),
    minWithdrawAmount: string({ min: 1, max: 79 }),
    paymentTolerance: string({ min: 1, max: 79 }),
    enabled: boolean(),
    depositOnly: boolean(),
    market: string({ max: 15, pattern: /^[A-Z0-9]*$/ }),
    listUnpriced: boolean(),
    sweep: readSweepSection,
  },
);

const file = object(
  {
    listen: object(
      { host: string({ min: 1, max: 255 }), port: integer({ max: 65_535 }) },
      { tls: object({ certificate: string(), key: string() }) },
    ),
    publicUrl: readBareUrl,
    database: string({ min: 8, max: 4096 }),
    chains: record(chainShape, { keysMax: 64, keyPattern: namePattern }),
    currencies: record(currency, { keysMax: 512, keyPattern: currencyPattern }),
  },
  {
    trustProxy: list(network, 64),
    keyFile: string({ min: 1 }),
    prices: readPriceSection,
    limits: object(
      {},
      {
        readsPerSecond: positiveReader(100_000),
        writesPerSecond: positiveReader(100_000),
        burst: positiveReader(1_000),
        failedAuthPerTenMinutes: positiveReader(1_000_000),
        pairingsPerMinute: positiveReader(10_000),
        payerReadsPerSecond: positiveReader(100_000),
        bodyBytesMax: integer({ min: 1024, max: 262_144 }),
        withdrawalWaitMs: integer({ max: 10_000 }),
        listMax: integer({ min: 0, max: 100_000 }),
      },
    ),
    lifetimes: object(
      {},
      {
        depositMinutes: positiveReader(525_600),
        confirmingHours: integer({ max: 168 }),
        withdrawalHours: positiveReader(8_760),
        approvalDays: positiveReader(365),
      },
    ),
    sweepsAtOnce: readSweepsAtOnce,
    books: object({}, { hour: integer({ max: 23 }) }),
    callbacks: callbacksShape,
    alerts: object(
      {},
      {
        command: list(string({ min: 1 }), 32),
        url: alertUrl,
        agentAwayMinutes: positiveReader(10_080),
      },
    ),
    metrics: object({
      listen: string({ pattern: /^(?:127(?:\.\d{1,3}){3}|\[::1\]):[1-9]\d{0,4}$/ }),
    }),
    logLevel: oneOf("debug", "info", "warn", "error", "silent"),
  },
);

const defaultLimits: GatewayLimits = {
  readsPerSecond: 10,
  writesPerSecond: 20,
  burst: 5,
  failedAuthPerTenMinutes: 20,
  pairingsPerMinute: 5,
  payerReadsPerSecond: 20,
  bodyBytesMax: 16_384,
  withdrawalWaitMs: 10_000,
  listMax: 0,
};

const defaultLifetimes: GatewayLifetimes = {
  depositMinutes: 60,
  confirmingHours: 24,
  withdrawalHours: 24,
  approvalDays: 7,
};

type File = ReturnType<typeof file>;

function chainsOf(
  chains: File["chains"],
  presetOf: PresetOf,
  base: string,
): Record<string, GatewayChain> {
  const result: Record<string, GatewayChain> = {};
  const networks = new Set<string>();
  for (const [name, entry] of Object.entries(chains)) {
    const path = `config.chains.${name}`;
    const chain = { ...entry, chainId: chainIdOf(entry, path), ...nodesIn(entry, path, base) };
    const id = networkOf(chain);
    if (networks.has(id))
      throw shapeFault(`config.chains.${name}.chainId`, "is named by another chain too");
    networks.add(id);
    const { agentNodes = [...new Set(chain.nodes.map(withoutNodeKey))], explorer = "" } = entry;
    result[name] = {
      ...chain,
      preset: presetOf.get(name) ?? "",
      explorer,
      network: id,
      agentNodes,
    };
  }
  return result;
}

function currenciesOf(
  currencies: File["currencies"],
  chains: Record<string, GatewayChain>,
  presetOf: PresetOf,
): Record<string, GatewayCurrency> {
  const result: Record<string, GatewayCurrency> = {};
  const assets = new Set<string>();
  for (const [id, entry] of Object.entries(currencies)) {
    const path = `config.currencies.${id}`;
    const on = chains[entry.chain];
    if (on === undefined) throw shapeFault(`${path}.chain`, "is not one of config.chains");
    const family = families[on.family];
    const coinDecimal = family.fees.decimal;
    let contract = "";
    if (entry.contract !== undefined && entry.contract !== "") {
      const parsed = family.parseAddress(entry.contract, on.network);
      if (!parsed.ok)
        throw shapeFault(`${path}.contract`, "is not an address, or its checksum does not fit");
      contract = parsed.address;
    } else if (entry.decimal !== coinDecimal) {
      throw shapeFault(`${path}.decimal`, `must be ${coinDecimal} for a native coin`);
    }
    const asset = `${on.network}/${contract}`;
    if (assets.has(asset)) throw shapeFault(path, "is the same asset as another currency");
    assets.add(asset);
    const minPaymentAmount = amountIn(
      entry.minPaymentAmount,
      entry.decimal,
      `${path}.minPaymentAmount`,
    );
    const minWithdrawAmount = amountIn(
      entry.minWithdrawAmount ?? entry.minPaymentAmount,
      entry.decimal,
      `${path}.minWithdrawAmount`,
    );
    const { chain: chainName, name, symbol, decimal } = entry;
    const leastSwept = (of: string): string => {
      const usual = findCurrencyPreset(presetOf.get(of) ?? "")?.sweepLeast ?? minPaymentAmount;
      return amountIn(entry.sweep?.least ?? usual, decimal, `${path}.sweep.least`);
    };
    const enabled = entry.enabled ?? true;
    result[id] = {
      id,
      preset: presetOf.get(id) ?? "",
      chain: chainName,
      network: on.network,
      name,
      symbol,
      decimal,
      contract,
      minPaymentAmount,
      minWithdrawAmount,
      paymentTolerance: toleranceIn(
        entry.paymentTolerance ?? "0",
        minPaymentAmount,
        decimal,
        `${path}.paymentTolerance`,
      ),
      enabled,
      depositOnly: entry.depositOnly ?? false,
      market: entry.market ?? (/^[A-Z0-9]{1,15}$/.test(symbol) ? symbol : ""),
      listUnpriced: entry.listUnpriced ?? false,
      sweep: sweepSettingsOf(entry.sweep, { least: leastSwept(id), isCoin: contract === "" }),
    };
  }
  return result;
}

const agentAwayMinutesDefault = 10;
const booksHourDefault = 3;

function alertsOf({
  command,
  url: address,
  agentAwayMinutes = agentAwayMinutesDefault,
}: NonNullable<File["alerts"]>): GatewayAlerts {
  if ((command === undefined) === (address === undefined))
    throw shapeFault("config.alerts", "needs command or url, and not both");
  if (address !== undefined) return { target: { kind: "url", url: address }, agentAwayMinutes };
  const [program = ""] = command ?? [];
  if (!program.startsWith("/"))
    throw shapeFault("config.alerts.command", "must begin with the whole path of a program");
  return { target: { kind: "command", command: command ?? [] }, agentAwayMinutes };
}

function placeOf(listen: string): { readonly host: string; readonly port: number } {
  const at = listen.lastIndexOf(":");
  const port = Number(listen.slice(at + 1));
  if (port > 65_535) throw shapeFault("config.metrics.listen", "must be a port below 65536");
  return { host: listen.slice(0, at).replace(/[[\]]/g, ""), port };
}

function databasePath(text: string, base: string): string {
  const [, path] = /^sqlite:(.+)$/.exec(text) ?? [];
  if (path === undefined) throw shapeFault("config.database", "must be sqlite:PATH");
  return resolve(base, path);
}

/**
 * Reads the text of gateway.config.json. `base` is the folder of its relative paths; `changedAtMs`
 * is when it was written (the age of its manual prices).
 * @throws AgentError JSON_*, JSON_SHAPE naming the key
 */
export function parseConfig(
  text: string | Uint8Array,
  base: string,
  changedAtMs: number,
): GatewayConfig {
  const { value, chainPreset, currencyPreset } = expandChainPresets(
    parseJson(readable(text), { bytesMax: configBytesMax, keysMax: 512 }),
  );
  const raw = file(value, "config");
  const chains = chainsOf(raw.chains, chainPreset, base);
  const currencies = currenciesOf(raw.currencies, chains, currencyPreset);
  const tls = raw.listen.tls;
  const trustProxy = raw.trustProxy ?? [];
  if (tls === undefined && trustProxy.length === 0 && !isLoopback(raw.listen.host)) {
    throw shapeFault("config.listen", "needs tls, or trustProxy, off loopback");
  }
  return {
    listen: {
      host: raw.listen.host,
      port: raw.listen.port,
      tls:
        tls === undefined
          ? null
          : { certificate: resolve(base, tls.certificate), key: resolve(base, tls.key) },
    },
    publicUrl: raw.publicUrl,
    trustProxy,
    database: databasePath(raw.database, base),
    keyFile: resolve(base, raw.keyFile ?? "gateway.key"),
    chains,
    currencies,
    prices: priceSettings(raw.prices ?? {}, currencies, changedAtMs),
    limits: { ...defaultLimits, ...raw.limits },
    lifetimes: { ...defaultLifetimes, ...raw.lifetimes },
    sweepsAtOnce: raw.sweepsAtOnce ?? sweepsAtOnceDefault,
    books: { hour: raw.books?.hour ?? booksHourDefault },
    callbacks: callbackSettings(
      raw.callbacks,
      isLoopback(raw.listen.host) && isLoopback(new URL(raw.publicUrl).hostname),
    ),
    alerts: raw.alerts === undefined ? null : alertsOf(raw.alerts),
    metrics: raw.metrics === undefined ? null : placeOf(raw.metrics.listen),
    logLevel: raw.logLevel ?? "info",
  };
}

/** A configuration with the text that it was read from. */
export interface ConfigWithText {
  readonly config: GatewayConfig;
  readonly text: Uint8Array;
  readonly changedAtMs: number; // the time of the file
}

/** As `readConfigText`, without the text. */
export const readConfig = (path: string): GatewayConfig => readConfigText(path).config;

/**
 * Reads the file.
 * @throws AgentError GATEWAY_CONFIG_MISSING, GATEWAY_CONFIG_INVALID (its cause names the key)
 */
export function readConfigText(path: string): ConfigWithText {
  let text: Uint8Array;
  let changedAtMs: number;
  try {
    ({ text, changedAtMs } = readDated(path));
  } catch (cause) {
    const message = `the configuration ${path} cannot be read: ${reasonOf(cause)}`;
    throw new AgentError("GATEWAY_CONFIG_MISSING", "none", message, { path }, { cause });
  }
  try {
    return { config: parseConfig(text, dirname(resolve(path)), changedAtMs), text, changedAtMs };
  } catch (cause) {
    if (!(cause instanceof AgentError)) throw cause;
    throw new AgentError(
      "GATEWAY_CONFIG_INVALID",
      "none",
      `${path}: ${cause.message}`,
      { path, code: cause.code },
      { cause },
    );
  }
}

/** The text after a byte order mark, after checking that every character is visible. */
function readable(text: string | Uint8Array): Uint8Array {
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  const behind = bytes.subarray(countByteOrderMarkBytes(bytes));
  assertVisible(behind, "");
  return behind;
}

/** Reads time and text from one open file. */
function readDated(path: string): { readonly text: Uint8Array; readonly changedAtMs: number } {
  const descriptor = openSync(path, "r");
  try {
    return {
      changedAtMs: Math.trunc(fstatSync(descriptor).mtimeMs),
      text: readFileSync(descriptor),
    };
  } finally {
    closeSync(descriptor);
  }
}
