/** The terms that a new ledger is opened from. Source: docs/protocol.md section 8. */
import type { Job } from "../../../protocol/messages.ts";
import type { Recovery } from "../../../protocol/recovery.ts";
import type { Limits } from "../policy/rules.ts";
import type { CoreSnapshot } from "./core.ts";
import type { State } from "./machine.ts";

/**
 * A whole order.
 * @public
 */
export type Order = Omit<Recovery, "part" | "parts">;

/** The terms of an opening. */
export interface Opening {
  readonly old: CoreSnapshot;
  readonly order: Order;
  // network → the slot after the account's final transactions, as nodes agree
  readonly counts: ReadonlyMap<string, string>;
  readonly accountOn: (network: string) => string; // paying address
  // the gateway went back as well, so this ledger may know what left and the gateway does not
  readonly both: boolean;
  readonly tellFrom: number;
  readonly nowMs: number; // ledger time
  // in the ledger before, however long ago
  readonly stateOf: (transactionId: string) => State | undefined;
  readonly decimalOf: (lane: string) => number | undefined;
  readonly limitsOf: (lane: string) => Limits | undefined;
  // whose slots a job's are: the hot address or one for deposits
  readonly payerOf: (job: Job) => string;
}
