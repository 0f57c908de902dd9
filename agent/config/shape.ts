/**
 * Reads config.json field by field. Every field is known, bounded and checked against the others;
 * each mistake has its own code and names its place. Pure: value in, settings out.
 */
import { isAbsolute } from "node:path";
import type { JsonValue } from "../../base/json.ts";
import {
  chainNamePattern,
  configFault,
  leavesInPlainText,
  noticeTargetOf,
  noticeTargetShape,
  parseLoopbackPort,
  parseUrl,
  settings,
  weekMinutes,
} from "../../base/settings.ts";
import type { Reader } from "../../base/shape.ts";
import { families, networkOf } from "../../chains/families.ts";
import type { ConfiguredChain } from "../../chains/family.ts";
import { serverLinesByAddress } from "../../chains/server-lines.ts";
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
  readAddress,
  readAmount,
  readContract,
  readPositiveAmount,
} from "../../chains/settings.ts";
import { isNetworkInSignedBytes } from "../../chains/several-networks.ts";
import { currencyPattern } from "../../protocol/fields.ts";
import { readNetworkSettings } from "./network.ts";
import type {
  AgentSettings,
  ChainSettings,
  CurrencySettings,
  MetricsSettings,
  NotifySettings,
  PolicySettings,
  SweepSettings,
} from "./settings.ts";

const { boolean, integer, list, object, oneOf, record, string, valueFault } = settings;

/** The value as it is, for a field that other settings decide on. */
const readLater: Reader<JsonValue> = (value) => value;
const minutes = integer({ min: 1, max: weekMinutes });

/*
 * `notify` and `metrics`: the receiver of events, and the address of the metrics. docs/events.md.
 */

const stuckMinutesDefault = 30;
const awayMinutesDefault = 10;

const notifyShape = object(
  {},
  { ...noticeTargetShape, stuckMinutes: minutes, awayMinutes: minutes, lowFunds: readLater },
);

/** @throws AgentError CONFIG_* */
export function readNotify(
  value: JsonValue,
  currencies: Readonly<Record<string, CurrencySettings>>,
): NotifySettings {
  const {
    stuckMinutes = stuckMinutesDefault,
    awayMinutes = awayMinutesDefault,
    lowFunds = {},
    ...target
  } = notifyShape(value, "notify");
  return {
    target: noticeTargetOf(target, "notify"),
    stuckMinutes,
    awayMinutes,
    lowFunds: readByCurrency(lowFunds, "notify.lowFunds", currencies, (amount, path, { decimal }) =>
      readPositiveAmount(amount, path, decimal),
    ),
  };
}

/** An object with a value for each of some currencies. */
function readByCurrency<T>(
  value: JsonValue,
  path: string,
  currencies: Readonly<Record<string, CurrencySettings>>,
  read: (value: JsonValue, path: string, currency: CurrencySettings) => T,
): Readonly<Record<string, T>> {
  const readers = Object.entries(currencies).map(([id, currency]): readonly [string, Reader<T>] => [
    id,
    (entry, at) => read(entry, at, currency),
  ]);
  return object({}, Object.fromEntries(readers))(value, path) as Readonly<Record<string, T>>;
}

/** @throws AgentError CONFIG_* */
export function readMetrics(value: JsonValue): MetricsSettings {
  const { listen } = object({ listen: string() })(value, "metrics");
  if (listen === "unix") return { listen: { kind: "unix" } };
  const place = parseLoopbackPort(listen);
  if (place === null)
    throw valueFault(
      "metrics.listen",
      'must be "unix", or an address of this machine such as 127.0.0.1:9464',
    );
  return { listen: { kind: "tcp", ...place } };
}

/* The chains, with nodes whose files have paths from the root. */

const readHeadersFile: Reader<string> = (value, path) => {
  const text = string()(value, path);
  if (isAbsolute(text)) return text;
  throw valueFault(path, "must be a path from the root, such as /etc/crypto/node.headers");
};

const chainReader = object(
  { ...chainShape, nodes: createNodesReader(readHeadersFile) },
  { ...chainOptions, nodesFrom: oneOf("own", "gateway") },
);

const readChain: Reader<ChainSettings> = (value, path) => {
  const { preset: _, nodes: lines, ...chain } = chainReader(value, path);
  const { family, confirmations, nodesFrom } = chain;
  return {
    family,
    ...checkChain(chain, path),
    nodes: lines.map(({ url }) => url),
    ...serverLinesByAddress(lines),
    confirmations,
    ...(nodesFrom === undefined ? {} : { nodesFrom }),
  };
};

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

const currencyReader = object(currencyShape, currencyOptions);

function readCurrency(
  { chain, decimal, contract: given }: ReturnType<typeof currencyReader>,
  path: string,
  chains: Readonly<Record<string, ChainSettings>>,
): CurrencySettings {
  const contract = readContract({ chain, decimal, contract: given }, path, chains);
  return contract === undefined ? { chain, decimal } : { chain, decimal, contract };
}

/*
 * The policy of a currency. Its amounts are read with the decimals of the currency and its chain.
 */

const addressesMax = 4096;

