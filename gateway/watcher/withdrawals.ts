/**
 * Judges open withdrawals by the chain: gathers evidence for every signed attempt, lets the chain's
 * interface judge, and stores all results of a pass in one transaction. A pass has a limited number
 * of questions; the remaining withdrawals come in the next passes. A withdrawal that is no longer
 * pending is never changed again. Sources: docs/architecture.md sections 2 and 8.
 */
import type { CodeWithCause } from "../../base/causes.ts";
import { resultOf } from "../../base/result.ts";
import { familyOf, isFeeInside } from "../../chains/families.ts";
import type { Payment } from "../../chains/family.ts";
import { mapWithLimit } from "../../chains/map-limit.ts";
import type { EndingTransaction, Judgement, PaymentMismatch } from "../../chains/nodes.ts";
import { attemptsMax } from "../../protocol/payloads.ts";
import type { FaultKey } from "../faults/fault.ts";
import { MerchantTurns, type PassTurn } from "../faults/turns.ts";
import {
  endedSlotUnreachableCode,
  isSlotUnreachable,
  markSlotUnreachable,
  slotUnreachableCode,
} from "../store/below-beginning.ts";
import { holdCurrency } from "../store/currency-holds.ts";
import { keepMovedAttempt } from "../store/moved-payments.ts";
import type { ServiceReason, TransferRow } from "../store/rows.ts";
import {
  isAttemptOfAnother,
  type JudgedRow,
  listPendingAttempts,
  type SignedWithdrawal,
} from "../store/signatures.ts";
import type { Database } from "../store/store.ts";
import { hasExpiryStatements, takeExpiryStatement } from "../store/void-attempts.ts";
import {
  endWithdrawal,
  LaterSums,
  moveWithdrawalToStage,
  updateWithdrawal,
} from "../store/withdrawals.ts";
import { contractOf, raiseAlarm, type Tip, type WatchedChain } from "./chain.ts";
import { judgeUsedSlot } from "./findings.ts";
import { faultKeyOn } from "./items.ts";
import { alarmVoidIncluded } from "./void-attempts.ts";

/*
 * A final attempt that moved something else than its order says: it is kept for the operator who
 * ends the order, and its currency is held after the first. The contract's own doing holds it for
 * all merchants; an agent that asked for something else holds it for its merchant alone, so that no
 * merchant's server can stop the others' payouts.
 */

/**
 * Runs inside the caller's transaction. A repeat holds nothing, so that a currency which an
 * operator has resumed is held again by another payout alone.
 */
function noteMoved(
  chain: WatchedChain,
  database: Database,
  { id, currency, merchant }: Pick<TransferRow, "id" | "currency" | "merchant">,
  { final, isContracts }: PaymentMismatch,
): void {
  if (final === null) return;
  const { txHash, block } = final;
  const at = chain.clock();
  if (
    !keepMovedAttempt(database, {
      transactionId: id,
      txHash,
      block,
      feeUnits: `${final.feeUnits}`,
      at,
    })
  )
    return;
  const held = isContracts ? "" : merchant;
  if (!holdCurrency(database, { currency, merchant: held, at, transactionId: id, txHash })) return;
  const whose = isContracts ? "of every merchant" : `of merchant ${merchant}`;
  const detail = `${currency}: ${txHash} moved something else than ${id} asks for; payouts and sweeps ${whose} wait`;
  raiseAlarm(chain, database, { code: "CURRENCY_MOVES_OTHERWISE", subject: id, detail });
}

/*
 * A withdrawal with a slot below the first that its account ever had. This gateway's own nodes
 * agree that the account did not exist when the order was made, in a final block with a number
 * above the slot: an account begins at the number of its block, so no block takes the slot from it,
 * and no earlier block can hold bytes that were signed later. The withdrawal is stuck from then on,
 * named to its agent, and takes the place of no other; its agent's operator ends it.
 */

