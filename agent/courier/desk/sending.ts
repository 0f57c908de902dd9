/**
 * Released bytes to the nodes: at once, again while they are in no block, and a dearer version of
 * the same nonce for the one at the head of the line. Only bytes the signer released are ever sent,
 * and only the same ones again.
 */
import type { Facts } from "../../../chains/family.ts";
import type { VersionView } from "../../socket/verbs.ts";
import { named } from "./accounts.ts";
import { ask, bySlot, file, freeUnits, isAside, lowest, outVersions, releasedVersions } from "./book.ts";
import type { DeskEffect, DeskEvent } from "./events.ts";
import type { Account, Declined, Item } from "./item.ts";
import { askGas, feesOf, gasOf, versionsMax } from "./signing.ts";
import { byPatience, isPastSending } from "./waiting.ts";

/** The same bytes again after this long, for nodes that forgot them. */
const resendMs = 30_000;
/**
 * At most this many again at a time: those behind the lowest nonces wait for these anyway.
 */
const resendMax = 16;
/** Without an answer from the nodes for this long, the sending counts as lost. */
const sendingMsMax = 60_000;
const unsentRetryMs = 1000;
const unsentRetryMsMax = 15_000;
/**
 * A version that stood at the head of the line for this long without a block taking it gets a
 * dearer successor.
 */
const bumpBlocks = 6;
const bumpMs = 60_000;
/**
 * Never sooner than this after the one before, whatever a node says of the fee: the signer holds to
 * the same (agent/signer/acts/replace.ts).
 */
const versionsApartMs = 30_000;
/**
 * How old a count is that says of a lower nonce that it comes first, before it is asked for again.
 */
const gapRecheckMs = 15_000;

/**
 * Sends the newest released version unless it was sent already; `isResend` allows the same bytes
 * again when they are due.
 */
export function send(item: Item, isResend: boolean, nowMs: number, out: DeskEffect[]): void {
  if (item.stopped !== "" || item.place !== null || item.verdict !== null) return;
  const newest = releasedVersions(item.view).at(-1);
  if (newest === undefined || isPastSending(item, newest)) return;
  if (item.sendingSinceMs !== null && nowMs - item.sendingSinceMs < sendingMsMax) return;
  if (nowMs < item.sendNotBeforeMs) return;
  const isNew = item.sent?.version !== newest.version;
  if (!isNew && !(isResend && nowMs - (item.sent?.atMs ?? 0) >= resendMs)) return;
  item.sendingSinceMs = nowMs;
  out.push({ kind: "send", chain: item.account.chain, withdrawal: item.view, version: newest.version });
}

/**
 * The lowest slots that are in no block, again; where none stands in front, those sent longest ago.
 */
