/**
 * Computes the state of a deposit request from its payments: a pure function. Payments add up, and
 * only final payments count. A request expires only after all its payments are final. Money that
 * comes after the end is recorded as late and changes nothing else. Sources: docs/architecture.md
 * section 8; docs/api.md, stages of a deposit.
 */

import { revokedStage } from "../store/gone-payments.ts";
import type { ServiceReason } from "../store/rows.ts";

/** One payment in the request's own currency to its address. */
export interface Payment {
  readonly units: bigint;
  readonly final: boolean;
  readonly block: number;
  readonly txHash: string;
  /** An operator credited the payment from another address; then its block does not matter. */
  readonly isCredited?: boolean;
  /** A node showed it in time, and it kept the request open; then its block does not matter. */
  readonly isHeld?: boolean;
}

export interface JudgedRequest {
  readonly status: 0 | 1 | 2;
  readonly stage: string;
  readonly amountUnits: bigint;
  readonly toleranceUnits: bigint; // this much may be missing
  readonly expiresAt: number;
  readonly receivedUnits: bigint; // from the previous judgement
  readonly late: boolean;
  /** The block that holds all payments before the end; null if nothing waits for it. */
  readonly endBlock: number | null;
  /** Refunds have paid so much of it back, or will; only the rest counts against the amount. */
  readonly refundedUnits?: bigint;
  /** Nodes show a payment that no block has. */
  readonly isArriving?: boolean;
  /** The code of a request that has ended. */
  readonly code?: string;
  /**
   * A choice of an invoice has it in the place of `amountUnits`: the sum that its final payments
   * must reach, each at its own price; null: it completes not now.
   */
  readonly finalAsk?: Pick<JudgedRequest, "amountUnits" | "toleranceUnits"> | null;
  /** Another choice has paid the invoice of this one. */
  readonly isPaidOtherwise?: boolean;
  /** All payments that an operator revoked, because their block left the chain, are final again. */
  readonly isBack?: boolean;
}

/**
 * The new state of the request. `txHash` and `finalBlock` come from the newest payment that counts;
 * "" and null without one.
 */
export interface Credit {
  readonly status: 0 | 1 | 2;
  readonly stage: string;
  readonly code: ServiceReason | "";
  readonly receivedUnits: bigint;
  readonly late: boolean; // money came after the end
  readonly txHash: string;
  readonly finalBlock: number | null;
}

/** `scannedAt`: milliseconds; every block before this time has been read. */
export function judgeDeposit(
  request: JudgedRequest,
  payments: readonly Payment[],
  scannedAt: number,
): Credit {
  const final = payments.filter((payment) => payment.final);
  const { endBlock } = request;
  const isInTime = ({ block, isCredited, isHeld }: Payment): boolean =>
    request.status !== 0 ||
    isCredited === true ||
    isHeld === true ||
    endBlock === null ||
    block <= endBlock;
  const inTime = payments.filter(isInTime);
  const counted = final.filter(isInTime);
  const receivedUnits = sum(counted);
  const newest = counted.reduce<Payment | null>(
    (last, next) => (last === null || next.block >= last.block ? next : last),
    null,
  );
  const isBack = request.isBack === true;
  const late =
    request.late || (request.status !== 0 && !isBack && receivedUnits > request.receivedUnits);
  const seen = {
    receivedUnits,
    late,
    txHash: newest?.txHash ?? "",
    finalBlock: newest?.block ?? null,
  };
  // An operator may have completed it by less than its amount; money that was paid back completes
  // nothing.
  if (isBack && ((request.refundedUnits ?? 0n) === 0n || isPaid(request, receivedUnits)))
    return { ...seen, status: 1, stage: "completed", code: "" };
  if (request.status !== 0)
    return { ...seen, status: request.status, stage: request.stage, code: endCode(request) };
  if (request.isPaidOtherwise === true)
    return {
      ...seen,
      receivedUnits: sum(final),
      status: 2,
      stage: "expired",
      code: "invoice_paid",
    };
  if (isPaidFinally(request, receivedUnits))
    return { ...seen, status: 1, stage: "completed", code: "" };
  const isSettled = counted.length === inTime.length;
  if (isSettled && scannedAt >= request.expiresAt) {
    const isLate = late || final.length > counted.length;
    return {
      ...seen,
      receivedUnits: sum(final),
      late: isLate,
      status: 2,
      stage: "expired",
      code: "deposit_expired",
    };
  }
  return {
    ...seen,
    status: 0,
    stage: openStage(request, inTime, receivedUnits, isSettled),
    code: "",
  };
}

/** True if final payments of this sum complete an open request. */
function isPaidFinally(request: JudgedRequest, receivedUnits: bigint): boolean {
  const { finalAsk = request, refundedUnits = 0n } = request;
  return finalAsk !== null && isPaid({ ...finalAsk, refundedUnits }, receivedUnits);
}

/**
 * True if this sum, less the refunds of the request, is what the request asks for. Every judgement
 * of a sum against an amount goes by it, so that money which was paid back completes nothing.
 */
export function isPaid(
  {
    amountUnits,
    toleranceUnits,
    refundedUnits = 0n,
  }: Pick<JudgedRequest, "amountUnits" | "toleranceUnits" | "refundedUnits">,
  units: bigint,
): boolean {
  const keptUnits = units - refundedUnits;
  return keptUnits > 0n && keptUnits >= amountUnits - toleranceUnits;
}

function openStage(
  request: JudgedRequest,
  payments: readonly Payment[],
  receivedUnits: bigint,
  isSettled: boolean,
): string {
  if (payments.length === 0) return request.isArriving === true ? "unconfirmed" : "waiting";
  if (!isSettled && isPaid(request, sum(payments))) return "confirming";
  return receivedUnits > 0n ? "partial" : "seen";
}

/** Ends that no judgement of payments makes, and that money does not change. */
const endsByWord: readonly ServiceReason[] = ["deposit_cancelled", "invoice_paid"];

function endCode({ status, stage, code }: JudgedRequest): ServiceReason | "" {
  if (status !== 2) return "";
  const word = endsByWord.find((one) => one === code);
  return word ?? (stage === revokedStage ? "deposit_reorged" : "deposit_expired");
}

function sum(payments: readonly Payment[]): bigint {
  return payments.reduce((total, payment) => total + payment.units, 0n);
}
