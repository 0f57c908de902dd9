/**
 * GET /balance/{currencyId}: the number of the interface, rounded down to the precision of a
 * double, and exact strings. Source: docs/api.md, section on balance.
 */
import { formatAmount } from "../../protocol/amount.ts";
import { type Answer, json, say } from "../answer/answer.ts";
import type { Service } from "../service.ts";
import { agentOfMerchant } from "../store/agents.ts";
import { sweepingUnits, toppedUnitsAfter } from "../store/sweeps.ts";
import { heldUnitsOf } from "../store/unswept-balances.ts";
import { fundsOf, maxFeeUnits, nativeOf, pairedCurrencies } from "./funds.ts";

const significantDigits = 15; // any decimal of this length survives conversion to a double and back

/** An amount as a JSON number: plain notation, at most 15 significant digits, rounded down. */
export function balanceNumber(units: bigint, decimal: number): string {
  const digits = units.toString();
  const cut = digits.length - significantDigits;
  const rounded = cut > 0 ? (units / 10n ** BigInt(cut)) * 10n ** BigInt(cut) : units;
  return formatAmount(rounded, decimal);
}

const nothing = { block: 0, fundsUnits: 0n, reservedUnits: 0n, availableUnits: 0n };

export function readBalance(service: Service, merchant: string, currencyId: string): Answer {
  const { config, store } = service;
  const currency = Object.hasOwn(config.currencies, currencyId) ? config.currencies[currencyId] : undefined;
  if (currency === undefined) return say("currency_not_found");
  const { database } = store;
  const agent = agentOfMerchant(database, merchant);
  const funds = agent === undefined ? nothing : fundsOf(database, agent, currency);
  if (funds === null) return say("unavailable", {}, { "Retry-After": "5" });
  // Payments to this merchant's deposit addresses, only in final blocks, that no sweep has taken.
  const pending = heldUnitsOf(database, merchant, currency.id);
  const sweeping = sweepingUnits(database, merchant, currency.id, funds.block);
  const topped = currency.contract === "" ? toppedUnitsAfter(database, merchant, currency.network, funds.block) : 0n;
  const text = (units: bigint): string => formatAmount(units, currency.decimal);
  const native = nativeOf(config, currency.network);
  const nativeFunds = agent === undefined || native === undefined ? null : fundsOf(database, agent, native);
  const feeUnits = agent === undefined ? 0n : maxFeeUnits(pairedCurrencies(agent), currency.id);
  const exact = {
    currency: currency.id,
    available: text(funds.availableUnits),
    pending: text(pending),
    sweeping: text(sweeping),
    reserved: text(funds.reservedUnits),
    total: text(funds.fundsUnits - topped + pending + sweeping),
    feeAsset: native?.id ?? "",
    feeReserve: native === undefined ? "" : formatAmount(feeUnits, native.decimal),
    feeSufficient: nativeFunds !== null && nativeFunds.availableUnits >= feeUnits && feeUnits > 0n,
  };
  // Written by hand, because a serializer would turn a small number into 1e-7.
  return json(`{"balance":${balanceNumber(funds.availableUnits, currency.decimal)},${JSON.stringify(exact).slice(1)}`);
}
