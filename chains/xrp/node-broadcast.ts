/**
 * Classifies a node's answer to signed bytes. A refusal never decides the fate of a payment,
 * because other nodes may have taken the same bytes or an earlier attempt. Pure. Sources: the
 * ledger's documentation of `submit` and of transaction results; the transaction queue's
 * conditions.
 */

import type { BroadcastAnswer, BroadcastOutcome } from "../nodes.ts";
import { shownWords } from "../providers/node-words.ts";
import type { Submitted } from "./node-answers.ts";

interface Row {
  readonly form: RegExp;
  readonly outcome: BroadcastOutcome;
  /** Whether a replacement with a higher fee, and a later last ledger, may be taken. */
  readonly refusal?: "curable" | "incurable";
}

/** The first row that fits decides. */
const rows: readonly Row[] = [
  { form: /^tefALREADY$/, outcome: "known" },
  { form: /^tefPAST_SEQ$/, outcome: "slot-consumed", refusal: "incurable" },
  { form: /^tefMAX_LEDGER$/, outcome: "expired", refusal: "curable" },
  { form: /^tel(?:INSUF_FEE_P|CAN_NOT_QUEUE_FEE|CAN_NOT_QUEUE_FULL)$/, outcome: "underpriced", refusal: "curable" },
  // Too few ledgers are left before its last one, among other reasons.
  { form: /^telCAN_NOT_QUEUE$/, outcome: "unknown", refusal: "curable" },
  { form: /^(?:telCAN_NOT_QUEUE_BALANCE|terINSUF_FEE_B|terNO_ACCOUNT)$/, outcome: "funds", refusal: "incurable" },
  { form: /^telCAN_NOT_QUEUE_(?:BLOCKS|BLOCKED)$/, outcome: "unknown", refusal: "incurable" },
  {
    form: /^tel(?:NETWORK_ID_MAKES_TX_NON_CANONICAL|REQUIRES_NETWORK_ID|WRONG_NETWORK)$/,
    outcome: "unknown",
    refusal: "incurable",
  },
  {
    form: /^tef(?:BAD_AUTH|BAD_AUTH_MASTER|BAD_SIGNATURE|BAD_QUORUM|MASTER_DISABLED|NOT_MULTI_SIGNING|WRONG_PRIOR|NO_AUTH_REQUIRED|INVARIANT_FAILED)$/,
    outcome: "unknown",
    refusal: "incurable",
  },
  { form: /^ter/, outcome: "unknown", refusal: "incurable" },
];

/** Errors of the API about the bytes themselves, which no transaction engine has seen. */
const badBytes: ReadonlySet<string> = new Set(["invalidTransaction", "invalidParams", "txn_blob"]);

/** Reads the answer of `submit` to the bytes of `txHash`. */
export function readEngine(submitted: Submitted, txHash: string): BroadcastAnswer {
  const { result, applied, kept, queued } = submitted;
  const text = shownWords(`${result} ${submitted.words}`);
  if (submitted.txHash !== "" && submitted.txHash !== txHash) return { outcome: "unknown", text: "the node answered another id" };
  if (result === "tesSUCCESS" || result === "terQUEUED") return { outcome: "accepted", text: "" };
  // The result is provisional: the ledger claims the fee, or the node tries again.
  if (result.startsWith("tec")) return { outcome: applied === false && kept !== true ? "unknown" : "accepted", text };
  if (result.startsWith("tem")) return { outcome: "unknown", text, refusal: "incurable" };
  const isTaken = applied === true || kept === true || queued === true;
  if (result === "terPRE_SEQ" && isTaken) return { outcome: "accepted", text };
  const row = rows.find(({ form }) => form.test(result));
  if (row === undefined) return { outcome: "unknown", text };
  // A node that keeps the bytes, or does not say, may still take them.
  const isRefused = !isTaken && kept === false;
  return { outcome: row.outcome, text, ...(isRefused && row.refusal !== undefined ? { refusal: row.refusal } : {}) };
}

/** Reads an error that a node gave in the place of an engine's result. */
export function readSubmitError(error: string, words: string): BroadcastAnswer {
  return { outcome: "unknown", text: words, ...(badBytes.has(error) ? { refusal: "incurable" as const } : {}) };
}
