/**
 * An approval: policy's yes to a job. A sealed type: only the type leaves this module, its single
 * constructor is called where the APPROVED record is applied, and a look-alike object fails
 * `isApproval`. Touches nothing.
 */
import { invariant } from "../../../base/fault.ts";

/** The fields of an APPROVED record with which the built transaction is compared. */
export interface ApprovedFields {
  readonly transactionId: string;
  readonly seq: number; // the APPROVED record
  readonly currency: string; // or the limit group of its sweeps or top-ups
  readonly chain: string; // name in the settings
  readonly network: string; // CAIP-2
  readonly contract: string; // EIP-55, "" native
  readonly address: string; // EIP-55
  readonly tag: string; // "" for none
  readonly amountUnits: bigint;
}

class SealedApproval implements ApprovedFields {
  readonly #sealed = true;
  readonly transactionId: string;
  readonly seq: number;
  readonly currency: string;
  readonly chain: string;
  readonly network: string;
  readonly contract: string;
  readonly address: string;
  readonly tag: string;
  readonly amountUnits: bigint;

  constructor(fields: ApprovedFields) {
    invariant(fields.amountUnits > 0n, "an approval is for something");
    this.transactionId = fields.transactionId;
    this.seq = fields.seq;
    this.currency = fields.currency;
    this.chain = fields.chain;
    this.network = fields.network;
    this.contract = fields.contract;
    this.address = fields.address;
    this.tag = fields.tag;
    this.amountUnits = fields.amountUnits;
    Object.freeze(this);
  }

  static made(value: unknown): value is SealedApproval {
    return typeof value === "object" && value !== null && #sealed in value && value.#sealed;
  }
}

/**
 * Policy's recorded yes to a withdrawal: only to this amount, destination, tag, contract and
 * network.
 */
export type Approval = SealedApproval;

/** True if this module made the value. */
export function isApproval(value: unknown): value is Approval {
  return SealedApproval.made(value);
}

/**
 * Makes an approval; only the policy module calls it. An amount of 0 is a bug.
 * @package
 */
export function makeApproval(fields: ApprovedFields): Approval {
  return new SealedApproval(fields);
}
