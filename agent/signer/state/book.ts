/**
 * Every withdrawal this ledger knows: the open ones whole, the last closed ones for people, all others as one line each, for ever,
 * so that no order is ever paid twice. A withdrawal closes when the gateway has acknowledged its last entry. What a recovery settled
 * begins again when the gateway asks for it again; no other end is ever taken back. Touches nothing.
 */
import { invariant } from "../../../protocol/fault.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { Imported, LedgerRecord } from "../../ledger/records.ts";
import type { LedgerLine } from "../../socket/verbs.ts";
import { contentOf } from "./content.ts";
import { Fifo } from "./fifo.ts";
import { applyImported, applySettled, beginImported } from "./recovered.ts";
import { apply, applyRelease, begin, isFinal, type State, states, type Withdrawal } from "./withdrawal.ts";

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
  readonly closed: readonly (readonly [string, string])[]; // id, `<state>\n<content>`
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
  readonly #closed = new Map<string, string>();
  readonly #counts = new Map<State, number>(states.map((state) => [state, 0]));
  /** SIGNED records that no acknowledgement covers yet, in ledger order. */
  readonly #unreleased: Fifo<Waiting>;
  /** Final withdrawals whose last entry is not acknowledged, in ledger order. */
  #finals: Fifo<readonly [number, string]>;

  constructor(snapshot?: BookSnapshot) {
    for (const withdrawal of snapshot?.open ?? []) this.#open.set(withdrawal.transactionId, copy(withdrawal));
    for (const withdrawal of snapshot?.recent ?? []) this.#recent.set(withdrawal.transactionId, copy(withdrawal));
    for (const [id, line] of snapshot?.closed ?? []) this.#closed.set(id, line);
    for (const withdrawal of this.#open.values()) this.#count(withdrawal.state, 1);
    for (const line of this.#closed.values()) this.#count(line.slice(0, line.indexOf("\n")) as State, 1);
    this.#unreleased = new Fifo(snapshot?.unreleased);
    this.#finals = new Fifo(snapshot?.finals);
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** Open withdrawals, oldest first. Final ones whose end is not acknowledged are among them. */
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

  /** What an order asked for, for every order ever recorded. */
  contentOf(transactionId: string): string | undefined {
    const open = this.#open.get(transactionId);
    if (open !== undefined) return contentOf(open.job);
    const line = this.#closed.get(transactionId);
    return line?.slice(line.indexOf("\n") + 1);
  }

  /** What became of any withdrawal ever recorded. */
  stateOf(transactionId: string): State | undefined {
    const open = this.#open.get(transactionId);
    if (open !== undefined) return open.state;
    const line = this.#closed.get(transactionId);
    return line === undefined ? undefined : (line.slice(0, line.indexOf("\n")) as State);
  }

  count(state: State): number {
    return this.#counts.get(state) ?? 0;
  }

  /** The signed versions that a head at `seq` covers and that may still be needed, in ledger order. */
  releasable(seq: number): readonly Waiting[] {
    const found: Waiting[] = [];
    for (let i = 0; i < this.#unreleased.size; i++) {
      const waiting = this.#unreleased.at(i) as Waiting;
      if (waiting.seq > seq) break;
      const withdrawal = this.#open.get(waiting.transactionId);
      if (withdrawal === undefined || isFinal(withdrawal.state)) continue;
      found.push(waiting);
    }
    return found;
  }

  begin(record: Extract<LedgerRecord, { kind: "REQUESTED" }>, job: Job): void {
    const known = this.stateOf(record.transactionId);
    invariant(known === undefined || known === "settled", "an order is recorded once");
    const history = known === undefined ? null : this.#reopen(record.transactionId);
    this.#open.set(record.transactionId, begin(record, job, history));
    this.#count("requested", 1);
  }

  /** Folds a record about one open withdrawal and gives it. */
  fold(record: Extract<LedgerRecord, { transactionId: string }>): Withdrawal {
    const withdrawal = this.#openOne(record.transactionId);
    const wasQuarantined = withdrawal.state === "quarantined";
    this.#moved(withdrawal, () => apply(withdrawal, record));
    if (record.kind === "APPROVED" && wasQuarantined) this.#waitAgain(withdrawal, record.seq);
    if (record.kind === "SIGNED") {
      this.#unreleased.push({ seq: record.seq, transactionId: record.transactionId, version: record.version });
    }
    if (isFinal(withdrawal.state)) this.#finals.push([record.seq, record.transactionId]);
    return withdrawal;
  }

  /**
   * A recovery, record by record: what is open is held, quarantined or settled. Nothing waits at the gate any more; what was signed
   * and never let out waits there anew once a person has said yes to it.
   */
  recover(records: readonly (Imported | Extract<LedgerRecord, { kind: "SETTLED" }>)[], jobOf: (record: Imported) => Job): void {
    while (this.#unreleased.size > 0) this.#unreleased.shift();
    for (const record of records) {
      const known = this.stateOf(record.transactionId);
      if (record.kind === "IMPORTED" && (known === undefined || isFinal(known))) {
        invariant(known === undefined || known === "settled", "what is final stays final");
        const history = known === undefined ? null : this.#reopen(record.transactionId);
        this.#open.set(record.transactionId, beginImported(record, jobOf(record), history));
        this.#count("requested", 1);
      }
      const withdrawal = this.#openOne(record.transactionId);
      this.#moved(withdrawal, () =>
        record.kind === "IMPORTED" ? applyImported(withdrawal, record) : applySettled(withdrawal, record),
      );
      if (record.kind === "SETTLED") this.#finals.push([record.seq, record.transactionId]);
    }
  }

  release(record: Extract<LedgerRecord, { kind: "RELEASED" }>): void {
    for (const { transactionId, version } of record.released) {
      const withdrawal = this.#openOne(transactionId);
      this.#moved(withdrawal, () => applyRelease(withdrawal, version, record));
    }
  }

  /** The gateway holds everything up to `seq`: nothing waits at the gate below it, and what ended below it closes. */
  acknowledge(seq: number): void {
    while ((this.#unreleased.peek()?.seq ?? Number.POSITIVE_INFINITY) <= seq) this.#unreleased.shift();
    while ((this.#finals.peek()?.[0] ?? Number.POSITIVE_INFINITY) <= seq) {
      const [, transactionId] = this.#finals.shift() as readonly [number, string];
      this.#close(this.#openOne(transactionId));
    }
  }

  snapshot(): BookSnapshot {
    return {
      open: [...this.#open.values()],
      recent: [...this.#recent.values()],
      closed: [...this.#closed],
      unreleased: this.#unreleased.toArray(),
      finals: this.#finals.toArray(),
    };
  }

  #openOne(transactionId: string): Withdrawal {
    const withdrawal = this.#open.get(transactionId);
    invariant(withdrawal !== undefined, `a record about ${transactionId}, which is not open`);
    return withdrawal;
  }

  /** Signed before a recovery and never let out: the gateway was told of it again before this record. */
  #waitAgain({ transactionId, versions }: Withdrawal, seq: number): void {
    for (const { version, txHash, released } of versions) {
      if (txHash !== "" && !released) this.#unreleased.push({ seq, transactionId, version });
    }
  }

  /** Takes out what was settled, wherever it stands, and gives its history as far as it is still known. */
  #reopen(transactionId: string): readonly LedgerLine[] {
    const history = this.find(transactionId)?.history ?? [];
    this.#open.delete(transactionId);
    this.#recent.delete(transactionId);
    this.#closed.delete(transactionId);
    this.#count("settled", -1);
    // Its old end must not close it.
    this.#finals = new Fifo(this.#finals.toArray().filter(([, id]) => id !== transactionId));
    return history;
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
    this.#closed.set(transactionId, `${withdrawal.state}\n${contentOf(withdrawal.job)}`);
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
