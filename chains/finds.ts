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

/** Finds of some blocks, and the things that could not be read there. */
export interface Finds<T> {
  readonly found: readonly T[];
  readonly unread: readonly UnreadTransaction[];
  /** Accounts of which nothing was found, because their lists cannot be had; without it none. */
  readonly missing?: readonly MissingHistory[];
}

/** Payments to one address that no block has, by any node's word. */
export interface ArrivingPayments {
  readonly isWhole: boolean; // every node answered, and none may have left some out
  readonly payments: readonly ArrivingPayment[];
}

/** One payment in the mempools of nodes. */
export interface ArrivingPayment {
  readonly txHash: string;
  readonly units: bigint;
  readonly isReplaceable: boolean; // its sender may send its coins elsewhere until a block has it
  readonly isSure: boolean; // enough nodes show it, at a fee with which blocks take it
}
