/**
 * The scheduler for chains on which no slot excludes a second payment: an attempt ends by expiry.
 * After chain time has passed the end and no block has the attempt, the scheduler asks the nodes if
 * it is void. The signer gets the nodes' answer, and the same statement from the gateway. Only an
 * attempt that both call void gets a replacement, with new transaction parameters. A later
 * inclusion counts more than the nodes' answer. Our own clock decides none of this.
 */
import type { FeeMarket } from "../../../chains/family.ts";
import type { VoidQuestion } from "../../../chains/nodes.ts";
import { courierAttemptsMax } from "../../socket/limits.ts";
import type { AttemptView, ChangedWithdrawalPart } from "../../socket/verbs.ts";
import { accountFieldsOfEffect, codeOfUnreadState } from "./accounts.ts";
import { offerBasisOf, termsOfWithdrawal } from "./coins.ts";
import type { SchedulerEffect, VoidAttemptsAnswer, VoidAttemptsQuestion } from "./events.ts";
import type { Account, ScheduledWithdrawal, SchedulerBook } from "./item.ts";
import { isOfferExpired } from "./offers.ts";
import { askGasEstimate, familyFeesOf, freshGasEstimateOf } from "./signing.ts";
import {
  hasSignerRecordedEnd,
  isItemDelayed,
  listAttemptsWithBytes,
  listPossiblyIncludedAttempts,
  newPendingRequest,
  sortItemIntoSets,
  unreservedUnitsOf,
} from "./withdrawals.ts";

/**
 * Most attempts in one question. Each account has one question at a time, because all attempts
 * share the blocks to be read.
 */
const voidAskedMax = 64;
/** After this time without an answer from the nodes, the question counts as lost. */
const voidMsMax = 120_000;
/** An attempt that is not yet void is asked for again after this time. */
const againMs = 15_000;
/** After this time in no block, `status` says what the withdrawal waits for. */
const patienceMs = 60_000;

const forGateway = "waits for the gateway's word that no block takes it any more";
const fundsForAnother = "funds for another attempt";

/** True if nodes or gateway called the attempt void; then none of its bytes are sent any more. */
function isCalledVoid({ voidFound }: ScheduledWithdrawal, attempt: AttemptView): boolean {
  return attempt.voidBy !== undefined || voidFound.has(attempt.txHash);
}

/** True if sending it cannot succeed any more. Always false if a slot excludes. */
export function isPastSending(item: ScheduledWithdrawal, attempt: AttemptView): boolean {
  const { account, offer } = item;
  if (account.expiryExclusion === null) return false;
  if (isCalledVoid(item, attempt) || (offer?.txHash === attempt.txHash && isOfferExpired(offer)))
    return true;
  return (
    attempt.validUntilMs !== undefined && (account.chainState?.chainMs ?? 0) > attempt.validUntilMs
  );
}

/**
 * The withdrawal that was sent, or looked for, longest ago comes first, because none blocks others.
 */
export function sortByLongestWait(
  items: Iterable<ScheduledWithdrawal>,
  atMsOf: (item: ScheduledWithdrawal) => number,
): ScheduledWithdrawal[] {
  return [...items].sort((a, b) => atMsOf(a) - atMsOf(b) || a.view.sequence - b.view.sequence);
}

/** Asks the nodes about those attempts in no block whose end the chain has passed. */
export function askIfAttemptsVoid(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  const { expiryExclusion, chainState, askingVoid } = account;
  if (expiryExclusion === null || chainState?.chainMs === undefined) return;
  const { chainMs } = chainState;
  const due: {
    readonly item: ScheduledWithdrawal;
    readonly attempts: readonly VoidQuestion[];
    readonly validUntilMs: number;
  }[] = [];
  for (const item of account.pending) {
    describeWait(item, chainMs, nowMs);
    if (isSeen(item) || nowMs < item.voidDueAtMs) continue;
    const attempts = notVoid(item);
    const validUntilMs = Math.max(...attempts.map((one) => one.validUntilMs));
    if (attempts.length > 0 && chainMs > validUntilMs + expiryExclusion.marginMs)
      due.push({ item, attempts, validUntilMs });
  }
  if (due.length === 0 || (askingVoid !== null && nowMs - askingVoid < voidMsMax)) return;
  due.sort((a, b) => a.validUntilMs - b.validUntilMs);
  const oldest = due[0]?.validUntilMs ?? 0;
  const some = due
    .filter(({ validUntilMs }) => validUntilMs - oldest <= expiryExclusion.lifetimeMsMax)
    .slice(0, voidAskedMax);
  account.askingVoid = nowMs;
  for (const { item } of some) item.voidDueAtMs = nowMs + againMs;
  const wanted = some.map(
    ({ item: { view }, attempts }): VoidAttemptsQuestion => ({ withdrawal: view, attempts }),
  );
  out.push({ kind: "void", ...accountFieldsOfEffect(account), wanted });
}

