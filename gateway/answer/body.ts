/**
 * Reads the bodies of the POST operations: strict JSON, only the fields of the interface, every
 * value a string. The result is canonical, so that the same order compares equal however it was
 * written. Sources: the interface; docs/api.md, Orders.
 */

import { AgentError } from "../../base/fault.ts";
import { type JsonLimits, type JsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import { decimalMax, formatAmount, parseAmount } from "../../protocol/amount.ts";
import { currencyPattern, orderIdPattern, transactionIdPattern } from "../../protocol/fields.ts";
import { type FiatSum, fiatDecimal, fiats } from "../config/fiat.ts";
import { originOf } from "../config/origin.ts";
import { type Answer, isAnswer, problemAnswer } from "./answer.ts";
import type { ObjectSchema } from "./schema.ts";

/**
 * An order: `amount` without needless zeros, `address` in its checksummed form if it is an address,
 * else as it was sent.
 */
export interface Order {
  readonly currency: string;
  readonly amount: string; // "" if `fiat` has the amount
  readonly fiat: FiatSum | null;
  readonly orderId: string;
  readonly address: string;
  readonly tag: string;
  readonly metadata: string; // a JSON object of texts in the form that is kept; "" none
  readonly returnUrl: string; // the address that the payment page leads back to; "" for none
  readonly renew: string; // the transactionId of the ended record to renew; "" for none
  readonly refundOf: string; // the transactionId of the deposit to pay back; "" for none
  readonly expiresInMinutes: number | null; // null: the configuration's lifetime
  readonly tolerancePercent: string; // canonical; "" the currency's tolerance
}

/** The forms of an operation's order. A form has no field that its schema does not have. */
export interface OrderForms {
  readonly byAmount: ObjectSchema;
  readonly byFiat: ObjectSchema | null; // null: no fiat amount may replace the amount
}

/** The lifetime and the tolerance that a request may ask for. */
export const lifetimeAndToleranceLimits = {
  minutesMin: 5,
  minutesMax: 10_080,
  percentMax: 10,
  percentDecimal: 2,
} as const;

const amountAhead = /[{,]\s*"(amount|fiatAmount)"\s*:\s*$/;

/**
 * An amount sent as a number gets the same answer, whether or not the parser accepts that number.
 */
function unreadable(body: Uint8Array, { code, context }: AgentError): Answer {
  const ahead =
    code === "JSON_NUMBER" ? Buffer.from(body).toString("utf8").slice(0, Number(context.at)) : "";
  const [, field] = amountAhead.exec(ahead) ?? [];
  return field === undefined
    ? problemAnswer("json_invalid", { reason: code })
    : problemAnswer("amount_format", { field });
}

function parseObject(
  body: Uint8Array,
  limits: Partial<JsonLimits> = {},
): { readonly object: JsonObject } | { readonly answer: Answer } {
  let value: JsonValue;
  try {
    value = parseJson(body, limits);
  } catch (error) {
    if (error instanceof AgentError) return { answer: unreadable(body, error) };
    throw error;
  }
  return isObject(value) ? { object: value } : { answer: noObject };
}

/** The fields that an object of this schema may have. */
const knownFields = ({ properties }: ObjectSchema): readonly string[] =>
  Object.keys(properties).filter((name) => properties[name] !== false);

/** The fields that an object of this schema may leave out, or never has. */
const optionalFields = ({ properties, required }: ObjectSchema): readonly string[] =>
  Object.keys(properties).filter((name) => !required.includes(name));

/** The answer for the first unknown field, else for the first missing one; null if all fit. */
function fieldsProblem(object: JsonObject, schema: ObjectSchema): Answer | null {
  const known = knownFields(schema);
  const unknown = Object.keys(object).find((name) => !known.includes(name));
  if (unknown !== undefined) return problemAnswer("field_unknown", { field: printable(unknown) });
  const missing = schema.required.find((name) => object[name] === undefined);
  return missing === undefined ? null : problemAnswer("field_missing", { field: missing });
}

/**
 * Reads an object with the fields of this schema and no other. An Answer (400) names the first
 * error. The values are checked later.
 */
export function readObject(
  body: Uint8Array,
  schema: ObjectSchema,
  limits: Partial<JsonLimits> = {},
): JsonObject | Answer {
  const parsed = parseObject(body, limits);
  if ("answer" in parsed) return parsed.answer;
  const object = withoutEmpty(parsed.object, optionalFields(schema));
  return fieldsProblem(object, schema) ?? object;
}

/**
 * The object without those of these fields that are null: many a client writes so a value that it
 * does not have.
 */
function withoutEmpty(object: JsonObject, optional: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([name, value]) => value !== null || !optional.includes(name)),
  );
}

