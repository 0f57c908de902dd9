/**
 * Invariants about fees while the courier is honest, though one of its nodes lies: fees follow from
 * the chain's own fees. Checked at every attempt that leaves.
 */
import type { LedgerRecord } from "../../../agent/ledger/records.ts";
import type { SignedTransaction } from "../world/raw.ts";
import { stage } from "../world/setting.ts";
import { must } from "./violation.ts";

/** Gas of a transfer to an address without code; the one limit that is meant to be used up. */
export const plainGas = 21_000n;
/** The tip that every honest node of the simulated chain proposes. */
const honestTipWei = 1_000_000_000n;

/** Ceilings and floors of every run: no courier goes beyond them. */
const tipMaxUnits = 50_000_000_000n;
const tokenGasMin = 45_000n;
const apartMs = 30_000;
const attemptsMax = 14;

/**
 * The attempt before an intent: when it became durable, in ledger time, and its tip; 0 for none.
 */
interface PrecedingAttempt {
  readonly at: number;
  readonly tipWei: bigint;
  /** An operator ordered the new one. */
  readonly isOperators: boolean;
}

/**
 * An intent becomes durable. A tip above the ceiling is no more than nodes ask for above the
 * attempt before.
 */
export function priced(
  record: Extract<LedgerRecord, { kind: "INTENT" }>,
  before: PrecedingAttempt,
  say: () => string,
): void {
  const gas = stage.family === "evm" ? BigInt(record.txParams.gasLimit ?? "0") : null;
  must(
    gas === null || gas >= (record.contract === "" ? plainGas : tokenGasMin),
    "no intent has less gas than such a payment needs",
    say,
  );
  const tip = BigInt(record.txParams.maxPriorityFeePerGas ?? "0");
  const eighthMore = (before.tipWei * 9n + 7n) / 8n;
  must(tip <= tipMaxUnits || tip <= eighthMore, "no tip is above its ceiling", say);
  if (before.isOperators) return;
  must(
    record.attempt === 1 || record.at - before.at >= apartMs,
    "attempts of a slot are half a minute apart",
    say,
  );
  must(record.attempt <= attemptsMax, "the last attempts are an operator's", say);
}

/** The judge of prices on a chain of one family. */
export interface PricesOfChain {
  /** The chain's price, as it comes. */
  see(price: bigint): void;
  /** Signed bytes leave for the first time, the `count`-th of their withdrawal. */
  left(transaction: SignedTransaction, count: number): void;
}

export class Prices implements PricesOfChain {
  #least: bigint;
  #most: bigint;

  /** The chain's base fees, as they come. */
  constructor(baseFeeWei: bigint) {
    this.#least = baseFeeWei;
    this.#most = baseFeeWei;
  }

  see(baseFeeWei: bigint): void {
    if (baseFeeWei < this.#least) this.#least = baseFeeWei;
    if (baseFeeWei > this.#most) this.#most = baseFeeWei;
  }

  /** Signed bytes leave for the first time, the `count`-th of their withdrawal. */
  left({ feeMaxWei, tipWei, hash }: SignedTransaction, count: number): void {
    const say = (): string =>
      `${hash}: ${feeMaxWei} and ${tipWei} at base fees of ${this.#least} to ${this.#most}`;
    must(feeMaxWei >= this.#least, "no price is below the chain's lowest", say);
    // Twice the base fee, itself at most twice as high as another node said; an eighth more with
    // each attempt.
    const steps = 9n ** BigInt(count - 1);
    const times = 8n ** BigInt(count - 1);
    const dearest = this.#most > honestTipWei ? this.#most : honestTipWei;
    const tipMax = count === 1 ? honestTipWei : (dearest * steps) / times;
    must(tipWei <= tipMax + BigInt(count), "no tip is one node's alone", say);
    must(
      feeMaxWei <= ((4n * this.#most + tipMax + 200n) * steps) / times + BigInt(count),
      "no price is one node's alone",
      say,
    );
  }
}
