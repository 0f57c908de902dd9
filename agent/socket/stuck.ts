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
