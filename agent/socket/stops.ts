/** Stops of new signatures, as `status` shows them, and the courier's word that causes one. */

/** The operator who stopped new signatures, by the name given, and the ledger time. */
export interface PausedView {
  readonly at: number;
  readonly approver: string;
}

/** The place of a stop: a network, or one of its currencies. */
export interface StopPlace {
  readonly network: string; // CAIP-2
  readonly currency?: string;
}

/** The name of a stop: its network, and behind a slash its currency if it is of one alone. */
export const stopKey = ({ network, currency }: StopPlace): string =>
  currency === undefined ? network : `${network}/${currency}`;

/** The place of a name that `stopKey` made. No network and no currency has a slash. */
export function parseStopKey(key: string): StopPlace {
  const at = key.indexOf("/");
  return at < 0 ? { network: key } : { network: key.slice(0, at), currency: key.slice(at + 1) };
}

/** The code of a stop: by the signer itself, or NETWORK_PAUSED by an operator. */
export type StopCode = "CHAIN_COIN_FOREIGN" | "NETWORK_PAUSED" | "CURRENCY_MOVES_OTHERWISE";

/**
 * A network on which no first attempt is signed, as the courier learns it; with `currency`, none in
 * that currency.
 */
export interface NetworkStop extends StopPlace {
  readonly code: StopCode;
}

/**
 * A network on which no first attempt is signed, or a currency in which none is. `approver`:
 * "gateway", "courier", "mark", or a name.
 */
export interface StoppedView extends PausedView {
  readonly chain: string; // name in config.json; "" if it has none there any more
  readonly network: string; // CAIP-2
  readonly currency?: string; // only in this one
  // the newest transactions that no signature explains, at most 16; none for an operator's stop; of
  // a currency, its own that moved something else
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