type UnreachableJudgement = Extract<Judgement, { readonly kind: "unreachable" }>;

/**
 * True if the account did not exist yet when the order was made. Otherwise an account of before,
 * which was deleted, may have paid it.
 */
function isProven(
  { createdAt }: Pick<TransferRow, "createdAt">,
  { absentMs }: UnreachableJudgement,
): boolean {
  return absentMs < createdAt;
}

/** Strands the withdrawal, or ends it if its agent has said so already. True if the row changed. */
function strandBelow(
  chain: WatchedChain,
  database: Database,
  { id }: Pick<TransferRow, "id">,
  { detail }: UnreachableJudgement,
): boolean {
  const nowMs = chain.clock();
  const mark = markSlotUnreachable(database, id, nowMs);
  if (mark === "over") return false;
  if (takeExpiryStatement(database, id) !== undefined)
    return updateWithdrawal(
      database,
      id,
      { status: 2, stage: "expired", code: endedSlotUnreachableCode },
      nowMs,
    );
  if (mark === "known") return false;
  raiseAlarm(chain, database, { code: slotUnreachableCode, subject: id, detail });
  return updateWithdrawal(database, id, { stage: "stuck", code: slotUnreachableCode }, nowMs);
}

interface OpenWithdrawal {
  readonly id: string;
  readonly row: JudgedRow;
  readonly payment: Payment;
  readonly hashes: readonly string[]; // hashes of its attempts, oldest first
  readonly pin: string; // the coin that they all spend, "" on chains without coins
}

/** State that is not in the tables, because asking again gives it again. */
export interface WithdrawalMemory {
  readonly turns: MerchantTurns; // of merchants
  roundKey: string; // head and final block of this round
  doneAt: number | null; // when all that was open at its beginning had its turn
  readonly round: Set<string>; // attempts, by `attemptsOf`, that have nothing to ask for in it any more
  known: ReadonlySet<string>; // attempts of the pass before
  readonly includedIn: Map<string, number>; // block by transaction id
  readonly suspects: Set<string>; // withdrawals whose slot looked consumed in the previous pass
}

const questionsAtOnce = 256;
const receiptsPerPass = 1024;
/** Without a new block all are asked about again after this time, because some nodes lag. */
const repeatMs = 15_000;
/** The same where a block takes a minute or longer. */
const longRepeatMs = 120_000;

export function newWithdrawalMemory(): WithdrawalMemory {
  const had = {
    turns: new MerchantTurns(),
    roundKey: "",
    doneAt: null,
    round: new Set<string>(),
    known: new Set<string>(),
  };
  return { ...had, includedIn: new Map(), suspects: new Set() };
}

/** A withdrawal with so many attempts. */
function attemptsOf({ id, hashes }: OpenWithdrawal): string {
  return `${id} ${hashes.length}`;
}

/**
 * Begins the next round when the chain shows another block, or after a while. A withdrawal that
 * came since the last pass, below the same head, is in no block yet: its agent hands out no bytes
 * before the gateway has their statement.
 */
function keepRound(
  { hasLongBlocks }: WatchedChain,
  { head, final, askedAt }: Tip,
  memory: WithdrawalMemory,
  all: readonly OpenWithdrawal[],
): void {
  const key = `${head.hash} ${final.hash}`;
  const isLong =
    memory.doneAt !== null &&
    Math.abs(askedAt - memory.doneAt) >= (hasLongBlocks ? longRepeatMs : repeatMs);
  if (memory.roundKey !== key || isLong) {
    memory.round.clear();
    memory.roundKey = key;
    memory.doneAt = null;
  } else
    for (const one of all)
      if (!memory.known.has(attemptsOf(one)) && one.hashes.length === 1)
        memory.round.add(attemptsOf(one));
  memory.known = new Set(all.map(attemptsOf));
}

