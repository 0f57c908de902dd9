/**
 * Sends released bytes to the nodes: at once, again while they are in no block, and a replacement
 * of the same nonce for the withdrawal at the head of the line. Only bytes that the signer released
 * are ever sent, and only the same ones again.
 */
import type { FeeMarket, TxParams } from "../../../chains/family.ts";
import { attemptsApartMs, courierAttemptsMax } from "../../socket/limits.ts";
import type { AttemptView } from "../../socket/verbs.ts";
import { accountFieldsOfEffect } from "./accounts.ts";
import { offerBasisOf, termsOfWithdrawal } from "./coins.ts";
import type { SchedulerEffect, SchedulerEvent } from "./events.ts";
import { isPastSending, sortByLongestWait } from "./expiry-exclusion.ts";
import type { Account, ScheduledWithdrawal } from "./item.ts";
import {
  addNodeAnswers,
  bestNodeAnswerOf,
  isRefusedForGood,
  readLowestRequiredFee,
  standingOfOffer,
} from "./offers.ts";
import { askGasEstimate, familyFeesOf, freshGasEstimateOf, marketForNextOffer } from "./signing.ts";
import {
  isItemDelayed,
  itemWithLowestSlot,
  listAttemptsWithBytes,
  listPossiblyIncludedAttempts,
  newPendingRequest,
  sortBySlot,
  sortItemIntoSets,
  unreservedUnitsOf,
} from "./withdrawals.ts";

/** The same bytes are sent again after this time, for nodes without them. */
const resendMs = 30_000;
/**
 * Most withdrawals that are sent again at a time, because all later ones wait for the lowest
 * nonces.
 */
const resendMax = 16;
/** After this time without an answer from the nodes, the sending counts as lost. */
const sendingMsMax = 60_000;
const unsentRetryMs = 1000;
const unsentRetryMsMax = 15_000;
/**
 * An attempt at the head of the line gets a replacement after this many blocks, or this time,
 * without inclusion.
 */
const bumpBlocks = 6;
const bumpMs = 60_000;
/** With coins, the rate is one for so many blocks, which may take an hour. */
const coinBumpBlocks = 3;
/**
 * The greatest age of a count that shows a lower nonce as missing; an older count is asked for
 * again.
 */
const gapRecheckMs = 15_000;

/**
 * Sends the newest released attempt unless it was already sent. `isResend` allows the same bytes
 * again when they are due.
 */
export function sendAttempt(
  item: ScheduledWithdrawal,
  isResend: boolean,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  if (item.stopped !== "" || item.location !== null || item.chainOutcome !== null) return;
  const newest = listAttemptsWithBytes(item.view).at(-1);
  if (newest === undefined || isPastSending(item, newest)) return;
  if (item.sendingSinceMs !== null && nowMs - item.sendingSinceMs < sendingMsMax) return;
  if (nowMs < item.sendNotBeforeMs) return;
  const isNew = item.offer?.attempt !== newest.attempt;
  if (!isNew && !(isResend && nowMs - (item.offer?.atMs ?? 0) >= resendMs)) return;
  item.sendingSinceMs = nowMs;
  out.push({
    kind: "send",
    chain: item.account.chain,
    withdrawal: item.view,
    attempt: newest.attempt,
  });
}

/**
 * Sends the lowest slots in no block again. On a chain where no slot blocks later ones, those sent
 * longest ago come first.
 */
export function resendAttempts(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  const { pending, slots } = account;
  const some = slots.blocksLater
    ? sortBySlot(pending)
    : sortByLongestWait([...pending].filter(isSendable), handedAtMs);
  for (const item of some.slice(0, resendMax)) sendAttempt(item, true, nowMs, out);
}

function isSendable(item: ScheduledWithdrawal): boolean {
  const newest = listAttemptsWithBytes(item.view).at(-1);
  return newest !== undefined && !isPastSending(item, newest);
}

function handedAtMs({ offer, sendingSinceMs }: ScheduledWithdrawal): number {
  return Math.max(offer?.atMs ?? 0, sendingSinceMs ?? 0);
}

/** Bytes that independent code reads differently are never sent. */
export function blockMisreadAttempt(
  item: ScheduledWithdrawal,
  { detail }: Extract<SchedulerEvent, { kind: "misread" }>,
  out: SchedulerEffect[],
): void {
  const isNews = item.stopped === "";
  item.sendingSinceMs = null;
  item.stopped = "COURIER_READ_BACK";
  item.waiting = "COURIER_READ_BACK";
  const { transactionId } = item.view;
  if (isNews) out.push({ kind: "alarm", code: "COURIER_READ_BACK", transactionId, detail });
}

/**
 * Takes what the nodes said to the bytes. For every answer except "unsent", the bytes may now be in
 * any mempool, and only the chain decides their fate.
 */
