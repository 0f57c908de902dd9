/**
 * Slots of deposit addresses, from this gateway's own nodes. A sweep's job carries the next slot
 * under the gateway's signature. A database restored from a backup knows too few slots, so a higher
 * final count of the chain is used. If the chain's count is lower the sweep waits, because the
 * database has final transactions that these nodes do not show. Reads only. Source:
 * docs/protocol.md section 5.1.
 */
import { familyOf } from "../../chains/families.ts";
import type { SlotCounts } from "../../chains/nodes.ts";
import { highestUsed, pendingSlotOwner } from "../store/slots.ts";
import type { Database } from "../store/store.ts";
import { type AssignedSweep, listEndedUnreached } from "../store/unreachable.ts";
import type { WatchedChain } from "../watcher/chain.ts";
import type { SweepRefusal } from "./sweep-threshold.ts";

/** The next slot of an address; "" if the chain counts none. */
export interface NextSlot {
  readonly ok: true;
  readonly next: string;
}

/**
 * Returns the next slot of an address. Final block, newest block and mempool must agree; otherwise
 * a transaction of the address is on its way that nobody here ordered.
 * @throws AgentError NODE_*
 */
export async function nextSlotOf(
  database: Database,
  { network, reader }: WatchedChain,
  address: string,
): Promise<NextSlot | SweepRefusal> {
  const { slots } = familyOf(network);
  if (!slots.isCounted || reader.closed === undefined) return { ok: true, next: "" };
  const slotCounts = await reader.closed(address);
  const { final, latest, pending } = slotCounts;
  if (!isQuiet(slotCounts))
    return no("slot_moving", `final ${final}, newest ${latest}, with the pool ${pending}`);
  const used = highestUsed(database, network, address);
  const known = used === undefined ? slots.least : slots.next(used);
  const next = `${final}`;
  if (slots.compare(next, known) < 0)
    return no("slot_behind", `the nodes count ${next}, the database ${known}`);
  const ended = listEndedUnreached(database, network, address).find(({ slot }) => slot === next);
  if (ended !== undefined) return no("slot_ended", `slot ${next} is of ${ended.id}`);
  return { ok: true, next };
}

/**
 * True if no block can take the slot of a sweep: the chain's count is below it, and no open sweep
 * has the next slot. False if the nodes do not agree, or a transaction is on its way.
 */
export function isBeyond(
  database: Database,
  { network, account, slot }: AssignedSweep,
  slotCounts: SlotCounts,
): boolean {
  const count = `${slotCounts.final}`;
  if (!isQuiet(slotCounts) || familyOf(network).slots.compare(count, slot) >= 0) return false;
  return pendingSlotOwner(database, { network, account, slot: count }) === undefined;
}

function isQuiet({ final, latest, pending, isSame }: SlotCounts): boolean {
  return isSame && latest === final && pending === final;
}

function no(reason: SweepRefusal["reason"], detail: string): SweepRefusal {
  return { ok: false, reason, detail };
}
