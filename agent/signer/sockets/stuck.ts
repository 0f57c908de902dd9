/**
 * The withdrawal that waits longer than it should, for `status`: nobody's word but the ledger's, so
 * that no courier hides one. What waits for a person's yes is no part of it. Touches nothing.
 */
import { familyOf } from "../../../chains/families.ts";
import type { StuckView } from "../../socket/verbs.ts";
import type { Signer } from "../rim/signer.ts";
import { isCancelling, isOver, type Withdrawal } from "../state/withdrawal.ts";

const minuteMs = 60_000;

/**
 * Of several overdue ones the lowest slot: the chain takes no other before it. Null when all go on
 * in time.
 */
export function stuckOf(signer: Signer, afterMinutes: number): StuckView | null {
  const { nowMs } = signer.turn();
  let found: Withdrawal | null = null;
  for (const withdrawal of signer.core.book.open()) {
    if (withdrawal.state === "held" || withdrawal.state === "requested" || isOver(withdrawal)) continue;
    if (nowMs - sinceOf(withdrawal) < afterMinutes * minuteMs) continue;
    if (found === null || comesBefore(withdrawal, found)) found = withdrawal;
  }
  if (found === null) return null;
  const { transactionId, job, state, slot } = found;
  if (state === "requested") return null;
  return {
    transactionId,
    state,
    network: job.network,
    slot,
    since: sinceOf(found),
    afterMinutes,
    isCancelling: isCancelling(found),
  };
}

/** No later version, and nothing that is told of the chain, begins the time anew. */
function sinceOf({ versions, changedAt }: Withdrawal): number {
  return versions.find(({ signedAt }) => signedAt > 0)?.signedAt ?? changedAt;
}

function comesBefore(a: Withdrawal, b: Withdrawal): boolean {
  if ((a.slot === "") !== (b.slot === "")) return a.slot !== "";
  const isSameAccount = a.job.network === b.job.network && a.account === b.account;
  if (a.slot !== "" && isSameAccount && a.slot !== b.slot) return familyOf(a.job.network).slots.compare(a.slot, b.slot) < 0;
  return sinceOf(a) < sinceOf(b);
}
