/**
 * Bodies of the service's callbacks.
 * `npm run client -- --types` makes this file from /openapi.json; change nothing here by hand.
 * The service may add fields at any time, so ignore an unknown field. Amounts are decimal strings;
 * times are ISO 8601 in UTC.
 */

import type { Invoice, Transaction } from "./records.ts";

/** Events, oldest first. */
export interface Events {
  /** At most `limit`. */
  readonly events: readonly Event[];
  /** The `after` of the next call. */
  readonly next: string;
}

/** An event: what a callback has, with its id. */
export interface Event {
  /** The `webhook-id` of the event: the same for every delivery. */
  readonly id: string;
  /** The kind of event. */
  readonly type: string;
  /** When the record changed. ISO 8601, UTC, milliseconds. */
  readonly timestamp: string;
  /** The record, or the invoice, as it was then. */
  readonly data: Transaction | UnattributedRecord | Invoice;
  /** Rises with each event of a record. */
  readonly sequence: number;
}

/** A deposit, with what came besides. */
export interface UnattributedRecord {
  /** Identifier of the transaction. */
  readonly transactionId: string;
  /**
   * The destination of a withdrawal, empty while a manual one has none; the issued address of a
   * deposit.
   */
  readonly receiverAddress: string;
  /** A deposit's issued address; the account that pays a withdrawal. */
  readonly depositAddress: string;
  /** The caller's own reference: visible ASCII without spaces, unique permanently. */
  readonly orderId: string;
  /** Tag of the address, where its network has tags; may be empty. */
  readonly tag: string;
  /** A currency's `id`. */
  readonly currency: string;
  /** The amount, in whole units of the currency. */
  readonly amount: string;
  /**
   * State of the newest event: 0 on its way, 1 delivered, 2 given up, 3 no target is configured.
   */
  readonly callbackStatus: 0 | 1 | 2 | 3;
  /** When it was created. ISO 8601, UTC, milliseconds. */
  readonly createdAt: string;
  /**
   * 0 Pending, 1 Completed, 2 Failed. 1 and 2 never change again, but for an expired deposit that
   * the shop accepts or the operator credits: it goes from 2 to 1.
   */
  readonly status: 0 | 1 | 2;
  /** 1 deposit, 2 withdrawal. */
  readonly transactionType: 1 | 2;
  /** The network by CAIP-2. */
  readonly network: string;
  /** The step within its status; docs/api.md lists the stages. */
  readonly stage: string;
  /** Why it failed or is held; empty without a reason. */
  readonly code: string;
  /** The transaction on chain; empty while there is none. */
  readonly txHash: string;
  /**
   * The transaction in a public explorer, for people; empty while there is none, or where none is
   * configured.
   */
  readonly explorerUrl: string;
  /** Blocks on a payment that is not final yet. */
  readonly confirmations?: number;
  /** When it changed last. ISO 8601, UTC, milliseconds. */
  readonly changedAt: string;
  /** Until when it can be paid, or signed. ISO 8601, UTC, milliseconds. */
  readonly expiresAt: string;
  /**
   * Deposits: everything final on the address. Empty once the currency is no longer configured.
   */
  readonly amountReceived?: string;
  /** Deposits: money came after the request had ended, or when nothing waited for it. */
  readonly late?: boolean;
  /**
   * Deposits: true where it had ended, and the shop or the operator took it as paid; it may be
   * short. Absent otherwise.
   */
  readonly accepted?: boolean;
  /** Deposits: the invoice that it is a choice of; absent otherwise. */
  readonly invoice?: string;
  /** The shop's own words, returned and never read: at most 2048 bytes as JSON. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The ended record with the same orderId that this one follows. */
  readonly renews?: string;
  /**
   * Worth of a completed record at the moment of its completion; absent if no fresh price was
   * known then.
   */
  readonly value?: {
    /** In USD, rounded down to two decimals; absent if there was no fresh price. */
    readonly usd?: string;
    /** In EUR, rounded down to two decimals; absent if there was no fresh price. */
    readonly eur?: string;
    /** In TRY, rounded down to two decimals; absent if there was no fresh price. */
    readonly try?: string;
    /** When the oldest of these prices was right. ISO 8601, UTC, milliseconds. */
    readonly pricedAt: string;
  };
  /**
   * Deposits: a link for wallets, in the form of the network (EVM chains, Bitcoin, Litecoin,
   * XRP). Empty on other networks, and when the currency is no longer configured.
   */
  readonly paymentUri?: string;
  /**
   * Deposits: the page for the customer, to link or to embed; empty for a record that has none.
   */
  readonly paymentUrl?: string;
  /**
   * Deposits: so much may be missing from `amount`. Empty once the currency is no longer
   * configured.
   */
  readonly paymentTolerance?: string;
  /**
   * The terms of a deposit in fiat money, fixed at its request: `amount` is `fiatAmount` at
   * `price`, rounded up.
   */
  readonly quote?: {
    /** The money of `fiatAmount`. */
    readonly fiatCurrency: "USD" | "EUR" | "TRY";
    /** A sum of money, at most two decimals. */
    readonly fiatAmount: string;
    /** Price of one whole unit of the currency. */
    readonly price: string;
    /** When that price was right. ISO 8601, UTC, milliseconds. */
    readonly priceUpdatedAt: string;
  };
  /** What came. */
  readonly unattributed: {
    /** The `id` of the currency that came. */
    readonly currency: string;
    /** How much of it; empty once it is no longer configured. */
    readonly amount: string;
    /** The transaction that brought it. */
    readonly txHash: string;
  };
}

