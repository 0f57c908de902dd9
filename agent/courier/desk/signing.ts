/**
 * When `sign` is asked, and with which facts: only when the account's final funds cover everything
 * bound and not final plus this one with its fee, in order of sequence within a currency, so that
 * an unpayable nonce never stands in front of payable ones.
 */
import { familyOf } from "../../../chains/families.ts";
import type { Facts, Fees } from "../../../chains/family.ts";
import type { VersionView } from "../../socket/verbs.ts";
import { ask, file, freeUnits, isAside, isBehind, setAside } from "./book.ts";
import type { DeskEffect, DeskEvent } from "./events.ts";
import type { Account, Book, Item } from "./item.ts";

/** Estimates asked for ahead of the head of a queue, so that they share a node's batch. */
const prefetchMax = 64;
/** An estimate older than this is made again: what a call costs changes with the chain's state. */
const gasValidMs = 60_000;
/**
 * A call that would revert with funds at hand is declined after this many estimates over at least
 * this time.
 */
const revertsMax = 3;
const revertsOverMs = 30_000;
const revertRetryMs = 12_000;
const faultRetryMs = 2000;
const fullRetryMs = 500;
const refusalRetryMs = 5000;
const refusalRetryMsMax = 60_000;

/**
 * Room comes with blocks, the turn of a nonce with somebody's yes to the one below, and what the
 * chain knows with the ledger's lock.
 */
const waitingCodes: ReadonlySet<string> = new Set([
  ...["ACCOUNT_FULL", "ACCOUNT_WAITS", "ACCOUNT_BEHIND", "WITHDRAWAL_TOO_SOON", "SIGNER_PAUSED"],
]);

/**
 * No more than these of the twenty there may be: the signer holds to the same
 * (agent/signer/acts/replace.ts) and keeps the last ones for a person.
 */
export const versionsMax = 14;

/** The family's own words on fees. */
export function feesOf({ network }: Account): Fees {
  return familyOf(network).fees;
}

/** Why nothing is signed from this account at all; "" when signing goes on. */
export function standstill(book: Book, account: Account): string {
  if (book.locked !== "") return `locked ${book.locked}`;
  if (book.paused) return "SIGNER_PAUSED";
  if (!book.greeted) return "link";
  if (account.away !== "") return `nodes ${account.away}`;
  if (account.facts === null) return "nodes";
  if (account.facts.accountHasCode) return "COURIER_ACCOUNT_CODE";
  if (!account.slots.isCounted) return "";
  if (account.nextSlot === "") return `first slot ${account.counters.detail}`.trim();
  if (account.counters.highest === "") return `the account's counters ${account.counters.detail}`.trim();
  return isBehind(account) ? "ACCOUNT_BEHIND" : "";
}

/**
 * Asks `sign` for whatever may be signed now. Called after everything that could have changed the
 * answer.
 */
export function advance(book: Book, account: Account, inFlightMax: number, nowMs: number, out: DeskEffect[]): void {
  if (standstill(book, account) !== "") return;
  for (const queue of account.queues.values()) advanceQueue(account, queue, inFlightMax, nowMs, out);
}

function advanceQueue(account: Account, queue: Item[], inFlightMax: number, nowMs: number, out: DeskEffect[]): void {
  const fees = feesOf(account);
  const price = account.facts?.price ?? null;
  for (let at = 0; at < queue.length && price !== null; ) {
    const item = queue[at] as Item;
    if (isBusy(item, nowMs)) {
      at += 1;
      continue;
    }
    if (account.unincluded.size >= inFlightMax) {
      item.waiting = "others in flight";
      return;
    }
    const gas = gasOf(item, 0, nowMs);
    const facts = fees.first(price, gas ?? fees.workMin);
    if (!isCovered(item, fees.most(facts))) {
      item.waiting = whyUncovered(item);
      item.reverts = { count: 0, firstAtMs: 0 };
      return;
    }
    if (gas === null) {
      estimateAhead(queue, at, nowMs, out);
      return;
    }
    // Takes the item out of this queue, so that `at` names the next one.
    askSign(item, facts, nowMs, out);
  }
}

/**
 * What its call costs, by an estimate not made before `sinceMs` and still good; null when there is
 * none.
 */
export function gasOf({ gas }: Item, sinceMs: number, nowMs: number): bigint | null {
  return gas !== null && gas.atMs >= sinceMs && nowMs - gas.atMs <= gasValidMs ? gas.limit : null;
}

export function askGas(item: Item, nowMs: number, out: DeskEffect[]): void {
  if (item.gasAskedAtMs !== null) return;
  item.gasAskedAtMs = nowMs;
  const { account, view } = item;
  out.push({ kind: "gas", chain: account.chain, from: account.address, withdrawal: view });
}

/** Aside, or being declined: nothing more is asked for it meanwhile. */
function isBusy(item: Item, nowMs: number): boolean {
  return item.asking !== null || isAside(item, nowMs);
}

function isCovered(item: Item, feeUnits: bigint): boolean {
  const { account, view, amountUnits } = item;
  const native = freeUnits(account, "");
  if (view.contract === "") return native !== null && native >= amountUnits + feeUnits;
  const token = freeUnits(account, view.contract);
  return native !== null && native >= feeUnits && token !== null && token >= amountUnits;
}

function whyUncovered({ account, view: { contract } }: Item): string {
  const unfit = account.facts?.unfit.get(contract);
  if (unfit !== undefined) return `out of service: ${unfit}`;
  return freeUnits(account, contract) === null ? "the token's balance cannot be read" : "funds";
}

