/**
 * Sends released bytes to the nodes: at once, again while they are in no block, and a replacement
 * of the same nonce for the withdrawal at the head of the line. Only bytes that the signer released
 * are ever sent, and only the same ones again.
 */
import type { TxParams } from "../../../chains/family.ts";
import { attemptsApartMs, courierAttemptsMax } from "../../socket/limits.ts";
import type { AttemptView } from "../../socket/verbs.ts";
import { named } from "./accounts.ts";
import { marketOf, wantedOf } from "./coins.ts";
import type { SchedulerEffect, SchedulerEvent } from "./events.ts";
import { byPatience, isPastSending } from "./expiry-exclusion.ts";
import type { Account, Declined, Item } from "./item.ts";
import { askGas, feesOf, gasOf, marketFor } from "./signing.ts";
import { ask, bySlot, file, freeUnits, isAside, lowest, releasedAttempts, releasedVersions } from "./withdrawals.ts";

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
export function send(item: Item, isResend: boolean, nowMs: number, out: SchedulerEffect[]): void {
  if (item.stopped !== "" || item.location !== null || item.chainOutcome !== null) return;
  const newest = releasedVersions(item.view).at(-1);
  if (newest === undefined || isPastSending(item, newest)) return;
  if (item.sendingSinceMs !== null && nowMs - item.sendingSinceMs < sendingMsMax) return;
  if (nowMs < item.sendNotBeforeMs) return;
  const isNew = item.sent?.attempt !== newest.attempt;
  if (!isNew && !(isResend && nowMs - (item.sent?.atMs ?? 0) >= resendMs)) return;
  item.sendingSinceMs = nowMs;
  out.push({ kind: "send", chain: item.account.chain, withdrawal: item.view, attempt: newest.attempt });
}

/**
 * Sends the lowest slots in no block again. On a chain where no slot blocks later ones, those sent
 * longest ago come first.
 */
export function resend(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  const { pending, slots } = account;
  const some = slots.blocksLater ? bySlot(pending) : byPatience([...pending].filter(isSendable), handedAtMs);
  for (const item of some.slice(0, resendMax)) send(item, true, nowMs, out);
}

function isSendable(item: Item): boolean {
  const newest = releasedVersions(item.view).at(-1);
  return newest !== undefined && !isPastSending(item, newest);
}

function handedAtMs({ sent, sendingSinceMs }: Item): number {
  return Math.max(sent?.atMs ?? 0, sendingSinceMs ?? 0);
}

type SentEvent = Extract<SchedulerEvent, { kind: "sent" }>;

export function takeSent(item: Item, event: SentEvent, nowMs: number, out: SchedulerEffect[]): void {
  item.sendingSinceMs = null;
  const attempt = item.view.attempts.find((each) => each.attempt === event.attempt);
  if (attempt === undefined) return;
  if (event.outcome === "misread") {
    const isNews = item.stopped === "";
    item.stopped = "COURIER_READ_BACK";
    item.waiting = "COURIER_READ_BACK";
    const { transactionId } = item.view;
    if (isNews) out.push({ kind: "alarm", code: "COURIER_READ_BACK", transactionId, detail: event.detail });
    return;
  }
  if (event.outcome === "unsent") {
    item.unsent += 1;
    item.sendNotBeforeMs = nowMs + Math.min(unsentRetryMsMax, unsentRetryMs * 2 ** Math.min(item.unsent - 1, 8));
    item.waiting = "no node takes it";
    return;
  }
  // For every answer except "not sent": the bytes may now be in any mempool, and only the chain
  // decides their fate.
  const isSame = item.sent?.attempt === event.attempt;
  const firstAtMs = isSame && item.sent !== null ? item.sent.firstAtMs : nowMs;
  const firstBlock = isSame && item.sent !== null ? item.sent.firstBlock : (item.account.chainState?.number ?? null);
  const isUnderpriced = event.outcome === "underpriced";
  const isExpired = event.outcome === "expired";
  const declined = declinedBy(item, event, isSame);
  const times = { atMs: nowMs, firstAtMs, firstBlock };
  item.sent = { attempt: event.attempt, txHash: attempt.txHash, ...times, isUnderpriced, isExpired, declined };
  item.unsent = 0;
  item.waiting = "";
  if (event.outcome === "slot-consumed") {
    out.push({ kind: "look", ...named(item.account), wanted: [lookFor(item)] });
  }
}

/**
 * The refusal that still stands after this answer. On a chain with exclusion by expiry, a node
 * calls bytes known that it refused before, so "known" does not end a refusal there.
 */
