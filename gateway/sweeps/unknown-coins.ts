/**
 * Checks open withdrawals on chains with coins that no block takes: whether any node shows the
 * transaction that made the coin which all their attempts spend. One whose coin none has shown for
 * an hour, by this clock and by the chain's, is stuck, told, and named to its agent; it takes the
 * place of no other. A pass asks a limited number of questions, each withdrawal by itself.
 */
import { AgentError } from "../../base/fault.ts";
import { momentOf } from "../../base/timestamp.ts";
import { familyOf } from "../../chains/families.ts";
import type { Database } from "../store/store.ts";
import {
  coinUnknownCode,
  forgetEndedCoins,
  forgetUnknownCoin,
  keepUnknownCoin,
  listPinned,
  type PinnedWithdrawal,
} from "../store/unknown-coins.ts";
import { updateWithdrawal } from "../store/withdrawals.ts";
import { raiseAlarm, type Tip, type WatchedChain } from "../watcher/chain.ts";

/** A withdrawal with a later change is still on its way. */
const stillMs = 600_000;
const againMs = 600_000;
const stuckAfterMs = 3_600_000;
const askedPerPassMax = 8;

/** When each withdrawal was last checked, by its id. */
export type CoinMemory = Map<string, number>;

/**
 * Runs one pass. A node's fault leaves a withdrawal for a later pass.
 * @returns the ids of the rows that changed
 */
export async function checkUnknownCoins(chain: WatchedChain, tip: Tip, memory: CoinMemory): Promise<readonly string[]> {
  const { reader, store, network } = chain;
  if (reader.isCoinShown === undefined) return [];
  forgetEndedCoins(store);
  const nowMs = chain.clock();
  // Only what is a coin of the chain becomes a question to nodes.
  const isCoin = ({ pin }: PinnedWithdrawal): boolean => familyOf(network).readPin(pin) !== null;
  const open = listPinned(store.database, network).filter(isCoin);
  const known = new Set(open.map(({ id }) => id));
  for (const id of memory.keys()) if (!known.has(id)) memory.delete(id);
  const isDue = ({ id, code, changedAt }: PinnedWithdrawal): boolean =>
    nowMs - (memory.get(id) ?? Number.NEGATIVE_INFINITY) >= againMs && (code !== "" || nowMs - changedAt >= stillMs);
  const due = open.filter(isDue).slice(0, askedPerPassMax);
  if (due.length === 0) return [];
  const chainMs = await chainTime(chain, tip);
  if (chainMs === null) return [];
  const changed: string[] = [];
  for (const one of due) {
    memory.set(one.id, nowMs);
    const isShown = await settled(() => reader.isCoinShown?.(coinOf(one)));
    if (isShown === undefined) continue;
    if (store.write((database) => judge(chain, database, one, { isShown, nowMs, chainMs }))) changed.push(one.id);
  }
  return changed;
}

/** The pin without its amount. */
const coinOf = ({ pin }: PinnedWithdrawal): string => pin.split(":").slice(0, 2).join(":");

async function chainTime({ reader }: WatchedChain, { final }: Tip): Promise<number | null> {
  const seconds = await settled(() => reader.timestamp(final.number));
  return seconds === undefined ? null : seconds * 1_000;
}

async function settled<T>(ask: () => Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof AgentError) return undefined;
    throw error;
  }
}

interface Look {
  readonly isShown: boolean;
  readonly nowMs: number;
  readonly chainMs: number;
}

/**
 * Judges by the row as it is now, which may have changed while nodes were asked. True if it
 * changed.
 */
function judge(chain: WatchedChain, database: Database, { id }: PinnedWithdrawal, { isShown, nowMs, chainMs }: Look): boolean {
  const one = listPinned(database, chain.network).find((row) => row.id === id);
  if (one === undefined) return false;
  if (isShown || one.stage === "confirming") {
    forgetUnknownCoin(database, id);
    if (one.code !== coinUnknownCode) return false;
    const stage = one.stage === "stuck" ? { stage: "broadcast" } : {};
    return updateWithdrawal(database, id, { ...stage, code: "" }, nowMs);
  }
  keepUnknownCoin(database, id, nowMs, chainMs);
  const { since, chainSince, code } = one;
  if (since === null || chainSince === null || code === coinUnknownCode) return false;
  if (nowMs - since < stuckAfterMs || chainMs - chainSince < stuckAfterMs) return false;
  const detail = `no node shows the coin ${coinOf(one)} of ${one.account} since ${momentOf(since)}, in no block and no mempool`;
  raiseAlarm(chain, database, { code: coinUnknownCode, subject: id, detail });
  return updateWithdrawal(database, id, { stage: "stuck", code: coinUnknownCode }, nowMs);
}
