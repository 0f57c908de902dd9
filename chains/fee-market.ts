/** The fee market of a chain as text, for the sockets of the agent. Pure. */
import type { FeeMarket } from "./family.ts";

/** The figures of a fee market as decimal strings, in the family's own fields. */
export type FeeMarketTexts = Readonly<Record<string, string>>;

export function feeMarketTexts(feeMarket: FeeMarket): FeeMarketTexts {
  return Object.fromEntries(Object.entries(feeMarket).map(([name, figure]) => [name, `${figure}`]));
}

/** The texts must be decimal, as `feeMarketTexts` made them. */
export function readFeeMarket(texts: FeeMarketTexts): FeeMarket {
  return Object.fromEntries(Object.entries(texts).map(([name, figure]) => [name, BigInt(figure)]));
}
