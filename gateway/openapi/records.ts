/**
 * Schemas of the service's requests and answers. A test sends every field that an order may have,
 * and compares each answer of the running gateway with these schemas: both have exactly the same
 * fields. Sources: the interface; docs/api.md.
 */

import { titlesOfFamilies } from "../../chains/families.ts";
import type { Family } from "../../chains/family.ts";
import { mainNetworkByAddressSpace } from "../../chains/network-names.ts";
import { currencyPattern, orderIdPattern, transactionIdPattern } from "../../protocol/fields.ts";
import { lifetimeAndToleranceLimits, metadataLimits, ordersMax } from "../answer/body.ts";
import { eventTypes } from "../callbacks/events.ts";
import { targetsMax } from "../callbacks/targets.ts";
import { fiats } from "../config/fiat.ts";
import {
  decimalOrEmptySchema,
  decimalSchema,
  flagSchema,
  type Json,
  objectSchema,
  oneOfNumbersSchema,
  schemaReference,
  textSchema,
  timeSchema,
} from "./schema.ts";

/*
 * Schemas of the requests and answers about callback targets. Source: docs/api.md, Targets by a
 * key.
 */

const callbackId = textSchema("Identifier of the callback target.", {
  examples: ["cb_6f0c1d0c4f0b4f1e"],
});
const targetUrl = textSchema("An https address of the shop's server that takes a POST.", {
  examples: ["https://shop.example.com/hook"],
});
const heldEvents: Json = {
  type: "array",
  description: "The events that it gets; all if it is empty.",
  items: textSchema("The kind of event.", { examples: ["deposit.completed"] }),
};
const targetEvents: Json = {
  type: "array",
  description: "Only these events; all if it is empty.",
  items: textSchema("The kind of event.", { enum: [...eventTypes] }),
  maxItems: eventTypes.length,
};
const targetOrders: Readonly<Record<string, Json>> = {
  CreateCallbackOrder: objectSchema(
    "A target to add.",
    { url: targetUrl, events: targetEvents },
    { optional: ["events"], isClosed: true },
  ),
  CallbackOrder: objectSchema("The target that is meant.", { callbackId }, { isClosed: true }),
  RedeliverOrder: objectSchema(
    "The target that is meant, and the events.",
    {
      callbackId,
      since: textSchema("Events of then or later: ISO 8601 in UTC; all without it.", {
        examples: ["2026-01-02", "2026-01-02T03:04:05.678Z"],
      }),
    },
    { optional: ["since"], isClosed: true },
  ),
};

const target = objectSchema("A callback target.", {
  callbackId,
  url: targetUrl,
  events: heldEvents,
  state: textSchema("`paused`: its events wait. `off`: it answered 410, and gets no events.", {
    enum: ["active", "paused", "off"],
  }),
  createdAt: timeSchema("When it was added."),
  waiting: { type: "integer", description: "The number of deliveries that wait.", minimum: 0 },
  givenUp: {
    type: "integer",
    description: "The number of deliveries that were given up in the last 60 days.",
    minimum: 0,
  },
  succeededAt: textSchema("When it last took an event; empty if never."),
  failedAt: textSchema("When a try last failed; empty if never."),
  failedStatus: {
    type: "integer",
    description: "The HTTP status of that try; 0 without an answer.",
    minimum: 0,
  },
  failedReason: textSchema("The reason why that try had no answer; empty if it had one."),
});

const targetSchemas: Readonly<Record<string, Json>> = {
  CallbackTarget: target,
  CallbackTargets: objectSchema("The merchant's callback targets, oldest first.", {
    callbacks: {
      type: "array",
      description: `At most ${targetsMax}.`,
      items: schemaReference("CallbackTarget"),
    },
  }),
  CreatedTarget: objectSchema("A callback target that was added.", {
    callbackId,
    secret: textSchema(
      "Verifies the signatures of this target's callbacks. No other answer has it.",
      {
        examples: ["whsec_YSBzZWNyZXQgb2YgdGhlIGV4YW1wbGVzIG9ubHkhISE="],
      },
    ),
    url: targetUrl,
    events: heldEvents,
  }),
  RemovedTarget: objectSchema("A callback target that was removed.", {
    callbackId,
    recordsGivenUp: {
      type: "integer",
      description: "The number of records whose callbacks were given up.",
      minimum: 0,
    },
  }),
  TestSent: objectSchema("A test event that is being sent.", {
    callbackId,
    messageId: textSchema("The `webhook-id` of the test.", {
      examples: ["msg_3f0c1d0c4f0b4f1e9a7c5d2e8b6a4c10"],
    }),
  }),
  Redelivery: objectSchema("Deliveries that are sent again.", {
    callbackId,
    since: textSchema("The time from which events count; empty for all."),
    deliveries: {
      type: "integer",
      description: "The number of deliveries that are sent again.",
      minimum: 0,
    },
    left: {
      type: "integer",
      description: "The number that stays given up, because too many wait.",
      minimum: 0,
    },
  }),
};

