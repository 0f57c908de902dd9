/**
 * A clearance: policy has read the built bytes back, compared them with the approval, and compared
 * the fees with their ceilings. A sealed type: only this module makes one, and the vault accepts
 * nothing else. Touches nothing.
 */

import { invariant } from "../../../base/fault.ts";
import type { AddressSpaceName } from "../../../chains/family.ts";

/** The fields of a clearance. `digest` is that of exactly the bytes that policy described. */
export interface ClearedFields {
  readonly transactionId: string;
  readonly attempt: number; // 1 first
  readonly family: AddressSpaceName;
  readonly account: string; // sender
  readonly addressIndex: number | null; // address index of a deposit address, null for a hot wallet
  readonly digest: string; // 32 bytes for each signature, hex
  readonly isCancel: boolean; // pays nothing, to the account itself
}

class SealedClearance implements ClearedFields {
  readonly #sealed = true;
  readonly transactionId: string;
  readonly attempt: number;
  readonly family: AddressSpaceName;
  readonly account: string;
  readonly addressIndex: number | null;
  readonly digest: string;
  readonly isCancel: boolean;

  constructor(fields: ClearedFields) {
    invariant(/^(?:[0-9a-f]{64})+$/.test(fields.digest), "a digest is 32 bytes as lower-case hex");
    invariant(Number.isSafeInteger(fields.attempt) && fields.attempt >= 1, "attempts count from 1");
    this.transactionId = fields.transactionId;
    this.attempt = fields.attempt;
    this.family = fields.family;
    this.account = fields.account;
    this.addressIndex = fields.addressIndex;
    this.digest = fields.digest;
    this.isCancel = fields.isCancel;
    Object.freeze(this);
  }

  static made(value: unknown): value is SealedClearance {
    return typeof value === "object" && value !== null && #sealed in value && value.#sealed;
  }
}

/** Policy's yes to exactly these bytes, named by their digest. */
export type Clearance = SealedClearance;

/** True if this module made the value. */
export function isClearance(value: unknown): value is Clearance {
  return SealedClearance.made(value);
}

/**
 * Makes a clearance; only the policy module calls it. A digest of another form or an attempt below
 * 1 is a bug.
 * @package
 */
export function makeClearance(fields: ClearedFields): Clearance {
  return new SealedClearance(fields);
}
