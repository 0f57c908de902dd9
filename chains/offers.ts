/**
 * Offers for attempts: what the courier and an operator make, and the signer judges. Only types; no
 * line here decides what is signed.
 */

/**
 * The fees of one attempt, and its coins where the chain has coins, in the family's own fields:
 * decimal strings, or lists of coins and amounts.
 */
export type TxParams = Readonly<Record<string, string>>;

/** The fee market at one moment, on which a chain's nodes agree, in the family's own fields. */
export type FeeMarket = Readonly<Record<string, bigint>>;

/** A coin of an account, on a chain that has coins in the place of balances. */
export interface Coin {
  readonly id: string; // the chain's own name of it, in only one spelling
  readonly units: bigint;
}

/** A payment without its sender. Addresses canonical, amounts in base units. */
export interface PaymentTerms {
  readonly network: string;
  readonly contract: string;
  readonly destination: string;
  readonly tag: string;
  readonly amountUnits: bigint;
  readonly isFeeInside?: boolean; // as `Payment` has it
}

/** The basis of an offer. */
export interface OfferBasis {
  readonly feeMarket: FeeMarket;
  readonly computeLimit: bigint;
  /** The account's final coins that no other withdrawal holds; none where balances count. */
  readonly coins: readonly Coin[];
  /** Coins among these that a first offer has to spend, in front; none by default. */
  readonly owed?: readonly Coin[];
}

/**
 * An earlier attempt, and the most that it may cost. The parameters are not known for an attempt
 * that only the gateway described.
 */
export interface PricedAttempt {
  readonly txHash: string; // "" until signed
  readonly txParams: TxParams | null;
  readonly feeMax: string;
  readonly isCancel?: boolean;
  /** As `SignedEntry.pin`; absent on chains without coins. */
  readonly pin?: string;
}

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

/** The part of a family's fees that makes first attempts, and their words. */
export interface FirstOffers {
  /** Fee caps for a chain without preset and price, in units of the coin: a cautious start. */
  readonly ceilings: { readonly maxFee: string; readonly maxFeePerDay: string };
  /** Compute limit of the cheapest payment, and of a payment whose need is not known. */
  readonly computeLimitMin: bigint;
  readonly computeLimitUnknown: bigint;
  computeLimitOf(txParams: TxParams): bigint;
  /** The offer of a first attempt; null if the coins do not suffice for payment and fee now. */
  first(market: OfferBasis, wanted: PaymentTerms): TxParams | null;
  /** Reads the fees that an operator types. A problem is described in words. */
  typed(
    options: TypedFees,
  ):
    | { readonly ok: true; readonly txParams: TxParams }
    | { readonly ok: false; readonly problem: string };
  /** The offer for the operator: as one line, and as rows next to those of an earlier attempt. */
  say(txParams: TxParams): string;
  rows(
    txParams: TxParams,
    before: TxParams | null,
    beforeName: string,
  ): readonly (readonly [name: string, text: string])[];
}

/** The part that replaces earlier attempts at the market. */
export interface LaterOffers {
  /** False if nodes keep the first attempt: then only an operator replaces, once they forgot it. */
  readonly isReplaced: boolean;
  /**
   * As `replacement`, at the market, after the attempt of this number, the newest. `isTipLow` uses
   * only the lower of the nodes' tips. Null if the coins do not suffice.
   */
  replacementAt(
    market: OfferBasis,
    wanted: PaymentTerms,
    attempts: readonly PricedAttempt[],
    attempt: number,
    isTipLow: boolean,
  ): TxParams | null;
  /**
   * The market with the least price that a node named in refusing an attempt of these parameters:
   * its tip on EVM chains, in wei per gas, and else its whole fee. Absent where no refusal names
   * one.
   */
  named?(feeMarket: FeeMarket, least: bigint, refused: TxParams): FeeMarket;
  /**
   * A fee market whose offers are lower, for fee caps that the usual offer does not fit; step 0 is
   * the market itself. Null below the lowest offer that still outlives a full block.
   */
  lowered(feeMarket: FeeMarket, step: number): FeeMarket | null;
  /** The fee market beside an offer, for the operator. */
  beside(txParams: TxParams, feeMarket: FeeMarket): MarketView;
}
