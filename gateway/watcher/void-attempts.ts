/**
 * Finds attempts that no block can take any more, on chains where only expiry prevents a second
 * payment. The result is permanent. It needs enough nodes that agree on chain time and on every
 * block between. It also needs an attempt with exactly this end, and no block read here may hold
 * the attempt. If a block holds a void attempt all the same, an alarm is raised, because nodes lied
 * or a program is wrong. Source: docs/architecture.md section 8.
 */

import { resultOf } from "../../base/result.ts";
import { formatTimestampUtc } from "../../base/timestamp.ts";
import { expiryExclusionOf } from "../../chains/families.ts";
import { isItemFault } from "../faults/blame.ts";
import type { FaultKey } from "../faults/fault.ts";
import { MerchantTurns } from "../faults/turns.ts";
import { recordAct } from "../store/audit.ts";
import { findOpenGapSince } from "../store/gaps.ts";
import { outgoingOf } from "../store/outgoing-transactions.ts";
import type { Database } from "../store/store.ts";
import {
  isAllVoid,
  listOpenAttempts,
  markVoid,
  type OpenAttempt,
  takeExpiryStatement,
  voidSince,
} from "../store/void-attempts.ts";
import { updateWithdrawal } from "../store/withdrawals.ts";
import { raiseAlarm, type Tip, type WatchedChain } from "./chain.ts";
import { faultKeyOn } from "./items.ts";

/**
 * Attempts of an account share one reading of blocks: at most `togetherMax`, with ends within
 * `togetherMs`.
 */
const togetherMax = 64;
const togetherMs = 60_000;
const questionsPerPass = 16;

/** State that is not in the tables, because asking again gives it again. */
export interface VoidMemory {
  doneAt: string; // final block at which nothing was left to ask
  readonly turns: MerchantTurns; // of merchants
  readonly askedAt: Map<string, number>; // by hash; a larger number is later
}

export function newVoidMemory(): VoidMemory {
  return { doneAt: "", turns: new MerchantTurns(), askedAt: new Map() };
}

type FindVoid = NonNullable<WatchedChain["reader"]["findVoid"]>;

/**
 * Checks the attempts whose end chain time has passed, of one merchant after the other: of each
 * those first that were asked about longest ago, then the earliest end. Every block up to the final
 * block must have been read before. An attempt that cannot be judged costs no other.
 * @throws AgentError NODE_CLOSED
 */
export async function checkVoidAttempts(
  chain: WatchedChain,
  { final }: Tip,
  memory: VoidMemory,
): Promise<void> {
  const { findVoid } = chain.reader;
  const expiryExclusion = expiryExclusionOf(chain.network);
  if (findVoid === undefined || expiryExclusion === null || memory.doneAt === final.hash) return;
  const asking = new VoidQuestions(chain, findVoid, expiryExclusion.marginMs);
  const waiting = listWaiting(chain, memory);
  memory.turns.beginPass();
  while (asking.questions < questionsPerPass && !asking.isStopped) {
    const merchant = memory.turns.next(waiting.keys());
    if (merchant === null) break;
    const own = (waiting.get(merchant) ?? []).filter((one) => asking.isPast(one));
    const group = nextGroup(own);
    if (group.length === 0) {
      waiting.delete(merchant);
      continue;
    }
    const before = asking.questions;
    const isAnswered = await asking.ask(group);
    memory.turns.count(merchant, asking.questions - before);
    if (!isAnswered) continue; // chain time is known now, and what it has not passed is left out
    const asked = new Set(group);
    for (const { txHash } of group)
      memory.askedAt.set(txHash, memory.askedAt.size + asking.questions);
    waiting.set(
      merchant,
      own.filter((one) => !asked.has(one)),
    );
  }
  if (asking.hasFailed) return;
  memory.doneAt = final.hash;
}

/** Attempts that do not rest, by merchant. */
function listWaiting(
  chain: WatchedChain,
  { askedAt }: VoidMemory,
): Map<string, readonly OpenAttempt[]> {
  const open = listOpenAttempts(chain.store.database, chain.network);
  const known = new Set(open.map(({ txHash }) => txHash));
  for (const txHash of askedAt.keys()) if (!known.has(txHash)) askedAt.delete(txHash);
  const order = ({ txHash }: OpenAttempt): number => askedAt.get(txHash) ?? 0;
  const waiting = new Map<string, OpenAttempt[]>();
  for (const one of [...open].sort((a, b) => order(a) - order(b))) {
    // It may be in blocks that could not be read.
    if (findOpenGapSince(chain.store.database, chain.network, [one.account]) !== undefined)
      continue;
    if (!chain.faults.isDue(itemOf(chain, one))) continue;
    const own = waiting.get(one.merchant);
    if (own === undefined) waiting.set(one.merchant, [one]);
    else own.push(one);
  }
  return waiting;
}

/** The first attempts of a list that share one reading of blocks. */
function nextGroup(own: readonly OpenAttempt[]): readonly OpenAttempt[] {
  const [first] = own;
  if (first === undefined) return [];
  return own
    .filter(
      ({ account, validUntilMs }) =>
        account === first.account && Math.abs(validUntilMs - first.validUntilMs) <= togetherMs,
    )
    .slice(0, togetherMax);
}

