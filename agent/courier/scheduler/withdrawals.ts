/**
 * The scheduler's memory: every open withdrawal with its known state, grouped by sending account,
 * and the reserved funds. The signer's `hello` and the chain are enough to rebuild all of it. Pure
 * data; only the scheduler's own steps change it.
 */
import { invariant } from "../../../base/fault.ts";
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import type {
  AttemptView,
  ChangedWithdrawalPart,
  CourierView,
  WithdrawalState,
} from "../../socket/verbs.ts";
import { forgetIdleDepositAddress, noAccountCounts, senderAccountOf } from "./accounts.ts";
import { newHeldCoins, newOwnCoins, updateHeldCoins } from "./coins.ts";
import type { SchedulerVerb } from "./events.ts";
import type {
  Account,
  LastNodeQuestion,
  PendingRequest,
  ReservedUnits,
  ScheduledWithdrawal,
  SchedulerBook,
} from "./item.ts";
import { newNamedCoins } from "./naming.ts";

/**
 * A late view of a closed withdrawal comes within seconds. This many are kept; the oldest goes
 * first.
 */
const closedMax = 4096;
/**
 * After this time without the gateway's confirmation an end is checked again, because the reporting
 * nodes may have lied.
 */
const recheckMs = 600_000;
const chainEnds: ReadonlySet<WithdrawalState> = new Set([
  "paid",
  "reverted",
  "conflicted",
  "cancelled",
  "moved",
]);
const finalStates: ReadonlySet<WithdrawalState> = new Set([
  ...chainEnds,
  ...(["refused", "expired"] as const),
]);
const never: LastNodeQuestion = { block: -1, atMs: 0, isOpen: false };
const nothing: ReservedUnits = { native: 0n, token: 0n };
const assignedStates: ReadonlySet<WithdrawalState> = new Set([
  ...(["intent", "signed", "released", "broadcast", "included", "quarantined"] as const),
]);

export function createSchedulerBook(): SchedulerBook {
  return {
    handshakeDone: false,
    locked: "",
    paused: false,
    stopped: new Map(),
    unreachable: new Set(),
    items: new Map(),
    accounts: new Map(),
    closed: new Map(),
    awaiting: new Map(),
    refreshDueAtMs: 0,
    helloAtMs: 0,
  };
}

export function clearSchedulerBook(book: SchedulerBook): void {
  book.handshakeDone = false;
  book.locked = "";
  book.items.clear();
  book.closed.clear();
  book.awaiting.clear();
  book.refreshDueAtMs = 0;
  for (const [key, account] of book.accounts) {
    if (account.isDeposit) book.accounts.delete(key);
    account.queues.clear();
    account.flight.clear();
    account.pending.clear();
    account.unincluded.clear();
    account.reservedTokens.clear();
    account.reservedNative = 0n;
    account.settling = [];
    account.slotCounts = { ...noAccountCounts };
    account.askingVoid = null;
    account.naming = newNamedCoins();
    account.ownCoins = newOwnCoins();
    account.held = newHeldCoins();
    account.waitingOffer = null;
  }
}

/**
 * Takes a withdrawal's view. Null for a final withdrawal, or for an account of another agent. A
 * withdrawal with a recorded end on chain is still watched, and its bytes sent, until this
 * scheduler sees the end or the gateway confirms it.
 */
export function putWithdrawalView(
  book: SchedulerBook,
  view: CourierView,
  nowMs: number,
): ScheduledWithdrawal | null {
  const account = senderAccountOf(book, view);
  if (account === undefined) return null;
  const item = putViewOf(book, account, view, nowMs);
  if (item === null) forgetIdleDepositAddress(book, account);
  return item;
}

