/**
 * The 13 steps of a payout at which the stream `steps` kills, in their order, each with the way in
 * which it is recognised. Records are those of the signer's ledger (docs/ledger.md).
 */
import type { LedgerRecord } from "../../../agent/ledger/records.ts";

/** A step that a record shows. */
export type RecordedStep =
  | "REQUESTED"
  | "APPROVED"
  | "INTENT"
  | "SIGNED"
  | "RELEASED"
  | "BROADCAST"
  | "INCLUDED"
  | "FINAL"
  | "REPORTED";

export type StepName = RecordedStep | "ANSWERED" | "QUERIED" | "OFFERED" | "TAKEN";

export interface Step {
  readonly name: StepName;
  /** By the shop's answer, by a record, or by a call to a node that the proxy holds. */
  readonly by: "answer" | "record" | "first query" | "broadcast question" | "broadcast answer";
  /** A kill after this record has missed the step. */
  readonly before: readonly RecordedStep[];
  readonly says: string;
}

export const steps: readonly Step[] = [
  { name: "ANSWERED", by: "answer", before: [], says: "the gateway has answered the shop's order" },
  {
    name: "REQUESTED",
    by: "record",
    before: ["INTENT"],
    says: "the ledger has the job, with policy's approval in the same write",
  },
  {
    name: "APPROVED",
    by: "record",
    before: ["INTENT"],
    says: "the ledger has an operator's approval",
  },
  {
    name: "QUERIED",
    by: "first query",
    before: ["INTENT"],
    says: "a node has the courier's first question for this payment",
  },
  {
    name: "INTENT",
    by: "record",
    before: ["SIGNED"],
    says: "the ledger has the intent, and no signature",
  },
  { name: "SIGNED", by: "record", before: ["RELEASED"], says: "the ledger has the signature" },
  {
    name: "RELEASED",
    by: "record",
    before: ["BROADCAST", "INCLUDED", "FINAL"],
    says: "the gateway has acknowledged the signature",
  },
  {
    name: "OFFERED",
    by: "broadcast question",
    before: ["BROADCAST", "INCLUDED", "FINAL"],
    says: "the broadcast has come to the nodes, and no node has taken it",
  },
  {
    name: "TAKEN",
    by: "broadcast answer",
    before: ["BROADCAST", "INCLUDED", "FINAL"],
    says: "the nodes have taken the broadcast, and have not answered",
  },
  {
    name: "BROADCAST",
    by: "record",
    before: ["INCLUDED", "FINAL"],
    says: "the ledger has the payment as sent to the nodes",
  },
  {
    name: "INCLUDED",
    by: "record",
    before: ["FINAL"],
    says: "the ledger has the payment as in a block",
  },
  {
    name: "FINAL",
    by: "record",
    before: ["REPORTED"],
    says: "the ledger has the payment as final",
  },
  {
    name: "REPORTED",
    by: "record",
    before: [],
    says: "the gateway has acknowledged the final payment",
  },
];

const observed = { broadcast: "BROADCAST", included: "INCLUDED", final: "FINAL" } as const;

/** The steps of one payout that its records show. */
export class Progress {
  readonly reached = new Set<RecordedStep>();
  readonly #orderId: string;
  #transactionId = "";
  #finalSeq: number | null = null;

  constructor(orderId: string) {
    this.#orderId = orderId;
  }

  take(record: LedgerRecord): void {
    const step = this.#stepOf(record);
    if (step === null) return;
    this.reached.add(step);
    if (step === "FINAL") this.#finalSeq ??= record.seq;
  }

  #stepOf(record: LedgerRecord): RecordedStep | null {
    const { kind } = record;
    if (
      kind === "REQUESTED" &&
      (JSON.parse(record.job) as { orderId?: unknown }).orderId === this.#orderId
    )
      this.#transactionId = record.transactionId;
    if (this.#transactionId === "") return null;
    if (kind === "RELEASED" || kind === "REPORTED") {
      if (this.#finalSeq !== null) return record.acked.seq >= this.#finalSeq ? "REPORTED" : null;
      const isReleased =
        kind === "RELEASED" &&
        record.released.some(({ transactionId }) => transactionId === this.#transactionId);
      return isReleased ? "RELEASED" : null;
    }
    if (!("transactionId" in record) || record.transactionId !== this.#transactionId) return null;
    if (kind === "OBSERVED") return record.stage === "void" ? null : observed[record.stage];
    return kind === "REQUESTED" || kind === "APPROVED" || kind === "INTENT" || kind === "SIGNED"
      ? kind
      : null;
  }
}
