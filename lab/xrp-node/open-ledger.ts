/**
 * The ledger that is not closed yet, with the queue for transactions whose fee is below its price
 * and the transactions that came too early. Source: xrpl.org, transaction queue; rippled's TxQ:
 * a replacement pays more than 1.25 times the queued fee level, an account has ten places, and a
 * queued transaction lives for two ledgers at least.
 */
import type { Result } from "./results.ts";
import { carryOut, isExpired, preclaim, preflight, type Rules } from "./rules.ts";
import type { Account, State } from "./state.ts";
import type { ReadTransaction } from "./transaction.ts";

export interface Change {
  readonly address: string;
  readonly before: Account | null; // null where the transaction made the account
  readonly after: Account;
}

export interface OpenLedgerTransaction {
  readonly tx: ReadTransaction;
  readonly result: Result;
  readonly changes: readonly Change[];
  readonly delivered: unknown; // an amount, or null where metadata tells none
  readonly isFromOutside: boolean; // told by the test, not by the rules
}

/** As `submit` answers. */
export interface Verdict {
  readonly result: Result;
  readonly isApplied: boolean;
  readonly isQueued: boolean;
  readonly isKept: boolean;
}

export const referenceLevel = 256n;
const retryPercent = 125n;
const queueMostOfAccount = 10;
const ledgersLeftLeast = 2;

export class OpenLedger {
  readonly #rules: Rules;
  index: number;
  state: State;
  opened: OpenLedgerTransaction[] = [];
  queue: ReadTransaction[] = [];
  held: ReadTransaction[] = [];
  /** The price of a place in this ledger. */
  openFeeDrops: bigint;

  constructor(rules: Rules, index: number, state: State) {
    this.#rules = rules;
    this.index = index;
    this.state = state.fork();
    this.openFeeDrops = rules.baseFeeDrops;
  }

  /** With the price as the node sees it that was given the transaction. */
  submit(tx: ReadTransaction, openFeeDrops = this.openFeeDrops): Verdict {
    const verdict = this.judge(tx, openFeeDrops);
    if (verdict.isApplied) this.#apply(tx);
    else if (verdict.isQueued) this.#enqueue(tx);
    else if (verdict.isKept && !this.held.some(({ hash }) => hash === tx.hash)) this.held.push(tx);
    return verdict;
  }

