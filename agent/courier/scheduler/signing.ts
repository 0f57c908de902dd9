/**
 * Decides when `sign` is asked, and with which parameters. The account's final funds must cover
 * every reservation before finality, plus this withdrawal with its fee. The order is by sequence
 * within a currency, so an unpayable nonce never stands in front of payable ones.
 */
import { commandOfEnd } from "../../../base/state-end.ts";
import { familyOf } from "../../../chains/families.ts";
import type { FamilyFees, FeeMarket, TxParams } from "../../../chains/family.ts";
import type { AttemptView } from "../../socket/verbs.ts";
import { agentStateEnds } from "../../state-ends.ts";
import { codeOfLostControl, codeOfUnreadState } from "./accounts.ts";
import { findSpentCoin, offerBasisOf, readmitLeftOutCoins, termsOfWithdrawal } from "./coins.ts";
import type { SchedulerEffect, SchedulerEvent } from "./events.ts";
import type { Account, ScheduledWithdrawal, SchedulerBook } from "./item.ts";
import {
  describeUnclearedWait,
  describeUnnamedCoinWait,
  findOfferOfNamedCoins,
  owedCoinWords,
  unclearedRetryMs,
  unnamedCode,
} from "./naming.ts";
import { describeCurrencyStop } from "./stops.ts";
import {
  delayItem,
  isItemDelayed,
  isLedgerBehindChain,
  newPendingRequest,
  sortItemIntoSets,
  unreservedUnitsOf,
} from "./withdrawals.ts";

/** Estimates asked for ahead of the head of a queue, so they share a node's batch. */
const prefetchMax = 64;
/** An older estimate is made again, because the cost of a call changes with the chain's state. */
const gasValidMs = 60_000;
/**
 * A call that would revert in spite of enough funds is declined after this many estimates over at
 * least this time.
 */
const revertsMax = 3;
const revertsOverMs = 30_000;
const revertRetryMs = 12_000;
/** After this time a token is tried again that refused a transfer of the account to itself. */
const refusingMs = 60_000;
const faultRetryMs = 2000;
const fullRetryMs = 500;
const refusalRetryMs = 5000;
const refusalRetryMsMax = 60_000;

/**
 * Refusals that pass without this withdrawal: new blocks make room, an operator approves the nonce
 * below, a top-up ends before its sweep, or the ledger locks because the chain has seen more.
 */
const waitingCodes: ReadonlySet<string> = new Set([
  ...[
    "ACCOUNT_FULL",
    "ACCOUNT_WAITS",
    "ACCOUNT_BEHIND",
    "WITHDRAWAL_TOO_SOON",
    "SWEEP_OR_TOPUP_OPEN",
    "SIGNER_PAUSED",
  ],
  ...["NETWORK_PAUSED", "CURRENCY_MOVES_OTHERWISE"],
]);

/** The family's own words on fees. */
export function familyFeesOf({ network }: Account): FamilyFees {
  return familyOf(network).fees;
}

/** The reason why nothing is signed from this account; "" while signing goes on. */
export function describeStandstill(book: SchedulerBook, account: Account): string {
  if (book.locked !== "") return `locked ${book.locked}`;
  if (book.paused) return "SIGNER_PAUSED";
  if (book.stopped.has(account.network))
    return `NETWORK_PAUSED: ${commandOfEnd(agentStateEnds.signer.networkStopped, { CHAIN: account.chain })}`;
  if (!book.handshakeDone) return "link";
  if (account.away !== "") return `nodes ${account.away}`;
  if (account.chainState === null) return "nodes";
  const lost = codeOfLostControl(account.chainState);
  if (lost !== "") return lost;
  const unread = codeOfUnreadState(account.chainState);
  if (unread !== "") return `nodes ${unread}`;
  if (!account.slots.isCounted) return "";
  if (account.nextSlot === "") return `first slot ${account.slotCounts.detail}`.trim();
  if (account.slotCounts.highest === "")
    return `the account's slot counts ${account.slotCounts.detail}`.trim();
  return isLedgerBehindChain(account) ? "ACCOUNT_BEHIND" : "";
}

/**
 * Asks `sign` for every withdrawal that may be signed now. Called after every event that could
 * change the answer.
 */
