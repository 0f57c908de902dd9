/**
 * Amounts as text and as whole base units, exactly: no float, no rounding, one canonical form.
 * Grammar: docs/protocol.md section 1.3.
 */
import { invariant, type Refusal, refuse } from "../base/fault.ts";

/** Most digits of an amount's text, the point not counted: 2^256-1 has as many. */
export const amountDigitsMax = 78;

/** Most fraction digits a currency may have. */
export const decimalMax = 36;

const grammar = /^(0|[1-9][0-9]*)(?:\.([0-9]+))?$/;
const unitsMax = 2n ** 256n - 1n;

/**
 * An amount's canonical text: above zero, no leading zero, no trailing zero after a point. Serves
 * amounts whose number of decimals is not known.
 */
export const canonicalAmountPattern = /^(?:[1-9][0-9]*|(?:0|[1-9][0-9]*)\.[0-9]*[1-9])$/;

/**
 * Reads `12.5` as base units of a currency with `decimal` fraction digits (0 … 36): 1 … 2^256-1.
 * Trailing zeros are taken; more fraction digits than the currency has are refused even when they
 * are zeros. Refuses AMOUNT_FORMAT, AMOUNT_PRECISION, AMOUNT_ZERO, in this order.
 */
export function parseAmount(
  text: string,
  decimal: number,
): { readonly ok: true; readonly units: bigint } | Refusal {
  invariant(
    Number.isInteger(decimal) && decimal >= 0 && decimal <= decimalMax,
    "decimal is within 0 … 36",
  );
  // The point may add one character. 79 digits without a point are beyond 256 bits.
  if (text.length > amountDigitsMax + 1)
    return refuse("AMOUNT_FORMAT", `more than ${amountDigitsMax} digits`);
  const match = grammar.exec(text);
  if (match === null) return refuse("AMOUNT_FORMAT", "not digits with an optional point");
  const [, whole = "", fraction = ""] = match;
  if (fraction.length > decimal)
    return refuse("AMOUNT_PRECISION", `more than ${decimal} fraction digits`);
  const units = BigInt(whole + fraction.padEnd(decimal, "0"));
  if (units === 0n) return refuse("AMOUNT_ZERO");
  if (units > unitsMax) return refuse("AMOUNT_FORMAT", "beyond 256 bits of base units");
  return { ok: true, units };
}

/** Writes base units (0 or more) in canonical form: `1500000` with 6 decimals is `1.5`. */
export function formatAmount(units: bigint, decimal: number): string {
  invariant(units >= 0n, "an amount is never negative");
  invariant(
    Number.isInteger(decimal) && decimal >= 0 && decimal <= decimalMax,
    "decimal is within 0 … 36",
  );
  if (decimal === 0) return units.toString();
  const digits = units.toString().padStart(decimal + 1, "0");
  const fraction = digits.slice(-decimal).replace(/0+$/, "");
  const whole = digits.slice(0, -decimal);
  return fraction === "" ? whole : `${whole}.${fraction}`;
}
