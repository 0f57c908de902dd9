/**
 * Slots of addresses for deposits, by this gateway's own nodes. The next one goes into a sweep's
 * job under the gateway's signature. A database that was put back knows too few, so the chain's
 * final count wins where it is higher. If it is lower the sweep waits: the database holds final
 * transactions that these nodes do not show. Reads only. Source: docs/protocol.md section 5.1.
 */
import { familyOf } from "../../chains/families.ts";
import type { Counters } from "../../chains/nodes.ts";
import { highestUsed, pendingSlotOwner } from "../store/slots.ts";
import type { Database } from "../store/store.ts";
import { type BoundSweep, listEndedUnreached } from "../store/unreachable.ts";
import type { WatchedChain } from "../watcher/chain.ts";
import type { No } from "./worth.ts";

/** The slot that an address gives next, "" where the chain counts none. */
export interface NextSlot {
  readonly ok: true;
  readonly next: string;
}

/**
 * Final block, newest block and pool must say the same; else something of the address is on its
 * way that nobody here ordered.
 * @throws AgentError NODE_*
 */
export async function nextSlotOf(database: Database, { network, reader }: WatchedChain, address: string): Promise<NextSlot | No> {
  const { slots } = familyOf(network);
  if (!slots.isCounted || reader.closed === undefined) return { ok: true, next: "" };
  const counters = await reader.closed(address);
  const { final, latest, pending } = counters;
  if (!isQuiet(counters)) return no("slot_moving", `final ${final}, newest ${latest}, with the pool ${pending}`);
  const used = highestUsed(database, network, address);
  const known = used === undefined ? slots.first : slots.next(used);
  const next = `${final}`;
  if (slots.compare(next, known) < 0) return no("slot_behind", `the nodes count ${next}, the database ${known}`);
  const ended = listEndedUnreached(database, network, address).find(({ slot }) => slot === next);
  if (ended !== undefined) return no("slot_ended", `slot ${next} is of ${ended.id}`);
  return { ok: true, next };
}

/**
 * Whether no block can take the slot of a sweep: the chain's count stands below it, and no open
 * sweep has the slot that comes next. False where the nodes do not agree, or something moves.
 */
export function isBeyond(database: Database, { network, account, slot }: BoundSweep, counters: Counters): boolean {
  const count = `${counters.final}`;
  if (!isQuiet(counters) || familyOf(network).slots.compare(count, slot) >= 0) return false;
  return pendingSlotOwner(database, { network, account, slot: count }) === undefined;
}

function isQuiet({ final, latest, pending, isSame }: Counters): boolean {
  return isSame && latest === final && pending === final;
}

function no(reason: No["reason"], detail: string): No {
  return { ok: false, reason, detail };
}
