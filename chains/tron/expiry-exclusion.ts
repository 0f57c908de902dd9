/**
 * Excludes a second payment on a chain without account nonce. An attempt is void after the chain's
 * own time has passed its expiration; our own clock never counts. The chain compares the expiration
 * with the time of the block before. So the first block past an expiration may still hold the
 * attempt, after a halt of the chain even much later. Offline. Source: java-tron's
 * Manager.validateCommon.
 */
import type { TxParams } from "../family.ts";
import { figuresOf, txParamsOf } from "./fees.ts";

/**
 * No attempt counts as void before the newest solidified block is this long past its expiration:
 * some forty blocks.
 */
export const voidMarginMs = 120_000;

/**
 * The longest lifetime of an attempt, from its timestamp to its expiration. The chain would allow a
 * day; the signer allows less, so that no withdrawal waits longer.
 */
export const lifetimeMsMax = 600_000;

/** Some twenty blocks, within which a block takes nearly everything that nodes have. */
export const usualInclusionMs = 60_000;

/**
 * The error of any clock that is read with an end: two days. A signer's word is not doubted for
 * less. Nodes without old blocks still have those of two days (java-tron's LiteFullNode: 65,536).
 */
const clockErrorMsMax = 172_800_000;

/** As `ExpiryExclusion.readEnd`. */
export function checkValidUntil(
  validUntilMs: number,
  madeAtMs: number,
  nowMs: number,
): number | null {
  const isEarly = validUntilMs < madeAtMs - clockErrorMsMax;
  return isEarly || validUntilMs > nowMs + lifetimeMsMax + clockErrorMsMax ? null : validUntilMs;
}

/**
 * Chain time, milliseconds since 1970. No block takes the attempt if its parent is past this time.
 */
export function validUntilMs(txParams: TxParams): number {
  return Number(figuresOf(txParams).expirationMs);
}

/**
 * Rises strictly from one attempt of an account to the next. Two equal payments by the same block
 * at the same time would be a single transaction with one id, and the chain would pay only once.
 */
export function timestampOf(txParams: TxParams): bigint {
  return figuresOf(txParams).timestampMs;
}

/** The same offer with a timestamp above `last`; its end moves by the same time. */
export function withTimestamp(txParams: TxParams, last: bigint): TxParams {
  const figures = figuresOf(txParams);
  const { timestampMs, expirationMs } = figures;
  if (timestampMs > last) return txParams;
  return txParamsOf({
    ...figures,
    timestampMs: last + 1n,
    expirationMs: expirationMs + last + 1n - timestampMs,
  });
}
