/**
 * The accounts of one chain that deposit addresses are derived from, of paired agents and of
 * merchants without one, kept in memory from pass to pass and visited in turn.
 */
import { familyOf } from "../../chains/families.ts";
import { depositsIdOn } from "../store/agent-accounts.ts";
import { agentsVersion, listPairedOn, nextDepositIndexOf } from "../store/agents.ts";
import {
  listReceivingAccounts,
  nextDepositIndexUnder,
  receivingKeysVersion,
} from "../store/receiving-keys.ts";
import type { Database } from "../store/store.ts";

export interface DepositAccount {
  readonly id: string; // the text that addresses are derived from
  readonly merchant: string;
  /** The first index that has not left. */
  readonly readNext: (database: Database) => number;
}

/** An account rests when no order has waited for its addresses for so long. */
const awakeMs = 86_400_000;
/**
 * The most indexes of an account that are looked at ahead, however fast its addresses leave: those
 * of two seconds at 250 a second.
 */
const placesMax = 512;
/** Addresses of so many passes are looked at ahead. */
const passesAhead = 2;

/** An account for whose addresses an order waited. */
interface AwakeAccount {
  readonly atMs: number; // own time
  next: number | null; // its first index that has not left, at the last pass
  places: number; // that were looked at ahead then
}

export class DepositAccounts {
  readonly #network: string;
  #version = "";
  #accounts: ReadonlyMap<string, DepositAccount> = new Map();
  #ring: readonly DepositAccount[] = [];
  #at = 0;
  readonly #awake = new Map<string, AwakeAccount>(); // by account, the one visited longest ago first

  constructor(network: string) {
    this.#network = network;
  }

  /** Takes the accounts that came or went since the last call. */
  refresh(database: Database): void {
    const version = `${agentsVersion(database)} ${receivingKeysVersion(database)}`;
    if (version === this.#version) return;
    this.#version = version;
    const ofAgents = listPairedOn(database, this.#network).map(
      (agent): DepositAccount => ({
        id: depositsIdOn(agent, this.#network),
        merchant: agent.merchant,
        readNext: (inside) => nextDepositIndexOf(inside, agent.id),
      }),
    );
    const others = listReceivingAccounts(database, familyOf(this.#network).name).map(
      ({ id, merchant, firstDepositAddress }): DepositAccount => ({
        id,
        merchant,
        readNext: (inside) => nextDepositIndexUnder(inside, merchant, firstDepositAddress),
      }),
    );
    this.#ring = [...ofAgents.filter(({ id }) => id !== ""), ...others];
    this.#accounts = new Map(this.#ring.map((account) => [account.id, account]));
    this.#at = this.#ring.length === 0 ? 0 : this.#at % this.#ring.length;
  }

  find(id: string): DepositAccount | undefined {
    return this.#accounts.get(id);
  }

  /** Lets an account be visited at each pass for a day, because an order waits for an address. */
  wake(id: string, nowMs: number): void {
    if (!this.#accounts.has(id)) return;
    const { next, places } = this.#awake.get(id) ?? { next: null, places: 0 };
    this.#awake.set(id, { atMs: nowMs, next, places });
  }

  /**
   * How many indexes of an account a pass looks at ahead, at least `least`: twice as many as left
   * since the last pass, so that none waits at the same rate, and fewer again from pass to pass.
   * `waiting` orders at most double it, because they may all be one order that is asked again and
   * again. An account that nobody woke has `least`.
   */
  placesAhead(
    { id, next }: { readonly id: string; readonly next: number },
    waiting: number,
    least: number,
  ): number {
    const awake = this.#awake.get(id);
    if (awake === undefined) return least;
    const before = Math.max(least, awake.places);
    const left = awake.next === null ? 0 : Math.max(0, next - awake.next);
    const wanted = waiting === 0 ? 0 : Math.min(2 * before, passesAhead * (left + waiting));
    const places = Math.max(passesAhead * left, wanted, Math.floor((awake.places * 3) / 4));
    awake.next = next;
    awake.places = Math.max(least, Math.min(placesMax, places));
    return awake.places;
  }

  /**
   * True if fewer than half of the indexes that the last pass looked at are behind this one, which
   * has left; not for an account with `few` or less.
   */
  isShort(id: string, index: number, few: number): boolean {
    const { next, places } = this.#awake.get(id) ?? { next: null, places: 0 };
    return next !== null && places > few && index + 1 - next > places / 2;
  }

  /** The awake accounts that come next in turn, at most so many. */
  nextAwake(most: number, nowMs: number): readonly DepositAccount[] {
    const taken: DepositAccount[] = [];
    for (const [id, awake] of [...this.#awake].slice(0, most)) {
      const account = this.#accounts.get(id);
      this.#awake.delete(id);
      if (account === undefined || Math.abs(nowMs - awake.atMs) >= awakeMs) continue;
      this.#awake.set(id, awake);
      taken.push(account);
    }
    return taken;
  }

  /** The accounts that come next in turn, each once, at most so many. */
  next(most: number): readonly DepositAccount[] {
    const count = Math.min(most, this.#ring.length);
    const taken = Array.from(
      { length: count },
      (_, step) => this.#ring[(this.#at + step) % this.#ring.length] as DepositAccount,
    );
    this.#at = this.#ring.length === 0 ? 0 : (this.#at + count) % this.#ring.length;
    return taken;
  }
}