const noObject = problemAnswer("json_invalid", { reason: "JSON_SHAPE" });

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Data that a shop may keep with an order: short texts by name, which the gateway does not read.
 */
export const metadataLimits = {
  keysMax: 16,
  keyPattern: /^[A-Za-z0-9_.-]{1,40}$/,
  valueCharactersMax: 256,
  bytesMax: 2048,
};

/** The metadata in the form that is kept; null if it has another form or is too large. */
function metadataOf(value: JsonValue | undefined): string | null {
  // PHP writes an empty map as an empty list.
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return "";
  if (!isObject(value)) return null;
  const { keysMax, keyPattern, valueCharactersMax, bytesMax } = metadataLimits;
  const entries = Object.entries(value);
  const isGood = ([key, text]: readonly [string, JsonValue]): boolean =>
    keyPattern.test(key) && typeof text === "string" && text.length <= valueCharactersMax;
  if (entries.length > keysMax || !entries.every(isGood)) return null;
  const kept = entries.length === 0 ? "" : JSON.stringify(value);
  return Buffer.byteLength(kept) <= bytesMax ? kept : null;
}

const returnUrlCharactersMax = 1024;

/**
 * An address of a site, as the browser spells it; null for any other text. Its origin is compared
 * with the merchant's list later.
 */
function returnUrlOf(value: JsonValue | undefined): string | null {
  if (value === undefined) return "";
  if (typeof value !== "string" || value.length > returnUrlCharactersMax || !URL.canParse(value))
    return null;
  const { href, username, password } = new URL(value);
  return originOf(href) === null ||
    username !== "" ||
    password !== "" ||
    href.length > returnUrlCharactersMax
    ? null
    : href;
}

const printable = (name: string): string => name.slice(0, 64).replace(/[^\x21-\x7e]/g, "?");

const asksFiat = (object: JsonObject): boolean =>
  object.fiatCurrency !== undefined || object.fiatAmount !== undefined;

/**
 * Reads an order. An Answer (400) names the first error. Rules of the currency are checked later.
 */
export function readOrder(body: Uint8Array, forms: OrderForms): Order | Answer {
  const parsed = parseObject(body);
  return "answer" in parsed ? parsed.answer : readFields(parsed.object, forms);
}

/** The canonical text of an amount, or the answer that names its field. */
function readAmount(
  object: JsonObject,
  field: "amount" | "fiatAmount",
  decimal: number,
): string | Answer {
  const amount = object[field];
  if (typeof amount !== "string") return problemAnswer("amount_format", { field });
  const parsed = parseAmount(amount, decimal);
  if (!parsed.ok)
    return problemAnswer(
      parsed.code === "AMOUNT_PRECISION" ? "amount_precision" : "amount_format",
      {
        field,
      },
    );
  return formatAmount(parsed.units, decimal);
}

/** The amount of an order: in the currency, or in fiat money. */
function readSum(object: JsonObject, isFiat: boolean): Pick<Order, "amount" | "fiat"> | Answer {
  if (!isFiat) {
    const amount = readAmount(object, "amount", decimalMax);
    return isAnswer(amount) ? amount : { amount, fiat: null };
  }
  const fiatCurrency = fiats.find((one) => one === object.fiatCurrency);
  if (fiatCurrency === undefined)
    return problemAnswer("fiat_currency_unknown", { field: "fiatCurrency" });
  const fiatAmount = readAmount(object, "fiatAmount", fiatDecimal);
  return isAnswer(fiatAmount) ? fiatAmount : { amount: "", fiat: { fiatCurrency, fiatAmount } };
}

