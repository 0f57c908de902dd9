/**
 * The desk where no slot keeps a second payment out: a version ends by waiting. Once the chain's
 * own time is past its end and no block has it, the nodes are asked whether it is dead; the signer
 * is told, and hears the same from the gateway. Only what both call dead gets another version, with
 * the facts of that moment. A place that turns up after all is believed over the word. No clock of
 * ours decides any of it.
 */
import type { DeadQuestion } from "../../../chains/nodes.ts";
import type { VersionView, WithdrawalStep } from "../../socket/verbs.ts";
import { named } from "./accounts.ts";
import { ask, file, freeUnits, isAside, isToldOver, outVersions, releasedVersions } from "./book.ts";
import type { DeadAnswer, DeadWanted, DeskEffect } from "./events.ts";
import type { Account, Book, Item } from "./item.ts";
import { askGas, feesOf, gasOf, versionsMax } from "./signing.ts";

/**
 * Asked for at once, and of one account one question at a time: they share the blocks to be read.
 */
const deadAskedMax = 64;
/** Without an answer from the nodes for this long, the question counts as lost. */
const deadMsMax = 120_000;
/** What is not dead yet is asked for again after this long. */
const againMs = 15_000;
/** In no block for so long: from then on `status` says what is waited for. */
const patienceMs = 60_000;

const forGateway = "waits for the gateway's word that no block takes it any more";
const fundsForAnother = "funds for another version";

/** Said to be dead by somebody: no byte of it is sent any more. */
function isCalledDead({ dead }: Item, version: VersionView): boolean {
  return version.dead !== undefined || dead.has(version.txHash);
}

/** Whether sending it could only be in vain. False where a slot excludes. */
export function isPastSending(item: Item, version: VersionView): boolean {
  const { account, sent } = item;
  if (account.waiting === null) return false;
  if (isCalledDead(item, version) || (sent?.isExpired === true && sent.txHash === version.txHash)) return true;
  return version.until !== undefined && (account.facts?.chainMs ?? 0) > version.until;
}

/**
 * The one that was sent, or looked for, longest ago comes first: nobody stands in front of others.
 */
export function byPatience(items: Iterable<Item>, atMsOf: (item: Item) => number): Item[] {
  return [...items].sort((a, b) => atMsOf(a) - atMsOf(b) || a.view.sequence - b.view.sequence);
}

/**
 * Which of those in no block the nodes are to be asked about, since the chain is past their end.
 */
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
 * A block has it, as far as this desk knows. An end that somebody told the signer and no node shows
 * is none: such a version is looked for like any other, and may be dead.
 */
function isSeen({ verdict, stopped, place, isDoubtful }: Item): boolean {
  return verdict !== null || stopped !== "" || place !== null || isDoubtful;
}

/** Versions that are out, and that our own nodes have not called dead. */
function notDead({ view, dead }: Item): DeadQuestion[] {
  return outVersions(view).flatMap(({ txHash, until, dead: said }) =>
    until === undefined || dead.has(txHash) || isTold(said) ? [] : [{ txHash, untilMs: until }],
  );
}

function isTold(said: VersionView["dead"]): boolean {
  return said === "courier" || said === "both";
}

/** What `status` says of one that stays in no block. */
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

/** Both times, so that a person sees how long it takes, and a chain that stands still. */
function waitOf(pastMs: number, chainMs: number): string {
  return `waits for chain time ${timeOf(pastMs)} (UTC), now ${timeOf(chainMs)}`;
}

function timeOf(ms: number): string {
  const at = new Date(ms);
  return Number.isNaN(at.getTime()) ? `${ms} ms` : at.toISOString().slice(11, 19);
}

/** The nodes' word on versions of an account. @returns the withdrawals concerned */
export function takeDead(book: Book, account: Account, found: readonly DeadAnswer[]): readonly Item[] {
  account.askingDead = null;
  return found.flatMap((one) => {
    const item = book.items.get(one.transactionId);
    if (item !== undefined) takeDeadOf(item, one);
    return item ?? [];
  });
}

function takeDeadOf(item: Item, { txHashes, answer }: DeadAnswer): void {
  // A place that turned up meanwhile is believed over it.
  if (isSeen(item)) return;
  item.deadTrouble = answer.ok ? "" : answer.code;
  if (!answer.ok || !answer.isDead) return;
  for (const txHash of txHashes) item.dead.set(txHash, { block: answer.block, witnesses: answer.witnesses });
}

/** What the signer has yet to be told of, null when there is nothing. */
export function death({ view, dead, place, isAbsent }: Item) {
  if (place !== null) return null;
  const newest = outVersions(view).at(-1);
  // It was called dead, then in a block by a late answer, and is in none: the signer has to hear
  // it.
  if (view.state === "included" && isAbsent && newest !== undefined && isTold(newest.dead))
    return { stage: "broadcast", outcome: "", txHash: newest.txHash, block: 0 } as const;
  for (const { txHash, dead: said } of outVersions(view)) {
    const found = dead.get(txHash);
    if (found === undefined || isTold(said)) continue;
    // It was in a block, and is out of it again: first the signer has to hear of that.
    if (view.state === "included") return { stage: "broadcast", outcome: "", txHash, block: 0 } as const;
    return { stage: "dead", outcome: "", txHash, ...found } as const;
  }
  return null;
}

/** Whether the signer's answer shows that it has recorded this death. */
export function isRecorded({ versions }: Pick<WithdrawalStep, "versions">, key: string): boolean {
  const [, txHash] = key.split(" ");
  return versions.some((one) => one.txHash === txHash && isTold(one.dead));
}

/** A block has what was called dead: a person must look, and the block is believed. */
export function disbelieve(item: Item, txHash: string, out: DeskEffect[]): void {
  const version = item.view.versions.find((one) => one.txHash === txHash);
  if (version === undefined || !isCalledDead(item, version)) return;
  item.dead.delete(txHash);
  const { transactionId } = item.view;
  out.push({ kind: "alarm", code: "COURIER_DEAD_PLACED", transactionId, detail: txHash });
}

/** Another version where every one before is dead, as both the gateway and we have said. */
export function renew(account: Account, nowMs: number, out: DeskEffect[]): void {
  if (account.waiting === null || account.facts === null || account.away !== "") return;
  for (const item of byPatience(account.pending, ({ openedAtMs }) => openedAtMs)) {
    const { view } = item;
    const isMoving = view.state === "released" || view.state === "broadcast";
    if (!isMoving || !item.isAbsent || isOver(item) || item.asking !== null || isAside(item, nowMs)) continue;
    const newest = view.versions.at(-1);
    if (newest === undefined || view.versions.some(({ dead }) => dead !== "both")) continue;
    if (newest.version >= versionsMax) item.waiting = "WITHDRAWAL_WAITS_FOR_PERSON";
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
  // All that is bound has to be there still, this one's amount included, and of its fee what this
  // version may cost: the one before is dead, whatever it was bound with.
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
