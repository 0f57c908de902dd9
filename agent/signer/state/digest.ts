/**
 * What a person's yes names: everything they saw, as one digest, so that nothing changes between
 * the view and the yes. Touches nothing. Source: docs/architecture.md section 3.
 */
import { domainHash } from "../../../protocol/identity.ts";
import type { Confirmation, Withdrawal } from "./withdrawal.ts";

/**
 * SHA-256 over id, currency, base units, address, tag and revision, u16be length ‖ utf8 each. The
 * revision is the record that held the withdrawal.
 * @public
 */
export function approvalDigestOf(withdrawal: Withdrawal, amountUnits: string): string {
  const { transactionId, job, address, revision } = withdrawal;
  const parts = [transactionId, job.currency, amountUnits, address, job.tag, String(revision)];
  return domainHash("approval", ...parts.map(sized));
}

/**
 * The first yes of two, as long as it is to what is there now: a currency's table may have changed
 * since.
 * @public
 */
export function confirmationOf({ confirmed }: Withdrawal, expected: string): Confirmation | null {
  return confirmed?.digest === expected ? confirmed : null;
}

function sized(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  return Buffer.concat([Uint8Array.of(bytes.length >> 8, bytes.length & 0xff), bytes]);
}
