/**
 * Orders and queries of the service.
 * `npm run client -- --types` makes this file from /openapi.json; change nothing here by hand.
 * The service may add fields at any time, so ignore an unknown field. Amounts are decimal strings;
 * times are ISO 8601 in UTC.
 */

/** A deposit request: by `amount`, or by `fiatCurrency` with `fiatAmount`; never by both. */
export type DepositOrder = AmountOrder | FiatOrder;

/** A deposit request by `amount`. */
export interface AmountOrder {
  /** A currency's `id`. */
  readonly currency: string;
  /** The amount, in whole units of the currency. */
  readonly amount: string;
  /** The caller's own reference: visible ASCII without spaces, unique permanently. */
  readonly orderId: string;
  /** The shop's own words, returned and never read: at most 2048 bytes as JSON. */
  readonly metadata?: Readonly<Record<string, string>>;
  /**
   * The `transactionId` of an ended request with this orderId and content, which this one
   * follows.
   */
  readonly renew?: string;
  /**
   * The way back from the payment page: an address on a site that the service lists for the
   * merchant.
   */
  readonly returnUrl?: string;
  /** The lifetime of the request; the service's own without it. */
  readonly expiresInMinutes?: number;
  /**
   * So much of `amount` may be missing, from 0 to 10 per cent with at most two decimals; the
   * currency's own without it.
   */
  readonly tolerancePercent?: string;
  readonly fiatCurrency?: never;
  readonly fiatAmount?: never;
}

/** A deposit request by a sum of money, which the price of now makes an amount of. */
export interface FiatOrder {
  /** A currency's `id`. */
  readonly currency: string;
  /** The money of `fiatAmount`. */
  readonly fiatCurrency: "USD" | "EUR" | "TRY";
  /** A sum of money, at most two decimals. */
  readonly fiatAmount: string;
  /** The caller's own reference: visible ASCII without spaces, unique permanently. */
  readonly orderId: string;
  /** The shop's own words, returned and never read: at most 2048 bytes as JSON. */
  readonly metadata?: Readonly<Record<string, string>>;
  /**
   * The way back from the payment page: an address on a site that the service lists for the
   * merchant.
   */
  readonly returnUrl?: string;
  /**
   * The `transactionId` of an ended request with this orderId and content, which this one
   * follows.
   */
  readonly renew?: string;
  /** The lifetime of the request; the service's own without it. */
  readonly expiresInMinutes?: number;
  /**
   * So much of `amount` may be missing, from 0 to 10 per cent with at most two decimals; the
   * currency's own without it.
   */
  readonly tolerancePercent?: string;
  readonly amount?: never;
}

/** An expired deposit that the shop takes as paid. */
export interface AcceptOrder {
  /** Identifier of the transaction. */
  readonly transactionId: string;
  /** Why, for the audit: 1 to 500 visible characters in one line. */
  readonly reason: string;
  /** True to take less than the amount; false without it. */
  readonly short?: boolean;
}

/** A sum of money that may be paid in one of several currencies. */
export interface InvoiceOrder {
  /** The caller's own reference: visible ASCII without spaces, unique permanently. */
  readonly orderId: string;
  /** The money of `fiatAmount`. */
  readonly fiatCurrency: "USD" | "EUR" | "TRY";
  /** A sum of money, at most two decimals. */
  readonly fiatAmount: string;
  /**
   * The currencies that the payer chooses from, each once; without it all that the merchant can
   * receive, at most 20.
   */
  readonly currencies?: readonly string[];
  /** How long a price holds from the choice on; 20 without it. */
  readonly quoteMinutes?: number;
  /**
   * The way back from the payment page: an address on a site that the service lists for the
   * merchant.
   */
  readonly returnUrl?: string;
  /** How long the payer may choose; 120 without it. */
  readonly expiresInMinutes?: number;
  /**
   * So much of `fiatAmount` may be missing, from 0 to 10 per cent with at most two decimals; the
   * currency's own without it.
   */
  readonly tolerancePercent?: string;
  /** The shop's own words, returned and never read: at most 2048 bytes as JSON. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The `invoice` of an ended one with this orderId and content, which this one follows. */
  readonly renew?: string;
}

/** The currency of an invoice. */
export interface ChoiceOrder {
  /** Identifier of the invoice. */
  readonly invoice: string;
  /** A currency's `id`. */
  readonly currency: string;
}

/** An open invoice, or an open deposit, that nobody has paid: one of the two. */
export type CancelRequestOrder = CancelInvoiceOrder | CancelDepositOrder;

/** An open invoice that nobody has paid. */
export interface CancelInvoiceOrder {
  /** Identifier of the invoice. */
  readonly invoice: string;
  readonly transactionId?: never;
}

/** An open deposit that nobody has paid. */
export interface CancelDepositOrder {
  /** Identifier of the transaction. */
  readonly transactionId: string;
  readonly invoice?: never;
}

