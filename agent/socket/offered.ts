/** The courier's offer on the socket. Types and their limits. */
import type { TxParams } from "../../chains/family.ts";

/** The courier's offer for an attempt. */
export interface Offered {
  readonly txParams: TxParams;
  /**
   * The transactions that made the coins, as hex, in the coins' order; left out where the chain has
   * no coins.
   */
  readonly evidence?: readonly string[];
}

/** The most transactions and characters of one offer's evidence. */
export const evidenceMax = 64;
export const evidenceLengthMax = 120_000;
