/**
 * Payments to open requests that nodes show and no block has, on chains whose nodes show them. They
 * are shown to the people who wait, and credit nothing. A request whose whole sum was seen before
 * its end, by enough nodes and at a fee with which blocks take it, is held open: the payer has done
 * what was asked, and the chain alone is slow. A hold ends when the payment is final, when no node
 * has shown it for an hour, and by its own clock. Source: docs/api.md, stages of a deposit.
 */
import { resultOf } from "../../base/result.ts";
import type { ArrivingPayments } from "../../chains/nodes.ts";
import { MerchantTurns } from "../faults/turns.ts";
import {
  type ArrivingPaymentRow,
  dropArrivingPayment,
  keepArrivingPayment,
  listArrivingPayments,
  listOpenRequests,
  type OpenRequest,
} from "../store/arriving.ts";
import { listCountedPayments } from "../store/credits.ts";
import type { Database } from "../store/store.ts";
import type { Tip, WatchedChain } from "./chain.ts";
import { isPaidBy, judgeRequests } from "./payments.ts";

/**
 * Addresses of one pass: a twentieth of the open requests, so that a longer list has no longer lap,
 * within these bounds; and of an hour, however many passes it has. An address is a question or two
 * to each node.
 */
const leastAtOnce = 16;
const mostAtOnce = 64;
const lapPasses = 20;
const mostInHour = 6_000;
/** A request is looked at again after this time at the quickest. */
const lapMs = 30_000;
/**
 * A request whose end is so near comes before the merchant's others: its payment holds it only now.
 */
const nearMs = 10 * 60_000;
const hourMs = 3_600_000;
/**
 * A payment that no node shows for so long is gone; one that nothing holds already after the
 * shorter time.
 */
const goneMs = hourMs;
const unheldGoneMs = 90_000;
/** Rows of a request that hold it, and rows that do not: what more a node shows makes none. */
const rowsMax = 64;

/** What passes remember of open requests. A new process begins again, which shortens no hold. */
export interface ArrivingMemory {
  readonly turns: MerchantTurns; // of merchants
  readonly looks: Map<string, ArrivalLooks>; // by request id
  room: number; // addresses that the hour has left
  roomAt: number; // when it was counted
}

interface ArrivalLooks {
  readonly askedAt: number;
  readonly answeredAt: number | null; // null while the newest look had no answer
  readonly missedMs: Map<string, number>; // by txHash of a held payment, the time that answers did not show it
}

export function newArrivingMemory(): ArrivingMemory {
  return {
    turns: new MerchantTurns(),
    looks: new Map(),
    room: mostAtOnce,
    roomAt: Number.NEGATIVE_INFINITY,
  };
}

/**
 * The requests of this pass: of merchants in turn, and of each the nearest end and the longest
 * wait.
 */
function dealOpen(
  open: readonly OpenRequest[],
  memory: ArrivingMemory,
  nowMs: number,
): readonly OpenRequest[] {
  const { looks, turns } = memory;
  const ids = new Set(open.map(({ id }) => id));
  for (const id of looks.keys()) if (!ids.has(id)) looks.delete(id);
  const gained = ((nowMs - memory.roomAt) * mostInHour) / hourMs;
  memory.room = Math.min(mostAtOnce, memory.room + Math.max(0, gained));
  memory.roomAt = nowMs;
  const askedAt = ({ id }: OpenRequest): number =>
    looks.get(id)?.askedAt ?? Number.NEGATIVE_INFINITY;
  const isFar = ({ expiresAt }: OpenRequest): number => (expiresAt - nowMs > nearMs ? 1 : 0);
  const due = open
    .filter((one) => Math.abs(nowMs - askedAt(one)) >= lapMs)
    .sort(
      (a, b) => isFar(a) - isFar(b) || (askedAt(a) === askedAt(b) ? 0 : askedAt(a) - askedAt(b)),
    );
  const wanted = Math.min(mostAtOnce, Math.max(leastAtOnce, Math.ceil(open.length / lapPasses)));
  const most = Math.min(wanted, Math.floor(memory.room));
  turns.beginPass();
  const some =
    most < 1 ? [] : turns.deal(due, most, ({ merchant }) => ({ merchant, questions: 1 }));
  memory.room -= some.length;
  return some;
}

/**
 * Looks at the next open requests, and keeps what nodes show of them. An answer that cannot be had
 * changes nothing. @throws AgentError NODE_CLOSED
 */
export async function watchArriving(
  chain: WatchedChain,
  { askedAt }: Tip,
  memory: ArrivingMemory,
): Promise<void> {
  const { reader, store, network, currencies } = chain;
  const native = currencies.find(({ contract }) => contract === "");
  if (reader.arriving === undefined || native === undefined || chain.ownClock().kind !== "right")
    return;
  const some = dealOpen(
    listOpenRequests(store.database, { network, currency: native.id }),
    memory,
    askedAt,
  );
  if (some.length === 0) return;
  const told = await resultOf(
    async () => reader.arriving?.(some.map(({ address }) => address)) ?? [],
  );
  const answers = told.ok ? told.value : [];
  const read = some.flatMap((request, at) => {
    const answer = answers[at];
    const looks = noteLook(memory, request, answer?.ok === true ? answer.value : null, askedAt);
    return answer?.ok === true ? [{ request, arriving: answer.value, looks }] : [];
  });
  if (read.every(({ request, arriving }) => isIdle(store.database, request, arriving))) return;
  const changed = store.write((database) => {
    for (const { request, arriving, looks } of read)
      keep(database, request, arriving, {
        nowMs: askedAt,
        holdMs: chain.confirmingMs,
        missedMs: looks.missedMs,
      });
    const ids = read.map(({ request }) => request.id);
    return judgeRequests(chain, database, ids, 0);
  });
  for (const transactionId of changed) chain.signals.emit("changed", { transactionId });
}