function putViewOf(
  book: SchedulerBook,
  account: Account,
  view: CourierView,
  nowMs: number,
): ScheduledWithdrawal | null {
  const { transactionId } = view;
  const isEndRecordedBySigner = chainEnds.has(view.state) && !view.isOver;
  if (isEndRecordedBySigner) book.awaiting.set(transactionId, { account, slot: view.slot });
  else book.awaiting.delete(transactionId);
  const closedAtMs = book.closed.get(transactionId);
  if (closedAtMs !== undefined && !(isEndRecordedBySigner && nowMs - closedAtMs >= recheckMs))
    return null;
  book.closed.delete(transactionId);
  let item = book.items.get(transactionId);
  if (item !== undefined && isOlder(view, item.view)) return item;
  const isSeen = item?.chainOutcome?.outcome === view.state;
  if (finalStates.has(view.state) && (!isEndRecordedBySigner || isSeen)) {
    if (item !== undefined) closeItem(book, item, nowMs);
    else rememberEnd(book, transactionId, nowMs);
    return null;
  }
  if (item === undefined) {
    item = createItem(view, account, nowMs);
    book.items.set(view.transactionId, item);
  }
  item.view = view;
  const { slots } = account;
  const isPast = view.slot !== "" && slots.compare(view.slot, account.nextSlot || slots.least) >= 0;
  if (isPast) account.nextSlot = slots.next(view.slot);
  sortItemIntoSets(item);
  return item;
}

/** Null as well for a final withdrawal, or for one without a view so far. */
export function putChangedWithdrawalPart(
  book: SchedulerBook,
  step: ChangedWithdrawalPart,
  nowMs: number,
): ScheduledWithdrawal | null {
  if (step.isOver) book.awaiting.delete(step.transactionId);
  const known = book.items.get(step.transactionId)?.view;
  if (known === undefined) return null;
  const bytesOf = (attempt: number): AttemptView["raw"] =>
    known.attempts.find((one) => one.attempt === attempt)?.raw;
  const attempts = step.attempts.map((one) => {
    const raw = one.raw ?? bytesOf(one.attempt);
    return raw === undefined ? one : { ...one, raw };
  });
  const { state, code, changedAt, account, slot, isOver } = step;
  return putWithdrawalView(
    book,
    { ...known, state, code, changedAt, account, slot, attempts, isOver },
    nowMs,
  );
}

/**
 * Puts the item into the sets that fit its state and inclusion, and reserves or frees funds
 * accordingly.
 */
export function sortItemIntoSets(item: ScheduledWithdrawal): void {
  const { account, view } = item;
  const isToldOver = chainEnds.has(view.state);
  const isAssigned = isToldOver || assignedStates.has(view.state) || item.asking?.verb === "sign";
  if (isAssigned) account.flight.add(item);
  else account.flight.delete(item);
  updateHeldCoins(item);
  if (isAssigned && item.location === null) account.pending.add(item);
  else account.pending.delete(item);
  if (isAssigned && !isToldOver && view.state !== "included" && !isToldOut(item))
    account.unincluded.add(item);
  else account.unincluded.delete(item);
  if (isAssigned || view.state !== "approved") dequeueItem(item);
  else enqueueItem(item);
  // A final but odd token transaction has already taken its funds, and the balance shows this.
  setReserve(
    item,
    isAssigned && item.chainOutcome?.outcome !== "moved" ? reserveOf(item) : nothing,
  );
}

/**
 * True if the request under way reports the withdrawal as out of the mempool. The signer takes
 * requests in order, so it records this report before a later request.
 */
function isToldOut({ asking }: ScheduledWithdrawal): boolean {
  return (
    asking?.verb === "observed" && !asking.key.startsWith("broadcast ") && !isVoidKey(asking.key)
  );
}

export function closeItem(book: SchedulerBook, item: ScheduledWithdrawal, nowMs: number): void {
  const { account, view, chainOutcome } = item;
  account.flight.delete(item);
  updateHeldCoins(item);
  account.pending.delete(item);
  account.unincluded.delete(item);
  dequeueItem(item);
  const { reserved } = item;
  setReserve(item, nothing);
  if (chainOutcome !== null && chainOutcome.block > (account.chainState?.finalNumber ?? 0)) {
    account.settling.push({
      block: chainOutcome.block,
      contract: view.contract,
      reserve: reserved,
    });
  }
  book.items.delete(view.transactionId);
  forgetIdleDepositAddress(book, account);
  rememberEnd(book, view.transactionId, nowMs);
}