export function advanceAccount(
  book: SchedulerBook,
  account: Account,
  inFlightMax: number,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  if (describeStandstill(book, account) !== "") return;
  readmitLeftOutCoins(account, nowMs);
  const most = inFlightMax + outOfReach(book, account);
  for (const queue of account.queues.values()) {
    const [first] = queue;
    if (first !== undefined && describeCurrencyStop(book, first.view) === "")
      advanceQueue(account, queue, most, nowMs, out);
  }
}

/** The number of those in flight that no block takes, as the gateway says. */
function outOfReach({ unreachable }: SchedulerBook, { unincluded }: Account): number {
  if (unreachable.size === 0) return 0;
  return [...unincluded].filter(({ view }) => unreachable.has(view.transactionId)).length;
}

function advanceQueue(
  account: Account,
  queue: ScheduledWithdrawal[],
  inFlightMax: number,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  const fees = familyFeesOf(account);
  const feeMarket = account.chainState?.feeMarket ?? null;
  const [head] = queue;
  if (head !== undefined && nowMs < (account.refusing.get(head.view.contract) ?? 0)) {
    head.waiting = "COURIER_TOKEN_REFUSES";
    return;
  }
  for (let at = 0; at < queue.length && feeMarket !== null; ) {
    const item = queue[at] as ScheduledWithdrawal;
    if (isBusy(item, nowMs)) {
      at += 1;
      continue;
    }
    if (account.unincluded.size >= inFlightMax) {
      item.waiting = "others in flight";
      return;
    }
    const gas = freshGasEstimateOf(item, 0, nowMs);
    const computeLimit = gas ?? fees.computeLimitMin;
    const market = marketForFirstOffer(item, feeMarket, computeLimit);
    const txParams = findOfferOfNamedCoins(item, market, computeLimit, nowMs, out);
    if (txParams === "owed") {
      // Only this one needs that coin.
      item.waiting = owedCoinWords;
      at += 1;
      continue;
    }
    if (txParams === "unnamed") {
      item.waiting = describeUnnamedCoinWait(account, nowMs);
      return;
    }
    if (txParams === null || !isCovered(item, fees.most(txParams))) {
      item.waiting = whyUncovered(item);
      item.reverts = { count: 0, firstAtMs: 0 };
      return;
    }
    if (gas === null) {
      estimateAhead(queue, at, nowMs, out);
      return;
    }
    // Takes the item out of this queue, so `at` names the next one.
    askSign(item, txParams, nowMs, out);
  }
}

/**
 * The fee market for the next offer: lower than the nodes' one where the signer refused the offers
 * above. The usual offer is made again once it costs no more than the refused one would a step
 * lower: an earlier attempt or a busy market had raised that one, and no block takes bytes below
 * the market. A market that falls by a little each block ends no steps.
 */
export function marketForNextOffer(
  item: ScheduledWithdrawal,
  feeMarket: FeeMarket,
  offerAt: (feeMarket: FeeMarket) => TxParams | null,
): FeeMarket {
  const { bidding, most } = familyFeesOf(item.account);
  const steps = stepsBelow(item);
  if (steps === 0) return feeMarket;
  const marketAt = (step: number): FeeMarket => bidding?.lowered(feeMarket, step) ?? feeMarket;
  const costIn = (market: FeeMarket): bigint | null => {
    const offer = offerAt(market);
    return offer === null ? null : most(offer);
  };
  const lower = marketAt(steps);
  const [usual, above, next] = [costIn(feeMarket), costIn(marketAt(steps - 1)), costIn(lower)];
  if (usual === null || above === null || next === null) return lower;
  return usual * above <= item.lowered.refusedUnits * next ? feeMarket : lower;
}

/** As `marketForNextOffer`, for a first attempt. */
function marketForFirstOffer(
  item: ScheduledWithdrawal,
  feeMarket: FeeMarket,
  computeLimit: bigint,
): FeeMarket {
  const { first } = familyFeesOf(item.account);
  return marketForNextOffer(item, feeMarket, (at) =>
    first(offerBasisOf(item, at, computeLimit), termsOfWithdrawal(item)),
  );
}

function stepsBelow({ lowered, view: { attempts } }: ScheduledWithdrawal): number {
  return lowered.attempts === attempts.length ? lowered.steps : 0;
}

