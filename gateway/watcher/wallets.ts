/**
 * The hot wallets of one chain's paired agents, kept in memory from pass to pass, and which of them
 * are to be read: a wallet that something moved, that promises something, or whose turn it is. A
 * pass costs what happens, and not what exists.
 */
import type { WatchedAddresses } from "../../chains/nodes.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { agentsVersion, listPairedWallets } from "../store/agents.ts";
import type { Database } from "../store/store.ts";

/** A wallet that nothing moves is read again after this time at the earliest. */
const restMs = 5 * 60_000;
/** A question about wallets that rest in so much time, and the most of one pass. */
const questionMs = 1_000;
const restingMax = 16;

/** A wallet to be read since a final block, and the currencies that were since then. */
interface DueWallet {
  readonly block: number;
  readonly done: Set<string>;
  readonly isPart: boolean; // not all currencies are read
}

interface WalletReading {
  readonly final: number;
  readonly atMs: number; // own time
}

/** The first and the last block that moved a wallet and is not final yet. */
interface MovedBlocks {
  readonly from: number;
  readonly to: number;
}

export class HotWallets {
  readonly #network: string;
  #version = -1; // the list of agents that was read last has it
  #accounts: readonly string[] = [];
  readonly #merchants = new Map<string, string>(); // by account
  readonly #ever = new Set<string>();
  readonly #due = new Map<string, DueWallet>(); // by account
  readonly #moved = new Map<string, MovedBlocks>(); // by account
  readonly #read = new Map<string, WalletReading>(); // by account: its newest reading in all currencies
  #final = 0; // the newest final block
  #first = 0; // accounts below this place have had their reading in this round over all, or are due
  #known: readonly string[] = []; // currencies that this round leaves out
  #next = 0; // the place of the account that comes next in turn
  #turnAt: number | null = null; // own time up to which questions in turn were given out

  constructor(network: string) {
    this.#network = network;
    const ever = this.#ever;
    this.book = {
      has: (account) => ever.has(account),
      all: () => ever,
      get size() {
        return ever.size;
      },
    };
  }

  /** Takes agents that were paired or unpaired since the last call. A new wallet is due at once. */
  refresh(database: Database): void {
    const version = agentsVersion(database);
    if (version === this.#version) return;
    const isFirst = this.#version === -1;
    const known = new Set(this.#accounts);
    this.#version = version;
    this.#merchants.clear();
    for (const wallet of listPairedWallets(database, this.#network)) {
      const account = hotWalletAddressOn(wallet, this.#network);
      if (account !== "") this.#merchants.set(account, wallet.merchant);
    }
    this.#accounts = [...this.#merchants.keys()];
    for (const account of this.#accounts) {
      this.#ever.add(account);
      if (!isFirst && !known.has(account)) this.mark(account, 0);
    }
    for (const kept of [this.#due, this.#moved, this.#read])
      for (const account of kept.keys()) if (!this.#merchants.has(account)) kept.delete(account);
    // The places are others now: a round that goes on begins again.
    this.#first = isFirst || this.#first < known.size ? 0 : this.#accounts.length;
  }

  /** Another number for each list of agents. */
  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#accounts.length;
  }

  all(): readonly string[] {
    return this.#accounts;
  }

  merchantOf(account: string): string | undefined {
    return this.#merchants.get(account);
  }

  /** Every wallet that was ever in the list: a book only grows. */
  readonly book: WatchedAddresses;

  /** Takes the newest final block. A wallet that later blocks move too is read at each of them. */
  reached(final: number): void {
    this.#final = final;
    for (const [account, { from, to }] of this.#moved) {
      if (from <= final) this.#markNow(account);
      if (to <= final) this.#moved.delete(account);
      else if (from <= final) this.#moved.set(account, { from: final + 1, to });
    }
  }

  /**
   * Lets a wallet be read once when this block is final, now if it is. Harmless for a wallet that
   * was read there.
   */
  mark(account: string, block: number): void {
    if (!this.#merchants.has(account)) return;
    if (block <= this.#final) {
      this.#markNow(account);
      return;
    }
    const { from, to } = this.#moved.get(account) ?? { from: block, to: block };
    this.#moved.set(account, { from: Math.min(from, block), to: Math.max(to, block) });
  }

  #markNow(account: string): void {
    const block = this.#final;
    const isRead =
      (this.#read.get(account)?.final ?? -1) >= block ||
      (this.#due.get(account)?.block ?? -1) >= block;
    if (!isRead) this.#due.set(account, { block, done: new Set(), isPart: false });
  }

  /**
   * Begins a round over all wallets, as many in a pass as fit, because what is known of all may be
   * wrong; but for currencies of which it is known.
   */
  markAll(known: readonly string[] = []): void {
    this.#known =
      this.#first < this.#accounts.length ? known.filter((id) => this.#known.includes(id)) : known;
    this.#first = 0;
    if (known.length === 0) this.#due.clear();
  }

  /** Marks so many wallets of the round over all. */
  markFirst(most: number): void {
    const end = Math.min(this.#accounts.length, this.#first + most);
    for (; this.#first < end; this.#first += 1) {
      const account = this.#accounts[this.#first] as string;
      const due = this.#due.get(account);
      const done = new Set(
        due === undefined ? this.#known : this.#known.filter((id) => due.done.has(id)),
      );
      const isPart = due === undefined ? done.size > 0 : due.isPart && done.size > 0;
      this.#due.set(account, { block: this.#final, done, isPart });
    }
  }

  /**
   * Marks wallets in turn that nothing has marked, each at `questions` questions, as many as the
   * time since the last of them allows.
   */
  markResting(nowMs: number, questions: number): void {
    const passedMs =
      this.#turnAt === null ? restingMax * questionMs : Math.abs(nowMs - this.#turnAt);
    let left = Math.min(restingMax, Math.floor(passedMs / questionMs));
    for (
      let seen = Math.min(restingMax, this.#accounts.length);
      seen > 0 && left >= questions;
      seen -= 1
    ) {
      const account = this.#accounts[this.#next % this.#accounts.length] as string;
      this.#next = (this.#next + 1) % this.#accounts.length;
      const read = this.#read.get(account);
      if (this.#due.has(account) || (read !== undefined && Math.abs(nowMs - read.atMs) < restMs))
        continue;
      this.mark(account, 0);
      if (!this.#due.has(account)) continue; // read at this block already
      this.#turnAt = nowMs;
      left -= questions;
    }
  }

  /** Wallets that are to be read at the newest final block. */
  due(): readonly string[] {
    return [...this.#due.keys()];
  }

  /** True if a wallet is to be read in a currency, by its id. */
  isDue(account: string, currency: string): boolean {
    return this.#due.get(account)?.done.has(currency) === false;
  }

  /** Notes that a wallet was read in a currency at the newest final block. */
  wasRead(
    account: string,
    currency: string,
    currencies: readonly { readonly id: string }[],
    nowMs: number,
  ): void {
    const due = this.#due.get(account);
    if (due === undefined) return;
    due.done.add(currency);
    if (!currencies.every(({ id }) => due.done.has(id))) return;
    this.#due.delete(account);
    if (!due.isPart) this.#read.set(account, { final: due.block, atMs: nowMs });
  }
}
