/**
 * Invoices: a sum of money that a shop asks for, in one of several currencies. Each currency that a
 * payer chooses is a deposit, the choice. Triggers complete an invoice with the first choice that
 * is paid, and end the others (schema.ts).
 */
import type { DepositRow, ServiceReason, TransactionRow } from "./rows.ts";
import type { Database, SqlScalar } from "./store.ts";
import { depositsSql, narrowTransactionRow } from "./transaction-rows.ts";

/** Why an invoice ended without being paid; "" for one that is open or paid. */
export type InvoiceCode = "" | "invoice_expired" | "invoice_cancelled" | "invoice_revoked";

export interface InvoiceRow {
  readonly id: string;
  readonly merchant: string;
  readonly orderId: string;
  readonly renews: string; // the ended invoice of the same order that it follows; "" none
  readonly contentHash: string; // of what was asked for
  readonly fiatCurrency: string;
  readonly fiatAmount: string; // canonical
  readonly currencies: string; // a JSON list of currency ids
  readonly quoteMinutes: number;
  readonly tolerancePercent: string; // canonical; "" for none
  readonly payToken: string; // in the address of its page
  readonly returnUrl: string; // "" nowhere
  readonly metadata: string; // a JSON object; "" none
  readonly status: 0 | 1 | 2;
  readonly code: InvoiceCode;
  readonly completedBy: string; // the id of the choice that paid it; "" none
  readonly createdAt: number;
  readonly changedAt: number;
  readonly expiresAt: number; // the end of choosing
}

/** The end of an invoice: completed, expired, cancelled or revoked; "" while it is open. */
export function endNameOf({ status, code }: Pick<InvoiceRow, "status" | "code">): string {
  if (status === 1) return "completed";
  return code.replace("invoice_", "");
}

/** The ids of the currencies that an invoice offers. */
export const listCurrenciesOf = ({
  currencies,
}: Pick<InvoiceRow, "currencies">): readonly string[] =>
  JSON.parse(currencies) as readonly string[];

/** A new invoice: open, nothing chosen. */
export type NewInvoice = Omit<InvoiceRow, "status" | "code" | "completedBy" | "changedAt">;

export const invoiceFieldsSql = `i.id, i.merchant, i.orderId, i.renews, i.contentHash, i.fiatCurrency, i.fiatAmount, i.currencies,
  i.quoteMinutes, coalesce(i.tolerancePercent, '') AS tolerancePercent, i.payToken, coalesce(i.returnUrl, '') AS returnUrl,
  coalesce(i.metadata, '') AS metadata, i.status, coalesce(i.code, '') AS code, coalesce(i.completedBy, '') AS completedBy,
  i.createdAt, i.changedAt, i.expiresAt`;

const invoicesSql = `SELECT ${invoiceFieldsSql} FROM invoices i`;

/** Must not be called twice, because id and order are the table's keys. */
export function insertInvoice(database: Database, row: NewInvoice): void {
  const { id, merchant, orderId, renews, contentHash, fiatCurrency, fiatAmount } = row;
  const { currencies, quoteMinutes, tolerancePercent, payToken, returnUrl, metadata } = row;
  database.run(
    `INSERT INTO invoices (id, merchant, orderId, renews, contentHash, fiatCurrency, fiatAmount, currencies, quoteMinutes,
       tolerancePercent, payToken, returnUrl, metadata, createdAt, changedAt, expiresAt)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, ''), ?, nullif(?, ''), nullif(?, ''), ?, ?, ?)`,
    ...[id, merchant, orderId, renews, contentHash, fiatCurrency, fiatAmount, currencies],
    ...[quoteMinutes, tolerancePercent, payToken, returnUrl, metadata],
    ...[row.createdAt, row.createdAt, row.expiresAt],
  );
}

export function readInvoice(database: Database, id: string): InvoiceRow | undefined {
  return database.get<InvoiceRow>(`${invoicesSql} WHERE i.id = ?`, id);
}

/** A merchant's own invoice; another merchant's is not found. */
export function readInvoiceOf(
  database: Database,
  { id, merchant }: Pick<InvoiceRow, "id" | "merchant">,
): InvoiceRow | undefined {
  return database.get<InvoiceRow>(`${invoicesSql} WHERE i.id = ? AND i.merchant = ?`, id, merchant);
}

/** The invoice that a page shows. */
export function invoiceOfPayToken(database: Database, token: string): InvoiceRow | undefined {
  return database.get<InvoiceRow>(`${invoicesSql} WHERE i.payToken = ?`, token);
}

/** The invoice of an order: its first, or the one that follows the ended invoice `renews`. */
export function invoiceOfOrder(
  database: Database,
  { merchant, orderId, renews }: Pick<InvoiceRow, "merchant" | "orderId" | "renews">,
): InvoiceRow | undefined {
  const sql = `${invoicesSql} WHERE i.merchant = ? AND i.orderId = ? AND i.renews = ?`;
  return database.get<InvoiceRow>(sql, merchant, orderId, renews);
}