/** Whether a lower offer is left to try; after the lowest one the next try begins at the top. */
function lowerOffer(
  item: ScheduledWithdrawal,
  feeMarket: FeeMarket | null,
  refusedUnits: bigint,
): boolean {
  if (feeMarket === null) return false;
  const steps = stepsBelow(item) + 1;
  const isLeft = (familyFeesOf(item.account).bidding?.lowered(feeMarket, steps) ?? null) !== null;
  item.lowered = { attempts: item.view.attempts.length, steps: isLeft ? steps : 0, refusedUnits };
  return isLeft;
}

/**
 * The cost of its call, by an estimate not made before `sinceMs` and still valid; null when there
 * is none.
 */
export function freshGasEstimateOf(
  { gas }: ScheduledWithdrawal,
  sinceMs: number,
  nowMs: number,
): bigint | null {
  return gas !== null && gas.atMs >= sinceMs && nowMs - gas.atMs <= gasValidMs ? gas.limit : null;
}

export function askGasEstimate(
  item: ScheduledWithdrawal,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  if (item.gasAskedAtMs !== null) return;
  item.gasAskedAtMs = nowMs;
  const { account, view } = item;
  out.push({ kind: "gas", chain: account.chain, from: account.address, withdrawal: view });
}

/** The item is delayed or being declined; nothing more is asked for it meanwhile. */
function isBusy(item: ScheduledWithdrawal, nowMs: number): boolean {
  return item.asking !== null || isItemDelayed(item, nowMs);
}

/** On a chain with coins, an offer is proof that they suffice. */
function isCovered(item: ScheduledWithdrawal, feeUnits: bigint): boolean {
  const { account, view, amountUnits } = item;
  if (account.pinExclusion !== null) return true;
  const native = unreservedUnitsOf(account, "");
  if (view.contract === "") return native !== null && native >= amountUnits + feeUnits;
  const token = unreservedUnitsOf(account, view.contract);
  return native !== null && native >= feeUnits && token !== null && token >= amountUnits;
}

function whyUncovered({ account, view: { contract } }: ScheduledWithdrawal): string {
  const unfit = account.chainState?.unfit.get(contract);
  if (unfit !== undefined) return `out of service: ${unfit}`;
  if (account.pinExclusion !== null && account.flight.size > 0)
    return "coins of payments that are not final yet";
  const spent = findSpentCoin(account);
  if (spent !== undefined)
    return `ACCOUNT_COIN_SPENT: a closed payment has spent ${spent}, and nodes still show it`;
  return unreservedUnitsOf(account, contract) === null
    ? "the token's balance cannot be read"
    : "funds";
}

/**
 * Asks for estimates for the head of the queue and for the next items that the funds probably cover
 * as well.
 */
function estimateAhead(
  queue: readonly ScheduledWithdrawal[],
  from: number,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  const first = queue[from] as ScheduledWithdrawal;
  let left = unreservedUnitsOf(first.account, first.view.contract) ?? 0n;
  for (const item of queue.slice(from, from + prefetchMax)) {
    left -= item.amountUnits;
    // Coins that are on their way are missing from the balance and reserved as well.
    if (left < 0n && first.account.pinExclusion === null) return;
    if (
      freshGasEstimateOf(item, 0, nowMs) !== null ||
      item.gasAskedAtMs !== null ||
      isBusy(item, nowMs)
    )
      continue;
    item.gasAskedAtMs = nowMs;
    item.waiting = "";
    const { account, view } = item;
    out.push({ kind: "gas", chain: account.chain, from: account.address, withdrawal: view });
  }
}

function askSign(
  item: ScheduledWithdrawal,
  txParams: TxParams,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  item.asking = newPendingRequest("sign", nowMs);
  item.feeAskedWei = familyFeesOf(item.account).most(txParams);
  item.asked = txParams;
  item.waiting = "";
  sortItemIntoSets(item);
  out.push({
    kind: "ask",
    withdrawal: item.view,
    verb: "sign",
    body: { transactionId: item.view.transactionId, txParams },
  });
}

/**
 * Finishes an intent without a signature, after a crash or in a recovered ledger. After a crash the
 * signer uses its recorded figures. A recovered ledger has none, so the signer checks the given
 * figures against its fee caps.
 */
