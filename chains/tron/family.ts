/**
 * The Tron family behind the offline interface. The chain has no account nonce, so a slot is an
 * ordinal that the signer assigns, and a second payment is excluded by expiry
 * (expiry-exclusion.ts). Wallets share no payment link: several read `tron:` with an amount of TRX
 * only, some refuse it, and none names the token and its exact amount. Sources: CAIP-2, SLIP-44;
 * TIP-17 for the form of such a link.
 */

import { keyPathsOfCoinType } from "../curve/account-node.ts";
import { createCompressedKeyAccounts } from "../curve/account-proof.ts";
import { isReservedAddress } from "../curve/reserved.ts";
import type { Description, Family } from "../family.ts";
import { paymentOrdinalSlotRules } from "../ordinal-slots.ts";
import { addressBytes, addressOfPublicKey, depositAddressOf, parseAddress } from "./address.ts";
import {
  checkValidUntil,
  lifetimeMsMax,
  timestampOf,
  usualInclusionMs,
  validUntilMs,
  voidMarginMs,
  withTimestamp,
} from "./expiry-exclusion.ts";
import * as fees from "./fees.ts";
import { coinType, namespace, nativeDecimal, networkOf, readChainId } from "./network.ts";

const offers = {
  decimal: nativeDecimal,
  tipDecimal: 0,
  tipUnit: "",
  tipMax: "0",
  ceilings: fees.defaultFeeCeilings,
  computeLimitMin: fees.computeLimitOfCoinTransfer,
  computeLimitUnknown: fees.computeLimitUnknown,
  read: fees.readTxParams,
  readWish: fees.readWishedTxParams,
  typed: fees.readTypedFees,
  most: fees.feeMaxOf,
  tipOf: (): bigint => 0n,
  computeLimitOf: fees.computeLimitOf,
  first: fees.firstOffer,
  bidding: null,
  tooLittle: ({ contract, txParams }: Pick<Description, "contract" | "txParams">): string | null =>
    fees.tooLowLimitReason(contract, txParams),
  unbounded: (): string | null => null,
  say: fees.describeFees,
  rows: fees.feeRowsOf,
};

export const tron = {
  name: "tron",
  title: "Tron",
  slots: paymentOrdinalSlotRules,
  fees: offers,
  feeModels: [],
  exclusion: {
    kind: "expiry",
    marginMs: voidMarginMs,
    lifetimeMsMax,
    validUntilMs,
    timestamp: timestampOf,
    timestamped: withTimestamp,
    unseenMs: usualInclusionMs,
    readEnd: checkValidUntil,
  },
  blockTimes: "rising",
  finalDepth: null,
  countsConfirmations: false,
  readChainId,
  networkOf: ({ chainId }: { readonly chainId: number | string }): string =>
    networkOf(readChainId(chainId) ?? ""),
  addressSpace: { name: "tron", networks: `${namespace}:` },
  isTxHash: (text: string): boolean => /^[0-9a-f]{64}$/.test(text),
  readPin: (): null => null,
  parseAddress,
  readTag: (): null => null,
  isReserved: (address) => isReservedAddress(addressBytes(address)),
  depositAddress: depositAddressOf,
  paymentUri: (): string => "",
  paths: keyPathsOfCoinType(coinType),
  accounts: createCompressedKeyAccounts(addressOfPublicKey),
} as const satisfies Family;
