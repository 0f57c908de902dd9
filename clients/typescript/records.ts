/**
 * Answers of the service.
 * `npm run client -- --types` makes this file from /openapi.json; change nothing here by hand.
 * The service may add fields at any time, so ignore an unknown field. Amounts are decimal strings;
 * times are ISO 8601 in UTC.
 */

/** An address to pay to. */
export interface DepositResult {
  /** Address to pay the deposit to. */
  readonly address: string;
  /** The amount, in whole units of the currency. */
  readonly amount: string;
  /** Tag of the address, where its network has tags; may be empty. */
  readonly tag: string;
  /** Identifier of the transaction. */
  readonly transactionId: string;
  /** A currency's `id`. */
  readonly currency: string;
  /** The network by CAIP-2. */
  readonly network: string;
  /** Until when it can be paid. ISO 8601, UTC, milliseconds. */
  readonly expiresAt: string;
  /**
   * 0 Pending, 1 Completed, 2 Failed. 1 and 2 never change again, but for an expired deposit that
   * the shop accepts or the operator credits: it goes from 2 to 1.
   */
  readonly status: 0 | 1 | 2;
  /** The step within its status; docs/api.md lists the stages. */
  readonly stage: string;
  /** Money came after the request had ended. */
  readonly late: boolean;
  /** The ended record with the same orderId that this one follows. */
  readonly renews?: string;
  /** The record with the same orderId that follows this ended one. */
  readonly renewedBy?: string;
  /**
   * Deposits: a link for wallets, in the form of the network (EVM chains, Bitcoin, Litecoin,
   * XRP). Empty on other networks, and when the currency is no longer configured.
   */
  readonly paymentUri: string;
  /**
   * Deposits: the page for the customer, to link or to embed; empty for a record that has none.
   */
  readonly paymentUrl: string;
  /**
   * Deposits: so much may be missing from `amount`. Empty once the currency is no longer
   * configured.
   */
  readonly paymentTolerance: string;
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
}

/** Every error. Branch on `code`, never on `message`. */
export interface ErrorBody {
  /** For people; in the caller's language. */
  readonly message: string;
  /** Stable, language-free. */
  readonly code: string;
  /** The answer's `X-Request-Id`; empty where the request was not even read. */
  readonly requestId: string;
  /** The field or parameter that is meant. */
  readonly field?: string;
  /** Identifier of the transaction. */
  readonly transactionId?: string;
  /** Identifier of the invoice. */
  readonly invoice?: string;
  /** The finer reason. */
  readonly reason?: string;
  /** A currency's `id`. */
  readonly currency?: string;
  /** The amount that the order needs. */
  readonly needed?: string;
  /** The amount that is there. */
  readonly available?: string;
  /** The smallest amount. */
  readonly minimum?: string;
  /** The scope that the key lacks. */
  readonly scope?: string;
  /** Identifier of the callback target. */
  readonly callbackId?: string;
  /** 422: whether anything was ever signed for it. */
  readonly signed?: boolean;
  /** 422: whether a new order is worth trying. */
  readonly retryable?: boolean;
  /** The ended record with the same orderId that this one follows. */
  readonly renews?: string;
  /** The record with the same orderId that follows this ended one. */
  readonly renewedBy?: string;
}

/** A deposit or a withdrawal. */
export interface Transaction {
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
  /** Withdrawals: the deposit that this one pays back. */
  readonly refundOf?: string;
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
  /** Withdrawals: who decides. */
  readonly mode?: "auto" | "manual";
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
  /** Withdrawals: what it cost in the network's native coin; empty until known. */
  readonly fee?: string;
  /**
   * Withdrawals that failed as `chain_moved`: what the receiver got. Empty once the currency is
   * no longer configured.
   */
  readonly received?: string;
}

