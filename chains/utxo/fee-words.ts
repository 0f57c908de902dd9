/**
 * The fees of such a coin in words: as an operator types them, and as `show`, `replace` and
 * `cancel` print them. Pure.
 */
import { parseAmount } from "../../protocol/amount.ts";
import type { Fees, TxParams } from "../family.ts";
import type { TypedFees } from "../offers.ts";
import { sizeOf } from "./size.ts";
import { amountOf, figuresOf } from "./tx-params.ts";

/** Decimals of a rate in sat for a byte, which is named in sat for 1,000 bytes. */
const rateDecimal = 3;
/** Scripts of nearly all addresses; their lengths differ by 12 bytes at most. */
const usualScriptBytes = 22;

export function typed({
  maxFee,
  tip,
  computeLimit,
  dataFee,
}: TypedFees): ReturnType<Fees["typed"]> {
  if ([tip, computeLimit, dataFee].some((option) => option !== undefined))
    return {
      ok: false,
      problem: "this chain takes --max-fee alone, in sat for a byte, such as 12.5",
    };
  if (maxFee === undefined) return { ok: true, txParams: { satPerKvB: "" } };
  const parsed = parseAmount(maxFee, rateDecimal);
  return parsed.ok
    ? { ok: true, txParams: { satPerKvB: `${parsed.units}` } }
    : { ok: false, problem: "--max-fee must be sat for a byte, such as 12.5" };
}

/** The rate of an attempt, in sat for 1,000 virtual bytes. */
export function rateOf(txParams: TxParams): bigint {
  const figures = figuresOf(txParams);
  const scriptBytes = amountOf(figures) === 0n ? null : usualScriptBytes;
  return (
    (figures.feeSat * 1000n) / sizeOf(figures.coins.length, scriptBytes, figures.changeSat.length)
  );
}

export function saySatPerByte(satPerKvB: bigint): string {
  const tenths = satPerKvB / 100n;
  return `${tenths / 10n}.${tenths % 10n} sat for a byte`;
}

export function say(txParams: TxParams): string {
  const { coins, feeSat } = figuresOf(txParams);
  return `fee ${feeSat} sat, about ${saySatPerByte(rateOf(txParams))}, of ${coins.length} coin${coins.length === 1 ? "" : "s"}`;
}

export function rows(
  txParams: TxParams,
  before: TxParams | null,
  beforeName: string,
): readonly (readonly [name: string, text: string])[] {
  const { coins, changeSat, feeSat } = figuresOf(txParams);
  const was = before === null ? "" : `, ${beforeName} has ${figuresOf(before).feeSat} sat`;
  return [
    ["coins", coins.map(({ id, units }) => `${units} sat of ${id}`).join(", ")],
    ["change", changeSat.length === 0 ? "none" : `${changeSat.join(" and ")} sat`],
    ["fee", `${feeSat} sat, about ${saySatPerByte(rateOf(txParams))}${was}`],
  ];
}
