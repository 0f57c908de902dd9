/**
 * The messages to a shop: one webhook for each type of event, with its header fields and its body.
 * The types come from the module that sends them, so that none can be missing here. Sources:
 * OpenAPI 3.1.0, Webhooks; Standard Webhooks 1.0.0; docs/api.md, Callbacks.
 */
import {
  type Json,
  type NamedSchema,
  objectSchema,
  schemaReference,
  textSchema,
  timeSchema,
} from "../answer/schema.ts";
import { type EventType, eventTypes, testType } from "../callbacks/events.ts";
import { invoiceRecord } from "../operations/invoices.ts";
import { transactionRecord, unattributedRecord } from "../operations/records.ts";

type Type = EventType | typeof testType;

/** When each event is sent, with the text of docs/api.md. */
const moments: Readonly<Record<Type, string>> = {
  "deposit.detected": "a first payment is in a block, not final",
  "deposit.partial": "a final payment was counted, and the amount is not reached",
  "deposit.below_minimum": "the same, and all that is final is below `minPaymentAmount`",
  "deposit.completed":
    "Completed: the amount is final. So is a request that the shop accepts or the operator credits later, and a revoked one whose payment is final again",
  "deposit.overpaid":
    "after `deposit.completed`: more than the amount is final, by over half a percent of it and over what the operator set for the currency",
  "deposit.expired":
    "Failed: not paid in time, cancelled, or its invoice was paid in another currency; see `data.code`",
  "deposit.late": "a payment became final after the request had ended",
  "deposit.reorged":
    "a payment that was seen is in no block any more; of a Completed deposit, less is received and still enough",
  "deposit.revoked":
    "Failed after it was Completed: the block of its payment left the chain, and the operator took the credit back; see `data.code`",
  "deposit.unattributed":
    "another currency was paid to the address; `data.unattributed` has `currency`, `amount`, `txHash`",
  "withdrawal.created": "the order is stored",
  "withdrawal.approved": "an operator approved one that waited for it",
  "withdrawal.rejected":
    "an operator or the merchant's own policy refused it; `withdrawal.failed` follows",
  "withdrawal.broadcast": "it was handed to the chain's nodes",
  "withdrawal.completed": "Completed: final on chain",
  "withdrawal.failed": "Failed, see `data.code`",
  "invoice.chosen": "a currency was chosen, so that a choice has an address",
  "invoice.completed":
    "Completed: one choice has its amount, and it is final, or the shop accepted it. The only word on which to ship, once for each order",
  "invoice.expired": "Failed: not paid in time; see `data.exceptions` for what came all the same",
  "invoice.cancelled": "Failed: the shop cancelled it",
  "invoice.revoked":
    "Failed after it was Completed: the block of its payment left the chain, and the operator took the credit back",
  "invoice.exception":
    "money came late, beside another currency that has paid, above the sum, or in another coin; see `data.exceptions`",
  "webhook.test": "`gateway callbacks test`",
};

const sequence: Json = {
  type: "integer",
  description:
    "Rises with each event of one record, not by one: keep a record's highest, leave aside what is lower.",
  minimum: 0,
  examples: [1767323920120],
};
const type = textSchema("Which event it is.", { examples: ["withdrawal.completed"] });
const timestamp = timeSchema("When it happened.");
const callback: NamedSchema = {
  name: "Callback",
  schema: objectSchema("An event of one record.", {
    type,
    timestamp,
    sequence,
    data: schemaReference(transactionRecord),
  }),
};
const unattributedCallback: NamedSchema = {
  name: "UnattributedCallback",
  schema: objectSchema("Another currency came to the address of a deposit.", {
    type,
    timestamp,
    sequence,
    data: schemaReference(unattributedRecord),
  }),
};
const invoiceCallback: NamedSchema = {
  name: "InvoiceCallback",
  schema: objectSchema("An event of one invoice.", {
    type,
    timestamp,
    sequence,
    data: schemaReference(invoiceRecord),
  }),
};
const testCallback: NamedSchema = {
  name: "TestCallback",
  schema: objectSchema("A try of one target, by its operator.", {
    type,
    timestamp,
    sequence,
    data: objectSchema("Whom it is for.", {
      callbackId: textSchema("The target."),
      merchantId: textSchema("The merchant."),
    }),
  }),
};

const header = (name: string, description: string, pattern: string, example: string): Json => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string", pattern, examples: [example] },
});

export const webhookParameters: Readonly<Record<string, Json>> = {
  "webhook-id": header(
    "webhook-id",
    "Names the event: the same each time it is sent.",
    "^msg_[0-9a-f]{32}$",
    "msg_3f0c1d0c4f0b4f1e9a7c5d2e8b6a4c10",
  ),
  "webhook-timestamp": header(
    "webhook-timestamp",
    "When this try was sent, in seconds since 1970. Refuse one more than five minutes away.",
    "^[0-9]{1,12}$",
    "1767323045",
  ),
  "webhook-signature": header(
    "webhook-signature",
    "`v1,` and the base64 of HMAC-SHA256 over id, a point, timestamp, a point and the raw body; two of them, with a space between, " +
      "while the secret is being changed.",
    "^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  ),
};

const responses: Json = {
  "2XX": { description: "Taken: the event is not sent again." },
  410: {
    description: "The target is gone: it is switched off, and what waits for it is given up.",
  },
  default: {
    description:
      "Anything else, and no answer within 15 seconds, is a failure: the event is sent again, later each time.",
  },
};

const webhookIdOf = (name: string): string =>
  name.replace(/[._]([a-z])/g, (_, letter: string) => letter.toUpperCase());

function bodyOf(name: Type): Json {
  if (name === testType)
    return { allOf: [schemaReference(testCallback), narrowed({ type: { const: name } })] };
  if (name.startsWith("invoice."))
    return { allOf: [schemaReference(invoiceCallback), narrowed({ type: { const: name } })] };
  const whole = name === "deposit.unattributed" ? unattributedCallback : callback;
  const transactionType = { const: name.startsWith("deposit.") ? 1 : 2 };
  return {
    allOf: [
      schemaReference(whole),
      narrowed({ type: { const: name }, data: narrowed({ transactionType }) }),
    ],
  };
}

const narrowed = (properties: Json): Json => ({ type: "object", properties });

/** Each type of event with its message. */
export const webhooks: Json = Object.fromEntries(
  ([...eventTypes, testType] as const).map((name) => [
    name,
    {
      post: {
        operationId: webhookIdOf(name),
        summary: moments[name],
        tags: ["Callbacks"],
        security: [],
        parameters: Object.keys(webhookParameters).map((one) => ({
          $ref: `#/components/parameters/${one}`,
        })),
        requestBody: { required: true, content: { "application/json": { schema: bodyOf(name) } } },
        responses,
      },
    },
  ]),
);