/** A sum of money that may be paid in one of several currencies. */
export interface Invoice {
  /** Identifier of the invoice. */
  readonly invoice: string;
  /** The caller's own reference: visible ASCII without spaces, unique permanently. */
  readonly orderId: string;
  /**
   * 0 Pending, 1 Completed, 2 Failed. An invoice that failed is completed if the shop accepts a
   * late or short choice of it.
   */
  readonly status: 0 | 1 | 2;
  /** The step within its status. */
  readonly stage:
    | "choosing"
    | "waiting"
    | "unconfirmed"
    | "seen"
    | "partial"
    | "confirming"
    | "completed"
    | "expired"
    | "cancelled"
    | "revoked";
  /** The money of `fiatAmount`. */
  readonly fiatCurrency: "USD" | "EUR" | "TRY";
  /** A sum of money, at most two decimals. */
  readonly fiatAmount: string;
  /** When it was made. ISO 8601, UTC, milliseconds. */
  readonly createdAt: string;
  /** When it, or a choice of it, changed last. ISO 8601, UTC, milliseconds. */
  readonly changedAt: string;
  /** Until when the payer can choose. ISO 8601, UTC, milliseconds. */
  readonly expiresAt: string;
  /** The page where the payer chooses. */
  readonly paymentUrl: string;
  /** The currencies that the payer chooses from. */
  readonly currencies: readonly string[];
  /** The currency that completed it. */
  readonly paidWith?: string;
  /** The deposit that completed it. */
  readonly transactionId?: string;
  /**
   * True where the shop or the operator took that deposit as paid after its end; it may be short.
   * Absent otherwise.
   */
  readonly accepted?: boolean;
  /**
   * Things for a person to look at: money that came late, a part of the sum, more than the sum,
   * money in a second currency of the invoice, and another currency than an address was given
   * for.
   */
  readonly exceptions: readonly ("late" | "short" | "over" | "surplus" | "otherCoin")[];
  /** Those that were made, in their order. */
  readonly choices: readonly Choice[];
  /** The shop's own words, returned and never read: at most 2048 bytes as JSON. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The ended invoice with the same orderId that this one follows. */
  readonly renews?: string;
}

/** A currency that was chosen for an invoice: a deposit of its own. */
export interface Choice {
  /** Identifier of the invoice. */
  readonly invoice: string;
  /** A currency's `id`. */
  readonly currency: string;
  /** The network by CAIP-2. */
  readonly network: string;
  /** Identifier of the transaction. */
  readonly transactionId: string;
  /** The address to pay to. */
  readonly address: string;
  /** Tag of the address, where its network has tags; may be empty. */
  readonly tag: string;
  /** The amount, in whole units of the currency. */
  readonly amount: string;
  /** Everything final on the address. Empty once the currency is no longer configured. */
  readonly amountReceived: string;
  /** 0 Pending, 1 Completed, 2 Failed. */
  readonly status: 0 | 1 | 2;
  /** The step within its status; docs/api.md lists the stages. */
  readonly stage: string;
  /** Why it failed; empty without a reason. */
  readonly code: string;
  /** True where the shop or the operator took it as paid after its end. */
  readonly accepted?: boolean;
  /** Until when it can be paid. ISO 8601, UTC, milliseconds. */
  readonly expiresAt: string;
  /**
   * Deposits: a link for wallets, in the form of the network (EVM chains, Bitcoin, Litecoin,
   * XRP). Empty on other networks, and when the currency is no longer configured.
   */
  readonly paymentUri: string;
  /** The page for the payer of this choice. */
  readonly paymentUrl: string;
  /** The newest price of a choice. */
  readonly quote?: {
    /** 1 for the first, then 2. */
    readonly number: number;
    /** The price of one whole unit of the currency. */
    readonly price: string;
    /** Until when it holds. ISO 8601, UTC, milliseconds. */
    readonly until: string;
  };
}

/** The request that was cancelled. */
export interface CancelRequestResult {
  /** Identifier of the invoice. */
  readonly invoice?: string;
  /** Identifier of the transaction. */
  readonly transactionId?: string;
  /** Always true. */
  readonly cancelled: boolean;
}

