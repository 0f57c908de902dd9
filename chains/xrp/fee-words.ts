/**
 * The fees of a payment of XRP in words: as an operator types them, and as `show`, `replace` and
 * `cancel` print them. Pure.
 */
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import type { FamilyFees, FeeMarket, TxParams } from "../family.ts";
import type { MarketView, TypedFees } from "../offers.ts";
import { nativeDecimal } from "./network.ts";

/** A whole number is drops, as nodes name fees; a number with a point is XRP. */
export function readTypedFees({
  maxFee,
  tip,
  computeLimit,
  dataFee,
}: TypedFees): ReturnType<FamilyFees["typed"]> {
  if ([tip, computeLimit, dataFee].some((option) => option !== undefined))
    return {
      ok: false,
      problem:
        "this chain takes --max-fee alone, in drops, such as 12, or in XRP, such as 0.000012",
    };
  if (maxFee === undefined) return { ok: true, txParams: { feeDrops: "", lastLedger: "" } };
  const parsed = parseAmount(maxFee, maxFee.includes(".") ? nativeDecimal : 0);
  return parsed.ok
    ? { ok: true, txParams: { feeDrops: `${parsed.units}`, lastLedger: "" } }
    : { ok: false, problem: "--max-fee must be drops, such as 12, or XRP, such as 0.000012" };
}

export function describeFees({ feeDrops = "0", lastLedger = "" }: TxParams): string {
  return `fee ${feeText(feeDrops)}, until ledger ${lastLedger}`;
}

export function feeRowsOf(
  { feeDrops = "0", lastLedger = "" }: TxParams,
  before: TxParams | null,
  beforeName: string,
): readonly (readonly [name: string, text: string])[] {
  const was = (text: string | undefined): string =>
    before === null ? "" : `, ${beforeName} has ${text ?? "none"}`;
  return [
    ["fee", `${feeText(feeDrops)}${was(feeText(before?.feeDrops ?? "0"))}`],
    ["until ledger", `${lastLedger}${was(before?.lastLedger)}`],
  ];
}

/** The fee market in words, and the reason why no ledger takes an offer now. */
export function marketViewOf(
  { feeDrops = "0", lastLedger = "0" }: TxParams,
  feeMarket: FeeMarket,
): MarketView {
  const { feeDrops: asked = 0n, ledger = 0n } = feeMarket;
  const now = `nodes ask ${feeText(`${asked}`)}, and ledger ${ledger} is the newest`;
  if (BigInt(lastLedger) <= ledger)
    return { now, tooLow: `its last ledger, ${lastLedger}, has passed` };
  if (BigInt(feeDrops) >= asked) return { now, tooLow: "" };
  const low = `this offer is ${feeText(feeDrops)}, and nodes ask ${feeText(`${asked}`)}`;
  return { now, tooLow: `${low}: no ledger takes it before the fee falls` };
}

function feeText(drops: string): string {
  return `${drops} drops (${formatAmount(BigInt(drops), nativeDecimal)} XRP)`;
}