function rememberEnd(book: SchedulerBook, transactionId: string, nowMs: number): void {
  book.closed.set(transactionId, nowMs);
  for (const oldest of book.closed.keys()) {
    if (book.closed.size <= closedMax) return;
    book.closed.delete(oldest);
  }
}

function createItem(view: CourierView, account: Account, openedAtMs: number): ScheduledWithdrawal {
  return {
    view,
    account,
    amountUnits: BigInt(view.amountUnits),
    openedAtMs,
    asking: null,
    notBeforeMs: 0,
    asideBlock: -1,
    refusals: 0,
    unclearedSinceMs: null,
    waiting: "",
    gas: null,
    gasAskedAtMs: null,
    isTipLow: false,
    lowered: { attempts: 0, steps: 0, refusedUnits: 0n },
    reverts: { count: 0, firstAtMs: 0 },
    reserved: nothing,
    feeAskedWei: 0n,
    asked: null,
    sendingSinceMs: null,
    sendNotBeforeMs: 0,
    unsent: 0,
    offer: null,
    location: null,
    locatedAtMs: 0,
    looked: never,
    confirmed: never,
    isDoubtful: false,
    misses: 0,
    chainOutcome: null,
    foreign: { count: 0, firstAtMs: 0 },
    told: toldAtStart(view),
    voidFound: new Map(),
    voidDueAtMs: 0,
    voidTrouble: "",
    coinLookedAtMs: null,
    isPinMissing: false,
    isAbsent: false,
    stopped: "",
  };
}

/**
 * The last observation by the ledger's state. A view does not contain the block of an inclusion, so
 * an inclusion is reported again.
 */
function toldAtStart(view: CourierView): string {
  const newest = listAttemptsWithBytes(view).at(-1);
  return view.state === "broadcast" && newest !== undefined
    ? observationKey("broadcast", newest.txHash, 0)
    : "";
}

export function newPendingRequest(verb: SchedulerVerb, sinceMs: number, key = ""): PendingRequest {
  return { verb, sinceMs, key, isDoubtful: false };
}

export function observationKey(stage: string, txHash: string, block: number): string {
  return `${stage} ${txHash} ${block}`;
}

/**
 * True if an observation reports an attempt as void, which moves the withdrawal to no other stage.
 */
export function isVoidKey(key: string): boolean {
  return key.startsWith("void ");
}

/** Attempts whose bytes the signer has released, oldest first. */
export function listAttemptsWithBytes(view: CourierView): readonly AttemptView[] {
  return view.attempts.filter((attempt) => attempt.raw !== undefined);
}

/**
 * Attempts that may be in a block: released ones, and those known only by hash after a recovery.
 */
export function listPossiblyIncludedAttempts(view: CourierView): readonly AttemptView[] {
  return view.attempts.filter((attempt) => attempt.raw !== undefined || attempt.isOut === true);
}

/** True if the signer already recorded an end on chain, but this scheduler has not seen it. */
export function hasSignerRecordedEnd({ state }: Pick<CourierView, "state">): boolean {
  return chainEnds.has(state);
}

/** Ledger time never goes back. At the same time, the view with more attempts is the newer one. */
function isOlder(view: CourierView, known: CourierView): boolean {
  if (view.changedAt !== known.changedAt) return view.changedAt < known.changedAt;
  return view.attempts.length < known.attempts.length;
}

function reserveOf(item: ScheduledWithdrawal): ReservedUnits {
  const { view, amountUnits } = item;
  let fee = item.feeAskedWei;
  for (const { feeMax } of view.attempts) if (BigInt(feeMax) > fee) fee = BigInt(feeMax);
  return view.contract === ""
    ? { native: amountUnits + fee, token: 0n }
    : { native: fee, token: amountUnits };
}