/**
 * Estimates for the head of the queue and those right behind it that are likely to be covered as
 * well.
 */
function estimateAhead(queue: readonly Item[], from: number, nowMs: number, out: DeskEffect[]): void {
  const first = queue[from] as Item;
  let left = freeUnits(first.account, first.view.contract) ?? 0n;
  for (const item of queue.slice(from, from + prefetchMax)) {
    left -= item.amountUnits;
    if (left < 0n) return;
    if (gasOf(item, 0, nowMs) !== null || item.gasAskedAtMs !== null || isBusy(item, nowMs)) continue;
    item.gasAskedAtMs = nowMs;
    item.waiting = "";
    const { account, view } = item;
    out.push({ kind: "gas", chain: account.chain, from: account.address, withdrawal: view });
  }
}

function askSign(item: Item, facts: Facts, nowMs: number, out: DeskEffect[]): void {
  item.asking = ask("sign", nowMs);
  item.feeAskedWei = feesOf(item.account).most(facts);
  item.waiting = "";
  file(item);
  out.push({ kind: "ask", withdrawal: item.view, verb: "sign", body: { transactionId: item.view.transactionId, facts } });
}

/**
 * An intent without a signature, as a crash or an opened ledger leaves it. The signer finishes what
 * a crash left with the figures that it recorded; of what an opened ledger keeps it has none, and
 * holds these against its ceilings.
 */
export function finishIntent(item: Item, nowMs: number, out: DeskEffect[]): void {
  const price = item.account.facts?.price ?? null;
  if (price === null) return;
  const work = gasOf(item, 0, nowMs);
  if (work === null) askGas(item, nowMs, out);
  else askSign(item, feesOf(item.account).first(price, work), nowMs, out);
}

type GasAnswer = Extract<DeskEvent, { kind: "gas" }>["answer"];

export function takeGas(item: Item, answer: GasAnswer, nowMs: number, out: DeskEffect[]): void {
  item.gasAskedAtMs = null;
  if (answer.ok) {
    item.gas = { limit: answer.gasLimit, atMs: nowMs };
    item.reverts = { count: 0, firstAtMs: 0 };
    return;
  }
  if (!answer.wouldRevert) {
    if (item.asking === null) setAside(item, answer.code, { notBeforeMs: nowMs + faultRetryMs });
    return;
  }
  const newest = item.view.versions.at(-1);
  if (newest !== undefined && item.account.waiting !== null) {
    // No slot has to be used up, so what the chain would not carry out is not signed again.
    setAside(item, "the chain would revert it", { notBeforeMs: nowMs + revertRetryMs });
    return;
  }
  if (newest !== undefined || item.view.state === "intent") {
    // What is bound must use its slot up, whatever comes of it: the limit of before is as good as
    // any.
    item.gas = { limit: workOf(item, newest), atMs: nowMs };
    return;
  }
  if (item.view.state !== "approved" || item.asking !== null) return;
  const fees = feesOf(item.account);
  const price = item.account.facts?.price ?? null;
  if (price === null || !isCovered(item, fees.most(fees.first(price, fees.workMin)))) {
    setAside(item, "funds", { notBeforeMs: nowMs + faultRetryMs });
    return;
  }
  const { reverts } = item;
  if (reverts.count === 0) reverts.firstAtMs = nowMs;
  reverts.count += 1;
  if (reverts.count >= revertsMax && nowMs - reverts.firstAtMs >= revertsOverMs) {
    item.asking = ask("decline", nowMs);
    const body = { transactionId: item.view.transactionId, code: "CHAIN_WOULD_REVERT" };
    out.push({ kind: "ask", withdrawal: item.view, verb: "decline", body });
    return;
  }
  // Retries are spread so that the last one that counts falls just past the time that must go by.
  const nextAtMs = reverts.count >= revertsMax - 1 ? reverts.firstAtMs + revertsOverMs : nowMs + revertRetryMs;
  setAside(item, "the chain would revert it", { notBeforeMs: Math.max(nextAtMs, nowMs + faultRetryMs) });
}

function workOf({ account }: Item, newest: VersionView | undefined): bigint {
  const fees = feesOf(account);
  const facts = newest?.facts ?? null;
  return facts === null ? fees.workUnknown : fees.workOf(facts);
}

function isPrice(code: string): boolean {
  return code.startsWith("POLICY_FEE") || code.startsWith("POLICY_TIP");
}

/**
 * The signer said no to a request about this withdrawal. @returns whether its own view should be
 * asked for.
 */
export function takeRefusal(item: Item, code: string, nowMs: number): boolean {
  // Asked for again: what the nodes said then was too little for any such transaction.
  if (code === "POLICY_FEE_BELOW_FLOOR") item.gas = null;
  // A tip over its ceiling comes from the higher of the nodes' figures: the lower one does from now
  // on.
  if (code === "POLICY_TIP_ABOVE_MAX") item.isTipLow = true;
  // A fee over its ceiling is a matter of the market: it is offered again at each block.
  if (isPrice(code) && item.account.facts !== null) {
    setAside(item, `fee ${code}`, "next block");
    return false;
  }
  if (waitingCodes.has(code)) {
    setAside(item, code, { notBeforeMs: nowMs + fullRetryMs });
    return false;
  }
  item.refusals += 1;
  const waitMs = Math.min(refusalRetryMsMax, refusalRetryMs * 2 ** Math.min(item.refusals - 1, 8));
  setAside(item, code, { notBeforeMs: nowMs + waitMs });
  return true;
}
