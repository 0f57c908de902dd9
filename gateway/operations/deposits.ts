/**
 * The operations that order a deposit, and accept one that was paid late or short. Source:
 * docs/api.md, Deposit request, Accept a late or short payment.
 */
import { transactionIdPattern } from "../../protocol/fields.ts";
import { type Answer, isAnswer, problemAnswer } from "../answer/answer.ts";
import { type OrderForms, readObject, readOrder } from "../answer/body.ts";
import {
  flagSchema,
  type Json,
  type NamedSchema,
  type ObjectSchema,
  objectSchema,
  schemaReference,
  textSchema,
  timeSchema,
} from "../answer/schema.ts";
import { acceptDeposit } from "../deposits/accept.ts";
import { requestDeposit } from "../deposits/deposits.ts";
import { isRemark } from "../store/audit.ts";
import { definePost, type Operation, type OrderBody } from "./operation.ts";
import {
  orderCodes,
  orderFields,
  sharedFields,
  transactionExample,
  transactionRecord,
} from "./records.ts";
import { depositTerms } from "./terms.ts";

const { currencyId, orderId, metadata, renew, fiatCurrency, fiatAmount } = sharedFields;
const { amount, tag, transactionId, network, status, stage } = sharedFields;
const { renews, renewedBy, paymentUri, paymentUrl, paymentTolerance, quote } = sharedFields;

const { returnUrl, ...terms } = depositTerms;

const amountOrder: NamedSchema<ObjectSchema> = {
  name: "AmountOrder",
  schema: objectSchema(
    "A deposit request by `amount`.",
    { ...orderFields, returnUrl, ...terms, fiatCurrency: false, fiatAmount: false },
    {
      optional: [
        ...["metadata", "returnUrl", "renew", ...Object.keys(terms)],
        ...["fiatCurrency", "fiatAmount"],
      ],
      isClosed: true,
    },
  ),
};

const fiatOrder: NamedSchema<ObjectSchema> = {
  name: "FiatOrder",
  schema: objectSchema(
    "A deposit request by a sum of money, which the price of now makes an amount of.",
    {
      currency: currencyId,
      fiatCurrency,
      fiatAmount,
      orderId,
      metadata,
      returnUrl,
      renew,
      ...terms,
      amount: false,
    },
    {
      optional: ["metadata", "returnUrl", "renew", ...Object.keys(terms), "amount"],
      isClosed: true,
    },
  ),
};

/**
 * Two closed forms, because generators make no exact type of one form with choices inside. Each
 * refuses the other's fields by name, so that a compiler refuses both at once.
 */
const depositSchema: Json = {
  description:
    "A deposit request: by `amount`, or by `fiatCurrency` with `fiatAmount`; never by both.",
  oneOf: [schemaReference(amountOrder), schemaReference(fiatOrder)],
};
const depositForms: OrderForms = { byAmount: amountOrder.schema, byFiat: fiatOrder.schema };

/** The body of a deposit request. */
export const depositBody = {
  schema: { name: "DepositOrder", schema: depositSchema },
  example: { currency: "eth", amount: "0.5", orderId: "in-1042" },
  read: (body) => readOrder(body, depositForms),
} as const satisfies OrderBody<unknown>;

const depositResult: NamedSchema = {
  name: "DepositResult",
  schema: objectSchema(
    "An address to pay to.",
    {
      address: textSchema("Address to pay the deposit to.", {
        examples: ["0x9858EfFD232B4033E47d90003D41EC34EcaEda94"],
      }),
      amount,
      tag,
      transactionId,
      currency: currencyId,
      network,
      expiresAt: timeSchema("Until when it can be paid."),
      status,
      stage,
      late: flagSchema("Money came after the request had ended."),
      renews,
      renewedBy,
      paymentUri,
      paymentUrl,
      paymentTolerance,
      quote,
    },
    { optional: ["quote", "renews", "renewedBy"] },
  ),
};

const acceptOrder: NamedSchema<ObjectSchema> = {
  name: "AcceptOrder",
  schema: objectSchema(
    "An expired deposit that the shop takes as paid.",
    {
      transactionId,
      reason: textSchema("Why, for the audit: 1 to 500 visible characters in one line.", {
        minLength: 1,
        maxLength: 500,
        examples: ["the customer wrote in time"],
      }),
      short: flagSchema("True to take less than the amount; false without it."),
    },
    { optional: ["short"], isClosed: true },
  ),
};