function declinedBy({ account, sent }: Item, { outcome, detail, isIncurable }: SentEvent, isSame: boolean): Declined | null {
  if (outcome === "declined") return { words: detail, isIncurable: isIncurable === true };
  const isDoubtful = account.expiryExclusion !== null && outcome === "sent" && detail.startsWith("known");
  return isDoubtful && isSame ? (sent?.declined ?? null) : null;
}

/** The start of the reason for bytes that no node took; the command line recognises the text. */
const declinedReason = "offered, no node took it";

/**
 * The reason why the sent bytes are in no mempool, with the node's own text; "" if a node has them.
 */
export function declinedWords({ sent, location, chainOutcome }: Item): string {
  if (sent === null || sent.declined === null || location !== null || chainOutcome !== null) return "";
  return `${declinedReason}: ${sent.declined.words}`;
}

/** Looks for every released attempt, because a block may hold any of them. */
export function lookFor(item: Item): { readonly withdrawal: Item["view"]; readonly txHashes: readonly string[] } {
  return { withdrawal: item.view, txHashes: releasedAttempts(item.view).map((attempt) => attempt.txHash) };
}

/**
 * Runs once per block: asks for a replacement for the lowest nonce after its waiting time, or for
 * each payment where none blocks another. The signer applies the fee caps.
 */
export function bump(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  const { pending, slots } = account;
  if (feesOf(account).bidding?.isReplaced !== true) return;
  const first = lowest(pending);
  for (const item of slots.blocksLater ? (first === undefined ? [] : [first]) : [...pending]) bumpOne(item, nowMs, out);
}

function bumpOne(item: Item, nowMs: number, out: SchedulerEffect[]): void {
  const { account } = item;
  const { chainState } = account;
  if (chainState === null || item.sent === null || item.stopped !== "" || item.asking !== null) return;
  // An end on chain is only reported: a replacement refused at each block would delay this report
  // without end.
  if (item.chainOutcome !== null) return;
  const newest = item.view.attempts.at(-1);
  // The newest attempt must be released; one at the release gate is the replacement in the making.
  if (newest === undefined || newest.raw === undefined || newest.attempt !== item.sent.attempt || isAside(item, nowMs)) return;
  const { firstBlock, firstAtMs, isUnderpriced } = item.sent;
  if (firstBlock === null) {
    item.sent = { ...item.sent, firstBlock: chainState.number };
    return;
  }
  const ageMs = nowMs - firstAtMs;
  const blocks = chainState.number - firstBlock;
  const isOverdue = account.pinExclusion === null ? blocks >= bumpBlocks || ageMs >= bumpMs : blocks >= coinBumpBlocks;
  const isDue = isUnderpriced || isOverdue;
  if (!isDue || ageMs < attemptsApartMs || chainState.number === firstBlock) return;
  // A node shows the attempt in a block, or no higher fee makes a node take it. A replacement could
  // not succeed.
  if (item.isDoubtful || item.sent.declined?.isIncurable === true) return;
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
  const gas = gasOf(item, firstAtMs + attemptsApartMs, nowMs);
  if (gas === null) {
    askGas(item, nowMs, out);
    return;
  }
  const next = replacement(item, newest, gas);
  const most = next === null ? 0n : feesOf(account).most(next);
  const isShort = account.pinExclusion === null && (freeUnits(account, "") ?? 0n) < most - BigInt(newest.feeMax);
  if (next === null || isShort) {
    item.waiting = "funds for a higher fee";
    return;
  }
  item.asking = ask("replace", nowMs);
  item.feeAskedWei = most;
  item.asked = next;
  file(item);
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
function gapBelow({ account, view: { slot } }: Item): string | null {
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
export function signAgain(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  if (feesOf(account).bidding === null) return;
  for (const item of bySlot(account.pending)) {
    const newest = item.view.attempts.at(-1);
    const isApproved = item.view.state === "released" || item.view.state === "broadcast";
    if (!isApproved || newest?.isOut !== true || item.asking !== null || item.stopped !== "" || isAside(item, nowMs)) continue;
    if (account.chainState === null || item.location !== null || item.chainOutcome !== null) continue;
    if (item.gas === null) {
      askGas(item, nowMs, out);
      continue;
    }
    const next = replacement(item, newest, item.gas.limit);
    if (next === null) continue;
    item.asking = ask("replace", nowMs);
    item.feeAskedWei = feesOf(account).most(next);
    item.asked = next;
    file(item);
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
function replacement(item: Item, newest: AttemptView, computeLimit: bigint): TxParams | null {
  const { account, isTipLow, view } = item;
  const { bidding } = feesOf(account);
  if (account.chainState === null || bidding === null) return null;
  const feeMarket = marketFor(item, account.chainState.feeMarket);
  const market = marketOf(item, feeMarket, computeLimit);
  return bidding.replacementAt(market, wantedOf(item), view.attempts, newest.attempt, isTipLow);
}
