/**
 * Payment links that wallets of a coin open: the receiver and the exact amount. Pure. Source:
 * BIP-21; wallets of Litecoin use the same form under their own scheme.
 */
import { formatAmount } from "../../protocol/amount.ts";
import type { PaymentLink } from "../payment-link.ts";
import { nativeDecimal } from "./network.ts";

/**
 * `SCHEME:RECEIVER?amount=COINS`; the scheme is the coin's name. The payer types the amount where
 * the link asks for none.
 */
export function paymentUri(scheme: string, { receiver, units }: PaymentLink): string {
  return `${scheme}:${receiver}${units === 0n ? "" : `?amount=${formatAmount(units, nativeDecimal)}`}`;
}