function policyReader(currency: CurrencySettings, chain: ConfiguredChain): Reader<PolicySettings> {
  const { decimal, tipDecimal, tipUnit } = families[chain.family].fees;
  const amount: Reader<string> = (value, path) => readAmount(value, path, currency.decimal);
  const fee: Reader<string> = (value, path) => readAmount(value, path, decimal);
  const tip: Reader<string> = (value, path) => {
    if (tipUnit !== "") return readAmount(value, path, tipDecimal);
    throw valueFault(
      path,
      "is for chains where a block producer is offered a tip, and on this one nobody is: leave it out",
    );
  };
  const addresses = list<string>(
    (value, path) => readAddress(chain, string()(value, path), path, "CONFIG_ADDRESS"),
    addressesMax,
  );
  return object(
    { maxPerWithdrawal: amount, maxPerDay: amount, maxFee: fee, maxFeePerDay: fee },
    {
      maxPerHour: amount,
      holdAbove: amount,
      twoApproversAbove: amount,
      manualReplaceAbove: amount,
      maxTip: tip,
      allow: addresses,
      deny: addresses,
      newDestination: newDestinationReader(amount),
      sweeps: sweepsReader(fee),
    },
  );
}

function newDestinationReader(
  amount: Reader<string>,
): Reader<NonNullable<PolicySettings["newDestination"]>> {
  // The gateway waits no longer than a week for an operator.
  const read = object({}, { holdAbove: amount, delayMinutes: minutes });
  return (value, path) => {
    const rule = read(value, path);
    if (Object.keys(rule).length > 0) return rule;
    throw configFault("CONFIG_MISSING_KEY", `${path} needs holdAbove, delayMinutes or both`);
  };
}

function sweepsReader(fee: Reader<string>): Reader<SweepSettings> {
  return object(
    {},
    { allowed: boolean(), maxFee: fee, maxFeePerDay: fee, maxTopUp: fee, maxTopUpPerDay: fee },
  );
}

/* The whole file. */

/** The keys of config.json that are secrets. */
export const secretNames = ["mnemonic", "apiKey", "encKey"] as const;

/**
 * A chain's own final block comes after a quarter of an hour; the rest is for full blocks and
 * unreachable nodes.
 */
const stuckAfterMinutesDefault = 60;

const secret = string({ max: Number.MAX_SAFE_INTEGER });

const readGatewayUrl: Reader<string> = (value, path) => {
  const url = parseUrl(string()(value, path));
  if (url === null)
    throw configFault("CONFIG_GATEWAY_URL", `${path} is not an http or https address`);
  if (
    url.username !== "" ||
    url.password !== "" ||
    url.pathname !== "/" ||
    url.search !== "" ||
    url.hash !== ""
  )
    throw configFault(
      "CONFIG_GATEWAY_URL",
      `${path} must be scheme, host and port alone, such as https://pay.example.com`,
    );
  if (leavesInPlainText(url))
    throw configFault(
      "CONFIG_GATEWAY_PLAINTEXT",
      `${path} is http, and ${url.hostname} is not this machine`,
    );
  return url.origin;
};

function notEmpty<T>(reader: Reader<Readonly<Record<string, T>>>): typeof reader {
  return (value, path) => {
    const read = reader(value, path);
    if (Object.keys(read).length === 0) throw valueFault(path, "is empty");
    return read;
  };
}

const file = object(
  {
    gatewayUrl: readGatewayUrl,
    chains: notEmpty(record(readChain, { keysMax: chainsMax, keyPattern: chainNamePattern })),
    currencies: notEmpty(
      record(currencyReader, { keysMax: currenciesMax, keyPattern: currencyPattern }),
    ),
    policy: readLater,
  },
  {
    mnemonic: secret,
    apiKey: secret,
    encKey: secret,
    stuckAfterMinutes: minutes,
    notify: readLater,
    metrics: readMetrics,
    network: readNetworkSettings,
  },
);

const presetLines = {
  chainLines: [...Object.keys(chainShape), "feeModel"],
  currencyLines: ["chain", "decimal", "contract"],
};

/** Reads the complete file. Checks only the type of a secret. @throws AgentError CONFIG_* */
export function readSettings(value: JsonValue): AgentSettings {
  const { chains, ...given } = file(expandPresetsOfFile(value, "", presetLines).value, "");
  checkNetworks(chains, "chains");
  oneOfEachUnnamed(chains);
  const currencies: Record<string, CurrencySettings> = Object.create(null);
  for (const [id, currency] of Object.entries(given.currencies))
    currencies[id] = readCurrency(currency, `currencies.${id}`, chains);
  checkAssets(currencies, "currencies");
  const { metrics, network, stuckAfterMinutes = stuckAfterMinutesDefault } = given;
  return {
    gatewayUrl: given.gatewayUrl,
    chains,
    currencies,
    policy: readPolicies(given.policy, currencies, chains),
    stuckAfterMinutes,
    ...(given.notify === undefined ? {} : { notify: readNotify(given.notify, currencies) }),
    ...(metrics === undefined ? {} : { metrics }),
    ...(network === undefined ? {} : { network }),
  };
}

function readPolicies(
  value: JsonValue,
  currencies: Readonly<Record<string, CurrencySettings>>,
  chains: Readonly<Record<string, ChainSettings>>,
): AgentSettings["policy"] {
  const raw = record(readLater, { keysMax: currenciesMax, keyPattern: currencyPattern });
  const policy: Record<string, PolicySettings> = Object.create(null);
  for (const [id, entry] of Object.entries(raw(value, "policy"))) {
    const currency = currencies[id];
    const path = `policy.${id}`;
    if (currency === undefined)
      throw configFault(
        "CONFIG_POLICY_CURRENCY",
        `${path}: there is no currency ${id}`,
        Object.keys(currencies),
        id,
      );
    policy[id] = policyReader(currency, chains[currency.chain] as ChainSettings)(entry, path);
  }
  return policy;
}