export function resend(account: Account, nowMs: number, out: DeskEffect[]): void {
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

type SentEvent = Extract<DeskEvent, { kind: "sent" }>;

export function takeSent(item: Item, event: SentEvent, nowMs: number, out: DeskEffect[]): void {
  item.sendingSinceMs = null;
  const version = item.view.versions.find((each) => each.version === event.version);
  if (version === undefined) return;
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
  // Whatever a node says but "not sent": from here on it may be in any mempool, and only the chain
  // knows its fate.
  const isSame = item.sent?.version === event.version;
  const firstAtMs = isSame && item.sent !== null ? item.sent.firstAtMs : nowMs;
  const firstBlock = isSame && item.sent !== null ? item.sent.firstBlock : (item.account.facts?.number ?? null);
  const isUnderpriced = event.outcome === "underpriced";
  const isExpired = event.outcome === "expired";
  const declined = declinedBy(item, event, isSame);
  const times = { atMs: nowMs, firstAtMs, firstBlock };
  item.sent = { version: event.version, txHash: version.txHash, ...times, isUnderpriced, isExpired, declined };
  item.unsent = 0;
  item.waiting = "";
  if (event.outcome === "slot-consumed") {
    out.push({ kind: "look", ...named(item.account), wanted: [lookFor(item)] });
  }
}

/**
 * On a chain whose versions end by waiting, a node that refused bytes calls them known when it sees
 * them again, so only another answer ends a refusal there.
 */
function declinedBy({ account, sent }: Item, { outcome, detail, isIncurable }: SentEvent, isSame: boolean): Declined | null {
  if (outcome === "declined") return { words: detail, isIncurable: isIncurable === true };
  const isDoubtful = account.waiting !== null && outcome === "sent" && detail.startsWith("known");
  return isDoubtful && isSame ? (sent?.declined ?? null) : null;
}

/** Begins the reason of what no node took; the command line knows it by these words. */
const declinedReason = "offered, no node took it";

/** Why what was offered is in no pool, with the node's own words; "" where that is not so. */
export function declinedWords({ sent, place, verdict }: Item): string {
  if (sent === null || sent.declined === null || place !== null || verdict !== null) return "";
  return `${declinedReason}: ${sent.declined.words}`;
}

/** Every version that was ever let out may be the one a block holds. */
export function lookFor(item: Item): { readonly withdrawal: Item["view"]; readonly txHashes: readonly string[] } {
  return { withdrawal: item.view, txHashes: outVersions(item.view).map((version) => version.txHash) };
}

/**
 * Once per block: a dearer version for the lowest nonce when it has waited its time. The ceilings
 * are the signer's.
 */
export function bump(account: Account, nowMs: number, out: DeskEffect[]): void {
  const { facts } = account;
  if (feesOf(account).bidding === null) return;
  const item = lowest(account.pending);
  if (facts === null || item === undefined || item.sent === null || item.stopped !== "" || item.asking !== null) return;
  // What is over on chain is only told: a replacement refused at each block would keep that waiting
  // for ever.
  if (item.verdict !== null) return;
  const newest = item.view.versions.at(-1);
  // The newest must be out already; one that is still at the gate is the successor in the making.
  if (newest === undefined || newest.raw === undefined || newest.version !== item.sent.version || isAside(item, nowMs)) return;
  const { firstBlock, firstAtMs, isUnderpriced } = item.sent;
  if (firstBlock === null) {
    item.sent = { ...item.sent, firstBlock: facts.number };
    return;
  }
  const ageMs = nowMs - firstAtMs;
  const isDue = isUnderpriced || facts.number - firstBlock >= bumpBlocks || ageMs >= bumpMs;
  if (!isDue || ageMs < versionsApartMs || facts.number === firstBlock) return;
  // A node shows it in a block, or no price makes a node take it: a dearer version could only be in
  // vain.
  if (item.isDoubtful || item.sent.declined?.isIncurable === true) return;
  const gap = gapBelow(item);
  if (gap !== null) {
    item.waiting = `${account.slots.say(gap)} of the account comes first`;
    return;
  }
  if (newest.version >= versionsMax) {
    item.waiting = "WITHDRAWAL_WAITS_FOR_PERSON";
    return;
  }
  // What the call costs may have changed since, and what was said of it then may not have been
  // true.
  const gas = gasOf(item, firstAtMs + versionsApartMs, nowMs);
  if (gas === null) {
    askGas(item, nowMs, out);
    return;
  }
  const next = dearer(item, newest, gas);
  if (next === null) return;
  const most = feesOf(account).most(next);
  if ((freeUnits(account, "") ?? 0n) < most - BigInt(newest.feeMax)) {
    item.waiting = "funds for a higher fee";
    return;
  }
  item.asking = ask("replace", nowMs);
  item.feeAskedWei = most;
  file(item);
  out.push({
    kind: "ask",
    withdrawal: item.view,
    verb: "replace",
    body: { transactionId: item.view.transactionId, above: newest.version, facts: next },
  });
}

/**
 * A lower slot that nobody here can send and the chain waits for, null when there is none: no fee
 * helps above one. Nodes may count late what is ours and in a block, so it is one that none of ours
 * has; the count is asked for again. A slot that is used already is no reason: a ledger that was
 * put back makes the version that it forgot once more, byte for byte where prices stood still, and
 * so learns who used it.
 */
function gapBelow({ account, view: { slot } }: Item): string | null {
  const { counters, flight, slots } = account;
  if (counters.latest === null || slots.compare(counters.latest.slot, slot) >= 0) return null;
  const own = new Set([...flight].map((item) => item.view.slot));
  let next = counters.latest.slot;
  while (own.has(next) && slots.compare(next, slot) < 0) next = slots.next(next);
  if (slots.compare(next, slot) >= 0) return null;
  counters.dueAtMs = Math.min(counters.dueAtMs, counters.latest.atMs + gapRecheckMs);
  return next;
}

/**
 * After a recovery the bytes of the newest version may be gone, and a person has said yes to this
 * withdrawal again: it gets a version of its own at the market's price, of the same nonce, so that
 * only one of them all can ever be in a block.
 */
export function signAgain(account: Account, nowMs: number, out: DeskEffect[]): void {
  if (feesOf(account).bidding === null) return;
  for (const item of bySlot(account.pending)) {
    const newest = item.view.versions.at(-1);
    const isApproved = item.view.state === "released" || item.view.state === "broadcast";
    if (!isApproved || newest?.isOut !== true || item.asking !== null || item.stopped !== "" || isAside(item, nowMs)) continue;
    if (account.facts === null || item.place !== null || item.verdict !== null) continue;
    if (item.gas === null) {
      askGas(item, nowMs, out);
      continue;
    }
    const next = dearer(item, newest, item.gas.limit);
    if (next === null) continue;
    item.asking = ask("replace", nowMs);
    item.feeAskedWei = feesOf(account).most(next);
    file(item);
    const { transactionId } = item.view;
    out.push({
      kind: "ask",
      withdrawal: item.view,
      verb: "replace",
      body: { transactionId, above: newest.version, facts: next },
    });
  }
}

/** By the signer's own rule, or to the market where that is higher. */
function dearer({ account, isTipLow, view: { versions } }: Item, newest: VersionView, work: bigint): Facts | null {
  const { bidding } = feesOf(account);
  if (account.facts === null || bidding === null) return null;
  return bidding.dearerAt(account.facts.price, versions, work, newest.version, isTipLow);
}
