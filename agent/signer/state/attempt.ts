/** Types of a withdrawal's parts: its attempts and the first yes of two. */
import type { TxParams } from "../../../chains/family.ts";

/**
 * One attempt; all attempts of a withdrawal have the same slot. Numbers are decimal strings, bytes
 * 0x hex.
 */
export interface Attempt {
  readonly attempt: number;
  readonly intentSeq: number;
  readonly digest: string;
  readonly unsigned: string;
  readonly txParams: TxParams | null; // null for one that the gateway reported
  readonly pin?: string; // as `SignedEntry.pin`
  readonly feeMax: string; // the highest cost, in units of the fee coin
  readonly txHash: string; // "" until signed
  readonly raw: string; // "" until signed
  readonly signedAt: number;
  readonly released: boolean;
  readonly isCancel: boolean; // pays nothing, to the account itself
  readonly validUntilMs?: number; // end of validity in chain time, milliseconds, with exclusion by expiry
  readonly voidBy?: VoidSide; // the sides that have stated it
}

/** The sides that have stated that an attempt is void. */
export type VoidSide = "gateway" | "courier" | "both";

/** The first yes of two. */
export interface Confirmation {
  readonly approver: string;
  readonly digest: string; // digest of the operator's view
  readonly address: string; // EIP-55
  readonly at: number;
}
