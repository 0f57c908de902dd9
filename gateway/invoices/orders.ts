/**
 * createInvoice: a sum of money that a payer may pay in one of several currencies. It makes no
 * address and no price; the payer's choice does (choices.ts). The same order gives the same invoice
 * at any price. Source: docs/api.md, Invoices.
 */
import { createHash } from "node:crypto";
import { domainHash } from "../../protocol/identity.ts";
import { type Answer, dataAnswer, isAnswer, problemAnswer } from "../answer/answer.ts";
import { type InvoiceOrder, invoiceLimits } from "../answer/body.ts";
import { canReceive } from "../deposits/fresh-address.ts";
import { mayReturnTo, newPayToken } from "../deposits/pay-page.ts";
import type { Service } from "../service.ts";
import {
  type InvoiceRow,
  insertInvoice,
  invoiceOfOrder,
  listChoices,
  readInvoice,
  readInvoiceOf,
} from "../store/invoices.ts";
import type { Database } from "../store/store.ts";
import { recordOfOrder } from "../store/transactions.ts";
import { mayBePaid } from "../withdrawals/renewal.ts";
import { invoiceBodyOf } from "./view.ts";

export interface InvoiceRequest {
  readonly merchant: string;
  readonly order: InvoiceOrder; // as it was sent
  readonly write: <T>(fn: (database: Database) => T) => Promise<T>; // resolves when it is durable
}

const minuteMs = 60_000;
/** How long a payer may choose, if the shop does not say. */
const choosingMinutesUsual = 120;

/** The id of an order's invoice, 16 bytes as hex: the same after any loss of data. */
const invoiceIdOf = (order: Pick<InvoiceRow, "merchant" | "orderId" | "renews">): string => {
  const text = JSON.stringify([order.merchant, order.orderId, order.renews]);
  return domainHash("invoice", Buffer.from(text)).slice(0, 32);
};

/** Hash of what was asked for; metadata and the way back are no part of it. */
function contentHashOf(order: InvoiceOrder): string {
  const { fiat, currencies, quoteMinutes, expiresInMinutes, tolerancePercent } = order;
  const content = [
    ...[fiat.fiatCurrency, fiat.fiatAmount, [...currencies].sort()],
    ...[quoteMinutes, expiresInMinutes, tolerancePercent],
  ];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

/** The currencies that an invoice offers, or the answer that refuses the order's own. */
function currenciesFor(
  { config }: Service,
  database: Database,
  { merchant, order }: InvoiceRequest,
): readonly string[] | Answer {
  const { currencies } = config;
  if (order.currencies.length > 0) {
    const isGood = (id: string): boolean =>
      Object.hasOwn(currencies, id) &&
      currencies[id]?.enabled === true &&
      canReceive(database, merchant, currencies[id]);
    if (order.currencies.every(isGood)) return order.currencies;
    return problemAnswer("currencies_invalid", { field: "currencies" });
  }
  const all = Object.values(currencies)
    .filter((currency) => currency.enabled && canReceive(database, merchant, currency))
    .map(({ id }) => id)
    .slice(0, invoiceLimits.currenciesMax);
  return all.length > 0 ? all : problemAnswer("deposits_not_ready");
}

/** The invoice that a renewal follows; null for a first one. */
function renewedOf(
  database: Database,
  { merchant, order }: InvoiceRequest,
): InvoiceRow | null | Answer {
  if (order.renew === "") return null;
  const row = readInvoiceOf(database, { id: order.renew, merchant });
  if (row === undefined || row.orderId !== order.orderId)
    return problemAnswer("renew_invalid", { field: "renew" });
  if (row.contentHash !== contentHashOf(order))
    return problemAnswer("order_id_reused", { invoice: row.id });
  const reason = reasonAgainstRenewal(database, row);
  return reason === "" ? row : problemAnswer("not_renewable", { invoice: row.id, reason });
}

function reasonAgainstRenewal(
  database: Database,
  row: InvoiceRow,
): "" | "open" | "completed" | "paid" {
  if (row.status === 0) return "open";
  if (row.status === 1) return "completed";
  return listChoices(database, row.id).some((one) => mayBePaid(database, one)) ? "paid" : "";
}

function makeInvoice(
  service: Service,
  request: InvoiceRequest,
  database: Database,
): InvoiceRow | Answer {
  const { merchant, order } = request;
  const place = { merchant, orderId: order.orderId, renews: order.renew };
  const known = invoiceOfOrder(database, place);
  if (known !== undefined) {
    const isSame = known.contentHash === contentHashOf(order);
    return isSame ? known : problemAnswer("order_id_reused", { invoice: known.id });
  }
  const plain = recordOfOrder(database, { ...place, operation: "deposit", renews: "" });
  if (plain !== undefined) return problemAnswer("order_id_reused", { transactionId: plain.id });
  const renewed = renewedOf(database, request);
  if (isAnswer(renewed)) return renewed;
  // A renewal keeps what the shop leaves out.
  const returnUrl = order.returnUrl || (renewed?.returnUrl ?? "");
  if (!mayReturnTo(database, merchant, returnUrl))
    return problemAnswer("return_url_invalid", { field: "returnUrl" });
  const currencies = currenciesFor(service, database, request);
  if (isAnswer(currencies)) return currencies;
  const nowMs = service.clock();
  const id = invoiceIdOf(place);
  insertInvoice(database, {
    ...place,
    ...order.fiat,
    id,
    contentHash: contentHashOf(order),
    currencies: JSON.stringify(currencies),
    quoteMinutes: order.quoteMinutes,
    tolerancePercent: order.tolerancePercent,
    payToken: newPayToken(service),
    returnUrl,
    metadata: order.metadata || (renewed?.metadata ?? ""),
    createdAt: nowMs,
    expiresAt: nowMs + (order.expiresInMinutes ?? choosingMinutesUsual) * minuteMs,
  });
  return readInvoice(database, id) as InvoiceRow;
}

/**
 * Makes the invoice, or finds the one that this order made before. Answers 400 if nothing was made,
 * and 409 `order_id_reused` if the orderId has other content or is a deposit's. Harmless to call
 * twice.
 */
export async function requestInvoice(service: Service, request: InvoiceRequest): Promise<Answer> {
  const made = await request.write((database) => makeInvoice(service, request, database));
  return isAnswer(made) ? made : dataAnswer(invoiceBodyOf(service, made));
}
