/**
 * Judges open withdrawals by the chain: gathers evidence for every signed attempt, lets the chain's
 * interface judge, and stores all results of a pass in one transaction. A pass has a limited number
 * of questions; the remaining withdrawals come in the next passes. A withdrawal that is no longer
 * pending is never changed again. Sources: docs/architecture.md sections 2 and 8.
 */

import type { Caused } from "../../base/causes.ts";
import { resultOf } from "../../base/result.ts";
import { familyOf, isFeeInside } from "../../chains/families.ts";
import type { Payment } from "../../chains/family.ts";
import { inWaves } from "../../chains/map-limit.ts";
import type { Ending, Judgement } from "../../chains/nodes.ts";
import { attemptsMax } from "../../protocol/payloads.ts";
import type { FaultKey } from "../faults/fault.ts";
import { type Turn, Turns } from "../faults/turns.ts";
import { isBelow } from "../store/below-beginning.ts";
import type { TransactionRow } from "../store/rows.ts";
import {
  listPendingAttempts,
  listSignatures,
  type SignedWithdrawal,
  signedBy,
} from "../store/signatures.ts";
import type { Database } from "../store/store.ts";
import { endWithdrawal, moveWithdrawal } from "../store/withdrawals.ts";
import { isProven, strandBelow } from "./below-beginning.ts";
import { contractOf, raiseAlarm, type Tip, type WatchedChain } from "./chain.ts";
import { judgeUsed } from "./findings.ts";
import { keyOn } from "./items.ts";
import { noteMoved } from "./moved.ts";
import { checkIncluded } from "./void-attempts.ts";

interface OpenWithdrawal {
  readonly id: string;
  readonly row: TransactionRow;
  readonly payment: Payment;
  readonly hashes: readonly string[]; // hashes of its attempts, oldest first
  readonly pin: string; // the coin that they all spend, "" on chains without coins
}

/** State that is not in the tables, because asking again gives it again. */
export interface WithdrawalMemory {
  doneKey: string;
  doneAt: number;
  readonly turns: Turns; // of merchants
  roundKey: string; // heads and open withdrawals of this round
  readonly round: Set<string>; // withdrawals that had their turn in it
  readonly includedIn: Map<string, number>; // block by transaction id
  readonly suspects: Set<string>; // withdrawals whose slot looked consumed in the previous pass
}

const questionsAtOnce = 256;
const receiptsPerPass = 1024;
const repeatMs = 15_000;

export function newWithdrawalMemory(): WithdrawalMemory {
  const had = { turns: new Turns(), roundKey: "", round: new Set<string>() };
  return { doneKey: "", doneAt: 0, ...had, includedIn: new Map(), suspects: new Set() };
}

function forgetClosed(memory: WithdrawalMemory, open: ReadonlySet<string>): void {
  for (const id of memory.includedIn.keys()) if (!open.has(id)) memory.includedIn.delete(id);
  for (const id of memory.suspects) if (!open.has(id)) memory.suspects.delete(id);
  memory.turns.keep(open);
}

interface Judged {
  readonly one: OpenWithdrawal;
  readonly verdict: Judgement;
}

/**
 * Runs one pass over the open signed withdrawals, each in its turn. One that cannot be judged costs
 * no other.
 * @throws AgentError NODE_CLOSED
 */
export async function checkWithdrawals(
  chain: WatchedChain,
  tip: Tip,
  memory: WithdrawalMemory,
): Promise<void> {
  const all = readOpen(chain);
  const ids = new Set(all.map(({ id }) => id));
  // The end of a withdrawal's attempts is an item of its own, below the withdrawal's id.
  chain.faults.keepOnly("withdrawal", (id) => ids.has(id.split(" ")[0] as string));
  const open = all.filter((one) => chain.faults.isDue(itemOf(chain, one)));
  const key = `${tip.head.hash} ${tip.final.hash} ${open.map((one) => `${one.row.id}${one.hashes.length}`).join()}`;
  if (key === memory.doneKey && Math.abs(tip.askedAt - memory.doneAt) < repeatMs) return;
  forgetClosed(memory, ids);
  if (memory.roundKey !== key) memory.round.clear();
  memory.roundKey = key;
  const due = open.filter(({ id }) => !memory.round.has(id));
  memory.turns.beginPass();
  const turn = memory.turns.deal(due, receiptsPerPass, turnOf);
  for (const { id } of turn) memory.round.add(id);
  const pass = chain.reader.pass(tip.final, turn.length);
  const failures = new Set<string>();
  /** Null for a withdrawal whose question failed. */
  const settle = async (
    one: OpenWithdrawal,
    judge: () => Promise<Judged>,
  ): Promise<Judged | null> => {
    const answer = chain.faults.settle(itemOf(chain, one), await resultOf(judge));
    if (answer === null) failures.add(one.id);
    return answer;
  };
  const judged = await inWaves(turn, questionsAtOnce, (one) =>
    settle(one, async () => ({
      one,
      verdict: unreadable(one) ?? (await pass.judge(one.payment, one.hashes, one.pin)),
    })),
  );
  const known = judged.filter((each) => each !== null);
  memory.doneKey = "";
  const early = known.filter((each) => isEarly(each, memory));
  const held = known.filter((each) => !early.includes(each));
  remember(memory, known);
  const found = await inWaves(held, questionsAtOnce, (each) =>
    isUsed(each) ? settle(each.one, () => usedBy(chain, each)) : Promise.resolve(each),
  );
  const late = found.filter((each) => each !== null);
  const changed =
    late.length === 0 ? [] : chain.store.write((database) => applyAll(chain, database, late));
  for (const { one, verdict } of changed) {
    const isEnd = verdict.kind === "completed" || verdict.kind === "failed";
    chain.signals.emit("changed", {
      transactionId: one.row.id,
      ...(isEnd ? {} : { isOpen: true }),
    });
  }
  const isLast = turn.length === due.length;
  if (failures.size > 0 || early.length > 0 || isLast) memory.round.clear();
  if (failures.size > 0 || early.length > 0 || !isLast) return; // the next pass continues
  memory.doneKey = key;
  memory.doneAt = tip.askedAt;
}

