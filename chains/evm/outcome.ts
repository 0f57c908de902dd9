/**
 * The one rule for "paid": pure functions from final, agreed evidence to one outcome. Completed
 * only for exactly this payment. Failed only if this payment has become impossible permanently.
 * Every other state stays open, at worst until an operator decides. Sources: EIP-20 (Transfer);
 * docs/architecture.md sections 2 (truth) and 8.
 */
import { AgentError } from "../../base/fault.ts";
import type { Payment } from "../family.ts";
import type {
  ChainOutcome,
  EndingTransaction,
  Judgement,
  PaymentMismatch,
  WantedPaymentFrom,
} from "../nodes.ts";
import type { Receipt, SentTransaction } from "./answers.ts";
import { encodeTransferCall } from "./erc20.ts";
import { readTransferLog, transferTopic } from "./token-reads.ts";

/** The fields of a transaction that name its receiver. */
export type ReceiverFields = Pick<SentTransaction, "to" | "valueUnits" | "input">;

/**
 * A transaction and its receipt, both at or below the final block, as enough nodes returned them.
 */
export interface FinalTransaction {
  readonly receipt: Receipt;
  readonly transaction: SentTransaction;
}

/** One signed attempt: included in a block by one node's answer, final by agreement. */
export interface AttemptEvidence {
  readonly txHash: string;
  readonly includedIn: number | null; // block number
  readonly final: FinalTransaction | null;
}

export interface PayoutEvidence {
  readonly attempts: readonly AttemptEvidence[];
  readonly finalCount: bigint | null; // the account's count at the final block; null when not agreed
}

/**
 * The effect of a final transaction on a payment. Native: a successful call of the receiver with
 * exactly this value. ERC-20: one Transfer of the contract in the complete transaction, from the
 * account, of exactly this amount. A token that takes a fee, or moves more than this from any
 * address, does not make the payment that was asked for. Cancelled: a zero payment of the account
 * to itself, and nothing else.
 */
export function outcomeOf(
  payment: WantedPaymentFrom,
  sent: ReceiverFields,
  receipt: Receipt,
): Exclude<ChainOutcome["outcome"], "conflicted"> {
  if (receipt.status !== 1) return "reverted";
  if (paysExactly(payment, sent, receipt)) return "paid";
  return paysNothing(payment, sent, receipt) ? "cancelled" : "moved";
}

/** Judges a withdrawal by all its attempts. */
export function judgePayout(payment: Payment, evidence: PayoutEvidence): Judgement {
  const nonce = BigInt(payment.slot);
  for (const { txHash, final } of evidence.attempts) {
    if (final === null) continue;
    const { transaction, receipt } = final;
    if (transaction.from !== payment.account || transaction.nonce !== nonce)
      return differs(`${txHash} is not a transaction of ${payment.account} with nonce ${nonce}`);
    switch (outcomeOf(payment, transaction, receipt)) {
      case "reverted":
        return { kind: "failed", code: "chain_reverted", final: endingOf(receipt) };
      case "paid":
        return { kind: "completed", final: endingOf(receipt) };
      case "cancelled":
        return { kind: "failed", code: "cancelled", final: endingOf(receipt) };
      case "moved":
        return {
          ...differs(`${txHash} is final and is not exactly the payment that was asked for`),
          ...movedBy(payment, final),
        };
    }
  }
  const included = evidence.attempts.find((attempt) => attempt.includedIn !== null);
  if (included !== undefined)
    return { kind: "confirming", txHash: included.txHash, block: included.includedIn as number };
  if (evidence.finalCount !== null && evidence.finalCount > nonce) {
    const detail = `nonce ${nonce} of ${payment.account} is used at the final block by no known attempt`;
    return { kind: "stuck", code: "WATCHER_SLOT_CONSUMED", detail };
  }
  return { kind: "waiting" };
}

/**
 * True if the data of a successful transaction does not show its receiver, so the code at its `to`
 * decides. A plain transfer of coins runs the code at its destination, which may pass the coins on.
 */
