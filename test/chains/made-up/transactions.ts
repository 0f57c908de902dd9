/** The made-up family's transactions: their own words, as text. */
import { refuse } from "../../../base/fault.ts";
import type { FamilyTransactions, Payment, TxParams } from "../../../chains/family.ts";
import { fees } from "./fees.ts";

const textOf = (
  { account, slot, destination, amountUnits }: Payment,
  { price }: TxParams,
): string => [account, slot, destination, amountUnits, price].join(" ");

export const transactions: FamilyTransactions = {
  build: (payment, txParams) => Buffer.from(textOf(payment, fees.read(txParams))),
  describe: (unsigned, { network }) => {
    const [account, slot, destination, amount, price, ...more] = Buffer.from(unsigned)
      .toString()
      .split(" ");
    if (!account || !slot || !destination || !amount || !price || more.length > 0)
      return refuse("TRANSACTION_TYPE");
    const payment = {
      network,
      account,
      slot,
      contract: "",
      destination,
      tag: "",
      amountUnits: BigInt(amount),
    };
    return {
      ok: true,
      description: { ...payment, txParams: { price }, feeMaxUnits: BigInt(price) },
    };
  },
  cancels: null,
  digests: (unsigned) => [unsigned.subarray(0, 32)],
  attach: (unsigned, signatures) => ({
    raw: Buffer.concat([unsigned, ...signatures]),
    txHash: Buffer.from(unsigned).toString("hex").padEnd(64, "0").slice(0, 64),
  }),
};
