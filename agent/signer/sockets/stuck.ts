/**
 * The withdrawal that waits longer than it should, for `status`: nobody's word but the ledger's, so
 * that no courier hides one. What waits for a person's yes is no part of it. Touches nothing.
 */
import { familyOf } from "../../../chains/families.ts";
import type { SignerStatus, StuckView } from "../../socket/verbs.ts";
import { courierVersionsMax } from "../acts/replace.ts";
import type { Signer } from "../rim/signer.ts";
import { isCancelling, isDead, isOver, type Withdrawal } from "../state/withdrawal.ts";

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

/**
 * The withdrawal whose versions are all dead and whose next one only a person has made: of several
 * the one that was asked for first. Nothing when there is none.
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
 * The withdrawal whose versions are all dead, and whose next one a limit of the hour or the day
 * leaves no room for: of several the one that was asked for first. Nothing when there is none.
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
 * A sweep whose slot the chain cannot reach, as the gateway says in this run: of several the one
 * that was asked for first. Nothing when there is none.
 */
export function unreachableOf({ core, run }: Signer): Pick<SignerStatus, "unreachable"> {
  const found = core.book.findEach([...run.unreachable]).filter((one) => !isOver(one));
  const [first] = [...found].sort((a, b) => a.job.sequence - b.job.sequence);
  if (first === undefined) return {};
  const { transactionId, job, slot } = first;
  return { unreachable: { transactionId, network: job.network, slot, count: found.length } };
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
