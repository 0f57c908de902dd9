/** The state of the reading of one chain's deposits between two passes. */

import { familyOf } from "../../chains/families.ts";
import type { BlockId } from "../../chains/nodes.ts";
import { MerchantTurns } from "../faults/turns.ts";
import { agentsVersion, listHotWalletsEver } from "../store/agents.ts";
import { listSendingAccounts, listSlotsAfter, newestSlotPlace } from "../store/slots.ts";
import type { Database } from "../store/store.ts";
import type { Tip } from "./chain.ts";
import { type CompareMemory, newCompareMemory } from "./compare-lists.ts";
import { newRequestEndMemory, type RequestEndMemory } from "./ends.ts";
import { WatchList } from "./findings.ts";
import { HotWallets } from "./wallets.ts";

/*
 * The accounts that send on one chain, kept in memory from pass to pass: accounts only come, so a
 * pass reads the slots that are new, and not each slot that was ever used.
 */

export class SenderList {
  readonly #network: string;
  readonly #isCounted: boolean;
  readonly #users = new Set<string>();
  readonly #payers = new Set<string>();
  readonly #hotWallets = new Set<string>();
  #newest: number | null = null;
  #version = -1; // the list of agents that was read last has it

  constructor(network: string) {
    this.#network = network;
    this.#isCounted = familyOf(network).slots.isCounted;
  }

  /** Adds the accounts of slots and agents that came since the last call. */
  refresh(database: Database): void {
    for (const account of this.#newUsers(database)) {
      this.#users.add(account);
      if (!this.#isCounted) this.#payers.add(account);
    }
    const version = agentsVersion(database);
    if (version === this.#version) return;
    this.#version = version;
    for (const account of listHotWalletsEver(database, this.#network)) {
      this.#payers.add(account);
      this.#hotWallets.add(account);
    }
  }

  /** The number of hot wallets of every agent that was ever paired. */
  get hotWallets(): number {
    return this.#hotWallets.size;
  }

  /** Accounts that ever used a slot on the chain. */
  get users(): ReadonlySet<string> {
    return this.#users;
  }

  /**
   * The hot wallets of every agent that was ever paired. On a chain where no slot shows the
   * outgoing transactions of a deposit address, also the swept addresses.
   */
  get payers(): ReadonlySet<string> {
    return this.#payers;
  }

  #newUsers(database: Database): readonly string[] {
    if (this.#newest === null) {
      // The place is read first, so that a slot which comes between is read again and not missed.
      this.#newest = newestSlotPlace(database);
      return listSendingAccounts(database, this.#network);
    }
    const rows = listSlotsAfter(database, this.#newest);
    this.#newest = rows.at(-1)?.place ?? this.#newest;
    return rows.filter(({ network }) => network === this.#network).map(({ account }) => account);
  }
}

/** State that is not in the tables, because reading again gives it again. */
export interface DepositMemory {
  readonly list: WatchList;
  readonly senders: SenderList;
  readonly wallets: HotWallets; // hot wallets of paired agents; blocks mark those that they move
  seen: BlockId[]; // blocks above the cursor read as seen, rising without gaps
  hotWallets: number; // that seen blocks were searched for
  reached: Tip | null; // the newest tip up to whose head all was read and kept
  readonly compare: CompareMemory; // of balances
  readonly ends: RequestEndMemory; // of requests
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
    ends: newRequestEndMemory(),
    unreadTurns: new MerchantTurns(),
    gapTurns: new MerchantTurns(),
    stuckAt: null,
    unseen: new Set(),
    crowded: new Map(),
  };
}
