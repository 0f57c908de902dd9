/**
 * What an agent's hot account can still pay: its funds at the last final block the watcher has read, less everything promised that
 * this block has not consumed yet. A withdrawal promises its amount, and beside it the agent's own maxFee in the native coin.
 * Errs on the low side: a payment between inclusion and our reading of it counts twice. Source: docs/api.md, section on balance.
 */
import { nativeDecimal } from "../../chains/evm/network.ts";
import { parseAmount } from "../../protocol/amount.ts";
import type { PairedCurrency } from "../../protocol/messages.ts";
import type { GatewayConfig, GatewayCurrency } from "../config.ts";
import type { AgentRow, BalanceRow, TransactionRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

/** @public */
export interface Funds {
  readonly fundsUnits: bigint; // of the hot account at the last final block
  readonly reservedUnits: bigint;
  readonly availableUnits: bigint; // never below 0
}

/**
 * The agent's own rows, as it paired with them.
 * @public
 */
export function pairedCurrencies(agent: AgentRow): readonly PairedCurrency[] {
  return JSON.parse(agent.currencies) as readonly PairedCurrency[];
}

/**
 * The currency that pays the fees on a network; undefined when the configuration names none.
 * @public
 */
export function nativeOf(config: GatewayConfig, network: string): GatewayCurrency | undefined {
  return Object.values(config.currencies).find((currency) => currency.network === network && currency.contract === "");
}

/**
 * The agent's ceiling for one withdrawal's fee, in base units of the native coin; 0 for a currency it does not pay.
 * @public
 */
export function maxFeeUnits(paired: readonly PairedCurrency[], currency: string): bigint {
  const row = paired.find((entry) => entry.id === currency);
  const fee = row === undefined ? null : parseAmount(row.maxFee, nativeDecimal);
  return fee?.ok === true ? fee.units : 0n;
}

type Promised = Pick<TransactionRow, "currency" | "amountUnits" | "status">;

function promisedUnits(rows: readonly Promised[], currency: GatewayCurrency, paired: readonly PairedCurrency[]): bigint {
  let units = 0n;
  for (const row of rows) {
    // A failed one that was on chain has spent its fee and nothing else.
    if (row.currency === currency.id && row.status !== 2) units += BigInt(row.amountUnits);
    if (currency.contract === "") units += maxFeeUnits(paired, row.currency);
  }
  return units;
}

/**
 * Funds of one currency; null while the watcher has not read the account yet. Read it inside the transaction that reserves.
 * @public
 */
export function fundsOf(database: Database, agent: AgentRow, currency: GatewayCurrency): Funds | null {
  const balance = database.get<BalanceRow>(
    "SELECT * FROM balances WHERE account = ? AND currency = ?",
    agent.hotAddress,
    currency.id,
  );
  if (balance === undefined) return null;
  const open = database.all<Promised>(
    "SELECT currency, amountUnits, status FROM transactions WHERE operation = 'withdraw' AND status = 0 AND depositAddress = ? AND network = ?",
    agent.hotAddress,
    currency.network,
  );
  const notConsumed = database.all<Promised>(
    "SELECT currency, amountUnits, status FROM transactions WHERE operation = 'withdraw' AND status <> 0 AND depositAddress = ? AND network = ? AND finalBlock > ?",
    agent.hotAddress,
    currency.network,
    balance.block,
  );
  const fundsUnits = BigInt(balance.units);
  const reservedUnits = promisedUnits([...open, ...notConsumed], currency, pairedCurrencies(agent));
  return { fundsUnits, reservedUnits, availableUnits: fundsUnits > reservedUnits ? fundsUnits - reservedUnits : 0n };
}

/**
 * Units paid to this merchant's deposit addresses, in final blocks only, and not swept to the hot account.
 * @public
 */
export function pendingUnits(database: Database, merchant: string, currency: string): bigint {
  const rows = database.all<{ units: string }>(
    "SELECT payments.units FROM payments JOIN transactions ON transactions.id = payments.transactionId WHERE transactions.merchant = ? AND payments.currency = ? AND payments.final = 1",
    merchant,
    currency,
  );
  return rows.reduce((sum, row) => sum + BigInt(row.units), 0n);
}
