/** Stops of new signatures, as `status` shows them, and the courier's word that causes one. */

/** The operator who stopped new signatures, by the name given, and the ledger time. */
export interface PausedView {
  readonly at: number;
  readonly approver: string;
}

/** A network on which no first attempt is signed, as the courier learns it. */
export interface NetworkStop {
  readonly network: string; // CAIP-2
  readonly code: "CHAIN_COIN_FOREIGN" | "NETWORK_PAUSED"; // by the signer itself, or by an operator
}

/** A network on which no first attempt is signed. `approver`: "gateway", "courier", or a name. */
export interface StoppedView extends PausedView {
  readonly chain: string; // name in config.json; "" if it has none there any more
  readonly network: string; // CAIP-2
  // the newest transactions that no signature explains, at most 16; none for an operator's stop
  readonly txHashes: readonly string[];
}

/**
 * A final transaction, as the courier's nodes agree, that spends a coin of an account and is no
 * attempt. `address`: a deposit address that is swept; absent for the hot wallet.
 */
export interface ForeignSpend {
  readonly chain: string;
  readonly address?: string;
  readonly coin: string; // the family's own spelling, without its amount
  readonly txHash: string;
}
