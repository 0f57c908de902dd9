/**
 * The operations of invoices: a sum of money that a payer pays in one of several currencies.
 * Source: docs/api.md, Invoices.
 */
import { parseTimestampUtc } from "../../base/timestamp.ts";
import { currencyPattern, orderIdPattern, transactionIdPattern } from "../../protocol/fields.ts";
import { type Answer, dataAnswer, isAnswer, problemAnswer } from "../answer/answer.ts";
import {
  type InvoiceOrder,
  invoiceLimits,
  lifetimeAndToleranceLimits,
  readInvoiceOrder,
  readObject,
} from "../answer/body.ts";
import {
  decimalOrEmptySchema,
  decimalSchema,
  flagSchema,
  type Json,
  type NamedSchema,
  type ObjectSchema,
  objectSchema,
  oneOfNumbersSchema,
  schemaReference,
  textSchema,
  timeSchema,
} from "../answer/schema.ts";
import { type CancelRequestOrder, cancelRequest } from "../invoices/cancel.ts";
import { requestChoice } from "../invoices/choices.ts";
import { requestInvoice } from "../invoices/orders.ts";
import { invoiceBodyOf } from "../invoices/view.ts";
import type { Service } from "../service.ts";
import { type InvoiceFilter, listInvoices, readInvoiceOf } from "../store/invoices.ts";
import {
  badQuery,
  defineGet,
  definePost,
  isLimit,
  limitParameter,
  type Operation,
  type OrderBody,
  type Query,
} from "./operation.ts";
import { sharedFields } from "./records.ts";
import { depositTerms } from "./terms.ts";

const { currencyId, orderId, metadata, fiatCurrency, fiatAmount, transactionId } = sharedFields;
const { network, tag, amount, paymentUri } = sharedFields;

const invoiceId = textSchema("Identifier of the invoice.", {
  pattern: transactionIdPattern.source,
  examples: ["b3c1a3f09e5d4c2b8f7e6a5d4c3b2a19"],
});
const status = oneOfNumbersSchema(
  "0 Pending, 1 Completed, 2 Failed. An invoice that failed is completed if the shop accepts a late or short choice of it.",
  [0, 1, 2],
);
const { quoteMinutesMin, quoteMinutesMax, quoteMinutesUsual, currenciesMax } = invoiceLimits;
const currencies: Json = {
  type: "array",
  description: "The currencies that the payer chooses from.",
  items: currencyId,
  minItems: 1,
  maxItems: currenciesMax,
};

const invoiceOrder: NamedSchema<ObjectSchema> = {
  name: "InvoiceOrder",
  schema: objectSchema(
    "A sum of money that may be paid in one of several currencies.",
    {
      orderId,
      fiatCurrency,
      fiatAmount,
      currencies: {
        ...currencies,
        description: `The currencies that the payer chooses from, each once; without it all that the merchant can receive, at most ${currenciesMax}.`,
      },
      quoteMinutes: {
        type: "integer",
        description: `How long a price holds from the choice on; ${quoteMinutesUsual} without it.`,
        minimum: quoteMinutesMin,
        maximum: quoteMinutesMax,
        examples: [quoteMinutesUsual],
      },
      ...depositTerms,
      expiresInMinutes: {
        ...depositTerms.expiresInMinutes,
        description: "How long the payer may choose; 120 without it.",
      },
      tolerancePercent: {
        ...depositTerms.tolerancePercent,
        description: `So much of \`fiatAmount\` may be missing, from 0 to ${lifetimeAndToleranceLimits.percentMax} per cent with at most two decimals; the currency's own without it.`,
      },
      metadata,
      renew: textSchema(
        "The `invoice` of an ended one with this orderId and content, which this one follows.",
        { pattern: transactionIdPattern.source },
      ),
    },
    {
      optional: [
        ...["currencies", "quoteMinutes", "metadata", "renew", ...Object.keys(depositTerms)],
      ],
      isClosed: true,
    },
  ),
};

const quote = objectSchema("The newest price of a choice.", {
  number: { type: "integer", description: "1 for the first, then 2.", minimum: 1 },
  price: decimalSchema("The price of one whole unit of the currency.", "42"),
  until: timeSchema("Until when it holds."),
});

