/**
 * The scheduler for chains on which no slot excludes a second payment: an attempt ends by expiry.
 * After chain time has passed the end and no block has the attempt, the scheduler asks the nodes if
 * it is void. The signer gets the nodes' answer, and the same statement from the gateway. Only an
 * attempt that both call void gets a replacement, with new transaction parameters. A later
 * inclusion counts more than the nodes' answer. Our own clock decides none of this.
 */
import type { DeadQuestion } from "../../../chains/nodes.ts";
import { courierVersionsMax } from "../../socket/limits.ts";
import type { VersionView, WithdrawalStep } from "../../socket/verbs.ts";
import { named } from "./accounts.ts";
import { ask, file, freeUnits, isAside, isToldOver, outVersions, releasedVersions } from "./book.ts";
import type { DeadAnswer, DeadWanted, DeskEffect } from "./events.ts";
import type { Account, Book, Item } from "./item.ts";
import { askGas, feesOf, gasOf } from "./signing.ts";

/**
 * Most attempts in one question. Each account has one question at a time, because all attempts
 * share the blocks to be read.
 */
const deadAskedMax = 64;
/** After this time without an answer from the nodes, the question counts as lost. */
const deadMsMax = 120_000;
/** An attempt that is not yet void is asked for again after this time. */
const againMs = 15_000;
/** After this time in no block, `status` says what the withdrawal waits for. */
const patienceMs = 60_000;

const forGateway = "waits for the gateway's word that no block takes it any more";
const fundsForAnother = "funds for another version";

/** True if nodes or gateway called the attempt void; then none of its bytes are sent any more. */
function isCalledDead({ dead }: Item, version: VersionView): boolean {
  return version.dead !== undefined || dead.has(version.txHash);
}

/** True if sending it cannot succeed any more. Always false if a slot excludes. */
export function isPastSending(item: Item, version: VersionView): boolean {
  const { account, sent } = item;
  if (account.waiting === null) return false;
  if (isCalledDead(item, version) || (sent?.isExpired === true && sent.txHash === version.txHash)) return true;
  return version.until !== undefined && (account.facts?.chainMs ?? 0) > version.until;
}

/**
 * The withdrawal that was sent, or looked for, longest ago comes first, because none blocks others.
 */
export function byPatience(items: Iterable<Item>, atMsOf: (item: Item) => number): Item[] {
  return [...items].sort((a, b) => atMsOf(a) - atMsOf(b) || a.view.sequence - b.view.sequence);
}

/** Asks the nodes about those attempts in no block whose end the chain has passed. */
export function askDead(account: Account, nowMs: number, out: DeskEffect[]): void {
  const { waiting, facts, askingDead } = account;
  if (waiting === null || facts?.chainMs === undefined) return;
  const { chainMs } = facts;
  const due: { readonly item: Item; readonly versions: readonly DeadQuestion[]; readonly untilMs: number }[] = [];
  for (const item of account.pending) {
    say(item, chainMs, nowMs);
    if (isSeen(item) || nowMs < item.deadDueAtMs) continue;
    const versions = notDead(item);
    const untilMs = Math.max(...versions.map((one) => one.untilMs));
    if (versions.length > 0 && chainMs > untilMs + waiting.marginMs) due.push({ item, versions, untilMs });
  }
  if (due.length === 0 || (askingDead !== null && nowMs - askingDead < deadMsMax)) return;
  due.sort((a, b) => a.untilMs - b.untilMs);
  const oldest = due[0]?.untilMs ?? 0;
  const some = due.filter(({ untilMs }) => untilMs - oldest <= waiting.lifeMsMax).slice(0, deadAskedMax);
  account.askingDead = nowMs;
  for (const { item } of some) item.deadDueAtMs = nowMs + againMs;
  const wanted = some.map(({ item: { view }, versions }): DeadWanted => ({ withdrawal: view, versions }));
  out.push({ kind: "dead", ...named(account), wanted });
}

function isOver(item: Item): boolean {
  return isSeen(item) || isToldOver(item.view);
}

/**
 * True if a block has the withdrawal, as far as this scheduler knows. An end that the signer
 * recorded and no node shows does not count: such an attempt is looked for like any other, and may
 * be void.
 */
function isSeen({ verdict, stopped, place, isDoubtful }: Item): boolean {
  return verdict !== null || stopped !== "" || place !== null || isDoubtful;
}

/** Released attempts that our own nodes have not called void. */
function notDead({ view, dead }: Item): DeadQuestion[] {
  return outVersions(view).flatMap(({ txHash, until, dead: said }) =>
    until === undefined || dead.has(txHash) || isTold(said) ? [] : [{ txHash, untilMs: until }],
  );
}

function isTold(said: VersionView["dead"]): boolean {
  return said === "courier" || said === "both";
}

