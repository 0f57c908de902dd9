/**
 * The operations that order, cancel and prepare withdrawals. Sources: docs/api.md, Automatic and
 * Manual withdrawal, Many orders in one call, Cancel a withdrawal.
 */
import { transactionIdPattern } from "../../protocol/fields.ts";
import { type Answer, isAnswer, problemAnswer } from "../answer/answer.ts";
import {
  type OrderForms,
  ordersBytesMax,
  ordersMax,
  readObject,
  readOrder,
  readOrders,
} from "../answer/body.ts";
import type { AnswerCode } from "../answer/messages.ts";
import {
  flagSchema,
  type NamedSchema,
  type ObjectSchema,
  objectSchema,
  schemaReference,
  textSchema,
} from "../answer/schema.ts";
import { cancelWithdrawal } from "../withdrawals/cancel.ts";
import { requestWithdrawal, requestWithdrawals } from "../withdrawals/withdrawals.ts";
import { definePost, type Operation, type OrderBody } from "./operation.ts";
import { errorBody, orderCodes, orderFields, sharedFields, transactionExample } from "./records.ts";

const { address, orderTag, refundOf, transactionId, status, stage, renews } = sharedFields;

const withdrawalOrder: NamedSchema<ObjectSchema> = {
  name: "WithdrawalOrder",
  schema: objectSchema(
    "A withdrawal to pay at once.",
    { ...orderFields, address, tag: orderTag, refundOf },
    { optional: ["tag", "metadata", "renew", "refundOf"], isClosed: true },
  ),
};
const withdrawalForms: OrderForms = { byAmount: withdrawalOrder.schema, byFiat: null };
const withdrawalExample = {
  currency: "eth",
  amount: "0.5",
  address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  orderId: "out-77",
};

const manualOrder: NamedSchema<ObjectSchema> = {
  name: "ManualOrder",
  schema: objectSchema(
    "A withdrawal that an operator approves, who supplies the address where it is left out.",
    { ...orderFields, address, tag: orderTag, refundOf },
    { optional: ["address", "tag", "metadata", "renew", "refundOf"], isClosed: true },
  ),
};
const manualForms: OrderForms = { byAmount: manualOrder.schema, byFiat: null };

/** The bodies of one withdrawal, by its mode. */
export const withdrawalBodies = {
  auto: {
    schema: withdrawalOrder,
    example: withdrawalExample,
    read: (body) => readOrder(body, withdrawalForms),
  },
  manual: {
    schema: manualOrder,
    example: { currency: "eth", amount: "0.25", orderId: "out-78" },
    read: (body) => readOrder(body, manualForms),
  },
} as const satisfies Readonly<Record<string, OrderBody<unknown>>>;

const manyOrder: NamedSchema<ObjectSchema> = {
  name: "ManyOrder",
  schema: objectSchema(
    "Withdrawals to pay at once.",
    {
      orders: {
        type: "array",
        description: "Each for itself.",
        items: schemaReference(withdrawalOrder),
        minItems: 1,
        maxItems: ordersMax,
      },
    },
    { isClosed: true },
  ),
};

/** The body of many withdrawals. */
export const manyBody = {
  schema: manyOrder,
  example: { orders: [{ ...withdrawalExample, orderId: "out-80" }] },
  bytesMax: ordersBytesMax,
  read: (body) => readOrders(body, manyOrder.schema, withdrawalForms),
} as const satisfies OrderBody<unknown>;

const cancelOrder: NamedSchema<ObjectSchema> = {
  name: "CancelOrder",
  schema: objectSchema(
    "The withdrawal to cancel.",
    {
      transactionId: textSchema("The `transactionId` of a withdrawal.", {
        pattern: transactionIdPattern.source,
        examples: ["1c2d8f0b6e5a49d3a7b1c0d9e8f7a6b5"],
      }),
    },
    { isClosed: true },
  ),
};

/** The body of a cancel. A text of another form than an id names no transaction: 404. */
export const cancelBody = {
  schema: cancelOrder,
  example: { transactionId: "1c2d8f0b6e5a49d3a7b1c0d9e8f7a6b5" },
  read: (body): string | Answer => {
    const read = readObject(body, cancelOrder.schema);
    if (isAnswer(read)) return read;
    const { transactionId: id } = read;
    const isId = typeof id === "string" && transactionIdPattern.test(id);
    return isId ? id : problemAnswer("transaction_not_found");
  },
} as const satisfies OrderBody<unknown>;

const withdrawalResult: NamedSchema = {
  name: "WithdrawalResult",
  schema: objectSchema(
    "A withdrawal that is stored for good.",
    {
      message: textSchema("For people; in the caller's language."),
      transactionId,
      status,
      stage,
      renews,
    },
    { optional: ["renews"] },
  ),
};

