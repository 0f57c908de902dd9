/**
 * Approval: policy's yes to a job. A sealed type: the class leaves this room as a type only, its
 * one maker is called where the APPROVED record is folded, and a look-alike object fails
 * `isApproval`. Touches nothing.
 */
import { invariant } from "../../../protocol/fault.ts";

/** The fields of an APPROVED record that the built transaction is held against. */
export interface ApprovedFields {
  readonly transactionId: string;
  readonly seq: number; // the APPROVED record
  readonly currency: string; // or the lane of its sweeps or top-ups
  readonly chain: string; // name in the settings
  readonly network: string; // CAIP-2
  readonly contract: string; // EIP-55, "" native
  readonly address: string; // EIP-55
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
    this.amountUnits = fields.amountUnits;
    Object.freeze(this);
  }

  static made(value: unknown): value is SealedApproval {
    return typeof value === "object" && value !== null && #sealed in value && value.#sealed;
  }
}

/**
 * Policy's recorded yes to a withdrawal: to this amount, destination, contract and network and to
 * no others.
 * @public
 */
export type Approval = SealedApproval;

/**
 * Whether this room made the value.
 * @public
 */
export function isApproval(value: unknown): value is Approval {
  return SealedApproval.made(value);
}

/** The only maker, for the policy room. An amount of 0 is a bug. */
export function makeApproval(fields: ApprovedFields): Approval {
  return new SealedApproval(fields);
}
