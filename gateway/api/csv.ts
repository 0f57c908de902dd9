/**
 * The list as CSV, for spreadsheets and bookkeeping: the fields of the record as columns, always
 * the same and in the same order. Sources: RFC 4180; RFC 9110 section 12.5.1 (Accept).
 */
import { csvCell } from "../answer/csv-cell.ts";

export const csvType = "text/csv; charset=utf-8; header=present";

/**
 * The columns. A field that a record lacks is empty. A test compares the columns with the record's
 * own fields.
 */
export const csvColumns = [
  ...["transactionId", "transactionType", "orderId", "currency", "amount", "status", "stage", "code", "createdAt", "changedAt"],
  ...["expiresAt", "receiverAddress", "depositAddress", "tag", "network", "txHash", "confirmations", "amountReceived", "late"],
  ...[
    "mode",
    "fee",
    "callbackStatus",
    "paymentUri",
    "paymentUrl",
    "paymentTolerance",
    "quote",
    "metadata",
    "explorerUrl",
    "renews",
  ],
] as const;

export const csvHead = `${csvColumns.join(",")}\r\n`;

/** One record as a line. */
export function csvLine(record: object): string {
  const values = record as Readonly<Record<string, unknown>>;
  return `${csvColumns.map((name) => csvCell(values[name])).join(",")}\r\n`;
}

const rangesMax = 32;

/** True if an Accept header names text/csv and does not give JSON a greater weight. */
export function wantsCsv(accept: string | undefined): boolean {
  const weights = new Map<string, number>();
  for (const range of (accept ?? "").split(",").slice(0, rangesMax)) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((part) => part.startsWith("q="));
    weights.set(type, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }
  const csv = weights.get("text/csv") ?? 0;
  return csv > 0 && csv >= (weights.get("application/json") ?? 0);
}
