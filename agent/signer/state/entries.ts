/**
 * The entries for the gateway, in ledger order, until their acknowledgement. They come only from
 * records, so a restart sends exactly the same entries again. Touches nothing. Source:
 * docs/protocol.md section 6.
 */
import { invariant } from "../../../base/fault.ts";
import { jobHashOf, zeroHash } from "../../../protocol/identity.ts";
import type { AgentLedgerHead, Entry, SignedEntry } from "../../../protocol/messages.ts";
import { attemptsMax } from "../../../protocol/payloads.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import { Fifo } from "./fifo.ts";
import { isFinal } from "./machine.ts";
import { contestedCode } from "./slot-assignments.ts";
import type { Stops } from "./stops.ts";
import type { Attempt, Withdrawal } from "./withdrawal.ts";

/** The entries of one statement: about 100 KiB of the 256 KiB that a gateway accepts. */
export const entriesPerFrame = 256;
/**
 * The approximate size limit of one statement's entries. A job in a resync is long, and a frame is
 * one text of at most 128 KiB to the courier.
 */
const entryBytesMax = 64 * 1024;
const entryBytes = 250;

/** The position and content of one statement. */
export interface StatementBatch {
  readonly after: number;
  readonly previous: string; // hash of record `after`, zeros for 0
  readonly head: AgentLedgerHead;
  readonly entries: readonly Entry[];
}

/**
 * The entries not yet acknowledged. Only `apply`, `push` and `acknowledge` change it, from records.
 */
export class EntryOutbox {
  readonly #entries: Fifo<Entry>;