export function finishIntent(
  item: ScheduledWithdrawal,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  const feeMarket = item.account.chainState?.feeMarket ?? null;
  if (feeMarket === null) return;
  const computeLimit = freshGasEstimateOf(item, 0, nowMs);
  if (computeLimit === null) {
    askGasEstimate(item, nowMs, out);
    return;
  }
  const market = marketForFirstOffer(item, feeMarket, computeLimit);
  const txParams = findOfferOfNamedCoins(item, market, computeLimit, nowMs, out);
  if (txParams === null) item.waiting = whyUncovered(item);
  else if (txParams === "owed") item.waiting = owedCoinWords;
  else if (txParams === "unnamed") item.waiting = describeUnnamedCoinWait(item.account, nowMs);
  else askSign(item, txParams, nowMs, out);
}

type GasAnswer = Extract<SchedulerEvent, { kind: "gas" }>["answer"];

export function takeGasEstimate(
  item: ScheduledWithdrawal,
  answer: GasAnswer,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  item.gasAskedAtMs = null;
  if (answer.ok) {
    item.gas = { limit: answer.gasLimit, atMs: nowMs };
    item.reverts = { count: 0, firstAtMs: 0 };
    takesTransfers(item, nowMs);
    return;
  }
  if (!answer.wouldRevert) {
    if (item.asking === null) delayItem(item, answer.code, { notBeforeMs: nowMs + faultRetryMs });
    return;
  }
  const newest = item.view.attempts.at(-1);
  if (newest !== undefined && item.account.expiryExclusion !== null) {
    // No slot must be used up here, so a payment that would revert is not signed again.
    delayItem(item, "the chain would revert it", { notBeforeMs: nowMs + revertRetryMs });
    return;
  }
  if (newest !== undefined || item.view.state === "intent") {
    // A withdrawal with a slot must use the slot up with any result, so the earlier limit is good
    // enough.
    item.gas = { limit: computeLimitOf(item, newest), atMs: nowMs };
    return;
  }
  if (item.view.state !== "approved" || item.asking !== null) return;
  const fees = familyFeesOf(item.account);
  const feeMarket = item.account.chainState?.feeMarket ?? null;
  const least =
    feeMarket === null
      ? null
      : fees.first(offerBasisOf(item, feeMarket, fees.computeLimitMin), termsOfWithdrawal(item));
  if (least === null || !isCovered(item, fees.most(least))) {
    delayItem(item, "funds", { notBeforeMs: nowMs + faultRetryMs });
    return;
  }
  const { reverts } = item;
  if (reverts.count === 0) reverts.firstAtMs = nowMs;
  reverts.count += 1;
  const { account, view } = item;
  const isLasting = reverts.count >= revertsMax && nowMs - reverts.firstAtMs >= revertsOverMs;
  const isReceivers = isTroubleOfReceiver(item);
  if (isLasting && isReceivers) {
    declineItem(item, nowMs, out);
    return;
  }
  if (!isReceivers && (isLasting || account.refusing.has(view.contract))) {
    item.gasAskedAtMs = nowMs;
    out.push({
      kind: "gas",
      chain: account.chain,
      from: account.address,
      withdrawal: view,
      isOwn: true,
    });
    return;
  }
  // The retries are spread so that the last one falls just past the required time.
  const nextAtMs =
    reverts.count >= revertsMax - 1 ? reverts.firstAtMs + revertsOverMs : nowMs + revertRetryMs;
  delayItem(item, "the chain would revert it", {
    notBeforeMs: Math.max(nextAtMs, nowMs + faultRetryMs),
  });
}

function declineItem(item: ScheduledWithdrawal, nowMs: number, out: SchedulerEffect[]): void {
  item.asking = newPendingRequest("decline", nowMs);
  const body = { transactionId: item.view.transactionId, code: "CHAIN_WOULD_REVERT" };
  out.push({ kind: "ask", withdrawal: item.view, verb: "decline", body });
}

/** The token takes transfers of this account now. */
function takesTransfers({ account, view }: ScheduledWithdrawal, nowMs: number): void {
  account.refusing.delete(view.contract);
  account.transferable.set(view.contract, nowMs);
}

/**
 * True if no other payment would fail too. The native coin cannot be paused, a sweep is ordered
 * again by the gateway, and a token is sound that took a transfer since the first failure.
 */