/** Largest number of orders in one call. */
export const ordersMax = 100;

/** Largest body with many orders, in bytes. */
export const ordersBytesMax = 262_144;

/** One of many orders. `orderId` is the text that was sent, if it was a text. */
export interface OrderInBatch {
  readonly orderId: string;
  readonly order: Order | Answer;
}

/**
 * Reads a list of orders from the field `orders` of this schema. Returns an Answer (400) if the
 * body has another form. Otherwise each order is read alone, so that an invalid order does not
 * affect the others.
 */
export function readOrders(
  body: Uint8Array,
  schema: ObjectSchema,
  forms: OrderForms,
): readonly OrderInBatch[] | Answer {
  const read = readObject(body, schema, { bytesMax: ordersBytesMax });
  if (isAnswer(read)) return read;
  const { orders } = read;
  if (!Array.isArray(orders) || orders.length < 1 || orders.length > ordersMax)
    return problemAnswer("orders_count", { field: "orders" });
  return orders.map((one: JsonValue) => {
    if (!isObject(one)) return { orderId: "", order: noObject };
    return {
      orderId: typeof one.orderId === "string" ? one.orderId : "",
      order: readFields(one, forms),
    };
  });
}

/** The terms of a deposit request that the shop may set, or the answer that names the wrong one. */
function readTerms({
  expiresInMinutes,
  tolerancePercent,
}: JsonObject): Pick<Order, "expiresInMinutes" | "tolerancePercent"> | Answer {
  const { minutesMin, minutesMax, percentMax, percentDecimal } = lifetimeAndToleranceLimits;
  const isLifetime = Number.isInteger(expiresInMinutes) && Number(expiresInMinutes) >= minutesMin;
  if (
    expiresInMinutes !== undefined &&
    (typeof expiresInMinutes !== "number" || !isLifetime || expiresInMinutes > minutesMax)
  )
    return problemAnswer("lifetime_invalid", { field: "expiresInMinutes" });
  const minutes = expiresInMinutes ?? null;
  if (tolerancePercent === undefined) return { expiresInMinutes: minutes, tolerancePercent: "" };
  if (tolerancePercent === "0") return { expiresInMinutes: minutes, tolerancePercent };
  const percent =
    typeof tolerancePercent === "string" ? parseAmount(tolerancePercent, percentDecimal) : null;
  if (percent?.ok !== true || percent.units > BigInt(percentMax) * 10n ** BigInt(percentDecimal))
    return problemAnswer("tolerance_invalid", { field: "tolerancePercent" });
  return {
    expiresInMinutes: minutes,
    tolerancePercent: formatAmount(percent.units, percentDecimal),
  };
}

/** Fields that null leaves out of every order, also of one that never has them. */
const leftOutByNull = [
  ...["address", "tag", "metadata", "returnUrl", "renew", "refundOf"],
  ...["expiresInMinutes", "tolerancePercent", "fiatCurrency", "fiatAmount"],
];

function readFields(sent: JsonObject, { byAmount, byFiat }: OrderForms): Order | Answer {
  const given = withoutEmpty(sent, leftOutByNull);
  const isFiat = byFiat !== null && asksFiat(given);
  const form = isFiat ? byFiat : byAmount;
  const object = withoutEmpty(given, optionalFields(form));
  if (isFiat && object.amount !== undefined)
    return problemAnswer("amount_twice", { field: "amount" });
  const reason = fieldsProblem(object, form);
  if (reason !== null) return reason;
  const { currency, address = "", tag = "" } = object;
  if (typeof currency !== "string" || !currencyPattern.test(currency))
    return problemAnswer("currency_unknown", { field: "currency" });
  const sum = readSum(object, isFiat);
  if (isAnswer(sum)) return sum;
  const orderId = readOrderId(object);
  if (isAnswer(orderId)) return orderId;
  if (typeof address !== "string" || (address === "" && form.required.includes("address"))) {
    return problemAnswer("address_invalid", { field: "address" });
  }
  if (typeof tag !== "string") return problemAnswer("tag_not_supported", { field: "tag" });
  const own = readShopFields(object);
  if (isAnswer(own)) return own;
  const { refundOf = "" } = object;
  if (
    typeof refundOf !== "string" ||
    (object.refundOf !== undefined && !transactionIdPattern.test(refundOf))
  )
    return problemAnswer("refund_invalid", { field: "refundOf" });
  return { ...own, currency, ...sum, address, tag, refundOf };
}

