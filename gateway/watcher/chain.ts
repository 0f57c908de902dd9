/**
 * What the watcher's rooms share about one chain: its reader, its currencies, and how a pass tells
 * what it changed.
 */

import type { BlockId, WatcherNodes } from "../../chains/nodes.ts";
import type { Code } from "../../protocol/codes.ts";
import type { GatewayLog } from "../../protocol/log.ts";
import type { GatewayChain, GatewayCurrency } from "../config.ts";
import { recordAlarm } from "../store/alarm.ts";
import type { TransactionRow } from "../store/rows.ts";
import type { Signals } from "../store/signals.ts";
import type { Database, Store } from "../store/store.ts";

/**
 * Which tokens of one chain have answered, and why the others are out of service, by currency id.
 */
export interface TokenMemory {
  readonly confirmed: Set<string>;
  readonly out: Map<string, string>;
  askedAt: number | null;
}

/**
 * A chain as the watcher reads it.
 * @public
 */
export interface WatchedChain {
  readonly name: string; // key of the configuration's chains
  readonly network: string; // CAIP-2
  readonly reader: WatcherNodes;
  readonly currencies: readonly GatewayCurrency[]; // of this chain
  readonly tokens: TokenMemory; // which of them confirmed their decimals
  readonly store: Store;
  readonly signals: Signals;
  readonly log: GatewayLog;
  readonly clock: () => number;
  readonly run: string; // names this process (store/owner.ts)
}

/**
 * What a transaction moves: a top-up the coin that pays the fees, whatever currency's sweep it is
 * for.
 */
export function contractOf({ operation }: Pick<TransactionRow, "operation">, { contract }: GatewayCurrency): string {
  return operation === "topup" ? "" : contract;
}

/**
 * Where the chain stands in one pass.
 * @public
 */
export interface Tip {
  readonly head: BlockId; // one node's word
  readonly final: BlockId; // agreed
  readonly askedAt: number; // milliseconds, before the nodes were asked
}

export function currenciesOf(chain: GatewayChain, all: Readonly<Record<string, GatewayCurrency>>): readonly GatewayCurrency[] {
  return Object.values(all).filter((currency) => currency.network === chain.network);
}

/**
 * Keeps an alarm for good, inside the caller's transaction, and logs it the first time.
 * @public
 */
export function raiseAlarm(chain: WatchedChain, database: Database, code: Code, subject: string, detail: string): void {
  const isNew = recordAlarm(database, { at: chain.clock(), actor: "watcher", code, subject, detail });
  if (isNew) chain.log.error({ event: "chain-alarm", network: chain.network, code, subject }, detail);
}
