/** The diagnosis of a withdrawal whose final transaction moved something else. Pure. */
import type { OperatorView } from "../agent/socket/verbs.ts";
import { agentEnds } from "../agent/state-ends.ts";
import { lineOf } from "../base/state-end.ts";
import { typedEnd } from "./command-hint.ts";
import type { Diagnosis } from "./decision-diagnosis.ts";

/** Stuck until the gateway's operator ends it, and failed from then on. */
export function movedDiagnosis({ transactionId, isOver, currency }: OperatorView): Diagnosis {
  const why =
    "its transaction is final and did not move exactly what was asked for: a token may take a fee";
  const seen = `look the txHash up in a block explorer; first payments in ${currency} wait for ${typedEnd(agentEnds.signer.currencyStopped, { ID: currency })}`;
  if (isOver) return { verdict: "FAILED", why: `${why}; the gateway has ended it`, what: seen };
  const what = `${seen}; the gateway's operator ends it: ${lineOf(agentEnds.withdrawals.moved, { ID: transactionId })}`;
  return { verdict: "STUCK", why, what };
}
