/**
 * The checks of a new withdrawal before anything is stored, in the order of their answers:
 * currency, amount, address, agent, funds. Runs inside the transaction that reserves, so that two
 * requests never count the same funds. Sources: docs/api.md, Errors and Balance.
 */
import { familyOf } from "../../chains/families.ts";
import { hasTags, payeeOf } from "../../chains/payees.ts";
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import { type Answer, isAnswer, problemAnswer } from "../answer/answer.ts";
import type { Order } from "../answer/body.ts";
import type { AnswerCode } from "../answer/messages.ts";
import {
  fundsOf,
  maxFeeUnits,
  nativeCurrencyOf,
  pairedCurrencies,
  reservedAmountsOf,
} from "../balance/funds.ts";
import type { GatewayConfig, GatewayCurrency } from "../config/config.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { agentOfMerchant, type PayingAgent, payingAgentOf } from "../store/agents.ts";
import { currencyHoldOf } from "../store/currency-holds.ts";
import { isDepositAddressOf } from "../store/deposit-addresses.ts";
import { undecidedUnits } from "../store/gone-payments.ts";
import { listSuspectTransactions } from "../store/outgoing-holds.ts";
import type { AgentRow, ReservedRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { readTransactionOf, unrefundedUnits } from "../store/transactions.ts";

/** Results of the checks. */
export interface CheckedOrder {
  readonly agent: PayingAgent;
  readonly currency: GatewayCurrency;
  readonly amountUnits: bigint;
}

/** Results of the checks of a new withdrawal. */
export interface CheckedWithdrawal extends CheckedOrder {
  /** Sums of the agent's hot wallet on the network, as this transaction has read them. */
  readonly reserved: readonly ReservedRow[];
}

/** The currency of this id, if orders can use it. */
export function checkCurrency(config: GatewayConfig, id: string): GatewayCurrency | Answer {
  const currency = Object.hasOwn(config.currencies, id) ? config.currencies[id] : undefined;
  if (currency === undefined) return problemAnswer("currency_unknown", { field: "currency" });
  return currency.enabled ? currency : problemAnswer("currency_disabled", { field: "currency" });
}

/**
 * An order's currency and amount in base units, or the answer that refuses it. `minimum` is the
 * operation's own.
 */
export function checkAmount(
  config: GatewayConfig,
  order: Pick<Order, "currency" | "amount">,
  minimum: "minPaymentAmount" | "minWithdrawAmount",
): { readonly currency: GatewayCurrency; readonly amountUnits: bigint } | Answer {
  const currency = checkCurrency(config, order.currency);
  if (isAnswer(currency)) return currency;
  const amount = parseAmount(order.amount, currency.decimal);
  if (!amount.ok)
    return problemAnswer(
      amount.code === "AMOUNT_PRECISION" ? "amount_precision" : "amount_format",
      {
        field: "amount",
      },
    );
  const least = parseAmount(currency[minimum], currency.decimal);
  if (least.ok && amount.units < least.units)
    return problemAnswer("amount_below_minimum", { field: "amount", minimum: currency[minimum] });
  return { currency, amountUnits: amount.units };
}

/** The merchant's agent, or `without` as the answer. */
export function requirePairedAgent(
  database: Database,
  merchant: string,
  without: AnswerCode,
): AgentRow | Answer {
  return agentOfMerchant(database, merchant) ?? problemAnswer(without);
}

/**
 * Finds a destination that would lose the money or pay the agent itself: a token's own contract, or
 * the agent's own addresses.
 */
function badPlace(
  database: Database,
  config: GatewayConfig,
  { agent, address, network }: Place,
): "address_own" | "address_contract" | null {
  if (agent !== null && address === hotWalletAddressOn(agent, network)) return "address_own";
  const contracts = Object.values(config.currencies).filter(
    (currency) => currency.network === network,
  );
  if (contracts.some((currency) => currency.contract === address)) return "address_contract";
  return agent !== null && isDepositAddressOf(database, address, agent.id) ? "address_own" : null;
}

/** A destination, and the agent that would pay it; null for a merchant without one. */
interface Place {
  readonly agent: Pick<AgentRow, "id" | "accounts"> | null;
  readonly address: string;
  readonly network: string;
}

/** The reason why a destination is refused; null for a good one. */
export function destinationProblem(
  database: Database,
  config: GatewayConfig,
  { agent, address, network }: Place,
): {
  readonly code: "address_invalid" | "address_own" | "address_contract";
  readonly reason: string;
} | null {
  const family = familyOf(network);
  const parsed = family.parseAddress(address, network);
  if (!parsed.ok) return { code: "address_invalid", reason: parsed.code };
  if (family.isReserved(parsed.address))
    return { code: "address_invalid", reason: "ADDRESS_RESERVED" };
  const bad = badPlace(database, config, { agent, address: parsed.address, network });
  return bad === null ? null : { code: bad, reason: "" };
}

/** The reason why an order's tag is refused; null for a good one and for none. */
function tagProblem(
  { address, tag }: Order,
  network: string,
): "tag_invalid" | "tag_not_supported" | null {
  if (tag === "") return null;
  // An address that holds the order's own tag was taken apart before.
  if (payeeOf(network, address).tag !== "") return "tag_invalid";
  if (familyOf(network).readTag(tag) === tag) return null;
  return hasTags(network) ? "tag_invalid" : "tag_not_supported";
}

function checkAddress(
  database: Database,
  config: GatewayConfig,
  agent: PayingAgent,
  order: Order,
  network: string,
): Answer | null {
  if (order.address === "") return null;
  const fault = destinationProblem(database, config, { agent, address: order.address, network });
  if (fault === null) return null;
  const { code, reason } = fault;
  return problemAnswer(code, { field: "address", ...(reason === "" ? {} : { reason }) });
}

function checkFunds(
  database: Database,
  config: GatewayConfig,
  checked: CheckedWithdrawal,
): Answer | null {
  const { agent, currency, amountUnits, reserved } = checked;
  const native = nativeCurrencyOf(config, currency.network);
  const feeUnits = maxFeeUnits(pairedCurrencies(agent), currency.id);
  const needed = currency.id === native?.id ? amountUnits + feeUnits : amountUnits;
  const funds = fundsOf(database, agent, currency, reserved);
  const nativeFunds =
    native === undefined || native.id === currency.id
      ? undefined
      : fundsOf(database, agent, native, reserved);
  if (funds === null || nativeFunds === null)
    return problemAnswer("unavailable", {}, { "Retry-After": "5" });
  if (funds.availableUnits < needed) {
    const available = formatAmount(funds.availableUnits, currency.decimal);
    return problemAnswer("balance_insufficient", {
      currency: currency.id,
      available,
      needed: formatAmount(needed, currency.decimal),
    });
  }
  if (native === undefined || nativeFunds === undefined || nativeFunds.availableUnits >= feeUnits)
    return null;
  const available = formatAmount(nativeFunds.availableUnits, native.decimal);
  return problemAnswer("balance_insufficient", {
    currency: native.id,
    available,
    needed: formatAmount(feeUnits, native.decimal),
  });
}

/**
 * True if the agent was paired with exactly this currency: the same asset with the same decimals.
 */
export function canPay(
  agent: Pick<AgentRow, "currencies">,
  { id, network, contract, decimal }: GatewayCurrency,
): boolean {
  const paired = pairedCurrencies(agent).find((entry) => entry.id === id);
  return paired?.network === network && paired.contract === contract && paired.decimal === decimal;
}

/**
 * The answer that refuses a withdrawal as a refund; null for a good one, and for one that pays no
 * deposit back. All refunds of a deposit together are at most what it received, so that one
 * customer's money is never paid back twice under two orders. Those of an open deposit count as not
 * received from then on (watcher/credit.ts).
 */
export function checkRefund(
  database: Database,
  refund: CheckedOrder & { readonly merchant: string; readonly refundOf: string },
): Answer | null {
  const { merchant, refundOf, currency, amountUnits } = refund;
  if (refundOf === "") return null;
  const deposit = readTransactionOf(database, { id: refundOf, merchant, operation: "deposit" });
  if (deposit === undefined || deposit.currency !== currency.id)
    return problemAnswer("refund_invalid", { field: "refundOf" });
  // Money that left the chain is paid back to nobody before an operator has decided on it.
  const units = unrefundedUnits(database, deposit) - undecidedUnits(database, deposit);
  const leftUnits = units > 0n ? units : 0n;
  if (amountUnits <= leftUnits) return null;
  return problemAnswer("refund_above_received", {
    field: "refundOf",
    available: formatAmount(leftUnits, currency.decimal),
  });
}

/** Runs all checks of a new withdrawal; the first that fails gives the answer. */
export function checkWithdrawal(
  database: Database,
  config: GatewayConfig,
  request: { readonly merchant: string; readonly mode: "auto" | "manual" },
  order: Order,
): CheckedWithdrawal | Answer {
  const amount = checkAmount(config, order, "minWithdrawAmount");
  if ("kind" in amount) return amount;
  const { currency, amountUnits } = amount;
  const tag = tagProblem(order, currency.network);
  if (tag !== null) return problemAnswer(tag, { field: "tag" });
  const agent = payingAgentOf(database, request.merchant);
  if (agent === undefined) return problemAnswer("agent_not_paired");
  const address = checkAddress(database, config, agent, order, currency.network);
  if (address !== null) return address;
  if (!canPay(agent, currency)) return problemAnswer("currency_not_payable", { field: "currency" });
  if (currencyHoldOf(database, currency.id, request.merchant) !== undefined)
    return problemAnswer("unavailable", { reason: "currency_held" }, { "Retry-After": "60" });
  const checked = {
    agent,
    currency,
    amountUnits,
    reserved: reservedAmountsOf(database, agent, currency.network),
  };
  const refusal = checkFunds(database, config, checked);
  return refusal === null || isPaidBefore(database, request, order, checked) ? checked : refusal;
}

/**
 * True if the chain shows what the order asks for as paid already. It is held then (holds.ts), so
 * it needs no funds, and the payment itself may be what the wallet lacks now.
 */
function isPaidBefore(
  database: Database,
  { merchant }: { readonly merchant: string },
  { orderId, renew, address, tag }: Order,
  { agent, currency: { network, contract }, amountUnits }: CheckedOrder,
): boolean {
  const asked = {
    transactionId: deriveOrderTransactionId({
      merchant,
      operation: "withdraw",
      orderId,
      renews: renew,
    }),
    network,
    account: hotWalletAddressOn(agent, network),
    receiver: address,
    tag,
    contract,
    units: `${amountUnits}`,
  };
  return listSuspectTransactions(database, asked).length > 0;
}
