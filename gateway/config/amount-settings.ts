/** Amounts of a currency in the configuration: decimal strings in one spelling. */
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import { shapeFault } from "../../protocol/shape.ts";

/**
 * @throws AgentError JSON_SHAPE unless the text is an amount above zero in the currency's decimals
 */
export function amountIn(text: string, decimal: number, path: string): string {
  const amount = parseAmount(text, decimal);
  if (!amount.ok)
    throw shapeFault(path, `must be an amount above zero with at most ${decimal} decimals`);
  return formatAmount(amount.units, decimal);
}

/**
 * The amount that may be missing from a deposit: zero, or below the smallest deposit, so that a
 * payment of nothing completes no deposit.
 * @throws AgentError JSON_SHAPE
 */
export function toleranceIn(text: string, least: string, decimal: number, path: string): string {
  if (text === "0") return text;
  const [tolerance, floor] = [
    parseAmount(amountIn(text, decimal, path), decimal),
    parseAmount(least, decimal),
  ];
  if (!tolerance.ok || !floor.ok || tolerance.units >= floor.units)
    throw shapeFault(path, "must be below minPaymentAmount");
  return formatAmount(tolerance.units, decimal);
}