/** Invoices of the merchant. */
export interface Invoices {
  /** At most `limit`. */
  readonly invoices: readonly Invoice[];
  /** The `cursor` of the next page; empty on the last one. */
  readonly next: string;
}

/** A withdrawal that is stored for good. */
export interface WithdrawalResult {
  /** For people; in the caller's language. */
  readonly message: string;
  /** Identifier of the transaction. */
  readonly transactionId: string;
  /**
   * 0 Pending, 1 Completed, 2 Failed. 1 and 2 never change again, but for an expired deposit that
   * the shop accepts or the operator credits: it goes from 2 to 1.
   */
  readonly status: 0 | 1 | 2;
  /** The step within its status; docs/api.md lists the stages. */
  readonly stage: string;
  /** The ended record with the same orderId that this one follows. */
  readonly renews?: string;
}

/** The result of each order. */
export interface ManyResult {
  /** In the order of the orders. */
  readonly answers: readonly OneResult[];
}

/** One order's own answer, as if it had been sent alone. */
export interface OneResult {
  /** As it was sent; empty where it was no text. */
  readonly orderId: string;
  /** The status that it would have had alone. */
  readonly httpStatus: number;
  /** The body that it would have had alone. */
  readonly answer: WithdrawalResult | ErrorBody;
}

/** The result of a cancel. */
export interface CancelResult {
  /** For people; in the caller's language. */
  readonly message: string;
  /** Identifier of the transaction. */
  readonly transactionId: string;
  /** True if nothing is paid; false while the agent may still pay. */
  readonly cancelled: boolean;
  /**
   * 0 Pending, 1 Completed, 2 Failed. 1 and 2 never change again, but for an expired deposit that
   * the shop accepts or the operator credits: it goes from 2 to 1.
   */
  readonly status: 0 | 1 | 2;
  /** The step within its status; docs/api.md lists the stages. */
  readonly stage: string;
}

/** A supported currency. */
export interface Currency {
  /** A currency's `id`. */
  readonly id: string;
  /** Name of the currency. */
  readonly name: string;
  /** Symbol of the currency. */
  readonly symbol: string;
  /** Number of decimal places. */
  readonly decimal: number;
  /** Price in USD, for display; empty when none is known. */
  readonly usdPrice: string;
  /** Price in EUR, likewise. */
  readonly eurPrice: string;
  /** Price in TRY, likewise. */
  readonly tryPrice: string;
  /** Smallest deposit. */
  readonly minPaymentAmount: string;
  /** Smallest withdrawal. */
  readonly minWithdrawAmount: string;
  /** The network by CAIP-2. */
  readonly network: string;
  /** The token's contract; empty for a native coin. */
  readonly contract: string;
  /** Whether an address needs a tag. */
  readonly requiresTag: boolean;
  /** Always true in this list. */
  readonly enabled: boolean;
  /** Taken in, though the merchant's agent may not pay it out. */
  readonly depositOnly: boolean;
  /** When the oldest of the three prices was right; empty without any. */
  readonly priceUpdatedAt: string;
  /** Whether one of the prices is old or unknown. */
  readonly priceStale: boolean;
}

/** The balances of all currencies. */
export interface Balances {
  /** One for each currency that could be read. */
  readonly balances: readonly Balance[];
  /** Currencies whose chain was not read yet; ask again in some seconds. */
  readonly unread: readonly string[];
}

/** Balances of one currency's wallet. */
export interface Balance {
  /** `available` rounded down to 15 significant digits. */
  readonly balance: number;
  /** A currency's `id`. */
  readonly currency: string;
  /** The amount that can be withdrawn now. */
  readonly available: string;
  /** Final on deposit addresses, not yet moved. */
  readonly pending: string;
  /** On its way from deposit addresses to the hot wallet. */
  readonly sweeping: string;
  /** Promised to open withdrawals. */
  readonly reserved: string;
  /** Everything together. */
  readonly total: string;
  /** The currency that network fees are paid in. */
  readonly feeAsset: string;
  /** The amount of it that a next withdrawal reserves. */
  readonly feeReserve: string;
  /** Whether that much is there. */
  readonly feeSufficient: boolean;
}

