/**
 * Judges withdrawals by validated transactions: by their attempts, and by the transaction that used
 * their slot. Everything that ends a withdrawal is agreed. Touches nodes only through node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { Payment } from "../family.ts";
import type { BeginningProof, BlockId, Judgement } from "../nodes.ts";
import { agreedValueOrNull, quorumAnswerOf, slowNodeGraceMs } from "../providers/chain-blocks.ts";
import { agreedAccount } from "./node-accounts.ts";
import { type LedgerTransaction, transactionKey } from "./node-answers.ts";
import type { HistoryReader } from "./node-history.ts";
import { type AttemptEvidence, judgeAttempt, judgeSlotUser } from "./node-outcome.ts";
import { transactionQuestion } from "./node-questions.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

/** A transaction by the nodes that answered. */
export interface TransactionView {
  /** In a validated ledger, the same by enough nodes. */
  readonly agreed: LedgerTransaction | null;
  /** In a validated ledger of any node. */
  readonly shown: LedgerTransaction | null;
}

/**
 * @throws NODE_DISAGREE if enough nodes show it, each another way; a fault when too few answered
 */
export async function shownTransaction(pool: NodePool, txHash: string): Promise<TransactionView> {
  const settled = await pool.all(
    (node: PoolNode) => pool.ask(node, transactionQuestion(txHash)),
    slowNodeGraceMs,
  );
  const found = quorumAnswerOf(settled, pool.quorumMin, transactionKey);
  return {
    agreed: agreedValueOrNull(found, pool.quorumMin, `transaction ${txHash}`),
    shown: found.shown,
  };
}

/** Transactions that are remembered. */
const knownMax = 4_096;

/**
 * As `shownTransaction`. One that enough nodes have shown in a validated ledger is not asked for
 * again, because a validated ledger does not change.
 */
export function createTransactionReader(
  pool: NodePool,
): (txHash: string) => Promise<TransactionView> {
  const known = new Map<string, LedgerTransaction>();
  return async (txHash) => {
    const before = known.get(txHash);
    if (before !== undefined) return { agreed: before, shown: before };
    const found = await shownTransaction(pool, txHash);
    // A single node may have been wrong, and is asked again.
    if (found.agreed === null || pool.quorumMin < 2) return found;
    known.set(txHash, found.agreed);
    const oldest = known.keys().next();
    if (known.size > knownMax && !oldest.done) known.delete(oldest.value);
    return found;
  };
}

export interface JudgeTools {
  readonly pool: NodePool;
  readonly history: HistoryReader;
  /**
   * Users of slots that were found before, by account and slot; a validated one does not change.
   */
  readonly users: Map<string, LedgerTransaction>;
  readonly began: (account: string) => Promise<BeginningProof | null>;
}

/** From this number of payouts in a pass on, the accounts' sequences are asked for first. */
const countedFrom = 4;
const usersMax = 1_024;

/** `payouts`: how many the pass will judge. */
export function createJudge(
  tools: JudgeTools,
  final: BlockId,
  payouts: number,
): (payment: Payment, txHashes: readonly string[]) => Promise<Judgement> {
  const sequenceOf = createSequences(tools.pool, final.number);

  return async (payment, txHashes) => {
    const slot = BigInt(payment.slot);
    if (payouts >= countedFrom) {
      // Most of these payouts are in no ledger yet. The account's sequence shows this for all.
      const sequence = await sequenceOf(payment.account);
      if (sequence !== null && slot >= sequence) return { kind: "waiting" };
    }
    const attempts = await Promise.all(
      txHashes.map((txHash) => evidenceOf(tools.pool, txHash, final)),
    );
    const ended = attempts.find((attempt) => attempt.final !== null)?.final;
    if (ended !== undefined && ended !== null) return judgeAttempt(payment, ended);
    const included = attempts.find(({ includedIn }) => includedIn !== null);
    const doubt = attempts.find(({ fault }) => fault !== null)?.fault ?? null;
    const sequence = await sequenceOf(payment.account);
    const isUsed = sequence !== null && sequence > slot;
    // The final count and the lists of enough nodes end a doubt, whatever one method of one node
    // says of the attempt.
    const user = isUsed ? await userOf(tools, payment, final.number) : null;
    if (user !== null)
      return txHashes.includes(user.txHash)
        ? judgeAttempt(payment, user)
        : judgeSlotUser(payment, user);
    if (doubt !== null) throw doubt;
    if (included !== undefined)
      return { kind: "confirming", txHash: included.txHash, block: included.includedIn as number };
    if (!isUsed) return { kind: "waiting" };
    const below = await belowOf(tools, payment);
    if (below !== null) return below;
    const detail = `sequence ${slot} of ${payment.account} is used at the final ledger by no known attempt`;
    return { kind: "stuck", code: "WATCHER_SLOT_CONSUMED", detail };
  };
}

/**
 * Null unless the account began above the slot: no ledger since has taken the slot, and none ever
 * will.
 */
async function belowOf(
  { began }: JudgeTools,
  { account, slot }: Payment,
): Promise<Judgement | null> {
  const found = await began(account);
  if (found === null || BigInt(slot) >= BigInt(found.slot)) return null;
  const detail = `sequence ${slot} of ${account}, which began at ${found.slot}: no ledger ever takes it`;
  return { kind: "unreachable", absentMs: found.absentMs, detail };
}

/** `fault`: why the nodes do not say of the attempt what it is. */
async function evidenceOf(
  pool: NodePool,
  txHash: string,
  final: BlockId,
): Promise<AttemptEvidence & { readonly fault: AgentError | null }> {
  try {
    const { agreed, shown } = await shownTransaction(pool, txHash);
    const isFinal = agreed !== null && agreed.ledger <= final.number;
    return {
      txHash,
      includedIn: shown?.ledger ?? null,
      final: isFinal ? agreed : null,
      fault: null,
    };
  } catch (fault) {
    if (!(fault instanceof AgentError) || fault.code === "NODE_CLOSED") throw fault;
    return { txHash, includedIn: null, final: null, fault };
  }
}

/** The transaction that used the slot, by the lists of enough nodes; null if they do not say. */
async function userOf(
  { history, users }: JudgeTools,
  payment: Payment,
  final: number,
): Promise<LedgerTransaction | null> {
  const key = `${payment.account} ${payment.slot}`;
  const user = users.get(key) ?? (await found(history, payment, final));
  if (user === null) return null;
  if (users.size >= usersMax) users.clear();
  users.set(key, user);
  return user;
}

async function found(
  history: HistoryReader,
  { account, slot }: Payment,
  final: number,
): Promise<LedgerTransaction | null> {
  try {
    return await history.userOf(account, slot, final);
  } catch (error) {
    // One node remembers further back than the other.
    if (error instanceof AgentError && error.code === "NODE_DISAGREE") return null;
    throw error;
  }
}

/**
 * The agreed sequence of an account at the final ledger, asked for once in a pass; null for none.
 */
function createSequences(
  pool: NodePool,
  final: number,
): (account: string) => Promise<bigint | null> {
  const known = new Map<string, Promise<bigint | null>>();
  return (account) => {
    const sequence =
      known.get(account) ??
      agreedAccount(pool, account, final).then((one) => one?.sequence ?? null);
    known.set(account, sequence);
    return sequence;
  };
}