/*
 * Sentences of the description that depend on the families of chains, made from their table, so
 * that they stay true when a family is added.
 */

const allTitles = titlesOfFamilies(() => true);
const taggedTitles = titlesOfFamilies(({ readTag }) => readTag("1") !== null);
const link = ({ addressSpace, paymentUri }: Family): string =>
  paymentUri({
    network: mainNetworkByAddressSpace[addressSpace.name],
    contract: "",
    receiver: "r",
    units: 1n,
  });
const linkedTitles = titlesOfFamilies((family) => link(family) !== "");

export const familyWords = {
  address:
    `External address the funds are sent to, in the form of the currency's network (${allTitles}). Its checksum is verified; ` +
    "on EVM chains an address in letters of one case has none.",
  tag:
    `The tag of the address: on ${taggedTitles} a whole number from 0 to 4294967295 as text, as the receiver says. ` +
    "Empty, or left out, where there is none; any other network refuses a tag.",
  paymentUri:
    `Deposits: a link for wallets, in the form of the network (${linkedTitles}). Empty on other networks, and when the currency is ` +
    "no longer configured.",
} as const;

const transactionId = textSchema("Identifier of the transaction.", {
  pattern: "^[0-9a-f]{32}$",
  examples: ["a7b92b8b4b5f7ad3c3d0f6c9b1f0f2e1"],
});
const currencyId = textSchema("A currency's `id`.", {
  pattern: currencyPattern.source,
  examples: ["eth"],
});
const orderId = textSchema(
  "The caller's own reference: visible ASCII without spaces, unique permanently.",
  {
    pattern: orderIdPattern.source,
    examples: ["out-77"],
  },
);
const network = textSchema("The network by CAIP-2.", { examples: ["eip155:1"] });
const tag = textSchema("Tag of the address, where its network has tags; may be empty.");
const amount = decimalSchema("The amount, in whole units of the currency.", "0.5");
const status = oneOfNumbersSchema(
  "0 Pending, 1 Completed, 2 Failed. 1 and 2 never change again, but for an expired deposit that the operator credits: it goes from 2 to 1.",
  [0, 1, 2],
);
const stage = textSchema("The step within its status; docs/api.md lists the stages.", {
  examples: ["queued"],
});
const address = textSchema(familyWords.address, {
  examples: ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"],
});
const orderTag = textSchema(familyWords.tag);

const { keysMax, keyPattern, valueCharactersMax, bytesMax } = metadataLimits;
const metadata: Json = {
  type: "object",
  description: `The shop's own words, returned and never read: at most ${bytesMax} bytes as JSON.`,
  maxProperties: keysMax,
  propertyNames: { pattern: keyPattern.source },
  additionalProperties: { type: "string", maxLength: valueCharactersMax },
  examples: [{ customer: "C-1042" }],
};

const fiatCurrency = textSchema("The money of `fiatAmount`.", {
  enum: [...fiats],
  examples: ["TRY"],
});
const fiatAmount = decimalSchema("A sum of money, at most two decimals.", "1000");
const returnUrl = textSchema(
  "The way back from the payment page: an address on a site that the service lists for the merchant.",
  {
    examples: ["https://shop.example.com/thanks"],
  },
);
const renew = textSchema(
  "The `transactionId` of an ended request with this orderId and content, which this one follows.",
  {
    pattern: transactionIdPattern.source,
    examples: ["4be38f3ee1a16e4cd1f1a3a8b4a0d9c2"],
  },
);
const order = { currency: currencyId, amount, orderId, metadata, renew };
const { minutesMin, minutesMax, percentMax } = lifetimeAndToleranceLimits;
const terms = {
  expiresInMinutes: {
    type: "integer",
    description: "The lifetime of the request; the service's own without it.",
    minimum: minutesMin,
    maximum: minutesMax,
    examples: [30],
  },
  tolerancePercent: textSchema(
    `So much of \`amount\` may be missing, from 0 to ${percentMax} per cent with at most two decimals; the currency's own without it.`,
    { pattern: "^(?:0|[0-9]+(?:\\.[0-9]+)?)$", examples: ["0.5"] },
  ),
};
const refundOf = textSchema("The `transactionId` of the deposit that this withdrawal pays back.", {
  pattern: transactionIdPattern.source,
  examples: ["4be38f3ee1a16e4cd1f1a3a8b4a0d9c2"],
});

