/**
 * When what addresses for deposits hold is swept: the part of the configuration, with its bounds
 * and defaults. Reads nothing but what it is given. Source: docs/api.md, Sweeps.
 */
import { boolean, integer, object, type Reader, string } from "../protocol/shape.ts";

/**
 * When what an address for deposits holds goes to the hot account.
 * @public
 */
export interface GatewaySweep {
  readonly isAutomatic: boolean; // else at a person's word alone
  readonly feeMultiple: number; // so many times the fee at least; of a token where both prices are known
  readonly least: string; // so much at least
}

/** As many accounts as an agent's hello has room for, beside the hot ones. */
const sweepsAtOnceMax = 12;
/**
 * So many may be stuck beside them: the order of a recovery has room for both together
 * (gateway/recovery/order.ts).
 * @public
 */
export const stuckSweepsMax = 20;
/** @public */
export const sweepsAtOnceDefault = 8;
const feeMultipleDefault = 20;
/** No deposit of a token loses more than a tenth of itself to its sweep. */
const feeMultipleOfTokens = 10;

/**
 * As a person writes it beside a currency.
 * @public
 */
export const sweepShape = object(
  {},
  {
    automatic: boolean(),
    feeMultiple: integer({ min: 1, max: 1_000_000 }),
    least: string({ min: 1, max: 79 }),
  },
);

/** @public */
export const sweepsAtOnce: Reader<number> = integer({ min: 1, max: sweepsAtOnceMax });

/**
 * With the defaults; `least` is read already.
 * @public
 */
export function sweepOf(
  entry: ReturnType<typeof sweepShape> | undefined,
  { least, isCoin }: { readonly least: string; readonly isCoin: boolean },
): GatewaySweep {
  const usual = isCoin ? feeMultipleDefault : feeMultipleOfTokens;
  return { isAutomatic: entry?.automatic ?? true, feeMultiple: entry?.feeMultiple ?? usual, least };
}
