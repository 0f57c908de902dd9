/**
 * The operations that read what is there: currencies, balances, events, and what is asked before a
 * withdrawal. Source: docs/api.md, Currencies, Balance, Before a withdrawal, Events to ask for.
 */
import { decimalMax } from "../../protocol/amount.ts";
import { type Answer, jsonAnswer } from "../answer/answer.ts";
import {
  decimalOrEmptySchema,
  decimalSchema,
  flagSchema,
  listSchema,
  type NamedSchema,
  objectSchema,
  schemaReference,
  textSchema,
  timeSchema,
} from "../answer/schema.ts";
import { readBalance } from "../balance/balance.ts";
import { readBalances } from "../balance/balances.ts";
import { answerCurrencyList } from "../prices/currencies.ts";
import type { Service } from "../service.ts";
import { listEventsAfter, newestEventNumber } from "../store/callback-outbox.ts";
import { keepsEvents, startKeepingEvents } from "../store/merchants.ts";
import { checkDestination, estimateFee, feesMax } from "../withdrawals/estimate.ts";
import { invoiceRecord } from "./invoices.ts";
import {
  badQuery,
  defineGet,
  isLimit,
  limitParameter,
  type Operation,
  type Query,
} from "./operation.ts";
import {
  currencyInPath,
  sharedFields,
  transactionExample,
  transactionRecord,
  unattributedRecord,
} from "./records.ts";

const { currencyId, network } = sharedFields;

const currency: NamedSchema = {
  name: "Currency",
  schema: objectSchema("A supported currency.", {
    id: currencyId,
    name: textSchema("Name of the currency.", { examples: ["Ether"] }),
    symbol: textSchema("Symbol of the currency.", { examples: ["ETH"] }),
    decimal: {
      type: "integer",
      description: "Number of decimal places.",
      minimum: 0,
      maximum: decimalMax,
    },
    usdPrice: decimalOrEmptySchema("Price in USD, for display; empty when none is known.", "3000"),
    eurPrice: decimalOrEmptySchema("Price in EUR, likewise.", "2800.5"),
    tryPrice: decimalOrEmptySchema("Price in TRY, likewise.", "126000"),
    minPaymentAmount: decimalSchema("Smallest deposit.", "0.001"),
    minWithdrawAmount: decimalSchema("Smallest withdrawal.", "0.001"),
    network,
    contract: textSchema("The token's contract; empty for a native coin."),
    requiresTag: flagSchema("Whether an address needs a tag."),
    enabled: flagSchema("Always true in this list."),
    depositOnly: flagSchema("Taken in, though the merchant's agent may not pay it out."),
    priceUpdatedAt: textSchema("When the oldest of the three prices was right; empty without any."),
    priceStale: flagSchema("Whether one of the prices is old or unknown."),
  }),
};

const balance: NamedSchema = {
  name: "Balance",
  schema: objectSchema("Balances of one currency's wallet.", {
    balance: {
      type: "number",
      description: "`available` rounded down to 15 significant digits.",
      minimum: 0,
    },
    currency: currencyId,
    available: decimalSchema("The amount that can be withdrawn now.", "8.99"),
    pending: decimalSchema("Final on deposit addresses, not yet moved.", "2"),
    sweeping: decimalSchema("On its way from deposit addresses to the hot wallet.", "0"),
    reserved: decimalSchema("Promised to open withdrawals.", "1.01"),
    total: decimalSchema("Everything together.", "12"),
    feeAsset: textSchema("The currency that network fees are paid in.", { examples: ["eth"] }),
    feeReserve: decimalOrEmptySchema("The amount of it that a next withdrawal reserves.", "0.01"),
    feeSufficient: flagSchema("Whether that much is there."),
  }),
};

const balances: NamedSchema = {
  name: "Balances",
  schema: objectSchema("The balances of all currencies.", {
    balances: {
      type: "array",
      description: "One for each currency that could be read.",
      items: schemaReference(balance),
    },
    unread: {
      type: "array",
      description: "Currencies whose chain was not read yet; ask again in some seconds.",
      items: currencyId,
    },
  }),
};

