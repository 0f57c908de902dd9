/**
 * Data and functions for one chain that the watcher's modules share: reader, currencies, state of
 * the tokens, and the alarm.
 */

import type { CodeWithCause } from "../../base/causes.ts";
import type { GatewayLog } from "../../base/log.ts";
import type { BlockId, WatcherNodes } from "../../chains/nodes.ts";
import type { GatewayChain, GatewayCurrency } from "../config/config.ts";
import type { FaultBook } from "../faults/book.ts";
import type { ClockState } from "../own-clock.ts";
import { recordAlarm } from "../store/alarm.ts";
import type { AskedSum } from "../store/quotes.ts";
import type { DepositRow, TransactionRow } from "../store/rows.ts";
import type { Signals } from "../store/signals.ts";
import type { Database, Store } from "../store/store.ts";

/**
 * The tokens of one chain that have answered, and why the others are out of service, by currency
 * id.
 */
export interface TokenMemory {
  readonly confirmed: Set<string>;
  readonly out: Map<string, string>;
  askedAt: number | null;
}

/** An open choice with the sum that its final payments must reach, each at its own price. */
export interface PricedChoice {
  readonly row: DepositRow;
  readonly finalSum: AskedSum | null; // null: its currency is gone, and it completes not now
}

/** The prices of choices, kept by the room of invoices. */
export interface ChoicePricing {
  /** Keeps when a transaction that pays a choice was first seen. Harmless to call twice. */
  keepSight(database: Database, row: DepositRow, txHash: string, atMs: number): void;
  /**
   * The open choice with the sum that it asks for now, which is written; null while a payment in a
   * block has no first sight.
   */
  priceChoice(database: Database, row: DepositRow): PricedChoice | null;
}

/** A chain as the watcher reads it. */
export interface WatchedChain {
  readonly name: string; // key of the configuration's chains
  readonly network: string; // CAIP-2
  readonly reader: WatcherNodes;
  readonly currencies: readonly GatewayCurrency[]; // the chain's currencies
  readonly tokens: TokenMemory; // tokens that confirmed their decimals
  readonly faults: FaultBook; // of the chain's items
  readonly store: Store;
  readonly signals: Signals;
  readonly log: GatewayLog;
  readonly clock: () => number;
  readonly ownClock: () => ClockState; // the judgement of that clock by all chains
  readonly confirmingMs: number; // a request stays open so long after its end for a payment seen in time; 0 never
  readonly run: string; // names this process (store/owner.ts)
  readonly choices: ChoicePricing; // of invoices
  readonly hasLongBlocks: boolean; // they take a minute or longer
}

/**
 * The contract of the asset that a transaction moves. A top-up moves the native coin, for any
 * currency's sweep.
 */
export function contractOf(
  { operation }: Pick<TransactionRow, "operation">,
  { contract }: GatewayCurrency,
): string {
  return operation === "topup" ? "" : contract;
}

/** The chain's newest blocks in one pass. */
export interface Tip {
  readonly head: BlockId; // reported by one node
  readonly final: BlockId; // agreed by enough nodes
  readonly askedAt: number; // milliseconds; before the nodes were asked
}

export function currenciesOf(
  chain: GatewayChain,
  all: Readonly<Record<string, GatewayCurrency>>,
): readonly GatewayCurrency[] {
  return Object.values(all).filter((currency) => currency.network === chain.network);
}

/** An alarm of the watcher: transaction or network, and words for operators. */
export type WatcherAlarm = CodeWithCause & { readonly subject: string; readonly detail: string };

/** Keeps an alarm permanently, inside the caller's transaction, and logs it only the first time. */
export function raiseAlarm(chain: WatchedChain, database: Database, alarm: WatcherAlarm): void {
  const isNew = recordAlarm(database, { ...alarm, at: chain.clock(), actor: "watcher" });
  const { code, subject, detail } = alarm;
  if (isNew)
    chain.log.error({ event: "chain-alarm", network: chain.network, code, subject }, detail);
}
