/**
 * The signer's word to the gateway: what became durable and concerns it, as statements under the
 * signer's own key, in ledger order. Pushed once each; the courier asks for them again from where
 * the gateway stands. Touches no disk and no socket.
 */
import type { KeyObject } from "node:crypto";
import { sealEnvelope } from "../../../protocol/envelope.ts";
import { zeroHash } from "../../../protocol/identity.ts";
import type { Head, Statement } from "../../../protocol/messages.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import type { Push } from "../../socket/verbs.ts";
import type { Run } from "../acts/run.ts";
import { limitsDigest } from "../policy/canonical.ts";
import type { Core } from "../state/core.ts";
import { type Batch, batchesOf } from "../state/entries.ts";
import { tellAgain } from "../state/telling.ts";

/** Statements of one `report` answer; the courier asks again from where they end. */
const reportFramesMax = 8;

interface StatementsOptions {
  readonly core: Core;
  readonly ledger: Ledger;
  readonly run: Run;
  readonly signerKey: () => KeyObject;
  readonly push: (message: Push) => void;
  /** Calls back once, a little later. */
  readonly later: (act: () => void) => void;
}

/** What was said so far, and what is to be said. Frames are whole envelopes as base64. */
export class Statements {
  readonly #options: StatementsOptions;
  #statedSeq = 0;
  #isSpeechLate = false;
  readonly #policy: string;

  constructor(options: StatementsOptions) {
    this.#options = options;
    this.#policy = limitsDigest(options.core.policy.canonical);
  }

  /** Pushes what is durable and was not pushed yet. Twice is harmless. */
  speak(isDue = false): void {
    const { core, ledger, push, later, run } = this.#options;
    if (ledger.durableHead.seq <= this.#statedSeq) return;
    // Told again, in its order, when the courier asks for it; what is new comes behind it.
    if (run.telling !== null && this.#statedSeq < run.telling.to) return;
    const batches = this.#batches(Math.max(this.#statedSeq, core.heads.acked.seq));
    // An approval is followed by its signature as a rule: one statement for both spares everybody
    // half of the messages.
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
      push({ push: "statement", frame: this.#frame(batch, false), after, head });
    }
    this.#statedSeq = batches.at(-1)?.head.seq ?? this.#statedSeq;
  }

  /** A ledger was opened: in its epoch nothing was said yet. */
  restart(): void {
    this.#statedSeq = 0;
  }

  /**
   * Statements after `after` that the gateway has not acknowledged, the first of them. What they
   * say is not pushed as well. When there are none, one without entries says that the gateway's
   * greeting was taken, each time: whether the one before came to the gateway, no answer tells.
   */
  after(after: number): readonly string[] {
    const { core, ledger, run } = this.#options;
    if (run.telling !== null && after < run.telling.to) return this.#again(after);
    const from = Math.max(after, core.heads.acked.seq);
    const batches = this.#batches(from).slice(0, reportFramesMax);
    this.#statedSeq = Math.max(this.#statedSeq, batches.at(-1)?.head.seq ?? Math.min(from, ledger.durableHead.seq));
    if (batches.length > 0) return batches.map((batch) => this.#frame(batch, true));
    const word = this.#nothingNew(from);
    if (this.#greetingAt(word.head) === "") return [];
    this.#statedSeq = Math.max(this.#statedSeq, word.head.seq);
    return [this.#frame(word, true)];
  }

  /**
   * What a gateway that went back has lost, read from the ledger; also where nothing of it concerns
   * the gateway, so that it moves on.
   */
  #again(after: number): readonly string[] {
    const { core, ledger } = this.#options;
    const read = (from: number, to: number): readonly LedgerRecord[] => ledger.read(from, to);
    const part = tellAgain({ core, read, to: ledger.durableHead.seq }, after);
    const hashAt = (seq: number): string | null => ledger.hashAt(seq);
    const reached = { seq: part.reached, hash: hashAt(part.reached) ?? zeroHash };
    const batches = batchesOf(part.entries, after, reached, hashAt);
    this.#statedSeq = part.reached;
    return batches.map((batch) => this.#frame(batch, true));
  }

  /**
   * Once more the head up to which everything was said, which the gateway holds when it hears this:
   * repeating it makes no record, and an older one says nothing of what came since. Before the
   * first, what is on disk.
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
   * The greeting that a statement up to `head` may call taken. That says to the gateway that it
   * lacks nothing, so a locked signer does not say it; one that tells the gateway again is not
   * greeted.
   */
  #greetingAt(head: Head): string {
    const { core, run } = this.#options;
    return core.locked !== null || !run.greeted || head.seq < (core.opened?.seq ?? 0) ? "" : run.greeting;
  }

  #batches(after: number): readonly Batch[] {
    const { core, ledger } = this.#options;
    return core.outbox.batches(after, ledger.durableHead, (seq) => this.#hashAt(seq));
  }

  /**
   * What the courier asked for, as it does after each greeting, says also by which limits this run
   * goes.
   */
  #frame({ after, previous, head, entries }: Batch, isAsked: boolean): string {
    const { core, signerKey } = this.#options;
    const { agent, epoch } = core.paired;
    const isOpening = core.opened !== null && core.heads.acked.seq < core.opened.seq;
    const statement: Statement = {
      agent,
      epoch,
      greeted: this.#greetingAt(head),
      after,
      previous,
      head,
      at: core.heads.at,
      ...(isAsked ? { policy: this.#policy } : {}),
      ...(isOpening ? { opened: core.opened.order } : {}),
      entries,
    };
    return Buffer.from(sealEnvelope("statement", statement, signerKey())).toString("base64");
  }
}

function isApprovals({ entries }: Batch): boolean {
  return entries.every((entry) => entry.kind === "decision" && entry.decision === "approved");
}