const choice: NamedSchema<ObjectSchema> = {
  name: "Choice",
  schema: objectSchema(
    "A currency that was chosen for an invoice: a deposit of its own.",
    {
      invoice: invoiceId,
      currency: currencyId,
      network,
      transactionId,
      address: textSchema("The address to pay to.", {
        examples: ["0x9858EfFD232B4033E47d90003D41EC34EcaEda94"],
      }),
      tag,
      amount,
      amountReceived: decimalOrEmptySchema(
        "Everything final on the address. Empty once the currency is no longer configured.",
        "0",
      ),
      status: oneOfNumbersSchema("0 Pending, 1 Completed, 2 Failed.", [0, 1, 2]),
      stage: textSchema("The step within its status; docs/api.md lists the stages."),
      code: textSchema("Why it failed; empty without a reason."),
      accepted: flagSchema("True where the shop or the operator took it as paid after its end."),
      expiresAt: timeSchema("Until when it can be paid."),
      paymentUri,
      paymentUrl: textSchema("The page for the payer of this choice."),
      quote,
    },
    { optional: ["quote", "accepted"] },
  ),
};

const invoice: NamedSchema<ObjectSchema> = {
  name: "Invoice",
  schema: objectSchema(
    "A sum of money that may be paid in one of several currencies.",
    {
      invoice: invoiceId,
      orderId,
      status,
      stage: textSchema("The step within its status.", {
        enum: [
          ...["choosing", "waiting", "unconfirmed", "seen", "partial", "confirming"],
          ...["completed", "expired", "cancelled", "revoked"],
        ],
      }),
      fiatCurrency,
      fiatAmount,
      createdAt: timeSchema("When it was made."),
      changedAt: timeSchema("When it, or a choice of it, changed last."),
      expiresAt: timeSchema("Until when the payer can choose."),
      paymentUrl: textSchema("The page where the payer chooses."),
      currencies,
      paidWith: textSchema("The currency that completed it.", { examples: ["usdt"] }),
      transactionId: textSchema("The deposit that completed it."),
      accepted: flagSchema(
        "True where the shop or the operator took that deposit as paid after its end; it may be short. Absent otherwise.",
      ),
      exceptions: {
        type: "array",
        description:
          "Things for a person to look at: money that came late, a part of the sum, more than the sum, money in a second currency of the invoice, and another currency than an address was given for.",
        items: textSchema("One of them.", {
          enum: ["late", "short", "over", "surplus", "otherCoin"],
        }),
      },
      choices: {
        type: "array",
        description: "Those that were made, in their order.",
        items: schemaReference(choice),
      },
      metadata,
      renews: textSchema("The ended invoice with the same orderId that this one follows."),
    },
    { optional: ["paidWith", "transactionId", "accepted", "renews"] },
  ),
};

export const invoiceRecord = invoice;

const choiceExample = {
  invoice: "b3c1a3f09e5d4c2b8f7e6a5d4c3b2a19",
  currency: "usdt",
  network: "eip155:1",
  transactionId: "4be38f3ee1a16e4cd1f1a3a8b4a0d9c2",
  address: "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
  tag: "",
  amount: "29.759524",
  amountReceived: "0",
  status: 0,
  stage: "waiting",
  code: "",
  expiresAt: "2026-01-02T05:04:05.678Z",
  paymentUri:
    "ethereum:0xdAC17F958D2ee523a2206206994597C13D831ec7@1/transfer?address=0x9858EfFD232B4033E47d90003D41EC34EcaEda94&uint256=29759524",
  paymentUrl: "https://pay.example.com/pay/9yGZ1kQ0m2n3o4p5q6r7sA",
  quote: { number: 1, price: "42", until: "2026-01-02T03:24:05.678Z" },
};

export const invoiceExample = {
  invoice: "b3c1a3f09e5d4c2b8f7e6a5d4c3b2a19",
  orderId: "in-1043",
  status: 0,
  stage: "waiting",
  fiatCurrency: "TRY",
  fiatAmount: "1249.9",
  createdAt: "2026-01-02T03:04:05.678Z",
  changedAt: "2026-01-02T03:04:05.678Z",
  expiresAt: "2026-01-02T05:04:05.678Z",
  paymentUrl: "https://pay.example.com/pay/1aGZ1kQ0m2n3o4p5q6r7sB",
  currencies: ["usdt", "eth"],
  exceptions: [],
  choices: [choiceExample],
  metadata: {},
};

const choiceOrder: NamedSchema<ObjectSchema> = {
  name: "ChoiceOrder",
  schema: objectSchema(
    "The currency of an invoice.",
    { invoice: invoiceId, currency: currencyId },
    { isClosed: true },
  ),
};

/** The body of a choice. A text of another form than an id names no invoice: 404. */
const choiceBody = {
  schema: choiceOrder,
  example: { invoice: invoiceExample.invoice, currency: "usdt" },
  read: (body): { readonly invoice: string; readonly currency: string } | Answer => {
    const read = readObject(body, choiceOrder.schema);
    if (isAnswer(read)) return read;
    const { invoice: id, currency } = read;
    if (typeof id !== "string" || !transactionIdPattern.test(id))
      return problemAnswer("invoice_not_found");
    if (typeof currency !== "string" || !currencyPattern.test(currency))
      return problemAnswer("currency_unknown", { field: "currency" });
    return { invoice: id, currency };
  },
} as const satisfies OrderBody<{ readonly invoice: string; readonly currency: string }>;