  /** The same answer without any effect. */
  judge(tx: ReadTransaction, openFeeDrops = this.openFeeDrops): Verdict {
    const fault = preflight(tx, this.#rules);
    if (fault !== null) return refused(fault);
    if (this.opened.some((one) => one.tx.hash === tx.hash)) return refused("tefALREADY");
    const stop = preclaim(tx, this.#behindQueue(tx), this.index, this.#rules);
    if (stop !== null)
      return stop.startsWith("ter") ? { ...refused(stop), isKept: true } : refused(stop);
    const isNext = this.state.account(tx.account)?.sequence === tx.sequence;
    if (isNext && (tx.feeDrops ?? 0n) >= openFeeDrops) {
      const result = carryOut(tx, this.state.fork(), this.index, this.#rules);
      return { result, isApplied: true, isQueued: false, isKept: true };
    }
    const full = this.#queueFault(tx);
    return full === null
      ? { result: "terQUEUED", isApplied: false, isQueued: true, isKept: true }
      : refused(full);
  }

  /** A transaction that arrives by the test's word, whatever the rules say. */
  arrive(tx: ReadTransaction, effect: (state: State) => void, delivered: unknown): void {
    const after = this.state.fork();
    effect(after);
    this.#seal({ tx, result: "tesSUCCESS", delivered, isFromOutside: true }, after);
  }

  /** Begins behind a closed ledger; `again` are transactions that it left out. */
  begin(index: number, state: State, again: readonly ReadTransaction[]): void {
    const waiting = [...again, ...this.held];
    const queued = this.queue.filter((tx) => !isExpired(tx, index));
    this.index = index;
    this.state = state.fork();
    this.opened = [];
    this.held = [];
    this.queue = queued.sort((a, b) => a.sequence - b.sequence);
    this.#promote();
    // An early one may let the next one in, so each of them has as many turns as there are.
    for (let turn = 0; turn <= waiting.length; turn += 1) {
      for (const tx of waiting) if (!this.#has(tx)) this.submit(tx);
      this.held = this.held.filter((tx) => !this.#has(tx));
    }
  }

  queueOf(account: string): readonly ReadTransaction[] {
    return this.queue
      .filter((tx) => tx.account === account)
      .sort((a, b) => a.sequence - b.sequence);
  }

  /** 256 is the base fee. */
  levelOf(feeDrops: bigint): bigint {
    return (feeDrops * referenceLevel) / this.#rules.baseFeeDrops;
  }

  /** Known here, but in no closed ledger. */
  find(hash: string): ReadTransaction | undefined {
    const opened = this.opened.find(({ tx }) => tx.hash === hash)?.tx;
    return opened ?? [...this.queue, ...this.held].find((tx) => tx.hash === hash);
  }

  #has(tx: ReadTransaction): boolean {
    return (
      this.opened.some((one) => one.tx.hash === tx.hash) ||
      this.queue.some(({ hash }) => hash === tx.hash)
    );
  }

  #apply(tx: ReadTransaction): void {
    const after = this.state.fork();
    const result = carryOut(tx, after, this.index, this.#rules);
    const delivered = result === "tesSUCCESS" && tx.type === "Payment" ? tx.fields.Amount : null;
    this.#seal({ tx, result, delivered, isFromOutside: false }, after);
    this.queue = this.queue.filter(
      (one) => one.account !== tx.account || one.sequence !== tx.sequence,
    );
  }

  /** Notes the accounts that changed, which take the transaction for their newest. */
  #seal(opened: Omit<OpenLedgerTransaction, "changes">, after: State): void {
    const changes = after.changedSince(this.state).map((address) => {
      const before = this.state.account(address) ?? null;
      return { address, before, after: after.account(address)! };
    });
    for (const { address } of changes)
      after.put(address, { previousTxnId: opened.tx.hash, previousLedger: this.index });
    this.opened.push({ ...opened, changes });
    this.state = after;
  }

  #enqueue(tx: ReadTransaction): void {
    this.queue = this.queue.filter(
      (one) => one.account !== tx.account || one.sequence !== tx.sequence,
    );
    this.queue.push(tx);
  }

  /** Dearest first, and each account's in the order of their sequences. */
  #promote(): void {
    for (let next = this.#nextOfQueue(); next !== undefined; next = this.#nextOfQueue()) {
      const tx = next;
      this.queue = this.queue.filter((one) => one !== tx);
      if (preclaim(tx, this.state, this.index, this.#rules) === null) this.#apply(tx);
    }
  }

  #nextOfQueue(): ReadTransaction | undefined {
    const ready = this.queue.filter(
      (tx) => (this.state.account(tx.account)?.sequence ?? 0) >= tx.sequence,
    );
    const payers = ready.filter((tx) => (tx.feeDrops ?? 0n) >= this.openFeeDrops);
    return payers.sort((a, b) => Number((b.feeDrops ?? 0n) - (a.feeDrops ?? 0n)))[0];
  }

  /** The state as if the account's queued transactions before this one had been carried out. */
  #behindQueue(tx: ReadTransaction): State {
    const account = this.state.account(tx.account);
    const earlier = this.queueOf(tx.account).filter(({ sequence }) => sequence < tx.sequence);
    const isInLine = earlier.every(
      ({ sequence }, at) => sequence === (account?.sequence ?? 0) + at,
    );
    if (account === undefined || earlier.length === 0 || !isInLine) return this.state;
    const state = this.state.fork();
    state.put(tx.account, { sequence: account.sequence + earlier.length });
    return state;
  }

  #queueFault(tx: ReadTransaction): Result | null {
    const line = this.queueOf(tx.account);
    const replaced = line.find(({ sequence }) => sequence === tx.sequence);
    if (tx.lastLedger !== null && tx.lastLedger < this.index + ledgersLeftLeast)
      return "telCAN_NOT_QUEUE";
    if (replaced === undefined)
      return line.length >= queueMostOfAccount ? "telCAN_NOT_QUEUE_FULL" : null;
    const asked = (this.levelOf(replaced.feeDrops ?? 0n) * retryPercent) / 100n;
    return this.levelOf(tx.feeDrops ?? 0n) > asked ? null : "telCAN_NOT_QUEUE_FEE";
  }
}

function refused(result: Result): Verdict {
  return { result, isApplied: false, isQueued: false, isKept: false };
}
