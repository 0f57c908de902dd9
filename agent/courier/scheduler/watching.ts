/**
 * Follows sent transactions on chain: inclusion, reorganisation, finality, and use of the slot by
 * another transaction. Asks in order of nonce and only for answers that are new, so hundreds in
 * flight cost few calls a block. No state is final here before the nodes agree on it.
 */

import type {
  BeginningProof,
  ChainOutcome,
  SlotCounts,
  TransactionLocation,
} from "../../../chains/nodes.ts";
import { accountFieldsOfEffect } from "./accounts.ts";
import type { SchedulerEffect, SchedulerEvent } from "./events.ts";
import { findVoidToReport, sortByLongestWait, withdrawVoidClaim } from "./expiry-exclusion.ts";
import type { Account, LastNodeQuestion, ScheduledWithdrawal, SchedulerBook } from "./item.ts";
import { standingOfOffer } from "./offers.ts";
import { inclusionQuestionOf } from "./sending.ts";
import {
  hasSignerRecordedEnd,
  isLedgerBehindChain,
  listPossiblyIncludedAttempts,
  newPendingRequest,
  observationKey,
  sortBySlot,
  sortItemIntoSets,
} from "./withdrawals.ts";

/**
 * Receipts asked for first. Nonces are included in order, so a missing one ends the search of a
 * block; otherwise the search goes on twice as far.
 */
const lookMin = 32;
const lookMax = 256;
const confirmMax = 64;
/**
 * A transaction counts as out of its block only after this many look-ups in a row, because some
 * nodes lag.
 */
const missesMax = 2;
/**
 * A nonce counts as conflicted after the nodes agreed this often, over at least this time,
 * on its use by another transaction.
 */
const foreignMax = 3;
const foreignOverMs = 60_000;
const suspectRecheckMs = 15_000;
/** The longest time between two questions for the pin of one payment. */
const lossMsMax = 3_600_000;
const accountMs = 60_000;
/**
 * A stage that may soon change is reported only after this time, because each report costs a
 * record, a sync and a statement.
 */
const patienceMs = 500;
const adoptRetryMs = 5000;
const slotCountsMsMax = 60_000;
/**
 * An answer of the nodes without news is asked for again after this time, even if no block came.
 */
const againMs = 15_000;
/** With coins, blocks are minutes apart. */
const coinAgainMs = 120_000;
/** After this time without an answer, a question to the nodes counts as lost. */
const questionMsMax = 60_000;

const doubt = "the nodes do not agree on its receipt";

/** Looks which withdrawals a block holds: at each new block, and by the clock if none comes. */
export function askForInclusions(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  lookAhead(account, Math.min(lookMax, Math.max(lookMin, account.foundLately * 2)), nowMs, out);
}

/** Looks which withdrawals are final: once per block, and by the clock if none comes. */
export function checkFinality(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  if (account.chainState === null) return;
  const { finalNumber } = account.chainState;
  account.settling = account.settling.filter((entry) => entry.block > finalNumber);
  const due: ScheduledWithdrawal[] = [];
  for (const item of account.flight) {
    if (item.location === null || item.chainOutcome !== null || item.stopped !== "") continue;
    if (item.location.block <= finalNumber && isDue(account, item.confirmed, finalNumber, nowMs))
      due.push(item);
  }
  due.push(...lossesDue(account, nowMs));
  for (let at = 0; at < due.length; at += confirmMax) {
    const some = due.slice(at, at + confirmMax);
    for (const item of some) item.confirmed = { block: finalNumber, atMs: nowMs, isOpen: true };
    out.push({
      kind: "confirm",
      ...accountFieldsOfEffect(account),
      wanted: some.map(inclusionQuestionOf),
    });
  }
}

/**
 * Payments of coins that no block has for a while: another transaction may have taken their pin.
 * Each is asked about again after twice the time, since a block may come late.
 */
function lossesDue(
  { pinExclusion, pending }: Account,
  nowMs: number,
): readonly ScheduledWithdrawal[] {
  if (pinExclusion === null) return [];
  const isLost = (item: ScheduledWithdrawal): boolean => {
    const { isAbsent, chainOutcome, stopped, openedAtMs, confirmed, foreign, view } = item;
    if (
      !isAbsent ||
      chainOutcome !== null ||
      stopped !== "" ||
      listPossiblyIncludedAttempts(view).length === 0
    )
      return false;
    return (
      nowMs - Math.max(openedAtMs, confirmed.atMs) >=
      Math.min(foreignOverMs * 2 ** foreign.count, lossMsMax)
    );
  };
  const due = [...pending].filter(isLost).slice(0, confirmMax);
  for (const { foreign } of due) foreign.count += 1;
  return due;
}

