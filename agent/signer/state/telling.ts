/**
 * What a gateway that went back is told again, read from the ledger's own records: every job at its
 * place with the gateway's signature of it, every decision, signature and observation. Of what came
 * before this ledger was opened only what has ended: the rest is told with its new decision, or
 * comes as a job. Reads through the caller and changes nothing. Source: docs/protocol.md section 8.
 */
import { waitingOf } from "../../../chains/families.ts";
import { invariant } from "../../../protocol/fault.ts";
import type { Entry } from "../../../protocol/messages.ts";
import { isCancel, type LedgerRecord } from "../../ledger/records.ts";
import type { Core } from "./core.ts";
import { answerAgain, entryOf, keptEntries, type Told } from "./entries.ts";
import { isFinal } from "./machine.ts";

type Intent = Extract<LedgerRecord, { kind: "INTENT" }>;
type Signed = Extract<LedgerRecord, { kind: "SIGNED" }>;

/** Durable records `from` to `to`, both included. */
export type ReadRecords = (from: number, to: number) => readonly LedgerRecord[];

/** Records read at a time. */
const chunk = 1_000;
/** Records of one answer: what follows comes with the next one. */
const readMax = 4_000;
/** Entries after which an answer is full. */
const enough = 1_024;

interface Source {
  readonly core: Core;
  readonly read: ReadRecords;
  readonly to: number; // the durable head
}

/**
 * Entries after `after`, as many as one answer takes, and up to where they reach.
 * @public
 */
export function tellAgain(
  { core, read, to }: Source,
  after: number,
): { readonly entries: readonly Entry[]; readonly reached: number } {
  const { opened } = core;
  const start = Math.max(after, opened?.tellFrom ?? 0);
  const intents = new Map<string, Intent>();
  const entries: Entry[] = [];
  let reached = start;
  while (reached < to && reached < start + readMax && entries.length < enough) {
    const next = Math.min(to, reached + chunk);
    for (const record of read(reached + 1, next)) {
      if (record.kind === "INTENT") intents.set(keyOf(record), record);
      const told = toldOf(record, (signed) => intents.get(keyOf(signed)) ?? findIntent(read, signed));
      entries.push(...(record.seq < (opened?.seq ?? 0) ? entriesBefore(core, record, told) : entriesSince(core, record, told)));
    }
    reached = next;
  }
  return { entries, reached };
}

/** Of the ledger as it goes on now. A lock is told while it lasts. */
function entriesSince(core: Core, record: LedgerRecord, told: Told | undefined): readonly Entry[] {
  const { seq, at } = record;
  switch (record.kind) {
    case "REQUESTED":
    case "REPEATED":
      return askedEntries(core, record, record.sequence);
    case "LOCKED":
      return core.locked === null ? [] : [{ kind: "alarm", seq, at, code: record.code, locked: true }];
    case "ALARM":
      return [];
    case "OPENED":
      return openedEntries(core, record, told);
    case "APPROVED":
    case "HELD": {
      const entry = entryOf(record, told);
      const withdrawal = core.book.find(record.transactionId);
      const kept = withdrawal?.isKept === true ? keptEntries(record, withdrawal) : [];
      return entry === null ? kept : [...kept, entry];
    }
    default: {
      const entry = entryOf(record, told);
      return entry === null ? [] : [entry];
    }
  }
}

/** A pause and a ceiling from before have no record of their own here. */
function openedEntries({ paused, ceiling }: Core, record: LedgerRecord, told: Told | undefined): readonly Entry[] {
  const { seq, at } = record;
  const entry = entryOf(record, told);
  const isPaused = paused !== null && paused.at <= at;
  const opened: Entry[] = [...(entry === null ? [] : [entry]), { kind: "paused", seq, at, paused: isPaused }];
  return ceiling === 0 ? opened : [...opened, { kind: "ceiling", seq, at, ceiling }];
}

/**
 * Of the ledger before this one was opened. A yes that came to nothing, and what was signed and is
 * dead, would come after an end that the gateway knows already.
 */
function entriesBefore(core: Core, record: LedgerRecord, told: Told | undefined): readonly Entry[] {
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
  if (record.kind === "REQUESTED") return [{ ...place, job: record.job, signature: record.signature }];
  const known = record.code === "" ? core.book.find(transactionId) : undefined;
  return [{ ...place, job: "", signature: "" }, ...(known === undefined ? [] : answerAgain(record, known))];
}

/**
 * What an entry needs beside its record, from the records alone: the withdrawal may have closed
 * long ago.
 */
function toldOf(record: LedgerRecord, intentOf: (signed: Signed) => Intent): Told | undefined {
  if (record.kind === "APPROVED") return { address: record.address, job: record, account: "", slot: "", versions: [] };
  if (record.kind !== "SIGNED") return undefined;
  const intent = intentOf(record);
  const { address, account, slot, version, network, facts, feeMax } = intent;
  const until = waitingOf(network)?.untilMs(facts);
  const offer = { feeMax, isCancel: isCancel(intent), ...(until === undefined ? {} : { until }) };
  const versions = Array.from({ length: version }, () => offer);
  return { address, job: intent, account, slot, versions };
}

/**
 * The intent of a signature, when it stands before what was read: a crash may have come between the
 * two.
 */
function findIntent(read: ReadRecords, { transactionId, version, seq }: Signed): Intent {
  for (let to = seq - 1; to >= 1; to -= chunk) {
    for (const record of read(Math.max(1, to - chunk + 1), to)) {
      if (record.kind === "INTENT" && record.transactionId === transactionId && record.version === version) return record;
    }
  }
  invariant(false, "what is signed was intended");
}

function keyOf({ transactionId, version }: { readonly transactionId: string; readonly version: number }): string {
  return `${transactionId} ${version}`;
}
