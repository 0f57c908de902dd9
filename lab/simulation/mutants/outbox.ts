/**
 * Mutants of the reports to the gateway: entries that are forgotten, told too early, or never
 * again.
 */
import type { Mutant } from "./mutant.ts";

const outbox = "agent/signer/state/entries.ts";
const report = "agent/courier/report/report.ts";

export const outboxMutants: readonly Mutant[] = [
  {
    name: "bumps-not-stated",
    file: outbox,
    find: "      return withdrawal === undefined ? null : signedEntry(record, withdrawal);",
    replace:
      "      return withdrawal === undefined || record.attempt > 1 ? null : signedEntry(record, withdrawal);",
    invariant:
      "The gateway never learns of a replacement with a higher fee, and its acknowledgement of later records lets it out (release).",
    when: ({ rates }) => rates.feeSpikes > 0,
  },
  {
    name: "expiry-not-stated",
    file: outbox,
    find: `    case "EXPIRED":
      return {`,
    replace: `    case "EXPIRED":
      if (address !== "") return null;
      return {`,
    invariant:
      "What ran out is never told, so the merchant's withdrawal stays open permanently (liveness).",
    when: ({ rates }) => rates.timeLeaps > 0,
  },
  {
    name: "refusals-not-stated",
    file: outbox,
    find: `    case "REFUSED":
      return {`,
    replace: `    case "REFUSED":
      if (record.by !== "policy") return null;
      return {`,
    invariant:
      "What an operator or the courier refused is never told, so the merchant's withdrawal stays open permanently (liveness).",
  },
  {
    name: "resume-one-too-far",
    file: outbox,
    find: ".seq > seq) high = middle;",
    replace: ".seq > seq + 1) high = middle;",
    invariant:
      "The entry right after the acknowledged head is left out, and the gateway acknowledges past it (release).",
  },
  {
    name: "ack-forgets-one-more",
    file: outbox,
    find: "    while ((this.#entries.peek()?.seq ?? Number.POSITIVE_INFINITY) <= seq) this.#entries.shift();",
    replace:
      "    while ((this.#entries.peek()?.seq ?? Number.POSITIVE_INFINITY) <= seq + 1) this.#entries.shift();",
    invariant:
      "An acknowledgement drops the entry after it as well, which the gateway may never have got (release).",
  },
  {
    name: "said-once-is-said",
    file: "agent/signer/runtime/signer.ts",
    find: "    const from = Math.max(after, core.heads.acked.seq);",
    replace: "    const from = Math.max(after, core.heads.acked.seq, this.#statedSeq);",
    invariant:
      "Statements that a broken link swallowed are not made again while the signer lives (liveness).",
  },
  {
    name: "resumes-from-the-newest",
    file: "agent/courier/run.ts",
    find: "  reporter.resume(hello.acked);",
    replace: "  reporter.resume(hello.head.seq);",
    invariant:
      "After a reconnect the courier skips what the gateway never got, and everything later is refused as a gap (liveness).",
  },
  {
    name: "gap-sent-anyway",
    file: report,
    find: "    if (statement.after !== sentSeq) return false;\n",
    replace: "",
    invariant:
      "A statement is sent though one before it is missing, and the gateway takes itself for a restored backup (liveness).",
    when: ({ rates, orders }) =>
      orders.length > 1 &&
      rates.lineCut + rates.lineHangs + rates.gatewayDies > 0 &&
      rates.frameLost + rates.framesSwapped + rates.frameOld === 0,
  },
];