function itemOf(chain: WatchedChain, { id, row }: OpenWithdrawal): FaultKey {
  return keyOn(chain, "withdrawal", id, row.merchant);
}

/** A withdrawal costs a question for each of its attempts. */
const turnOf = ({ id, row: { merchant }, hashes }: OpenWithdrawal): Turn => ({
  id,
  merchant,
  questions: hashes.length,
});

function readOpen(chain: WatchedChain): readonly OpenWithdrawal[] {
  const rows = listPendingAttempts(chain.store.database, chain.network, attemptsMax);
  const open = new Map<string, OpenWithdrawal & { hashes: string[] }>();
  for (const row of rows) {
    const known = open.get(row.id);
    const payment = known === undefined ? paymentOf(chain, row) : known.payment;
    if (payment === null) continue;
    const { id, pin, attemptTxHash } = row;
    if (known === undefined) open.set(id, { id, row, payment, pin, hashes: [attemptTxHash] });
    else known.hashes.push(attemptTxHash);
  }
  return [...open.values()];
}

/**
 * A pin that is no coin of the chain was never asked for by a signer of ours, and is not asked for.
 */
function unreadable({ payment: { network }, pin }: OpenWithdrawal): Judgement | null {
  if (pin === "" || familyOf(network).readPin(pin) !== null) return null;
  return {
    kind: "stuck",
    code: "PIN_UNREADABLE",
    detail: "its agent named a pin that is no coin of the chain",
  };
}

/** Null for a currency that is no longer in the configuration, because its contract is unknown. */
function paymentOf(chain: WatchedChain, row: SignedWithdrawal): Payment | null {
  const currency = chain.currencies.find((one) => one.id === row.currency);
  if (currency === undefined) return null;
  return {
    network: chain.network,
    account: row.account,
    slot: row.slot,
    contract: contractOf(row, currency),
    destination: row.receiverAddress,
    tag: row.tag,
    amountUnits: BigInt(row.amountUnits),
    isFeeInside: isFeeInside(chain.network, row.operation),
  };
}

/**
 * A node that lags behind the expected count looks the same for a moment, so the result counts only
 * if it lasts.
 */
function isEarly(each: Judged, memory: WithdrawalMemory): boolean {
  return isUsed(each) && !memory.suspects.has(each.one.row.id);
}

function isUsed({ verdict }: Judged): boolean {
  return verdict.kind === "stuck" && verdict.code === "WATCHER_SLOT_CONSUMED";
}

/** The transaction that used the slot may have been read before the withdrawal got the slot. */
async function usedBy(chain: WatchedChain, { one, verdict }: Judged): Promise<Judged> {
  const { network, account, slot } = one.payment;
  return { one, verdict: (await judgeUsed(chain, one.row, { network, account, slot })) ?? verdict };
}

function remember(memory: WithdrawalMemory, judged: readonly Judged[]): void {
  for (const { one, verdict } of judged) {
    if (verdict.kind === "confirming") memory.includedIn.set(one.row.id, verdict.block);
    else memory.includedIn.delete(one.row.id);
    if (verdict.kind === "stuck") memory.suspects.add(one.row.id);
    else memory.suspects.delete(one.row.id);
  }
}

/** The results that changed a row, as they count for it. */
function applyAll(
  chain: WatchedChain,
  database: Database,
  judged: readonly Judged[],
): readonly Judged[] {
  const counted = judged.map(({ one, verdict }) => ({
    one,
    verdict: countedFor(database, one.row, verdict),
  }));
  return counted.filter(({ one, verdict }) => applyVerdict(chain, database, one.row, verdict));
}