/** The id of any invoice with this orderId; undefined for none. */
export function anyInvoiceWithOrderId(
  database: Database,
  { merchant, orderId }: Pick<InvoiceRow, "merchant" | "orderId">,
): string | undefined {
  const sql = "SELECT id FROM invoices WHERE merchant = ? AND orderId = ? LIMIT 1";
  return database.get<{ id: string }>(sql, merchant, orderId)?.id;
}

/** Selects a merchant's invoices for a list; a field that is left out does not filter. */
export interface InvoiceFilter {
  readonly merchant: string;
  readonly status?: number;
  readonly orderId?: string;
  readonly changedFrom?: number; // changed at this time or later; the list is then in the order of changes
  readonly after?: { readonly at: number; readonly id: string }; // the last one of the page before
}

/** At most `most` invoices, newest first; with `changedFrom` the earliest change first. */
export function listInvoices(
  database: Database,
  { merchant, status, orderId, changedFrom, after }: InvoiceFilter,
  most: number,
): readonly InvoiceRow[] {
  const conditions: string[] = ["i.merchant = ?"];
  const values: SqlScalar[] = [merchant];
  const add = (text: string, ...more: readonly SqlScalar[]): void => {
    conditions.push(text);
    values.push(...more);
  };
  if (status !== undefined) add("i.status = ?", status);
  if (orderId !== undefined) add("i.orderId = ?", orderId);
  const isByChange = changedFrom !== undefined;
  if (isByChange) add("i.changedAt >= ?", changedFrom);
  if (after !== undefined && isByChange)
    add("(i.changedAt > ? OR (i.changedAt = ? AND i.id > ?))", after.at, after.at, after.id);
  if (after !== undefined && !isByChange)
    add("(i.createdAt < ? OR (i.createdAt = ? AND i.id > ?))", after.at, after.at, after.id);
  const order = isByChange ? "i.changedAt, i.id" : "i.createdAt DESC, i.id";
  const sql = `${invoicesSql} WHERE ${conditions.join(" AND ")} ORDER BY ${order} LIMIT ?`;
  return database.all<InvoiceRow>(sql, ...values, most);
}

/** The choices of an invoice, in the order in which they were made. */
export function listChoices(database: Database, invoice: string): readonly DepositRow[] {
  const sql = `${depositsSql} WHERE d.invoice = ? ORDER BY d.number`;
  return database
    .all<TransactionRow>(sql, invoice)
    .map((row) => narrowTransactionRow(row) as DepositRow);
}

/** The choice of one currency; undefined while nobody chose it. */
export function choiceOf(
  database: Database,
  invoice: string,
  currency: string,
): DepositRow | undefined {
  const sql = `${depositsSql} WHERE d.invoice = ? AND d.currency = ?`;
  const row = database.get<TransactionRow>(sql, invoice, currency);
  return row === undefined ? undefined : (narrowTransactionRow(row) as DepositRow);
}

/** True if another choice paid the invoice of this one. */
export function isPaidByOtherChoice(
  database: Database,
  { id, invoice }: Pick<DepositRow, "id" | "invoice">,
): boolean {
  if (invoice === "") return false;
  const sql = "SELECT 1 FROM deposits WHERE invoice = ? AND status = 1 AND id <> ?";
  return database.get(sql, invoice, id) !== undefined;
}

/** True for a deposit that its shop cancelled, by itself or with its invoice. */
export function isCancelledByShop(
  database: Database,
  { code, invoice }: Pick<DepositRow, "code" | "invoice">,
): boolean {
  if (code === "deposit_cancelled") return true;
  return invoice !== "" && readInvoice(database, invoice)?.code === "invoice_cancelled";
}

/**
 * Ends an open invoice. Its choices end by themselves, or by `cancelDeposit`.
 * @returns false if it is not open
 */
export function endInvoice(
  database: Database,
  id: string,
  { code, at }: { readonly code: InvoiceCode; readonly at: number },
): boolean {
  const sql = "UPDATE invoices SET status = 2, code = ?, changedAt = ? WHERE id = ? AND status = 0";
  return database.run(sql, code, at, id).changes === 1;
}

/** Ids of open invoices whose choosing is over and that have no open choice, oldest end first. */
export function listEndedInvoiceIds(
  database: Database,
  nowMs: number,
  most: number,
): readonly string[] {
  const sql = `SELECT i.id FROM invoices i WHERE i.status = 0 AND i.expiresAt <= ?
    AND NOT EXISTS (SELECT 1 FROM deposits d WHERE d.invoice = i.id AND d.status = 0) ORDER BY i.expiresAt LIMIT ?`;
  return database.all<{ id: string }>(sql, nowMs, most).map(({ id }) => id);
}

/** Ends a deposit that nobody paid, by the shop's word. */
export function cancelDeposit(
  database: Database,
  id: string,
  { code, at }: { readonly code: ServiceReason; readonly at: number },
): boolean {
  const sql = `UPDATE deposits SET status = 2, stage = 'cancelled', code = ?, changedAt = ?, endBlock = NULL
    WHERE id = ? AND status = 0`;
  return database.run(sql, code, at, id).changes === 1;
}
