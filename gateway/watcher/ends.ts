/**
 * Ends deposit requests whose time is over. Neither the gateway's clock nor the chain's ends one
 * alone: a clock that is wrong for some seconds would end every open request, and the time of one
 * block is its maker's word. A request in the native coin waits until the block of its end is final
 * and the balance there is known, because coins that a contract sent in time count. Source:
 * docs/architecture.md section 8.
 */
import { goodResult } from "../../base/result.ts";
import { familyOf } from "../../chains/families.ts";
import { hasTags } from "../../chains/payees.ts";
import { isHeldOpen } from "../store/arriving.ts";
import {
  depositEndBlock,
  dropDepositEnd,
  keepDepositEnd,
  listDepositsWithProvisionalEnd,
  listExpiredRequestIds,
} from "../store/deposits.ts";
import { isHeldByGap } from "../store/gap-holds.ts";
import { findOpenGapSince } from "../store/gaps.ts";
import type { Database } from "../store/store.ts";
import { readDeposit } from "../store/transactions.ts";
import { hasUnreadTransaction } from "../store/unread-transactions.ts";
import { findFirstBlockNotBefore, timeOfHead } from "./block-times.ts";
import type { Tip, WatchedChain } from "./chain.ts";
import { comparedBlockOfRequest, setRequestsAwaitingEnd } from "./compare.ts";
import type { CompareMemory } from "./compare-lists.ts";
import { judgeRequests } from "./payments.ts";

/** A chain without a new block for so long ends no request meanwhile. */
const standsMsMax = 7 * 86_400_000;

/** The memory of one pass for the next; a new process computes it again. */
export interface RequestEndMemory {
  head: number | null; // of the pass before
  readonly ends: Map<string, number>; // ends computed on the branch that stands, by request id
  readonly floors: Map<string, number>; // head of the newest pass before the clock reached a request's end, by its id
}

export function newRequestEndMemory(): RequestEndMemory {
  return { head: null, ends: new Map(), floors: new Map() };
}

/** Computes ends again, because blocks left the chain. */
export function forgetRequestEnds({ ends }: RequestEndMemory): void {
  ends.clear();
}

/** Writes, and tells of the requests whose ids the function returns. */
type Commit = (fn: (database: Database) => readonly string[]) => void;

/** A request whose time is over by the clock and by the chain. */
export interface OverdueRequest {
  readonly id: string;
  readonly expiresAt: number;
  readonly isNative: boolean;
}

/**
 * Names the ends of what is over at `tip`, before its final blocks are read: a payment behind the
 * end is late, however many blocks become final at once.
 * @returns the requests that are over, for `endOverdue`
 * @throws AgentError NODE_CLOSED; no end is kept then
 */
export async function keepRequestEnds(
  chain: WatchedChain,
  memory: RequestEndMemory,
  tip: Tip,
  commit: Commit,
): Promise<readonly OverdueRequest[]> {
  const late = await listOver(chain, memory, tip);
  const waiting = late.filter(({ isNative }) => isNative);
  for (const one of waiting) await findEnd(chain, memory, one, tip);
  memory.head = tip.head.number;
  const kept = new Set(waiting.map(({ id }) => id));
  const undone = listDepositsWithProvisionalEnd(
    chain.store.database,
    chain.network,
    tip.final.number,
  ).filter((id) => !kept.has(id));
  if (waiting.length + undone.length === 0) return late;
  commit((inside) => {
    for (const id of undone) dropDepositEnd(inside, id);
    for (const { id } of waiting) {
      const block = memory.ends.get(id);
      if (block !== undefined) keepDepositEnd(inside, id, block, tip.final.number);
    }
    return judgeRequests(chain, inside, undone, 0);
  });
  return late;
}

/**
 * Ends what is over once all blocks up to its end are read and, in the coin, its balance is known.
 */