function setReserve(item: ScheduledWithdrawal, next: ReservedUnits): void {
  const { account, view, reserved } = item;
  account.reservedNative += next.native - reserved.native;
  const tokens = account.reservedTokens.get(view.contract) ?? 0n;
  account.reservedTokens.set(view.contract, tokens + next.token - reserved.token);
  item.reserved = next;
}

/**
 * The amount that may still be reserved, of the native coin ("") or a token; null while the balance
 * is not known.
 */
export function unreservedUnitsOf(account: Account, contract: string): bigint | null {
  const balance = account.chainState?.balances.get(contract);
  if (balance === undefined) return null;
  const bound =
    contract === "" ? account.reservedNative : (account.reservedTokens.get(contract) ?? 0n);
  let settling = 0n;
  for (const entry of account.settling) {
    settling +=
      contract === ""
        ? entry.reserve.native
        : entry.contract === contract
          ? entry.reserve.token
          : 0n;
  }
  return balance - bound - settling;
}

function enqueueItem(item: ScheduledWithdrawal): void {
  const { queues } = item.account;
  const queue = queues.get(limitGroupOf(item.view)) ?? [];
  queues.set(limitGroupOf(item.view), queue);
  if (queue.includes(item)) return;
  // Jobs come in order of sequence, so the position is nearly always the end.
  let at = queue.length;
  while (at > 0 && (queue[at - 1] as ScheduledWithdrawal).view.sequence > item.view.sequence)
    at -= 1;
  queue.splice(at, 0, item);
}

function dequeueItem(item: ScheduledWithdrawal): void {
  const queue = item.account.queues.get(limitGroupOf(item.view));
  const at = queue?.indexOf(item) ?? -1;
  if (queue === undefined || at < 0) return;
  queue.splice(at, 1);
}

/**
 * True if the chain has seen a nonce that the ledger never assigned. Then another holder has the
 * key, or ledger and gateway were both restored from backups older than their own payments. Those
 * payments may be requested again, and would be paid again with a higher nonce.
 */
export function isLedgerBehindChain({ nextSlot, slotCounts, slots }: Account): boolean {
  return (
    slotCounts.highest !== "" && slots.compare(slotCounts.highest, nextSlot || slots.least) > 0
  );
}

/** In order of slot within each network. Items without a slot come last, in order of sequence. */
export function sortBySlot(items: Iterable<ScheduledWithdrawal>): ScheduledWithdrawal[] {
  return [...items].sort(inOrder);
}

/** The first item in that order. */
export function itemWithLowestSlot(
  items: Iterable<ScheduledWithdrawal>,
): ScheduledWithdrawal | undefined {
  let first: ScheduledWithdrawal | undefined;
  for (const item of items) if (first === undefined || inOrder(item, first) < 0) first = item;
  return first;
}

function inOrder(a: ScheduledWithdrawal, b: ScheduledWithdrawal): number {
  const [first, second] = [a.account, b.account];
  if (first.network !== second.network) return first.network < second.network ? -1 : 1;
  const [slot, other] = [a.view.slot, b.view.slot];
  if (slot === other) return a.view.sequence - b.view.sequence;
  return slot === "" ? 1 : other === "" ? -1 : first.slots.compare(slot, other);
}

/**
 * Delays a refused item: nothing is asked for it until `notBeforeMs`, or until the next block if
 * that is given.
 */
export function delayItem(
  item: ScheduledWithdrawal,
  waiting: string,
  until: { readonly notBeforeMs: number } | "next block",
): void {
  item.waiting = waiting;
  if (until === "next block") {
    invariant(item.account.chainState !== null, "what waits for the next block has seen one");
    item.asideBlock = item.account.chainState.number;
  } else item.notBeforeMs = until.notBeforeMs;
}

export function isItemDelayed(item: ScheduledWithdrawal, nowMs: number): boolean {
  // Any other block counts, not only a higher one, so a node that once named a block far ahead
  // delays nothing.
  return nowMs < item.notBeforeMs || item.asideBlock === item.account.chainState?.number;
}