const estimate: NamedSchema = {
  name: "Estimate",
  schema: objectSchema("The probable fee of a withdrawal.", {
    currency: currencyId,
    feeAsset: textSchema("The currency that network fees are paid in.", { examples: ["eth"] }),
    feeUsual: decimalOrEmptySchema(
      "The middle fee of the newest paid withdrawals of this currency; empty before the first.",
      "0.00042",
    ),
    feeMost: decimalSchema(
      "The most that the agent pays for one withdrawal; so much is reserved.",
      "0.01",
    ),
    samples: {
      type: "integer",
      description: "The number of withdrawals that `feeUsual` comes from.",
      minimum: 0,
      maximum: feesMax,
    },
    newestAt: textSchema("When the newest of them was completed; empty without any.", {
      examples: ["2026-01-02T03:04:05.678Z"],
    }),
  }),
};

const addressCheck: NamedSchema = {
  name: "AddressCheck",
  schema: objectSchema("Whether an address can be paid.", {
    currency: currencyId,
    network,
    valid: flagSchema("Whether a withdrawal to it would be taken."),
    address: textSchema(
      "The address in its checksummed form; empty for one that would be refused.",
    ),
    tag: textSchema("The tag that the address holds; empty for none."),
    code: textSchema("The code that a withdrawal would get; empty for a good address.", {
      examples: ["address_invalid"],
    }),
    reason: textSchema("The finer reason; empty without one."),
  }),
};

const event: NamedSchema = {
  name: "Event",
  schema: objectSchema("An event: what a callback has, with its id.", {
    id: textSchema("The `webhook-id` of the event: the same for every delivery.", {
      examples: ["msg_3f0c1d0c4f0b4f1e9a7c5d2e8b6a4c10"],
    }),
    type: textSchema("The kind of event.", { examples: ["withdrawal.completed"] }),
    timestamp: timeSchema("When the record changed."),
    data: {
      description: "The record, or the invoice, as it was then.",
      anyOf: [
        schemaReference(transactionRecord),
        schemaReference(unattributedRecord),
        schemaReference(invoiceRecord),
      ],
    },
    sequence: { type: "integer", description: "Rises with each event of a record.", minimum: 1 },
  }),
};

const events: NamedSchema = {
  name: "Events",
  schema: objectSchema("Events, oldest first.", {
    events: { type: "array", description: "At most `limit`.", items: schemaReference(event) },
    next: textSchema("The `after` of the next call.", { examples: ["1767323045678"] }),
  }),
};

/*
 * GET /events: the events of a merchant's records for a shop that cannot take callbacks, or that
 * missed some: the same texts as callbacks have, in the order in which they were made. The first
 * call begins the keeping of events for a merchant without a callback target. Source: docs/api.md,
 * Events to ask for.
 */

const limitDefault = 100;
const cursorPattern = /^(?:0|[1-9]\d{0,15})$/;

/**
 * The events after the cursor `after`, at most `limit`, and the cursor of the next call. Without
 * `after` the answer has no events: its cursor stands behind the newest one. Harmless to call
 * twice.
 */
function readEvents({ store }: Service, merchant: string, query: Query): Answer {
  const { after, limit = String(limitDefault) } = query;
  if (!isLimit(limit)) return badQuery("limit");
  if (after !== undefined && (typeof after !== "string" || !cursorPattern.test(after)))
    return badQuery("after");
  const { database } = store;
  if (!keepsEvents(database, merchant))
    store.write((writable) => startKeepingEvents(writable, merchant));
  if (after === undefined)
    return jsonAnswer(`{"events":[],"next":"${newestEventNumber(database, merchant)}"}`);
  const events = listEventsAfter(database, merchant, Number(after), Number(limit));
  const next = events.at(-1)?.number ?? after;
  // The text of an event stays as it was signed; its id, a header of callbacks, stands before it.
  const texts = events.map(({ id, body }) => `{"id":${JSON.stringify(id)},${body.slice(1)}`);
  return jsonAnswer(`{"events":[${texts.join(",")}],"next":"${next}"}`);
}

const balanceExample = {
  balance: 8.99,
  currency: "eth",
  available: "8.99",
  pending: "2",
  sweeping: "0",
  reserved: "1.01",
  total: "12",
  feeAsset: "eth",
  feeReserve: "0.01",
  feeSufficient: true,
};

