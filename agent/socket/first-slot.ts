/**
 * How many transactions of an account the nodes count, as the courier tells the signer, and where
 * an account begins, as the operator's verb `adopt` shows it. Types alone.
 */

/**
 * Of the courier's verb `adopt`: the first counter of an account; a hot account's above 0 is only
 * kept, to be shown to a person. Of its verb `account`: the final transaction count; above the
 * ledger's own it is an alarm, then a lock.
 * @public
 */
export interface CountRequest {
  readonly chain: string;
  readonly slot: string;
  readonly witnesses: number; // nodes that agreed
  readonly address?: string; // for deposits, one that is swept; absent for the hot account
}

/**
 * `counted`: what the courier last said that `witnesses` nodes count, "" when it said nothing yet.
 * @public
 */
export interface FirstSlotView {
  readonly chain: string;
  readonly network: string;
  readonly account: string;
  readonly adopted: string; // "" until then
  readonly isBegun: boolean; // a slot of it was given: nothing changes any more
  readonly counted: string;
  readonly witnesses: number;
}