interface AcceptTerms {
  readonly transactionId: string;
  readonly reason: string;
  readonly isShortFine: boolean;
}

/** The body of an acceptance. A text of another form than an id names no transaction: 404. */
const acceptBody = {
  schema: acceptOrder,
  example: {
    transactionId: transactionExample.transactionId,
    reason: "the customer wrote in time",
  },
  read: (body): AcceptTerms | Answer => {
    const read = readObject(body, acceptOrder.schema);
    if (isAnswer(read)) return read;
    const { transactionId: id, reason, short = false } = read;
    if (typeof id !== "string" || !transactionIdPattern.test(id))
      return problemAnswer("transaction_not_found");
    if (typeof reason !== "string" || !isRemark(reason.trim()))
      return problemAnswer("accept_invalid", { field: "reason" });
    if (typeof short !== "boolean") return problemAnswer("accept_invalid", { field: "short" });
    return { transactionId: id, reason: reason.trim(), isShortFine: short };
  },
} as const satisfies OrderBody<AcceptTerms>;

const acceptedExample = {
  transactionId: transactionExample.transactionId,
  receiverAddress: "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
  depositAddress: "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
  orderId: "in-1042",
  tag: "",
  currency: "eth",
  amount: "0.5",
  callbackStatus: 0,
  createdAt: transactionExample.createdAt,
  status: 1,
  transactionType: 1,
  network: "eip155:1",
  stage: "completed",
  code: "",
  txHash: transactionExample.txHash,
  explorerUrl: transactionExample.explorerUrl,
  changedAt: transactionExample.changedAt,
  expiresAt: "2026-01-02T04:04:05.678Z",
  metadata: {},
  value: transactionExample.value,
  amountReceived: "0.5",
  late: true,
  accepted: true,
  paymentUri: "ethereum:0x9858EfFD232B4033E47d90003D41EC34EcaEda94@1?value=500000000000000000",
  paymentUrl: "https://pay.example.com/pay/9yGZ1kQ0m2n3o4p5q6r7sA",
  paymentTolerance: "0",
};

export const depositOperations: readonly Operation[] = [
  definePost({
    id: "createTransactionRequest",
    scope: "deposit",
    kind: "deposit",
    name: { en: "Deposit request", tr: "Yatırma isteği" },
    description:
      "Gives a fresh address to pay to. The same order sent again gives the same address, so repeating it after a time-out is safe. " +
      "A sum of money becomes an amount at the price of now, for the life of the request.",
    order: depositBody,
    result: {
      schema: schemaReference(depositResult),
      example: {
        address: "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
        amount: "25",
        tag: "",
        transactionId: "4be38f3ee1a16e4cd1f1a3a8b4a0d9c2",
        currency: "usdt",
        network: "eip155:1",
        expiresAt: "2026-01-02T04:04:05.678Z",
        status: 0,
        stage: "waiting",
        late: false,
        paymentUri:
          "ethereum:0xdAC17F958D2ee523a2206206994597C13D831ec7@1/transfer?address=0x9858EfFD232B4033E47d90003D41EC34EcaEda94&uint256=25000000",
        paymentUrl: "https://pay.example.com/pay/9yGZ1kQ0m2n3o4p5q6r7sA",
        paymentTolerance: "0",
      },
    },
    codes: [
      ...orderCodes,
      ...(["return_url_invalid", "deposits_not_ready", "amount_twice"] as const),
      ...(["fiat_currency_unknown", "currency_unpriced", "price_stale"] as const),
      ...(["lifetime_invalid", "tolerance_invalid"] as const),
    ],
    answer: (service, { caller, order, write }) =>
      requestDeposit(service, { merchant: caller.merchant.id, order, write }),
  }),
  definePost({
    id: "acceptDeposit",
    scope: "deposit:accept",
    name: { en: "Accept a deposit", tr: "Yatırmayı kabul et" },
    description:
      "Takes an expired deposit as paid although its money came late, or, with `short`, was less than the amount. Only final money in its " +
      "own currency counts. The record becomes Completed with `accepted`, and `deposit.completed` is sent. The same call sent again " +
      "answers the same.",
    order: acceptBody,
    result: {
      schema: schemaReference(transactionRecord),
      example: acceptedExample,
    },
    codes: ["transaction_not_found", "accept_invalid", "not_acceptable"],
    answer: (service, { caller, order, write }) =>
      acceptDeposit(service, {
        ...order,
        merchant: caller.merchant.id,
        keyId: caller.key.id,
        write,
      }),
  }),
];
