/** Types of a withdrawal's parts: its versions and the first yes of two. */
import type { Facts } from "../../../chains/family.ts";

/**
 * One version; all versions of a withdrawal have the same slot. Numbers are decimal strings, bytes
 * 0x hex.
 */
export interface Version {
  readonly version: number;
  readonly intentSeq: number;
  readonly digest: string;
  readonly unsigned: string;
  readonly facts: Facts | null; // null for one that the gateway reported
  readonly feeMax: string; // the highest cost, in units of the fee coin
  readonly txHash: string; // "" until signed
  readonly raw: string; // "" until signed
  readonly signedAt: number;
  readonly released: boolean;
  readonly isCancel: boolean; // pays nothing, to the account itself
  readonly until?: number; // end of validity in chain time, milliseconds, with exclusion by expiry
  readonly dead?: Dead; // the sides that have stated it
}

/** The sides that have stated that a version is dead. */
export type Dead = "gateway" | "courier" | "both";

/** The first yes of two. */
export interface Confirmation {
  readonly approver: string;
  readonly digest: string; // digest of the operator's view
  readonly address: string; // EIP-55
  readonly at: number;
}
