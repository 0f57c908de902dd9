/**
 * The withdrawal that waits longer than it should, for `status`. Only the ledger decides, so no
 * courier can hide one. Withdrawals that wait for an operator's yes are left out. Touches nothing.
 */
import { familyOf } from "../../../chains/families.ts";
import { courierAttemptsMax } from "../../socket/limits.ts";
import type { SignerStatus, StuckView } from "../../socket/verbs.ts";
import { planEnd } from "../handlers/end.ts";
import type { Signer } from "../runtime/signer.ts";
import { outOfReachCode } from "../state/out-of-reach.ts";
import { isCancelling, isOver, isVoid, type Withdrawal } from "../state/withdrawal.ts";

const minuteMs = 60_000;

/**
 * Returns the overdue withdrawal with the lowest slot, because the chain takes no other before it.
 * Null if none is overdue.
 */
export function findStuckWithdrawal(signer: Signer, afterMinutes: number): StuckView | null {
  const { nowMs } = signer.context();
  let found: Withdrawal | null = null;
  for (const withdrawal of signer.core.book.open()) {
    if (withdrawal.state === "held" || withdrawal.state === "requested" || isOver(withdrawal))
      continue;
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
    chain: signer.view(found).chain,
    slot,
    since: sinceOf(found),
    afterMinutes,
    isCancelling: isCancelling(found),
  };
}

/**
 * Returns the withdrawal whose attempts are all void and whose next attempt only an operator can
 * order; of several, the oldest request. Empty if there is none.
 */
export function findManualReplace(signer: Signer): Pick<SignerStatus, "manualReplace"> {
  const { book, policy } = signer.core;
  for (const withdrawal of book.open()) {
    const { transactionId, job, state, attempts, ordered } = withdrawal;
    const isOpen = state === "released" || state === "broadcast";
    if (!isOpen || ordered !== undefined || !isVoid(withdrawal)) continue;
    const approval = policy.approval(transactionId);
    if (
      approval === undefined ||
      (attempts.length < courierAttemptsMax && !policy.isOperatorsToReplace(approval))
    )
      continue;
    return {
      manualReplace: {
        transactionId,
        network: job.network,
        slot: withdrawal.slot,
        attempts: attempts.length,
      },
    };
  }
  return {};
}

/**
 * Returns the withdrawal whose attempts are all void and whose next attempt has no room in a limit
 * of the hour or the day; of several, the oldest request. Empty if there is none.
 */
export function findWithoutLimitRoom(signer: Signer): Pick<SignerStatus, "noRoom"> {
  const { book, policy } = signer.core;
  const { nowMs } = signer.context();
  for (const withdrawal of book.open()) {
    const { transactionId, job, slot, state, attempts } = withdrawal;
    const isOpen = state === "released" || state === "broadcast";
    if (!isOpen || attempts.length === 0 || isCancelling(withdrawal) || !isVoid(withdrawal))
      continue;
    const approval = policy.approval(transactionId);
    const code =
      approval === undefined ? null : policy.withoutRoom(approval, attempts.length + 1, nowMs);
    if (code !== null)
      return {
        noRoom: { transactionId, network: job.network, slot, attempts: attempts.length, code },
      };
  }
  return {};
}

/**
 * Returns a withdrawal that no block takes, by the gateway's statement in this run, with what is
 * missing before an operator can end it; of several, one that can be ended, and then the oldest
 * request. Empty if there is none.
 */
export function findUnreachable(signer: Signer): Pick<SignerStatus, "unreachable"> {
  const { core, run } = signer;
  const found = core.book.findEach([...run.unreachable]).filter((one) => !isOver(one));
  const told = found.map((one) => ({ one, left: describeMissingForEnd(signer, one) }));
  const [first] = told.sort(
    (a, b) => rankOf(a) - rankOf(b) || a.one.job.sequence - b.one.job.sequence,
  );
  if (first === undefined) return {};
  const { one, left } = first;
  const { transactionId, job, slot } = one;
  return {
    unreachable: {
      transactionId,
      network: job.network,
      slot,
      count: found.length,
      code: outOfReachCode(one),
      left,
    },
  };
}

const rankOf = ({ left }: { readonly left: string }): number => (left === "" ? 0 : 1);

/** Returns what is missing before an operator can end the withdrawal; "" for nothing. */
export function describeMissingForEnd(signer: Signer, { transactionId }: Withdrawal): string {
  const planned = planEnd(signer.context(), transactionId, "");
  return planned.ok ? "" : (planned.detail ?? planned.code);
}

/**
 * Returns the start of the wait. No later attempt and no observation of the chain starts it again.
 */
function sinceOf({ attempts, changedAt }: Withdrawal): number {
  return attempts.find(({ signedAt }) => signedAt > 0)?.signedAt ?? changedAt;
}

function comesBefore(a: Withdrawal, b: Withdrawal): boolean {
  if ((a.slot === "") !== (b.slot === "")) return a.slot !== "";
  const isSameAccount = a.job.network === b.job.network && a.account === b.account;
  if (a.slot !== "" && isSameAccount && a.slot !== b.slot)
    return familyOf(a.job.network).slots.compare(a.slot, b.slot) < 0;
  return sinceOf(a) < sinceOf(b);
}
