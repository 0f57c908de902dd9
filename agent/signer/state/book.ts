/**
 * Every withdrawal this ledger knows: the open ones whole, the last closed ones for people, and for
 * ever how each of the others ended and what it asked for, so that no order is ever paid twice:
 * here until the next checkpoint, then in the ledger's sorted files. A withdrawal closes when the
 * gateway has acknowledged its last entry and, of one with a signature, has said as well that it
 * ended: until then its bytes are kept. Touches nothing but those files, through `Past`.
 */
import { waitingOf } from "../../../chains/families.ts";
import { invariant } from "../../../protocol/fault.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { Past } from "../../ledger/past.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import type { Row } from "../../ledger/sorted-file.ts";
import { contentOf } from "./content.ts";
import { type Ended, endedIn, rowOfEnded } from "./ended.ts";
import { Fifo } from "./fifo.ts";
import { isFinal, type State, states } from "./machine.ts";
import { apply, applyDead, applyRelease, begin, isOver, unheard, type Withdrawal } from "./withdrawal.ts";

/**
 * Most withdrawals open at once; further jobs wait at the gateway.
 * @public
 */
export const openMax = 10_000;
/** Closed withdrawals that can still be listed and shown. */
const recentMax = 1_000;

/**
 * A signed version at the gate.
 * @public
 */
export interface Waiting {
  readonly seq: number; // of its SIGNED record
  readonly transactionId: string;
  readonly version: number;
}

/** @public */
export interface BookSnapshot {
  readonly open: readonly Withdrawal[];
  readonly recent: readonly Withdrawal[];
  // since the newest checkpoint: id, state, content
  readonly closed: readonly (readonly [string, State, string])[];
  readonly ends: readonly (readonly [State, number])[]; // how many ever closed so
  readonly unreleased: readonly Waiting[];
  readonly finals: readonly (readonly [number, string])[];
}

/**
 * The collection. Only `fold` and `acknowledge` change it, from records.
 * @public
 */
export class Book {
  readonly #open = new Map<string, Withdrawal>();
  readonly #recent = new Map<string, Withdrawal>();
  readonly #past: Past;
  /** Since the newest checkpoint. */
  readonly #closed = new Map<string, Ended>();
  readonly #counts = new Map<State, number>(states.map((state) => [state, 0]));
  /** SIGNED records that no acknowledgement covers yet, in ledger order. */
  readonly #unreleased: Fifo<Waiting>;
  /** Ends that are not acknowledged, in ledger order. */
  readonly #finals: Fifo<readonly [number, string]>;

