/**
 * Copies a ledger while its signer appends: complete files up to a record that is durable. The same
 * files are checked again at their destination, without anything from their source. The check uses
 * only the hashes, because a copy is made without the wallet's keys. The MACs go with the copy, and
 * a signer that starts on the copy checks them. Reads only. docs/backup.md section 3.
 */
import { createHash } from "node:crypto";
import { AgentError } from "../../base/fault.ts";
import type { AgentLedgerHead } from "../../protocol/messages.ts";
import { archiveKinds } from "./archive.ts";
import { damagedFault } from "./codec.ts";
import type { LedgerDisk } from "./folder.ts";
import { isFirstRecord, type NamedFiles, type NamedSortedFile } from "./records.ts";
import {
  checkpointName,
  type LedgerPoint,
  ledgerStart,
  newestSegmentNumber,
  readSegment,
  segmentName,
} from "./segment.ts";
import { checkSortedFile } from "./sorted-file.ts";

/** One file of the ledger's folder. */
export interface LedgerPart {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface CopiedLedger {
  readonly head: AgentLedgerHead;
  readonly segments: number;
  readonly agent: string; // as its first record names the agent
  readonly wallet: string;
}

/**
 * Yields the segments in order, then the checkpoints that a start needs or may read, then the
 * sorted files of the newest one. With `upTo`, the durable head of the running signer, the copy
 * ends with exactly that record. With null nobody writes, and the copy ends with the last complete
 * line.
 * @throws AgentError LEDGER_MISSING, LEDGER_DAMAGED, also if `upTo` is not in these files;
 * LEDGER_NEWER, LEDGER_UNREADABLE
 */
export function* copyLedger(
  disk: LedgerDisk,
  upTo: AgentLedgerHead | null,
): Generator<LedgerPart, void> {
  const names = disk.list();
  const newest = newestSegmentNumber(names);
  // Read before the long work, because meanwhile later checkpoints may come and remove these.
  const checkpoints = new Map(
    names
      .filter((name) => name.startsWith("checkpoint-"))
      .map((name) => [name, disk.read(name, 0, disk.size(name))]),
  );
  let place: LedgerPoint = ledgerStart;
  let past: NamedFiles | null = null;
  let last = 0;
  for (let segment = 1; segment <= newest && (upTo === null || place.seq < upTo.seq); segment++) {
    const name = segmentName(segment);
    const bytes = disk.read(name, 0, disk.size(name));
    const { map, records, bytes: good } = readSegment(bytes, segment, place, null);
    const isEnd = upTo !== null && map.has(upTo.seq);
    if (isEnd && map.hashAt(upTo.seq) !== upTo.hash) throw notThese(name, upTo);
    yield { name, bytes: bytes.subarray(0, isEnd ? map.spanAt(upTo.seq).end : good) };
    place = records.at(-1) ?? place;
    const [first] = records;
    if (isFirstRecord(first)) past = first;
    last = segment;
  }
  if (last === 0) throw new AgentError("LEDGER_MISSING", "none", "the ledger is missing or empty");
  if (upTo !== null && place.seq < upTo.seq) throw notThese(segmentName(last), upTo);
  for (const name of [checkpointName(last), checkpointName(last - 1)]) {
    const bytes = checkpoints.get(name);
    if (bytes !== undefined) yield { name, bytes };
  }
  // The running signer removes none of these.
  for (const { file } of pastOf(past))
    yield { name: file, bytes: disk.read(file, 0, disk.size(file)) };
}

function pastOf(named: NamedFiles | null): readonly NamedSortedFile[] {
  return named === null ? [] : archiveKinds.flatMap((shelf) => named[shelf]);
}

function notThese(file: string, { seq }: AgentLedgerHead): AgentError {
  return damagedFault(
    `the running signer's record ${seq} is not in these files, so they are another ledger's`,
    { file },
  );
}

/** Checks the files that `copyLedger` yields, one after the other. */
export class CopyCheck {
  #place: LedgerPoint = ledgerStart;
  #segments = 0;
  #agent = "";
  #wallet = "";
  readonly #checkpoints = new Map<string, { readonly sha256: string; isFound: boolean }>();
  #newest: string | null = null;
  /** Sorted files of the newest checkpoint that have not come yet. */
  readonly #past = new Map<string, NamedSortedFile>();

  /** @throws AgentError LEDGER_DAMAGED, LEDGER_NEWER */
  take({ name, bytes }: LedgerPart): void {
    const segment = this.#segments + 1;
    if (name !== segmentName(segment)) {
      const named = this.#past.get(name);
      if (named === undefined) this.#takeCheckpoint(name, bytes);
      else
        checkSortedFile(
          { size: bytes.length, read: (start, end) => bytes.subarray(start, end) },
          named,
        );
      this.#past.delete(name);
      return;
    }
    const read = readSegment(bytes, segment, this.#place, null);
    const [first] = read.records;
    if (read.torn || first === undefined)
      throw damagedFault("the segment is empty or ends in the middle of a line", { file: name });
    if (first.kind === "PAIRED") [this.#agent, this.#wallet] = [first.agent, first.wallet];
    if (isFirstRecord(first)) {
      this.#newest = first.file;
      this.#checkpoints.set(first.file, { sha256: first.sha256, isFound: false });
      this.#past.clear();
      for (const named of pastOf(first)) this.#past.set(named.file, named);
    }
    this.#segments = segment;
    this.#place = read.records.at(-1) ?? first;
  }

  #takeCheckpoint(name: string, bytes: Uint8Array): void {
    const wanted = this.#checkpoints.get(name);
    if (wanted === undefined)
      throw damagedFault("the file does not belong to the ledger here", { file: name });
    if (createHash("sha256").update(bytes).digest("hex") !== wanted.sha256)
      throw damagedFault("the checkpoint is not what was written", { file: name });
    wanted.isFound = true;
  }

  /**
   * @throws AgentError LEDGER_MISSING, LEDGER_DAMAGED if the newest checkpoint or one of its sorted
   * files is missing
   */
  finish(): CopiedLedger {
    if (this.#segments === 0)
      throw new AgentError("LEDGER_MISSING", "none", "the ledger is missing or empty");
    if (this.#newest !== null && this.#checkpoints.get(this.#newest)?.isFound !== true)
      throw damagedFault("the checkpoint is missing", { file: this.#newest });
    for (const file of this.#past.keys())
      throw damagedFault("the file of what is closed is missing", { file });
    const { seq, hash } = this.#place;
    return {
      head: { seq, hash },
      segments: this.#segments,
      agent: this.#agent,
      wallet: this.#wallet,
    };
  }
}
