/**
 * The kinds of jobs, and the rules that follow from a kind: the space of orders for a job's id, and
 * the limits and sums under which a job counts. docs/protocol.md section 5.
 */

/**
 * auto and manual pay a receiver; manual is always held for an operator. sweep moves money from a
 * deposit address to the hot wallet of the agent. topup moves native coin from the hot wallet to a
 * deposit address, to pay the fee of one sweep; its orderId is that sweep's transactionId.
 */
export type JobMode = "auto" | "manual" | "sweep" | "topup";

/** True if a job moves money between the wallet's own accounts. */
export function isInternalMode(mode: JobMode): mode is "sweep" | "topup" {
  return mode === "sweep" || mode === "topup";
}

/** The operation that names the space of orders in which a job's id is made. */
export function operationOf(mode: JobMode): "withdraw" | "sweep" | "topup" {
  return isInternalMode(mode) ? mode : "withdraw";
}

/**
 * The name of the rules and sums under which a job counts: those of its currency, or those of the
 * currency's sweeps or top-ups.
 */
export function limitGroupOf({
  mode,
  currency,
}: {
  readonly mode: JobMode;
  readonly currency: string;
}): string {
  return isInternalMode(mode) ? `${currency}:${mode}` : currency;
}