const withdrawalOrder = objectSchema(
  "A withdrawal to pay at once.",
  { ...order, address, tag: orderTag, refundOf },
  { optional: ["tag", "metadata", "renew", "refundOf"], isClosed: true },
);

/** Orders have only these fields. */
const orders: Readonly<Record<string, Json>> = {
  AmountOrder: objectSchema(
    "A deposit request by `amount`.",
    { ...order, returnUrl, ...terms, fiatCurrency: false, fiatAmount: false },
    {
      optional: [
        "metadata",
        "returnUrl",
        "renew",
        ...Object.keys(terms),
        "fiatCurrency",
        "fiatAmount",
      ],
      isClosed: true,
    },
  ),
  FiatOrder: objectSchema(
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
  // Two closed forms, because generators make no exact type of one form with choices inside. Each
  // refuses the other's fields by name, so that a compiler refuses both at once.
  DepositOrder: {
    description:
      "A deposit request: by `amount`, or by `fiatCurrency` with `fiatAmount`; never by both.",
    oneOf: [schemaReference("AmountOrder"), schemaReference("FiatOrder")],
  },
  WithdrawalOrder: withdrawalOrder,
  ManyOrder: objectSchema(
    "Withdrawals to pay at once.",
    {
      orders: {
        type: "array",
        description: "Each for itself.",
        items: schemaReference("WithdrawalOrder"),
        minItems: 1,
        maxItems: ordersMax,
      },
    },
    { isClosed: true },
  ),
  ...targetOrders,
  ManualOrder: objectSchema(
    "A withdrawal that an operator approves, who supplies the address where it is left out.",
    { ...order, address, tag: orderTag, refundOf },
    { optional: ["address", "tag", "metadata", "renew", "refundOf"], isClosed: true },
  ),
};

const paymentTolerance = decimalOrEmptySchema(
  "Deposits: so much may be missing from `amount`. Empty once the currency is no longer configured.",
  "0",
);
const quote = objectSchema(
  "The terms of a deposit in fiat money, fixed at its request: `amount` is `fiatAmount` at `price`, rounded up.",
  {
    fiatCurrency,
    fiatAmount,
    price: decimalSchema("Price of one whole unit of the currency.", "42"),
    priceUpdatedAt: timeSchema("When that price was right."),
  },
);
const paymentUri = textSchema(familyWords.paymentUri, {
  examples: ["ethereum:0x9858EfFD232B4033E47d90003D41EC34EcaEda94@1?value=500000000000000000"],
});

const paymentUrl = textSchema(
  "Deposits: the page for the customer, to link or to embed; empty for a record that has none.",
  {
    examples: ["https://pay.example.com/pay/9yGZ1kQ0m2n3o4p5q6r7sA"],
  },
);

const fiatSum = (money: string): Json =>
  decimalSchema(
    `In ${money}, rounded down to two decimals; absent if there was no fresh price.`,
    "1500",
  );
const fiatValue = objectSchema(
  "Worth of a completed record at the moment of its completion; absent if no fresh price was known then.",
  {
    usd: fiatSum("USD"),
    eur: fiatSum("EUR"),
    try: fiatSum("TRY"),
    pricedAt: timeSchema("When the oldest of these prices was right."),
  },
  { optional: ["usd", "eur", "try"] },
);

const transaction = objectSchema(
  "A deposit or a withdrawal.",
  {
    transactionId,
    receiverAddress: textSchema(
      "The destination of a withdrawal, empty while a manual one has none; the issued address of a deposit.",
    ),
    depositAddress: textSchema("A deposit's issued address; the account that pays a withdrawal."),
    orderId,
    tag,
    currency: currencyId,
    amount,
    callbackStatus: oneOfNumbersSchema(
      "State of the newest event: 0 on its way, 1 delivered, 2 given up, 3 no target is configured.",
      [0, 1, 2, 3],
    ),
    createdAt: timeSchema("When it was created."),
    status,
    transactionType: oneOfNumbersSchema("1 deposit, 2 withdrawal.", [1, 2]),
    network,
    stage,
    code: textSchema("Why it failed or is held; empty without a reason."),
    txHash: textSchema("The transaction on chain; empty while there is none."),
    explorerUrl: textSchema(
      "The transaction in a public explorer, for people; empty while there is none, or where none is configured.",
    ),
    confirmations: {
      type: "integer",
      description: "Blocks on a payment that is not final yet.",
      minimum: 1,
    },
    changedAt: timeSchema("When it changed last."),
    expiresAt: timeSchema("Until when it can be paid, or signed."),
    amountReceived: decimalOrEmptySchema(
      "Deposits: everything final on the address. Empty once the currency is no longer configured.",
      "0.5",
    ),
    late: flagSchema(
      "Deposits: money came after the request had ended, or when nothing waited for it.",
    ),
    metadata,
    renews: textSchema("The ended record with the same orderId that this one follows.", {
      examples: ["4be38f3ee1a16e4cd1f1a3a8b4a0d9c2"],
    }),
    refundOf: textSchema("Withdrawals: the deposit that this one pays back.", {
      examples: ["4be38f3ee1a16e4cd1f1a3a8b4a0d9c2"],
    }),
    value: fiatValue,
    mode: textSchema("Withdrawals: who decides.", { enum: ["auto", "manual"] }),
    paymentUri,
    paymentUrl,
    paymentTolerance,
    quote,
    fee: decimalOrEmptySchema(
      "Withdrawals: what it cost in the network's native coin; empty until known.",
      "0.00042",
    ),
    received: decimalOrEmptySchema(
      "Withdrawals that failed as `chain_moved`: what the receiver got. Empty once the currency is no longer configured.",
      "0.99",
    ),
  },
  {
    optional: [
      ...[
        "confirmations",
        "renews",
        "refundOf",
        "value",
        "amountReceived",
        "late",
        "paymentUri",
        "paymentUrl",
        "paymentTolerance",
        "quote",
      ],
      ...["mode", "fee", "received"],
    ],
  },
);

const currency = objectSchema("A supported currency.", {
  id: currencyId,
  name: textSchema("Name of the currency.", { examples: ["Ether"] }),
  symbol: textSchema("Symbol of the currency.", { examples: ["ETH"] }),
  decimal: { type: "integer", description: "Number of decimal places.", minimum: 0, maximum: 36 },
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
});

const balance = objectSchema("Balances of one currency's wallet.", {
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
});

const balances = objectSchema("The balances of all currencies.", {
  balances: {
    type: "array",
    description: "One for each currency that could be read.",
    items: schemaReference("Balance"),
  },
  unread: {
    type: "array",
    description: "Currencies whose chain was not read yet; ask again in some seconds.",
    items: currencyId,
  },
});

const estimate = objectSchema("The probable fee of a withdrawal.", {
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
    maximum: 25,
  },
  newestAt: textSchema("When the newest of them was completed; empty without any.", {
    examples: ["2026-01-02T03:04:05.678Z"],
  }),
});