/** Sets the text of `status` for a withdrawal that stays in no block. */
function say(item: Item, chainMs: number, nowMs: number): void {
  const { account, sent, view } = item;
  const newest = releasedVersions(view).at(-1) ?? outVersions(view).at(-1);
  if (account.waiting === null || newest?.until === undefined || isOver(item) || isAside(item, nowMs)) return;
  if (isTold(newest.dead)) {
    if (newest.dead === "courier") item.waiting = forGateway;
    return;
  }
  const isLong = sent !== null && nowMs - sent.firstAtMs >= patienceMs;
  const wait = waitOf(newest.until + account.waiting.marginMs, chainMs);
  if (isLong || chainMs > newest.until) item.waiting = item.deadTrouble === "" ? wait : `${wait}; ${item.deadTrouble}`;
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
export function takeDead(book: Book, account: Account, found: readonly DeadAnswer[]): readonly Item[] {
  account.askingDead = null;
  return found.flatMap((one) => {
    const item = book.items.get(one.transactionId);
    if (item !== undefined) takeDeadOf(item, one);
    return item ?? [];
  });
}

function takeDeadOf(item: Item, { txHashes, answer }: DeadAnswer): void {
  // An inclusion that appeared meanwhile counts more than the answer.
  if (isSeen(item)) return;
  item.deadTrouble = answer.ok ? "" : answer.code;
  if (!answer.ok || !answer.isDead) return;
  for (const txHash of txHashes) item.dead.set(txHash, { block: answer.block, witnesses: answer.witnesses });
}

/** The void attempt that the signer must still record, null when there is none. */
export function death({ view, dead, place, isAbsent }: Item) {
  if (place !== null) return null;
  const newest = outVersions(view).at(-1);
  // The attempt was called void, then a late answer showed a block with it, and now no block has
  // it. The signer must record this.
  if (view.state === "included" && isAbsent && newest !== undefined && isTold(newest.dead))
    return { stage: "broadcast", outcome: "", txHash: newest.txHash, block: 0 } as const;
  for (const { txHash, dead: said } of outVersions(view)) {
    const found = dead.get(txHash);
    if (found === undefined || isTold(said)) continue;
    // The attempt was in a block and is out of it again. The signer must record this first.
    if (view.state === "included") return { stage: "broadcast", outcome: "", txHash, block: 0 } as const;
    return { stage: "dead", outcome: "", txHash, ...found } as const;
  }
  return null;
}

/** True if the signer's answer shows the attempt as void in its record. */
export function isRecorded({ versions }: Pick<WithdrawalStep, "versions">, key: string): boolean {
  const [, txHash] = key.split(" ");
  return versions.some((one) => one.txHash === txHash && isTold(one.dead));
}

/** A block has an attempt that was called void. The block counts, and an operator must look. */
export function disbelieve(item: Item, txHash: string, out: DeskEffect[]): void {
  const version = item.view.versions.find((one) => one.txHash === txHash);
  if (version === undefined || !isCalledDead(item, version)) return;
  item.dead.delete(txHash);
  const { transactionId } = item.view;
  out.push({ kind: "alarm", code: "COURIER_DEAD_PLACED", transactionId, detail: txHash });
}

/**
 * Asks for another attempt if all earlier ones are void by the statements of both the gateway and
 * our nodes.
 */
export function renew(account: Account, nowMs: number, out: DeskEffect[]): void {
  if (account.waiting === null || account.facts === null || account.away !== "") return;
  for (const item of byPatience(account.pending, ({ openedAtMs }) => openedAtMs)) {
    const { view } = item;
    const isMoving = view.state === "released" || view.state === "broadcast";
    if (!isMoving || !item.isAbsent || isOver(item) || item.asking !== null || isAside(item, nowMs)) continue;
    const newest = view.versions.at(-1);
    if (newest === undefined || view.versions.some(({ dead }) => dead !== "both")) continue;
    if (newest.version >= courierVersionsMax) item.waiting = "WITHDRAWAL_WAITS_FOR_PERSON";
    else askAnother(item, newest, account.facts.price, nowMs, out);
  }
}

function askAnother(
  item: Item,
  newest: VersionView,
  price: NonNullable<Account["facts"]>["price"],
  nowMs: number,
  out: DeskEffect[],
): void {
  const { account, view } = item;
  const work = gasOf(item, 0, nowMs);
  if (work === null) {
    askGas(item, nowMs, out);
    return;
  }
  const fees = feesOf(account);
  const facts = fees.first(price, work);
  const most = fees.most(facts);
  const bound = item.reserved.native - (view.contract === "" ? item.amountUnits : 0n);
  // All reserved funds must still be there, with the amount of this withdrawal and the highest fee
  // of this attempt. The attempt before is void, so its reserved fee serves this one.
  const isThere = (contract: string, more: bigint): boolean => (freeUnits(account, contract) ?? -1n) >= more;
  if (!isThere("", most - bound) || (view.contract !== "" && !isThere(view.contract, 0n))) {
    item.waiting = fundsForAnother;
    return;
  }
  item.asking = ask("replace", nowMs);
  item.feeAskedWei = most;
  item.waiting = "";
  file(item);
  const body = { transactionId: view.transactionId, above: newest.version, facts };
  out.push({ kind: "ask", withdrawal: view, verb: "replace", body });
}
