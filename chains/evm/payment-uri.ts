/**
 * Payment links that wallets open: the network, the receiver and the exact amount. Pure. Source:
 * EIP-681 (syntax; the transfer of a token), EIP-55 for the addresses' checksum.
 */
import { invariant } from "../../base/fault.ts";
import type { PaymentLink } from "../payment-link.ts";

/**
 * `ethereum:RECEIVER@CHAIN?value=WEI`, or
 * `ethereum:CONTRACT@CHAIN/transfer?address=RECEIVER&uint256=UNITS` for a token.
 */
export function paymentUri({ network, contract, receiver, units }: PaymentLink): string {
  const [, chainId] = /^eip155:([1-9][0-9]*)$/.exec(network) ?? [];
  invariant(chainId !== undefined && units > 0n, "a payment link has an EVM network and an amount");
  return contract === ""
    ? `ethereum:${receiver}@${chainId}?value=${units}`
    : `ethereum:${contract}@${chainId}/transfer?address=${receiver}&uint256=${units}`;
}
