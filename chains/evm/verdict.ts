/**
 * The rule for "paid", for whoever asks: pure functions from final, agreed evidence to one verdict.
 * Completed only for exactly this payment; failed only when it has become impossible for ever;
 * everything else stays open, at worst for a person. Sources: EIP-20 (Transfer);
 * docs/architecture.md sections 2 (truth) and 8.
 */
import { AgentError } from "../../protocol/fault.ts";
import type { Payment } from "../family.ts";
import type { Judgement, PaidFrom, Verdict } from "../nodes.ts";
import type { Receipt, SentTransaction } from "./answers.ts";
import { readTransferLog, transferTopic } from "./erc20.ts";

/** The part of a transaction that says whom it pays. */
export type Sent = Pick<SentTransaction, "to" | "valueUnits" | "input">;

/** A transaction and its receipt, both at or below the final block, as enough nodes gave them. */
export interface FinalTransaction {
  readonly receipt: Receipt;
  readonly transaction: SentTransaction;
}

/** One signed version: in a block by one node's word, final by agreement. */
export interface VersionEvidence {
  readonly txHash: string;
  readonly includedIn: number | null; // block number
  readonly final: FinalTransaction | null;
}

export interface Evidence {
  readonly versions: readonly VersionEvidence[];
  readonly finalCount: bigint | null; // the account's counter at the final block; null when not agreed
}

/**
 * What a final transaction did to a payment. Native: a successful call of the receiver with exactly
 * this value. ERC-20: one Transfer of the contract in the whole transaction, from the account, of
 * exactly this amount; a token that takes a fee, from whomever, or moves more than that is not the
 * payment that was asked for. Cancelled: the account paid itself nothing, and nothing else
 * happened.
 */
export function outcomeOf(payment: PaidFrom, sent: Sent, receipt: Receipt): Verdict["outcome"] {
  if (receipt.status !== 1) return "reverted";
  if (paysExactly(payment, sent, receipt)) return "paid";
  return paysNothing(payment, sent, receipt) ? "cancelled" : "moved";
}

/** Judges a withdrawal by all its versions. */
export function judgePayout(payment: Payment, evidence: Evidence): Judgement {
  const nonce = BigInt(payment.slot);
  for (const { txHash, final } of evidence.versions) {
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
        return differs(`${txHash} is final and is not exactly the payment that was asked for`);
    }
  }
  const included = evidence.versions.find((version) => version.includedIn !== null);
  if (included !== undefined) return { kind: "confirming", txHash: included.txHash, block: included.includedIn as number };
  if (evidence.finalCount !== null && evidence.finalCount > nonce) {
    const detail = `nonce ${nonce} of ${payment.account} is used at the final block by no known version`;
    return { kind: "stuck", code: "WATCHER_SLOT_CONSUMED", detail };
  }
  return { kind: "waiting" };
}

/**
 * Whether a successful consumer's own words cannot say whom it paid, so that the code at its `to`
 * decides: a plain transfer of coins runs whatever code is there then, and that may pass them on.
 */
export function asksForCode(payment: Payment, { transaction, receipt }: FinalTransaction): boolean {
  const { to, input } = transaction;
  return payment.contract === "" && receipt.status === 1 && input === "0x" && to !== null && to !== payment.destination;
}

/**
 * Judges a withdrawal by a final transaction of its account and nonce that is none of its known
 * versions. `code` is what stood at its `to` when it ran, "0x" for none, null when it was not asked
 * for or the nodes cannot say.
 */
export function judgeConsumer(payment: Payment, final: FinalTransaction, code: string | null): Judgement {
  const { transaction, receipt } = final;
  const outcome = outcomeOf(payment, transaction, receipt);
  if (outcome === "reverted") return { kind: "failed", code: "chain_slot_consumed", final: endingOf(receipt) };
  if (outcome === "paid") return { kind: "completed", final: endingOf(receipt) };
  const mayHavePaid =
    payment.contract === ""
      ? !asksForCode(payment, final) || code !== "0x"
      : transfersOf(payment.contract, receipt).some((transfer) => transfer === null || transfer.to === payment.destination);
  if (!mayHavePaid) return { kind: "failed", code: "chain_slot_consumed", final: endingOf(receipt) };
  const detail = `${transaction.hash} used nonce ${payment.slot} of ${payment.account} and may have paid something to the receiver`;
  return { kind: "stuck", code: "WATCHER_SLOT_CONSUMED", detail };
}

function endingOf({
  txHash,
  blockNumber,
  gasUsed,
  effectiveGasPrice,
  dataFee,
}: Receipt): Extract<Judgement, { kind: "completed" }>["final"] {
  return { txHash, block: blockNumber, feeUnits: gasUsed * effectiveGasPrice + dataFee };
}

function paysExactly(payment: PaidFrom, sent: Sent, receipt: Receipt): boolean {
  const { account, contract, destination, amountUnits } = payment;
  if (contract === "") return sent.to === destination && sent.valueUnits === amountUnits;
  const [transfer, ...more] = transfersOf(contract, receipt);
  if (transfer === undefined || transfer === null || more.length > 0) return false;
  return transfer.from === account && transfer.to === destination && transfer.amountUnits === amountUnits;
}

function paysNothing({ account }: PaidFrom, sent: Sent, receipt: Receipt): boolean {
  return (
    sent.valueUnits === 0n &&
    sent.input === "0x" &&
    sent.to === account &&
    receipt.logs.length + (receipt.oddLogs?.length ?? 0) === 0
  );
}

/**
 * Null stands for a Transfer in a form this contract should not have. @throws AgentError
 * NODE_ANSWER where a log that may be one cannot be read
 */
function transfersOf(contract: string, receipt: Receipt): readonly ReturnType<typeof readTransferLog>[] {
  const isOdd = receipt.oddLogs?.some((address) => address === "" || address === contract.toLowerCase());
  if (isOdd === true)
    throw new AgentError("NODE_ANSWER", "none", "a log of the token in the receipt cannot be read", { contract });
  return receipt.logs.filter((log) => log.address === contract && log.topics[0] === transferTopic).map(readTransferLog);
}

function differs(detail: string): Judgement {
  return { kind: "stuck", code: "WATCHER_CONTENT_DIFFERS", detail };
}
