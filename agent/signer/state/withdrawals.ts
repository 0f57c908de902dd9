/**
 * Every withdrawal that this ledger knows. Open withdrawals are kept in full, and the last closed
 * ones for operators. End and content of every other withdrawal are kept permanently, so that no
 * order is ever paid twice: here until the next checkpoint, then in the ledger's sorted files.
 *
 * A withdrawal closes when the gateway has acknowledged its last entry. A signed withdrawal also
 * needs the gateway's statement of its end, and keeps its bytes until then. Touches only the sorted
 * files, through `ArchiveLookup`.
 */
import { Bug, invariant } from "../../../base/fault.ts";
import { expiryExclusionOf, pinExclusionOf } from "../../../chains/families.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { ArchiveLookup } from "../../ledger/archive.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import type { Row } from "../../ledger/sorted-file.ts";
import { contentHashesOf } from "./content.ts";
import { Fifo } from "./fifo.ts";
import { allStates, isFinal, type RecordedWithdrawalState } from "./machine.ts";
import { listCoinsSpentAtEnd } from "./owed-coins.ts";
import {
  applyRecord,
  applyRelease,
  applyVoid,
  isOver,
  newWithdrawal,
  unreceivedTimeMark,
  type Withdrawal,
  withFreedCoin,
} from "./withdrawal.ts";

/*
 * The permanent memory of a closed withdrawal: end and content, as one row of a sorted file under
 * the withdrawal's id. Touches nothing.
 */

interface EndedContent {
  readonly state: RecordedWithdrawalState;
  readonly content: string; // from `contentOf`
}

/**
 * The first byte of a row's value. Files are kept permanently, so a new end is added last, and none
 * is removed.
 */
const ends: readonly RecordedWithdrawalState[] = [
  "paid",
  "reverted",
  "conflicted",
  "refused",
  "expired",
  "cancelled",
  "moved",
];

/** key = id(16); value = end(1) ‖ content(32) */
export function rowOfEnded(transactionId: string, { state, content }: EndedContent): Row {
  const end = ends.indexOf(state);
  invariant(end >= 0, `what is ${state} has not ended`);
  return {
    key: Buffer.from(transactionId, "hex"),
    value: Buffer.concat([Uint8Array.of(end), Buffer.from(content, "hex")]),
  };
}

/**
 * Returns how the withdrawal of an id ended, by the newest row found for it; undefined without a
 * row.
 */
function endedIn(rows: readonly Row[], id: Uint8Array): EndedContent | undefined {
  const row = rows.find(({ key }) => Buffer.compare(key, id) === 0);
  if (row === undefined) return undefined;
  const state = ends[row.value[0] ?? ends.length];
  // This program or a later one wrote the file.
  if (state === undefined) throw new Bug("a closed withdrawal has an end that this version knows");
  return { state, content: Buffer.from(row.value.subarray(1)).toString("hex") };
}

/** The most open withdrawals; further jobs wait at the gateway. */
export const openWithdrawalsMax = 10_000;
/** The closed withdrawals of one queue (`queueOf`) that can still be listed and shown. */
const recentMax = 1_000;

/**
 * The queue of a closed withdrawal, which only a later one of the same queue pushes out of the
 * memory. On a chain with coins a hot wallet has its own, and all deposit addresses of a network
 * have one together, because their number has no limit. Everything else is in one queue.
 */
function queueOf({ job, account }: Withdrawal): string {
  if (account === "" || pinExclusionOf(job.network) === null) return "";
  return job.mode === "sweep" ? job.network : `${job.network} ${account}`;
}

/** A signed attempt at the release gate. */
export interface GatedAttempt {
  readonly seq: number; // seq of its SIGNED record
  readonly transactionId: string;
  readonly attempt: number;
}

export interface WithdrawalBookSnapshot {
  readonly open: readonly Withdrawal[];
  readonly recent: readonly Withdrawal[];
  // since the newest checkpoint: id, state, content
  readonly closed: readonly (readonly [string, RecordedWithdrawalState, string])[];
  readonly ends: readonly (readonly [RecordedWithdrawalState, number])[]; // how many ever closed in each state
  readonly unreleased: readonly GatedAttempt[];
  readonly finals: readonly (readonly [number, string])[];
}

/**
 * The collection. Only its methods for records change it: `begin`, `apply`, `release`,
 * `acknowledge`, `end` and `takeVoid`.
 */