function isOver(item: ScheduledWithdrawal): boolean {
  return isSeen(item) || hasSignerRecordedEnd(item.view);
}

/**
 * True if a block has the withdrawal, as far as this scheduler knows. An end that the signer
 * recorded and no node shows does not count: such an attempt is looked for like any other, and may
 * be void.
 */
function isSeen({ chainOutcome, stopped, location, isDoubtful }: ScheduledWithdrawal): boolean {
  return chainOutcome !== null || stopped !== "" || location !== null || isDoubtful;
}

/** Released attempts that our own nodes have not called void. */
function notVoid({ view, voidFound }: ScheduledWithdrawal): VoidQuestion[] {
  return listPossiblyIncludedAttempts(view).flatMap(({ txHash, validUntilMs, voidBy: said }) =>
    validUntilMs === undefined || voidFound.has(txHash) || isTold(said)
      ? []
      : [{ txHash, validUntilMs: validUntilMs }],
  );
}

function isTold(said: AttemptView["voidBy"]): boolean {
  return said === "courier" || said === "both";
}

/** Sets the text of `status` for a withdrawal that stays in no block. */
function describeWait(item: ScheduledWithdrawal, chainMs: number, nowMs: number): void {
  const { account, offer, view } = item;
  const newest = listAttemptsWithBytes(view).at(-1) ?? listPossiblyIncludedAttempts(view).at(-1);
  if (
    account.expiryExclusion === null ||
    newest?.validUntilMs === undefined ||
    isOver(item) ||
    isItemDelayed(item, nowMs)
  )
    return;
  if (isTold(newest.voidBy)) {
    if (newest.voidBy === "courier") item.waiting = forGateway;
    return;
  }
  const isLong = offer !== null && nowMs - offer.firstAtMs >= patienceMs;
  const wait = waitOf(newest.validUntilMs + account.expiryExclusion.marginMs, chainMs);
  if (isLong || chainMs > newest.validUntilMs)
    item.waiting = item.voidTrouble === "" ? wait : `${wait}; ${item.voidTrouble}`;
}

/** Both times, so an operator sees the length of the wait, or a chain that stands still. */
function waitOf(pastMs: number, chainMs: number): string {
  return `waits for chain time ${timeOf(pastMs)} (UTC), now ${timeOf(chainMs)}`;
}

function timeOf(ms: number): string {
  const at = new Date(ms);
  return Number.isNaN(at.getTime()) ? `${ms} ms` : at.toISOString().slice(11, 19);
}

/** Takes the nodes' answer on attempts of an account. @returns the withdrawals concerned */
export function takeVoidAnswers(
  book: SchedulerBook,
  account: Account,
  found: readonly VoidAttemptsAnswer[],
): readonly ScheduledWithdrawal[] {
  account.askingVoid = null;
  return found.flatMap((one) => {
    const item = book.items.get(one.transactionId);
    if (item !== undefined) takeVoidOf(item, one);
    return item ?? [];
  });
}

function takeVoidOf(item: ScheduledWithdrawal, { txHashes, answer }: VoidAttemptsAnswer): void {
  // An inclusion that appeared meanwhile counts more than the answer.
  if (isSeen(item)) return;
  item.voidTrouble = answer.ok ? "" : answer.code;
  if (!answer.ok || !answer.isVoid) return;
  for (const txHash of txHashes)
    item.voidFound.set(txHash, { block: answer.block, quorum: answer.quorum });
}

