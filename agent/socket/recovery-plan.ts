/**
 * The operator's view of a recovery: the ledger that would begin, and the transactions that no
 * withdrawal explains. docs/protocol.md section 8.
 */
import type { AgentLedgerHead } from "../../protocol/messages.ts";

/** One account in a recovery. Slots are decimal strings, "" if unknown. */
export interface RecoveryAccountView {
  readonly network: string;
  readonly account: string;
  readonly ledgerNext: string;
  readonly gatewayNext: string;
  readonly chainCount: string; // final transactions, as the courier's nodes agree
  readonly next: string; // the first slot that will be given out
}

/**
 * A withdrawal that a recovered ledger keeps on its slot. `here` is its state in the old ledger, ""
 * if unknown there.
 */
export interface RecoveryWithdrawalView {
  readonly transactionId: string;
  readonly orderId: string;
  readonly currency: string;
  readonly amount: string;
  readonly address: string;
  readonly here: string;
  // ledger and gateway contradict each other about it: nothing is signed, the chain decides
  readonly isContested: boolean;
  // why an operator decides: above a limit of the hour or the day, or contested; "" if policy
  // decides
  readonly code: string;
  readonly slot: string; // its permanent slot
  readonly txHashes: readonly string[]; // known attempts
}

/**
 * Withdrawals unknown to the old ledger, with the limits. Amounts are in the currency, or in the
 * native coin for a limit group of top-ups; "" if there is no such limit.
 */
export interface UnknownSumView {
  readonly limitGroup: string; // a currency, or its sweeps or top-ups
  readonly count: number;
  readonly amount: string; // the total
  readonly maxPerHour: string;
  readonly maxPerDay: string;
  readonly above: number; // the number on which an operator decides, because a limit would be exceeded
}

/**
 * Everything that a yes to a recovery covers. `withdrawals` may be cut; `digest` covers all of
 * them.
 */
export interface RecoveryPlan {
  readonly digest: string;
  readonly order: string;
  readonly at: number; // when the gateway made the order
  // the operator states that ledger and gateway were both restored: withdrawals without a slot are
  // held
  readonly bothRestored: boolean;
  readonly ledgerEpoch: number;
  readonly newLedgerEpoch: number;
  readonly locked: string;
  readonly lockedDetail: string;
  readonly head: AgentLedgerHead; // this ledger's
  readonly gatewayHead: AgentLedgerHead | null;
  readonly isHere: boolean; // the gateway's head is in this ledger, so the ledger lacks nothing that the gateway has
  readonly accounts: readonly RecoveryAccountView[];
  readonly uncounted: readonly string[]; // networks whose chain no node has counted, as the operator said to go on
  readonly withdrawals: readonly RecoveryWithdrawalView[];
  readonly kept: number; // number of withdrawals, including those that are not listed
  readonly unknown: readonly UnknownSumView[];
  readonly left: number; // open here without a slot; they come again as jobs
  readonly outgoing: readonly OutgoingView[]; // newest first; empty unless both were restored
}

/**
 * A final transaction of the account that no withdrawal explains, perhaps a payment that both sides
 * have forgotten.
 */
export interface OutgoingView {
  readonly network: string;
  readonly slot: string;
  readonly txHash: string;
  readonly block: number;
  readonly receiver: string;
  readonly contract: string; // "" native
  readonly units: string;
}
