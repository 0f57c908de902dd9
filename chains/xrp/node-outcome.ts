/**
 * The one rule for "paid": pure functions from a validated, agreed transaction to its effect on a
 * payment, and to payments that an account received. The amount is the delivered one, because a
 * partial payment names more than it delivers. Sources: docs/architecture.md, section 2 (truth);
 * the ledger's documentation of partial payments and of transaction results.
 */
import type {
  ChainOutcome,
  EndingTransaction,
  Judgement,
  PaymentMismatch,
  WantedPaymentFrom,
} from "../nodes.ts";
import { encodeXAddress } from "./address.ts";
import type { LedgerTransaction } from "./node-answers.ts";

/** One attempt: shown in a validated ledger by any node, and the agreed transaction. */
export interface AttemptEvidence {
  readonly txHash: string;
  readonly includedIn: number | null; // ledger
  readonly final: LedgerTransaction | null;
}

const done = "tesSUCCESS";
const slotKind = "AccountSet"; // the one among our own attempts that only uses a slot up
const carrierKind = "Batch"; // carries payments that stand in the ledger beside it

/** The effect of an attempt, whose bytes are known. */
export function outcomeOf(
  payment: WantedPaymentFrom,
  transaction: LedgerTransaction,
): Exclude<ChainOutcome["outcome"], "conflicted"> {
  if (transaction.account !== payment.account) return "moved";
  if (transaction.result !== done) return "reverted";
  if (paysExactly(payment, transaction)) return "paid";
  return transaction.kind === slotKind ? "cancelled" : "moved";
}

function paysExactly(
  { contract, destination, tag, amountUnits }: WantedPaymentFrom,
  transaction: LedgerTransaction,
): boolean {
  const { kind, deliveredDrops } = transaction;
  const isTo = transaction.destination === destination && transaction.tag === tag;
  return contract === "" && kind === "Payment" && isTo && deliveredDrops === amountUnits;
}

/** Judges a withdrawal by its own final attempt on its slot. */
export function judgeAttempt(
  payment: WantedPaymentFrom & { readonly slot: string },
  transaction: LedgerTransaction,
): Judgement {
  const { account, slot } = payment;
  const { txHash, sequence } = transaction;
  if (transaction.account !== account || sequence !== slot)
    return differs(`${txHash} is not a transaction of ${account} with sequence ${slot}`);
  const final = endingOf(transaction);
  switch (outcomeOf(payment, transaction)) {
    case "reverted":
      return { kind: "failed", code: "chain_reverted", final };
    case "paid":
      return { kind: "completed", final };
    case "cancelled":
      return { kind: "failed", code: "cancelled", final };
    case "moved":
      return {
        ...differs(`${txHash} is final and is not exactly the payment that was asked for`),
        final,
      };
  }
}

/**
 * Judges a withdrawal by a final transaction on its slot that is none of its known attempts. It has
 * paid nothing to the receiver if it failed, or if it does not name the receiver and leaves the
 * receiver's balance.
 */
export function judgeSlotUser(
  payment: WantedPaymentFrom & { readonly slot: string },
  transaction: LedgerTransaction,
): Judgement {
  const { destination, account, slot } = payment;
  const { txHash, result, risen } = transaction;
  const final = endingOf(transaction);
  if (result !== done) return { kind: "failed", code: "chain_slot_consumed", final };
  if (transaction.account === account && paysExactly(payment, transaction))
    return { kind: "completed", final };
  const isNamed =
    transaction.destination === destination || risen.some(([address]) => address === destination);
  const mayHavePaid = isNamed || transaction.kind === carrierKind;
  if (!mayHavePaid) return { kind: "failed", code: "chain_slot_consumed", final };
  const detail = `${txHash} used sequence ${slot} of ${account} and may have paid something to the receiver`;
  return { kind: "stuck", code: "WATCHER_SLOT_CONSUMED", detail, by: final };
}

export function endingOf({
  txHash,
  ledger: block,
  feeDrops: feeUnits,
}: LedgerTransaction): EndingTransaction {
  return { txHash, block, feeUnits };
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

/** XRP that came to an account, and the text for its payee. */
export interface ReceivedPayment {
  readonly address: string; // the X-address of account and tag, or the account itself
  readonly drops: bigint;
  readonly index: number; // another one for each account to which the transaction brought XRP
}

/** Index of a payment in the native coin to the receiver that its transaction names. */
const paymentIndex = -1;
/** Money of another party that the receiver itself fetches. */
const fetches: ReadonlySet<string> = new Set(["CheckCash", "EscrowFinish", "PaymentChannelClaim"]);

/**
 * A payment to the account, or any other transaction that brought it XRP of another party: an
 * escrow, a check or a channel that ended, or the rest of a deleted account. The fee of a
 * transaction of the account itself is no part of the money that came. Null for none.
 */
export function receivedPaymentOf(
  account: string,
  transaction: LedgerTransaction,
): ReceivedPayment | null {
  const { kind, destination, tag, deliveredDrops, feeDrops, risen } = transaction;
  const isOwn = transaction.account === account;
  if (transaction.result !== done || (isOwn && !fetches.has(kind))) return null;
  if (kind === "Payment" && destination === account) {
    if (deliveredDrops === null || deliveredDrops === 0n) return null;
    return {
      address: encodeXAddress({ address: account, tag }),
      drops: deliveredDrops,
      index: paymentIndex,
    };
  }
  const index = risen.findIndex(([address]) => address === account);
  const drops = risen[index]?.[1];
  // A tag of any kind is meant for the account that the transaction names.
  const taggedFor = destination === account ? tag : "";
  return drops === undefined
    ? null
    : {
        address: encodeXAddress({ address: account, tag: taggedFor }),
        drops: isOwn ? drops + feeDrops : drops,
        index,
      };
}
