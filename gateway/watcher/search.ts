/**
 * Searches final blocks for all that concerns us: all of a run, or as many as can be searched.
 * Reads the chain and the tables; writes only what cannot be read (unread.ts).
 */
import { AgentError } from "../../base/fault.ts";
import { resultOf } from "../../base/result.ts";
import { mapWithLimit } from "../../chains/map-limit.ts";
import type { MissingHistory, WatchedBlock } from "../../chains/nodes.ts";
import { isItemFault } from "../faults/blame.ts";
import { isLastBlockOfGap } from "../store/gaps.ts";
import type { PaymentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import type { WatchedChain } from "./chain.ts";
import type { DepositMemory } from "./deposit-memory.ts";
import { findPayments, findSlotConsumptions, type SlotConsumption } from "./findings.ts";
import { missingHistoryByAccount } from "./gaps.ts";
import { type FoundOutgoing, findOutgoing } from "./outgoing-transactions.ts";
import { nativeLogIndex } from "./payments.ts";

/** Blocks that are searched together. */
export const blocksAtOnce = 32;
/** A block that cannot be searched for so long is passed. */
const gapAfterMs = 10 * 60_000;

/** Writes, then emits signals for the rows that changed, whose ids `fn` returns. */
export function commitFinds(
  chain: WatchedChain,
  fn: (database: Database) => readonly string[],
): void {
  const changed = chain.store.write(fn);
  for (const transactionId of changed) chain.signals.emit("changed", { transactionId });
}

/** Blocks `from` to `to`, each the parent of the next. */
export async function readLinkedBlocks(
  chain: WatchedChain,
  from: number,
  to: number,
  agreed: boolean,
): Promise<readonly WatchedBlock[]> {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const blocks = await mapWithLimit(numbers, blocksAtOnce, (number) =>
    chain.reader.block(number, agreed),
  );
  for (const [index, block] of blocks.entries()) {
    const before = blocks[index - 1];
    if (before !== undefined && block.parentHash !== before.hash) {
      throw new AgentError(
        "NODE_DISAGREE",
        "none",
        `block ${block.number} does not follow the one read before it`,
        {
          block: block.number,
        },
      );
    }
  }
  return blocks;
}

/**
 * Coins that a contract sent on, by a receipt: only seen until the final balance confirms them,
 * even in a final block.
 */
export const isUnconfirmedTransfer = ({ logIndex }: PaymentRow): boolean =>
  logIndex < nativeLogIndex;

export interface SearchFinds {
  readonly payments: readonly PaymentRow[];
  readonly consumptions: readonly SlotConsumption[];
  readonly outgoing: FoundOutgoing;
}

/**
 * All that concerns us in final blocks; adds the accounts whose lists cannot be had to `missing`.
 */
export async function findInBlocks(
  chain: WatchedChain,
  { list, senders }: DepositMemory,
  blocks: readonly WatchedBlock[],
  missing: MissingHistory[] = [],
): Promise<SearchFinds> {
  const [payments, consumptions, outgoing] = await Promise.all([
    findPayments(chain, list, blocks, true, missing),
    findSlotConsumptions(chain, senders.users, blocks, missing),
    findOutgoing(chain, senders.payers, blocks, missing),
  ]);
  return { payments, consumptions, outgoing };
}

/** Final blocks that were searched, and whose lists could not be had there; "" for all of them. */
export interface SearchedBlocks extends SearchFinds {
  readonly read: readonly WatchedBlock[];
  readonly missing: ReadonlyMap<string, AgentError>;
}

/**
 * Searches blocks, fewer if not all can be searched together. One that cannot be searched for ten
 * minutes is passed, as a gap; its neighbours at once.
 */
export async function searchBlockSpan(
  chain: WatchedChain,
  memory: DepositMemory,
  blocks: readonly WatchedBlock[],
): Promise<SearchedBlocks> {
  const told = await resultOf(async () => {
    const lacking: MissingHistory[] = [];
    const found = await findInBlocks(chain, memory, blocks, lacking);
    return { ...found, missing: missingHistoryByAccount(lacking) };
  });
  if (told.ok) return { read: blocks, ...told.value };
  if (!isItemFault(told.fault)) throw told.fault;
  if (blocks.length > 1)
    return searchBlockSpan(chain, memory, blocks.slice(0, Math.ceil(blocks.length / 2)));
  const { number = 0, hash = "" } = blocks[0] ?? {};
  const nowMs = chain.clock();
  const knownMs = memory.stuckAt?.hash === hash ? memory.stuckAt.since : nowMs;
  // A time of a clock that was ahead would keep all later blocks waiting.
  const since = Math.min(knownMs, nowMs);
  memory.stuckAt = { hash, since };
  const isLong = nowMs - since >= gapAfterMs;
  if (!isLong && !isLastBlockOfGap(chain.store.database, chain.network, number - 1))
    throw told.fault;
  const nothing = { payments: [], consumptions: [], outgoing: { paid: [], failed: [] } };
  return { read: blocks, missing: new Map([["", told.fault]]), ...nothing };
}
