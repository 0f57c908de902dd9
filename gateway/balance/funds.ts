/**
 * Computes the amount that an agent's hot wallet can still pay: the balance at the last final block
 * read, minus all promised amounts that are not paid at that block. A withdrawal promises its
 * amount, and in the native coin the agent's maxFee, or its fee once that is known. Errors are on
 * the low side: a payment counts twice between its inclusion and our reading of its block. Source:
 * docs/api.md, section on balance.
 */
import { familyOf } from "../../chains/families.ts";
import { parseAmount } from "../../protocol/amount.ts";
import type { PairedCurrency } from "../../protocol/messages.ts";
import type { GatewayConfig, GatewayCurrency } from "../config/config.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { readSpendable } from "../store/balances.ts";
import { unitsMovedAfter } from "../store/journal.ts";
import { createCachedJsonParser } from "../store/parsed-text.ts";
import { listReservedSums } from "../store/reserved.ts";
import type { AgentRow, ReservedRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

export interface Funds {
  readonly block: number; // the last final block that was read
  readonly fundsUnits: bigint; // balance of the hot wallet at that block
  readonly reservedUnits: bigint;
  readonly availableUnits: bigint; // never below 0
}

type Payer = Pick<AgentRow, "accounts" | "currencies">;

const parsedCurrencies = createCachedJsonParser<readonly PairedCurrency[]>();

/** The agent's own currencies, as it paired with them. */
export function pairedCurrencies(agent: Pick<AgentRow, "currencies">): readonly PairedCurrency[] {
  return parsedCurrencies(agent.currencies);
}

/** The currency that pays the fees on a network; undefined if the configuration names none. */
export function nativeCurrencyOf(
  config: Pick<GatewayConfig, "currencies">,
  network: string,
): GatewayCurrency | undefined {
  return Object.values(config.currencies).find(
    (currency) => currency.network === network && currency.contract === "",
  );
}

/**
 * The agent's limit for one withdrawal's fee, in base units of the native coin; 0 for a currency
 * that the agent does not pay.
 */
export function maxFeeUnits(paired: readonly PairedCurrency[], currency: string): bigint {
  const row = paired.find((entry) => entry.id === currency);
  const fee =
    row === undefined ? null : parseAmount(row.maxFee, familyOf(row.network).fees.decimal);
  return fee?.ok === true ? fee.units : 0n;
}

/**
 * The promises of open withdrawals in `currency`: the amounts, and the highest fees if `currency`
 * pays the fees.
 */
function promisedOf(
  currency: GatewayCurrency,
  paired: readonly PairedCurrency[],
  rows: {
    readonly name: string;
    readonly amountUnits: bigint;
    readonly withdrawals: number;
  },
): bigint {
  const [id = "", kind] = rows.name.split(":");
  const isNative = currency.contract === "";
  // A top-up sends the native coin, for any currency's sweep.
  const isOfCurrency = kind === undefined ? id === currency.id : isNative;
  const feeUnits = BigInt(rows.withdrawals) * maxFeeUnits(paired, id);
  return (isOfCurrency ? rows.amountUnits : 0n) + (isNative ? feeUnits : 0n);
}

function reservedOf(
  database: Database,
  agent: Payer,
  currency: GatewayCurrency,
  { block, reserved }: { readonly block: number; readonly reserved: readonly ReservedRow[] },
): bigint {
  const paired = pairedCurrencies(agent);
  const account = hotWalletAddressOn(agent, currency.network);
  let units = 0n;
  for (const row of reserved) {
    units += promisedOf(currency, paired, {
      name: row.currency,
      amountUnits: BigInt(row.units),
      withdrawals: row.withdrawals,
    });
  }
  // A transfer that ended in a later block left the hot wallet, but not the balance that was read.
  const hot = { network: currency.network, address: account, currency: currency.id };
  units += unitsMovedAfter(database, "out", hot, block, ["withdraw", "topup", "fee"]);
  return units;
}

/** The amounts that the agent's hot wallet on a network promises. */
export function reservedAmountsOf(
  database: Database,
  agent: Payer,
  network: string,
): readonly ReservedRow[] {
  return listReservedSums(database, hotWalletAddressOn(agent, network), network);
}

/**
 * Funds in one currency; null until the watcher has read the account. Must run inside the
 * transaction that reserves. `reserved`: `reservedAmountsOf` the agent on the currency's network.
 */
export function fundsOf(
  database: Database,
  agent: Payer,
  currency: GatewayCurrency,
  reserved = reservedAmountsOf(database, agent, currency.network),
): Funds | null {
  const balance = readSpendable(database, hotWalletAddressOn(agent, currency.network), currency.id);
  if (balance === undefined) return null;
  const fundsUnits = BigInt(balance.units);
  const { block } = balance;
  const reservedUnits = reservedOf(database, agent, currency, { block, reserved });
  const boundUnits = reservedUnits + BigInt(balance.unusableUnits);
  return {
    block,
    fundsUnits,
    reservedUnits,
    availableUnits: fundsUnits > boundUnits ? fundsUnits - boundUnits : 0n,
  };
}
