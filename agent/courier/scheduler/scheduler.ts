/**
 * The courier's scheduler, its only sequencer: a synchronous function of state and event to
 * effects. The event carries the clock's time, and the function touches nothing. All its state also
 * stands in the signer's ledger or on chain. After a restart `hello` and the next block bring back
 * the same steps for every unfinished withdrawal. The scheduler asks; the signer decides.
 */

import { pendingPerAccountMax } from "../../socket/limits.ts";
import type { ChangedWithdrawalPart } from "../../socket/verbs.ts";
import {
  accountFieldsOfEffect,
  keepAccountBusy,
  markAccountUnbegun,
  putAccount,
  runOnAccount,
  wakeAccount,
} from "./accounts.ts";
import { leaveOutRefusedCoin } from "./coins.ts";
import type { SchedulerEffect, SchedulerEvent, SchedulerRefusal, SchedulerVerb } from "./events.ts";
import {
  askIfAttemptsVoid,
  isVoidRecorded,
  requestNewAttempts,
  takeVoidAnswers,
} from "./expiry-exclusion.ts";
import type { Account, PendingRequest, ScheduledWithdrawal, SchedulerBook } from "./item.ts";
import {
  askFirstSlot,
  askGatewayToNameCoins,
  explainUnbegunAccount,
  forgetNamedPin,
  gatewayQuestionPauseMs,
  takeSightings,
  unclearedCode,
  unnamedCode,
} from "./naming.ts";
import { standingOfOffer } from "./offers.ts";
import { findVanishedCoins, takeSpenders } from "./own-coins.ts";
import {
  blockMisreadAttempt,
  requestAttemptsAfterRecovery,
  requestFeeBumps,
  resendAttempts,
  sendAttempt,
  takeBroadcastAnswers,
} from "./sending.ts";
import {
  advanceAccount,
  askGatewayIfUnpaid,
  finishIntent,
  takeGasEstimate,
  takeRefusal,
  takeSelfTransferEstimate,
} from "./signing.ts";
import { takePauseChange, takeStops } from "./stops.ts";
import {
  askForInclusions,
  checkFinality,
  closeQuestion,
  detectReorg,
  recheckInclusion,
  refreshSlotCounts,
  reportObservation,
  searchUnprovenAgain,
  takeChainOutcome,
  takeInclusions,
  takeSlotCountFault,
  takeSlotCounts,
} from "./watching.ts";
import {
  clearSchedulerBook,
  closeItem,
  createSchedulerBook,
  hasSignerRecordedEnd,
  isItemDelayed,
  isVoidKey,
  listPossiblyIncludedAttempts,
  putChangedWithdrawalPart,
  putWithdrawalView,
  sortBySlot,
  sortItemIntoSets,
} from "./withdrawals.ts";

/*
 * The courier's own eye for a coin that no node shows: whether the transaction that made the pin of
 * a payment is in a block or a mempool. Asked for payments that no block has, and told to the
 * signer, which counts the time and remembers it. Pure.
 */

/** Payments younger than this, or that a node took less long ago, are on their way. */
const stillMs = 600_000;
const takenMs = 3_600_000;
const againMs = 600_000;
/** Payments that one question is about. */
const askedMax = 8;

/** Asks for the pins of payments that no block has; called once a block. */
function lookForCoins(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  if (account.pinExclusion === null) return;
  const due = [...account.pending].filter((item) => isDue(item, nowMs)).slice(0, askedMax);
  if (due.length === 0) return;
  for (const item of due) item.coinLookedAtMs = nowMs;
  const wanted = due.map((item) => ({ transactionId: item.view.transactionId, coin: pinOf(item) }));
  out.push({ kind: "makers", ...accountFieldsOfEffect(account), wanted });
}

function isDue(item: ScheduledWithdrawal, nowMs: number): boolean {
  const { isAbsent, chainOutcome, stopped, openedAtMs, coinLookedAtMs, offer, view } = item;
  if (
    !isAbsent ||
    chainOutcome !== null ||
    stopped !== "" ||
    listPossiblyIncludedAttempts(view).length === 0
  )
    return false;
  const ageMs = nowMs - openedAtMs;
  const isOld = standingOfOffer(offer) === "taken" ? ageMs >= takenMs : ageMs >= stillMs;
  return (
    isOld && pinOf(item) !== "" && (coinLookedAtMs === null || nowMs - coinLookedAtMs >= againMs)
  );
}

