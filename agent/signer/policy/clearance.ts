/**
 * Clearance: policy has compared what was built, described back from the bytes, with the Approval, and the fees with their
 * ceilings. A sealed type: only this room makes one, and the vault takes nothing else. Touches nothing.
 */
import { invariant } from "../../../protocol/fault.ts";

/** What a clearance names. The digest is that of the very bytes which were described. */
export interface ClearedFields {
  readonly transactionId: string;
  readonly version: number; // 1 first
  readonly family: "evm";
  readonly account: string; // paying address, EIP-55
  readonly digest: string; // 32 bytes, hex
}

class SealedClearance implements ClearedFields {
  readonly #sealed = true;
  readonly transactionId: string;
  readonly version: number;
  readonly family: "evm";
  readonly account: string;
  readonly digest: string;

  constructor(fields: ClearedFields) {
    invariant(/^[0-9a-f]{64}$/.test(fields.digest), "a digest is 32 bytes as lower-case hex");
    invariant(Number.isSafeInteger(fields.version) && fields.version >= 1, "versions count from 1");
    this.transactionId = fields.transactionId;
    this.version = fields.version;
    this.family = fields.family;
    this.account = fields.account;
    this.digest = fields.digest;
    Object.freeze(this);
  }

  static made(value: unknown): value is SealedClearance {
    return typeof value === "object" && value !== null && #sealed in value && value.#sealed;
  }
}

/**
 * Policy's yes to exactly these bytes, named by their digest.
 * @public
 */
export type Clearance = SealedClearance;

/**
 * Whether a value was made by this room; a look-alike is not.
 * @public
 */
export function isClearance(value: unknown): value is Clearance {
  return SealedClearance.made(value);
}

/** The only maker, for the policy room. */
export function makeClearance(fields: ClearedFields): Clearance {
  return new SealedClearance(fields);
}
