/**
 * gateway.config.json: every key, its bounds and its default. Unknown keys are refused; relative
 * paths are relative to the file. The file has no secret of its own, because the gateway's key is
 * in `keyFile`. Source: docs/gateway.md.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { AgentError, invariant, reasonOf } from "../../base/fault.ts";
import { assertVisible, countByteOrderMarkBytes } from "../../base/invisible.ts";
import type { JsonValue } from "../../base/json.ts";
import { isLoopback } from "../../base/loopback.ts";
import {
  chainNamePattern,
  type NoticeTarget,
  noticeTargetOf,
  noticeTargetShape,
  parseLoopbackPort,
  parseSettings,
  readUrl,
  settings,
  weekMinutes,
} from "../../base/settings.ts";
import type { Reader } from "../../base/shape.ts";
import { networkOf } from "../../chains/families.ts";
import type {
  AddressSpaceName,
  ChainId,
  ConfiguredChain,
  ServerLines,
} from "../../chains/family.ts";
import { findCurrencyPreset } from "../../chains/presets.ts";
import { type NodeLines, serverLinesByAddress } from "../../chains/server-lines.ts";
import {
  chainOptions,
  chainShape,
  chainsMax,
  checkAssets,
  checkChain,
  checkNetworks,
  createNodesReader,
  currenciesMax,
  currencyOptions,
  currencyShape,
  expandPresetsOfFile,
  readAmountLater,
  readContract,
  readNodeUrls,
  readPositiveAmount,
} from "../../chains/settings.ts";
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import { currencyPattern } from "../../protocol/fields.ts";
import { type DatabaseAddress, isPostgresUrl, parseDatabaseUrl } from "../postgres/address.ts";
import { networksMax, readNetwork } from "./address-list.ts";
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

const { boolean, integer, list, object, oneOf, record, string, valueFault } = settings;

const positiveReader = (max: number): Reader<number> => integer({ min: 1, max });

/*
 * The settings of a chain and of a currency that the gateway has in addition to those of both
 * programs. Source: docs/chains.md, section 1.
 */

const chainReader = object(
  { ...chainShape, nodes: createNodesReader(string({ min: 1 })) },
  { ...chainOptions, agentNodes: readNodeUrls, explorer: readUrl },
);

const presetLines = {
  chainLines: [...Object.keys(chainShape), "feeModel", "explorer"],
  currencyLines: ["decimal", "name", "symbol", "minPaymentAmount", "contract", "market"],
};

/** The preset of each chain or currency, by the chain's name or currency's id. */
type PresetOf = ReadonlyMap<string, string>;

/** Addresses and further lines of a chain's nodes. `base` is the folder of relative paths. */
function nodesIn(
  nodes: readonly NodeLines[],
  base: string,
): Pick<ConfiguredChain, "servers"> & { readonly nodes: readonly string[] } {
  const lines = nodes.map(({ headersFile, ...one }) =>
    headersFile === undefined ? one : { ...one, headersFile: resolve(base, headersFile) },
  );
  return { nodes: nodes.map(({ url }) => url), ...serverLinesByAddress(lines) };
}

/* Amounts of a currency in the configuration: decimal strings in one spelling. */

/** @throws AgentError CONFIG_AMOUNT unless the text is an amount above zero */
function amountIn(text: JsonValue, decimal: number, path: string): string {
  const amount = parseAmount(readPositiveAmount(text, path, decimal), decimal);
  invariant(amount.ok, "an amount that was read can be parsed");
  return formatAmount(amount.units, decimal);
}

/** @throws AgentError CONFIG_AMOUNT unless the text is "0" or an amount above zero */
const amountOrZeroIn = (text: JsonValue, decimal: number, path: string): string =>
  text === "0" ? text : amountIn(text, decimal, path);

/**
 * The amount that may be missing from a deposit: zero, or below the smallest deposit, so that a
 * payment of nothing completes no deposit.
 * @throws AgentError CONFIG_AMOUNT, CONFIG_VALUE
 */
function toleranceIn(text: JsonValue, least: string, decimal: number, path: string): string {
  if (text === "0") return text;
  const [tolerance, floor] = [
    parseAmount(amountIn(text, decimal, path), decimal),
    parseAmount(least, decimal),
  ];
  if (!tolerance.ok || !floor.ok || tolerance.units >= floor.units)
    throw valueFault(path, "must be below minPaymentAmount");
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
  readonly surplusTolerance: string; // so much more than asked for is never called overpaid
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
  readonly target: NoticeTarget;
  readonly agentAwayMinutes: number;
}

