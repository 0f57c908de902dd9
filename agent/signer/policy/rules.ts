/**
 * The agent's own table of currencies and limits, read once from its settings. A currency's chain,
 * contract and decimals come from here and never from a job. Touches nothing.
 */

import { AgentError } from "../../../base/fault.ts";
import { families, familyOf, hasGatewayNodes } from "../../../chains/families.ts";
import type { ConfiguredChain, Family } from "../../../chains/family.ts";
import { parseAmount } from "../../../protocol/amount.ts";
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import type { PairedAccount } from "../../../protocol/messages.ts";
import type { PolicySettings, SignerSettings } from "../../config/settings.ts";

/** A currency as this agent understands it. */
export interface Asset {
  readonly currency: string;
  readonly chain: string; // name in the settings
  readonly chainSettings: ConfiguredChain;
  readonly network: string; // CAIP-2
  readonly family: Family;
  readonly contract: string; // "" native
  readonly decimal: number;
}

/** The limits of one currency, in its base units; fees in those of the fee coin. */
export interface Limits {
  readonly maxPerWithdrawalUnits: bigint;
  readonly maxPerHourUnits: bigint | null; // null: no hourly limit
  readonly maxPerDayUnits: bigint;
  readonly maxFeeUnits: bigint;
  readonly maxFeePerDayUnits: bigint;
  readonly maxTipUnits: bigint;
  readonly holdAboveUnits: bigint | null;
  readonly twoApproversAboveUnits: bigint | null;
  readonly manualReplaceAboveUnits: bigint | null; // null: the courier may order another attempt of any amount
  readonly newDestination: {
    readonly holdAboveUnits: bigint | null;
    readonly delayMs: number;
  } | null;
  readonly allow: ReadonlySet<string>; // if not empty, only these are payable
  readonly deny: ReadonlySet<string>;
}

/** The settings that policy uses. */
export interface Rules {
  readonly assets: ReadonlyMap<string, Asset>; // by currency id
  // by currency id, and by the limit group of its sweeps and of its top-ups; nothing is paid
  // without limits
  readonly limits: ReadonlyMap<string, Limits>;
  readonly own: readonly PairedAccount[]; // the wallet's accounts; empty before the keystore is open
  readonly contracts: ReadonlySet<string>; // every configured token contract of all chains
}

type RulesSettings = Pick<SignerSettings, "chains" | "currencies" | "policy">;

/**
 * Reads settings into rules; `own` are the wallet's accounts.
 * @throws AgentError POLICY_SETTINGS, with the field's path in message and context
 */
export function readRules(settings: RulesSettings, own: readonly PairedAccount[]): Rules {
  const assets = new Map<string, Asset>();
  for (const [currency, entry] of Object.entries(settings.currencies)) {
    const { chain, decimal } = entry;
    const chainSettings = settings.chains[chain];
    if (chainSettings === undefined) throw wrong(`currencies.${currency}.chain`, "names no chain");
    const family = families[chainSettings.family];
    const network = family.networkOf(chainSettings);
    const contract =
      entry.contract === undefined
        ? ""
        : addressAt(network, `currencies.${currency}.contract`, entry.contract);
    assets.set(currency, { currency, chain, chainSettings, network, family, contract, decimal });
  }
  const limits = new Map<string, Limits>();
  for (const [currency, policy] of Object.entries(settings.policy)) {
    const asset = assets.get(currency);
    if (asset === undefined) throw wrong(`policy.${currency}`, "names no currency");
    limits.set(currency, limitsOf(policy, `policy.${currency}`, asset));
    for (const [limitGroup, own] of ownLimits(policy, `policy.${currency}.sweeps`, asset))
      limits.set(limitGroup, own);
  }
  const contracts = new Set(
    [...assets.values()].map((asset) => asset.contract).filter((contract) => contract !== ""),
  );
  return { assets, limits, own, contracts };
}

/** Above every possible amount: a payment between the wallet's own accounts loses only fees. */
const anyUnits = 2n ** 256n;

/**
 * Returns the limits of a currency's sweeps and top-ups; none if sweeps are not allowed. Both pay
 * only the wallet's own accounts, so no operator is asked and no list applies.
 */
