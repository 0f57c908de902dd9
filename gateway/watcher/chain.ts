/**
 * What the watcher's rooms share about one chain: its reader, its currencies, and how a pass tells what it changed.
 */

import type { BlockId } from "../../chains/evm/node-finality.ts";
import type { Code } from "../../protocol/codes.ts";
import type { GatewayLog } from "../../protocol/log.ts";
import type { GatewayChain, GatewayCurrency } from "../config.ts";
import { recordAlarm } from "../store/alarm.ts";
import type { Signals } from "../store/signals.ts";
import type { Database, Store } from "../store/store.ts";
import type { ChainReader } from "./reader.ts";

export interface WatchedChain {
  readonly name: string; // key of the configuration's chains
  readonly network: string; // CAIP-2
  readonly reader: ChainReader;
  readonly currencies: readonly GatewayCurrency[]; // of this chain
  readonly store: Store;
  readonly signals: Signals;
  readonly log: GatewayLog;
  readonly clock: () => number;
}

/** Where the chain stands in one pass. */
export interface Tip {
  readonly head: BlockId; // one node's word
  readonly final: BlockId; // agreed
  readonly askedAt: number; // milliseconds, before the nodes were asked
}

export function currenciesOf(chain: GatewayChain, all: Readonly<Record<string, GatewayCurrency>>): readonly GatewayCurrency[] {
  return Object.values(all).filter((currency) => currency.network === chain.network);
}

/** Keeps an alarm for good, inside the caller's transaction, and logs it the first time. */
export function raiseAlarm(chain: WatchedChain, database: Database, code: Code, subject: string, detail: string): void {
  const isNew = recordAlarm(database, { at: chain.clock(), actor: "watcher", code, subject, detail });
  if (isNew) chain.log.error({ event: "chain-alarm", network: chain.network, code, subject }, detail);
}

/** Runs `job` over all items, at most `width` at a time, in order of the items. */
export async function inWaves<T, R>(items: readonly T[], width: number, job: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let next = 0; next < items.length; next += width) {
    results.push(...(await Promise.all(items.slice(next, next + width).map(job))));
  }
  return results;
}
