/**
 * What the gateway must hear, in ledger order, until it says that it has it. Built from records alone, so that a restart resends
 * exactly the same entries. Touches nothing. Source: docs/protocol.md section 6.
 */
import { invariant } from "../../../protocol/fault.ts";
import { zeroHash } from "../../../protocol/identity.ts";
import type { Entry, Head } from "../../../protocol/messages.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import { Fifo } from "./fifo.ts";
import type { Withdrawal } from "./withdrawal.ts";

/**
 * Entries of one statement: about 100 KiB of the 256 KiB a gateway takes.
 * @public
 */
export const entriesPerFrame = 256;

/**
 * An entry without its place: what a RESTATED record carries.
 * @public
 */
export type Fact = Entry extends infer E ? (E extends Entry ? Omit<E, "seq" | "at"> : never) : never;

/**
 * One statement's place and contents.
 * @public
 */
export interface Batch {
  readonly after: number;
  readonly previous: string; // hash of record `after`, zeros for 0
  readonly head: Head;
  readonly entries: readonly Entry[];
}

/**
 * Entries not yet acknowledged. Only `fold` and `acknowledge` change it, from records.
 * @public
 */
export class Outbox {
  readonly #entries: Fifo<Entry>;

  constructor(entries: readonly Entry[] = []) {
    this.#entries = new Fifo(entries);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** `withdrawal` is the one the record is about, after the record was folded into it. */
  fold(record: LedgerRecord, withdrawal: Withdrawal | undefined): void {
    const entry = entryOf(record, withdrawal);
    if (entry !== null) this.#entries.push(entry);
  }

  acknowledge(seq: number): void {
    while ((this.#entries.peek()?.seq ?? Number.POSITIVE_INFINITY) <= seq) this.#entries.shift();
  }

  /** A recovery: in its epoch the gateway hears these first and nothing from before. */
  restart(entries: readonly Entry[]): void {
    while (this.#entries.size > 0) this.#entries.shift();
    for (const entry of entries) this.#entries.push(entry);
  }

  /**
   * Everything after `after` that is on disk (`durable`), in statements that join without a gap. The last one's head is `durable`
   * itself; a fuller one before it ends at its own last entry.
   */
  batches(after: number, durable: Head, hashAt: (seq: number) => string | null): readonly Batch[] {
    const at = (seq: number): string => {
      const hash = seq === 0 ? zeroHash : hashAt(seq);
      invariant(hash !== null, "the hash of what is not acknowledged is kept");
      return hash;
    };
    const batches: Batch[] = [];
    let entries: Entry[] = [];
    let from = after;
    for (let i = this.#firstAfter(after); i < this.#entries.size; i++) {
      const entry = this.#entries.at(i) as Entry;
      if (entry.seq > durable.seq) break;
      if (entries.length === entriesPerFrame) {
        const { seq } = entries[entries.length - 1] as Entry;
        batches.push({ after: from, previous: at(from), head: { seq, hash: at(seq) }, entries });
        from = seq;
        entries = [];
      }
      entries.push(entry);
    }
    if (entries.length > 0) batches.push({ after: from, previous: at(from), head: durable, entries });
    return batches;
  }

  snapshot(): readonly Entry[] {
    return this.#entries.toArray();
  }

  /** Entries rise in seq, so the place is found by halving. */
  #firstAfter(seq: number): number {
    let low = 0;
    let high = this.#entries.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries.at(middle) as Entry).seq > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/**
 * The entry of a record that is part of a recovery, null when the gateway needs none.
 * @public
 */
export function recoveryEntryOf(
  record: Extract<LedgerRecord, { kind: "RECOVERING" | "RESTATED" | "IMPORTED" | "SETTLED" }>,
  withdrawal: Withdrawal | undefined,
): Entry | null {
  const { seq, at } = record;
  switch (record.kind) {
    case "RECOVERING": {
      const { order, held, sequence, jobHash } = record;
      return { kind: "recovered", seq, at, order, held: held.seq === 0 ? null : held, sequence, jobHash };
    }
    case "RESTATED":
      return { ...(JSON.parse(record.fact) as Fact), seq, at };
    case "IMPORTED": {
      const { transactionId } = record;
      const address = withdrawal?.address ?? "";
      return { kind: "decision", seq, at, transactionId, decision: "held", code: "RECOVERY_HOLD", address };
    }
    default:
      return null;
  }
}

function entryOf(record: LedgerRecord, withdrawal: Withdrawal | undefined): Entry | null {
  const { seq, at } = record;
  const address = withdrawal?.address ?? "";
  switch (record.kind) {
    case "APPROVED":
      return { kind: "decision", seq, at, transactionId: record.transactionId, decision: "approved", code: "", address };
    case "HELD":
      return { kind: "decision", seq, at, transactionId: record.transactionId, decision: "held", code: record.code, address };
    case "REFUSED":
      return { kind: "decision", seq, at, transactionId: record.transactionId, decision: "refused", code: record.code, address };
    case "EXPIRED":
      return {
        kind: "decision",
        seq,
        at,
        transactionId: record.transactionId,
        decision: "expired",
        code: "JOB_EXPIRED",
        address,
      };
    case "SIGNED":
      return withdrawal === undefined ? null : signedEntry(record, withdrawal);
    case "OBSERVED": {
      const { transactionId, stage, outcome, txHash } = record;
      return { kind: "observed", seq, at, transactionId, stage, outcome, txHash };
    }
    case "ADOPTED":
      return { kind: "adopted", seq, at, network: record.network, account: record.account, token: record.nonce };
    case "ALARM":
      return { kind: "alarm", seq, at, code: record.code, locked: false };
    case "LOCKED":
      return { kind: "alarm", seq, at, code: record.code, locked: true };
    default:
      return null;
  }
}

function signedEntry(record: Extract<LedgerRecord, { kind: "SIGNED" }>, withdrawal: Withdrawal): Entry | null {
  const version = withdrawal.versions[record.version - 1];
  if (version === undefined) return null;
  return {
    kind: "signed",
    seq: record.seq,
    at: record.at,
    transactionId: record.transactionId,
    version: record.version,
    network: withdrawal.job.network,
    account: withdrawal.account,
    token: withdrawal.nonce,
    txHash: record.txHash,
    feeMax: (BigInt(version.gasLimit) * BigInt(version.maxFeePerGas)).toString(),
  };
}