/**
 * A transaction that was made for another order here pays nothing for this one: each transaction
 * pays one order, and its own order is judged by it. Only a coin can be spent by two of them, as a
 * slot belongs to one withdrawal.
 */
function countedFor(database: Database, { id }: TransactionRow, verdict: Judgement): Judgement {
  const isUsed = verdict.kind === "stuck" && verdict.code !== "WATCHER_CONTENT_DIFFERS";
  const by = verdict.kind === "completed" ? verdict.final : isUsed ? verdict.by : undefined;
  if (by === undefined || !isOfAnother(database, id, by.txHash)) return verdict;
  return { kind: "failed", code: "chain_slot_consumed", final: by };
}

/** A slot is also "used" for a withdrawal whose currency is not in the configuration any more. */
function stuckCause(
  chain: WatchedChain,
  row: TransactionRow,
  code: (Judgement & { kind: "stuck" })["code"],
): Caused {
  if (code !== "WATCHER_SLOT_CONSUMED") return { code };
  return {
    code,
    cause: chain.currencies.some(({ id }) => id === row.currency) ? "foreign" : "unconfigured",
  };
}

/**
 * Stores a result; a withdrawal that is final by now is not changed. True if the row changed. Runs
 * inside the caller's transaction; `row` may be older than the table.
 */
export function applyVerdict(
  chain: WatchedChain,
  database: Database,
  row: TransactionRow,
  judged: Judgement,
): boolean {
  const verdict = countedFor(database, row, judged);
  switch (verdict.kind) {
    case "completed":
      return end(chain, database, row, {
        status: 1,
        stage: "completed",
        code: "",
        final: verdict.final,
      });
    case "failed":
      // A withdrawal that the agent's operator cancelled failed on purpose.
      if (verdict.code !== "cancelled")
        raiseAlarm(chain, database, {
          code: "WATCHER_PAYMENT_FAILED",
          cause: verdict.code === "chain_slot_consumed" ? "consumed" : "reverted",
          subject: row.id,
          detail: `${verdict.code} by ${verdict.final.txHash}`,
        });
      return end(chain, database, row, {
        status: 2,
        stage: "failed",
        code: verdict.code,
        final: verdict.final,
      });
    case "unreachable":
      if (isProven(row, verdict)) return strandBelow(chain, database, row, verdict);
      return applyVerdict(chain, database, row, {
        kind: "stuck",
        code: "WATCHER_SLOT_CONSUMED",
        detail: verdict.detail,
      });
    case "stuck":
      // The proof holds, also where a node has forgotten those blocks.
      if (isBelow(database, row.id)) return false;
      raiseAlarm(chain, database, {
        ...stuckCause(chain, row, verdict.code),
        subject: row.id,
        detail: verdict.detail,
      });
      if (verdict.code === "WATCHER_CONTENT_DIFFERS") noteMoved(chain, database, row, verdict);
      return move(chain, database, row.id, "stuck", "");
    case "confirming":
      return move(chain, database, row.id, "confirming", verdict.txHash);
    case "waiting": {
      // The block with the payment may vanish again. Stuck stays until the chain shows more.
      return row.stage === "confirming" && move(chain, database, row.id, "broadcast", "");
    }
  }
}

/**
 * Whether a transaction is an attempt of another withdrawal of the same account: each transaction
 * pays one order. A recovered ledger knows only the pin of a payment with several coins, so the
 * next payment may take one of the others as its pin, and may pay the same amount to the same
 * address.
 */
function isOfAnother(database: Database, id: string, txHash: string): boolean {
  const [first] = listSignatures(database, id);
  const owner =
    first === undefined ? undefined : signedBy(database, { account: first.account, txHash });
  return owner !== undefined && owner !== id;
}

function move(
  chain: WatchedChain,
  database: Database,
  id: string,
  stage: string,
  txHash: string,
): boolean {
  return moveWithdrawal(database, id, { stage, txHash, changedAt: chain.clock() });
}

interface Closing {
  readonly status: 1 | 2;
  readonly stage: string;
  readonly code: string;
  readonly final: Ending;
}

function end(
  chain: WatchedChain,
  database: Database,
  row: TransactionRow,
  closing: Closing,
): boolean {
  const { status, stage, code, final } = closing;
  checkIncluded(chain, database, { id: row.id, txHash: final.txHash, block: final.block });
  const { txHash, block: finalBlock } = final;
  const feeUnits = final.feeUnits.toString();
  const isEnded = endWithdrawal(database, row.id, {
    status,
    stage,
    code,
    feeUnits,
    txHash,
    finalBlock,
    changedAt: chain.clock(),
  });
  if (isEnded)
    chain.log.info(
      { event: "withdrawal-ended", transactionId: row.id, orderId: row.orderId, txHash, code },
      `withdrawal ${stage}`,
    );
  return isEnded;
}
