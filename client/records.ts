/**
 * The service's answers as types: the interface's fields, then the additional fields of this
 * gateway. Fields may be added at any time; code must not fail because of an unknown field. Amounts
 * are decimal strings; times ISO 8601 in UTC.
 */

export interface Transaction {
  readonly transactionId: string;
  readonly receiverAddress: string;
  readonly depositAddress: string;
  readonly orderId: string;
  readonly tag: string;
  readonly currency: string;
  readonly amount: string;
  readonly callbackStatus: number;
  readonly createdAt: string;
  readonly status: 0 | 1 | 2; // Pending, Completed, Failed
  readonly transactionType?: 1 | 2; // deposit, withdrawal
  readonly network?: string;
  readonly stage?: string;
  readonly code?: string; // why it failed or is held
  readonly txHash?: string;
  readonly changedAt?: string;
  readonly expiresAt?: string;
  readonly amountReceived?: string; // deposits
  readonly paymentTolerance?: string; // deposits: so much may be missing
  readonly paymentUri?: string; // deposits; "" when the currency is no longer served
  readonly paymentUrl?: string; // deposits: the page for the sender
  readonly quote?: Quote; // deposits asked for in fiat money
  readonly late?: boolean; // deposits: money came after the end
  readonly mode?: "auto" | "manual"; // withdrawals
  readonly metadata?: Readonly<Record<string, string>>; // as it was ordered
  readonly fee?: string; // withdrawals, in the network's native coin; "" until known
}

export type FiatCurrency = "USD" | "EUR" | "TRY";

/**
 * The terms of a deposit in fiat money, fixed at its request: `amount` of the record is
 * `fiatAmount` at `price`, rounded up.
 */
export interface Quote {
  readonly fiatCurrency: FiatCurrency;
  readonly fiatAmount: string;
  readonly price: string; // price of one whole unit of the currency
  readonly priceUpdatedAt: string;
}

export interface Currency {
  readonly id: string;
  readonly name: string;
  readonly symbol: string;
  readonly decimal: number;
  readonly usdPrice: string; // "" for a listed currency without a known price
  readonly eurPrice: string;
  readonly tryPrice: string;
  readonly minPaymentAmount: string;
  readonly minWithdrawAmount?: string;
  readonly network?: string;
  readonly contract?: string;
  readonly requiresTag?: boolean;
  readonly enabled?: boolean;
  readonly depositOnly?: boolean;
  readonly priceUpdatedAt?: string;
  readonly priceStale?: boolean;
}

/** `balance` is rounded down; compute with the exact strings. */
export interface Balance {
  readonly balance: number;
  readonly available?: string;
  readonly pending?: string;
  readonly sweeping?: string;
  readonly reserved?: string;
  readonly total?: string;
  readonly feeAsset?: string;
  readonly feeReserve?: string;
  readonly feeSufficient?: boolean;
}

export interface Deposit {
  readonly address: string;
  readonly amount: string;
  readonly tag: string;
  readonly transactionId: string;
  readonly currency?: string;
  readonly network?: string;
  readonly expiresAt?: string;
  readonly status?: 0 | 1 | 2;
  readonly stage?: string;
  readonly paymentUri?: string; // for wallets: EIP-681
  readonly paymentUrl?: string; // the page for the sender
  readonly quote?: Quote;
  readonly late?: boolean;
}

export interface Withdrawal {
  readonly message: string;
  readonly transactionId: string;
  readonly status?: 0 | 1 | 2;
  readonly stage?: string;
}

export interface AmountOrder {
  readonly currency: string;
  readonly amount: string;
  readonly orderId: string;
  // at most 16 short texts, returned in the record
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * A deposit of an amount in dollars, euros or liras; the service answers with the amount in the
 * currency.
 */
export interface FiatOrder {
  readonly currency: string;
  readonly fiatCurrency: FiatCurrency;
  readonly fiatAmount: string; // at most two decimals
  readonly orderId: string;
}

/** `returnUrl`: the way back from the payment page, on a site that the service lists. */
export type DepositOrder = (AmountOrder | FiatOrder) & { readonly returnUrl?: string };

export interface WithdrawalOrder extends AmountOrder {
  readonly address: string;
  readonly tag?: string;
}

/** A manual withdrawal may leave its destination to the operator who approves it. */
export interface ManualOrder extends AmountOrder {
  readonly address?: string;
  readonly tag?: string;
}

export interface TransactionFilter {
  readonly transactionType?: 1 | 2;
  readonly status?: 0 | 1 | 2;
  readonly currency?: string;
  readonly orderId?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit?: number; // 1 … 500
}
