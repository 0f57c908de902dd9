/** Types of the texts that people type and read about fees and payments. */

/**
 * The fees that an operator types, each in the chain's own unit: the most per unit of computation,
 * the tip, and the compute limit. Undefined leaves a figure to the program.
 */
export interface TypedFees {
  readonly maxFee?: string | undefined;
  readonly tip?: string | undefined;
  readonly computeLimit?: string | undefined;
  readonly dataFee?: string | undefined; // billed in addition to the computation, if the chain does so
}

/** The fee market in words, and the reason why no block takes an offer now; "" if one may. */
export interface MarketView {
  readonly now: string;
  readonly tooLow: string;
}

/** The payment that a link asks a wallet for. Addresses canonical, the amount above zero. */
export interface PaymentLink {
  readonly network: string; // CAIP-2
  readonly contract: string; // the token, "" for the native coin
  readonly receiver: string;
  readonly units: bigint; // base units
}