function ownLimits(
  policy: PolicySettings,
  path: string,
  { currency, family }: Asset,
): readonly (readonly [string, Limits])[] {
  const { sweeps = {}, maxFee, maxFeePerDay, maxTip } = policy;
  if (sweeps.allowed === false) return [];
  const { decimal, tipDecimal, tipMax } = family.fees;
  const fees = (field: string, text: string): bigint => unitsAt(`${path}.${field}`, text, decimal);
  const sweep: Limits = {
    maxPerWithdrawalUnits: anyUnits,
    maxPerHourUnits: null,
    maxPerDayUnits: anyUnits,
    maxFeeUnits: fees("maxFee", sweeps.maxFee ?? maxFee),
    maxFeePerDayUnits: fees("maxFeePerDay", sweeps.maxFeePerDay ?? maxFeePerDay),
    maxTipUnits: unitsAt(`${path}.maxTip`, maxTip ?? tipMax, tipDecimal),
    holdAboveUnits: null,
    twoApproversAboveUnits: null,
    manualReplaceAboveUnits: null,
    newDestination: null,
    allow: new Set(),
    deny: new Set(),
  };
  const topUp: Limits = {
    ...sweep,
    maxPerWithdrawalUnits: fees("maxTopUp", sweeps.maxTopUp ?? sweeps.maxFee ?? maxFee),
    maxPerDayUnits: fees(
      "maxTopUpPerDay",
      sweeps.maxTopUpPerDay ?? sweeps.maxFeePerDay ?? maxFeePerDay,
    ),
  };
  return [
    [limitGroupOf({ mode: "sweep", currency }), sweep],
    [limitGroupOf({ mode: "topup", currency }), topUp],
  ];
}

function limitsOf(
  policy: PolicySettings,
  path: string,
  { decimal, network, family, chainSettings }: Asset,
): Limits {
  const units = (field: string, text: string): bigint => unitsAt(`${path}.${field}`, text, decimal);
  const fees = (field: string, text: string): bigint =>
    unitsAt(`${path}.${field}`, text, family.fees.decimal);
  const orNull = (field: string, text: string | undefined): bigint | null =>
    text === undefined ? null : units(field, text);
  const addresses = (field: string, list: readonly string[] = []): ReadonlySet<string> =>
    new Set(list.map((address, i) => addressAt(network, `${path}.${field}[${i}]`, address)));
  const { newDestination: fresh } = policy;
  const delayMs = (fresh?.delayMinutes ?? 0) * 60_000;
  return {
    maxPerWithdrawalUnits: units("maxPerWithdrawal", policy.maxPerWithdrawal),
    maxPerHourUnits: orNull("maxPerHour", policy.maxPerHour),
    maxPerDayUnits: units("maxPerDay", policy.maxPerDay),
    maxFeeUnits: fees("maxFee", policy.maxFee),
    maxFeePerDayUnits: fees("maxFeePerDay", policy.maxFeePerDay),
    maxTipUnits: unitsAt(
      `${path}.maxTip`,
      policy.maxTip ?? family.fees.tipMax,
      family.fees.tipDecimal,
    ),
    holdAboveUnits: orNull("holdAbove", policy.holdAbove),
    twoApproversAboveUnits: orNull("twoApproversAbove", policy.twoApproversAbove),
    // If one source makes both statements that an attempt is void, only an operator can order
    // another attempt.
    manualReplaceAboveUnits: isOneSource(chainSettings)
      ? 0n
      : orNull("manualReplaceAbove", policy.manualReplaceAbove),
    newDestination:
      fresh === undefined
        ? null
        : { holdAboveUnits: orNull("newDestination.holdAbove", fresh.holdAbove), delayMs },
    allow: addresses("allow", policy.allow),
    deny: addresses("deny", policy.deny),
  };
}

/** True if the chain has exclusion by expiry and its nodes come from the gateway's service. */
function isOneSource(chain: ConfiguredChain): boolean {
  return families[chain.family].exclusion.kind === "expiry" && hasGatewayNodes(chain);
}

function unitsAt(path: string, text: string, decimal: number): bigint {
  const amount = parseAmount(text, decimal);
  if (amount.ok) return amount.units;
  // A withdrawal of zero is refused as an amount; a limit of zero is intended, and pays nothing.
  if (amount.code === "AMOUNT_ZERO") return 0n;
  throw wrong(path, `is not an amount (${amount.code})`);
}

function addressAt(network: string, path: string, text: string): string {
  const parsed = familyOf(network).parseAddress(text, network);
  if (!parsed.ok) throw wrong(path, `is not an address (${parsed.code})`);
  return parsed.address;
}

function wrong(path: string, problem: string): AgentError {
  return new AgentError("POLICY_SETTINGS", "none", `${path} ${problem}`, { path });
}