function isTroubleOfReceiver({ account, view, reverts }: ScheduledWithdrawal): boolean {
  if (view.contract === "" || account.isDeposit) return true;
  return (account.transferable.get(view.contract) ?? -1) >= reverts.firstAtMs;
}

/**
 * Takes the answer about the same transfer to the hot wallet itself. If that one fails too, the
 * trouble is the token's or the account's, so no withdrawal is declined: all of the token wait. If
 * not, the payment is estimated once more, because the token may have been released meanwhile.
 */
export function takeSelfTransferEstimate(
  item: ScheduledWithdrawal,
  answer: GasAnswer,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  item.gasAskedAtMs = null;
  const { account, view } = item;
  if (answer.ok) {
    takesTransfers(item, nowMs);
    if (view.state === "approved" && item.asking === null) askGasEstimate(item, nowMs, out);
    return;
  }
  if (!answer.wouldRevert) {
    if (item.asking === null) delayItem(item, answer.code, { notBeforeMs: nowMs + faultRetryMs });
    return;
  }
  // Some tokens refuse every transfer to the sender. Another withdrawal shows that this one is
  // sound.
  if (isTroubleOfReceiver(item)) {
    delayItem(item, "the chain would revert it", { notBeforeMs: nowMs + revertRetryMs });
    return;
  }
  account.refusing.set(view.contract, nowMs + refusingMs);
  item.reverts = { count: 0, firstAtMs: 0 };
}

function computeLimitOf({ account }: ScheduledWithdrawal, newest: AttemptView | undefined): bigint {
  const fees = familyFeesOf(account);
  const txParams = newest?.txParams ?? null;
  return txParams === null ? fees.computeLimitUnknown : fees.computeLimitOf(txParams);
}

function isOfFeeMarket(code: string): boolean {
  return code.startsWith("POLICY_FEE") || code.startsWith("POLICY_TIP");
}

/**
 * Asks for the gateway's word that nothing on the chain pays a withdrawal already, because the
 * signer makes no such attempt without it, and sets the withdrawal aside meanwhile. Others go on.
 */
export function askGatewayIfUnpaid(
  item: ScheduledWithdrawal,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  delayItem(item, describeUnclearedWait(item, nowMs), {
    notBeforeMs: nowMs + unclearedRetryMs(item.refusals),
  });
  item.refusals += 1;
  out.push({ kind: "question", coins: [], accounts: [], orders: [item.view.transactionId] });
}

/**
 * Takes the signer's refusal of a request about this withdrawal, with the cost of the refused
 * attempt, 0 for none. @returns whether its own view should be asked for.
 */
export function takeRefusal(
  item: ScheduledWithdrawal,
  code: string,
  refusedUnits: bigint,
  nowMs: number,
): boolean {
  // The estimate is asked for again, because the nodes' figure was too low for any such
  // transaction.
  if (code === "POLICY_FEE_BELOW_FLOOR") item.gas = null;
  // A tip over its cap comes from the higher of the nodes' figures, so the lower figure is used
  // from now on.
  if (code === "POLICY_TIP_ABOVE_MAX") item.isTipLow = true;
  const { chainState } = item.account;
  const feeMarket = chainState?.feeMarket ?? null;
  if (code.startsWith("POLICY_FEE_ABOVE") && lowerOffer(item, feeMarket, refusedUnits)) {
    item.waiting = `fee ${code}`;
    return false;
  }
  // A fee over its cap depends on the fee market, so the scheduler offers it again at each block.
  if (isOfFeeMarket(code) && chainState !== null) {
    delayItem(item, `fee ${code}`, "next block");
    return false;
  }
  if (waitingCodes.has(code)) {
    delayItem(item, code, { notBeforeMs: nowMs + fullRetryMs });
    return false;
  }
  if (code === unnamedCode) {
    delayItem(item, describeUnnamedCoinWait(item.account, nowMs), {
      notBeforeMs: nowMs + fullRetryMs,
    });
    return false;
  }
  item.refusals += 1;
  const waitMs = Math.min(refusalRetryMsMax, refusalRetryMs * 2 ** Math.min(item.refusals - 1, 8));
  delayItem(item, code, { notBeforeMs: nowMs + waitMs });
  return true;
}