const oneResult: NamedSchema = {
  name: "OneResult",
  schema: objectSchema("One order's own answer, as if it had been sent alone.", {
    orderId: textSchema("As it was sent; empty where it was no text."),
    httpStatus: {
      type: "integer",
      description: "The status that it would have had alone.",
      examples: [200],
    },
    answer: {
      description: "The body that it would have had alone.",
      anyOf: [schemaReference(withdrawalResult), schemaReference(errorBody)],
    },
  }),
};

const manyResult: NamedSchema = {
  name: "ManyResult",
  schema: objectSchema("The result of each order.", {
    answers: {
      type: "array",
      description: "In the order of the orders.",
      items: schemaReference(oneResult),
    },
  }),
};

const cancelResult: NamedSchema = {
  name: "CancelResult",
  schema: objectSchema("The result of a cancel.", {
    message: textSchema("For people; in the caller's language."),
    transactionId,
    cancelled: flagSchema("True if nothing is paid; false while the agent may still pay."),
    status,
    stage,
  }),
};

const withdrawalCodes: readonly AnswerCode[] = [
  ...orderCodes,
  ...([
    "address_invalid",
    "address_own",
    "address_contract",
    "tag_not_supported",
    "tag_invalid",
    "balance_insufficient",
  ] as const),
  ...([
    "refund_invalid",
    "refund_above_received",
    "agent_not_paired",
    "agent_clock_ahead",
    "withdrawal_failed",
  ] as const),
];

const sent = {
  message: "The withdrawal request was sent.",
  transactionId: transactionExample.transactionId,
  status: 0,
  stage: "queued",
};

export const withdrawalOperations: readonly Operation[] = [
  definePost({
    id: "autoWithdraw",
    scope: "withdraw:auto",
    kind: "withdrawal",
    name: { en: "Withdraw (automatic)", tr: "Çekim (otomatik)" },
    description:
      "Stores the withdrawal for good, reserves its funds and hands it to the merchant's agent; waits at most ten seconds for the " +
      "agent's decision. The same order sent again never pays twice.",
    order: withdrawalBodies.auto,
    result: { schema: schemaReference(withdrawalResult), example: sent },
    codes: withdrawalCodes,
    answer: (service, { caller, order, language, write }) =>
      requestWithdrawal(service, {
        merchant: caller.merchant.id,
        mode: "auto",
        order,
        language,
        write,
      }),
  }),
  definePost({
    id: "autoWithdraws",
    scope: "withdraw:auto",
    name: { en: "Withdraw many (automatic)", tr: "Toplu çekim (otomatik)" },
    description:
      "Up to a hundred orders in one call. Each has its own answer, as if it had been sent alone, and none holds up another. The same " +
      "call sent again never pays twice, whatever became of the first.",
    order: manyBody,
    result: {
      schema: schemaReference(manyResult),
      example: { answers: [{ orderId: "out-80", httpStatus: 200, answer: sent }] },
    },
    codes: ["orders_count"],
    answer: (service, { caller, order, language, requestId, owe, write, fault }) =>
      requestWithdrawals(service, {
        merchant: caller.merchant.id,
        orders: order,
        language,
        requestId,
        owe,
        write,
        fault,
      }),
  }),
  definePost({
    id: "manualWithdraw",
    scope: "withdraw:manual",
    kind: "withdrawal",
    name: { en: "Withdraw (manual)", tr: "Çekim (onaylı)" },
    description:
      "As above, and held until an operator approves it on the agent's machine. The address may be left to that operator.",
    order: withdrawalBodies.manual,
    result: {
      schema: schemaReference(withdrawalResult),
      example: {
        message: "The withdrawal request was sent and awaits approval.",
        transactionId: "1c2d8f0b6e5a49d3a7b1c0d9e8f7a6b5",
        status: 0,
        stage: "awaiting_approval",
      },
    },
    codes: withdrawalCodes,
    answer: (service, { caller, order, language, write }) =>
      requestWithdrawal(service, {
        merchant: caller.merchant.id,
        mode: "manual",
        order,
        language,
        write,
      }),
  }),
  definePost({
    id: "cancelWithdraw",
    scope: "withdraw:cancel",
    name: { en: "Cancel a withdrawal", tr: "Çekimi iptal et" },
    description:
      "Asks the merchant's agent to refuse an open withdrawal, and waits at most ten seconds for its answer. With `cancelled` true " +
      "nothing is paid. With false the agent has not answered, and it refuses the withdrawal as soon as it can, or has signed it already: " +
      "the record and its callback say how it ended.",
    order: cancelBody,
    result: {
      schema: schemaReference(cancelResult),
      example: {
        message: "The withdrawal is cancelled: nothing is paid.",
        transactionId: "1c2d8f0b6e5a49d3a7b1c0d9e8f7a6b5",
        cancelled: true,
        status: 2,
        stage: "refused",
      },
    },
    codes: ["transaction_not_found", "not_cancellable"],
    answer: (service, { caller, order: id, language, write }) =>
      cancelWithdrawal(service, {
        merchant: caller.merchant.id,
        transactionId: id,
        language,
        write,
      }),
  }),
];