/** Each form refuses the other's field by name, as those of a deposit request do. */
const cancelInvoiceOrder: NamedSchema<ObjectSchema> = {
  name: "CancelInvoiceOrder",
  schema: objectSchema(
    "An open invoice that nobody has paid.",
    { invoice: invoiceId, transactionId: false },
    { optional: ["transactionId"], isClosed: true },
  ),
};
const cancelDepositOrder: NamedSchema<ObjectSchema> = {
  name: "CancelDepositOrder",
  schema: objectSchema(
    "An open deposit that nobody has paid.",
    { transactionId, invoice: false },
    { optional: ["invoice"], isClosed: true },
  ),
};
/** Both forms together, as the body is read. */
const cancelFields = objectSchema(
  "An open invoice, or an open deposit.",
  { invoice: invoiceId, transactionId },
  { optional: ["invoice", "transactionId"], isClosed: true },
);

type CancelSubject = CancelRequestOrder["subject"];

const cancelBody = {
  schema: {
    name: "CancelRequestOrder",
    schema: {
      description: "An open invoice, or an open deposit, that nobody has paid: one of the two.",
      oneOf: [schemaReference(cancelInvoiceOrder), schemaReference(cancelDepositOrder)],
    },
  },
  example: { invoice: invoiceExample.invoice },
  read: (body): CancelSubject | Answer => {
    const read = readObject(body, cancelFields);
    if (isAnswer(read)) return read;
    const { invoice: id, transactionId: deposit } = read;
    if (id === undefined && deposit === undefined)
      return problemAnswer("field_missing", { field: "invoice" });
    if (id !== undefined && deposit !== undefined)
      return problemAnswer("field_unknown", { field: "transactionId" });
    if (id !== undefined)
      return typeof id === "string" && transactionIdPattern.test(id)
        ? { invoice: id }
        : problemAnswer("invoice_not_found");
    return typeof deposit === "string" && transactionIdPattern.test(deposit)
      ? { transactionId: deposit }
      : problemAnswer("transaction_not_found");
  },
} as const satisfies OrderBody<CancelSubject>;

const cancelResult: NamedSchema = {
  name: "CancelRequestResult",
  schema: objectSchema(
    "The request that was cancelled.",
    { invoice: invoiceId, transactionId, cancelled: flagSchema("Always true.") },
    { optional: ["invoice", "transactionId"] },
  ),
};

const invoiceList: NamedSchema = {
  name: "Invoices",
  schema: objectSchema("Invoices of the merchant.", {
    invoices: {
      type: "array",
      description: "At most `limit`.",
      items: schemaReference(invoice),
    },
    next: textSchema("The `cursor` of the next page; empty on the last one."),
  }),
};

const limitUsual = 100;
const cursorPattern = /^(\d{1,16})\.([0-9a-f]{32})$/;

function readList(service: Service, merchant: string, query: Query): Answer {
  const filter: { -readonly [K in keyof InvoiceFilter]: InvoiceFilter[K] } = { merchant };
  const { status: of, orderId: order, changedFrom, cursor, limit = String(limitUsual) } = query;
  if (!isLimit(limit)) return badQuery("limit");
  if (of !== undefined) {
    if (typeof of !== "string" || !/^[012]$/.test(of)) return badQuery("status");
    filter.status = Number(of);
  }
  if (order !== undefined) {
    if (typeof order !== "string" || !orderIdPattern.test(order)) return badQuery("orderId");
    filter.orderId = order;
  }
  if (changedFrom !== undefined) {
    const at = typeof changedFrom === "string" ? parseTimestampUtc(changedFrom) : null;
    if (at === null) return badQuery("changedFrom");
    filter.changedFrom = at;
  }
  if (cursor !== undefined) {
    const text = typeof cursor === "string" ? cursor.slice(0, 128) : "";
    const [, at, id] = cursorPattern.exec(Buffer.from(text, "base64url").toString("latin1")) ?? [];
    if (at === undefined || id === undefined) return badQuery("cursor");
    filter.after = { at: Number(at), id };
  }
  const most = Number(limit);
  const rows = listInvoices(service.store.database, filter, most + 1);
  const page = rows.slice(0, most);
  const last = page.at(-1);
  const place = last === undefined || rows.length <= most ? null : last;
  const at = filter.changedFrom === undefined ? place?.createdAt : place?.changedAt;
  const next =
    place === null ? "" : Buffer.from(`${at}.${place.id}`, "latin1").toString("base64url");
  return dataAnswer({ invoices: page.map((row) => invoiceBodyOf(service, row)), next });
}