  constructor(entries: readonly Entry[] = []) {
    this.#entries = new Fifo(entries);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** `withdrawal` is the subject of the record, after the record was applied to it. */
  apply(record: LedgerRecord, withdrawal: Withdrawal | undefined): void {
    for (const entry of entriesOf(record, withdrawal)) this.#entries.push(entry);
  }

  push(entry: Entry): void {
    this.#entries.push(entry);
  }

  acknowledge(seq: number): void {
    while ((this.#entries.peek()?.seq ?? Number.POSITIVE_INFINITY) <= seq) this.#entries.shift();
  }

  /**
   * Returns everything after `after` that is on disk (`durable`), in statements that join without a
   * gap. The last statement's head is `durable` itself; a full statement before ends at its own
   * last entry.
   */
  batches(
    after: number,
    durable: AgentLedgerHead,
    hashAt: (seq: number) => string | null,
  ): readonly StatementBatch[] {
    const entries: Entry[] = [];
    for (let i = this.#firstAfter(after); i < this.#entries.size; i++) {
      const entry = this.#entries.at(i) as Entry;
      if (entry.seq > durable.seq) break;
      entries.push(entry);
    }
    return entries.length === 0 ? [] : statementBatchesOf(entries, after, durable, hashAt);
  }

  snapshot(): readonly Entry[] {
    return this.#entries.toArray();
  }

  /** Entries rise in seq, so a binary search finds the first. */
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
 * Returns the entries after `after` as statements that join without a gap; the entries of one
 * record stay together. The last one's head is `head`.
 */
export function statementBatchesOf(
  entries: readonly Entry[],
  after: number,
  head: AgentLedgerHead,
  hashAt: (seq: number) => string | null,
): readonly StatementBatch[] {
  const at = (seq: number): string => {
    const hash = seq === 0 ? zeroHash : hashAt(seq);
    invariant(hash !== null, "the hash of what is not acknowledged is kept");
    return hash;
  };
  const batches: StatementBatch[] = [];
  let part: Entry[] = [];
  let bytes = 0;
  let from = after;
  for (const entry of entries) {
    const last = part.at(-1);
    if (
      last !== undefined &&
      last.seq !== entry.seq &&
      (part.length >= entriesPerFrame || bytes >= entryBytesMax)
    ) {
      batches.push({
        after: from,
        previous: at(from),
        head: { seq: last.seq, hash: at(last.seq) },
        entries: part,
      });
      [from, part, bytes] = [last.seq, [], 0];
    }
    part.push(entry);
    bytes += entry.kind === "asked" ? entryBytes + entry.job.length * 1.3 : entryBytes;
  }
  batches.push({ after: from, previous: at(from), head, entries: part });
  return batches;
}

/**
 * Returns the entries of a record. The gateway may have lost everything about a withdrawal that a
 * recovered ledger keeps, so everything known precedes the decision. The chain may decide before
 * policy does, while the link is down: then everything known precedes the observation.
 */
function entriesOf(record: LedgerRecord, withdrawal: Withdrawal | undefined): readonly Entry[] {
  if (record.kind === "REPEATED")
    return withdrawal === undefined ? [] : repeatDecisionEntries(record, withdrawal);
  const entry = entryOf(record, withdrawal);
  if (entry === null) return [];
  const isFirst =
    record.kind === "APPROVED" || record.kind === "HELD" || record.kind === "OBSERVED";
  const isKept = withdrawal?.isKept === true && isFirst;
  return isKept ? [...entriesOfKeptWithdrawal(record, withdrawal), entry] : [entry];
}

/**
 * Returns all knowledge of a withdrawal that a recovery kept: the job, without a number now, and
 * the attempts.
 */
export function entriesOfKeptWithdrawal(
  { seq, at }: Place,
  withdrawal: Withdrawal,
): readonly Entry[] {
  const { transactionId, job, jobText, jobSignature, address, account, slot, attempts } =
    withdrawal;
  const entries: Entry[] = [
    {
      kind: "asked",
      seq,
      at,
      transactionId,
      sequence: 0,
      jobHash: jobHashOf(jobText),
      job: jobText,
      signature: jobSignature,
    },
  ];
  const signed = attempts.filter(({ txHash, attempt }) => txHash !== "" && attempt <= attemptsMax);
  if (signed.length === 0) return entries;
  entries.push({
    kind: "decision",
    seq,
    at,
    transactionId,
    decision: "approved",
    code: "",
    address,
  });
  for (const one of signed) {
    const { attempt, txHash } = one;
    entries.push({
      kind: "signed",
      seq,
      at,
      transactionId,
      attempt,
      network: job.network,
      account,
      slot: slot,
      txHash,
      ...offerOf(one),
    });
  }
  return entries;
}

/** Repeats the answer of an order for a job that arrives again. */
export function repeatDecisionEntries(
  { seq, at }: Place,
  withdrawal: Withdrawal,
): readonly Entry[] {
  const { transactionId, state, code, address, observed } = withdrawal;
  if (state === "refused" || state === "expired") {
    return [{ kind: "decision", seq, at, transactionId, decision: state, code, address: "" }];
  }
  // The gateway has one of two withdrawals on one slot, and accepts no signature of the other.
  const isWaiting = state === "held" || state === "requested" || code === contestedCode;
  const decision = isWaiting ? "held" : "approved";
  const entries: Entry[] = [
    {
      kind: "decision",
      seq,
      at,
      transactionId,
      decision,
      code: decision === "held" ? code : "",
      address,
    },
  ];
  if (!isWaiting && withdrawal.attempts.some(({ txHash }) => txHash !== ""))
    entries.push(...entriesOfKeptWithdrawal({ seq, at }, withdrawal).slice(2));
  if (observed !== null && isFinal(state)) {
    const outcome = state as "paid" | "reverted" | "conflicted" | "cancelled" | "moved";
    entries.push({
      kind: "observed",
      seq,
      at,
      transactionId,
      stage: "final",
      outcome,
      txHash: observed.txHash,
    });
  }
  return entries;
}

type Place = Pick<LedgerRecord, "seq" | "at">;

/**
 * Returns the entry of one record; null if the gateway needs none. `withdrawal` adds what the
 * record does not hold.
 */
export function entryOf(record: LedgerRecord, withdrawal: EntrySource | undefined): Entry | null {
  const { seq, at } = record;
  const address = withdrawal?.address ?? "";
  switch (record.kind) {
    case "APPROVED":
      return {
        kind: "decision",
        seq,
        at,
        transactionId: record.transactionId,
        decision: "approved",
        code: "",
        address,
      };
    case "HELD":
      return {
        kind: "decision",
        seq,
        at,
        transactionId: record.transactionId,
        decision: "held",
        code: record.code,
        address,
      };
    case "REFUSED":
      return {
        kind: "decision",
        seq,
        at,
        transactionId: record.transactionId,
        decision: "refused",
        code: record.code,
        address,
      };
    case "EXPIRED":
      return {
        kind: "decision",
        seq,
        at,
        transactionId: record.transactionId,
        decision: "expired",
        code: withdrawal?.code ?? "JOB_EXPIRED",
        address,
      };
    case "SIGNED":
      return withdrawal === undefined ? null : signedEntry(record, withdrawal);
    case "OBSERVED": {
      const { transactionId, stage, outcome, txHash } = record;
      return { kind: "observed", seq, at, transactionId, stage, outcome, txHash };
    }
    case "ADOPTED":
      return {
        kind: "adopted",
        seq,
        at,
        network: record.network,
        account: record.account,
        slot: record.slot,
      };
    case "ALARM":
      return { kind: "alarm", seq, at, code: record.code, locked: false };
    case "LOCKED":
      return { kind: "alarm", seq, at, code: record.code, locked: true };
    case "RECOVERED": {
      const { order, held, sequence, jobHash } = record;
      return {
        kind: "recovered",
        seq,
        at,
        order,
        held: held.seq === 0 ? null : held,
        sequence,
        jobHash,
      };
    }
    case "PAUSED":
      return pausedEntry(record, seq, at);
    case "CEILING":
      return { kind: "ceiling", seq, at, ceiling: record.ceiling };
    default:
      return null;
  }
}

/** Returns every stop that holds now, as entries of one record: all at once first. */
export function stopEntries(
  stops: Stops,
  { seq, at }: Place,
  until = Number.POSITIVE_INFINITY,
): readonly Entry[] {
  const isPaused = stops.paused !== null && stops.paused.at <= until;
  const networks = stops.networks().filter((one) => one.at <= until);
  return [
    { kind: "paused", seq, at, paused: isPaused },
    ...networks.map((one) => pausedEntry({ ...one, paused: true }, seq, at)),
  ];
}

function pausedEntry(
  {
    paused,
    network,
    currency,
    txHashes = [],
  }: Pick<
    Extract<LedgerRecord, { kind: "PAUSED" }>,
    "paused" | "network" | "currency" | "txHashes"
  >,
  seq: number,
  at: number,
): Entry {
  const named = {
    ...(currency === undefined ? {} : { currency }),
    ...(txHashes.length === 0 ? {} : { txHashes }),
  };
  return {
    kind: "paused",
    seq,
    at,
    paused,
    ...(network === undefined ? {} : { network, ...named }),
  };
}

/** The part of an entry that comes from the withdrawal and not from its record. */
export interface EntrySource {
  readonly address: string;
  readonly code?: string;
  readonly job: { readonly network: string };
  readonly account: string;
  readonly slot: string;
  readonly attempts: readonly Pick<Attempt, "feeMax" | "validUntilMs" | "pin" | "isCancel">[];
}

/**
 * Returns an attempt's terms for an entry: the highest fee, the end of validity or the pin if there
 * is one, and the mark of a cancel. A recovered ledger can learn the last from nowhere else.
 */
function offerOf({
  feeMax,
  validUntilMs,
  pin,
  isCancel,
}: EntrySource["attempts"][number]): Pick<
  SignedEntry,
  "feeMax" | "validUntilMs" | "pin" | "cancel"
> {
  const excluded = {
    ...(validUntilMs === undefined ? {} : { validUntilMs }),
    ...(pin === undefined ? {} : { pin }),
  };
  return { feeMax, ...excluded, ...(isCancel ? { cancel: true } : {}) };
}

function signedEntry(
  record: Extract<LedgerRecord, { kind: "SIGNED" }>,
  told: EntrySource,
): Entry | null {
  const signed = told.attempts[record.attempt - 1];
  if (signed === undefined) return null;
  const { seq, at, transactionId, attempt, txHash } = record;
  const { job, account, slot } = told;
  const place = {
    kind: "signed",
    seq,
    at,
    transactionId,
    attempt,
    network: job.network,
    account,
    slot: slot,
  } as const;
  return { ...place, txHash, ...offerOf(signed) };
}
