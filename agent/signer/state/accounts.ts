/**
 * Exclusion tokens: which nonce an account uses next. There is no counter beside the ledger; this one is folded from ADOPTED and
 * INTENT records, so a nonce and its withdrawal are one fact. Touches nothing.
 */
import { invariant } from "../../../protocol/fault.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import { isUnfinished, type State } from "./withdrawal.ts";

/**
 * Most withdrawals of one account whose token is bound and which no block holds, as far as the courier tells: those on their way to a
 * block and as many again behind them. More would only queue in the nodes' pools (geth's hold 5,120 in all), where one stuck
 * transaction holds up all behind it. Those in a block wait for finality in any number.
 * @public
 */
export const pendingPerAccountMax = 512;

/** @public */
export interface Account {
  readonly network: string;
  readonly account: string; // EIP-55
  adopted: bigint; // the first nonce ever used from here
  next: bigint;
  pending: number;
  /** Nonces a recovery passed over, from and up to: this ledger never gave them to anybody by itself. */
  readonly passed: (readonly [bigint, bigint])[];
}

/**
 * `[network, account, adopted, next, unfinished, passed over in recoveries]`
 * @public
 */
export type AccountEntries = readonly (readonly [string, string, string, string, number, (readonly [string, string])[]?])[];

/**
 * Every adopted account. Only `fold` and `move` change it, from records.
 * @public
 */
export class Accounts {
  readonly #byKey = new Map<string, Account>();

  constructor(entries: AccountEntries = []) {
    for (const [network, account, adopted, next, pending, jumps = []] of entries) {
      const passed = jumps.map(([from, to]) => [BigInt(from), BigInt(to)] as const);
      const place = { adopted: BigInt(adopted), next: BigInt(next), pending, passed };
      this.#byKey.set(keyOf(network, account), { network, account, ...place });
    }
  }

  find(network: string, account: string): Account | undefined {
    return this.#byKey.get(keyOf(network, account));
  }

  /** ADOPTED and INTENT records. The nonce of a first version is the next one and no other. */
  fold(record: LedgerRecord): void {
    if (record.kind === "ADOPTED") {
      const key = keyOf(record.network, record.account);
      const known = this.#byKey.get(key);
      invariant(known === undefined || !isBegun(known), "an account is adopted before its first token");
      const adopted = BigInt(record.nonce);
      const { network, account } = record;
      this.#byKey.set(key, { network, account, adopted, next: adopted, pending: 0, passed: [] });
    }
    if (record.kind === "INTENT" && record.version === 1) {
      const account = this.find(record.network, record.account);
      invariant(account !== undefined && account.next === BigInt(record.nonce), "nonces are allocated in order, without gaps");
      account.next += 1n;
      account.pending += 1;
    }
  }

  /** An observation moved a withdrawal with a bound token: into a block or to its end, or out of a block again. */
  move(network: string, account: string, from: State, to: State): void {
    const change = Number(isPending(to)) - Number(isPending(from));
    if (change === 0) return;
    const found = this.find(network, account);
    invariant(found !== undefined && found.pending + change >= 0, "what leaves the pools was in them");
    found.pending += change;
  }

  /** A recovery's watermark: nothing below `next` is ever given to a new withdrawal, and where the account began is settled. */
  recover({ network, account, next }: { readonly network: string; readonly account: string; readonly next: string }): void {
    const to = BigInt(next);
    const found = this.find(network, account);
    if (found === undefined) {
      this.#byKey.set(keyOf(network, account), { network, account, adopted: 0n, next: to, pending: 0, passed: [[0n, to]] });
      return;
    }
    invariant(to >= found.next, "a watermark never goes back");
    if (to > found.next) found.passed.push([found.next, to]);
    found.next = to;
    if (isBegun(found)) return;
    found.adopted = 0n;
    found.passed.push([0n, to]);
  }

  /** After a recovery: which bound tokens are in no block is counted anew. */
  recount(open: Iterable<{ readonly job: { readonly network: string }; readonly account: string; readonly state: State }>): void {
    for (const account of this.#byKey.values()) account.pending = 0;
    for (const { job, account, state } of open) {
      const found = isPending(state) ? this.find(job.network, account) : undefined;
      if (found !== undefined) found.pending += 1;
    }
  }

  /** The networks on which an address was adopted. */
  networks(account: string): readonly string[] {
    return [...this.#byKey.values()].filter((each) => each.account === account).map(({ network }) => network);
  }

  /** Whether this ledger itself gave the nonce to a withdrawal. */
  gave(network: string, account: string, nonce: bigint): boolean {
    const found = this.find(network, account);
    if (found === undefined || nonce < found.adopted || nonce >= found.next) return false;
    return !found.passed.some(([from, to]) => nonce >= from && nonce < to);
  }

  /** The nonces from `least` on that recoveries passed over, each once, lowest first. */
  passedFrom(network: string, account: string, least: bigint): readonly (readonly [bigint, bigint])[] {
    const ranges: (readonly [bigint, bigint])[] = [];
    let at = least;
    const passed = [...(this.find(network, account)?.passed ?? [])];
    for (const [from, to] of passed.sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (to <= at) continue;
      if (from > at) at = from;
      ranges.push([at, to]);
      at = to;
    }
    return ranges;
  }

  snapshot(): AccountEntries {
    return [...this.#byKey.values()].map(({ network, account, adopted, next, pending, passed }) => [
      network,
      account,
      adopted.toString(),
      next.toString(),
      pending,
      passed.map(([from, to]) => [from.toString(), to.toString()] as const),
    ]);
  }
}

/**
 * A token of it was bound: where it began stands for ever.
 * @public
 */
export function isBegun({ adopted, next }: Account): boolean {
  return next !== adopted;
}

function isPending(state: State): boolean {
  return isUnfinished(state) && state !== "included";
}

function keyOf(network: string, account: string): string {
  return `${network} ${account}`;
}