const addressCheck = objectSchema("Whether an address can be paid.", {
  currency: currencyId,
  network,
  valid: flagSchema("Whether a withdrawal to it would be taken."),
  address: textSchema("The address in its checksummed form; empty for one that would be refused."),
  tag: textSchema("The tag that the address holds; empty for none."),
  code: textSchema("The code that a withdrawal would get; empty for a good address.", {
    examples: ["address_invalid"],
  }),
  reason: textSchema("The finer reason; empty without one."),
});

const event = objectSchema("An event: what a callback has, with its id.", {
  id: textSchema("The `webhook-id` of the event: the same for every delivery.", {
    examples: ["msg_3f0c1d0c4f0b4f1e9a7c5d2e8b6a4c10"],
  }),
  type: textSchema("The kind of event.", { examples: ["withdrawal.completed"] }),
  timestamp: timeSchema("When the record changed."),
  data: {
    description: "The record as it was then.",
    anyOf: [schemaReference("Transaction"), schemaReference("UnattributedRecord")],
  },
  sequence: { type: "integer", description: "Rises with each event of a record.", minimum: 1 },
});

const renewal = {
  renews: textSchema("The ended record with the same orderId that this one follows."),
  renewedBy: textSchema("The record with the same orderId that follows this ended one."),
};