export function takeBroadcastAnswers(
  item: ScheduledWithdrawal,
  { attempt: number, answers }: Extract<SchedulerEvent, { kind: "sent" }>,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  item.sendingSinceMs = null;
  const attempt = item.view.attempts.find((each) => each.attempt === number);
  if (attempt === undefined) return;
  if (answers.every(({ standing }) => standing === "unsent")) {
    item.unsent += 1;
    item.sendNotBeforeMs =
      nowMs + Math.min(unsentRetryMsMax, unsentRetryMs * 2 ** Math.min(item.unsent - 1, 8));
    item.waiting = "no node takes it";
    return;
  }
  const first = {
    firstAtMs: nowMs,
    firstBlock: item.account.chainState?.number ?? null,
    byNode: new Map(),
  };
  const isFirst = item.offer?.attempt !== number;
  const before = isFirst || item.offer === null ? first : item.offer;
  item.offer = addNodeAnswers(
    { ...before, attempt: number, txHash: attempt.txHash, atMs: nowMs },
    answers,
  );
  item.unsent = 0;
  item.waiting = "";
  // A node that takes bytes as new ones has them in no block up to the newest.
  const isNew =
    isFirst && answers.some(({ standing, meaning }) => standing === "taken" && meaning === "");
  if (isNew && item.looked.block < item.account.head)
    item.looked = { block: item.account.head, atMs: nowMs, isOpen: false };
  if (answers.some(({ meaning }) => meaning === "slot-used"))
    out.push({
      kind: "look",
      ...accountFieldsOfEffect(item.account),
      wanted: [inclusionQuestionOf(item)],
    });
}

/** Looks for every released attempt, because a block may hold any of them. */
export function inclusionQuestionOf(item: ScheduledWithdrawal): {
  readonly withdrawal: ScheduledWithdrawal["view"];
  readonly txHashes: readonly string[];
} {
  return {
    withdrawal: item.view,
    txHashes: listPossiblyIncludedAttempts(item.view).map((attempt) => attempt.txHash),
  };
}

/**
 * Runs once per block: asks for a replacement for the lowest nonce after its waiting time, or for
 * each payment where none blocks another. Bytes that no node took may be followed by others also
 * where nodes replace nothing. The signer applies the fee caps.
 */
export function requestFeeBumps(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  const { pending, slots } = account;
  if (familyFeesOf(account).bidding === null) return;
  const first = itemWithLowestSlot(pending);
  for (const item of slots.blocksLater ? (first === undefined ? [] : [first]) : [...pending])
    bumpOne(item, nowMs, out);
}

/** Long: each reason against a replacement, in the order of their weight. */
function bumpOne(item: ScheduledWithdrawal, nowMs: number, out: SchedulerEffect[]): void {
  const { account } = item;
  const { chainState } = account;
  const { offer } = item;
  if (chainState === null || offer === null || item.stopped !== "" || item.asking !== null) return;
  // An end on chain is only reported: a replacement refused at each block would delay this report
  // without end.
  if (item.chainOutcome !== null) return;
  const newest = item.view.attempts.at(-1);
  // The newest attempt must be released; one at the release gate is the replacement in the making.
  if (
    newest === undefined ||
    newest.raw === undefined ||
    newest.attempt !== offer.attempt ||
    isItemDelayed(item, nowMs)
  )
    return;
  const isRefused = standingOfOffer(offer) === "refused";
  if (familyFeesOf(account).bidding?.isReplaced !== true && !isRefused) return;
  const { firstBlock, firstAtMs } = offer;
  if (firstBlock === null) {
    item.offer = { ...offer, firstBlock: chainState.number };
    return;
  }
  const ageMs = nowMs - firstAtMs;
  const blocks = chainState.number - firstBlock;
  const isOverdue =
    account.pinExclusion === null
      ? blocks >= bumpBlocks || ageMs >= bumpMs
      : blocks >= coinBumpBlocks;
  const isDue = isOverdue || (isRefused && bestNodeAnswerOf(offer).meaning === "price");
  if (!isDue || ageMs < attemptsApartMs || chainState.number === firstBlock) return;
  // A node shows the attempt in a block, or no higher fee makes a node take it. A replacement could
  // not succeed.
  if (item.isDoubtful || isRefusedForGood(offer)) return;
  const gap = gapBelow(item);
  if (gap !== null) {
    item.waiting = `${account.slots.say(gap)} of the account comes first`;
    return;
  }
  if (newest.attempt >= courierAttemptsMax) {
    item.waiting = "WITHDRAWAL_WAITS_FOR_OPERATOR";
    return;
  }
  // The cost of the call may have changed since the last estimate, and that estimate may have been
  // false.
  const gas = freshGasEstimateOf(item, firstAtMs + attemptsApartMs, nowMs);
  if (gas === null) {
    askGasEstimate(item, nowMs, out);
    return;
  }
  const next = replacementParams(item, newest, gas);
  const most = next === null ? 0n : familyFeesOf(account).most(next);
  const isShort =
    account.pinExclusion === null &&
    (unreservedUnitsOf(account, "") ?? 0n) < most - BigInt(newest.feeMax);
  if (next === null || isShort) {
    item.waiting = "funds for a higher fee";
    return;
  }
  item.asking = newPendingRequest("replace", nowMs);
  item.feeAskedWei = most;
  item.asked = next;
  sortItemIntoSets(item);
  out.push({
    kind: "ask",
    withdrawal: item.view,
    verb: "replace",
    body: { transactionId: item.view.transactionId, above: newest.attempt, txParams: next },
  });
}

