/** One chain as the watcher's parts take it, over a reader of the test's own: no nodes, no loop. */

import type { WatcherNodes } from "../../chains/nodes.ts";
import type { GatewayCurrency } from "../../gateway/config/config.ts";
import { FaultBook } from "../../gateway/faults/book.ts";
import { type ClockState, rightClock } from "../../gateway/own-clock.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import type { Tip, WatchedChain } from "../../gateway/watcher/chain.ts";
import { newTokenMemory } from "../../gateway/watcher/decimals.ts";
import type { DepositMemory } from "../../gateway/watcher/deposit-memory.ts";
import { scanDeposits } from "../../gateway/watcher/deposits.ts";
import { unpricedChoices } from "../../lab/kit/choices.ts";
import { type GatewayDatabase, silentLog } from "../../lab/kit/gateway-database.ts";
import { currency } from "./watched-chain.ts";

/** A test's settings of its chain; by default only the native coin "eth". */
interface Watched {
  readonly db: GatewayDatabase;
  readonly network: string;
  /** The questions of the parts under test. */
  readonly reader: Partial<WatcherNodes>;
  readonly currencies?: readonly GatewayCurrency[];
  readonly clock?: () => number;
  readonly ownClock?: () => ClockState;
  readonly confirmingMs?: number; // default 0
}

export function watchedBy({
  db,
  network,
  reader,
  currencies,
  clock = () => 5_000,
  ownClock = () => rightClock,
  confirmingMs = 0,
}: Watched): WatchedChain {
  const all = (currencies ?? [currency("eth", "")]).map((one) => ({ ...one, network }));
  return {
    ...{
      name: "one",
      network,
      reader: { status: () => [], ...reader } as WatcherNodes,
      currencies: all,
      tokens: newTokenMemory(),
    },
    faults: new FaultBook(clock),
    ...{ store: db.store, signals: createSignals(), log: silentLog, clock, ownClock, run: "" },
    confirmingMs,
    choices: unpricedChoices({ currencies: {} }, clock),
    hasLongBlocks: false,
  };
}

/** Passes until all is read. */
export async function scan(
  chain: WatchedChain,
  tip: () => Tip,
  memory: DepositMemory,
): Promise<void> {
  while (!(await scanDeposits(chain, tip(), memory)));
}