export const schemas: Readonly<Record<string, Json>> = {
  ...orders,
  Transaction: transaction,
  Currency: currency,
  Balance: balance,
  Balances: balances,
  Estimate: estimate,
  AddressCheck: addressCheck,
  ...targetSchemas,
  Event: event,
  Events: objectSchema("Events, oldest first.", {
    events: { type: "array", description: "At most `limit`.", items: schemaReference("Event") },
    next: textSchema("The `after` of the next call.", { examples: ["1767323045678"] }),
  }),
  DepositResult: objectSchema(
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
      ...renewal,
      paymentUri,
      paymentUrl,
      paymentTolerance,
      quote,
    },
    { optional: ["quote", "renews", "renewedBy"] },
  ),
  WithdrawalResult: objectSchema(
    "A withdrawal that is stored for good.",
    {
      message: textSchema("For people; in the caller's language."),
      transactionId,
      status,
      stage,
      renews: renewal.renews,
    },
    { optional: ["renews"] },
  ),
  CancelOrder: objectSchema(
    "The withdrawal to cancel.",
    {
      transactionId: textSchema("The `transactionId` of a withdrawal.", {
        pattern: transactionIdPattern.source,
        examples: ["1c2d8f0b6e5a49d3a7b1c0d9e8f7a6b5"],
      }),
    },
    { isClosed: true },
  ),
  CancelResult: objectSchema("The result of a cancel.", {
    message: textSchema("For people; in the caller's language."),
    transactionId,
    cancelled: flagSchema("True if nothing is paid; false while the agent may still pay."),
    status,
    stage,
  }),
  ManyResult: objectSchema("The result of each order.", {
    answers: {
      type: "array",
      description: "In the order of the orders.",
      items: schemaReference("OneResult"),
    },
  }),
  OneResult: objectSchema("One order's own answer, as if it had been sent alone.", {
    orderId: textSchema("As it was sent; empty where it was no text."),
    httpStatus: {
      type: "integer",
      description: "The status that it would have had alone.",
      examples: [200],
    },
    answer: {
      description: "The body that it would have had alone.",
      anyOf: [schemaReference("WithdrawalResult"), schemaReference("Error")],
    },
  }),
  Error: objectSchema(
    "Every error. Branch on `code`, never on `message`.",
    {
      message: textSchema("For people; in the caller's language."),
      code: textSchema("Stable, language-free.", { examples: ["amount_format"] }),
      requestId: textSchema(
        "The answer's `X-Request-Id`; empty where the request was not even read.",
      ),
      field: textSchema("The field or parameter that is meant."),
      transactionId,
      reason: textSchema("The finer reason."),
      currency: currencyId,
      needed: decimalSchema("The amount that the order needs.", "1.01"),
      available: decimalSchema("The amount that is there.", "0.5"),
      minimum: decimalSchema("The smallest amount.", "0.001"),
      scope: textSchema("The scope that the key lacks."),
      callbackId,
      signed: flagSchema("422: whether anything was ever signed for it."),
      retryable: flagSchema("422: whether a new order is worth trying."),
      ...renewal,
    },
    {
      optional: [
        ...[
          "field",
          "transactionId",
          "reason",
          "currency",
          "needed",
          "available",
          "minimum",
          "scope",
          "signed",
          "retryable",
        ],
        "callbackId",
        ...["renews", "renewedBy"],
      ],
    },
  ),
  Readiness: objectSchema("What the gateway needs, and whether it is there.", {
    status: textSchema("In one word.", { enum: ["ready", "not ready"] }),
    checks: {
      type: "array",
      items: objectSchema("One need.", {
        name: textSchema("What is needed.", { examples: ["chain ethereum"] }),
        ok: flagSchema("Whether it is there."),
        detail: textSchema("Why not, or what is missing of it; empty when it is all there."),
      }),
    },
  }),
  Health: objectSchema("The process answers.", {
    status: textSchema("Always the same.", { enum: ["ok"] }),
  }),
};

/** A list of records with this schema. */
export const listSchema = (name: string): Json => ({ type: "array", items: schemaReference(name) });
