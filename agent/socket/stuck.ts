/** Withdrawals that do not continue by themselves, as `status` shows them. Only types. */
import type { WithdrawalState } from "./states.ts";

export interface StuckView {
  readonly transactionId: string;
  readonly state: WithdrawalState;
  readonly network: string; // CAIP-2
  readonly slot: string; // "" without a slot
  readonly since: number; // ledger time
  readonly afterMinutes: number; // as in config.json
  readonly isCancelling: boolean;
}

/** A sweep that an operator may end, or has ended, because the chain's count is below its slot. */
export interface EndPlan {
  readonly slot: string;
  readonly counted: string; // the count of the courier's nodes at the final block; "" after the end
}

/** A sweep whose slot the chain cannot reach, or a withdrawal whose coin no node shows. */
export interface UnreachableView {
  readonly transactionId: string;
  readonly network: string; // CAIP-2
  readonly slot: string;
  readonly count: number; // the number of such withdrawals
  readonly code: "SWEEP_UNREACHABLE" | "COIN_UNKNOWN"; // of this one
}

/** A withdrawal whose attempts are all void, if only an operator can order another one. */
export interface ManualReplaceView {
  readonly transactionId: string;
  readonly network: string; // CAIP-2
  readonly slot: string;
  readonly attempts: number; // the number of attempts so far
}

/** A withdrawal whose attempts are all void, if a limit leaves no room for another one. */
export interface NoRoomView extends ManualReplaceView {
  readonly code: "POLICY_ABOVE_HOUR" | "POLICY_ABOVE_DAY"; // the limit that it would exceed
}
