/**
 * Payments to open requests that nodes show and no block has, on chains whose nodes show them. They
 * are shown to the people who wait, and credit nothing. A request whose whole sum was seen before
 * its end, by enough nodes and at a fee with which blocks take it, is held open: the payer has done
 * what was asked, and the chain alone is slow. A hold ends when the payment is final, when no node
 * has shown it for an hour, and by its own clock. Source: docs/api.md, stages of a deposit.
 */
import { resultOf } from "../../base/result.ts";
import type { Arriving } from "../../chains/nodes.ts";
import {
  type ArrivingRow,
  dropArriving,
  keepArriving,
  listArriving,
  listOpenBehind,
  type OpenRequest,
} from "../store/arriving.ts";
import { listCounted } from "../store/credits.ts";
import type { Database } from "../store/store.ts";
import type { Tip, WatchedChain } from "./chain.ts";
import { isPaid } from "./credit.ts";
import { askedUnits, judgeRequests } from "./payments.ts";

/** Addresses of one pass, and the shortest time for all of them. */
const atOnce = 16;
const lapMs = 30_000;
/**
 * A payment that no node shows for so long is gone; one that nothing holds already after the
 * shorter time.
 */
const goneMs = 3_600_000;
const unheldGoneMs = 90_000;

/** The place in the list of open requests where the next pass goes on. */
export interface ArrivingMemory {
  place: number;
  lapAt: number; // when the list was last begun
}

export function newArrivingMemory(): ArrivingMemory {
  return { place: 0, lapAt: Number.NEGATIVE_INFINITY };
}

/**
 * Looks at the next open requests, and keeps what nodes show of them. An answer that cannot be had
 * changes nothing. @throws AgentError NODE_CLOSED
 */
export async function watchArriving(chain: WatchedChain, { askedAt }: Tip, memory: ArrivingMemory): Promise<void> {
  const { reader, store, network, currencies } = chain;
  const native = currencies.find(({ contract }) => contract === "");
  if (reader.arriving === undefined || native === undefined || chain.ownClock().kind !== "right") return;
  if (memory.place === 0 && askedAt - memory.lapAt < lapMs) return;
  if (memory.place === 0) memory.lapAt = askedAt;
  const some = listOpenBehind(store.database, { network, currency: native.id }, memory.place, atOnce);
  memory.place = some.length < atOnce ? 0 : (some.at(-1)?.place ?? 0);
  if (some.length === 0) return;
  const told = await resultOf(async () => reader.arriving?.(some.map(({ depositAddress }) => depositAddress)) ?? []);
  const answers = told.ok ? told.value : [];
  const read = some.flatMap((request, at) => {
    const answer = answers[at];
    return answer?.ok === true ? [{ request, arriving: answer.value }] : [];
  });
  if (read.every(({ request, arriving }) => isIdle(store.database, request, arriving))) return;
  const changed = store.write((database) => {
    for (const { request, arriving } of read) keep(database, request, arriving, { nowMs: askedAt, holdMs: chain.confirmingMs });
    const ids = read.map(({ request }) => request.id);
    return judgeRequests(chain, database, ids, 0);
  });
  for (const transactionId of changed) chain.signals.emit("changed", { transactionId });
}

/** True if nothing arrives and nothing did, as for most requests. */
function isIdle(database: Database, { id }: OpenRequest, { payments }: Arriving): boolean {
  return payments.length === 0 && listArriving(database, id).length === 0;
}

interface Times {
  readonly nowMs: number;
  readonly holdMs: number;
}

function keep(database: Database, request: OpenRequest, { payments, isWhole }: Arriving, { nowMs, holdMs }: Times): void {
  const { id: transactionId, expiresAt } = request;
  const known = new Map(listArriving(database, transactionId).map((row) => [row.txHash, row]));
  const inBlocks = listCounted(database, request);
  const hashes = new Set(inBlocks.map(({ txHash }) => txHash));
  const isOpen = holdMs > 0 && nowMs < expiresAt + holdMs;
  const isHeld = isOpen && [...known.values()].some((row) => row.isHeld === 1);
  // One that a block has stays as it is, whatever a slow node still shows.
  const arriving = payments.filter(({ txHash }) => !hashes.has(txHash));
  const sure = arriving.filter(({ isSure }) => isSure);
  const asked = askedUnits(database, request);
  const isEnough = (some: readonly { readonly units: bigint }[]): boolean =>
    isPaid(
      asked,
      [...some, ...inBlocks].reduce((sum, { units }) => sum + units, 0n),
    );
  const begins = isOpen && nowMs < expiresAt && sure.length > 0 && isEnough(sure);
  const isStillWhole = isEnough(arriving);
  for (const { txHash, units, isReplaceable, isSure } of arriving) {
    // A payer who raises the fee of a held payment makes another transaction of the same sum.
    const holds = (isHeld && (isStillWhole || known.get(txHash)?.isHeld === 1)) || (begins && isSure);
    keepArriving(database, {
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
    if (isWhole && isGone(row, nowMs)) dropArriving(database, row);
    else if (row.isHeld === 1 && !isOpen) keepArriving(database, { ...row, isHeld: 0 });
  }
}

function isGone({ seenAt, isHeld }: ArrivingRow, nowMs: number): boolean {
  return nowMs - seenAt >= (isHeld === 1 ? goneMs : unheldGoneMs);
}
