/** Withdrawals that do not continue by themselves, as `status` shows them. Only types. */
import type { WithdrawalState } from "./states.ts";

export interface StuckView {
  readonly transactionId: string;
  readonly state: WithdrawalState;
  readonly network: string; // CAIP-2
  readonly chain: string; // name in config.json
  readonly slot: string; // "" without a slot
  readonly since: number; // ledger time
  readonly afterMinutes: number; // as in config.json
  readonly isCancelling: boolean;
}

/** A withdrawal that an operator may end, or has ended, because no block takes it. */
export interface EndPlan {
  readonly slot: string;
  // the count of the courier's nodes at the final block; "" after the end, and for a coin
  readonly counted: string;
  readonly began?: string; // the first slot that the account can use, if the withdrawal's is below
  readonly pin?: string; // the coin that no node shows, if one excludes
  readonly owed?: readonly string[]; // the coins that its renewal spends
  // two operators are needed, and this yes is, or was, the first one's
  readonly isFirstYes?: true;
}

/**
 * A sweep whose slot the chain cannot reach, or a withdrawal whose coin no node shows or whose slot
 * is below its account's first.
 */
export interface UnreachableSlotOrCoinView {
  readonly transactionId: string;
  readonly network: string; // CAIP-2
  readonly slot: string;
  readonly count: number; // the number of such withdrawals
  readonly code: "SWEEP_UNREACHABLE" | "COIN_UNKNOWN" | "SLOT_UNREACHABLE"; // of this one
  readonly left: string; // the reason why `end` does not end it yet; "" for none
}

/**
 * The courier's nodes were asked for the transaction that made the pin of a withdrawal, in blocks
 * and mempools.
 */
export interface CoinLookReport {
  readonly transactionId: string;
  readonly coin: string; // txHash:output
  readonly isShown: boolean;
  readonly chainMs: number; // the final block's own time then, Unix milliseconds
}

/** A withdrawal whose attempts are all void, if only an operator can order another one. */
export interface ManualReplaceView {
  readonly transactionId: string;
  readonly network: string; // CAIP-2
  readonly slot: string;
  readonly attempts: number; // the number of attempts so far
}

/** A withdrawal whose attempts are all void, if a limit leaves no room for another one. */
export interface NoLimitRoomView extends ManualReplaceView {
  readonly code: "POLICY_ABOVE_HOUR" | "POLICY_ABOVE_DAY"; // the limit that it would exceed
}