/** The pin without its amount; "" if none is known. */
function pinOf({ view: { attempts }, account: { pinExclusion } }: ScheduledWithdrawal): string {
  const [first] = attempts;
  const pin =
    first === undefined || first.txParams === null
      ? first?.pin
      : pinExclusion?.coins(first.txParams)[0];
  return pin === undefined ? "" : pin.slice(0, pin.lastIndexOf(":"));
}

/** Takes the answers, and tells each to the signer. */
function takeCoinLooks(
  book: SchedulerBook,
  account: Account,
  { found }: Extract<SchedulerEvent, { kind: "makers" }>,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  for (const { transactionId, coin, answer } of found) {
    const item = book.items.get(transactionId);
    if (answer === null || item === undefined || item.location !== null) continue;
    item.isPinMissing = !answer.isShown;
    out.push({ kind: "unseen", body: { transactionId, coin, ...answer } });
  }
  askBesidePins(account, nowMs, out);
}

/**
 * An operator can end a payment only after the gateway has named coins beside the missing one, so
 * it is asked for these until it has. A payment without an attempt asks first, each second.
 */
function askBesidePins(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  const { pinExclusion, naming } = account;
  if (pinExclusion === null || nowMs < naming.dueAtMs + gatewayQuestionPauseMs) return;
  const missing = [...account.pending].filter(
    ({ isPinMissing, view }) => isPinMissing && view.mode !== "sweep",
  );
  if (missing.length > 0) askGatewayToNameCoins(account, missing.flatMap(besidePin), nowMs, out);
}

function besidePin({
  view: { attempts },
  account: { pinExclusion },
}: ScheduledWithdrawal): readonly string[] {
  return attempts.flatMap(({ txParams }) =>
    txParams === null ? [] : (pinExclusion?.coins(txParams).slice(1) ?? []),
  );
}

export type { ChainOutcome, ChainState, TransactionLocation } from "../../../chains/nodes.ts";
export type {
  BlockCheckEffect,
  InclusionAnswer,
  InclusionQuestion,
  NodeQuestion,
  SchedulerEffect,
  SchedulerEvent,
  SchedulerRefusal,
  SchedulerVerb,
  SendEffect,
  VoidAttemptsAnswer,
  VoidAttemptsQuestion,
} from "./events.ts";

/**
 * After this time without an answer from the signer, the request counts as lost, and the scheduler
 * asks for the view.
 */
const askMsMax = 35_000;
const refreshMs = 5000;
/**
 * The longest time between questions for the signer's complete view, which shows withdrawals
 * unknown to this scheduler.
 */
const refreshMsMax = 300_000;
const gasMsMax = 60_000;

type Event<K extends SchedulerEvent["kind"]> = Extract<SchedulerEvent, { kind: K }>;

export interface SchedulerState {
  readonly book: SchedulerBook;
  readonly inFlightMax: number;
}

/** An empty scheduler; a `hello` event fills it. */
export function createScheduler(options: { readonly inFlightMax?: number } = {}): SchedulerState {
  return { book: createSchedulerBook(), inFlightMax: options.inFlightMax ?? pendingPerAccountMax };
}

/**
 * Makes one step. Changes `state` in place and returns the effects in order. `nowMs` never goes
 * back.
 */
export function applySchedulerEvent(
  state: SchedulerState,
  event: SchedulerEvent,
  nowMs: number,
): readonly SchedulerEffect[] {
  const out: SchedulerEffect[] = [];
  const { book } = state;
  for (const account of takeEvent(state, event, nowMs, out))
    advanceAccount(book, account, state.inFlightMax, nowMs, out);
  return out;
}

/** Withdrawals that are not final. */
export function countOpenWithdrawals(state: SchedulerState): number {
  return state.book.items.size;
}