  constructor(past: Past, snapshot?: BookSnapshot) {
    this.#past = past;
    for (const withdrawal of snapshot?.open ?? []) this.#open.set(withdrawal.transactionId, copy(withdrawal));
    for (const withdrawal of snapshot?.recent ?? []) this.#recent.set(withdrawal.transactionId, copy(withdrawal));
    for (const [id, state, content] of snapshot?.closed ?? []) this.#closed.set(id, { state, content });
    for (const withdrawal of this.#open.values()) this.#count(withdrawal.state, 1);
    for (const [state, count] of snapshot?.ends ?? []) this.#count(state, count);
    this.#unreleased = new Fifo(snapshot?.unreleased);
    this.#finals = new Fifo(snapshot?.finals);
  }

  get openCount(): number {
    return this.#open.size;
  }

  /**
   * Open withdrawals, oldest first. Final ones whose end the gateway has not confirmed are among
   * them.
   */
  open(): IterableIterator<Withdrawal> {
    return this.#open.values();
  }

  /** Closed ones that can still be shown, oldest first. */
  recent(): IterableIterator<Withdrawal> {
    return this.#recent.values();
  }

  /** An open or recently closed withdrawal. */
  find(transactionId: string): Withdrawal | undefined {
    return this.#open.get(transactionId) ?? this.#recent.get(transactionId);
  }

  /** Those of these ids that can be found. */
  findEach(transactionIds: readonly string[]): readonly Withdrawal[] {
    return transactionIds.flatMap((transactionId) => this.find(transactionId) ?? []);
  }

  /** An open withdrawal. */
  openOne(transactionId: string): Withdrawal | undefined {
    return this.#open.get(transactionId);
  }

  /** What an order asked for, for every order ever recorded. */
  contentOf(transactionId: string): string | undefined {
    const open = this.#open.get(transactionId);
    return open === undefined ? this.#endOf(transactionId)?.content : contentOf(open.job);
  }

  /** What became of any withdrawal ever recorded. */
  stateOf(transactionId: string): State | undefined {
    return this.#open.get(transactionId)?.state ?? this.#endOf(transactionId)?.state;
  }

  count(state: State): number {
    return this.#counts.get(state) ?? 0;
  }

  /**
   * The signed versions that a head at `seq` covers and that may still be needed, in ledger order.
   */
  releasable(seq: number): readonly Waiting[] {
    const found: Waiting[] = [];
    for (let i = 0; i < this.#unreleased.size; i++) {
      const waiting = this.#unreleased.at(i) as Waiting;
      if (waiting.seq > seq) break;
      const withdrawal = this.#open.get(waiting.transactionId);
      if (withdrawal === undefined || isOver(withdrawal)) continue;
      found.push(waiting);
    }
    return found;
  }

  /**
   * What an opened ledger keeps, and the one before never heard of, counts as asked for when the
   * ledger was opened.
   */
  hear(at: number): void {
    for (const withdrawal of this.#open.values())
      if (withdrawal.requestedAt === unheard) Object.assign(withdrawal, { requestedAt: at, changedAt: at });
  }

  begin(record: Extract<LedgerRecord, { kind: "REQUESTED" }>, job: Job): void {
    invariant(this.stateOf(record.transactionId) === undefined, "an order is recorded once");
    this.#open.set(record.transactionId, begin(record, job));
    this.#count("requested", 1);
  }

  /** Folds a record about one open withdrawal and gives it. */
  fold(record: Extract<LedgerRecord, { transactionId: string }>): Withdrawal {
    const withdrawal = this.#openOne(record.transactionId);
    this.#moved(withdrawal, () => apply(withdrawal, record));
    if (record.kind === "SIGNED") {
      this.#unreleased.push({ seq: record.seq, transactionId: record.transactionId, version: record.version });
    }
    if (record.kind === "OBSERVED" || isOver(withdrawal)) this.#finish(withdrawal, record.seq);
    return withdrawal;
  }

  release(record: Extract<LedgerRecord, { kind: "RELEASED" }>): void {
    for (const { transactionId, version } of record.released) {
      const withdrawal = this.#openOne(transactionId);
      this.#moved(withdrawal, () => applyRelease(withdrawal, version, record));
    }
  }

  /**
   * The gateway holds everything up to `seq`: nothing waits at the gate below it. Gives the ids of
   * what closes.
   */
  acknowledge(seq: number): readonly string[] {
    while ((this.#unreleased.peek()?.seq ?? Number.POSITIVE_INFINITY) <= seq) this.#unreleased.shift();
    const closed: string[] = [];
    while ((this.#finals.peek()?.[0] ?? Number.POSITIVE_INFINITY) <= seq) {
      const [endSeq, transactionId] = this.#finals.shift() as readonly [number, string];
      const withdrawal = this.#open.get(transactionId);
      if (withdrawal === undefined || withdrawal.endSeq !== endSeq) continue;
      withdrawal.isEndHeard = true;
      if (this.#closeIfOver(withdrawal)) closed.push(transactionId);
    }
    return closed;
  }

  /** The gateway says that these have ended. Gives the ids of what closes. */
  end({ ended }: Extract<LedgerRecord, { kind: "ENDED" }>): readonly string[] {
    return ended.filter((transactionId) => {
      const withdrawal = this.#openOne(transactionId);
      withdrawal.isEnded = true;
      return this.#closeIfOver(withdrawal);
    });
  }

  /** The released versions of these hashes that the gateway has not called dead, by withdrawal. */
  alive(txHashes: ReadonlySet<string>): ReadonlyMap<string, readonly string[]> {
    const found = new Map<string, readonly string[]>();
    for (const { transactionId, job, versions } of this.#open.values()) {
      if (waitingOf(job.network) === null) continue;
      const named = versions.filter(
        ({ txHash, released, dead }) => released && txHashes.has(txHash) && dead !== "gateway" && dead !== "both",
      );
      if (named.length > 0)
        found.set(
          transactionId,
          named.map(({ txHash }) => txHash),
        );
    }
    return found;
  }

  /** The gateway says that these versions are dead. Gives the withdrawals, and where each was. */
  takeDead(
    record: Extract<LedgerRecord, { kind: "DEAD" }>,
  ): readonly { readonly withdrawal: Withdrawal; readonly from: State }[] {
    return [...this.alive(new Set(record.txHashes)).keys()].map((transactionId) => {
      const withdrawal = this.#openOne(transactionId);
      const from = withdrawal.state;
      this.#moved(withdrawal, () => applyDead(withdrawal, record));
      return { withdrawal, from };
    });
  }

  /** What closed since the newest checkpoint, as the next one's rows. */
  rows(): readonly Row[] {
    return [...this.#closed].map(([id, ended]) => rowOfEnded(id, ended));
  }

  /** A checkpoint stands for `rows`: the sorted files answer for them. */
  putAway(): void {
    this.#closed.clear();
  }

  snapshot(): BookSnapshot {
    const ends = new Map(this.#counts);
    for (const { state } of this.#open.values()) ends.set(state, (ends.get(state) ?? 0) - 1);
    return {
      open: [...this.#open.values()],
      recent: [...this.#recent.values()],
      closed: [...this.#closed].map(([id, { state, content }]) => [id, state, content]),
      ends: [...ends].filter(([, count]) => count !== 0),
      unreleased: this.#unreleased.toArray(),
      finals: this.#finals.toArray(),
    };
  }

  #endOf(transactionId: string): Ended | undefined {
    const here = this.#closed.get(transactionId);
    if (here !== undefined) return here;
    const id = Buffer.from(transactionId, "hex");
    return endedIn(this.#past.find("closed", id), id);
  }

  #openOne(transactionId: string): Withdrawal {
    const withdrawal = this.#open.get(transactionId);
    invariant(withdrawal !== undefined, `a record about ${transactionId}, which is not open`);
    return withdrawal;
  }

  /** Another end may have been told before. */
  #finish(withdrawal: Withdrawal, seq: number): void {
    if (!isFinal(withdrawal.state)) return;
    withdrawal.endSeq = seq;
    withdrawal.isEndHeard = false;
    this.#finals.push([seq, withdrawal.transactionId]);
  }

  #closeIfOver(withdrawal: Withdrawal): boolean {
    const isClosing = withdrawal.isEndHeard && isOver(withdrawal);
    if (isClosing) this.#close(withdrawal);
    return isClosing;
  }

  #moved(withdrawal: Withdrawal, move: () => void): void {
    this.#count(withdrawal.state, -1);
    move();
    this.#count(withdrawal.state, 1);
  }

  #count(state: State, by: number): void {
    this.#counts.set(state, (this.#counts.get(state) ?? 0) + by);
  }

  #close(withdrawal: Withdrawal): void {
    const { transactionId } = withdrawal;
    this.#open.delete(transactionId);
    this.#closed.set(transactionId, { state: withdrawal.state, content: contentOf(withdrawal.job) });
    // Nobody sends these bytes again, and they are the most of what a withdrawal weighs.
    withdrawal.versions = withdrawal.versions.map((version) => ({ ...version, unsigned: "", raw: "" }));
    this.#recent.set(transactionId, withdrawal);
    const oldest = this.#recent.keys().next();
    if (this.#recent.size > recentMax && !oldest.done) this.#recent.delete(oldest.value);
  }
}

/** A snapshot's own objects are never changed afterwards. */
function copy(withdrawal: Withdrawal): Withdrawal {
  return { ...withdrawal, versions: [...withdrawal.versions], history: [...withdrawal.history] };
}