/**
 * Runs once per block: if the youngest block with a withdrawal of ours still stands, all earlier
 * ones stand too.
 */
export function detectReorg(account: Account, out: SchedulerEffect[]): void {
  let youngest: TransactionLocation | null = null;
  for (const { location, chainOutcome } of account.flight) {
    if (
      location !== null &&
      chainOutcome === null &&
      (youngest === null || location.block > youngest.block)
    )
      youngest = location;
  }
  if (youngest === null) return;
  out.push({
    kind: "checkBlock",
    ...accountFieldsOfEffect(account),
    block: youngest.block,
    blockHash: youngest.blockHash,
  });
}

/** Nodes that are slower than the blocks are not asked again while they are at it. */
function isDue(
  { pinExclusion }: Account,
  asked: LastNodeQuestion,
  block: number,
  nowMs: number,
): boolean {
  if (asked.isOpen && nowMs - asked.atMs < questionMsMax) return false;
  return (
    asked.block < block || nowMs - asked.atMs >= (pinExclusion === null ? againMs : coinAgainMs)
  );
}

/** The answers to a question are there, or it failed. */
export function closeQuestion(
  book: SchedulerBook,
  { kind, found, failed = [] }: Extract<SchedulerEvent, { kind: "looked" | "confirmed" }>,
): void {
  for (const id of [...found.map(({ transactionId }) => transactionId), ...failed]) {
    const item = book.items.get(id);
    if (item !== undefined) item[kind] = { ...item[kind], isOpen: false };
  }
}

function lookAhead(account: Account, most: number, nowMs: number, out: SchedulerEffect[]): void {
  const block = account.head;
  const wanted: ScheduledWithdrawal[] = [];
  const { pending, slots } = account;
  for (const item of slots.blocksLater
    ? sortBySlot(pending)
    : sortByLongestWait(pending, ({ looked }) => looked.atMs)) {
    if (wanted.length === most) break;
    const isOut = item.chainOutcome === null && listPossiblyIncludedAttempts(item.view).length > 0;
    if (isOut && isDue(account, item.looked, block, nowMs)) wanted.push(item);
  }
  if (wanted.length === 0) return;
  for (const item of wanted) item.looked = { block, atMs: nowMs, isOpen: true };
  out.push({
    kind: "look",
    ...accountFieldsOfEffect(account),
    wanted: wanted.map(inclusionQuestionOf),
  });
}

/**
 * Takes the inclusions found. Looks further if a complete search found all. @returns the
 * withdrawals concerned
 */
export function takeInclusions(
  book: SchedulerBook,
  account: Account,
  event: Extract<SchedulerEvent, { kind: "looked" }>,
  nowMs: number,
  out: SchedulerEffect[],
): ScheduledWithdrawal[] {
  const { found } = event;
  const items: ScheduledWithdrawal[] = [];
  closeQuestion(book, event);
  for (const { transactionId, location, isDoubtful } of found) {
    const item = book.items.get(transactionId);
    if (item === undefined || !account.flight.has(item) || item.chainOutcome !== null) continue;
    items.push(item);
    item.isDoubtful = isDoubtful;
    item.isAbsent = location === null && !isDoubtful;
    if (isDoubtful) item.waiting = doubt;
    else if (item.waiting === doubt) item.waiting = "";
    // Some nodes show the transaction and some do not, so it counts as neither in the chain nor out
    // of it.
    if (location === null && isDoubtful) continue;
    if (location === null) noteMissedLook(item);
    else {
      if (item.location === null) {
        withdrawVoidClaim(item, location.txHash, out);
        account.foundLately += 1;
        item.locatedAtMs = nowMs;
      }
      setLocation(item, location);
    }
  }
  if (found.length >= lookMin && found.every(({ location }) => location !== null)) {
    lookAhead(account, Math.min(lookMax, found.length * 2), nowMs, out);
  }
  return items;
}

function setLocation(item: ScheduledWithdrawal, location: TransactionLocation): void {
  item.location = location;
  item.misses = 0;
  item.waiting = "";
  item.foreign = { count: 0, firstAtMs: 0 };
  sortItemIntoSets(item);
}

function noteMissedLook(item: ScheduledWithdrawal): void {
  if (item.location === null) return;
  item.misses += 1;
  if (item.misses < missesMax) return;
  item.location = null;
  item.misses = 0;
  // The transaction is out of the chain again. The same bytes go out at once, and the time for a
  // higher fee starts again.
  item.offer = null;
  sortItemIntoSets(item);
}

/** The youngest block of ours is gone, so every withdrawal that is not final is looked for. */
export function recheckInclusion(account: Account, out: SchedulerEffect[]): void {
  const located = [...account.flight].filter(
    (item) => item.location !== null && item.chainOutcome === null,
  );
  for (let at = 0; at < located.length; at += lookMax) {
    out.push({
      kind: "look",
      ...accountFieldsOfEffect(account),
      wanted: located.slice(at, at + lookMax).map(inclusionQuestionOf),
    });
  }
}

