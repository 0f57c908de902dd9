/**
 * Stops of new signatures that are no lock: an operator's pause, and single networks or currencies
 * in which no first attempt is signed: because of transactions that no signature here explains, of
 * own ones that moved something else than was asked for, or by an operator's order. Only `apply`
 * changes it, from records. Touches nothing.
 */
import type { RecordBody } from "../../ledger/records.ts";
import { type StopCode, stopKey } from "../../socket/stops.ts";

/** An operator's pause of new signatures. */
export interface PauseState {
  readonly at: number; // ledger time
  readonly approver: string; // the name that the caller gave
}

/** A network on which no first attempt is signed; with `currency`, none in that currency. */
export interface StoppedNetwork extends PauseState {
  readonly network: string; // CAIP-2
  readonly currency?: string;
  // the newest transactions that nothing here explains, or its own that moved something else; none
  // for an operator's own order
  readonly txHashes: readonly string[];
}

/** The part of a checkpoint; an earlier program wrote none of the last two. */
export interface StopsSnapshot {
  readonly paused?: PauseState | null;
  readonly stopped?: readonly StoppedNetwork[];
  readonly foreign?: readonly string[];
}

type PausedRecord = Extract<RecordBody, { kind: "PAUSED" }> & { readonly at: number };

/** Foreign transactions that are remembered, so that each stops its network once. */
export const foreignKeptMax = 256;
/** Transactions that a stopped network names. */
const namedMax = 16;

export class Stops {
  #paused: PauseState | null;
  readonly #networks: Map<string, StoppedNetwork>;
  readonly #foreign: Set<string>;

  constructor(snapshot: StopsSnapshot = {}) {
    this.#paused = snapshot.paused ?? null;
    this.#networks = new Map((snapshot.stopped ?? []).map((one) => [stopKey(one), one]));
    this.#foreign = new Set(snapshot.foreign ?? []);
  }

  /** Null unless an operator paused every new signature. */
  get paused(): PauseState | null {
    return this.#paused;
  }

  /** The stopped networks and currencies, in the order of their stops. */
  networks(): readonly StoppedNetwork[] {
    return [...this.#networks.values()];
  }

  /** Null unless no first attempt is signed on the network; with `currency`, in that currency. */
  on(network: string, currency?: string): StoppedNetwork | null {
    return (
      this.#networks.get(stopKey({ network, ...(currency === undefined ? {} : { currency }) })) ??
      null
    );
  }

  /** True if the ledger has recorded this transaction as foreign, as far as it is remembered. */
  knows(network: string, txHash: string): boolean {
    return this.#foreign.has(foreignTransactionKey(network, txHash));
  }

  apply({ paused, approver, at, network, currency, txHashes = [] }: PausedRecord): void {
    if (network === undefined) {
      this.#paused = paused ? { at, approver } : null;
      return;
    }
    // Those of a currency are signed here.
    if (currency === undefined)
      for (const txHash of txHashes)
        keepNewest(this.#foreign, foreignTransactionKey(network, txHash));
    const place = currency === undefined ? { network } : { network, currency };
    const key = stopKey(place);
    if (!paused) {
      this.#networks.delete(key);
      return;
    }
    const before = this.#networks.get(key) ?? { ...place, at, approver, txHashes: [] };
    const named = [...new Set([...before.txHashes, ...txHashes])].slice(-namedMax);
    this.#networks.set(key, { ...before, txHashes: named });
  }

  snapshot(): Required<StopsSnapshot> {
    return { paused: this.#paused, stopped: this.networks(), foreign: [...this.#foreign] };
  }
}

/**
 * The code of a stop. The stop of a network means theft, unless an operator ordered it without a
 * transaction.
 */
export function codeOfStop({
  currency,
  txHashes,
}: Pick<StoppedNetwork, "currency" | "txHashes">): StopCode {
  if (currency !== undefined) return "CURRENCY_MOVES_OTHERWISE";
  return txHashes.length === 0 ? "NETWORK_PAUSED" : "CHAIN_COIN_FOREIGN";
}

/** The name of a foreign transaction in a checkpoint. */
export const foreignTransactionKey = (network: string, txHash: string): string =>
  `${network} ${txHash}`;

function keepNewest(kept: Set<string>, key: string): void {
  kept.delete(key);
  kept.add(key);
  const [oldest = ""] = kept;
  if (kept.size > foreignKeptMax) kept.delete(oldest);
}