/** The probable fee of a withdrawal. */
export interface Estimate {
  /** A currency's `id`. */
  readonly currency: string;
  /** The currency that network fees are paid in. */
  readonly feeAsset: string;
  /** The middle fee of the newest paid withdrawals of this currency; empty before the first. */
  readonly feeUsual: string;
  /** The most that the agent pays for one withdrawal; so much is reserved. */
  readonly feeMost: string;
  /** The number of withdrawals that `feeUsual` comes from. */
  readonly samples: number;
  /** When the newest of them was completed; empty without any. */
  readonly newestAt: string;
}

/** Whether an address can be paid. */
export interface AddressCheck {
  /** A currency's `id`. */
  readonly currency: string;
  /** The network by CAIP-2. */
  readonly network: string;
  /** Whether a withdrawal to it would be taken. */
  readonly valid: boolean;
  /** The address in its checksummed form; empty for one that would be refused. */
  readonly address: string;
  /** The tag that the address holds; empty for none. */
  readonly tag: string;
  /** The code that a withdrawal would get; empty for a good address. */
  readonly code: string;
  /** The finer reason; empty without one. */
  readonly reason: string;
}

/** A merchant's month. */
export interface Report {
  /** The month in UTC. */
  readonly month: string;
  /** The beginning of the month. ISO 8601, UTC, milliseconds. */
  readonly since: string;
  /** Its end, which is the beginning of the next one. ISO 8601, UTC, milliseconds. */
  readonly until: string;
  /** Whether every network is `complete`. */
  readonly complete: boolean;
  /** Every network of the gateway. */
  readonly networks: readonly ReportNetwork[];
  /** One for each currency that has anything in the month, by network. */
  readonly lines: readonly ReportLine[];
}

/** How far a network's month is known. */
export interface ReportNetwork {
  /** The network by CAIP-2. */
  readonly network: string;
  /**
   * `complete`: the month is over and read; `open`: more may come; `unread`: its blocks are not
   * known yet, so its currencies have no lines.
   */
  readonly state: "complete" | "open" | "unread";
  /**
   * The last block before the month; -1 where the chain has none before it. Absent while the
   * network is unread.
   */
  readonly afterBlock?: number;
  /**
   * The last block of the month, or the newest final block of it. Absent while the network is
   * unread.
   */
  readonly lastBlock?: number;
}

/**
 * One currency. `opening` and the sums `paidIn`, `paidOut`, `fees`, `broughtIn` and `corrected`
 * make `closing`; money that left is negative.
 */
export interface ReportLine {
  /** A currency's `id`. */
  readonly currency: string;
  /** The network by CAIP-2. */
  readonly network: string;
  /** The balance before the month. */
  readonly opening: string;
  /** Payments to deposit addresses. */
  readonly paidIn: string;
  /** Withdrawals, without their fees. */
  readonly paidOut: string;
  /** The part of `paidOut` that paid deposits back. */
  readonly refunded: string;
  /** Fees of the network, in the coin that pays them. */
  readonly fees: string;
  /** The part of `fees` for withdrawals. */
  readonly feesOfWithdrawals: string;
  /** The part of `fees` for moves from deposit addresses to the hot wallet. */
  readonly feesOfSweeps: string;
  /** The part of `fees` for coins that went to deposit addresses so that a token could leave. */
  readonly feesOfTopUps: string;
  /**
   * Money from outside that came to the hot wallet, what it had at the beginning of its books
   * included.
   */
  readonly broughtIn: string;
  /** Notes of the gateway's operator, and money that the owner of an address took from it. */
  readonly corrected: string;
  /** The balance at the end. */
  readonly closing: string;
}