/**
 * Too few nodes show these transactions in the block that one node named, although the block is
 * final. The node may have invented the receipt, so the search begins again.
 */
export function searchUnprovenAgain(
  unproven: readonly ScheduledWithdrawal[],
  out: SchedulerEffect[],
): void {
  const [first] = unproven;
  if (first !== undefined)
    out.push({
      kind: "look",
      ...accountFieldsOfEffect(first.account),
      wanted: unproven.map(inclusionQuestionOf),
    });
}

export function takeChainOutcome(
  item: ScheduledWithdrawal,
  chainOutcome: ChainOutcome | null,
  out: SchedulerEffect[],
): void {
  if (chainOutcome === null || item.chainOutcome !== null || item.stopped !== "") return;
  const { outcome, txHash, block } = chainOutcome;
  item.chainOutcome = { outcome, txHash, block };
  if (outcome !== "moved") return;
  // It waits for the gateway's operator, and says so once.
  item.waiting = "COURIER_TOKEN_MOVED";
  sortItemIntoSets(item);
  if (item.view.state === "moved") return;
  out.push({
    kind: "alarm",
    code: "COURIER_TOKEN_MOVED",
    transactionId: item.view.transactionId,
    detail: txHash,
  });
}

/** Reports the present stage of this withdrawal to the signer, unless it was reported already. */
export function reportObservation(
  item: ScheduledWithdrawal,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  if (item.asking !== null) return;
  const next = observationOf(item);
  if (next === null || (next.stage !== "void" && isPassing(item, nowMs))) return;
  const key = observationKey(next.stage, next.txHash, next.block);
  // The signer may have recorded a block since then, from an earlier courier or in an answer that
  // got lost.
  const isOvertaken = next.stage === "broadcast" && item.view.state === "included";
  if (key === item.told && !isOvertaken) return;
  item.asking = newPendingRequest("observed", nowMs, key);
  sortItemIntoSets(item);
  out.push({
    kind: "ask",
    withdrawal: item.view,
    verb: "observed",
    body: { transactionId: item.view.transactionId, ...next },
  });
}

/**
 * True if the withdrawal is on its way into a block, or already in a final one and only waits for
 * agreement of the nodes. On some chains every block is final at once.
 */
function isPassing(
  { account, chainOutcome, location, locatedAtMs, offer }: ScheduledWithdrawal,
  nowMs: number,
): boolean {
  if (chainOutcome !== null) return false;
  if (location === null) return offer !== null && nowMs - offer.firstAtMs < patienceMs;
  if (account.chainState === null) return false;
  const { number, finalNumber } = account.chainState;
  return (
    (location.block <= finalNumber || number === finalNumber) && nowMs - locatedAtMs < patienceMs
  );
}

interface Observation {
  readonly stage: "broadcast" | "included" | "final" | "void";
  readonly outcome: "" | "paid" | "reverted" | "conflicted" | "cancelled" | "moved";
  readonly txHash: string;
  readonly block: number;
  readonly quorum?: number;
}

function observationOf(item: ScheduledWithdrawal): Observation | null {
  const { chainOutcome, location, offer, view } = item;
  if (chainOutcome !== null)
    return {
      stage: "final",
      outcome: chainOutcome.outcome,
      txHash: chainOutcome.txHash,
      block: chainOutcome.block,
    };
  // For a recorded end, the signer takes only another end or a void attempt.
  if (hasSignerRecordedEnd(view)) return findVoidToReport(item);
  if (location !== null)
    return { stage: "included", outcome: "", txHash: location.txHash, block: location.block };
  const found = findVoidToReport(item);
  if (found !== null) return found;
  if (offer !== null && standingOfOffer(offer) === "taken")
    return { stage: "broadcast", outcome: "", txHash: offer.txHash, block: 0 };
  return outOfBlock(item);
}

/**
 * The block that the signer recorded is gone, or never had it. The signer must record this even if
 * every node refuses the bytes, since it makes no other attempt of an included withdrawal, and no
 * operator ends it.
 */
function outOfBlock({ view, isAbsent, offer }: ScheduledWithdrawal): Observation | null {
  if (
    view.state !== "included" ||
    !isAbsent ||
    offer === null ||
    standingOfOffer(offer) !== "refused"
  )
    return null;
  return { stage: "broadcast", outcome: "", txHash: offer.txHash, block: 0 };
}

/**
 * Asks for the account's counts when they are due: to adopt the first slot, to inform the signer,
 * or to settle a suspicion.
 */
