/**
 * Payment links that wallets open: the network, the receiver and the exact amount. Pure. Source:
 * EIP-681 (syntax; the transfer of a token), EIP-55 for the addresses' checksum.
 */
import { invariant } from "../../base/fault.ts";
import type { PaymentLink } from "../payment-link.ts";

/**
 * `ethereum:RECEIVER@CHAIN?value=WEI`, or
 * `ethereum:CONTRACT@CHAIN/transfer?address=RECEIVER&uint256=UNITS` for a token; the payer types
 * the amount where the link asks for none.
 */
export function paymentUri({ network, contract, receiver, units }: PaymentLink): string {
  const [, chainId] = /^eip155:([1-9][0-9]*)$/.exec(network) ?? [];
  invariant(chainId !== undefined, "a payment link has an EVM network");
  if (contract === "")
    return `ethereum:${receiver}@${chainId}${units === 0n ? "" : `?value=${units}`}`;
  return `ethereum:${contract}@${chainId}/transfer?address=${receiver}${units === 0n ? "" : `&uint256=${units}`}`;
}
