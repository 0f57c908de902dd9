/**
 * Decides by a fault's code alone if the fault belongs to the item that was asked for, or to its
 * chain. Pure.
 */
import type { Code } from "../../base/codes.ts";
import type { AgentError } from "../../base/fault.ts";

/** Faults of one answer: another question to the same nodes may do well. */
const ofItem: ReadonlySet<Code> = new Set<Code>([
  ...([
    "NODE_ERROR",
    "NODE_PATH",
    "NODE_ANSWER",
    "NODE_ANSWER_SIZE",
    "NODE_PRUNED",
    "NODE_DISAGREE",
    "NODE_QUESTION",
    "NODE_LIST_SHORT",
  ] as const),
  ...(["ADDRESS_FORMAT", "ADDRESS_CHECKSUM", "ADDRESS_PUBLIC_KEY", "ADDRESS_INDEX"] as const),
]);
/** A status with which a server refuses one question; 5xx speaks of the server. */
const refusedStatus = /\bstatus 4[0-9]{2}\b/;

/**
 * Any other code is the chain's. An item that alone fails so while the chain answers has the fault
 * after some passes (book.ts).
 */
export function isItemFault({ code, message }: AgentError): boolean {
  return ofItem.has(code) || (code === "NODE_HTTP" && refusedStatus.test(message));
}