export function endOverdueRequests(
  chain: WatchedChain,
  compare: CompareMemory,
  over: readonly OverdueRequest[],
  tip: Tip,
  commit: Commit,
): void {
  const { head, final, askedAt } = tip;
  setRequestsAwaitingEnd(
    compare,
    over.filter(({ isNative }) => isNative).map(({ id }) => id),
  );
  if (over.length === 0) return;
  commit((inside) => {
    const isKnown = ({ id, isNative }: OverdueRequest): boolean => {
      if (!isNative) return true;
      const end = depositEndBlock(inside, id) ?? head.number;
      return end <= final.number && comparedBlockOfRequest(compare, id) >= end;
    };
    const ended = over.filter(isKnown).map(({ id }) => id);
    return judgeRequests(chain, inside, ended, askedAt);
  });
}

/** Requests that are over by the gateway's clock and by the time of the newest block. */
async function listOver(
  chain: WatchedChain,
  memory: RequestEndMemory,
  { head, askedAt }: Tip,
): Promise<readonly OverdueRequest[]> {
  const { database } = chain.store;
  // A clock that every chain contradicts ends nothing.
  const ids =
    chain.ownClock().kind === "right"
      ? listExpiredRequestIds(database, chain.network, askedAt)
      : [];
  const known = new Set(ids);
  for (const kept of [memory.ends, memory.floors])
    for (const id of kept.keys()) if (!known.has(id)) kept.delete(id);
  if (ids.length === 0) return [];
  for (const id of ids) if (!memory.floors.has(id)) memory.floors.set(id, memory.head ?? 0);
  // A chain whose time nobody tells has passed no end.
  const time = await timeOfHead(chain, head.number);
  const headMs = time.ok ? time.value : Number.NEGATIVE_INFINITY;
  const stands = chain.reader
    .status()
    .some(({ head: shown }) => shown !== null && shown.stoodForMs >= standsMsMax);
  // On a chain with tags no contract sends coins without a transaction that names them.
  const native = hasTags(chain.network)
    ? undefined
    : chain.currencies.find(({ contract }) => contract === "")?.id;
  // A payment that cannot be read may be in time.
  const isHeld = (address: string): boolean =>
    hasUnreadTransaction(database, chain.network, address);
  return ids.flatMap((id): readonly OverdueRequest[] => {
    const row = readDeposit(database, id);
    // Its payment was seen in time and waits for a block.
    if (
      row !== undefined &&
      isHeldOpen(database, id) &&
      askedAt < row.expiresAt + chain.confirmingMs
    )
      return [];
    if (row !== undefined && (isHeld(row.address) || isHeld(row.payTo))) return [];
    // So may one in blocks that could not be read while it was open.
    if (
      row !== undefined &&
      findOpenGapSince(database, chain.network, [row.address, row.payTo], row.createdAt) !==
        undefined
    )
      return [];
    // Given up, these blocks still hold it until its balance was compared, in its own currency.
    if (isHeldByGap(database, id)) return [];
    if (row === undefined || (headMs < row.expiresAt && !stands)) return [];
    return [{ id, expiresAt: row.expiresAt, isNative: row.currency === native }];
  });
}

/**
 * The block that holds all payments before a request's end: the first one whose own time reaches
 * the end, itself counted, and none that was there before the clock reached it. Times of blocks do
 * not rise everywhere: there it is the head at which both clocks have passed. Without an answer
 * from the nodes the request has no end in this pass, and no other one waits for it.
 */
async function findEnd(
  chain: WatchedChain,
  memory: RequestEndMemory,
  { id, expiresAt }: OverdueRequest,
  { head }: Tip,
): Promise<void> {
  if (memory.ends.has(id)) return;
  const kept = depositEndBlock(chain.store.database, id) ?? 0;
  const floor = Math.min(head.number, Math.max(memory.floors.get(id) ?? 0, kept));
  const isRising = familyOf(chain.network).blockTimes === "rising";
  const block = isRising
    ? await findFirstBlockNotBefore(chain, expiresAt, { floor, top: head.number, untold: "before" })
    : goodResult(head.number);
  if (block.ok) memory.ends.set(id, Math.max(floor, block.value));
}
