/**
 * Tags, which name the payee behind a shared address, and the tag of each deposit request. Pure.
 * Source: xrpl.org, "Source and destination tags".
 */
import { AgentError } from "../../base/fault.ts";

const form = /^(?:0|[1-9][0-9]{0,9})$/;
const tagMax = 0xffff_ffff;
/** Tags of deposit requests have 31 bits, so all wallets read them as a positive number. */
const bits31 = 0x7fff_ffff;
const oddFactors = [0x2c1b3c6d, 0x297a2d39] as const;

/** The tag in its only spelling, 0 … 4294967295; null for any other text. */
export function readTag(text: string): string | null {
  return form.test(text) && Number(text) <= tagMax ? text : null;
}

/**
 * The tag of a deposit request, by its index 0 … 2^31-2: 1 … 2^31-1, and another one for each
 * index. A fixed permutation makes neighbours unlike, so that a mistyped tag rarely is a
 * neighbour's; it hides nothing. Each step can be undone and leaves 0 where it is, and 0 is no
 * index here.
 * @throws ADDRESS_INDEX
 */
export function depositTagOf(index: number): number {
  if (!Number.isSafeInteger(index) || index < 0 || index >= bits31)
    throw new AgentError("ADDRESS_INDEX", "none", "address index is outside 0 … 2^31-2", {
      addressIndex: index,
    });
  let mixed = index + 1;
  for (const factor of oddFactors) {
    mixed = Math.imul(mixed, factor) & bits31;
    mixed ^= mixed >>> 16;
  }
  return mixed;
}
