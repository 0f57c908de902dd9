/**
 * A withdrawal with a slot below the first that its account ever had. This gateway's own nodes
 * agree that the account did not exist when the order was made, in a final block with a number
 * above the slot: an account begins at the number of its block, so no block takes the slot from it,
 * and no earlier block can hold bytes that were signed later. The withdrawal is stuck from then on,
 * named to its agent, and takes the place of no other; its agent's operator ends it.
 */
import type { Judgement } from "../../chains/nodes.ts";
import { belowCode, belowEndedCode, markBelow } from "../store/below-beginning.ts";
import type { TransactionRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { takeExpiry } from "../store/void-attempts.ts";
import { updateWithdrawal } from "../store/withdrawals.ts";
import { raiseAlarm, type WatchedChain } from "./chain.ts";

type UnreachableJudgement = Extract<Judgement, { readonly kind: "unreachable" }>;

/**
 * True if the account did not exist yet when the order was made. Otherwise an account of before,
 * which was deleted, may have paid it.
 */
export function isProven(
  { createdAt }: Pick<TransactionRow, "createdAt">,
  { absentMs }: UnreachableJudgement,
): boolean {
  return absentMs < createdAt;
}

/** Strands the withdrawal, or ends it if its agent has said so already. True if the row changed. */
export function strandBelow(
  chain: WatchedChain,
  database: Database,
  { id }: Pick<TransactionRow, "id">,
  { detail }: UnreachableJudgement,
): boolean {
  const nowMs = chain.clock();
  const mark = markBelow(database, id, nowMs);
  if (mark === "over") return false;
  if (takeExpiry(database, id) !== undefined)
    return updateWithdrawal(
      database,
      id,
      { status: 2, stage: "expired", code: belowEndedCode },
      nowMs,
    );
  if (mark === "known") return false;
  raiseAlarm(chain, database, { code: belowCode, subject: id, detail });
  return updateWithdrawal(database, id, { stage: "stuck", code: belowCode }, nowMs);
}
