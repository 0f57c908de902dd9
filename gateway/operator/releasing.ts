/**
 * Releases an order that waits because a transaction of its wallet looks like its payment: an
 * operator says that this transaction did not pay it, or that it paid no order at all. The running
 * gateway then places the order within a pass, unless another transaction holds it too. The audit
 * table keeps the reason.
 */
import { type Refusal, refuse } from "../../base/fault.ts";
import { recordAct } from "../store/audit.ts";
import { agentOfJob, isUnplaced } from "../store/jobs.ts";
import {
  isOrderReleased,
  keepOrderRelease,
  readUnexplainedOutgoing,
  type UnexplainedOutgoingRow,
} from "../store/outgoing-holds.ts";
import { isSigned } from "../store/signatures.ts";
import type { Database } from "../store/store.ts";
import {
  readTransactionWithMerchant,
  type WithdrawalWithMerchant,
} from "../store/transaction-lists.ts";
import { heldStage, listHoldingTransactions } from "../withdrawals/holds.ts";
import type { OperatorContext } from "./accounts.ts";

export interface PaymentRelease {
  readonly txHash: string;
  readonly reason: string;
  readonly isNoOrders: boolean; // it paid no order, of today or later
}

type ReleaseResult =
  | {
      readonly ok: true;
      readonly row: WithdrawalWithMerchant;
      readonly holders: readonly UnexplainedOutgoingRow[];
    }
  | Refusal;

/** True for an open order without a signature here that waits for its place, or is held. */
const mayBeHeld = (database: Database, { id, status, stage }: WithdrawalWithMerchant): boolean =>
  status === 0 && !isSigned(database, id) && (stage === heldStage || isUnplaced(database, id));

/** The transactions that hold an order back; none for one that its agent may pay. */
export function holdersOfOrder(
  database: Database,
  row: WithdrawalWithMerchant,
): readonly UnexplainedOutgoingRow[] {
  const agent = agentOfJob(database, row.id);
  return agent === undefined || !mayBeHeld(database, row)
    ? []
    : listHoldingTransactions(database, agent, row);
}

/**
 * Keeps that the transaction did not pay the order. Answers the transactions that hold it still.
 * Harmless to call twice. Refuses GATEWAY_UNKNOWN_RECORD. Refuses GATEWAY_NOT_HELD for a withdrawal
 * that has ended or has its place with an agent, and for a transaction that does not hold it. After
 * a refusal nothing is written.
 */
export function releaseOrder(
  by: OperatorContext,
  id: string,
  { txHash, reason, isNoOrders }: PaymentRelease,
): ReleaseResult {
  return by.store.writeIfOk((database): ReleaseResult => {
    const row = readTransactionWithMerchant(database, "withdraw", id);
    if (row === undefined) return refuse("GATEWAY_UNKNOWN_RECORD");
    if (!mayBeHeld(database, row))
      return refuse(
        "GATEWAY_NOT_HELD",
        "nothing holds the withdrawal: it has ended, or its agent has it",
      );
    const found =
      readUnexplainedOutgoing(database, row.network, txHash) ??
      readUnexplainedOutgoing(database, row.network, txHash.toLowerCase());
    const holders = holdersOfOrder(database, row);
    if (
      found === undefined ||
      !(holders.some((one) => one.txHash === found.txHash) || isOrderReleased(database, found, id))
    ) {
      const hashes = holders.map((one) => one.txHash).join(", ");
      return refuse(
        "GATEWAY_NOT_HELD",
        hashes === "" ? "nothing holds it" : `it is held by ${hashes}`,
      );
    }
    keepOrderRelease(database, found, isNoOrders ? "" : id, by.nowMs);
    const detail = `${found.txHash} paid ${isNoOrders ? "no order" : "another"}: ${reason}`;
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act: "order released",
      subject: id,
      detail,
    });
    return { ok: true, row, holders: holdersOfOrder(database, row) };
  });
}
