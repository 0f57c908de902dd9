/**
 * What excludes a second payment where the chain counts none: a version is dead once the chain's
 * own time is past its expiration, and never by a clock of ours. A block is judged by the time of
 * the one before it, so the first block past an expiration may still hold the version, after a halt
 * of the chain much later than that. Offline. Source: java-tron's Manager.validateCommon.
 */
import type { Facts } from "../family.ts";
import { factsOf, figuresOf } from "./fees.ts";

/**
 * Nobody calls a version dead before the newest solidified block is this long past its expiration:
 * some forty blocks.
 * @public
 */
export const marginMs = 120_000;

/**
 * The longest life of a version, from its stamp to its expiration. The chain would allow a day; the
 * signer does not, so that nobody waits longer.
 * @public
 */
export const lifeMsMax = 600_000;

/**
 * Chain time, milliseconds since 1970: no block whose parent is past it takes the version.
 * @public
 */
export function untilMs(facts: Facts): number {
  return Number(figuresOf(facts).expirationMs);
}

/**
 * Rises strictly from one version of an account to the next: two equal payments by one block at one
 * time would be one transaction with one id, and the chain would pay one of them.
 * @public
 */
export function stamp(facts: Facts): bigint {
  return figuresOf(facts).timestampMs;
}

/**
 * The same offer with a stamp above `last`; its end moves as far.
 * @public
 */
export function stamped(facts: Facts, last: bigint): Facts {
  const figures = figuresOf(facts);
  const { timestampMs, expirationMs } = figures;
  if (timestampMs > last) return facts;
  return factsOf({ ...figures, timestampMs: last + 1n, expirationMs: expirationMs + last + 1n - timestampMs });
}
