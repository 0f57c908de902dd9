/**
 * The operation that closes a shop's month: what a merchant had, received, paid and has, by
 * currency. Source: docs/api.md, A month's report.
 */
import { formatTimestampUtc } from "../../base/timestamp.ts";
import { type Answer, dataAnswer, problemAnswer } from "../answer/answer.ts";
import {
  flagSchema,
  type Json,
  type NamedSchema,
  objectSchema,
  schemaReference,
  textSchema,
  timeSchema,
} from "../answer/schema.ts";
import { type MonthRefusal, type NetworkMonth, reportMonth } from "../books/month-report.ts";
import type { PeriodLine } from "../books/period.ts";
import { signedAmount } from "../books/taking-in.ts";
import type { Service } from "../service.ts";
import type { MerchantRow } from "../store/rows.ts";
import { badQuery, defineGet, type Operation, type Query } from "./operation.ts";
import { sharedFields } from "./records.ts";

const { currencyId, network } = sharedFields;

/** A decimal number that may be negative: money that left. */
const signedSchema = (description: string, example: string): Json =>
  textSchema(description, {
    pattern: "^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$",
    examples: [example],
  });

const monthText = textSchema("The month in UTC.", {
  pattern: "^\\d{4}-(?:0[1-9]|1[0-2])$",
  examples: ["2026-11"],
});

const blockSchema = (description: string): Json => ({
  type: "integer",
  description: `${description} Absent while the network is unread.`,
  minimum: -1,
});

const networkMonth: NamedSchema = {
  name: "ReportNetwork",
  schema: objectSchema(
    "How far a network's month is known.",
    {
      network,
      state: textSchema(
        "`complete`: the month is over and read; `open`: more may come; `unread`: its blocks are not known yet, so its currencies have no lines.",
        { enum: ["complete", "open", "unread"] },
      ),
      afterBlock: blockSchema(
        "The last block before the month; -1 where the chain has none before it.",
      ),
      lastBlock: blockSchema("The last block of the month, or the newest final block of it."),
    },
    { optional: ["afterBlock", "lastBlock"] },
  ),
};

const line: NamedSchema = {
  name: "ReportLine",
  schema: objectSchema(
    "One currency. `opening` and the sums `paidIn`, `paidOut`, `fees`, `broughtIn` and `corrected` make `closing`; money that left is negative.",
    {
      currency: currencyId,
      network,
      opening: signedSchema("The balance before the month.", "10"),
      paidIn: signedSchema("Payments to deposit addresses.", "2"),
      paidOut: signedSchema("Withdrawals, without their fees.", "-1.5"),
      refunded: signedSchema("The part of `paidOut` that paid deposits back.", "-0.5"),
      fees: signedSchema("Fees of the network, in the coin that pays them.", "-0.00063"),
      feesOfWithdrawals: signedSchema("The part of `fees` for withdrawals.", "-0.00042"),
      feesOfSweeps: signedSchema(
        "The part of `fees` for moves from deposit addresses to the hot wallet.",
        "-0.00021",
      ),
      feesOfTopUps: signedSchema(
        "The part of `fees` for coins that went to deposit addresses so that a token could leave.",
        "0",
      ),
      broughtIn: signedSchema(
        "Money from outside that came to the hot wallet, what it had at the beginning of its books included.",
        "1",
      ),
      corrected: signedSchema(
        "Notes of the gateway's operator, and money that the owner of an address took from it.",
        "0",
      ),
      closing: signedSchema("The balance at the end.", "11.49937"),
    },
  ),
};

const report: NamedSchema = {
  name: "Report",
  schema: objectSchema("A merchant's month.", {
    month: monthText,
    since: timeSchema("The beginning of the month."),
    until: timeSchema("Its end, which is the beginning of the next one."),
    complete: flagSchema("Whether every network is `complete`."),
    networks: {
      type: "array",
      description: "Every network of the gateway.",
      items: schemaReference(networkMonth),
    },
    lines: {
      type: "array",
      description: "One for each currency that has anything in the month, by network.",
      items: schemaReference(line),
    },
  }),
};

