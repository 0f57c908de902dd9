/**
 * Checks open withdrawals on chains with coins that no block takes: whether any node shows the
 * transaction that made the coin which all their attempts spend. One whose coin none has shown for
 * an hour, by this clock and by the chain's, is stuck, told, and named to its agent; it takes the
 * place of no other. After a day of chain time an operator of its agent may end it. A node that
 * shows the coin of an ended one opens it again, because its bytes are good then. A pass asks a
 * limited number of questions, each withdrawal by itself.
 */
import { AgentError } from "../../base/fault.ts";
import { formatTimestampUtc } from "../../base/timestamp.ts";
import { familyOf } from "../../chains/families.ts";
import type { Database } from "../store/store.ts";
import {
  coinEndedCode,
  coinGoneMs,
  coinUnknownCode,
  forgetEndedCoins,
  forgetUnknownCoin,
  isCoinGone,
  keepUnknownCoin,
  listPinnedWithdrawals,
  listWithdrawalsEndedOnCoin,
  type PinnedWithdrawal,
  type WithdrawalEndedOnCoin,
} from "../store/unknown-coins.ts";
import { keepExpiryStatement, takeExpiryStatement } from "../store/void-attempts.ts";
import { updateWithdrawal } from "../store/withdrawals.ts";
import { raiseAlarm, type Tip, type WatchedChain } from "../watcher/chain.ts";

/** A withdrawal with a later change is still on its way. */
const stillMs = 600_000;
const againMs = 600_000;
/** Few are ever ended, each by an operator. */
const endedAgainMs = 3_600_000;
const stuckAfterMs = 3_600_000;
const comparedPerPassMax = 8;

/** When each withdrawal was last checked, by its id. */
export type CoinMemory = Map<string, number>;

/**
 * Runs one pass. A node's fault leaves a withdrawal for a later pass.
 * @returns the ids of the rows that changed
 */
export async function checkUnknownCoins(
  chain: WatchedChain,
  tip: Tip,
  memory: CoinMemory,
): Promise<readonly string[]> {
  const { reader, store, network } = chain;
  forgetEndedCoins(store);
  if (reader.isCoinShown === undefined) return [];
  const nowMs = chain.clock();
  // Only what is a coin of the chain becomes a question to nodes.
  const isCoin = ({ pin }: WithdrawalEndedOnCoin): boolean =>
    familyOf(network).readPin(pin) !== null;
  const open = listPinnedWithdrawals(store.database, network).filter(isCoin);
  const ended = listWithdrawalsEndedOnCoin(store.database, network).filter(isCoin);
  const known = new Set([...open, ...ended].map(({ id }) => id));
  for (const id of memory.keys()) if (!known.has(id)) memory.delete(id);
  // A clock that was ahead for a while keeps nothing from being asked for.
  const sinceMs = (atMs: number): number => Math.abs(nowMs - atMs);
  const isDue = ({ id, code, changedAt }: PinnedWithdrawal): boolean =>
    sinceMs(memory.get(id) ?? Number.NEGATIVE_INFINITY) >= againMs &&
    (code !== "" || sinceMs(changedAt) >= stillMs);
  const due = open.filter(isDue).slice(0, comparedPerPassMax);
  const changed = await lookAtEnded(chain, ended, memory);
  if (due.length === 0) return changed;
  const chainMs = await chainTime(chain, tip);
  if (chainMs === null) return changed;
  for (const one of due) {
    memory.set(one.id, nowMs);
    const isShown = await settled(() => reader.isCoinShown?.(coinOf(one)));
    if (isShown === undefined) continue;
    if (store.write((database) => judge(chain, database, one, { isShown, nowMs, chainMs })))
      changed.push(one.id);
  }
  return changed;
}

/** Opens ended ones again whose coin a node shows. Returns their ids. */
async function lookAtEnded(
  chain: WatchedChain,
  ended: readonly WithdrawalEndedOnCoin[],
  memory: CoinMemory,
): Promise<string[]> {
  const { reader, store } = chain;
  const nowMs = chain.clock();
  const isDue = ({ id }: WithdrawalEndedOnCoin): boolean =>
    Math.abs(nowMs - (memory.get(id) ?? Number.NEGATIVE_INFINITY)) >= endedAgainMs;
  const opened: string[] = [];
  for (const one of ended.filter(isDue).slice(0, comparedPerPassMax)) {
    memory.set(one.id, nowMs);
    if ((await settled(() => reader.isCoinShown?.(coinOf(one)))) !== true) continue;
    if (store.write((database) => open(chain, database, one, nowMs))) opened.push(one.id);
  }
  return opened;
}

/** The agent has said its end once, so that it ends again if the coin goes for another day. */
function open(
  chain: WatchedChain,
  database: Database,
  one: WithdrawalEndedOnCoin,
  nowMs: number,
): boolean {
  if (!listWithdrawalsEndedOnCoin(database, chain.network).some(({ id }) => id === one.id))
    return false;
  const detail = `a node shows the coin ${coinOf(one)} of ${one.account}: the ended payment may be paid after all`;
  raiseAlarm(chain, database, { code: "COIN_RETURNED", subject: one.id, detail });
  keepExpiryStatement(database, one.id, coinEndedCode, nowMs);
  return updateWithdrawal(database, one.id, { status: 0, stage: "broadcast", code: "" }, nowMs);
}

/** The pin without its amount. */
const coinOf = ({ pin }: Pick<PinnedWithdrawal, "pin">): string =>
  pin.split(":").slice(0, 2).join(":");

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

interface UnknownCoinLook {
  readonly isShown: boolean;
  readonly nowMs: number;
  readonly chainMs: number;
}

/**
 * Judges by the row as it is now, which may have changed while nodes were asked. True if it
 * changed.
 */
function judge(
  chain: WatchedChain,
  database: Database,
  { id }: PinnedWithdrawal,
  { isShown, nowMs, chainMs }: UnknownCoinLook,
): boolean {
  const one = listPinnedWithdrawals(database, chain.network).find((row) => row.id === id);
  if (one === undefined) return false;
  if (isShown || one.stage === "confirming") {
    forgetUnknownCoin(database, id);
    if (one.code !== coinUnknownCode) return false;
    const stage = one.stage === "stuck" ? { stage: "broadcast" } : {};
    return updateWithdrawal(database, id, { ...stage, code: "" }, nowMs);
  }
  keepUnknownCoin(database, id, nowMs, chainMs);
  const { since, chainSince, code, watchedMs } = one;
  // An agent's acknowledgement names it from now on as one that may be ended.
  if (code === coinUnknownCode && isCoinGone(database, id))
    return endTold(database, id, nowMs) || watchedMs < coinGoneMs;
  if (since === null || chainSince === null || code === coinUnknownCode) return false;
  if (nowMs - since < stuckAfterMs || chainMs - chainSince < stuckAfterMs) return false;
  const detail = `no node shows the coin ${coinOf(one)} of ${one.account} since ${formatTimestampUtc(since)}, in no block and no mempool`;
  raiseAlarm(chain, database, { code: coinUnknownCode, subject: id, detail });
  return updateWithdrawal(database, id, { stage: "stuck", code: coinUnknownCode }, nowMs);
}

/** Ends one whose agent has said so already. */
function endTold(database: Database, id: string, nowMs: number): boolean {
  if (takeExpiryStatement(database, id) === undefined) return false;
  return updateWithdrawal(
    database,
    id,
    { status: 2, stage: "expired", code: coinEndedCode },
    nowMs,
  );
}
