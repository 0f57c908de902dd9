/**
 * Two questions before a withdrawal: its probable fee, and whether an address can be paid. Both
 * read the database alone and promise nothing, because the agent decides by its own policy. Source:
 * docs/api.md, Before a withdrawal.
 */
import { parseAddress } from "../../chains/address-forms.ts";
import { familyOf } from "../../chains/families.ts";
import { payeeOf } from "../../chains/payees.ts";
import { formatAmount } from "../../protocol/amount.ts";
import { type Answer, dataAnswer, isAnswer, problemAnswer } from "../answer/answer.ts";
import { maxFeeUnits, nativeCurrencyOf, pairedCurrencies } from "../balance/funds.ts";
import type { Service } from "../service.ts";
import { agentOfMerchant } from "../store/agents.ts";
import { newestFees } from "../store/withdrawals.ts";
import { canPay, checkCurrency, destinationProblem } from "./checks.ts";

/** The newest paid withdrawals of a currency that make its usual fee. */
export const feesMax = 25;

/** The middle one; of an even number, the greater of the two in the middle. */
function median(units: readonly bigint[]): bigint | null {
  const sorted = [...units].sort((a, b) => (a < b ? -1 : Number(a > b)));
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

/**
 * The fee that the newest withdrawals of this currency paid on its network, by any merchant, and
 * the most that the merchant's agent pays for one.
 */
export function estimateFee(
  { config, store }: Service,
  merchant: string,
  currencyId: string,
): Answer {
  const currency = Object.hasOwn(config.currencies, currencyId)
    ? config.currencies[currencyId]
    : undefined;
  if (currency === undefined) return problemAnswer("currency_not_found");
  const { database } = store;
  const agent = agentOfMerchant(database, merchant);
  if (agent === undefined) return problemAnswer("agent_not_paired");
  if (!canPay(agent, currency)) return problemAnswer("currency_not_payable");
  const { decimal } = familyOf(currency.network).fees;
  const rows = newestFees(database, { currency: currency.id, network: currency.network }, feesMax);
  const usual = median(rows.map(({ feeUnits }) => BigInt(feeUnits)));
  return dataAnswer({
    currency: currency.id,
    feeAsset: nativeCurrencyOf(config, currency.network)?.id ?? "",
    feeUsual: usual === null ? "" : formatAmount(usual, decimal),
    feeMost: formatAmount(maxFeeUnits(pairedCurrencies(agent), currency.id), decimal),
    samples: rows.length,
    newestAt: rows[0] === undefined ? "" : new Date(rows[0].changedAt).toISOString(),
  });
}

/** The same checks of an address as a withdrawal has; the answer says which one fails. */
export function checkDestination(
  { config, store }: Service,
  merchant: string,
  asked: { readonly currencyId: string; readonly address: string },
): Answer {
  const currency = checkCurrency(config, asked.currencyId);
  if (isAnswer(currency)) return problemAnswer("currency_not_found");
  const agent = agentOfMerchant(store.database, merchant) ?? null;
  const { network } = currency;
  const payee = payeeOf(network, asked.address);
  const reason = destinationProblem(store.database, config, {
    agent,
    address: payee.address,
    network,
  });
  const parsed = parseAddress(payee.address, network);
  return dataAnswer({
    currency: currency.id,
    network,
    valid: reason === null,
    address: reason === null && parsed.ok ? parsed.address : "",
    tag: reason === null ? payee.tag : "",
    code: reason?.code ?? "",
    reason: reason?.reason ?? "",
  });
}
