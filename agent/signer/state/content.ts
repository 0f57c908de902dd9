/**
 * The content of an order as hashes that are kept permanently. A second job with the same id is
 * compared with them: a contradiction is an alarm that names the field, and never a second payment.
 * Touches nothing.
 */

import type { Code } from "../../../base/codes.ts";
import { findFamily } from "../../../chains/families.ts";
import { domainHash } from "../../../protocol/identity.ts";
import type { Job } from "../../../protocol/messages.ts";

/**
 * The hex digits that are kept of a field's hash: 8 bytes. Two texts with one hash would hide an
 * alarm, but would not pay anything.
 */
const fieldDigits = 16;

/**
 * Returns hashes of currency ‖ amount ‖ address ‖ tag, 32 bytes as hex. Amounts are canonical after
 * parsing, and an address counts in its checksummed form. For a sweep or a top-up the address is
 * the deposit address.
 */
export function contentHashesOf(
  job: Pick<Job, "network" | "currency" | "amount" | "address" | "tag" | "depositAddress">,
): string {
  const fields = [
    job.currency,
    job.amount,
    canonicalAddress(job.network, job.depositAddress ?? job.address),
    job.tag,
  ];
  return fields
    .map((text) => domainHash("content", Buffer.from(text)).slice(0, fieldDigits))
    .join("");
}

/**
 * Returns the canonical form of an address of a network, or the text itself if it is none. A job
 * may name a network that no family has.
 */
export function canonicalAddress(network: string, text: string): string {
  const parsed = findFamily(network)?.parseAddress(text, network);
  return parsed?.ok === true ? parsed.address : text;
}

const differences: readonly Code[] = [
  "WITHDRAWAL_EXISTS_DIFFERENT_CURRENCY",
  "WITHDRAWAL_EXISTS_DIFFERENT_AMOUNT",
  "WITHDRAWAL_EXISTS_DIFFERENT_ADDRESS",
  "WITHDRAWAL_EXISTS_DIFFERENT_TAG",
];

/** Returns the first field in which two contents differ, as a code; "" if they are the same. */
export function contentDifferenceOf(known: string, told: string): Code | "" {
  if (known === told) return "";
  const fieldOf = (content: string, field: number): string =>
    content.slice(field * fieldDigits, (field + 1) * fieldDigits);
  return (
    differences.find((_, field) => fieldOf(known, field) !== fieldOf(told, field)) ??
    "WITHDRAWAL_EXISTS_DIFFERENT_TAG"
  );
}
