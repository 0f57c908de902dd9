/** What a withdrawal carries, as types: its versions and the first yes of two. */
import type { Facts } from "../../../chains/family.ts";

/**
 * One version: every one of a withdrawal carries the same nonce. Counters as decimal strings, bytes
 * as 0x hex.
 * @public
 */
export interface Version {
  readonly version: number;
  readonly intentSeq: number;
  readonly digest: string;
  readonly unsigned: string;
  readonly facts: Facts | null; // null for one that the gateway told of
  readonly feeMax: string; // the most it may cost, in units of the fee coin
  readonly txHash: string; // "" until signed
  readonly raw: string; // "" until signed
  readonly signedAt: number;
  readonly released: boolean;
  readonly isCancel: boolean; // pays nothing, to the account itself
  readonly until?: number; // chain time, milliseconds, where versions end by waiting
  readonly dead?: Dead; // who has said so
}

/**
 * Whose word it is that a version is dead.
 * @public
 */
export type Dead = "gateway" | "courier" | "both";

/**
 * The first yes of two.
 * @public
 */
export interface Confirmation {
  readonly approver: string;
  readonly digest: string; // of what they saw
  readonly address: string; // EIP-55
  readonly at: number;
}
