/**
 * The withdrawal that waits longer than it should, for `status`. Only the ledger decides, so no
 * courier can hide one. Withdrawals that wait for an operator's yes are left out. Touches nothing.
 */
import { familyOf } from "../../../chains/families.ts";
import { courierVersionsMax } from "../../socket/limits.ts";
import type { SignerStatus, StuckView } from "../../socket/verbs.ts";
import type { Signer } from "../rim/signer.ts";
import { isCancelling, isDead, isOver, type Withdrawal } from "../state/withdrawal.ts";

const minuteMs = 60_000;

/**
 * Returns the overdue withdrawal with the lowest slot, because the chain takes no other before it.
 * Null if none is overdue.
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

/**
 * Returns the withdrawal whose versions are all dead and whose next version only an operator can
 * order; of several, the oldest request. Empty if there is none.
 */
export function resignOf(signer: Signer): Pick<SignerStatus, "resign"> {
  const { book, policy } = signer.core;
  for (const withdrawal of book.open()) {
    const { transactionId, job, state, versions, ordered } = withdrawal;
    const isOpen = state === "released" || state === "broadcast";
    if (!isOpen || ordered !== undefined || !isDead(withdrawal)) continue;
    const approval = policy.approval(transactionId);
    if (approval === undefined || (versions.length < courierVersionsMax && !policy.isPersonsToResign(approval))) continue;
    return { resign: { transactionId, network: job.network, slot: withdrawal.slot, versions: versions.length } };
  }
  return {};
}

/**
 * Returns the withdrawal whose versions are all dead and whose next version has no room in a limit
 * of the hour or the day; of several, the oldest request. Empty if there is none.
 */
export function noRoomOf(signer: Signer): Pick<SignerStatus, "noRoom"> {
  const { book, policy } = signer.core;
  const { nowMs } = signer.turn();
  for (const withdrawal of book.open()) {
    const { transactionId, job, slot, state, versions } = withdrawal;
    const isOpen = state === "released" || state === "broadcast";
    if (!isOpen || versions.length === 0 || isCancelling(withdrawal) || !isDead(withdrawal)) continue;
    const approval = policy.approval(transactionId);
    const code = approval === undefined ? null : policy.withoutRoom(approval, versions.length + 1, nowMs);
    if (code !== null) return { noRoom: { transactionId, network: job.network, slot, versions: versions.length, code } };
  }
  return {};
}

/**
 * Returns a sweep whose slot the chain cannot reach, by the gateway's statement in this run; of
 * several, the oldest request. Empty if there is none.
 */
export function unreachableOf({ core, run }: Signer): Pick<SignerStatus, "unreachable"> {
  const found = core.book.findEach([...run.unreachable]).filter((one) => !isOver(one));
  const [first] = [...found].sort((a, b) => a.job.sequence - b.job.sequence);
  if (first === undefined) return {};
  const { transactionId, job, slot } = first;
  return { unreachable: { transactionId, network: job.network, slot, count: found.length } };
}

/**
 * Returns the start of the wait. No later version and no observation of the chain starts it again.
 */
function sinceOf({ versions, changedAt }: Withdrawal): number {
  return versions.find(({ signedAt }) => signedAt > 0)?.signedAt ?? changedAt;
}

function comesBefore(a: Withdrawal, b: Withdrawal): boolean {
  if ((a.slot === "") !== (b.slot === "")) return a.slot !== "";
  const isSameAccount = a.job.network === b.job.network && a.account === b.account;
  if (a.slot !== "" && isSameAccount && a.slot !== b.slot) return familyOf(a.job.network).slots.compare(a.slot, b.slot) < 0;
  return sinceOf(a) < sinceOf(b);
}
