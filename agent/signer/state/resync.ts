/**
 * A resync for a rolled-back gateway, read from the ledger's own records: every job at its number
 * with the gateway's signature, every decision, signature and observation. Records from before this
 * ledger's recovery are sent only for ended withdrawals; the others come with their new decision or
 * as a job. Reads through the caller and changes nothing. Source: docs/protocol.md section 8.
 */

import { invariant } from "../../../base/fault.ts";
import { expiryExclusionOf, pinExclusionOf } from "../../../chains/families.ts";
import type { Entry } from "../../../protocol/messages.ts";
import { isCancel, type LedgerRecord } from "../../ledger/records.ts";
import type { Core } from "./core.ts";
import {
  type EntrySource,
  entriesOfKeptWithdrawal,
  entryOf,
  repeatDecisionEntries,
  stopEntries,
} from "./entries.ts";
import { isFinal } from "./machine.ts";

type Intent = Extract<LedgerRecord, { kind: "INTENT" }>;
type SignedRecord = Extract<LedgerRecord, { kind: "SIGNED" }>;

/** Returns the durable records `from` to `to`, both included. */
export type ReadRecords = (from: number, to: number) => readonly LedgerRecord[];

/** The records of one read. */
const chunk = 1_000;
/** The most records for one answer; the rest comes with the next one. */
const readMax = 4_000;
/** The number of entries at which an answer is full. */
const enough = 1_024;

interface Source {
  readonly core: Core;
  readonly read: ReadRecords;
  readonly to: number; // the durable head
}

/** Returns the entries after `after` that fit into one answer, and the last record covered. */
export function resyncEntries(
  { core, read, to }: Source,
  after: number,
): { readonly entries: readonly Entry[]; readonly reached: number } {
  const { recovered } = core;
  const start = Math.max(after, recovered?.resyncFrom ?? 0);
  const intents = new Map<string, Intent>();
  const entries: Entry[] = [];
  let reached = start;
  while (reached < to && reached < start + readMax && entries.length < enough) {
    const next = Math.min(to, reached + chunk);
    for (const record of read(reached + 1, next)) {
      if (record.kind === "INTENT") intents.set(keyOf(record), record);
      const told = toldOf(
        record,
        (signed) => intents.get(keyOf(signed)) ?? findIntent(read, signed),
      );
      entries.push(
        ...(record.seq < (recovered?.seq ?? 0)
          ? entriesBefore(core, record, told)
          : entriesSince(core, record, told)),
      );
    }
    reached = next;
  }
  return { entries, reached };
}

/** Returns the entries of a record since the recovery. A lock is sent while it lasts. */
function entriesSince(
  core: Core,
  record: LedgerRecord,
  told: EntrySource | undefined,
): readonly Entry[] {
  const { seq, at } = record;
  switch (record.kind) {
    case "REQUESTED":
    case "REPEATED":
      return askedEntries(core, record, record.sequence);
    case "LOCKED":
      return core.locked === null
        ? []
        : [{ kind: "alarm", seq, at, code: record.code, locked: true }];
    case "ALARM":
      return [];
    case "RECOVERED":
      return recoveredEntries(core, record, told);
    case "APPROVED":
    case "HELD":
    case "OBSERVED": {
      const entry = entryOf(record, told);
      const withdrawal = core.book.find(record.transactionId);
      const kept = withdrawal?.isKept === true ? entriesOfKeptWithdrawal(record, withdrawal) : [];
      return entry === null ? kept : [...kept, entry];
    }
    default: {
      const entry = entryOf(record, told);
      return entry === null ? [] : [entry];
    }
  }
}

/** A pause or a ceiling from before the recovery has no record of its own here. */
function recoveredEntries(
  { stops, ceiling }: Core,
  record: LedgerRecord,
  told: EntrySource | undefined,
): readonly Entry[] {
  const { seq, at } = record;
  const entry = entryOf(record, told);
  const recovered: Entry[] = [
    ...(entry === null ? [] : [entry]),
    ...stopEntries(stops, record, at),
  ];
  return ceiling === 0 ? recovered : [...recovered, { kind: "ceiling", seq, at, ceiling }];
}

/**
 * Returns the entries of a record before the recovery. An approval without effect, and a void
 * signed attempt, would arrive after an end that the gateway knows already.
 */
function entriesBefore(
  core: Core,
  record: LedgerRecord,
  told: EntrySource | undefined,
): readonly Entry[] {
  if (!("transactionId" in record)) return [];
  const state = core.book.stateOf(record.transactionId);
  if (state === undefined || !isFinal(state)) return [];
  if (record.kind === "REQUESTED") return askedEntries(core, record, 0);
  const isEnd = record.kind === "REFUSED" || record.kind === "EXPIRED";
  const isVoid = !isEnd && (state === "refused" || state === "expired");
  const entry = isVoid || record.kind === "REPEATED" ? null : entryOf(record, told);
  return entry === null ? [] : [entry];
}

function askedEntries(
  core: Core,
  record: Extract<LedgerRecord, { kind: "REQUESTED" | "REPEATED" }>,
  sequence: number,
): readonly Entry[] {
  const { seq, at, transactionId, jobHash } = record;
  const place = { kind: "asked", seq, at, transactionId, sequence, jobHash } as const;
  if (record.kind === "REQUESTED")
    return [{ ...place, job: record.job, signature: record.signature }];
  const known = record.code === "" ? core.book.find(transactionId) : undefined;
  return [
    { ...place, job: "", signature: "" },
    ...(known === undefined ? [] : repeatDecisionEntries(record, known)),
  ];
}

/**
 * Returns the data that an entry needs in addition to its record, only from records, because the
 * withdrawal may have closed long ago.
 */
function toldOf(
  record: LedgerRecord,
  intentOf: (signed: SignedRecord) => Intent,
): EntrySource | undefined {
  if (record.kind === "APPROVED")
    return { address: record.address, job: record, account: "", slot: "", attempts: [] };
  if (record.kind !== "SIGNED") return undefined;
  const intent = intentOf(record);
  const { address, account, slot, attempt, network, txParams, feeMax } = intent;
  const validUntilMs = expiryExclusionOf(network)?.validUntilMs(txParams);
  const pin = pinExclusionOf(network)?.coins(txParams)[0];
  const ends = {
    ...(validUntilMs === undefined ? {} : { validUntilMs }),
    ...(pin === undefined ? {} : { pin }),
  };
  const offer = { feeMax, isCancel: isCancel(intent), ...ends };
  const attempts = Array.from({ length: attempt }, () => offer);
  return { address, job: intent, account, slot, attempts };
}

/**
 * Finds the intent of a signature if it is older than the records read: a crash may have come
 * between the two.
 */
function findIntent(read: ReadRecords, { transactionId, attempt, seq }: SignedRecord): Intent {
  for (let to = seq - 1; to >= 1; to -= chunk) {
    for (const record of read(Math.max(1, to - chunk + 1), to)) {
      if (
        record.kind === "INTENT" &&
        record.transactionId === transactionId &&
        record.attempt === attempt
      )
        return record;
    }
  }
  invariant(false, "what is signed was intended");
}

function keyOf({
  transactionId,
  attempt,
}: {
  readonly transactionId: string;
  readonly attempt: number;
}): string {
  return `${transactionId} ${attempt}`;
}
