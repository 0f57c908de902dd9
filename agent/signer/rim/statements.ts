/**
 * The signer's word to the gateway: what became durable and concerns it, as statements under the signer's own key, in ledger order.
 * Pushed once each; the courier asks for them again from where the gateway stands. Touches no disk and no socket.
 */
import type { KeyObject } from "node:crypto";
import { sealEnvelope } from "../../../protocol/envelope.ts";
import { zeroHash } from "../../../protocol/identity.ts";
import type { Head, Statement } from "../../../protocol/messages.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { Push } from "../../socket/verbs.ts";
import type { Run } from "../acts/run.ts";
import type { Core } from "../state/core.ts";
import type { Batch } from "../state/entries.ts";

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
  /** The greeting that was said to be taken last. */
  #saidGreeting = "";
  #isSpeechLate = false;

  constructor(options: StatementsOptions) {
    this.#options = options;
  }

  /** Pushes what is durable and was not pushed yet. Twice is harmless. */
  speak(isDue = false): void {
    const { core, ledger, push, later } = this.#options;
    if (ledger.durableHead.seq <= this.#statedSeq) return;
    const batches = this.#batches(Math.max(this.#statedSeq, core.heads.acked.seq));
    // An approval is followed by its signature as a rule: one statement for both spares everybody half of the messages.
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
      push({ push: "statement", frame: this.#frame(batch), after, head });
    }
    this.#statedSeq = batches.at(-1)?.head.seq ?? this.#statedSeq;
  }

  /** A recovery: in its epoch nothing was said yet. */
  restart(): void {
    this.#statedSeq = 0;
  }

  /**
   * Statements after `after` that the gateway has not acknowledged, the first of them. What they say is not pushed as well. When there
   * are none, one without entries says once that the gateway's greeting was taken.
   */
  after(after: number): readonly string[] {
    const { core, ledger } = this.#options;
    const asked = Math.max(after, core.heads.acked.seq);
    // A place of the epoch before: after a recovery nothing is acknowledged, and the hashes of long ago are not kept.
    const isGone = asked <= ledger.durableHead.seq && core.heads.hashAt(asked) === null;
    const from = isGone ? core.heads.acked.seq : asked;
    const batches = this.#batches(from).slice(0, reportFramesMax);
    this.#statedSeq = Math.max(this.#statedSeq, batches.at(-1)?.head.seq ?? Math.min(from, ledger.durableHead.seq));
    if (batches.length > 0) return batches.map((batch) => this.#frame(batch));
    const word = this.#nothingNew();
    const greeted = this.#greetingAt(word.head);
    if (greeted === "" || greeted === this.#saidGreeting) return [];
    this.#statedSeq = Math.max(this.#statedSeq, word.head.seq);
    return [this.#frame(word)];
  }

  /** The acknowledged head once more, which every gateway holds: repeating it makes no record. Before the first, what is on disk. */
  #nothingNew(): Batch {
    const { core, ledger } = this.#options;
    const { acked } = core.heads;
    if (acked.seq === 0) return { after: 0, previous: zeroHash, head: ledger.durableHead, entries: [] };
    return { after: acked.seq, previous: acked.hash, head: acked, entries: [] };
  }

  /**
   * The greeting that a statement up to `head` may call taken. That says to the gateway that it lacks nothing, so a locked signer does
   * not say it, nor one that was recovered before it has told all that the recovery tells again.
   */
  #greetingAt(head: Head): string {
    const { core, run } = this.#options;
    return core.locked !== null || !run.greeted || head.seq < (core.recovery?.seq ?? 0) ? "" : run.greeting;
  }

  #batches(after: number): readonly Batch[] {
    const { core, ledger } = this.#options;
    return core.outbox.batches(after, ledger.durableHead, (seq) => core.heads.hashAt(seq));
  }

  #frame({ after, previous, head, entries }: Batch): string {
    const { core, signerKey } = this.#options;
    const { agent, epoch } = core.paired;
    const greeted = this.#greetingAt(head);
    if (greeted !== "") this.#saidGreeting = greeted;
    const statement: Statement = { agent, epoch, greeted, after, previous, head, at: core.heads.at, entries };
    return Buffer.from(sealEnvelope("statement", statement, signerKey())).toString("base64");
  }
}

function isApprovals({ entries }: Batch): boolean {
  return entries.every((entry) => entry.kind === "decision" && entry.decision === "approved");
}