/** Takes the event in. @returns the accounts whose queues may now move */
function takeEvent(
  state: SchedulerState,
  event: SchedulerEvent,
  nowMs: number,
  out: SchedulerEffect[],
): Iterable<Account> {
  const { book } = state;
  switch (event.kind) {
    case "hello":
      return takeHello(book, event, nowMs, out);
    case "locked":
      book.locked = event.code;
      return [];
    case "paused":
      return takePauseChange(book, event);
    case "views":
      return takeViews(book, event.withdrawals, nowMs, out);
    case "steps":
      return takeSteps(book, event.withdrawals, nowMs, out);
    case "answered":
      return takeAnswer(book, event, nowMs, out);
    case "adopted":
      if (event.answer.ok)
        return [Object.assign(putAccount(book, event.answer.account), { isUnbegun: false })];
      return runOnAccount(book, event, (account) => {
        if (event.answer.ok) return;
        account.slotCounts.detail = explainUnbegunAccount(account, event.answer.code, nowMs);
        askFirstSlot(account, event.answer.code, nowMs, out);
      });
    case "sighted":
      return takeSightings(book, event).map((account) => {
        refreshSlotCounts(book, account, nowMs, out);
        for (const item of account.flight) advanceItem(item, nowMs, out);
        return account;
      });
    case "away":
      return runOnAccount(book, event, (account) => {
        account.away = event.code;
      });
    case "expected":
      return runOnAccount(book, event, (account) => wakeAccount(account, nowMs, out));
    case "head":
      return runOnAccount(book, event, (account) => {
        account.head = event.number;
        askForInclusions(account, nowMs, out);
        account.foundLately = 0;
      });
    case "block":
      return runOnAccount(book, event, (account) => takeBlock(book, account, event, nowMs, out));
    case "gas":
    case "sent":
    case "misread":
      return takeItemEvent(book, event, nowMs, out);
    case "looked":
      return runOnAccount(book, event, (account) => {
        for (const item of takeInclusions(book, account, event, nowMs, out))
          advanceItem(item, nowMs, out);
      });
    case "confirmed":
      return runOnAccount(book, event, () => takeConfirmed(book, event, nowMs, out));
    case "void":
      return runOnAccount(book, event, (account) =>
        steerAll(takeVoidAnswers(book, account, event.found), nowMs, out),
      );
    case "blockChecked":
      return runOnAccount(book, event, (account) => {
        if (!event.holds) recheckInclusion(account, out);
      });
    case "slotCounts":
      return runOnAccount(book, event, (account) => {
        if (event.answer.ok) takeSlotCounts(book, account, event.answer, nowMs, out);
        else takeSlotCountFault(account, event.answer.code, nowMs);
        for (const item of account.flight) advanceItem(item, nowMs, out);
      });
    case "makers":
      return runOnAccount(book, event, (account) =>
        takeCoinLooks(book, account, event, nowMs, out),
      );
    case "spenders":
      return runOnAccount(book, event, (account) => takeSpenders(book, account, event, out));
    case "unreachable":
      book.unreachable = new Set(event.transactionIds);
      return book.accounts.values();
    case "tick":
      return takeTick(book, nowMs, out);
  }
}

function takeHello(
  book: SchedulerBook,
  { hello, isFresh, askedAtMs }: Event<"hello">,
  nowMs: number,
  out: SchedulerEffect[],
): Iterable<Account> {
  if (isFresh) clearSchedulerBook(book);
  book.handshakeDone = hello.handshakeDone;
  book.helloAtMs = nowMs;
  book.locked = hello.locked;
  takeStops(book, hello);
  for (const view of hello.accounts) {
    const account = putAccount(book, view);
    // The gateway sends what waited for the agent within seconds.
    if (isFresh) account.busyAtMs = nowMs;
  }
  const open = new Set(hello.open.map((view) => view.transactionId));
  for (const item of book.items.values()) {
    if (item.asking?.isDoubtful) item.asking = null;
    // A withdrawal missing in the signer's open ones has ended, and the end did not reach this
    // scheduler.
    if (!open.has(item.view.transactionId) && item.openedAtMs < askedAtMs)
      closeItem(book, item, nowMs);
  }
  for (const transactionId of book.awaiting.keys())
    if (!open.has(transactionId)) book.awaiting.delete(transactionId);
  takeViews(book, hello.open, nowMs, out);
  for (const account of book.accounts.values()) refreshSlotCounts(book, account, nowMs, out);
  return book.accounts.values();
}

