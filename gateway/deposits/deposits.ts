/**
 * createTransactionRequest: one new address for each request. The same orderId gives the same
 * address permanently. Sources: docs/api.md, Deposit request.
 */
import { createHash } from "node:crypto";
import { parseAmount } from "../../protocol/amount.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import { type Answer, dataAnswer, isAnswer, problemAnswer } from "../answer/answer.ts";
import { lifetimeAndToleranceLimits, type Order } from "../answer/body.ts";
import { paymentFieldsOf } from "../answer/record.ts";
import type { GatewayCurrency } from "../config/config.ts";
import { type MissingPrice, quoteAmount } from "../prices/quote.ts";
import type { Service } from "../service.ts";
import { anyInvoiceWithOrderId } from "../store/invoices.ts";
import type { DepositRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { insertDeposit, recordOfOrder } from "../store/transactions.ts";
import { checkAmount, checkCurrency } from "../withdrawals/checks.ts";
import { checkRenewal, renewalOf } from "../withdrawals/renewal.ts";
import { makeAtFreshAddress, type PlannedRecord } from "./fresh-address.ts";
import { mayReturnTo, newPayToken } from "./pay-page.ts";

export interface DepositRequest {
  readonly merchant: string;
  readonly order: Order; // as it was sent
  readonly write: <T>(fn: (database: Database) => T) => Promise<T>; // resolves when it is durable
}

const minuteMs = 60_000;
/**
 * Hash of the requested amount, not of its conversion: the same fiat amount is the same order at
 * any price.
 */
function contentHashOf({
  currency,
  amount,
  fiat,
  expiresInMinutes,
  tolerancePercent,
}: Order): string {
  const sum = fiat === null ? [currency, amount] : [currency, fiat.fiatCurrency, fiat.fiatAmount];
  const hasTerms = expiresInMinutes !== null || tolerancePercent !== "";
  const content = hasTerms ? [...sum, { expiresInMinutes, tolerancePercent }] : sum;
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

interface PricedDeposit {
  readonly currency: GatewayCurrency;
  readonly amount: string;
  readonly amountUnits: bigint;
  readonly quote: string; // JSON; "" if the order names the amount itself
}

/**
 * The amount of an order. A fiat amount is converted at the present price; only such an order uses
 * prices.
 */
function amountOf(
  { config, prices }: Service,
  order: Order,
): Pick<PricedDeposit, "amount" | "quote"> | Answer {
  if (order.fiat === null) return { amount: order.amount, quote: "" };
  const currency = checkCurrency(config, order.currency);
  if (isAnswer(currency)) return currency;
  const quoted = quoteAmount(prices, currency, order.fiat);
  if (quoted.ok) return { amount: quoted.amount, quote: JSON.stringify(quoted.quote) };
  return answerWithoutPrice(quoted, "fiatCurrency");
}

/** The answer to a request that needs a price. `field`: the one that asks for it. */
export function answerWithoutPrice({ code, comes }: MissingPrice, field: string): Answer {
  return problemAnswer(code, { field }, comes ? { "Retry-After": "60" } : {});
}

const percentUnits = 100n * 10n ** BigInt(lifetimeAndToleranceLimits.percentDecimal);

/**
 * The part of the amount that may be missing: the order's own, rounded down, or the one in the
 * present configuration. A later change affects only later requests.
 */
function toleranceOf(
  { tolerancePercent }: Order,
  { currency, amountUnits }: PricedDeposit,
): string {
  if (tolerancePercent === "0") return "0";
  if (tolerancePercent === "") {
    const parsed = parseAmount(currency.paymentTolerance, currency.decimal);
    return parsed.ok ? parsed.units.toString() : "0";
  }
  const percent = parseAmount(tolerancePercent, lifetimeAndToleranceLimits.percentDecimal);
  if (!percent.ok) throw new TypeError("a tolerance that was not checked");
  return ((amountUnits * percent.units) / percentUnits).toString();
}

function planNewDeposit(
  service: Service,
  database: Database,
  row: Pick<DepositRow, "id" | "merchant">,
  order: Order,
  priced: PricedDeposit,
): PlannedRecord {
  const { currency } = priced;
  const nowMs = service.clock();
  const minutes = order.expiresInMinutes ?? service.config.lifetimes.depositMinutes;
  return {
    id: row.id,
    currency,
    insert: (place) =>
      insertDeposit(database, {
        ...row,
        ...place,
        orderId: order.orderId,
        contentHash: contentHashOf(order),
        currency: currency.id,
        network: currency.network,
        amount: priced.amount,
        units: priced.amountUnits.toString(),
        stage: "waiting",
        metadata: order.metadata,
        createdAt: nowMs,
        changedAt: nowMs,
        expiresAt: nowMs + minutes * minuteMs,
        quote: priced.quote,
        toleranceUnits: toleranceOf(order, priced),
        payToken: newPayToken(service),
        returnUrl: order.returnUrl,
        renews: order.renew,
      }),
  };
}

/** A renewal keeps what the shop leaves out. */
function keptOf(
  { metadata, returnUrl }: Order,
  renewed: DepositRow | null,
): Pick<Order, "metadata" | "returnUrl"> {
  return {
    metadata: metadata || (renewed?.metadata ?? ""),
    returnUrl: returnUrl || (renewed?.returnUrl ?? ""),
  };
}

/** The request as a transaction finds it, or is about to make it. */
function planDeposit(
  service: Service,
  { merchant, order: asked }: DepositRequest,
  database: Database,
): PlannedRecord | DepositRow | Answer {
  const place = {
    merchant,
    operation: "deposit",
    orderId: asked.orderId,
    renews: asked.renew,
  } as const;
  const known = recordOfOrder(database, place);
  if (known !== undefined) return known;
  if (anyInvoiceWithOrderId(database, place) !== undefined)
    return problemAnswer("order_id_reused", { reason: "invoice" });
  const renewed = checkRenewal(database, place, contentHashOf(asked));
  if (isAnswer(renewed)) return renewed;
  const order = { ...asked, ...keptOf(asked, renewed) };
  if (!mayReturnTo(database, merchant, order.returnUrl))
    return problemAnswer("return_url_invalid", { field: "returnUrl" });
  const sum = amountOf(service, order);
  if (isAnswer(sum)) return sum;
  const amount = checkAmount(service.config, { ...order, amount: sum.amount }, "minPaymentAmount");
  if ("kind" in amount) return amount;
  const id = deriveOrderTransactionId(place);
  return planNewDeposit(service, database, { id, merchant }, order, { ...sum, ...amount });
}

/**
 * Makes the deposit request, or finds the one that this orderId made before. Answers 400 or 503 if
 * nothing was made, 409 if the orderId was used with other content. Harmless to call twice; the
 * answer has the first quote again.
 */
export async function requestDeposit(service: Service, request: DepositRequest): Promise<Answer> {
  const { order } = request;
  const { merchant, write } = request;
  const made = await makeAtFreshAddress(service, {
    merchant,
    write,
    plan: (database) => planDeposit(service, request, database),
  });
  if (isAnswer(made)) return made;
  const { row } = made;
  if (row.contentHash !== contentHashOf(order))
    return problemAnswer("order_id_reused", { transactionId: row.id });
  return dataAnswer({
    address: row.payTo,
    amount: row.amount,
    tag: row.tag,
    transactionId: row.id,
    currency: row.currency,
    network: row.network,
    expiresAt: new Date(row.expiresAt).toISOString(),
    status: row.status,
    stage: row.stage,
    late: row.late === 1,
    ...renewalOf(service.store.database, row),
    ...paymentFieldsOf(row, service.config),
  });
}
