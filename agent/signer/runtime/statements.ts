/**
 * The signer's statements to the gateway: durable records that concern the gateway, under the
 * signer's own key, in ledger order. Each is pushed once; the courier asks for them again from the
 * gateway's head on. Touches no disk and no socket.
 */
import type { KeyObject } from "node:crypto";
import { sealEnvelope } from "../../../protocol/envelope.ts";
import { zeroHash } from "../../../protocol/identity.ts";
import type { Head, Statement } from "../../../protocol/messages.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import { type PushMessage, reportFramesMax } from "../../socket/verbs.ts";
import type { SignerRun } from "../handlers/context.ts";
import { canonicalLimits, limitsDigest } from "../state/canonical.ts";
import type { Core } from "../state/core.ts";
import { type Batch, batchesOf } from "../state/entries.ts";
import { resyncEntries } from "../state/resync.ts";

interface StatementsOptions {
  readonly core: Core;
  readonly ledger: Ledger;
  readonly run: SignerRun;
  readonly signerKey: () => KeyObject;
  readonly push: (message: PushMessage) => void;
  /** Calls back once, a little later. */
  readonly later: (act: () => void) => void;
}

/** Keeps the last stated record and the statements to come. Frames are complete envelopes. */
export class Statements {
  readonly #options: StatementsOptions;
  #statedSeq = 0;
  #isSpeechLate = false;
  readonly #policy: string;

  constructor(options: StatementsOptions) {
    this.#options = options;
    this.#policy = limitsDigest(canonicalLimits(options.core.policy.rules));
  }

  /** Pushes durable records that were not pushed yet. A repeat is harmless. */
  speak(isDue = false): void {
    const { core, ledger, push, later, run } = this.#options;
    if (ledger.durableHead.seq <= this.#statedSeq) return;
    // During a resync the courier asks for these records in order; new records follow.
    if (run.resync !== null && this.#statedSeq < run.resync.to) return;
    const batches = this.#batches(Math.max(this.#statedSeq, core.heads.acked.seq));
    // An approval is usually followed by its signature, so one statement for both saves half of the
    // messages.
    if (!isDue && batches.every(isApprovals)) {
      if (this.#isSpeechLate) return;
      this.#isSpeechLate = true;
      later(() => {
        this.#isSpeechLate = false;
        this.speak(true);
      });
      return;
    }
    for (const batch of batches) {
      const { after, head } = batch;
      push({ push: "statement", frames: [this.#frame(batch, false)], after, head });
    }
    this.#statedSeq = batches.at(-1)?.head.seq ?? this.#statedSeq;
  }

  /** Restarts after a recovery: nothing was stated yet in the new epoch. */
  restart(): void {
    this.#statedSeq = 0;
  }

  /**
   * Returns the first unacknowledged statements after `after`; their content is not pushed as well.
   * If there are none, a statement without entries reports each time that the handshake is done,
   * because no answer shows whether the previous one reached the gateway.
   */
  after(after: number): readonly Uint8Array[] {
    const { core, ledger, run } = this.#options;
    if (run.resync !== null && after < run.resync.to) return this.#again(after);
    const from = Math.max(after, core.heads.acked.seq);
    const batches = this.#batches(from).slice(0, reportFramesMax);
    this.#statedSeq = Math.max(
      this.#statedSeq,
      batches.at(-1)?.head.seq ?? Math.min(from, ledger.durableHead.seq),
    );
    if (batches.length > 0) return batches.map((batch) => this.#frame(batch, true));
    const word = this.#nothingNew(from);
    if (this.#handshakeAt(word.head) === "") return [];
    this.#statedSeq = Math.max(this.#statedSeq, word.head.seq);
    return [this.#frame(word, true)];
  }

  /**
   * Returns the records that a rolled-back gateway has lost, read from the ledger. A statement
   * follows even if none of the records concerns the gateway, so that its head moves on.
   */
  #again(after: number): readonly Uint8Array[] {
    const { core, ledger } = this.#options;
    const read = (from: number, to: number): readonly LedgerRecord[] => ledger.read(from, to);
    const part = resyncEntries({ core, read, to: ledger.durableHead.seq }, after);
    const hashAt = (seq: number): string | null => ledger.hashAt(seq);
    const reached = { seq: part.reached, hash: hashAt(part.reached) ?? zeroHash };
    const batches = batchesOf(part.entries, after, reached, hashAt);
    this.#statedSeq = part.reached;
    return batches.map((batch) => this.#frame(batch, true));
  }

  /**
   * Repeats the last stated head, which the gateway holds when this statement arrives. A repeat
   * makes no record, and an older head says nothing about later records. Before the first
   * statement, the durable head is named.
   */
  #nothingNew(said: number): Batch {
    const { core, ledger } = this.#options;
    const seq = said > ledger.durableHead.seq ? core.heads.acked.seq : said;
    if (seq === 0) return { after: 0, previous: zeroHash, head: ledger.durableHead, entries: [] };
    const hash = this.#hashAt(seq) ?? zeroHash;
    return { after: seq, previous: hash, head: { seq, hash }, entries: [] };
  }

  #hashAt(seq: number): string | null {
    return this.#options.core.heads.hashAt(seq) ?? this.#options.ledger.hashAt(seq);
  }

  /**
   * Returns the challenge of the handshake that a statement up to `head` may confirm. A
   * confirmation means that the gateway lacks nothing, so neither a locked signer nor a signer
   * during a resync sends one.
   */
  #handshakeAt(head: Head): string {
    const { core, run } = this.#options;
    return core.locked !== null || !run.handshakeDone || head.seq < (core.recovered?.seq ?? 0)
      ? ""
      : run.handshake;
  }

  #batches(after: number): readonly Batch[] {
    const { core, ledger } = this.#options;
    return core.outbox.batches(after, ledger.durableHead, (seq) => this.#hashAt(seq));
  }

  /**
   * Seals a statement. One that the courier asked for, as after each handshake, also names the
   * digest of this run's limits.
   */
  #frame({ after, previous, head, entries }: Batch, isAsked: boolean): Uint8Array {
    const { core, signerKey } = this.#options;
    const { agent, ledgerEpoch } = core.paired;
    const isRecovering = core.recovered !== null && core.heads.acked.seq < core.recovered.seq;
    const statement: Statement = {
      agent,
      ledgerEpoch,
      handshake: this.#handshakeAt(head),
      after,
      previous,
      head,
      at: core.heads.at,
      ...(isAsked ? { policy: this.#policy } : {}),
      ...(isRecovering ? { recovered: core.recovered.order } : {}),
      entries,
    };
    return sealEnvelope("statement", statement, signerKey());
  }
}

function isApprovals({ entries }: Batch): boolean {
  return entries.every((entry) => entry.kind === "decision" && entry.decision === "approved");
}