const refusals: Readonly<Record<MonthRefusal, Answer>> = {
  month: badQuery("month"),
  busy: problemAnswer("rate_limited", {}, { "Retry-After": "5" }),
  crowded: problemAnswer("unavailable", {}, { "Retry-After": "5" }),
};

/** Harmless to call twice; a second report of a merchant at the same time is refused. */
async function readReport(service: Service, merchant: MerchantRow, query: Query): Promise<Answer> {
  const { month: text } = query;
  if (typeof text !== "string") return refusals.month;
  const made = await reportMonth(service, merchant, text);
  if (typeof made === "string") return refusals[made];
  const { month, networks } = made;
  return dataAnswer({
    month: month.name,
    since: formatTimestampUtc(month.sinceMs),
    until: formatTimestampUtc(month.untilMs),
    complete: networks.every(({ state }) => state === "complete"),
    networks: networks.map(networkOf),
    lines: networks.flatMap((one) => one.lines.map((line) => lineOf(service, one, line))),
  });
}

function networkOf({ network, state, blocks }: NetworkMonth): object {
  const named = { network, state };
  return blocks === null ? named : { ...named, afterBlock: blocks.before, lastBlock: blocks.last };
}

function lineOf({ config }: Service, { network }: NetworkMonth, line: PeriodLine): object {
  const decimal = config.currencies[line.currency]?.decimal ?? 0;
  const text = (units: bigint | null): string => signedAmount(units ?? 0n, decimal);
  return {
    currency: line.currency,
    network,
    opening: text(line.openingUnits),
    paidIn: text(line.inUnits),
    paidOut: text(line.outUnits),
    refunded: text(line.refundedUnits),
    fees: text(line.feeUnits),
    feesOfWithdrawals: text(line.withdrawalFeeUnits),
    feesOfSweeps: text(line.sweepFeeUnits),
    feesOfTopUps: text(line.topUpFeeUnits),
    broughtIn: text(line.broughtUnits),
    corrected: text(line.correctedUnits),
    closing: text(line.closingUnits),
  };
}

export const reportOperations: readonly Operation[] = [
  defineGet({
    id: "report",
    scope: "read",
    name: { en: "A month's report", tr: "Aylık rapor" },
    description:
      "A merchant's month for its bookkeeper: the sums that it had, received, paid and has, by currency, to the unit. A month is the blocks whose " +
      "own times are in it. One report of a merchant is made at a time.",
    query: { month: { schema: monthText, isRequired: true } },
    result: {
      schema: schemaReference(report),
      example: {
        month: "2026-11",
        since: "2026-11-01T00:00:00.000Z",
        until: "2026-12-01T00:00:00.000Z",
        complete: true,
        networks: [
          {
            network: "eip155:1",
            state: "complete",
            afterBlock: 25_100_000,
            lastBlock: 25_316_000,
          },
        ],
        lines: [
          {
            currency: "eth",
            network: "eip155:1",
            opening: "10",
            paidIn: "2",
            paidOut: "-1.5",
            refunded: "-0.5",
            fees: "-0.00063",
            feesOfWithdrawals: "-0.00042",
            feesOfSweeps: "-0.00021",
            feesOfTopUps: "0",
            broughtIn: "1",
            corrected: "0",
            closing: "11.49937",
          },
          {
            currency: "usdt",
            network: "eip155:1",
            opening: "1000",
            paidIn: "50",
            paidOut: "-30",
            refunded: "0",
            fees: "0",
            feesOfWithdrawals: "0",
            feesOfSweeps: "0",
            feesOfTopUps: "0",
            broughtIn: "0",
            corrected: "0",
            closing: "1020",
          },
        ],
      },
    },
    answer: (service, { caller, query }) => readReport(service, caller.merchant, query),
  }),
];
