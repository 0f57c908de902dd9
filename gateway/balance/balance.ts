/**
 * GET /balance/{currencyId}: the number of the interface, rounded down to the precision of a
 * double, and exact strings. Source: docs/api.md, section on balance.
 */
import { formatAmount } from "../../protocol/amount.ts";
import { type Answer, jsonAnswer, problemAnswer } from "../answer/answer.ts";
import type { GatewayCurrency } from "../config/config.ts";
import type { Service } from "../service.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { agentOfMerchant } from "../store/agents.ts";
import { unsweepableUnits } from "../store/gone-payments.ts";
import { sumUnsweptUnits, unitsMovedAfter } from "../store/journal.ts";
import type { AgentRow } from "../store/rows.ts";
import { openSweepUnits } from "../store/sweeps.ts";
import { fundsOf, maxFeeUnits, nativeCurrencyOf, pairedCurrencies } from "./funds.ts";

const significantDigits = 15; // any decimal of this length survives conversion to a double and back

/** An amount as a JSON number: plain notation, at most 15 significant digits, rounded down. */
export function balanceNumber(units: bigint, decimal: number): string {
  const digits = units.toString();
  const cut = digits.length - significantDigits;
  const rounded = cut > 0 ? (units / 10n ** BigInt(cut)) * 10n ** BigInt(cut) : units;
  return formatAmount(rounded, decimal);
}

const nothing = { block: 0, fundsUnits: 0n, reservedUnits: 0n, availableUnits: 0n };

/** A merchant's balance of one currency, in amounts of the currency. */
export interface Balance {
  readonly currency: string;
  readonly available: string; // can be paid out now
  readonly pending: string; // on deposit addresses, in final blocks, that no sweep has taken
  readonly sweeping: string; // on its way to the hot wallet
  readonly reserved: string; // promised to open withdrawals
  readonly total: string;
  readonly feeAsset: string;
  readonly feeReserve: string;
  readonly feeSufficient: boolean;
}

/** The balance, the hot wallet's part of it, and the final block of both. */
export interface WalletBalanceReading {
  readonly availableUnits: bigint;
  readonly fundsUnits: bigint; // the hot wallet on the chain, at the block
  readonly block: number;
  readonly balance: Balance;
}

/**
 * Lets the watcher read the merchant's hot wallet in its next pass, because somebody asks for its
 * balance or orders more than it had. Harmless to call again.
 */
export function requestWalletReading(
  { store, signals }: Pick<Service, "store" | "signals">,
  merchant: string,
  network: string,
): void {
  const agent = agentOfMerchant(store.database, merchant);
  const account = hotWalletOf(agent, { network });
  if (account !== "") signals.emit("funds", { network, account });
}

const hotWalletOf = (
  agent: AgentRow | undefined,
  { network }: Pick<GatewayCurrency, "network">,
): string => (agent === undefined ? "" : hotWalletAddressOn(agent, network));

/** Null until the watcher has read the merchant's hot wallet. */
export function balanceOf(
  { config, store }: Pick<Service, "config" | "store">,
  merchant: string,
  currency: GatewayCurrency,
): WalletBalanceReading | null {
  const { database } = store;
  const agent = agentOfMerchant(database, merchant);
  const funds = agent === undefined ? nothing : fundsOf(database, agent, currency);
  if (funds === null) return null;
  // Payments to this merchant's deposit addresses, only in final blocks, that no sweep has taken.
  const pending = sumUnsweptUnits(database, merchant, currency.id);
  const gone = unsweepableUnits(database, merchant, currency.id);
  // The balance that was read does not show yet what came or left in later blocks.
  const hot = {
    network: currency.network,
    address: hotWalletOf(agent, currency),
    currency: currency.id,
  };
  const came = unitsMovedAfter(database, "in", hot, funds.block, ["sweep"]);
  const sweepingAll = openSweepUnits(database, merchant, currency.id) + came;
  const sweeping = sweepingAll > gone ? sweepingAll - gone : 0n;
  const topped = unitsMovedAfter(database, "out", hot, funds.block, ["topup"]);
  const text = (units: bigint): string => formatAmount(units, currency.decimal);
  const native = nativeCurrencyOf(config, currency.network);
  const nativeFunds =
    agent === undefined || native === undefined ? null : fundsOf(database, agent, native);
  const feeUnits = agent === undefined ? 0n : maxFeeUnits(pairedCurrencies(agent), currency.id);
  const { availableUnits, fundsUnits, block } = funds;
  const balance = {
    currency: currency.id,
    available: text(availableUnits),
    pending: text(pending),
    sweeping: text(sweeping),
    reserved: text(funds.reservedUnits),
    total: text(fundsUnits - topped + pending + sweeping),
    feeAsset: native?.id ?? "",
    feeReserve: native === undefined ? "" : formatAmount(feeUnits, native.decimal),
    feeSufficient: nativeFunds !== null && nativeFunds.availableUnits >= feeUnits && feeUnits > 0n,
  };
  return { availableUnits, fundsUnits, block, balance };
}

export function readBalance(service: Service, merchant: string, currencyId: string): Answer {
  const { currencies } = service.config;
  const currency = Object.hasOwn(currencies, currencyId) ? currencies[currencyId] : undefined;
  if (currency === undefined) return problemAnswer("currency_not_found");
  requestWalletReading(service, merchant, currency.network);
  const read = balanceOf(service, merchant, currency);
  if (read === null) return problemAnswer("unavailable", {}, { "Retry-After": "5" });
  // Written by hand, because a serializer would turn a small number into 1e-7.
  return jsonAnswer(
    `{"balance":${balanceNumber(read.availableUnits, currency.decimal)},${JSON.stringify(read.balance).slice(1)}`,
  );
}
