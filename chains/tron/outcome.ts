/**
 * The one rule for "paid": pure functions from final, agreed evidence to one outcome. Completed
 * only for exactly this payment. Failed only by the receipt of its newest attempt. Every other
 * state stays open, at worst until an operator decides. A transaction that is in no block proves
 * nothing here: only expiry ends it. Sources: TIP-20 (Transfer); docs/architecture.md sections 2
 * (truth) and 8.
 */
import type {
  ChainOutcome,
  EndingTransaction,
  Judgement,
  PaymentMismatch,
  WantedPaymentFrom,
} from "../nodes.ts";
import type { BlockTransaction, Receipt } from "./answers.ts";
import { transfersOf } from "./events.ts";
import { encodeTransferCall } from "./trc20.ts";

/** The fields of a transaction that name its receiver. */
export type ReceiverFields = Pick<
  BlockTransaction,
  "kind" | "owner" | "receiver" | "amountSun" | "contract" | "data"
>;

/** A transaction and its receipt in a solidified block, as enough nodes returned them. */
export interface FinalTransaction {
  readonly receipt: Receipt;
  readonly transaction: ReceiverFields;
}

/** One signed attempt: included in a block by one node's answer, final by agreement. */
export interface AttemptEvidence {
  readonly txHash: string;
  readonly includedIn: number | null; // block number
  readonly final: FinalTransaction | null;
}

/**
 * The effect of a final transaction on a payment. Coins: a successful transfer of exactly this
 * amount to the receiver. A token: one Transfer of the contract in the complete transaction, from
 * the account, of exactly this amount.
 */
export function outcomeOf(
  payment: WantedPaymentFrom,
  { receipt, transaction }: FinalTransaction,
): Exclude<ChainOutcome["outcome"], "cancelled" | "conflicted"> {
  if (!receipt.isDone) return "reverted";
  return paysExactly(payment, transaction, receipt) ? "paid" : "moved";
}

/** Judges a withdrawal by all its attempts, oldest first. */
export function judgePayout(
  payment: WantedPaymentFrom,
  attempts: readonly AttemptEvidence[],
): Judgement {
  const ends = attempts.flatMap(({ txHash, final }) => (final === null ? [] : [{ txHash, final }]));
  const foreign = ends.find(({ final }) => final.transaction.owner !== payment.account);
  if (foreign !== undefined)
    return differs(`${foreign.txHash} is not a transaction of ${payment.account}`);
  const outcomes = ends.map(({ txHash, final }) => ({
    txHash,
    outcome: outcomeOf(payment, final),
    end: endingOf(final),
    transaction: final.transaction,
  }));
  const [paid, again] = outcomes.filter(({ outcome }) => outcome === "paid");
  if (paid !== undefined && again !== undefined)
    return differs(`${paid.txHash} and ${again.txHash} are final and both paid`);
  if (paid !== undefined) return { kind: "completed", final: paid.end };
  const moved = outcomes.find(({ outcome }) => outcome === "moved");
  if (moved !== undefined) {
    const isAlone = outcomes.filter(({ outcome }) => outcome === "moved").length === 1;
    const told = differs(
      `${moved.txHash} is final and is not exactly the payment that was asked for`,
    );
    return {
      ...told,
      final: isAlone ? moved.end : null,
      isContracts: isAsked(payment, moved.transaction),
    };
  }
  // An older attempt that failed leaves a newer one open.
  const newest = outcomes.find(({ txHash }) => txHash === attempts.at(-1)?.txHash);
  if (newest !== undefined) return { kind: "failed", code: "chain_reverted", final: newest.end };
  const included = attempts.find(({ includedIn, final }) => includedIn !== null && final === null);
  if (included === undefined) return { kind: "waiting" };
  return { kind: "confirming", txHash: included.txHash, block: included.includedIn as number };
}

function endingOf({ receipt: { txHash, block, feeSun } }: FinalTransaction): EndingTransaction {
  return { txHash, block, feeUnits: feeSun };
}

function paysExactly(
  payment: WantedPaymentFrom,
  { kind, owner, receiver, amountSun }: ReceiverFields,
  receipt: Receipt,
): boolean {
  const { account, contract, destination, amountUnits } = payment;
  if (contract === "")
    return (
      kind === "coins" && owner === account && receiver === destination && amountSun === amountUnits
    );
  const [transfer, ...more] = transfersOf(contract, receipt);
  if (transfer === undefined || transfer === null || more.length > 0 || owner !== account)
    return false;
  return (
    transfer.from === account && transfer.to === destination && transfer.amountUnits === amountUnits
  );
}

/** True if the transaction calls the token's contract for exactly the payment. */
function isAsked(
  { contract, destination, amountUnits }: WantedPaymentFrom,
  transaction: ReceiverFields,
): boolean {
  if (contract === "" || transaction.kind !== "call" || transaction.contract !== contract)
    return false;
  return (
    transaction.data.toLowerCase() ===
    Buffer.from(encodeTransferCall(destination, amountUnits)).toString("hex")
  );
}

function differs(detail: string): PaymentMismatch {
  return {
    kind: "stuck",
    code: "WATCHER_CONTENT_DIFFERS",
    detail,
    final: null,
    isContracts: false,
  };
}