/**
 * A lower slot that the chain waits for and that no withdrawal here has, null if there is none.
 * With such a gap no fee helps. Nodes may count late a transaction of ours that is in a block, so
 * the count is asked for again. A slot that is already used is no gap. A ledger restored from a
 * backup makes its forgotten attempt again, with the same bytes if the fees did not change, and so
 * learns which transaction used the slot.
 */
function gapBelow({ account, view: { slot } }: ScheduledWithdrawal): string | null {
  const { slotCounts, flight, slots } = account;
  if (slotCounts.latest === null || slots.compare(slotCounts.latest.slot, slot) >= 0) return null;
  const own = new Set([...flight].map((item) => item.view.slot));
  let next = slotCounts.latest.slot;
  while (own.has(next) && slots.compare(next, slot) < 0) next = slots.next(next);
  if (slots.compare(next, slot) >= 0) return null;
  slotCounts.dueAtMs = Math.min(slotCounts.dueAtMs, slotCounts.latest.atMs + gapRecheckMs);
  return next;
}

/**
 * Asks for a new attempt if a recovery left no bytes of the newest one and an operator approved the
 * withdrawal again. The attempt uses the present fee market and the same nonce, so only one of all
 * attempts can ever be in a block.
 */
export function requestAttemptsAfterRecovery(
  account: Account,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  if (familyFeesOf(account).bidding === null) return;
  for (const item of sortBySlot(account.pending)) {
    const newest = item.view.attempts.at(-1);
    const isApproved = item.view.state === "released" || item.view.state === "broadcast";
    if (
      !isApproved ||
      newest?.isOut !== true ||
      item.asking !== null ||
      item.stopped !== "" ||
      isItemDelayed(item, nowMs)
    )
      continue;
    if (account.chainState === null || item.location !== null || item.chainOutcome !== null)
      continue;
    if (item.gas === null) {
      askGasEstimate(item, nowMs, out);
      continue;
    }
    const next = replacementParams(item, newest, item.gas.limit);
    if (next === null) continue;
    item.asking = newPendingRequest("replace", nowMs);
    item.feeAskedWei = familyFeesOf(account).most(next);
    item.asked = next;
    sortItemIntoSets(item);
    const { transactionId } = item.view;
    out.push({
      kind: "ask",
      withdrawal: item.view,
      verb: "replace",
      body: { transactionId, above: newest.attempt, txParams: next },
    });
  }
}

/** Raises by the signer's own rule, or to the fee market if that is higher. */
function replacementParams(
  item: ScheduledWithdrawal,
  newest: AttemptView,
  computeLimit: bigint,
): TxParams | null {
  const { account, isTipLow, view } = item;
  const { bidding } = familyFeesOf(account);
  if (account.chainState === null || account.chainState.feeMarket === null || bidding === null)
    return null;
  const offerAt = (feeMarket: FeeMarket): TxParams | null => {
    const market = offerBasisOf(item, feeMarket, computeLimit);
    return bidding.replacementAt(
      market,
      termsOfWithdrawal(item),
      view.attempts,
      newest.attempt,
      isTipLow,
    );
  };
  const named = marketWithNamed(item, newest, account.chainState.feeMarket);
  return offerAt(marketForNextOffer(item, named, offerAt));
}

/**
 * The market with the least price that nodes named in refusing the newest attempt. The signer's
 * limits hold for it as for every other figure of a node.
 */
function marketWithNamed(
  item: ScheduledWithdrawal,
  { attempt, txParams }: AttemptView,
  feeMarket: FeeMarket,
): FeeMarket {
  const least = item.offer?.attempt === attempt ? readLowestRequiredFee(item.offer) : null;
  const { bidding } = familyFeesOf(item.account);
  return least === null || txParams === null
    ? feeMarket
    : (bidding?.named?.(feeMarket, least, txParams) ?? feeMarket);
}