/** A withdrawal to pay at once. */
export interface WithdrawalOrder {
  /** A currency's `id`. */
  readonly currency: string;
  /** The amount, in whole units of the currency. */
  readonly amount: string;
  /** The caller's own reference: visible ASCII without spaces, unique permanently. */
  readonly orderId: string;
  /** The shop's own words, returned and never read: at most 2048 bytes as JSON. */
  readonly metadata?: Readonly<Record<string, string>>;
  /**
   * The `transactionId` of an ended request with this orderId and content, which this one
   * follows.
   */
  readonly renew?: string;
  /**
   * External address the funds are sent to, in the form of the currency's network (EVM chains,
   * Tron, Bitcoin, Litecoin, XRP). Its checksum is verified; on EVM chains an address in letters
   * of one case has none.
   */
  readonly address: string;
  /**
   * The tag of the address: on XRP a whole number from 0 to 4294967295 as text, as the receiver
   * says. Empty, or left out, where there is none; any other network refuses a tag.
   */
  readonly tag?: string;
  /** The `transactionId` of the deposit that this withdrawal pays back. */
  readonly refundOf?: string;
}

/** Withdrawals to pay at once. */
export interface ManyOrder {
  /** Each for itself. */
  readonly orders: readonly WithdrawalOrder[];
}

/** A withdrawal that an operator approves, who supplies the address where it is left out. */
export interface ManualOrder {
  /** A currency's `id`. */
  readonly currency: string;
  /** The amount, in whole units of the currency. */
  readonly amount: string;
  /** The caller's own reference: visible ASCII without spaces, unique permanently. */
  readonly orderId: string;
  /** The shop's own words, returned and never read: at most 2048 bytes as JSON. */
  readonly metadata?: Readonly<Record<string, string>>;
  /**
   * The `transactionId` of an ended request with this orderId and content, which this one
   * follows.
   */
  readonly renew?: string;
  /**
   * External address the funds are sent to, in the form of the currency's network (EVM chains,
   * Tron, Bitcoin, Litecoin, XRP). Its checksum is verified; on EVM chains an address in letters
   * of one case has none.
   */
  readonly address?: string;
  /**
   * The tag of the address: on XRP a whole number from 0 to 4294967295 as text, as the receiver
   * says. Empty, or left out, where there is none; any other network refuses a tag.
   */
  readonly tag?: string;
  /** The `transactionId` of the deposit that this withdrawal pays back. */
  readonly refundOf?: string;
}

/** The withdrawal to cancel. */
export interface CancelOrder {
  /** The `transactionId` of a withdrawal. */
  readonly transactionId: string;
}

/** A target to add. */
export interface CreateCallbackOrder {
  /** An https address of the shop's server that takes a POST. */
  readonly url: string;
  /** Only these events; all if it is empty. */
  readonly events?: readonly (
    | "deposit.detected"
    | "deposit.partial"
    | "deposit.below_minimum"
    | "deposit.completed"
    | "deposit.overpaid"
    | "deposit.expired"
    | "deposit.late"
    | "deposit.reorged"
    | "deposit.revoked"
    | "deposit.unattributed"
    | "withdrawal.created"
    | "withdrawal.approved"
    | "withdrawal.rejected"
    | "withdrawal.broadcast"
    | "withdrawal.completed"
    | "withdrawal.failed"
    | "invoice.chosen"
    | "invoice.completed"
    | "invoice.expired"
    | "invoice.cancelled"
    | "invoice.revoked"
    | "invoice.exception"
  )[];
}

/** The target that is meant. */
export interface CallbackOrder {
  /** Identifier of the callback target. */
  readonly callbackId: string;
}

/** The target that is meant, and the events. */
export interface RedeliverOrder {
  /** Identifier of the callback target. */
  readonly callbackId: string;
  /** Events of then or later: ISO 8601 in UTC; all without it. */
  readonly since?: string;
}

/** Query of "All invoices". */
export interface InvoicesQuery {
  readonly status?: 0 | 1 | 2;
  /** The caller's own reference. */
  readonly orderId?: string;
  /** Changed then or later: ISO 8601 in UTC. */
  readonly changedFrom?: string;
  /** The `next` of the page before. */
  readonly cursor?: string;
  /** Most invoices of a page; 100 without it. */
  readonly limit?: number;
}

/** Query of "All transactions". */
export interface TransactionsQuery {
  /** 1 deposits, 2 withdrawals. */
  readonly transactionType?: 1 | 2;
  readonly status?: 0 | 1 | 2;
  /** A currency's id. */
  readonly currency?: string;
  /** The caller's own reference. */
  readonly orderId?: string;
  /** Withdrawals that pay this deposit back. */
  readonly refundOf?: string;
  /** Created then or later: ISO 8601 in UTC. */
  readonly from?: string;
  /** Created before: ISO 8601 in UTC. */
  readonly to?: string;
  /**
   * Changed then or later: ISO 8601 in UTC. The list is then in the order of changes, earliest
   * first.
   */
  readonly changedFrom?: string;
  /** The beginning of a page, as the Link header of the page before says. */
  readonly cursor?: string;
  /** Most records of a page; without it all come. */
  readonly limit?: number;
}

/** Query of "Events to ask for". */
export interface EventsQuery {
  /**
   * The `next` of the call before; without it the answer has no events, and its `next` stands
   * behind the newest.
   */
  readonly after?: string;
  /** Most events of an answer; 100 without it. */
  readonly limit?: number;
}
