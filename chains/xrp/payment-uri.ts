/**
 * Payment links that wallets open: the receiver, its tag and the exact amount. Pure. Source: XLS-2
 * for the names `amount` and `dt`; wallets register the scheme `ripple`.
 */
import { formatAmount } from "../../protocol/amount.ts";
import type { PaymentLink } from "../payment-link.ts";
import { decodeXAddress } from "./address.ts";
import { nativeDecimal } from "./network.ts";

/**
 * `ripple:ADDRESS?amount=XRP&dt=TAG`. An X-address is split, because not every wallet reads one.
 * The payer types the amount where the link asks for none.
 */
export function paymentUri({ receiver, units }: PaymentLink): string {
  const { address, tag } = decodeXAddress(receiver) ?? { address: receiver, tag: "" };
  const asked = [
    ...(units === 0n ? [] : [`amount=${formatAmount(units, nativeDecimal)}`]),
    ...(tag === "" ? [] : [`dt=${tag}`]),
  ];
  return `ripple:${address}${asked.length === 0 ? "" : `?${asked.join("&")}`}`;
}