/**
 * Notes a look at a request, and for how long answers have not shown the payments that were shown
 * before: the time between two answers counts, and none before or after a look without one.
 */
function noteLook(
  { looks }: ArrivingMemory,
  { id }: OpenRequest,
  answer: ArrivingPayments | null,
  nowMs: number,
): ArrivalLooks {
  const before = looks.get(id);
  const missedMs = before?.missedMs ?? new Map<string, number>();
  const passedMs = nowMs - (before?.answeredAt ?? nowMs);
  if (answer !== null) {
    for (const [hash, missed] of missedMs) missedMs.set(hash, missed + passedMs);
    for (const { txHash } of answer.payments) missedMs.delete(txHash);
  }
  const now: ArrivalLooks = {
    askedAt: nowMs,
    answeredAt: answer === null ? null : nowMs,
    missedMs,
  };
  looks.set(id, now);
  return now;
}

/** True if nothing arrives and nothing did, as for most requests. */
function isIdle(database: Database, { id }: OpenRequest, { payments }: ArrivingPayments): boolean {
  return payments.length === 0 && listArrivingPayments(database, id).length === 0;
}

interface Times {
  readonly nowMs: number;
  readonly holdMs: number;
  readonly missedMs: Map<string, number>; // of the request's looks
}

function keep(
  database: Database,
  request: OpenRequest,
  { payments, isWhole }: ArrivingPayments,
  times: Times,
): void {
  const { nowMs, holdMs, missedMs } = times;
  const { id: transactionId, expiresAt, pricedUntil } = request;
  const known = new Map(
    listArrivingPayments(database, transactionId).map((row) => [row.txHash, row]),
  );
  const inBlocks = listCountedPayments(database, request);
  const hashes = new Set(inBlocks.map(({ txHash }) => txHash));
  const isOpen = holdMs > 0 && nowMs < expiresAt + holdMs;
  const isHeld = isOpen && [...known.values()].some((row) => row.isHeld === 1);
  // One that a block has stays as it is, whatever a slow node still shows.
  const arriving = payments.filter(({ txHash }) => !hashes.has(txHash));
  for (const hash of missedMs.keys()) if (known.get(hash)?.isHeld !== 1) missedMs.delete(hash);
  const sure = arriving.filter(({ isSure }) => isSure);
  const isEnough = (some: readonly { readonly units: bigint }[]): boolean => {
    const units = [...some, ...inBlocks].reduce((sum, one) => sum + one.units, 0n);
    return isPaidBy(database, request, units);
  };
  // The amount of a choice is unknown once its price is over, and a hold shuts out the others.
  const isPriced = pricedUntil === null || nowMs < pricedUntil;
  const begins = isOpen && isPriced && nowMs < expiresAt && sure.length > 0 && isEnough(sure);
  const isStillWhole = isEnough(arriving);
  for (const { txHash, units, isReplaceable, isSure } of arriving) {
    // A payer who raises the fee of a held payment makes another transaction of the same sum.
    const holds =
      (isHeld && (isStillWhole || known.get(txHash)?.isHeld === 1)) || (begins && isSure);
    keepArrivingPayment(database, {
      transactionId,
      txHash,
      units: `${units}`,
      firstAt: known.get(txHash)?.firstAt ?? nowMs,
      seenAt: nowMs,
      isReplaceable: isReplaceable ? 1 : 0,
      isHeld: holds ? 1 : 0,
    });
    known.delete(txHash);
  }
  for (const row of known.values()) {
    if (hashes.has(row.txHash)) continue;
    const missed = missedMs.get(row.txHash) ?? 0;
    if (row.isHeld === 1) missedMs.set(row.txHash, missed);
    if (isWhole && isGone(row, nowMs)) dropArrivingPayment(database, row);
    else if (row.isHeld === 1 && (!isOpen || missed >= goneMs))
      keepArrivingPayment(database, { ...row, isHeld: 0 });
  }
  dropBeyond(database, transactionId);
}

/** Keeps the rows that were shown last, and of those the largest. */
function dropBeyond(database: Database, transactionId: string): void {
  const rows = listArrivingPayments(database, transactionId);
  if (rows.length <= rowsMax) return;
  const bySize = (a: ArrivingPaymentRow, b: ArrivingPaymentRow): number =>
    Number(BigInt(b.units) - BigInt(a.units));
  const inOrder = [...rows].sort((a, b) => b.seenAt - a.seenAt || bySize(a, b));
  for (const isHeld of [0, 1] as const)
    for (const row of inOrder.filter((one) => one.isHeld === isHeld).slice(rowsMax))
      dropArrivingPayment(database, row);
}

function isGone({ seenAt, isHeld }: ArrivingPaymentRow, nowMs: number): boolean {
  return nowMs - seenAt >= (isHeld === 1 ? goneMs : unheldGoneMs);
}
