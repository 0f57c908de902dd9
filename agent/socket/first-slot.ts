/** Where an account begins, as the operator's verb `adopt` shows it. Types alone. */

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
