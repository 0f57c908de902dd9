/**
 * The records, fields and errors that several operations have in common, as schemas. A test sends
 * every field that an order may have, and compares each answer of the running gateway with these
 * schemas: both have exactly the same fields. Sources: the interface; docs/api.md.
 */
import { titlesOfFamilies } from "../../chains/families.ts";
import type { Family } from "../../chains/family.ts";
import { mainNetworkByAddressSpace } from "../../chains/network-names.ts";
import { currencyPattern, orderIdPattern, transactionIdPattern } from "../../protocol/fields.ts";
import { metadataLimits } from "../answer/body.ts";
import type { AnswerCode } from "../answer/messages.ts";
import {
  decimalOrEmptySchema,
  decimalSchema,
  flagSchema,
  type Json,
  type NamedSchema,
  type ObjectSchema,
  objectSchema,
  oneOfNumbersSchema,
  textSchema,
  timeSchema,
} from "../answer/schema.ts";
import { fiats } from "../config/fiat.ts";

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
  pattern: transactionIdPattern.source,
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
  "0 Pending, 1 Completed, 2 Failed. 1 and 2 never change again, but for an expired deposit that the shop accepts or the operator credits: it goes from 2 to 1.",
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
const renew = textSchema(
  "The `transactionId` of an ended request with this orderId and content, which this one follows.",
  {
    pattern: transactionIdPattern.source,
    examples: ["4be38f3ee1a16e4cd1f1a3a8b4a0d9c2"],
  },
);
const refundOf = textSchema("The `transactionId` of the deposit that this withdrawal pays back.", {
  pattern: transactionIdPattern.source,
  examples: ["4be38f3ee1a16e4cd1f1a3a8b4a0d9c2"],
});

const callbackId = textSchema("Identifier of the callback target.", {
  examples: ["cb_6f0c1d0c4f0b4f1e"],
});

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

const renewal = {
  renews: textSchema("The ended record with the same orderId that this one follows."),
  renewedBy: textSchema("The record with the same orderId that follows this ended one."),
};

/** Schemas of fields, by name, that more than one operation has. */
export const sharedFields = {
  transactionId,
  currencyId,
  orderId,
  network,
  tag,
  amount,
  status,
  stage,
  metadata,
  renew,
  fiatCurrency,
  fiatAmount,
  address,
  orderTag,
  refundOf,
  callbackId,
  paymentTolerance,
  quote,
  paymentUri,
  paymentUrl,
  ...renewal,
};

/** The fields that every order by an amount has. */
export const orderFields = { currency: currencyId, amount, orderId, metadata, renew };

/** The currency that a path names. */
export const currencyInPath = textSchema("A currency's id.", { examples: ["eth"] });

const transactionSchema = objectSchema(
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
    accepted: flagSchema(
      "Deposits: true where it had ended, and the shop or the operator took it as paid; it may be short. Absent otherwise.",
    ),
    invoice: textSchema("Deposits: the invoice that it is a choice of; absent otherwise.", {
      pattern: transactionIdPattern.source,
      examples: ["b3c1a3f09e5d4c2b8f7e6a5d4c3b2a19"],
    }),
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
        "accepted",
        "invoice",
        "paymentUri",
        "paymentUrl",
        "paymentTolerance",
        "quote",
      ],
      ...["mode", "fee", "received"],
    ],
  },
);

export const transactionRecord: NamedSchema<ObjectSchema> = {
  name: "Transaction",
  schema: transactionSchema,
};

const { properties: recordFields, ...recordShape } = transactionSchema;
const {
  mode: _mode,
  fee: _fee,
  refundOf: _refundOf,
  received: _received,
  ...depositFields
} = recordFields; // the others are only in withdrawals

export const unattributedRecord: NamedSchema<ObjectSchema> = {
  name: "UnattributedRecord",
  schema: {
    ...recordShape,
    description: "A deposit, with what came besides.",
    properties: {
      ...depositFields,
      unattributed: objectSchema("What came.", {
        currency: textSchema("The `id` of the currency that came.", { examples: ["usdt"] }),
        amount: decimalOrEmptySchema(
          "How much of it; empty once it is no longer configured.",
          "7.5",
        ),
        txHash: textSchema("The transaction that brought it."),
      }),
    },
    required: [...recordShape.required, "unattributed"],
  },
};

export const errorBody: NamedSchema = {
  name: "Error",
  schema: objectSchema(
    "Every error. Branch on `code`, never on `message`.",
    {
      message: textSchema("For people; in the caller's language."),
      code: textSchema("Stable, language-free.", { examples: ["amount_format"] }),
      requestId: textSchema(
        "The answer's `X-Request-Id`; empty where the request was not even read.",
      ),
      field: textSchema("The field or parameter that is meant."),
      transactionId,
      invoice: textSchema("Identifier of the invoice."),
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
          "invoice",
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
};

/** The codes of every order of money. */
export const orderCodes: readonly AnswerCode[] = [
  ...(["currency_unknown", "currency_disabled", "currency_not_payable"] as const),
  ...([
    "amount_format",
    "amount_precision",
    "amount_below_minimum",
    "order_id_invalid",
    "order_id_reused",
    "renew_invalid",
    "not_renewable",
    "metadata_invalid",
  ] as const),
];

/** A transaction as the examples of the description show one. */
export const transactionExample = {
  transactionId: "a7b92b8b4b5f7ad3c3d0f6c9b1f0f2e1",
  receiverAddress: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  depositAddress: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  orderId: "out-77",
  tag: "",
  currency: "eth",
  amount: "0.5",
  callbackStatus: 1,
  createdAt: "2026-01-02T03:04:05.678Z",
  status: 1,
  transactionType: 2,
  network: "eip155:1",
  stage: "completed",
  code: "",
  txHash: "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
  explorerUrl:
    "https://etherscan.io/tx/0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
  changedAt: "2026-01-02T03:18:40.120Z",
  expiresAt: "2026-01-03T03:04:05.678Z",
  metadata: { customer: "C-1042" },
  value: { usd: "1500", eur: "1400.25", try: "63000", pricedAt: "2026-01-02T03:18:00.000Z" },
  mode: "auto",
  fee: "0.00042",
};
