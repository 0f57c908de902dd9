/**
 * What the operator's socket shows of a recovery: the ledger that would be opened, and what nobody
 * can explain. docs/protocol.md section 8.
 */
import type { Head } from "../../protocol/messages.ts";

/**
 * One account in a recovery. Counters are decimal strings, "" where nothing is known.
 * @public
 */
export interface RecoveryAccountView {
  readonly network: string;
  readonly account: string;
  readonly ledgerNext: string;
  readonly gatewayNext: string;
  readonly chainCount: string; // final transactions, as the courier's nodes agree
  readonly next: string; // the first slot that will be given to anybody
}

/**
 * A withdrawal that an opened ledger keeps on its slot. `here` is its state in the ledger before,
 * "" when that does not know it.
 * @public
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
  // why a person decides: above a limit of hour or day, or contested; "" where policy does
  readonly code: string;
  readonly slot: string; // its slot for life
  readonly txHashes: readonly string[]; // known versions
}

/**
 * Withdrawals that the ledger before never heard of, beside the limits. Amounts of the currency, or
 * for a lane of top-ups of the chain's own coin; "" where there is no such limit.
 * @public
 */
export interface UnknownSumView {
  readonly lane: string; // a currency, or that of its sweeps or top-ups
  readonly count: number;
  readonly amount: string; // of all of them
  readonly maxPerHour: string;
  readonly maxPerDay: string;
  readonly above: number; // of these a person decides, since a limit would be passed
}

/**
 * Everything a yes to a recovery is a yes to. `withdrawals` may be cut; `digest` covers all of
 * them.
 * @public
 */
export interface RecoveryPlan {
  readonly digest: string;
  readonly order: string;
  readonly at: number; // when the gateway made the order
  // ledger and gateway went back, says the operator: what has no slot is held for a person
  readonly both: boolean;
  readonly epoch: number;
  readonly newEpoch: number;
  readonly locked: string;
  readonly lockedDetail: string;
  readonly head: Head; // of this ledger
  readonly gatewayHead: Head | null;
  readonly isHere: boolean; // the gateway's head is in this ledger, which therefore lacks nothing of it
  readonly accounts: readonly RecoveryAccountView[];
  readonly withdrawals: readonly RecoveryWithdrawalView[];
  readonly kept: number; // withdrawals, those that are not listed with them
  readonly unknown: readonly UnknownSumView[];
  readonly left: number; // open here without a slot: they come again as jobs
  readonly spends: readonly SpendView[]; // newest first; empty unless both went back
}

/**
 * A final transaction of the account that no withdrawal explains: perhaps a payment that both sides
 * have forgotten.
 * @public
 */
export interface SpendView {
  readonly network: string;
  readonly slot: string;
  readonly txHash: string;
  readonly block: number;
  readonly receiver: string;
  readonly contract: string; // "" native
  readonly units: string;
}