function takeViews(
  book: SchedulerBook,
  views: Event<"views">["withdrawals"],
  nowMs: number,
  out: SchedulerEffect[],
): Iterable<Account> {
  const touched = new Set<Account>();
  const items = views
    .map((view) => putWithdrawalView(book, view, nowMs))
    .filter((item) => item !== null);
  steerAll(items, nowMs, out);
  for (const view of views) {
    const account = book.items.get(view.transactionId)?.account ?? book.accounts.get(view.chain);
    if (account !== undefined) touched.add(account);
  }
  return touched;
}

function takeSteps(
  book: SchedulerBook,
  steps: Event<"steps">["withdrawals"],
  nowMs: number,
  out: SchedulerEffect[],
): Iterable<Account> {
  const touched = new Set<Account>();
  const items: ScheduledWithdrawal[] = [];
  for (const one of steps) {
    const account = book.items.get(one.transactionId)?.account;
    if (account !== undefined) touched.add(account);
    else if (!book.closed.has(one.transactionId)) requestRefresh(book, nowMs, out);
    const item = putChangedWithdrawalPart(book, one, nowMs);
    if (item !== null) items.push(item);
  }
  steerAll(items, nowMs, out);
  return touched;
}

/** In order of slot, so the nodes get the transactions in the order of their inclusion. */
function steerAll(
  items: readonly ScheduledWithdrawal[],
  nowMs: number,
  out: SchedulerEffect[],
): void {
  for (const { account } of items) wakeAccount(account, nowMs, out);
  for (const item of sortBySlot(items)) advanceItem(item, nowMs, out);
}

/** Asks for the next step of this withdrawal, after any event. A second call asks nothing twice. */
function advanceItem(item: ScheduledWithdrawal, nowMs: number, out: SchedulerEffect[]): void {
  sendAttempt(item, false, nowMs, out);
  if (item.asking !== null || isItemDelayed(item, nowMs)) return;
  if (item.view.state === "intent") finishIntent(item, nowMs, out);
  else reportObservation(item, nowMs, out);
}

function takeAnswer(
  book: SchedulerBook,
  event: Event<"answered">,
  nowMs: number,
  out: SchedulerEffect[],
): Iterable<Account> {
  const { answer, verb, transactionId } = event;
  const item = book.items.get(transactionId);
  if (item !== undefined && item.asking?.verb === verb) {
    if (answer.ok) endAsk(item, item.asking, answer.withdrawal);
    else handleRefusal(book, item, verb, answer, nowMs, out);
  }
  if (answer.ok) return takeSteps(book, [answer.withdrawal], nowMs, out);
  if (item === undefined) return [];
  sortItemIntoSets(item);
  return [item.account];
}

/** An answer with another stage belongs to an earlier report, so the present report still waits. */
function endAsk(
  item: ScheduledWithdrawal,
  asked: PendingRequest,
  withdrawal: ChangedWithdrawalPart,
): void {
  const { state } = withdrawal;
  const stage = hasSignerRecordedEnd({ state }) ? "final" : state;
  // A withdrawal that a recovery has quarantined stays quarantined until its end.
  const isWatched = state === "quarantined" && !asked.key.startsWith("final ");
  const isOther = isVoidKey(asked.key)
    ? !isVoidRecorded(withdrawal, asked.key)
    : !isWatched && !asked.key.startsWith(`${stage} `);
  if (asked.verb === "observed" && isOther) return;
  item.asking = null;
  item.refusals = 0;
  item.waiting = "";
  if (asked.verb === "observed" && !isVoidKey(asked.key)) item.told = asked.key;
}

function handleRefusal(
  book: SchedulerBook,
  item: ScheduledWithdrawal,
  verb: SchedulerVerb,
  answer: SchedulerRefusal,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  if (answer.effect !== "none") {
    // The request may have been done: its reservation stays until the signer's own view comes.
    if (item.asking !== null) item.asking.isDoubtful = true;
    requestRefresh(book, nowMs, out);
    return;
  }
  item.asking = null;
  if (answer.code === unnamedCode) forgetNamedPin(item);
  const isLeft = leaveOutRefusedCoin(item, answer, nowMs);
  if (answer.code === "ACCOUNT_NOT_ADOPTED") markAccountUnbegun(item.account, nowMs);
  const refusedUnits = item.feeAskedWei;
  if (verb === "sign" || verb === "replace") Object.assign(item, { asked: null, feeAskedWei: 0n });
  if (isLeft) return;
  if (answer.code === unclearedCode) askGatewayIfUnpaid(item, nowMs, out);
  else if (takeRefusal(item, answer.code, refusedUnits, nowMs)) requestRefresh(book, nowMs, out);
}

