/**
 * The diagnosis of a withdrawal that waits for an operator's decision: the reason, and what to
 * compare and type. Pure.
 */
import { remedyForDetail } from "../agent/problems/reasons.ts";
import type { OperatorView } from "../agent/socket/verbs.ts";
import { agentStateEnds } from "../agent/state-ends.ts";
import { slotWord } from "../chains/several-networks.ts";
import { commandOfStateEnd, typedCommand } from "./command-hint.ts";
import { compareActionWords, type OutgoingComparison } from "./outgoing-transactions.ts";
import { momentHere } from "./terminal.ts";

export interface Diagnosis {
  readonly verdict:
    | "goes on"
    | "waits for an operator"
    | "waits"
    | "STUCK"
    | "ended well"
    | "ended, nothing paid"
    | "FAILED";
  readonly why: string;
  readonly what: string; // the action to take now; "" for nothing
}

/** A held withdrawal: an operator approves or refuses it. */
export function heldDiagnosis(one: OperatorView, compared: OutgoingComparison): Diagnosis {
  const address = one.address === "" ? " --address ADDRESS" : "";
  const type = `to pay it: ${commandOfStateEnd(agentStateEnds.withdrawals.held, { ID: one.transactionId })}${address}; to reject it: ${typedCommand(`refuse ${one.transactionId}`)}`;
  const isOfRecovery = one.code === "RECOVERY_HOLD";
  const expiry = isOfRecovery
    ? "time does not end it"
    : `without an answer it expires at ${momentHere(one.expiresAt)}`;
  const first = compareActionWords(one, compared);
  return {
    verdict: "waits for an operator",
    why: `nothing is signed before a yes, and ${expiry}`,
    what: `${first}${type}`,
  };
}

/** A withdrawal that a recovery keeps: an operator sends it again or cancels it. */
export function quarantinedDiagnosis(one: OperatorView, compared: OutgoingComparison): Diagnosis {
  const slot = slotWord([one.network]);
  const verdict = "waits for an operator";
  const [approve, cancel] = [
    commandOfStateEnd(agentStateEnds.withdrawals.quarantined, { ID: one.transactionId }),
    typedCommand(`cancel ${one.transactionId}`),
  ];
  if (one.code === "RECOVERY_HOLD") {
    const why =
      "ledger and gateway may both have forgotten a payment of it, and nothing on this chain keeps a second one out";
    return {
      verdict,
      why,
      what: `${compareActionWords(one, compared)}to pay it: ${approve}; to end it: ${cancel}, and if it was paid, "withdrawals paid" at the gateway before that`,
    };
  }
  const again = `to send it again: ${approve}, or cancel in its place, so that it is never paid`;
  return {
    verdict,
    why: `it has its ${slot}, and is only watched until a yes; on that ${slot} it can be paid once`,
    what: one.code === "SLOT_CONTESTED" ? remedyForDetail("SLOT_CONTESTED") : again,
  };
}
