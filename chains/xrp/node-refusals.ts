/**
 * A node's reply to signed bytes, and the codes of refusals with their meaning. Pure. Sources: the
 * ledger's documentation of `submit`, of transaction results and of universal errors; the
 * transaction queue's conditions.
 */
import { otherId, type RefusalRow, type Reply, taken } from "../providers/broadcasts.ts";
import { shownWords } from "../providers/node-words.ts";
import { readSubmitted } from "./node-answers.ts";
import type { RpcReply } from "./rpc.ts";

/** The first row that fits the code, which stands first, decides. */
export const refusals: readonly RefusalRow[] = [
  { form: /^tefALREADY\b/, meaning: "known" },
  { form: /^tefPAST_SEQ\b/, meaning: "slot-used" },
  { form: /^tefMAX_LEDGER\b/, meaning: "expired" },
  { form: /^tel(?:INSUF_FEE_P|CAN_NOT_QUEUE_FEE|CAN_NOT_QUEUE_FULL)\b/, meaning: "price" },
  { form: /^(?:telCAN_NOT_QUEUE_BALANCE|terINSUF_FEE_B|terNO_ACCOUNT)\b/, meaning: "funds" },
  {
    form: /^tel(?:CAN_NOT_QUEUE_(?:BLOCKS|BLOCKED)|NETWORK_ID_MAKES_TX_NON_CANONICAL|REQUIRES_NETWORK_ID|WRONG_NETWORK)\b/,
    meaning: "bytes",
  },
  {
    form: /^tef(?:BAD_AUTH|BAD_AUTH_MASTER|BAD_SIGNATURE|BAD_QUORUM|MASTER_DISABLED|NOT_MULTI_SIGNING|WRONG_PRIOR|NO_AUTH_REQUIRED|INVARIANT_FAILED)\b/,
    meaning: "bytes",
  },
  { form: /^te[mr]/, meaning: "bytes" },
  // Errors of the API, which no transaction engine has seen.
  { form: /^(?:invalidTransaction|invalidParams|txn_blob)\b/, meaning: "bytes" },
  {
    form: /^(?:noCurrent|noClosed|noNetwork|notReady|notSynced|tooBusy|slowDown|amendmentBlocked|expiredValidatorList|failedToForward|forbidden|noPermission|reportingUnsupported|unknownCmd|jsonInvalid)\b/,
    meaning: "node",
  },
];

/**
 * The reply of `submit`. A node that keeps, queues or applies the bytes has taken them, whatever
 * its code is. The code `tec` is provisional: the ledger claims the fee, or the node tries again;
 * and a node of before these three fields holds what it answers with `ter`. @throws NODE_ANSWER for
 * a result without a code
 */
export function readReply(told: RpcReply, txHash: string): Reply {
  if (!told.ok) return { kind: "refused", words: told.words };
  const { result, words: more, txHash: shown, applied, kept, queued } = readSubmitted(told.result);
  const words = shownWords(`${result} ${more}`);
  if (shown !== "" && shown !== txHash) return otherId;
  if (result === "tesSUCCESS" || result === "terQUEUED") return taken;
  if (!/^te[mf]/.test(result) && (applied === true || kept === true || queued === true))
    return { ...taken, words };
  const isOpen = /^te[cr]/.test(result) && kept === null;
  return { kind: isOpen ? "doubtful" : "refused", words };
}
