/**
 * The digest that an operator's yes names. It covers everything that the operator saw, so nothing
 * can change between the view and the yes. Touches nothing. Source: docs/architecture.md section 3.
 */
import { domainHash } from "../../../protocol/identity.ts";
import type { FirstConfirmation, Withdrawal } from "./withdrawal.ts";

/**
 * Returns SHA-256 over id, currency, base units, address, tag and revision, u16be length ‖ utf8
 * each. The revision is the record that held the withdrawal.
 */
export function approvalDigestOf(withdrawal: Withdrawal, amountUnits: string): string {
  const { transactionId, job, address, revision } = withdrawal;
  const parts = [transactionId, job.currency, amountUnits, address, job.tag, String(revision)];
  return domainHash("approval", ...parts.map(sized));
}

/**
 * Returns the first yes of two, if it is still to the present content: a currency's table may have
 * changed since.
 */
export function confirmationOf(
  { confirmed }: Withdrawal,
  expected: string,
): FirstConfirmation | null {
  return confirmed?.digest === expected ? confirmed : null;
}

function sized(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  return Buffer.concat([Uint8Array.of(bytes.length >> 8, bytes.length & 0xff), bytes]);
}
