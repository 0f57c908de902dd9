/**
 * The EVM family behind the offline interface. A slot is the account's nonce, in decimal. Source:
 * docs/architecture.md section 2.
 */

import { invariant } from "../../base/fault.ts";
import { keyPathsOfCoinType } from "../curve/account-node.ts";
import { createCompressedKeyAccounts } from "../curve/account-proof.ts";
import { isReservedAddress } from "../curve/reserved.ts";
import type { Family, SlotRules } from "../family.ts";
import type { PaymentLink } from "../payment-link.ts";
import { addressBytes, addressOfPublicKey, depositAddressOf, parseAddress } from "./address.ts";
import { dataFeeModels } from "./fee-model.ts";
import { evmFees } from "./fees.ts";
import { namespace, networkOf } from "./network.ts";

/*
 * Payment links that wallets open: the network, the receiver and the exact amount. Pure. Source:
 * EIP-681 (syntax; the transfer of a token), EIP-55 for the addresses' checksum.
 */

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

/** EIP-2681: nonces end at 2^64-2. */
const nonceForm = /^(?:0|[1-9][0-9]{0,19})$/;
const nonceMax = 2n ** 64n - 2n;

/** Ethereum's coin type in SLIP-44; every EVM chain uses it. */
const coinType = 60;

const slots: SlotRules = {
  first: "0",
  least: "0",
  last: `${Number.MAX_SAFE_INTEGER}`,
  read: (text) => (nonceForm.test(text) && BigInt(text) <= nonceMax ? text : null),
  next: (slot) => `${BigInt(slot) + 1n}`,
  // Two texts without a leading zero: the longer number is the larger.
  compare: (a, b) => (a.length === b.length ? (a < b ? -1 : Number(a > b)) : a.length - b.length),
  between: (from, before) => (BigInt(before) > BigInt(from) ? BigInt(before) - BigInt(from) : 0n),
  blocksLater: true,
  isCounted: true,
  say: (slot) => `nonce ${slot}`,
  word: "nonce",
};

export const evm: Family = {
  name: "evm",
  title: "EVM chains",
  slots,
  fees: evmFees,
  feeModels: dataFeeModels,
  exclusion: { kind: "slot" },
  blockTimes: "rising",
  finalDepth: null,
  countsConfirmations: true,
  readChainId: (value) =>
    Number.isSafeInteger(value) && (value as number) >= 1 ? (value as number) : null,
  networkOf: ({ chainId }) => networkOf(Number(chainId)),
  addressSpace: { name: "evm", networks: `${namespace}:` },
  isTxHash: (text) => /^0x[0-9a-f]{64}$/.test(text),
  readPin: () => null,
  parseAddress,
  readTag: () => null,
  isReserved: (address) => isReservedAddress(addressBytes(address)),
  depositAddress: depositAddressOf,
  paymentUri,
  paths: keyPathsOfCoinType(coinType),
  accounts: createCompressedKeyAccounts(addressOfPublicKey),
};