function itemOf(chain: WatchedChain, { transactionId, txHash, merchant }: OpenAttempt): FaultKey {
  return faultKeyOn(chain, "withdrawal", `${transactionId} ${txHash}`, merchant);
}

class VoidQuestions {
  questions = 0;
  hasFailed = false;
  isStopped = false; // a fault of the chain
  #chainMs: number | null = null;
  readonly #chain: WatchedChain;
  readonly #findVoid: FindVoid;
  readonly #marginMs: number;

  constructor(chain: WatchedChain, findVoid: FindVoid, marginMs: number) {
    this.#chain = chain;
    this.#findVoid = findVoid;
    this.#marginMs = marginMs;
  }

  /** False if chain time is known and has not passed the attempt's end. */
  isPast({ validUntilMs }: OpenAttempt): boolean {
    return this.#chainMs === null || this.#chainMs > validUntilMs + this.#marginMs;
  }

  /**
   * Asks for the whole group, then for halves if the answer is not the same for all. False if chain
   * time has not passed every end, or is not known; then attempts with a later end wait as well.
   */
  async ask(group: readonly OpenAttempt[]): Promise<boolean> {
    const validUntilMs = Math.max(...group.map((one) => one.validUntilMs));
    this.questions += 1;
    const answer = await resultOf(() => this.#findVoid(group[0]?.account ?? "", group));
    if (answer.ok || group.length === 1)
      for (const one of group) this.#chain.faults.settle(itemOf(this.#chain, one), answer);
    if (answer.ok) {
      const { isVoid, chainMs, quorum } = answer.value;
      this.#chainMs = chainMs;
      if (isVoid) keep(this.#chain, group, { chainMs, quorum });
      if (isVoid || chainMs <= validUntilMs + this.#marginMs) return isVoid;
    } else {
      this.hasFailed = true;
      // A receipt of one attempt from only one node must not delay the other attempts.
      this.isStopped = !isItemFault(answer.fault);
      if (this.isStopped) return false;
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
  readonly quorum: number;
}

/** Stores the group in one transaction, then emits the signals. */
function keep(chain: WatchedChain, group: readonly OpenAttempt[], evidence: Evidence): void {
  const { store, signals, log } = chain;
  const kept = store.write((database) =>
    group.map((attempt) => keepOne(chain, database, attempt, evidence)),
  );
  for (const [index, { isVoid, isOver }] of kept.entries()) {
    const { transactionId, txHash } = group[index] as OpenAttempt;
    if (isVoid)
      log.info(
        { event: "attempt-void", id: transactionId, txHash },
        "no block can take this version any more",
      );
    if (isVoid) signals.emit("void", { transactionId });
    if (isOver) signals.emit("changed", { transactionId });
  }
}

function keepOne(
  chain: WatchedChain,
  database: Database,
  { transactionId, txHash, validUntilMs }: OpenAttempt,
  { chainMs, quorum }: Evidence,
): { readonly isVoid: boolean; readonly isOver: boolean } {
  const nowMs = chain.clock();
  const outgoingTx = outgoingOf(database, chain.network, txHash);
  if (outgoingTx !== undefined) {
    const detail = `${txHash} is in block ${outgoingTx.block}, and enough nodes say that no block holds it`;
    raiseAlarm(chain, database, { code: "WATCHER_VOID_INCLUDED", subject: transactionId, detail });
    return { isVoid: false, isOver: false };
  }
  if (!markVoid(database, { transactionId, txHash, validUntilMs }, nowMs))
    return { isVoid: false, isOver: false };
  const detail = `${txHash} ended at ${formatTimestampUtc(validUntilMs)}; solidified chain time ${formatTimestampUtc(chainMs)} by ${quorum} nodes`;
  recordAct(database, {
    at: nowMs,
    actor: "watcher",
    act: "attempt void",
    subject: transactionId,
    detail,
  });
  return { isVoid: true, isOver: endExpired(database, transactionId, nowMs) };
}

/**
 * Ends a withdrawal that its agent reported expired before this database held all attempts as void.
 */
function endExpired(database: Database, transactionId: string, nowMs: number): boolean {
  if (!isAllVoid(database, transactionId)) return false;
  const code = takeExpiryStatement(database, transactionId);
  return (
    code !== undefined &&
    updateWithdrawal(database, transactionId, { status: 2, stage: "expired", code }, nowMs)
  );
}

/**
 * Raises the alarm for a void attempt in a final block, whether this database or an agent's resent
 * statement called it void. It stays void in the tables, because the statement to the agent cannot
 * be taken back. `hasKeptExpiries`: `hasExpiries` in the same transaction.
 */
export function alarmVoidIncluded(
  chain: WatchedChain,
  database: Database,
  { id, txHash, block }: { readonly id: string; readonly txHash: string; readonly block: number },
  hasKeptExpiries: boolean,
): void {
  const since =
    expiryExclusionOf(chain.network) === null ? undefined : voidSince(database, id, txHash);
  const isOver = hasKeptExpiries && takeExpiryStatement(database, id) !== undefined;
  if (since === undefined && !isOver) return;
  const words =
    since === undefined
      ? "its agent called the withdrawal over"
      : `it was called void at ${formatTimestampUtc(since)}`;
  raiseAlarm(chain, database, {
    code: "WATCHER_VOID_INCLUDED",
    subject: id,
    detail: `${txHash} is in block ${block}, and ${words}`,
  });
}