/** A database that several gateways share. */
export interface PostgresPlace {
  readonly address: DatabaseAddress;
  readonly passwordFile: string | null; // path; null: the server asks for no password
}

export interface GatewayConfig {
  readonly listen: {
    readonly host: string;
    readonly port: number;
    readonly tls: { readonly certificate: string; readonly key: string } | null;
  };
  readonly publicUrl: string; // without a slash at the end
  readonly trustProxy: readonly string[]; // addresses or networks of TLS proxies
  readonly database: string; // path of SQLite's file; else the beginning of this gateway's own files
  readonly postgres: PostgresPlace | null; // null: the database is SQLite's file
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
const currency = object(
  {
    ...currencyShape,
    name: string({ min: 1, max: 64 }),
    symbol: string({ min: 1, max: 16 }),
    minPaymentAmount: readAmountLater,
  },
  {
    ...currencyOptions,
    minWithdrawAmount: readAmountLater,
    paymentTolerance: readAmountLater,
    surplusTolerance: readAmountLater,
    enabled: boolean(),
    depositOnly: boolean(),
    market: string({ max: 15, pattern: /^[A-Z0-9]*$/ }),
    listUnpriced: boolean(),
    sweep: readSweepSection,
  },
);

const readPort: Reader<NonNullable<GatewayConfig["metrics"]>> = (value, path) => {
  const place = parseLoopbackPort(string()(value, path));
  if (place === null)
    throw valueFault(path, "must be an address of this machine such as 127.0.0.1:9465");
  return place;
};

const file = object(
  {
    listen: object(
      { host: string({ min: 1, max: 255 }), port: integer({ max: 65_535 }) },
      { tls: object({ certificate: string(), key: string() }) },
    ),
    publicUrl: readBareUrl,
    database: string({ min: 8, max: 4096 }),
    chains: record(chainReader, { keysMax: chainsMax, keyPattern: chainNamePattern }),
    currencies: record(currency, { keysMax: currenciesMax, keyPattern: currencyPattern }),
  },
  {
    trustProxy: list(readNetwork, networksMax),
    databasePasswordFile: string({ min: 1 }),
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
    alerts: object({}, { ...noticeTargetShape, agentAwayMinutes: positiveReader(weekMinutes) }),
    metrics: object({ listen: readPort }),
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
  for (const [name, { preset: _, ...entry }] of Object.entries(chains)) {
    const path = `config.chains.${name}`;
    const chain = { ...entry, ...checkChain(entry, path), ...nodesIn(entry.nodes, base) };
    const { agentNodes = [...new Set(chain.nodes.map(withoutNodeKey))], explorer = "" } = entry;
    result[name] = {
      ...chain,
      preset: presetOf.get(name) ?? "",
      explorer,
      network: networkOf(chain),
      agentNodes,
    };
  }
  checkNetworks(result, "config.chains");
  return result;
}

function currenciesOf(
  currencies: File["currencies"],
  chains: Record<string, GatewayChain>,
  presetOf: PresetOf,
): Record<string, GatewayCurrency> {
  const result: Record<string, GatewayCurrency> = {};
  for (const [id, entry] of Object.entries(currencies)) {
    const path = `config.currencies.${id}`;
    // A native coin may have the line with no text.
    const named = { ...entry, contract: entry.contract === "" ? undefined : entry.contract };
    const contract = readContract(named, path, chains) ?? "";
    const on = chains[entry.chain] as GatewayChain;
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
      surplusTolerance: amountOrZeroIn(
        entry.surplusTolerance ?? "0",
        decimal,
        `${path}.surplusTolerance`,
      ),
      enabled,
      depositOnly: entry.depositOnly ?? false,
      market: entry.market ?? (/^[A-Z0-9]{1,15}$/.test(symbol) ? symbol : ""),
      listUnpriced: entry.listUnpriced ?? false,
      sweep: sweepSettingsOf(entry.sweep, { least: leastSwept(id), isCoin: contract === "" }),
    };
  }
  checkAssets(result, "config.currencies");
  return result;
}

const agentAwayMinutesDefault = 10;
const booksHourDefault = 3;

function alertsOf({
  agentAwayMinutes = agentAwayMinutesDefault,
  ...target
}: NonNullable<File["alerts"]>): GatewayAlerts {
  return { target: noticeTargetOf(target, "config.alerts"), agentAwayMinutes };
}

/** The beginning of the names of a gateway's own files, where its database is elsewhere. */
const filesBesidePostgres = "gateway.postgres";

/**
 * The place of the database. @throws AgentError CONFIG_VALUE, which shows no part of the text
 */
export function parseDatabase(
  text: string,
  base: string,
  passwordFile?: string,
): Pick<GatewayConfig, "database" | "postgres"> {
  const path = "config.database";
  if (isPostgresUrl(text)) {
    const address = parseDatabaseUrl(text);
    if (typeof address === "string") throw valueFault(path, address);
    const { sslRootCert } = address;
    return {
      database: resolve(base, filesBesidePostgres),
      postgres: {
        address: { ...address, sslRootCert: sslRootCert === "" ? "" : resolve(base, sslRootCert) },
        passwordFile: passwordFile === undefined ? null : resolve(base, passwordFile),
      },
    };
  }
  if (passwordFile !== undefined)
    throw valueFault("config.databasePasswordFile", "is for a database of PostgreSQL alone");
  const [, file] = /^sqlite:(.+)$/.exec(text) ?? [];
  if (file === undefined)
    throw valueFault(path, "must be sqlite:PATH or postgres://USER@HOST:PORT/DATABASE");
  return { database: resolve(base, file), postgres: null };
}

/**
 * Reads the text of gateway.config.json. `base` is the folder of its relative paths; `changedAtMs`
 * is when it was written (the age of its manual prices).
 * @throws AgentError CONFIG_* naming the key or the line
 */
export function parseConfig(
  text: string | Uint8Array,
  base: string,
  changedAtMs: number,
): GatewayConfig {
  const { value, chainPreset, currencyPreset } = expandPresetsOfFile(
    parseSettings(readable(text), "", { bytesMax: configBytesMax, keysMax: currenciesMax }),
    "config.",
    presetLines,
  );
  const raw = file(value, "config");
  const chains = chainsOf(raw.chains, chainPreset, base);
  const currencies = currenciesOf(raw.currencies, chains, currencyPreset);
  const tls = raw.listen.tls;
  const trustProxy = raw.trustProxy ?? [];
  if (tls === undefined && trustProxy.length === 0 && !isLoopback(raw.listen.host)) {
    throw valueFault("config.listen", "needs tls, or trustProxy, off loopback");
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
    ...parseDatabase(raw.database, base, raw.databasePasswordFile),
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
    metrics: raw.metrics?.listen ?? null,
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
    throw cause instanceof AgentError ? cause : unreadable(path, reasonOf(cause), cause);
  }
  try {
    return { config: parseConfig(text, dirname(resolve(path)), changedAtMs), text, changedAtMs };
  } catch (cause) {
    if (!(cause instanceof AgentError)) throw cause;
    const { code, message, context } = cause;
    const hint = context.hint === undefined ? {} : { hint: context.hint };
    throw new AgentError(
      "GATEWAY_CONFIG_INVALID",
      "none",
      `${path}: ${message}`,
      { path, code, ...hint },
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

function unreadable(path: string, why: string, cause?: unknown): AgentError {
  const message = `the configuration ${path} cannot be read: ${why}`;
  return new AgentError("GATEWAY_CONFIG_MISSING", "none", message, { path }, { cause });
}

/**
 * Reads time and text from one open file. A running gateway reads it too, at a reload, so nothing
 * here waits: neither for a named pipe nor for the end of a device or of a file of gigabytes.
 */
function readDated(path: string): { readonly text: Uint8Array; readonly changedAtMs: number } {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const file = fstatSync(descriptor);
    if (!file.isFile()) throw unreadable(path, "it is not a file");
    if (file.size > 2 * configBytesMax)
      throw unreadable(path, `it is far longer than ${configBytesMax} bytes`);
    return { changedAtMs: Math.trunc(file.mtimeMs), text: readFileSync(descriptor) };
  } finally {
    closeSync(descriptor);
  }
}
