/**
 * The fees of an EVM payment in words: as an operator types them, and as `show`, `replace` and
 * `cancel` print them. Pure.
 */
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import type { FamilyFees, TxParams } from "../family.ts";
import type { TypedFees } from "../offers.ts";
import { gweiDecimal } from "./network.ts";

export function readTypedFees({
  maxFee,
  tip,
  computeLimit,
  dataFee,
}: TypedFees): ReturnType<FamilyFees["typed"]> {
  const [fee, priority, data] = [weiOf(maxFee), weiOf(tip), weiOf(dataFee)];
  const no = (problem: string): ReturnType<FamilyFees["typed"]> => ({ ok: false, problem });
  if (fee === null) return no("--max-fee must be gwei per gas, such as 12.5");
  if (priority === null) return no("--tip must be gwei per gas, such as 12.5");
  if (computeLimit !== undefined && !/^[1-9]\d{0,8}$/.test(computeLimit))
    return no("--compute-limit must be a whole number of gas, such as 65000");
  if (data === null) return no("--data-fee must be gwei, such as 12.5");
  const beside = dataFee === undefined ? {} : { dataFee: data };
  return {
    ok: true,
    txParams: {
      gasLimit: computeLimit ?? "",
      maxFeePerGas: fee,
      maxPriorityFeePerGas: priority,
      ...beside,
    },
  };
}

/** Null for a text that is no amount in gwei. */
function weiOf(gwei: string | undefined): string | null {
  if (gwei === undefined) return "";
  const parsed = parseAmount(gwei, gweiDecimal);
  if (parsed.ok) return parsed.units.toString();
  return parsed.code === "AMOUNT_ZERO" ? "0" : null;
}

export function describeFees(txParams: TxParams): string {
  const { gasLimit, maxFeePerGas, dataFee } = txParams;
  const data = dataFee === undefined ? "" : `, at most ${dataFee} wei for data`;
  return `gas ${gasLimit}, at most ${maxFeePerGas} wei per gas${data}`;
}

export function feeRowsOf(
  txParams: TxParams,
  before: TxParams | null,
  beforeName: string,
): readonly (readonly [name: string, text: string])[] {
  const was = (field: "maxFeePerGas" | "maxPriorityFeePerGas"): string =>
    before === null ? "" : `, ${beforeName} has ${gwei(before[field] ?? "")}`;
  const { gasLimit = "", maxFeePerGas = "", maxPriorityFeePerGas = "", dataFee } = txParams;
  const data =
    dataFee === undefined
      ? []
      : [["data", `${gwei(dataFee)} gwei at most, beside the gas`] as const];
  return [
    ["gas", gasLimit],
    ["max fee", `${gwei(maxFeePerGas)} gwei per gas${was("maxFeePerGas")}`],
    ["tip", `${gwei(maxPriorityFeePerGas)} gwei per gas${was("maxPriorityFeePerGas")}`],
    ...data,
  ];
}

function gwei(wei: string): string {
  return formatAmount(BigInt(wei), gweiDecimal);
}
