/**
 * The accounts that send on one chain, kept in memory from pass to pass: accounts only come, so a
 * pass reads the slots that are new, and not each slot that was ever used.
 */
import { familyOf } from "../../chains/families.ts";
import { agentsVersion, listAccountsEver } from "../store/agents.ts";
import { listSendingAccounts, listSlotsAfter, newestSlotPlace } from "../store/slots.ts";
import type { Database } from "../store/store.ts";

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
    for (const account of listAccountsEver(database, this.#network)) {
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
