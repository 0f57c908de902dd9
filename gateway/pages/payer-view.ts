/**
 * All that the payment page knows: one request for a deposit, as plain values. Nothing of it is
 * more than the customer may know.
 */
import type { Quote } from "../config/fiat.ts";

export interface PayerView {
  readonly shop: string; // name to show
  readonly contact: string; // an e-mail address or a page; "" none
  readonly returnUrl: string; // the way back to the shop; "" none
  readonly orderId: string; // the shop's own reference
  readonly network: {
    readonly name: string; // in words
    readonly tokens: string; // "TRC-20"; "" for a coin, or without such a word
    readonly isTest: boolean;
    readonly confirmations: number | null; // null: the chain says which blocks are final
    readonly finalMinutes: number | null; // usual time until then; null if unknown
  };
  readonly symbol: string;
  readonly decimal: number;
  readonly amount: string; // canonical text of `amountUnits`
  readonly amountUnits: bigint;
  readonly toleranceUnits: bigint; // so much may be missing
  readonly surplusToleranceUnits: bigint; // so much more than asked for is not named
  readonly finalUnits: bigint; // paid, final and not paid back
  readonly seenUnits: bigint; // paid and in a block that is not final
  readonly arrivingUnits: bigint; // in the network and in no block
  readonly isHeld: boolean; // a payment was seen in time and keeps the request open
  readonly lateUnits: bigint; // in a block behind the end, while the request is open
  readonly confirmations: number | null; // the seen part's; null if unknown
  readonly others: readonly OtherCoin[];
  readonly address: string;
  readonly tag: string; // goes with the address; "" for none
  readonly linkFor: (units: bigint) => string; // for wallets; "" where the chain has none
  readonly quote: Quote | null;
  readonly status: 0 | 1 | 2;
  readonly isLate: boolean; // money came after the end
  readonly isRevoked: boolean; // it was Completed, and its payment left the chain
  readonly isOut: boolean; // the gateway cannot confirm this currency now
  readonly isSlow: boolean; // the network confirms much later than usual now
  readonly expiresAt: number;
  readonly changedAt: number;
  readonly nowMs: number;
  readonly transactions: readonly PayerTransaction[]; // the newest last
  readonly moreTransactions: number; // older ones that are not listed
}

/** A transaction that paid, or is on its way. */
export interface PayerTransaction {
  readonly txHash: string;
  readonly explorerUrl: string; // "" without an explorer
}

/** Another coin than the request's, at its address. */
export interface OtherCoin {
  readonly amount: string; // "" if its decimals are unknown
  readonly symbol: string;
}
