/** The state of the reading of one chain's deposits between two passes. */
import type { BlockId } from "../../chains/nodes.ts";
import { MerchantTurns } from "../faults/turns.ts";
import type { Tip } from "./chain.ts";
import { type CompareMemory, newCompareMemory } from "./compare-lists.ts";
import { type EndMemory, newEndMemory } from "./ends.ts";
import { WatchList } from "./findings.ts";
import { SenderList } from "./senders.ts";
import { HotWallets } from "./wallets.ts";

/** State that is not in the tables, because reading again gives it again. */
export interface DepositMemory {
  readonly list: WatchList;
  readonly senders: SenderList;
  readonly wallets: HotWallets; // hot wallets of paired agents; blocks mark those that they move
  seen: BlockId[]; // blocks above the cursor read as seen, rising without gaps
  hotWallets: number; // that seen blocks were searched for
  reached: Tip | null; // the newest tip up to whose head all was read and kept
  readonly compare: CompareMemory; // of balances
  readonly ends: EndMemory; // of requests
  readonly unreadTurns: MerchantTurns; // of merchants
  readonly gapTurns: MerchantTurns; // of merchants
  stuckAt: { readonly hash: string; readonly since: number } | null; // a block that cannot be searched
  unseen: ReadonlySet<string>; // accounts whose newest blocks could not be searched in this pass, or not be kept whole
  readonly crowded: Map<string, number>; // by account the newest seen block of which not all was kept
}

export function newDepositMemory(network: string): DepositMemory {
  return {
    list: new WatchList(network),
    senders: new SenderList(network),
    wallets: new HotWallets(network),
    seen: [],
    hotWallets: 0,
    reached: null,
    compare: newCompareMemory(),
    ends: newEndMemory(),
    unreadTurns: new MerchantTurns(),
    gapTurns: new MerchantTurns(),
    stuckAt: null,
    unseen: new Set(),
    crowded: new Map(),
  };
}
