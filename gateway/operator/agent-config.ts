/**
 * Writes the config.json that the service gives a merchant: chains, currencies and a cautious
 * policy, complete except for the three secrets. Limits are worth a fixed number of dollars if a
 * price is known, else multiples of the smallest withdrawal. Source: docs/gateway.md.
 */

import type { JsonObject } from "../../base/json.ts";
import { expiryExclusionOf, familyOf } from "../../chains/families.ts";
import { findChainPreset, findCurrencyPreset, linesUnlikePreset } from "../../chains/presets.ts";
import { isNetworkInSignedBytes } from "../../chains/several-networks.ts";
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import type { GatewayChain, GatewayConfig, GatewayCurrency } from "../config/config.ts";

const priceDecimal = 18;
const usd = {
  perWithdrawal: 5_000n,
  perHour: 15_000n,
  perDay: 50_000n,
  hold: 3_000n,
  fee: 30n,
  feePerDay: 600n,
};
const multiples = { perWithdrawal: 1_000n, perHour: 3_000n, perDay: 10_000n, hold: 600n };

/**
 * Rounds down to two significant digits, so that the limit is easy to read; never below one unit.
 */
function rounded(units: bigint): bigint {
  const digits = units.toString().length;
  const grain = 10n ** BigInt(Math.max(0, digits - 2));
  const down = (units / grain) * grain;
  return down > 0n ? down : 1n;
}

function priceUnits(config: GatewayConfig, currency: GatewayCurrency): bigint | null {
  const price = Object.hasOwn(config.prices.manual, currency.id)
    ? config.prices.manual[currency.id]
    : undefined;
  const parsed = price === undefined ? null : parseAmount(price.usd, priceDecimal);
  return parsed?.ok === true ? parsed.units : null;
}

/**
 * The amount of a currency that is worth this many dollars. `price` is in dollars, with 18
 * decimals.
 */
function worth(dollars: bigint, price: bigint, decimal: number): string {
  const units = (dollars * 10n ** BigInt(priceDecimal) * 10n ** BigInt(decimal)) / price;
  return formatAmount(rounded(units), decimal);
}

function limitsOf(config: GatewayConfig, currency: GatewayCurrency): Record<string, string> {
  const price = priceUnits(config, currency);
  const least = parseAmount(currency.minWithdrawAmount, currency.decimal);
  const times = (factor: bigint): string =>
    formatAmount(least.ok ? least.units * factor : factor, currency.decimal);
  const amount = (dollars: bigint, factor: bigint): string =>
    price === null ? times(factor) : worth(dollars, price, currency.decimal);
  return {
    maxPerWithdrawal: amount(usd.perWithdrawal, multiples.perWithdrawal),
    maxPerHour: amount(usd.perHour, multiples.perHour),
    maxPerDay: amount(usd.perDay, multiples.perDay),
    holdAbove: amount(usd.hold, multiples.hold),
    // One tenth of `maxPerWithdrawal`: docs/chains.md.
    ...(expiryExclusionOf(currency.network) === null
      ? {}
      : { manualReplaceAbove: amount(usd.perWithdrawal / 10n, multiples.perWithdrawal / 10n) }),
  };
}

function feesOf(config: GatewayConfig, network: string): Record<string, string> {
  const native = Object.values(config.currencies).find(
    (entry) => entry.network === network && entry.contract === "",
  );
  const price = native === undefined ? null : priceUnits(config, native);
  const { decimal, ceilings } = familyOf(network).fees;
  if (price === null) {
    const chain = Object.values(config.chains).find((entry) => entry.network === network);
    const { maxFee, maxFeePerDay } = findChainPreset(chain?.preset ?? "") ?? ceilings;
    return { maxFee, maxFeePerDay };
  }
  return {
    maxFee: worth(usd.fee, price, decimal),
    maxFeePerDay: worth(usd.feePerDay, price, decimal),
  };
}

/**
 * Writes a chain. A preset stays a preset: the agent then takes chain id and contracts from its own
 * software. Lines that differ from the preset are written as well, so that the operator sees them.
 */
function chainLines(
  { family, chainId, confirmations, feeModel, preset, agentNodes }: GatewayChain,
  hasNodes: boolean,
): JsonObject {
  const lines = { family, chainId, confirmations, ...(feeModel === undefined ? {} : { feeModel }) };
  // A merchant that fills in the list names its own nodes.
  const nodes = hasNodes
    ? { nodes: agentNodes, nodesFrom: "gateway" }
    : { nodes: [], nodesFrom: "own" };
  const known = findChainPreset(preset);
  if (known === undefined) return { ...lines, ...nodes };
  return { preset, ...nodes, ...linesUnlikePreset(known.lines, lines) };
}

function currencyLines({ chain, decimal, contract, preset }: GatewayCurrency): JsonObject {
  const lines = contract === "" ? { decimal } : { decimal, contract };
  const known = findCurrencyPreset(preset);
  if (known === undefined) return { chain, ...lines };
  return { preset, chain, ...linesUnlikePreset({ ...known.lines }, lines) };
}

/**
 * The networks that one wallet may pay on: all of them. But of a family whose transactions name no
 * network, only the first.
 */
function payableNetworks({ chains }: GatewayConfig): ReadonlySet<string> {
  const all = Object.values(chains);
  const isFirst = ({ family, network }: GatewayChain): boolean =>
    all.find((other) => other.family === family)?.network === network;
  return new Set(
    all
      .filter((chain) => isNetworkInSignedBytes(chain.network) || isFirst(chain))
      .map(({ network }) => network),
  );
}

/**
 * The text of config.json for an agent of this gateway, without disabled currencies, and without
 * networks that one wallet must not combine. Its nodes are marked as the gateway's. Without
 * `hasNodes` the merchant fills in its own nodes.
 */
export function agentConfigText(config: GatewayConfig, hasNodes = true): string {
  const payable = payableNetworks(config);
  const currencies = Object.values(config.currencies).filter(
    ({ enabled, network }) => enabled && payable.has(network),
  );
  const kept = Object.entries(config.chains).filter(([, { network }]) => payable.has(network));
  const chains = kept.map(([name, chain]) => [name, chainLines(chain, hasNodes)] as const);
  const file = {
    gatewayUrl: config.publicUrl,
    mnemonic: "<MNEMONIC>",
    apiKey: "<API_KEY>",
    encKey: "<ENCRYPTION_KEY>",
    chains: Object.fromEntries(chains),
    currencies: Object.fromEntries(
      currencies.map((currency) => [currency.id, currencyLines(currency)]),
    ),
    policy: Object.fromEntries(
      currencies.map((currency) => [
        currency.id,
        { ...limitsOf(config, currency), ...feesOf(config, currency.network) },
      ]),
    ),
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}
