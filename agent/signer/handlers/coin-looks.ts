/**
 * The courier's looks for the transaction that made a withdrawal's pin. Its age is recorded by the
 * hour, so that no restart begins the day again; and only chain time in which the nodes were asked
 * counts, so that a day without the agent is none. The courier may lie: an end needs the gateway's
 * own word too. Touches nothing; records go through the `RequestContext`.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import { pinExclusionOf } from "../../../chains/families.ts";
import type { CoinLookReport } from "../../socket/stuck.ts";
import { isInNoBlock, pinOf, type Withdrawal } from "../state/withdrawal.ts";
import { type CoinLook, type RequestContext, refuseIfGateClosed } from "./context.ts";

/** An operator may end it after so much watched chain time, and as much ledger time. */
export const coinUnseenMinMs = 86_400_000;
/** A look covers so much time before it at most; the courier looks six times an hour. */
const coveredMsMax = 3_600_000;
const recordedEachMs = 3_600_000;
/** An older look says nothing about now. */
const freshMs = 3_600_000;
/** A final block's time may be so far ahead of ledger time: consensus rules allow two hours. */
const aheadMsMax = 7_200_000;
/** With those of the chain: as `observationsMax` of handlers/observe.ts. */
const recordsMax = 200;

/**
 * Takes a look. Harmless to repeat. Refuses with WITHDRAWAL_OBSERVATION a coin that is not the
 * pin, and a time that no final block can have.
 */
export function takeCoinLook(
  context: RequestContext,
  seen: CoinLookReport,
): { readonly ok: true } | Refusal {
  const closed = refuseIfGateClosed(context);
  if (closed !== null) return closed;
  const { core, run, nowMs, monotonicMs } = context;
  const { transactionId, coin, isShown, chainMs } = seen;
  const one = core.book.openOne(transactionId);
  if (one === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (!isInNoBlock(one)) return refuse("WITHDRAWAL_CLOSED", one.state);
  if (pinExclusionOf(one.job.network) === null || !pinOf(one).startsWith(`${coin}:`))
    return refuse("WITHDRAWAL_OBSERVATION", "it does not spend that coin");
  if (chainMs > nowMs + aheadMsMax)
    return refuse("WITHDRAWAL_OBSERVATION", "no final block has that time");
  const last = run.coinLooks.get(transactionId);
  const sinceMs = last?.chainMs ?? one.unseen?.chainMs ?? chainMs;
  const newMs = isShown ? 0 : Math.min(Math.max(chainMs - sinceMs, 0), coveredMsMax);
  // A coin that is shown begins the day again, also while a full disk takes no record of it.
  const gainedMs = isShown ? -(one.unseen?.watchedMs ?? 0) : (last?.gainedMs ?? 0) + newMs;
  const look = { isShown, heardMs: monotonicMs, chainMs: Math.max(chainMs, sinceMs), gainedMs };
  run.coinLooks.set(
    transactionId,
    isRecorded(context, one, look) ? { ...look, gainedMs: 0 } : look,
  );
  return { ok: true };
}

/** Records a look that says something new: the first, each hour's, and the coin's return. */
function isRecorded(
  { core, commit, fullDisk }: RequestContext,
  one: Withdrawal,
  look: CoinLook,
): boolean {
  const { transactionId, unseen, observations } = one;
  if (fullDisk() !== null || core.locked !== null) return false;
  if (look.isShown) {
    if (unseen === undefined) return false;
    commit([{ kind: "UNSEEN", transactionId, watchedMs: 0, chainMs: 0 }]);
    return true;
  }
  const watchedMs = (unseen?.watchedMs ?? 0) + look.gainedMs;
  const isNews =
    unseen === undefined ||
    look.gainedMs < 0 ||
    (look.gainedMs >= recordedEachMs && unseen.watchedMs < coinUnseenMinMs);
  if (!isNews || observations >= recordsMax) return false;
  commit([{ kind: "UNSEEN", transactionId, watchedMs, chainMs: look.chainMs }]);
  return true;
}

/** The chain time in which the courier's nodes were asked for the coin, and did not show it. */
export function watchedMsOfCoin(
  { run }: Pick<RequestContext, "run">,
  { transactionId, unseen }: Withdrawal,
): number {
  return (unseen?.watchedMs ?? 0) + (run.coinLooks.get(transactionId)?.gainedMs ?? 0);
}

/** Returns why the courier's nodes do not say yet that the coin is gone; null if they do. */
export function explainCoinNotGone(
  context: Pick<RequestContext, "run" | "nowMs" | "monotonicMs">,
  one: Withdrawal,
): string | null {
  const look = context.run.coinLooks.get(one.transactionId);
  if (look === undefined || context.monotonicMs - look.heardMs > freshMs)
    return "the courier's nodes have not been asked for its coin in the last hour";
  if (look.isShown) return "the courier's nodes show its coin";
  const watchedMs = watchedMsOfCoin(context, one);
  const agedMs = one.unseen === undefined ? 0 : context.nowMs - one.unseen.since;
  const hours = Math.floor(Math.min(watchedMs, agedMs) / 3_600_000);
  if (watchedMs >= coinUnseenMinMs && agedMs >= coinUnseenMinMs) return null;
  return `the courier's nodes have not shown its coin for ${hours} hours of 24`;
}