export function needsReceiverCode(
  payment: Payment,
  { transaction, receipt }: FinalTransaction,
): boolean {
  const { to, input } = transaction;
  return (
    payment.contract === "" &&
    receipt.status === 1 &&
    input === "0x" &&
    to !== null &&
    to !== payment.destination
  );
}

/**
 * Judges a withdrawal by a final transaction of its account and nonce that is none of its known
 * attempts. `code` is the code at `to` when the transaction ran: "0x" for none, null if nobody
 * asked for it or the nodes do not answer.
 */
export function judgeSlotConsumer(
  payment: Payment,
  final: FinalTransaction,
  code: string | null,
): Judgement {
  const { transaction, receipt } = final;
  const outcome = outcomeOf(payment, transaction, receipt);
  if (outcome === "reverted")
    return { kind: "failed", code: "chain_slot_consumed", final: endingOf(receipt) };
  if (outcome === "paid") return { kind: "completed", final: endingOf(receipt) };
  const mayHavePaid =
    payment.contract === ""
      ? !needsReceiverCode(payment, final) || code !== "0x"
      : transfersOf(payment.contract, receipt).some(
          (transfer) => transfer === null || transfer.to === payment.destination,
        );
  if (!mayHavePaid)
    return { kind: "failed", code: "chain_slot_consumed", final: endingOf(receipt) };
  const detail = `${transaction.hash} used nonce ${payment.slot} of ${payment.account} and may have paid something to the receiver`;
  return { kind: "stuck", code: "WATCHER_SLOT_CONSUMED", detail, by: endingOf(receipt) };
}

function endingOf({
  txHash,
  blockNumber,
  gasUsed,
  effectiveGasPrice,
  dataFee,
}: Receipt): EndingTransaction {
  return { txHash, block: blockNumber, feeUnits: gasUsed * effectiveGasPrice + dataFee };
}

function paysExactly(payment: WantedPaymentFrom, sent: ReceiverFields, receipt: Receipt): boolean {
  const { account, contract, destination, amountUnits } = payment;
  if (contract === "") return sent.to === destination && sent.valueUnits === amountUnits;
  const [transfer, ...more] = transfersOf(contract, receipt);
  if (transfer === undefined || transfer === null || more.length > 0) return false;
  return (
    transfer.from === account && transfer.to === destination && transfer.amountUnits === amountUnits
  );
}

function paysNothing(
  { account }: WantedPaymentFrom,
  sent: ReceiverFields,
  receipt: Receipt,
): boolean {
  return (
    sent.valueUnits === 0n &&
    sent.input === "0x" &&
    sent.to === account &&
    receipt.logs.length + (receipt.oddLogs?.length ?? 0) === 0
  );
}

/**
 * Null stands for a Transfer in a form that this contract should not have.
 * @throws AgentError NODE_ANSWER if a log that may be a Transfer cannot be read
 */
function transfersOf(
  contract: string,
  receipt: Receipt,
): readonly ReturnType<typeof readTransferLog>[] {
  const isOdd = receipt.oddLogs?.some(
    (address) => address === "" || address === contract.toLowerCase(),
  );
  if (isOdd === true)
    throw new AgentError(
      "NODE_ANSWER",
      "none",
      "a log of the token in the receipt cannot be read",
      { contract },
    );
  return receipt.logs
    .filter((log) => log.address === contract && log.topics[0] === transferTopic)
    .map(readTransferLog);
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

function movedBy(
  { contract, destination, amountUnits }: WantedPaymentFrom,
  { transaction: { to, input }, receipt }: FinalTransaction,
): Pick<PaymentMismatch, "final" | "isContracts"> {
  const isAsked = (): boolean =>
    input === `0x${Buffer.from(encodeTransferCall(destination, amountUnits)).toString("hex")}`;
  return { final: endingOf(receipt), isContracts: contract !== "" && to === contract && isAsked() };
}
