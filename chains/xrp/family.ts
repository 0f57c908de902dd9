/**
 * The XRP family behind the offline interface. A slot is the account's Sequence, in decimal: a
 * validated ledger takes only one transaction for it, and a transaction with an error code of the
 * class `tec` uses it up too. Sources: CAIP-2, SLIP-44; xrpl.org, "Accounts" and "Finality of
 * results".
 */
import { refuse } from "../../base/fault.ts";
import type { Family, SlotRules } from "../family.ts";
import { depositAddressOf, xrpAccounts, xrpKeyPaths } from "./account.ts";
import { isReserved, parseAddress } from "./address.ts";
import { readTag } from "./deposit-tag.ts";
import { xrpFees } from "./fees.ts";
import { chainIdOf, namespace, networkOf, readChainId } from "./network.ts";
import { paymentUri } from "./payment-uri.ts";

const sequenceForm = /^[1-9][0-9]{0,9}$/;
const sequenceMax = 0xffff_ffff;

const slots: SlotRules = {
  // An account begins at the number of the ledger in which it was made: xrpl.org,
  // "DeletableAccounts".
  first: null,
  least: "1",
  last: `${sequenceMax}`,
  read: (text) => (sequenceForm.test(text) && Number(text) <= sequenceMax ? text : null),
  next: (slot) => `${BigInt(slot) + 1n}`,
  // Two texts without a leading zero: the longer number is the larger.
  compare: (a, b) => (a.length === b.length ? (a < b ? -1 : Number(a > b)) : a.length - b.length),
  between: (from, before) => (BigInt(before) > BigInt(from) ? BigInt(before) - BigInt(from) : 0n),
  blocksLater: true,
  isCounted: true,
  say: (slot) => `sequence ${slot}`,
  word: "sequence",
};

export const xrp: Family = {
  name: "xrp",
  title: "XRP",
  slots,
  fees: xrpFees,
  feeModels: [],
  exclusion: { kind: "slot" },
  blockTimes: "rising",
  finalDepth: null,
  countsConfirmations: false,
  readChainId,
  networkOf: ({ chainId }) => networkOf(Number(chainId)),
  addressSpace: { name: "xrp", networks: `${namespace}:` },
  isTxHash: (text) => /^[0-9A-F]{64}$/.test(text),
  readPin: () => null,
  parseAddress: (text, network) =>
    chainIdOf(network) === null
      ? refuse("ADDRESS_FORMAT", "the network is none of this family")
      : parseAddress(text),
  readTag,
  isReserved,
  depositAddress: depositAddressOf,
  paymentUri,
  paths: xrpKeyPaths,
  accounts: xrpAccounts,
};
