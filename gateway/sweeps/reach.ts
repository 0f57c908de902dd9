/**
 * Checks open sweeps that do not advance: whether the chain's final count can reach their slot. A
 * sweep with an unreachable slot is stuck, does not count against the limit of open sweeps, and is
 * reported to its agent, whose operator may end the sweep. An ended sweep stays ended unless the
 * chain passes its slot later. Then the sweep is open again, and the watcher decides how it ended.
 * A pass asks a limited number of questions.
 */

import { AgentError } from "../../base/fault.ts";
import { familyOf } from "../../chains/families.ts";
import type { SlotCounts } from "../../chains/nodes.ts";
import { unreachableCode } from "../store/slots.ts";
import type { Database } from "../store/store.ts";
import { dropSweepNote, keepSweepNote } from "../store/sweeps.ts";
import {
  type AssignedSweep,
  listAssignedSweeps,
  listEndedUnreached,
} from "../store/unreachable.ts";
import { takeExpiry } from "../store/void-attempts.ts";
import { updateWithdrawal } from "../store/withdrawals.ts";
import { raiseAlarm, type WatchedChain } from "../watcher/chain.ts";
import { isBeyond } from "./slots.ts";

/** A sweep with a later change is still on its way. */
const stillMs = 600_000;
const againMs = 300_000;
/** Few sweeps are ever ended, each by an operator. */
const endedAgainMs = 3_600_000;
const askedPerPassMax = 16;

/** When each sweep was last checked. */
export type ReachMemory = Map<string, number>;

/**
 * Runs one pass. A node's fault leaves the other sweeps for the next pass.
 * @returns the ids of the rows that changed
 */
export async function checkReach(
  chain: WatchedChain,
  memory: ReachMemory,
): Promise<readonly string[]> {
  const { network, reader, store } = chain;
  if (!familyOf(network).slots.isCounted || reader.closed === undefined) return [];
  const nowMs = chain.clock();
  const open = listAssignedSweeps(store.database, network).filter(
    ({ changedAt }) => Math.abs(nowMs - changedAt) >= stillMs,
  );
  const ended = listEndedUnreached(store.database, network, null);
  const known = new Set([...open, ...ended].map(({ id }) => id));
  for (const id of memory.keys()) if (!known.has(id)) memory.delete(id);
  // A clock that was ahead for a while keeps nothing from being asked for.
  const since = ({ id }: AssignedSweep): number =>
    Math.abs(nowMs - (memory.get(id) ?? Number.NEGATIVE_INFINITY));
  const due = [
    ...open.filter((one) => since(one) >= againMs),
    ...ended.filter((one) => since(one) >= endedAgainMs),
  ];
  const changed: string[] = [];
  for (const sweep of due.slice(0, askedPerPassMax)) {
    memory.set(sweep.id, nowMs);
    try {
      const slotCounts = await reader.closed(sweep.account);
      changed.push(...store.write((database) => judge(chain, database, sweep, slotCounts)));
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
    }
  }
  return changed;
}

/** Returns the ids of the rows that changed. */
function judge(
  chain: WatchedChain,
  database: Database,
  sweep: AssignedSweep,
  slotCounts: SlotCounts,
): readonly string[] {
  const count = `${slotCounts.final}`;
  if (listEndedUnreached(database, chain.network, sweep.account).some(({ id }) => id === sweep.id))
    return slotCounts.isSame ? reopenPassed(chain, database, sweep.account, count) : [];
  const isChanged = isBeyond(database, sweep, slotCounts)
    ? strand(chain, database, sweep, count)
    : free(chain, database, sweep);
  return isChanged ? [sweep.id] : [];
}

/**
 * Strands only a sweep that is still open, because the row may have changed while the nodes were
 * asked.
 */
function strand(
  chain: WatchedChain,
  database: Database,
  sweep: AssignedSweep,
  count: string,
): boolean {
  const { id, account, network, currency, slot } = sweep;
  const now = listAssignedSweeps(database, network).find((one) => one.id === id);
  if (now === undefined || now.stage === "confirming") return false;
  // The agent has already reported the end.
  if (takeExpiry(database, id) !== undefined)
    return updateWithdrawal(
      database,
      id,
      { status: 2, stage: "expired", code: unreachableCode },
      chain.clock(),
    );
  if (now.code === unreachableCode && now.stage === "stuck") return false;
  const detail = `slot ${slot} of ${account}, the chain counts ${count}: end ${id} at the agent`;
  raiseAlarm(chain, database, { code: unreachableCode, subject: id, detail });
  keepSweepNote(database, {
    address: account,
    network,
    currency,
    reason: "slot_unreachable",
    detail,
    at: chain.clock(),
  });
  return updateWithdrawal(database, id, { stage: "stuck", code: unreachableCode }, chain.clock());
}

/** Frees a sweep, because the chain has come so far or another transaction fills the gap. */
function free(
  chain: WatchedChain,
  database: Database,
  { id, account, network, currency }: AssignedSweep,
): boolean {
  const now = listAssignedSweeps(database, network).find((one) => one.id === id);
  if (now === undefined || now.code !== unreachableCode) return false;
  dropSweepNote(database, { address: account, network, currency });
  return updateWithdrawal(database, id, { stage: "broadcast", code: "" }, chain.clock());
}

/**
 * Reopens sweeps that were ended for their slot and whose slot the chain has passed since. Their
 * own bytes, or others, used the slot, and the watcher judges which.
 * @returns the ids of the rows that changed
 */
export function reopenPassed(
  chain: WatchedChain,
  database: Database,
  address: string,
  count: string,
): readonly string[] {
  const { slots } = familyOf(chain.network);
  const passed = listEndedUnreached(database, chain.network, address).filter(
    ({ slot }) => slots.compare(slot, count) < 0,
  );
  for (const { id } of passed)
    updateWithdrawal(database, id, { status: 0, stage: "broadcast", code: "" }, chain.clock());
  return passed.map(({ id }) => id);
}