function requestRefresh(book: SchedulerBook, nowMs: number, out: SchedulerEffect[]): void {
  if (nowMs < book.refreshDueAtMs) return;
  book.refreshDueAtMs = nowMs + refreshMs;
  out.push({ kind: "refresh" });
}

function takeBlock(
  book: SchedulerBook,
  account: Account,
  { chainState }: Event<"block">,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  account.chainState = chainState;
  // Counts that were not available while the nodes were away are asked for at once.
  if (account.away !== "") account.slotCounts.dueAtMs = 0;
  account.away = "";
  account.head = chainState.number;
  keepAccountBusy(account, nowMs);
  askForInclusions(account, nowMs, out);
  checkFinality(account, nowMs, out);
  detectReorg(account, out);
  requestFeeBumps(account, nowMs, out);
  requestAttemptsAfterRecovery(account, nowMs, out);
  askIfAttemptsVoid(account, nowMs, out);
  requestNewAttempts(account, nowMs, out);
  refreshSlotCounts(book, account, nowMs, out);
  findVanishedCoins(account, nowMs, out);
  lookForCoins(account, nowMs, out);
  for (const item of account.flight) advanceItem(item, nowMs, out);
}

function takeItemEvent(
  book: SchedulerBook,
  event: Event<"gas" | "sent" | "misread">,
  nowMs: number,
  out: SchedulerEffect[],
): Iterable<Account> {
  const item = book.items.get(event.transactionId);
  if (item === undefined) return [];
  if (event.kind === "gas") {
    if (event.isOwn === true) takeSelfTransferEstimate(item, event.answer, nowMs, out);
    else takeGasEstimate(item, event.answer, nowMs, out);
    requestFeeBumps(item.account, nowMs, out);
    requestNewAttempts(item.account, nowMs, out);
    if (item.view.state === "intent") advanceItem(item, nowMs, out);
    return [item.account];
  }
  if (event.kind === "sent") takeBroadcastAnswers(item, event, nowMs, out);
  else blockMisreadAttempt(item, event, out);
  advanceItem(item, nowMs, out);
  return [];
}

function takeConfirmed(
  book: SchedulerBook,
  event: Event<"confirmed">,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  closeQuestion(book, event);
  const unproven: ScheduledWithdrawal[] = [];
  for (const { transactionId, chainOutcome } of event.found) {
    const item = book.items.get(transactionId);
    if (item === undefined) continue;
    takeChainOutcome(item, chainOutcome, out);
    if (chainOutcome === null && item.location !== null) unproven.push(item);
    advanceItem(item, nowMs, out);
  }
  searchUnprovenAgain(unproven, out);
}

/**
 * Runs every second: repeats requests that were lost on the way, and goes on with items whose delay
 * is over.
 */
function takeTick(book: SchedulerBook, nowMs: number, out: SchedulerEffect[]): Iterable<Account> {
  if (nowMs - book.helloAtMs >= refreshMsMax) requestRefresh(book, nowMs, out);
  for (const item of book.items.values()) {
    if (item.gasAskedAtMs !== null && nowMs - item.gasAskedAtMs > gasMsMax)
      item.gasAskedAtMs = null;
    if (item.asking === null || nowMs - item.asking.sinceMs <= askMsMax) continue;
    item.asking = null;
    sortItemIntoSets(item);
    requestRefresh(book, nowMs, out);
  }
  for (const account of book.accounts.values()) {
    keepAccountBusy(account, nowMs);
    refreshSlotCounts(book, account, nowMs, out);
    if (account.away === "") {
      askForInclusions(account, nowMs, out);
      checkFinality(account, nowMs, out);
      requestAttemptsAfterRecovery(account, nowMs, out);
      askIfAttemptsVoid(account, nowMs, out);
      requestNewAttempts(account, nowMs, out);
    }
    askBesidePins(account, nowMs, out);
    resendAttempts(account, nowMs, out);
    for (const item of account.flight) advanceItem(item, nowMs, out);
  }
  return book.accounts.values();
}