/** The void attempt that the signer must still record, null when there is none. */
export function findVoidToReport({ view, voidFound, location, isAbsent }: ScheduledWithdrawal) {
  if (location !== null) return null;
  const newest = listPossiblyIncludedAttempts(view).at(-1);
  // The attempt was called void, then a late answer showed a block with it, and now no block has
  // it. The signer must record this.
  if (view.state === "included" && isAbsent && newest !== undefined && isTold(newest.voidBy))
    return { stage: "broadcast", outcome: "", txHash: newest.txHash, block: 0 } as const;
  for (const { txHash, voidBy: said } of listPossiblyIncludedAttempts(view)) {
    const found = voidFound.get(txHash);
    if (found === undefined || isTold(said)) continue;
    // The attempt was in a block and is out of it again. The signer must record this first.
    if (view.state === "included")
      return { stage: "broadcast", outcome: "", txHash, block: 0 } as const;
    return { stage: "void", outcome: "", txHash, ...found } as const;
  }
  return null;
}

/** True if the signer's answer shows the attempt as void in its record. */
export function isVoidRecorded(
  { attempts }: Pick<ChangedWithdrawalPart, "attempts">,
  key: string,
): boolean {
  const [, txHash] = key.split(" ");
  return attempts.some((one) => one.txHash === txHash && isTold(one.voidBy));
}

/** A block has an attempt that was called void. The block counts, and an operator must look. */
export function withdrawVoidClaim(
  item: ScheduledWithdrawal,
  txHash: string,
  out: SchedulerEffect[],
): void {
  const attempt = item.view.attempts.find((one) => one.txHash === txHash);
  if (attempt === undefined || !isCalledVoid(item, attempt)) return;
  item.voidFound.delete(txHash);
  const { transactionId } = item.view;
  out.push({ kind: "alarm", code: "COURIER_VOID_INCLUDED", transactionId, detail: txHash });
}

/**
 * Asks for another attempt if all earlier ones are void by the statements of both the gateway and
 * our nodes.
 */
export function requestNewAttempts(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  const { chainState } = account;
  const feeMarket = chainState?.feeMarket ?? null;
  if (
    account.expiryExclusion === null ||
    chainState === null ||
    feeMarket === null ||
    account.away !== ""
  )
    return;
  if (codeOfUnreadState(chainState) !== "") return;
  for (const item of sortByLongestWait(account.pending, ({ openedAtMs }) => openedAtMs)) {
    const { view } = item;
    const isMoving = view.state === "released" || view.state === "broadcast";
    if (
      !isMoving ||
      !item.isAbsent ||
      isOver(item) ||
      item.asking !== null ||
      isItemDelayed(item, nowMs)
    )
      continue;
    const newest = view.attempts.at(-1);
    if (newest === undefined || view.attempts.some(({ voidBy }) => voidBy !== "both")) continue;
    if (newest.attempt >= courierAttemptsMax) item.waiting = "WITHDRAWAL_WAITS_FOR_OPERATOR";
    else askAnother(item, newest, feeMarket, nowMs, out);
  }
}

function askAnother(
  item: ScheduledWithdrawal,
  newest: AttemptView,
  feeMarket: FeeMarket,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  const { account, view } = item;
  const computeLimit = freshGasEstimateOf(item, 0, nowMs);
  if (computeLimit === null) {
    askGasEstimate(item, nowMs, out);
    return;
  }
  const fees = familyFeesOf(account);
  const txParams = fees.first(offerBasisOf(item, feeMarket, computeLimit), termsOfWithdrawal(item));
  if (txParams === null) return;
  const most = fees.most(txParams);
  const bound = item.reserved.native - (view.contract === "" ? item.amountUnits : 0n);
  // All reserved funds must still be there, with the amount of this withdrawal and the highest fee
  // of this attempt. The attempt before is void, so its reserved fee serves this one.
  const isThere = (contract: string, more: bigint): boolean =>
    (unreservedUnitsOf(account, contract) ?? -1n) >= more;
  if (!isThere("", most - bound) || (view.contract !== "" && !isThere(view.contract, 0n))) {
    item.waiting = fundsForAnother;
    return;
  }
  item.asking = newPendingRequest("replace", nowMs);
  item.feeAskedWei = most;
  item.waiting = "";
  sortItemIntoSets(item);
  const body = { transactionId: view.transactionId, above: newest.attempt, txParams };
  out.push({ kind: "ask", withdrawal: view, verb: "replace", body });
}
