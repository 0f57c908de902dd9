/** Records as lines for an operator: `show` prints these about one withdrawal. Touches nothing. */

import { familyOf } from "../../../chains/families.ts";
import { isCancel, type LedgerRecord } from "../../ledger/records.ts";
import type { LedgerLine } from "../../socket/verbs.ts";

/** Returns one record in words, without bytes that mean nothing to an operator. */
export function lineOf(record: LedgerRecord): LedgerLine {
  return { seq: record.seq, at: record.at, kind: record.kind, detail: detailOf(record) };
}

function detailOf(record: LedgerRecord): string {
  switch (record.kind) {
    case "REQUESTED":
      return `job ${record.sequence}`;
    case "REPEATED":
      return record.code === ""
        ? `job ${record.sequence} again`
        : `job ${record.sequence}: ${record.code}`;
    case "APPROVED":
      return `${byWords(record)}: ${record.amountUnits} base units to ${record.address} on ${record.network}`;
    case "HELD":
      return record.code;
    case "CONFIRMED":
      return `the first yes of two, ${byWords(record)}, to ${record.address}`;
    case "REFUSED":
      return `${byWords(record)}: ${record.code}`;
    case "INTENT": {
      const family = familyOf(record.network);
      return (
        `attempt ${record.attempt}${isCancel(record) ? ", a cancel" : ""}, ${family.slots.say(record.slot)} of ${record.account}, ` +
        family.fees.say(record.txParams)
      );
    }
    case "MANUAL_REPLACEMENT":
      return `${record.isFirstYes === true ? "the first yes of two to " : ""}${record.act} ${byWords(record)}`;
    case "UNSEEN":
      return record.chainMs === 0
        ? "the courier's nodes show its coin again"
        : `the courier's nodes have not shown its coin for ${Math.floor(record.watchedMs / 3_600_000)} hours of chain time`;
    case "SIGNED":
      return `attempt ${record.attempt}, ${record.txHash}`;
    case "RELEASED":
      return `the gateway holds the ledger up to ${record.acked.seq}`;
    case "OBSERVED": {
      if (record.stage === "void")
        return `void: no block up to ${record.block} has ${record.txHash}, and none takes it any more`;
      const where = record.block === 0 ? "" : ` in block ${record.block}`;
      return `${record.outcome === "" ? record.stage : `final, ${record.outcome}`}${where}${record.txHash === "" ? "" : ` ${record.txHash}`}`;
    }
    default:
      return "";
  }
}

/** Names an operator as the request did. Node cannot ask a socket who is at its other end. */
function byWords(said: { readonly by?: string; readonly approver: string }): string {
  return said.approver === ""
    ? `by ${said.by}`
    : `by ${said.approver} (claimed: the socket does not prove names)`;
}
