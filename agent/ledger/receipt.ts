/**
 * The sealed proof that an INTENT record is on disk. Only the ledger makes one, so a signature
 * without a durable record does not compile and does not run. docs/architecture.md section 3,
 * docs/ledger.md section 6.
 */
import { Bug } from "../../protocol/fault.ts";

const maker = Symbol("ledger");

class SealedReceipt {
  readonly #transactionId: string;
  readonly #version: number;
  readonly #digest: string;
  readonly #isCancel: boolean;
  readonly #seq: number;

  constructor(key: symbol, intent: ReceiptFields) {
    if (key !== maker) throw new Bug("a receipt is made by the ledger only");
    this.#transactionId = intent.transactionId;
    this.#version = intent.version;
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
  get version(): number {
    return this.#version;
  }

  /**
   * The 32 bytes of each signature to make, lower-case hex: text, so that nobody can change them
   * between the record and the signature.
   */
  get digest(): string {
    return this.#digest;
  }

  /** The record pays nothing, to its own account: it uses a slot up. */
  get isCancel(): boolean {
    return this.#isCancel;
  }

  /** The INTENT record's number. */
  get seq(): number {
    return this.#seq;
  }
}

/**
 * Proof of a durable INTENT record.
 * @public
 */
export type Receipt = SealedReceipt;

/**
 * True for a receipt the ledger made; false for anything that only looks like one.
 * @public
 */
export function isReceipt(value: unknown): value is Receipt {
  return SealedReceipt.is(value);
}

export interface ReceiptFields {
  readonly transactionId: string;
  readonly version: number;
  readonly digest: string;
  readonly isCancel: boolean;
  readonly seq: number;
}

/** The ledger room's own maker: the caller has checked that the record is durable. */
export function makeReceipt(intent: ReceiptFields): Receipt {
  return new SealedReceipt(maker, intent);
}