/** An event of one record. */
export interface Callback {
  /** Which event it is. */
  readonly type:
    | "deposit.detected"
    | "deposit.partial"
    | "deposit.below_minimum"
    | "deposit.completed"
    | "deposit.overpaid"
    | "deposit.expired"
    | "deposit.late"
    | "deposit.reorged"
    | "deposit.revoked"
    | "withdrawal.created"
    | "withdrawal.approved"
    | "withdrawal.rejected"
    | "withdrawal.broadcast"
    | "withdrawal.completed"
    | "withdrawal.failed";
  /** When it happened. ISO 8601, UTC, milliseconds. */
  readonly timestamp: string;
  /**
   * Rises with each event of one record, not by one: keep a record's highest, leave aside what is
   * lower.
   */
  readonly sequence: number;
  readonly data: Transaction;
}

/** Another currency came to the address of a deposit. */
export interface UnattributedCallback {
  /** Which event it is. */
  readonly type: "deposit.unattributed";
  /** When it happened. ISO 8601, UTC, milliseconds. */
  readonly timestamp: string;
  /**
   * Rises with each event of one record, not by one: keep a record's highest, leave aside what is
   * lower.
   */
  readonly sequence: number;
  readonly data: UnattributedRecord;
}

/** An event of one invoice. */
export interface InvoiceCallback {
  /** Which event it is. */
  readonly type:
    | "invoice.chosen"
    | "invoice.completed"
    | "invoice.expired"
    | "invoice.cancelled"
    | "invoice.revoked"
    | "invoice.exception";
  /** When it happened. ISO 8601, UTC, milliseconds. */
  readonly timestamp: string;
  /**
   * Rises with each event of one record, not by one: keep a record's highest, leave aside what is
   * lower.
   */
  readonly sequence: number;
  readonly data: Invoice;
}

/** A try of one target, by its operator. */
export interface TestCallback {
  /** Which event it is. */
  readonly type: "webhook.test";
  /** When it happened. ISO 8601, UTC, milliseconds. */
  readonly timestamp: string;
  /**
   * Rises with each event of one record, not by one: keep a record's highest, leave aside what is
   * lower.
   */
  readonly sequence: number;
  /** Whom it is for. */
  readonly data: {
    /** The target. */
    readonly callbackId: string;
    /** The merchant. */
    readonly merchantId: string;
  };
}