function readOrderId({ orderId }: JsonObject): string | Answer {
  return typeof orderId === "string" && orderIdPattern.test(orderId)
    ? orderId
    : problemAnswer("order_id_invalid", { field: "orderId" });
}

type ShopFields = Pick<
  Order,
  "orderId" | "metadata" | "renew" | "returnUrl" | "expiresInMinutes" | "tolerancePercent"
>;

/** The fields that an order of any kind may have, or the answer that names the first wrong one. */
function readShopFields(object: JsonObject): ShopFields | Answer {
  const { renew = "" } = object;
  const orderId = readOrderId(object);
  if (isAnswer(orderId)) return orderId;
  const metadata = metadataOf(object.metadata);
  if (metadata === null) return problemAnswer("metadata_invalid", { field: "metadata" });
  if (
    typeof renew !== "string" ||
    (object.renew !== undefined && !transactionIdPattern.test(renew))
  )
    return problemAnswer("renew_invalid", { field: "renew" });
  const returnUrl = returnUrlOf(object.returnUrl);
  if (returnUrl === null) return problemAnswer("return_url_invalid", { field: "returnUrl" });
  const terms = readTerms(object);
  return isAnswer(terms) ? terms : { orderId, metadata, renew, returnUrl, ...terms };
}

/** A sum of money that a shop asks for in one of several currencies. */
export interface InvoiceOrder
  extends Pick<
    Order,
    "orderId" | "metadata" | "returnUrl" | "renew" | "expiresInMinutes" | "tolerancePercent"
  > {
  readonly fiat: FiatSum;
  readonly currencies: readonly string[]; // each once; empty: all that the merchant can receive
  readonly quoteMinutes: number;
}

/** How long a price of an invoice may hold, and how many currencies it may offer. */
export const invoiceLimits = {
  quoteMinutesMin: 10,
  quoteMinutesMax: 120,
  quoteMinutesUsual: 20,
  currenciesMax: 20,
} as const;

/** The currencies of an invoice; null for another list than of up to 20 ids, each once. */
function currenciesOf(value: JsonValue | undefined): readonly string[] | null {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return null;
  const ids = value.filter(
    (one: JsonValue): one is string => typeof one === "string" && currencyPattern.test(one),
  );
  const isGood =
    ids.length === value.length &&
    ids.length >= 1 &&
    ids.length <= invoiceLimits.currenciesMax &&
    new Set(ids).size === ids.length;
  return isGood ? ids : null;
}

/** Reads the order of an invoice. An Answer (400) names the first error. */
export function readInvoiceOrder(body: Uint8Array, schema: ObjectSchema): InvoiceOrder | Answer {
  const object = readObject(body, schema);
  if (isAnswer(object)) return object;
  const sum = readSum(object, true);
  if (isAnswer(sum)) return sum;
  const rest = readShopFields(object);
  if (isAnswer(rest)) return rest;
  const currencies = currenciesOf(object.currencies);
  if (currencies === null) return problemAnswer("currencies_invalid", { field: "currencies" });
  const { quoteMinutes = invoiceLimits.quoteMinutesUsual } = object;
  const isQuote =
    typeof quoteMinutes === "number" &&
    Number.isInteger(quoteMinutes) &&
    quoteMinutes >= invoiceLimits.quoteMinutesMin &&
    quoteMinutes <= invoiceLimits.quoteMinutesMax;
  if (!isQuote) return problemAnswer("quote_minutes_invalid", { field: "quoteMinutes" });
  return { ...rest, fiat: sum.fiat as FiatSum, currencies, quoteMinutes };
}
