/**
 * All that the payment page knows: one request for a deposit, as plain values. Nothing of it is
 * more than the customer may know.
 */
import type { Quote } from "../config/fiat.ts";

/** A request that a payer chose for an invoice, as its page knows it. */
export interface ChosenPart {
  readonly token: string; // the page where the payer chooses
  readonly priceUntil: number; // the price holds until then
  readonly newUnits: bigint | null; // asked for at the price of now; null: no new price can be had
  /** Another choice has paid the invoice, or the whole amount of one is on its way; "" neither. */
  readonly otherwise: "" | "paid" | "paying";
}

export interface PayerView {
  readonly token: string; // the page's own
  readonly chosen: ChosenPart | null; // null for a request without an invoice
  readonly isCancelled: boolean; // by the shop
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

/** The page where the payer of an invoice chooses the currency. */
export interface InvoiceView {
  readonly token: string; // the page's own
  readonly shop: string;
  readonly contact: string; // "" none
  readonly returnUrl: string; // "" none
  readonly orderId: string;
  readonly fiatCurrency: string;
  readonly fiatAmount: string;
  readonly status: 0 | 1 | 2;
  readonly isCancelled: boolean;
  readonly expiresAt: number; // the end of choosing
  readonly nowMs: number;
  readonly quoteMinutes: number; // a price holds so long from the choice on
  readonly options: readonly CurrencyOption[];
  readonly tried: string; // the currency that could just not be taken; "" none
}

/** A currency of an invoice. */
export interface CurrencyOption {
  readonly id: string;
  readonly symbol: string;
  readonly network: { readonly name: string; readonly tokens: string; readonly isTest: boolean };
  readonly amount: string; // at the price of now, or of the choice; "" without one
  readonly reason: "" | "outOfService" | "noPrice" | "belowMinimum"; // "": it can be chosen
  readonly minimum: string;
  readonly choiceToken: string; // the page of the choice; "" before it
}
