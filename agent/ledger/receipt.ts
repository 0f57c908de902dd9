/**
 * The sealed proof that an INTENT record is on disk. Only the ledger makes one, so a signature
 * without a durable record does not compile and does not run. docs/architecture.md section 3,
 * docs/ledger.md section 6.
 */
import { Bug } from "../../base/fault.ts";

const maker = Symbol("ledger");

class SealedReceipt {
  readonly #transactionId: string;
  readonly #attempt: number;
  readonly #digest: string;
  readonly #isCancel: boolean;
  readonly #seq: number;

  constructor(key: symbol, intent: ReceiptFields) {
    if (key !== maker) throw new Bug("a receipt is made by the ledger only");
    this.#transactionId = intent.transactionId;
    this.#attempt = intent.attempt;
    this.#digest = intent.digest;
    this.#isCancel = intent.isCancel;
    this.#seq = intent.seq;
  }

  static is(value: unknown): value is SealedReceipt {
    return typeof value === "object" && value !== null && #seq in value;
  }

  get transactionId(): string {
    return this.#transactionId;
  }

  /** 1 first, then fee bumps of the same slot. */
  get attempt(): number {
    return this.#attempt;
  }

  /**
   * The 32 bytes of each signature to make, lower-case hex. Text, so that no code can change them
   * between the record and the signature.
   */
  get digest(): string {
    return this.#digest;
  }

  /** True for a cancel: a zero payment to its own account, which uses a slot up. */
  get isCancel(): boolean {
    return this.#isCancel;
  }

  /** The INTENT record's number. */
  get seq(): number {
    return this.#seq;
  }
}

/** Proof of a durable INTENT record. */
export type Receipt = SealedReceipt;

/** True for a receipt that the ledger made; false for an object that only looks like one. */
export function isReceipt(value: unknown): value is Receipt {
  return SealedReceipt.is(value);
}

export interface ReceiptFields {
  readonly transactionId: string;
  readonly attempt: number;
  readonly digest: string;
  readonly isCancel: boolean;
  readonly seq: number;
}

/**
 * Makes a receipt; only the ledger module calls it, after it has checked that the record is
 * durable.
 * @package
 */
export function makeReceipt(intent: ReceiptFields): Receipt {
  return new SealedReceipt(maker, intent);
}
