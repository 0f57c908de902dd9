/** An invoice in the words of `deposits show`: sum, choices, and the price of each payment. */
import { exceptionsOf, type InvoiceContext, stageOf } from "../invoices/view.ts";
import { type InvoiceRow, listChoices, readInvoice } from "../store/invoices.ts";
import { listFirstSights, listQuotes } from "../store/quotes.ts";
import type { DepositRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { formatTimestamp } from "./accounts.ts";

const statusNames = ["Pending", "Completed", "Failed"] as const;

/** The lines of an invoice, with the line to type for each choice. */
export function describeInvoice(context: InvoiceContext, row: InvoiceRow): readonly string[] {
  const choices = listChoices(context.store.database, row.id);
  const exceptions = exceptionsOf(context, row, choices);
  const { id, merchant, orderId, status, fiatAmount, fiatCurrency, expiresAt } = row;
  return [
    `${id}  invoice of ${merchant}, order ${orderId}: ${fiatAmount} ${fiatCurrency}`,
    `  ${statusNames[status]}, ${stageOf(row, choices)}; the payer chooses until ${formatTimestamp(expiresAt)}`,
    ...(exceptions.length === 0 ? [] : [`  exceptions: ${exceptions.join(", ")}`]),
    ...choices.map(
      (one) =>
        `  ${one.currency}: ${one.amount ?? ""} asked, ${statusNames[one.status]}, ${one.stage}; next: deposits show ${one.id}`,
    ),
  ];
}

/** The lines of a choice besides those of each deposit; none for another deposit. */
export function describeChoice(database: Database, row: DepositRow): readonly string[] {
  const invoice = row.invoice === "" ? undefined : readInvoice(database, row.invoice);
  if (invoice === undefined) return [];
  const { id, fiatAmount, fiatCurrency } = invoice;
  return [
    `  of invoice ${id}, ${fiatAmount} ${fiatCurrency}; next: deposits show ${id}`,
    ...listQuotes(database, row.id).map(
      ({ number, price, fromAt, untilAt }) =>
        `  price ${number}: ${price} ${fiatCurrency}, ${formatTimestamp(fromAt)} to ${formatTimestamp(untilAt)}`,
    ),
    ...listFirstSights(database, row.id).map(
      ({ txHash, at, quote }) =>
        `  first seen ${formatTimestamp(at)}, at price ${quote}: ${txHash}`,
    ),
  ];
}
