/** Fees of the made-up family: a fixed price, and nobody bids for a place. */

import { shapeFault } from "../../../base/shape.ts";
import type { FamilyFees, TxParams } from "../../../chains/family.ts";
import { nativeDecimal } from "./network.ts";

const priceForm = /^[1-9][0-9]{0,8}$/;

function read(txParams: TxParams): TxParams {
  const { price = "" } = txParams;
  if (Object.keys(txParams).length !== 1 || !priceForm.test(price))
    throw shapeFault("txParams", "must be price");
  return txParams;
}

export const fees: FamilyFees = {
  decimal: nativeDecimal,
  tipDecimal: 0,
  tipUnit: "",
  tipMax: "0",
  ceilings: { maxFee: "10", maxFeePerDay: "1000" },
  computeLimitMin: 1n,
  computeLimitUnknown: 1n,
  read,
  readWish: (txParams) => (txParams.price === "" ? txParams : read(txParams)),
  typed: ({ maxFee = "" }) =>
    maxFee === "" || priceForm.test(maxFee)
      ? { ok: true, txParams: { price: maxFee } }
      : { ok: false, problem: "the price is a number" },
  most: ({ price = "0" }) => BigInt(price),
  tipOf: () => 0n,
  computeLimitOf: () => 1n,
  first: ({ feeMarket: { price = 1n } }) => ({ price: `${price}` }),
  bidding: null,
  tooLittle: () => null,
  unbounded: () => null,
  say: ({ price = "" }) => `price ${price}`,
  rows: ({ price = "" }) => [["price", price]],
};
