/**
 * The columns of a table of records, for programs and for people. A field that a record lacks is
 * empty.
 */
import type { FiatSums, Quote } from "../config/fiat.ts";
import type { CsvColumns, CsvTable } from "./csv-cell.ts";

/** Those for programs. A test compares them with the record's own fields. */
export const recordColumns = {
  transactionId: "text",
  transactionType: "count",
  orderId: "text",
  currency: "word",
  amount: "amount",
  status: "count",
  stage: "word",
  code: "word",
  createdAt: "time",
  changedAt: "time",
  expiresAt: "time",
  receiverAddress: "text",
  depositAddress: "text",
  tag: "text",
  network: "text",
  txHash: "text",
  confirmations: "count",
  amountReceived: "amount",
  late: "flag",
  mode: "word",
  fee: "amount",
  callbackStatus: "count",
  paymentUri: "text",
  paymentUrl: "text",
  paymentTolerance: "sum",
  quote: "text",
  metadata: "text",
  explorerUrl: "text",
  renews: "text",
  refundOf: "text",
  value: "text",
  received: "amount",
  accepted: "flag",
  invoice: "text",
} as const satisfies CsvColumns;

/** Columns of people in the place of one for programs. */
const insteadOf: Readonly<Record<string, CsvColumns>> = {
  fee: { fee: "amount", feeAsset: "word" },
  quote: { quoteFiat: "word", quoteAmount: "sum", quotePrice: "price" },
  value: { valueTry: "sum", valueUsd: "sum", valueEur: "sum" },
};

/** Those for people, without JSON but that of the shop. */
const peopleColumns: CsvColumns = Object.fromEntries(
  Object.entries(recordColumns).flatMap(([name, kind]) =>
    Object.entries(insteadOf[name] ?? { [name]: kind }),
  ),
);

export const recordColumnsOf = ({ reader }: CsvTable): CsvColumns =>
  reader === "people" ? peopleColumns : recordColumns;

interface NestedFields {
  readonly network: string;
  readonly fee?: string;
  readonly quote?: Quote;
  readonly value?: FiatSums;
}

/**
 * The values of a record by the columns of its table. `feeAssetOn` names the currency that pays the
 * fees on a network.
 */
export function recordRowOf(
  { reader }: CsvTable,
  record: object,
  feeAssetOn: (network: string) => string,
): Readonly<Record<string, unknown>> {
  if (reader === "programs") return record as Readonly<Record<string, unknown>>;
  const { network, fee = "", quote, value } = record as NestedFields;
  return {
    ...record,
    feeAsset: fee === "" ? "" : feeAssetOn(network),
    quoteFiat: quote?.fiatCurrency,
    quoteAmount: quote?.fiatAmount,
    quotePrice: quote?.price,
    valueTry: value?.try,
    valueUsd: value?.usd,
    valueEur: value?.eur,
  };
}