function forgetClosed(memory: WithdrawalMemory, open: ReadonlySet<string>): void {
  for (const id of memory.includedIn.keys()) if (!open.has(id)) memory.includedIn.delete(id);
  for (const id of memory.suspects) if (!open.has(id)) memory.suspects.delete(id);
  memory.turns.keep(open);
}

interface JudgedWithdrawal {
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
  keepRound(chain, tip, memory, all);
  const due = all.filter(
    (one) => chain.faults.isDue(itemOf(chain, one)) && !memory.round.has(attemptsOf(one)),
  );
  forgetClosed(memory, ids);
  if (due.length === 0) {
    memory.doneAt ??= tip.askedAt;
    return;
  }
  memory.turns.beginPass();
  const turn = memory.turns.deal(due, receiptsPerPass, turnOf);
  for (const one of turn) memory.round.add(attemptsOf(one));
  const pass = chain.reader.pass(tip.final, turn.length);
  const again = new Set<OpenWithdrawal>(); // at the next pass
  /** Null for a withdrawal whose question failed. */
  const settle = async (
    one: OpenWithdrawal,
    judge: () => Promise<JudgedWithdrawal>,
  ): Promise<JudgedWithdrawal | null> => {
    const answer = chain.faults.settle(itemOf(chain, one), await resultOf(judge));
    if (answer === null) again.add(one);
    return answer;
  };
  const judged = await mapWithLimit(turn, questionsAtOnce, (one) =>
    settle(one, async () => ({
      one,
      verdict: unreadable(one) ?? (await pass.judge(one.payment, one.hashes, one.pin)),
    })),
  );
  const known = judged.filter((each) => each !== null);
  const early = known.filter((each) => isEarly(each, memory));
  for (const { one } of early) again.add(one);
  const held = known.filter(({ one }) => !again.has(one));
  remember(memory, known);
  const found = await mapWithLimit(held, questionsAtOnce, (each) =>
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
  for (const one of again) memory.round.delete(attemptsOf(one));
  if (again.size === 0 && turn.length === due.length) memory.doneAt ??= tip.askedAt;
}

function itemOf(chain: WatchedChain, { id, row }: OpenWithdrawal): FaultKey {
  return faultKeyOn(chain, "withdrawal", id, row.merchant);
}

/** A withdrawal costs a question for each of its attempts. */
const turnOf = ({ id, row: { merchant }, hashes }: OpenWithdrawal): PassTurn => ({
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
    destination: row.receiver ?? "",
    tag: row.tag,
    amountUnits: BigInt(row.units),
    isFeeInside: isFeeInside(chain.network, row.operation),
  };
}

/**
 * A node that lags behind the expected count looks the same for a moment, so the result counts only
 * if it lasts.
 */
function isEarly(each: JudgedWithdrawal, memory: WithdrawalMemory): boolean {
  return isUsed(each) && !memory.suspects.has(each.one.row.id);
}

function isUsed({ verdict }: JudgedWithdrawal): boolean {
  return verdict.kind === "stuck" && verdict.code === "WATCHER_SLOT_CONSUMED";
}

/** The transaction that used the slot may have been read before the withdrawal got the slot. */
async function usedBy(
  chain: WatchedChain,
  { one, verdict }: JudgedWithdrawal,
): Promise<JudgedWithdrawal> {
  const { network, account, slot } = one.payment;
  return {
    one,
    verdict: (await judgeUsedSlot(chain, one.row, { network, account, slot })) ?? verdict,
  };
}

function remember(memory: WithdrawalMemory, judged: readonly JudgedWithdrawal[]): void {
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
  judged: readonly JudgedWithdrawal[],
): readonly JudgedWithdrawal[] {
  const counted = judged.map(({ one, verdict }) => ({
    one,
    verdict: countedFor(database, one.row, verdict),
  }));
  const applying = beginApplying(database);
  const changed = counted.filter(({ one, verdict }) =>
    applyCounted(chain, applying, one.row, verdict),
  );
  applying.later.flush(database);
  return changed;
}

/**
 * A transaction that was made for another order here pays nothing for this one: each transaction
 * pays one order, and its own order is judged by it. Only a coin can be spent by two of them, as a
 * slot belongs to one withdrawal.
 */
function countedFor(database: Database, { id }: JudgedRow, verdict: Judgement): Judgement {
  const isUsed = verdict.kind === "stuck" && verdict.code !== "WATCHER_CONTENT_DIFFERS";
  const by = verdict.kind === "completed" ? verdict.final : isUsed ? verdict.by : undefined;
  if (by === undefined || !isAttemptOfAnother(database, id, by.txHash)) return verdict;
  return { kind: "failed", code: "chain_slot_consumed", final: by };
}

/** A slot is also "used" for a withdrawal whose currency is not in the configuration any more. */
function stuckCause(
  chain: WatchedChain,
  row: JudgedRow,
  code: (Judgement & { kind: "stuck" })["code"],
): CodeWithCause {
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
export function applyJudgement(
  chain: WatchedChain,
  database: Database,
  row: JudgedRow,
  judged: Judgement,
): boolean {
  const applying = beginApplying(database);
  const isChanged = applyCounted(chain, applying, row, countedFor(database, row, judged));
  applying.later.flush(database);
  return isChanged;
}

/** The context that the results of one transaction share. */
interface EndContext {
  readonly database: Database;
  readonly later: LaterSums;
  /** An agent has said of any withdrawal that it is over; hardly ever. */
  readonly hasExpiries: boolean;
}

function beginApplying(database: Database): EndContext {
  return { database, later: new LaterSums(), hasExpiries: hasExpiryStatements(database) };
}

/** Like `applyVerdict`, for a result as it counts for its withdrawal. */
function applyCounted(
  chain: WatchedChain,
  applying: EndContext,
  row: JudgedRow,
  verdict: Judgement,
): boolean {
  const { database } = applying;
  switch (verdict.kind) {
    case "completed":
      return end(chain, applying, row, {
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
      return end(chain, applying, row, {
        status: 2,
        stage: "failed",
        code: verdict.code,
        final: verdict.final,
      });
    case "unreachable":
      if (isProven(row, verdict)) return strandBelow(chain, database, row, verdict);
      return applyCounted(chain, applying, row, {
        kind: "stuck",
        code: "WATCHER_SLOT_CONSUMED",
        detail: verdict.detail,
      });
    case "stuck":
      // The proof holds, also where a node has forgotten those blocks.
      if (isSlotUnreachable(database, row.id)) return false;
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

function move(
  chain: WatchedChain,
  database: Database,
  id: string,
  stage: string,
  txHash: string,
): boolean {
  return moveWithdrawalToStage(database, id, { stage, txHash, changedAt: chain.clock() });
}

interface FinalState {
  readonly status: 1 | 2;
  readonly stage: string;
  readonly code: ServiceReason | "";
  readonly final: EndingTransaction;
}

function end(
  chain: WatchedChain,
  applying: EndContext,
  row: JudgedRow,
  closing: FinalState,
): boolean {
  const { database, later, hasExpiries } = applying;
  const { status, stage, code, final } = closing;
  alarmVoidIncluded(
    chain,
    database,
    { id: row.id, txHash: final.txHash, block: final.block },
    hasExpiries,
  );
  const { txHash, block: finalBlock } = final;
  const feeUnits = final.feeUnits.toString();
  const ending = { status, stage, code, feeUnits, txHash, finalBlock, changedAt: chain.clock() };
  const isEnded = endWithdrawal(database, row.id, ending, later);
  if (isEnded)
    chain.log.info(
      { event: "withdrawal-ended", transactionId: row.id, orderId: row.orderId, txHash, code },
      `withdrawal ${stage}`,
    );
  return isEnded;
}
