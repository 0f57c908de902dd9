/** Finds in blocks, beside what could not be read there. Only types. */
import type { AgentError } from "../base/fault.ts";

/**
 * A transaction that names one of our accounts, and that a node shows so that it cannot be read.
 */
export interface UnreadTransaction {
  readonly txHash: string; // "" if even the hash cannot be read
  readonly block: number;
  readonly account: string; // of ours; "" if it is unknown
  readonly fault: AgentError;
}

/** An account of ours whose list of a span of blocks cannot be had, where nodes list by account. */
export interface MissingHistory {
  readonly account: string;
  readonly fault: AgentError;
}

/** What was found in blocks, and what could not be read there. */
export interface Finds<T> {
  readonly found: readonly T[];
  readonly unread: readonly UnreadTransaction[];
  /** Accounts of which nothing was found, because their lists cannot be had; without it none. */
  readonly missing?: readonly MissingHistory[];
}
