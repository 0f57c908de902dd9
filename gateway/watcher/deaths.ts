/**
 * Finds versions that no block can take any more, on chains where only expiry prevents a second
 * payment. The result is permanent. It needs enough nodes that agree on chain time and on every
 * block between. It also needs a version with exactly this end, and no block read here may hold the
 * version. If a block holds a dead version all the same, an alarm is raised, because nodes lied or
 * a program is wrong. Source: docs/architecture.md section 8.
 */

import { AgentError } from "../../base/fault.ts";
import { waitingOf } from "../../chains/families.ts";
import { momentOf } from "../config/moment.ts";
import { recordAct } from "../store/audit.ts";
import { deadSince, isAllDead, type LivingVersion, listLivingVersions, markDead, takeExpiry } from "../store/deaths.ts";
import { spendOf } from "../store/spends.ts";
import type { Database } from "../store/store.ts";
import { updateWithdrawal } from "../store/withdrawals.ts";
import { raiseAlarm, type Tip, type WatchedChain } from "./chain.ts";

/**
 * Versions of an account share one reading of blocks: at most `togetherMax`, with ends within
 * `togetherMs`.
 */
const togetherMax = 64;
const togetherMs = 60_000;
const questionsPerPass = 16;

/** State that is not in the tables, because asking again gives it again. */
export interface DeathMemory {
  doneAt: string; // final block at which nothing was left to ask
}

export function newDeathMemory(): DeathMemory {
  return { doneAt: "" };
}

type Dead = NonNullable<WatchedChain["reader"]["dead"]>;

/**
 * Checks the versions whose end chain time has passed, earliest end first. Every block up to the
 * final block must have been read before.
 * @throws AgentError NODE_*; results from before the fault are kept
 */
export async function checkDeaths(chain: WatchedChain, { final }: Tip, memory: DeathMemory): Promise<void> {
  const { dead } = chain.reader;
  const waiting = waitingOf(chain.network);
  if (dead === undefined || waiting === null || memory.doneAt === final.hash) return;
  const asking = new Asking(chain, dead, waiting.marginMs);
  for (let living = listLivingVersions(chain.store.database, chain.network); ; ) {
    const [first] = living;
    if (first === undefined || asking.questions >= questionsPerPass) break;
    const isNear = ({ account, untilMs }: LivingVersion): boolean =>
      account === first.account && untilMs <= first.untilMs + togetherMs;
    const group = living.filter(isNear).slice(0, togetherMax);
    if (!(await asking.ask(group))) break;
    living = living.filter((one) => !group.includes(one));
  }
  if (asking.fault !== null) throw asking.fault;
  memory.doneAt = final.hash;
}

class Asking {
  questions = 0;
  fault: AgentError | null = null;
  readonly #chain: WatchedChain;
  readonly #dead: Dead;
  readonly #marginMs: number;

  constructor(chain: WatchedChain, dead: Dead, marginMs: number) {
    this.#chain = chain;
    this.#dead = dead;
    this.#marginMs = marginMs;
  }

  /**
   * Asks for the whole group, then for halves if the answer is not the same for all. False if chain
   * time has not passed every end, or is not known; then versions with a later end wait as well.
   */
  async ask(group: readonly LivingVersion[]): Promise<boolean> {
    const untilMs = Math.max(...group.map((one) => one.untilMs));
    this.questions += 1;
    try {
      const { isDead, chainMs, witnesses } = await this.#dead(group[0]?.account ?? "", group);
      if (isDead) keep(this.#chain, group, { chainMs, witnesses });
      if (isDead || chainMs <= untilMs + this.#marginMs) return isDead;
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      this.fault ??= error;
      // A receipt of one version from only one node must not delay the other versions.
      if (error.code !== "NODE_DISAGREE") return false;
    }
    if (group.length === 1) return true;
    const middle = Math.ceil(group.length / 2);
    for (const half of [group.slice(0, middle), group.slice(middle)]) {
      if (this.questions < questionsPerPass) await this.ask(half);
    }
    return true;
  }
}

interface Evidence {
  readonly chainMs: number;
  readonly witnesses: number;
}

/** Stores the group in one transaction, then emits the signals. */
function keep(chain: WatchedChain, group: readonly LivingVersion[], evidence: Evidence): void {
  const { store, signals, log } = chain;
  const kept = store.write((database) => group.map((version) => keepOne(chain, database, version, evidence)));
  for (const [index, { isDead, isOver }] of kept.entries()) {
    const { transactionId, txHash } = group[index] as LivingVersion;
    if (isDead) log.info({ event: "version-dead", id: transactionId, txHash }, "no block can take this version any more");
    if (isDead) signals.emit("dead", { transactionId });
    if (isOver) signals.emit("changed", { transactionId });
  }
}

function keepOne(
  chain: WatchedChain,
  database: Database,
  { transactionId, txHash, untilMs }: LivingVersion,
  { chainMs, witnesses }: Evidence,
): { readonly isDead: boolean; readonly isOver: boolean } {
  const nowMs = chain.clock();
  const spend = spendOf(database, chain.network, txHash);
  if (spend !== undefined) {
    const detail = `${txHash} is in block ${spend.block}, and enough nodes say that no block holds it`;
    raiseAlarm(chain, database, "WATCHER_DEAD_INCLUDED", transactionId, detail);
    return { isDead: false, isOver: false };
  }
  if (!markDead(database, { transactionId, txHash, untilMs }, nowMs)) return { isDead: false, isOver: false };
  const detail = `${txHash} ended at ${momentOf(untilMs)}; solidified chain time ${momentOf(chainMs)} by ${witnesses} nodes`;
  recordAct(database, { at: nowMs, actor: "watcher", act: "version dead", subject: transactionId, detail });
  return { isDead: true, isOver: endExpired(database, transactionId, nowMs) };
}

/**
 * Ends a withdrawal that its agent reported expired before this database held all versions as dead.
 */
function endExpired(database: Database, transactionId: string, nowMs: number): boolean {
  if (!isAllDead(database, transactionId)) return false;
  const code = takeExpiry(database, transactionId);
  return code !== undefined && updateWithdrawal(database, transactionId, { status: 2, stage: "expired", code }, nowMs);
}

/**
 * Raises the alarm for a dead version in a final block, whether this database or an agent's resent
 * statement called it dead. It stays dead in the tables, because the statement to the agent cannot
 * be taken back.
 */
export function checkIncluded(
  chain: WatchedChain,
  database: Database,
  { id, txHash, block }: { readonly id: string; readonly txHash: string; readonly block: number },
): void {
  const since = deadSince(database, id, txHash);
  const isOver = takeExpiry(database, id) !== undefined;
  if (since === undefined && !isOver) return;
  const words = since === undefined ? "its agent called the withdrawal over" : `it was called dead at ${momentOf(since)}`;
  raiseAlarm(chain, database, "WATCHER_DEAD_INCLUDED", id, `${txHash} is in block ${block}, and ${words}`);
}