export function refreshSlotCounts(
  book: SchedulerBook,
  account: Account,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  if (!account.slots.isCounted) return;
  // The signer takes no count before the gateway's welcome, except for display to an operator who
  // recovers a locked signer.
  if (!book.handshakeDone && book.locked === "") return;
  const { slotCounts } = account;
  const isUnderWay =
    slotCounts.askedAtMs !== null && nowMs - slotCounts.askedAtMs < slotCountsMsMax;
  if (isUnderWay || nowMs < slotCounts.dueAtMs || account.away !== "") return;
  slotCounts.askedAtMs = nowMs;
  const isBelow =
    slotCounts.highest !== "" &&
    [...account.pending].some((item) => isBefore(item, slotCounts.highest));
  const asksBegan = account.slots.first === null && isBelow ? { asksBegan: true as const } : {};
  out.push({
    kind: "slotCounts",
    ...accountFieldsOfEffect(account),
    address: account.address,
    ...asksBegan,
  });
}

export function takeSlotCounts(
  book: SchedulerBook,
  account: Account,
  answer: SlotCounts & { readonly began?: BeginningProof | null },
  nowMs: number,
  out: SchedulerEffect[],
): void {
  const { chain, slotCounts, address, isDeposit } = account;
  const of = isDeposit ? { chain, address } : { chain };
  const { latest, pending, final, quorum, isSame, began = null } = answer;
  slotCounts.askedAtMs = null;
  slotCounts.latest = { slot: `${latest}`, atMs: nowMs };
  const highest = [latest, pending, final].sort((a, b) => (a < b ? 1 : -1))[0] ?? 0n;
  slotCounts.highest = highest.toString();
  const agree = isSame && latest === pending && pending === final;
  if (account.nextSlot === "" && book.locked === "") {
    if (!agree)
      slotCounts.detail = `the account's slot counts differ: final ${final}, latest ${latest}, pending ${pending}`;
    slotCounts.dueAtMs = nowMs + adoptRetryMs;
    if (agree) out.push({ kind: "adopt", body: { ...of, slot: `${final}`, quorum } });
    return;
  }
  // While no slot was ever assigned, the signer may take another first slot, but never later.
  const isFree = account.flight.size === 0 && book.locked === "";
  const isOther = isFree && agree && (`${final}` !== account.nextSlot || account.isUnbegun);
  if (isOther) out.push({ kind: "adopt", body: { ...of, slot: `${final}`, quorum } });
  slotCounts.detail = "";
  const laterMs = suspectForeignUse(account, final, began, nowMs, out)
    ? suspectRecheckMs
    : accountMs;
  slotCounts.dueAtMs = nowMs + (isLedgerBehindChain(account) ? adoptRetryMs : laterMs);
  out.push({
    kind: "account",
    body: { ...of, slot: `${final}`, quorum, ...(began === null ? {} : { began }) },
  });
}

export function takeSlotCountFault(account: Account, code: string, nowMs: number): void {
  account.slotCounts = {
    ...account.slotCounts,
    askedAtMs: null,
    dueAtMs: nowMs + adoptRetryMs,
    detail: code,
    latest: null,
  };
}

function isBefore(
  { account: { slots }, view: { slot } }: ScheduledWithdrawal,
  bound: string,
): boolean {
  return slot !== "" && slots.compare(slot, bound) < 0;
}

/**
 * Slots that are permanently used although no known attempt of ours is in a block. A slot below the
 * first that the account ever had was used by nobody, so it is asked about again and never called
 * taken.
 */
function suspectForeignUse(
  account: Account,
  final: bigint,
  began: BeginningProof | null,
  nowMs: number,
  out: SchedulerEffect[],
): boolean {
  const below = [...account.pending].filter(
    (item) =>
      isBefore(item, `${final}`) &&
      item.chainOutcome === null &&
      listPossiblyIncludedAttempts(item.view).length > 0,
  );
  const suspects = began === null ? below : below.filter((item) => !isBefore(item, began.slot));
  if (suspects.length === 0) return below.length > 0;
  for (const item of suspects) {
    if (item.foreign.count === 0) item.foreign.firstAtMs = nowMs;
    item.foreign.count += 1;
    const isSure =
      item.foreign.count > foreignMax && nowMs - item.foreign.firstAtMs >= foreignOverMs;
    const txHash = listPossiblyIncludedAttempts(item.view).at(-1)?.txHash ?? "";
    if (isSure) item.chainOutcome = { outcome: "conflicted", txHash, block: 0 };
  }
  const some = suspects.slice(0, confirmMax).map(inclusionQuestionOf);
  out.push(
    { kind: "confirm", ...accountFieldsOfEffect(account), wanted: some },
    { kind: "look", ...accountFieldsOfEffect(account), wanted: some },
  );
  return true;
}