export const invoiceOperations: readonly Operation[] = [
  definePost({
    id: "createInvoice",
    scope: "deposit",
    name: { en: "Invoice", tr: "Ödeme talebi" },
    description:
      "Asks for a sum of money that the payer may pay in one of several currencies. It makes no address and no price: the payer's choice " +
      "does, on the page `paymentUrl` or by `chooseCurrency`. The same order sent again gives the same invoice at any price.",
    order: {
      schema: invoiceOrder,
      example: { orderId: "in-1043", fiatCurrency: "TRY", fiatAmount: "1249.90" },
      read: (body): InvoiceOrder | Answer => readInvoiceOrder(body, invoiceOrder.schema),
    },
    result: { schema: schemaReference(invoice), example: { ...invoiceExample, choices: [] } },
    codes: [
      ...(["order_id_invalid", "order_id_reused", "metadata_invalid", "renew_invalid"] as const),
      ...([
        "not_renewable",
        "return_url_invalid",
        "lifetime_invalid",
        "tolerance_invalid",
      ] as const),
      ...(["fiat_currency_unknown", "amount_format", "amount_precision"] as const),
      ...(["currencies_invalid", "quote_minutes_invalid", "deposits_not_ready"] as const),
    ],
    answer: (service, { caller, order, write }) =>
      requestInvoice(service, { merchant: caller.merchant.id, order, write }),
  }),
  definePost({
    id: "chooseCurrency",
    scope: "deposit",
    name: { en: "Choose a currency", tr: "Para birimi seç" },
    description:
      "Chooses a currency of an invoice: an address of its own, and a price that holds for `quoteMinutes`. A second choice of the same " +
      "currency answers with the same address; once the price is over, with the price of now.",
    order: choiceBody,
    result: { schema: schemaReference(choice), example: choiceExample },
    codes: [
      ...(["invoice_not_found", "invoice_ended", "currency_unknown", "currency_disabled"] as const),
      ...(["currency_not_payable", "currency_unpriced", "price_stale"] as const),
      ...(["amount_below_minimum", "deposits_not_ready"] as const),
    ],
    answer: (service, { caller, order, write }) =>
      requestChoice(service, { ...order, merchant: caller.merchant.id, write }),
  }),
  definePost({
    id: "cancelRequest",
    scope: "deposit",
    name: { en: "Cancel a request", tr: "İsteği iptal et" },
    description:
      "Ends an open invoice, or an open deposit, for which nothing was paid or seen. Its page then says that nothing is to be sent. The same " +
      "call sent again answers the same.",
    order: cancelBody,
    result: {
      schema: schemaReference(cancelResult),
      example: { invoice: invoiceExample.invoice, cancelled: true },
    },
    codes: ["invoice_not_found", "transaction_not_found", "not_cancellable"],
    answer: (service, { caller, order: subject, write }) =>
      cancelRequest(service, {
        merchant: caller.merchant.id,
        keyId: caller.key.id,
        subject,
        write,
      }),
  }),
  defineGet({
    id: "invoice",
    scope: "read",
    name: { en: "One invoice", tr: "Tek ödeme talebi" },
    description: "An invoice of the caller's merchant, with its choices.",
    path: { invoice: invoiceId },
    result: { schema: schemaReference(invoice), example: invoiceExample },
    codes: ["invoice_not_found"],
    answer: (service, { caller, path }) => {
      const row = transactionIdPattern.test(path.invoice)
        ? readInvoiceOf(service.store.database, { id: path.invoice, merchant: caller.merchant.id })
        : undefined;
      return row === undefined
        ? problemAnswer("invoice_not_found")
        : dataAnswer(invoiceBodyOf(service, row));
    },
  }),
  defineGet({
    id: "invoices",
    scope: "read",
    name: { en: "All invoices", tr: "Bütün ödeme talepleri" },
    description: "Newest first; with `changedFrom` the earliest change first. Page by page.",
    query: {
      status: { schema: { type: "integer", enum: [0, 1, 2] } },
      orderId: { schema: textSchema("The caller's own reference.", { examples: ["in-1042"] }) },
      changedFrom: {
        schema: textSchema("Changed then or later: ISO 8601 in UTC.", {
          examples: ["2026-01-02T03:04:05.678Z"],
        }),
      },
      cursor: { schema: textSchema("The `next` of the page before.") },
      limit: limitParameter(`Most invoices of a page; ${limitUsual} without it.`),
    },
    result: {
      schema: schemaReference(invoiceList),
      example: { invoices: [invoiceExample], next: "" },
    },
    answer: (service, { caller, query }) => readList(service, caller.merchant.id, query),
  }),
];
