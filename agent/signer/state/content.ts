/**
 * What one order asks for, as one text that is remembered for ever: a second job under the same id is compared with it, so that a
 * contradiction is an alarm that names the field, and never a second payment. Touches nothing.
 */
import { parseAddress } from "../../../chains/evm/address.ts";
import type { Code } from "../../../protocol/codes.ts";
import type { Job } from "../../../protocol/messages.ts";

/**
 * currency ‖ amount ‖ address ‖ tag, a line each. Amounts come canonical from the parser; an address counts in its checksummed form.
 * @public
 */
export function contentOf(job: Pick<Job, "currency" | "amount" | "address" | "tag">): string {
  return `${job.currency}\n${job.amount}\n${canonicalAddress(job.address)}\n${job.tag}`;
}

/**
 * The checksummed form of an address, or the text itself when it is none.
 * @public
 */
export function canonicalAddress(text: string): string {
  const parsed = parseAddress(text);
  return parsed.ok ? parsed.address : text;
}

const differences: readonly Code[] = [
  "WITHDRAWAL_EXISTS_DIFFERENT_CURRENCY",
  "WITHDRAWAL_EXISTS_DIFFERENT_AMOUNT",
  "WITHDRAWAL_EXISTS_DIFFERENT_ADDRESS",
  "WITHDRAWAL_EXISTS_DIFFERENT_TAG",
];

/**
 * The first field in which two contents differ, as a code; "" when they are the same.
 * @public
 */
export function differenceOf(known: string, told: string): Code | "" {
  if (known === told) return "";
  const fields = told.split("\n");
  const at = known.split("\n").findIndex((field, i) => field !== fields[i]);
  return differences[at] ?? "WITHDRAWAL_EXISTS_DIFFERENT_TAG";
}