export class WithdrawalBook {
  readonly #open = new Map<string, Withdrawal>();
  readonly #recent = new Map<string, Withdrawal>();
  /** The ids of `#recent` by `queueOf`, oldest first. */
  readonly #queues = new Map<string, Set<string>>();
  /** By network and coin: the id of the withdrawal of `#recent` with which it was spent. */
  readonly #spent = new Map<string, string>();
  readonly #past: ArchiveLookup;
  /** Closed since the newest checkpoint. */
  readonly #closed = new Map<string, EndedContent>();
  readonly #counts = new Map<RecordedWithdrawalState, number>(allStates.map((state) => [state, 0]));
  /** SIGNED records that no acknowledgement covers yet, in ledger order. */
  readonly #unreleased: Fifo<GatedAttempt>;
  /** Unacknowledged ends, in ledger order. */
  readonly #finals: Fifo<readonly [number, string]>;

  constructor(past: ArchiveLookup, snapshot?: WithdrawalBookSnapshot) {
    this.#past = past;
    for (const withdrawal of snapshot?.open ?? [])
      this.#open.set(withdrawal.transactionId, copy(withdrawal));
    for (const withdrawal of snapshot?.recent ?? []) this.#remember(copy(withdrawal));
    for (const [id, state, content] of snapshot?.closed ?? [])
      this.#closed.set(id, { state, content });
    for (const withdrawal of this.#open.values()) this.#count(withdrawal.state, 1);
    for (const [state, count] of snapshot?.ends ?? []) this.#count(state, count);
    this.#unreleased = new Fifo(snapshot?.unreleased);
    this.#finals = new Fifo(snapshot?.finals);
  }

  get openCount(): number {
    return this.#open.size;
  }

  /**
   * Open withdrawals, oldest first, including final ones whose end the gateway has not confirmed.
   */
  open(): IterableIterator<Withdrawal> {
    return this.#open.values();
  }

  /** Closed withdrawals that can still be shown, oldest first. */
  recent(): IterableIterator<Withdrawal> {
    return this.#recent.values();
  }

  /** Returns an open or recently closed withdrawal. */
  find(transactionId: string): Withdrawal | undefined {
    return this.#open.get(transactionId) ?? this.#recent.get(transactionId);
  }

  /** Returns the withdrawals of these ids that can be found. */
  findEach(transactionIds: readonly string[]): readonly Withdrawal[] {
    return transactionIds.flatMap((transactionId) => this.find(transactionId) ?? []);
  }

  /** Returns an open withdrawal. */
  openOne(transactionId: string): Withdrawal | undefined {
    return this.#open.get(transactionId);
  }

  /**
   * True if an attempt of a withdrawal here has this hash: an open one, or one that closed lately.
   */
  hasSigned(network: string, txHash: string): boolean {
    for (const { job, attempts } of [...this.#open.values(), ...this.#recent.values()])
      if (job.network === network && attempts.some((one) => one.txHash === txHash)) return true;
    return false;
  }

  /**
   * Returns the id of the lately closed withdrawal with which a final transaction spent a coin,
   * named without its amount; undefined if none did. Nodes that are behind still show such a coin.
   */
  spenderOf(network: string, coin: string): string | undefined {
    return this.#spent.get(coinKey(network, coin));
  }

  /** Returns the id of the newest closed withdrawal of which an operator freed the coin. */
  freedFrom(network: string, coin: string): string | undefined {
    const newestFirst = [...this.#recent.values()].reverse();
    return newestFirst.find(
      ({ job, freedCoins = [] }) => job.network === network && freedCoins.includes(coin),
    )?.transactionId;
  }

  /** Lets a coin be spent again, whatever closed withdrawals here have spent it. */
  free(record: Extract<LedgerRecord, { kind: "COIN_FREED" }>): void {
    const { network, coin } = record;
    this.#spent.delete(coinKey(network, coin));
    for (const [id, one] of this.#recent)
      if (one.job.network === network && listCoinsSpentAtEnd(one).includes(coin))
        this.#recent.set(id, withFreedCoin(one, record));
  }

  /**
   * Returns the id of another withdrawal here with an attempt of these bytes, open or lately
   * closed; undefined without one. A digest is that of a clearance.
   */
  sameBytesOf(transactionId: string, network: string, digest: string): string | undefined {
    for (const known of [this.#open, this.#recent])
      for (const one of known.values())
        if (
          one.transactionId !== transactionId &&
          one.job.network === network &&
          one.attempts.some((attempt) => attempt.digest === digest)
        )
          return one.transactionId;
    return undefined;
  }

  /** True if an open withdrawal is paid from this account. */
  pays(network: string, account: string): boolean {
    for (const one of this.#open.values())
      if (one.job.network === network && one.account === account) return true;
    return false;
  }

  /** Returns the content hashes of any order ever recorded. */
  contentOf(transactionId: string): string | undefined {
    const open = this.#open.get(transactionId);
    return open === undefined ? this.#endOf(transactionId)?.content : contentHashesOf(open.job);
  }

  /** Returns the state of any withdrawal ever recorded. */
  stateOf(transactionId: string): RecordedWithdrawalState | undefined {
    return this.#open.get(transactionId)?.state ?? this.#endOf(transactionId)?.state;
  }

  count(state: RecordedWithdrawalState): number {
    return this.#counts.get(state) ?? 0;
  }

  /**
   * Returns the signed attempts that a head at `seq` covers and that may still be needed, in ledger
   * order.
   */
  releasable(seq: number): readonly GatedAttempt[] {
    const found: GatedAttempt[] = [];
    for (let i = 0; i < this.#unreleased.size; i++) {
      const waiting = this.#unreleased.at(i) as GatedAttempt;
      if (waiting.seq > seq) break;
      const withdrawal = this.#open.get(waiting.transactionId);
      if (withdrawal === undefined || isOver(withdrawal)) continue;
      found.push(waiting);
    }
    return found;
  }

  /**
   * Sets the request time of each withdrawal that the old ledger did not know: it counts as
   * requested at the time of the recovery.
   */
  receive(at: number): void {
    for (const withdrawal of this.#open.values())
      if (withdrawal.requestedAt === unreceivedTimeMark)
        Object.assign(withdrawal, { requestedAt: at, changedAt: at });
  }

  begin(record: Extract<LedgerRecord, { kind: "REQUESTED" }>, job: Job): void {
    invariant(this.stateOf(record.transactionId) === undefined, "an order is recorded once");
    this.#open.set(record.transactionId, newWithdrawal(record, job));
    this.#count("requested", 1);
  }

  /** Applies a record about one open withdrawal, and returns the withdrawal. */
  apply(record: Extract<LedgerRecord, { transactionId: string }>): Withdrawal {
    const withdrawal = this.#openOne(record.transactionId);
    this.#moved(withdrawal, () => applyRecord(withdrawal, record));
    if (record.kind === "SIGNED") {
      this.#unreleased.push({
        seq: record.seq,
        transactionId: record.transactionId,
        attempt: record.attempt,
      });
    }
    if (record.kind === "OBSERVED" || isOver(withdrawal)) this.#finish(withdrawal, record.seq);
    return withdrawal;
  }

  release(record: Extract<LedgerRecord, { kind: "RELEASED" }>): void {
    for (const { transactionId, attempt } of record.released) {
      const withdrawal = this.#openOne(transactionId);
      this.#moved(withdrawal, () => applyRelease(withdrawal, attempt, record));
    }
  }

  /**
   * Notes that the gateway holds everything up to `seq`, so nothing waits at the gate below it.
   * Returns the ids that close.
   */
  acknowledge(seq: number): readonly string[] {
    while ((this.#unreleased.peek()?.seq ?? Number.POSITIVE_INFINITY) <= seq)
      this.#unreleased.shift();
    const closed: string[] = [];
    while ((this.#finals.peek()?.[0] ?? Number.POSITIVE_INFINITY) <= seq) {
      const [endSeq, transactionId] = this.#finals.shift() as readonly [number, string];
      const withdrawal = this.#open.get(transactionId);
      if (withdrawal === undefined || withdrawal.endSeq !== endSeq) continue;
      withdrawal.isEndReceived = true;
      if (this.#closeIfOver(withdrawal)) closed.push(transactionId);
    }
    return closed;
  }

  /**
   * Applies the gateway's statement that these withdrawals have ended. Returns the ids that close.
   */
  end({ ended }: Extract<LedgerRecord, { kind: "ENDED" }>): readonly string[] {
    return ended.filter((transactionId) => {
      const withdrawal = this.#openOne(transactionId);
      withdrawal.isEnded = true;
      return this.#closeIfOver(withdrawal);
    });
  }

  /**
   * Returns the released attempts with these hashes that the gateway has not called void, by
   * withdrawal.
   */
  alive(txHashes: ReadonlySet<string>): ReadonlyMap<string, readonly string[]> {
    const found = new Map<string, readonly string[]>();
    for (const { transactionId, job, attempts } of this.#open.values()) {
      if (expiryExclusionOf(job.network) === null) continue;
      const named = attempts.filter(
        ({ txHash, released, voidBy }) =>
          released && txHashes.has(txHash) && voidBy !== "gateway" && voidBy !== "both",
      );
      if (named.length > 0)
        found.set(
          transactionId,
          named.map(({ txHash }) => txHash),
        );
    }
    return found;
  }

  /**
   * Applies the gateway's statement that these attempts are void. Returns the withdrawals, each
   * with its state before.
   */
  takeVoid(
    record: Extract<LedgerRecord, { kind: "VOID" }>,
  ): readonly { readonly withdrawal: Withdrawal; readonly from: RecordedWithdrawalState }[] {
    return [...this.alive(new Set(record.txHashes)).keys()].map((transactionId) => {
      const withdrawal = this.#openOne(transactionId);
      const from = withdrawal.state;
      this.#moved(withdrawal, () => applyVoid(withdrawal, record));
      return { withdrawal, from };
    });
  }

  /** Returns the withdrawals closed since the newest checkpoint, as rows of the next one. */
  rows(): readonly Row[] {
    return [...this.#closed].map(([id, ended]) => rowOfEnded(id, ended));
  }

  /** Forgets the rows that a checkpoint now holds; the sorted files answer for them. */
  putAway(): void {
    this.#closed.clear();
  }

  snapshot(): WithdrawalBookSnapshot {
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

  #endOf(transactionId: string): EndedContent | undefined {
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

  /** Notes an end; another one may have been reported before. */
  #finish(withdrawal: Withdrawal, seq: number): void {
    if (!isFinal(withdrawal.state)) return;
    withdrawal.endSeq = seq;
    withdrawal.isEndReceived = false;
    this.#finals.push([seq, withdrawal.transactionId]);
  }

  #closeIfOver(withdrawal: Withdrawal): boolean {
    const isClosing = withdrawal.isEndReceived && isOver(withdrawal);
    if (isClosing) this.#close(withdrawal);
    return isClosing;
  }

  #moved(withdrawal: Withdrawal, move: () => void): void {
    this.#count(withdrawal.state, -1);
    move();
    this.#count(withdrawal.state, 1);
  }

  #count(state: RecordedWithdrawalState, by: number): void {
    this.#counts.set(state, (this.#counts.get(state) ?? 0) + by);
  }

  #close(withdrawal: Withdrawal): void {
    const { transactionId } = withdrawal;
    this.#open.delete(transactionId);
    this.#closed.set(transactionId, {
      state: withdrawal.state,
      content: contentHashesOf(withdrawal.job),
    });
    // These bytes are never sent again, and they are most of a withdrawal's size.
    withdrawal.attempts = withdrawal.attempts.map((attempt) => ({
      ...attempt,
      unsigned: "",
      raw: "",
    }));
    this.#remember(withdrawal);
  }

  /** Live and from a snapshot, so that a start has the state that it left. */
  #remember(withdrawal: Withdrawal): void {
    const { transactionId, job } = withdrawal;
    this.#recent.set(transactionId, withdrawal);
    for (const coin of listCoinsSpentAtEnd(withdrawal))
      this.#spent.set(coinKey(job.network, coin), transactionId);
    const queue = this.#queues.get(queueOf(withdrawal)) ?? new Set();
    this.#queues.set(queueOf(withdrawal), queue.add(transactionId));
    const [oldest = ""] = queue;
    if (queue.size > recentMax && queue.delete(oldest)) this.#forget(oldest);
  }

  #forget(id: string): void {
    const withdrawal = this.#recent.get(id);
    invariant(withdrawal !== undefined, "a queue names closed withdrawals that are remembered");
    const { transactionId, job } = withdrawal;
    this.#recent.delete(transactionId);
    for (const coin of listCoinsSpentAtEnd(withdrawal)) {
      const key = coinKey(job.network, coin);
      if (this.#spent.get(key) === transactionId) this.#spent.delete(key);
    }
  }
}

const coinKey = (network: string, coin: string): string => `${network} ${coin}`;

/** Copies a withdrawal, because the objects of a snapshot must never change afterwards. */
function copy(withdrawal: Withdrawal): Withdrawal {
  return { ...withdrawal, attempts: [...withdrawal.attempts], history: [...withdrawal.history] };
}
