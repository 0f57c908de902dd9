/** An invoice as a shop sees it: by GET, and in its events. Source: docs/api.md, Invoices. */
import { formatAmount } from "../../protocol/amount.ts";
import { isAccepted, paymentFieldsOf } from "../answer/record.ts";
import type { GatewayConfig } from "../config/config.ts";
import { surplusToleranceUnits } from "../config/surplus.ts";
import { listOtherCurrencyPaymentsTo } from "../store/credits.ts";
import { endNameOf, type InvoiceRow, listChoices, listCurrenciesOf } from "../store/invoices.ts";
import { newestGivenQuote } from "../store/quotes.ts";
import type { DepositRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { unrefundedUnits } from "../store/transactions.ts";

/** Sources of an invoice's fields that are not in its row. */
export interface InvoiceContext {
  readonly config: Pick<GatewayConfig, "currencies" | "publicUrl">;
  readonly store: { readonly database: Database };
}

/** The stages of open choices, the one that is furthest last. */
export const openStages = ["waiting", "unconfirmed", "seen", "partial", "confirming"];

/** The step of an invoice within its status; of an open one that of its furthest choice. */
export function stageOf(invoice: InvoiceRow, choices: readonly DepositRow[]): string {
  if (invoice.status !== 0) return endNameOf(invoice);
  const furthest = choices
    .filter(({ status }) => status === 0)
    .reduce((most, { stage }) => Math.max(most, openStages.indexOf(stage)), -1);
  return openStages[furthest] ?? "choosing";
}

/** A thing for a person to look at: money that completed nothing, or more than was asked for. */
export type InvoiceException = "late" | "short" | "over" | "surplus" | "otherCoin";

/** The exceptions of an invoice, by the money that its choices have and that nobody paid back. */
export function exceptionsOf(
  { config, store: { database } }: InvoiceContext,
  invoice: InvoiceRow,
  choices: readonly DepositRow[],
): readonly InvoiceException[] {
  const exceptionsOfChoice = (row: DepositRow): readonly InvoiceException[] => {
    const units = unrefundedUnits(database, row);
    const others = listOtherCurrencyPaymentsTo(database, row.id);
    const other: readonly InvoiceException[] = others.length > 0 ? ["otherCoin"] : [];
    if (units === 0n || row.status === 0) return other;
    if (row.status === 1) {
      const asked = BigInt(row.units ?? 0);
      const fine = surplusToleranceUnits(asked, config.currencies[row.currency]);
      return units > asked + fine ? ["over", ...other] : other;
    }
    if (invoice.status === 1) return ["surplus", ...other];
    return [row.late === 1 ? "late" : "short", ...other];
  };
  return [...new Set(choices.flatMap(exceptionsOfChoice))];
}

/** A choice as an invoice names it. */
export function choiceBodyOf(
  { config, store: { database } }: InvoiceContext,
  row: DepositRow,
): object {
  const decimal = config.currencies[row.currency]?.decimal;
  const newest = newestGivenQuote(database, row.id);
  const { paymentUri, paymentUrl } = paymentFieldsOf(row, config);
  return {
    invoice: row.invoice,
    currency: row.currency,
    network: row.network,
    transactionId: row.id,
    address: row.payTo,
    tag: row.tag,
    amount: row.amount ?? "",
    amountReceived: decimal === undefined ? "" : formatAmount(BigInt(row.receivedUnits), decimal),
    status: row.status,
    stage: row.stage,
    code: row.code,
    ...(isAccepted(row) ? { accepted: true } : {}),
    expiresAt: new Date(row.expiresAt).toISOString(),
    paymentUri,
    paymentUrl,
    ...(newest === undefined
      ? {}
      : {
          quote: {
            number: newest.number,
            price: newest.price,
            until: new Date(newest.untilAt).toISOString(),
          },
        }),
  };
}

/** The address of an invoice's page for its payer. */
export const invoicePageUrl = (
  { payToken }: Pick<InvoiceRow, "payToken">,
  { publicUrl }: { readonly publicUrl: string },
): string => `${publicUrl}/pay/${payToken}`;

export function invoiceBodyOf(context: InvoiceContext, row: InvoiceRow): object {
  const choices = listChoices(context.store.database, row.id);
  const paid = choices.find(({ id }) => id === row.completedBy);
  return {
    invoice: row.id,
    orderId: row.orderId,
    status: row.status,
    stage: stageOf(row, choices),
    fiatCurrency: row.fiatCurrency,
    fiatAmount: row.fiatAmount,
    createdAt: new Date(row.createdAt).toISOString(),
    changedAt: new Date(row.changedAt).toISOString(),
    expiresAt: new Date(row.expiresAt).toISOString(),
    paymentUrl: invoicePageUrl(row, context.config),
    currencies: listCurrenciesOf(row),
    ...(paid === undefined ? {} : { paidWith: paid.currency, transactionId: paid.id }),
    ...(paid !== undefined && isAccepted(paid) ? { accepted: true } : {}),
    exceptions: exceptionsOf(context, row, choices),
    choices: choices.map((one) => choiceBodyOf(context, one)),
    metadata: row.metadata === "" ? {} : (JSON.parse(row.metadata) as object),
    ...(row.renews === "" ? {} : { renews: row.renews }),
  };
}
