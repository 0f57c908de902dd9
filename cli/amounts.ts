/**
 * The amount of a withdrawal and its highest fee, in words. A top-up moves the coin that pays the
 * fees, but has the currency of the sweep after it.
 */
import type { AttemptView, OperatorView } from "../agent/socket/verbs.ts";
import { familyOf } from "../chains/families.ts";
import { formatAmount } from "../protocol/amount.ts";

export const nativeCoinWords = "the native coin";

type Amount = Pick<OperatorView, "mode" | "amount" | "currency">;

/** The amount that a withdrawal pays, within a sentence. */
export function payoutAmountWords({ mode, amount, currency }: Amount): string {
  return mode === "topup" ? `${amount} of ${nativeCoinWords}` : `${amount} ${currency}`;
}

/** The same, and for a top-up the sweep that it pays for. */
export function amountWords(one: Amount): string {
  return one.mode === "topup"
    ? `${payoutAmountWords(one)}, for a sweep of ${one.currency}`
    : payoutAmountWords(one);
}

/** The mark of a withdrawal that moves money inside the wallet; "" for a payment to a receiver. */
export function modeMark({ mode }: Pick<OperatorView, "mode">): string {
  return mode === "sweep" ? " (sweep)" : mode === "topup" ? " (top-up)" : "";
}

/** A fee in the coin that the network's fees are paid in. */
export function feeWords(units: bigint, network: string): string {
  return `${formatAmount(units, familyOf(network).fees.decimal)} of ${nativeCoinWords}`;
}

/** The most that an attempt can cost. */
export function feeMaxWords({ feeMax }: AttemptView, network: string): string {
  return feeWords(BigInt(feeMax), network);
}
