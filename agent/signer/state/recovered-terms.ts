/** The terms of a recovered ledger. Source: docs/protocol.md section 8. */
import type { Job } from "../../../protocol/messages.ts";
import type { RecoveryPart } from "../../../protocol/recovery.ts";
import type { Limits } from "../policy/rules.ts";
import type { CoreSnapshot } from "./core.ts";
import type { RecordedWithdrawalState } from "./machine.ts";

/** A complete order. */
export type RecoveryOrder = Omit<RecoveryPart, "part" | "parts">;

/** The terms of one recovery. */
export interface RecoveryInput {
  readonly old: CoreSnapshot;
  readonly order: RecoveryOrder;
  // network → the slot after the account's final transactions, as nodes agree
  readonly counts: ReadonlyMap<string, string>;
  // name of the chain whose nodes are asked for a network's count; null if they are not, or if the
  // operator has said to go on without a count
  readonly countedChain: (network: string) => string | null;
  readonly accountOn: (network: string) => string; // hot wallet
  // the gateway was restored as well, so this ledger may know released bytes that the gateway does
  // not
  readonly bothRestored: boolean;
  readonly resyncFrom: number;
  readonly nowMs: number; // ledger time
  // in the old ledger, at any age
  readonly stateOf: (transactionId: string) => RecordedWithdrawalState | undefined;
  readonly decimalOf: (limitGroup: string) => number | undefined;
  readonly limitsOf: (limitGroup: string) => Limits | undefined;
  // the account whose slots a job uses: the hot wallet or a deposit address
  readonly senderOf: (job: Job) => string;
}