export const readingOperations: readonly Operation[] = [
  defineGet({
    id: "supportedCurrency",
    scope: "read",
    kind: "currency",
    name: { en: "Supported currencies", tr: "Desteklenen para birimleri" },
    description: "The currencies that are switched on, with prices for display.",
    result: {
      schema: listSchema(currency),
      example: [
        {
          id: "eth",
          name: "Ether",
          symbol: "ETH",
          decimal: 18,
          usdPrice: "3000",
          eurPrice: "2800.5",
          tryPrice: "126000",
          minPaymentAmount: "0.001",
          minWithdrawAmount: "0.001",
          network: "eip155:1",
          contract: "",
          requiresTag: false,
          enabled: true,
          depositOnly: false,
          priceUpdatedAt: "2026-01-02T03:04:00.000Z",
          priceStale: false,
        },
      ],
    },
    answer: ({ config, prices }) => answerCurrencyList(config, prices),
  }),
  defineGet({
    id: "events",
    scope: "read",
    name: { en: "Events to ask for", tr: "Sorulan olaylar" },
    description:
      "The events of callbacks, for a shop that takes none or missed some, in the order in which they were made. The first call begins the " +
      "keeping of events; they are kept for 60 days.",
    query: {
      after: {
        schema: textSchema(
          "The `next` of the call before; without it the answer has no events, and its `next` stands behind the newest.",
          {
            examples: ["0"],
          },
        ),
      },
      limit: limitParameter(`Most events of an answer; ${limitDefault} without it.`),
    },
    result: {
      schema: schemaReference(events),
      example: {
        events: [
          {
            id: "msg_3f0c1d0c4f0b4f1e9a7c5d2e8b6a4c10",
            type: "withdrawal.completed",
            timestamp: transactionExample.changedAt,
            data: transactionExample,
            sequence: Date.parse(transactionExample.changedAt),
          },
        ],
        next: `${Date.parse(transactionExample.changedAt)}`,
      },
    },
    answer: (service, { caller, query }) => readEvents(service, caller.merchant.id, query),
  }),
  defineGet({
    id: "balances",
    scope: "read",
    name: { en: "All wallet balances", tr: "Bütün cüzdan bakiyeleri" },
    description: "The balance of each currency that is switched on.",
    result: {
      schema: schemaReference(balances),
      example: { balances: [balanceExample], unread: [] },
    },
    answer: (service, { caller }) => readBalances(service, caller.merchant.id),
  }),
  defineGet({
    id: "estimate",
    scope: "read",
    name: { en: "Fee of a withdrawal", tr: "Çekim ücreti" },
    description:
      "What withdrawals of this currency cost lately, and the most that the merchant's agent pays for one. It promises nothing.",
    path: { currencyId: currencyInPath },
    result: {
      schema: schemaReference(estimate),
      example: {
        currency: "eth",
        feeAsset: "eth",
        feeUsual: "0.00042",
        feeMost: "0.01",
        samples: 25,
        newestAt: transactionExample.changedAt,
      },
    },
    codes: ["currency_not_found", "currency_not_payable", "agent_not_paired"],
    answer: (service, { caller, path }) =>
      estimateFee(service, caller.merchant.id, path.currencyId),
  }),
  defineGet({
    id: "address",
    scope: "read",
    name: { en: "Check of an address", tr: "Adres denetimi" },
    description:
      "Whether a withdrawal of this currency to this address would be taken, by the same checks.",
    path: {
      currencyId: currencyInPath,
      address: textSchema("The address.", {
        examples: ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"],
      }),
    },
    result: {
      schema: schemaReference(addressCheck),
      example: {
        currency: "eth",
        network: "eip155:1",
        valid: true,
        address: transactionExample.receiverAddress,
        tag: "",
        code: "",
        reason: "",
      },
    },
    codes: ["currency_not_found"],
    answer: (service, { caller, path }) => checkDestination(service, caller.merchant.id, path),
  }),
  defineGet({
    id: "balance",
    scope: "read",
    kind: "balance",
    name: { en: "Wallet balance", tr: "Cüzdan bakiyesi" },
    description: "What can be withdrawn now, and what else is there.",
    path: { currencyId: currencyInPath },
    result: { schema: schemaReference(balance), example: balanceExample },
    codes: ["currency_not_found"],
    answer: (service, { caller, path }) =>
      readBalance(service, caller.merchant.id, path.currencyId),
  }),
];
