/** Withdrawals that do not go on by themselves, as `status` shows them. Types alone. */
import type { WithdrawalState } from "./states.ts";

/** @public */
export interface StuckView {
  readonly transactionId: string;
  readonly state: WithdrawalState;
  readonly network: string; // CAIP-2
  readonly slot: string; // "" while nothing is bound
  readonly since: number; // ledger time
  readonly afterMinutes: number; // as in config.json
  readonly isCancelling: boolean;
}

/**
 * A sweep that a person may end, or has ended: the chain's count stands below its slot.
 * @public
 */
export interface EndPlan {
  readonly slot: string;
  readonly counted: string; // what the courier's nodes count at the final block; "" once it has ended
}

/**
 * A sweep whose slot the chain cannot reach, as the gateway says.
 * @public
 */
export interface UnreachableView {
  readonly transactionId: string;
  readonly network: string; // CAIP-2
  readonly slot: string;
  readonly count: number; // so many there are
}

/**
 * A withdrawal whose versions are all dead, while another one is a person's to order.
 * @public
 */
export interface ResignView {
  readonly transactionId: string;
  readonly network: string; // CAIP-2
  readonly slot: string;
  readonly versions: number; // so many were made
}

/**
 * A withdrawal whose versions are all dead, while a limit leaves no room for another one.
 * @public
 */
export interface NoRoomView extends ResignView {
  readonly code: "POLICY_ABOVE_HOUR" | "POLICY_ABOVE_DAY"; // the limit that it would lift
}
