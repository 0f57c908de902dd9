/**
 * The part that the lists of deposits and of withdrawals share: the options, and the output of one
 * record for operators and scripts.
 */
import type { Command } from "commander";
import { InvalidArgumentError } from "commander";
import { formatAmount } from "../../protocol/amount.ts";
import type { Operation } from "../../protocol/identity.ts";
import type { CsvTable } from "../answer/csv-cell.ts";
import { amountOf, unreadableCode, writeRecord } from "../answer/record.ts";
import { recordColumnsOf, recordRowOf } from "../answer/record-columns.ts";
import { nativeCurrencyOf } from "../balance/funds.ts";
import type { GatewayConfig } from "../config/config.ts";
import type { AuditAct } from "../store/audit.ts";
import { runGuarded, setRowAside } from "../store/set-aside.ts";
import type {
  DepositWithMerchant,
  RecordWithMerchant,
  TransactionQuery,
  TransactionWithMerchant,
} from "../store/transaction-lists.ts";
import { formatTimestamp, type OperatorContext } from "./accounts.ts";
import { type JsonOption, printCsv } from "./command.ts";
import {
  addConfigAndJsonOptions,
  addCsvOptions,
  type CsvOptions,
  readMomentOption,
  readRowCount,
} from "./words.ts";

export interface ListOptions extends JsonOption, CsvOptions {
  readonly merchant?: string;
  readonly status?: number;
  readonly stage?: string;
  readonly order?: string;
  readonly since?: number;
  readonly until?: number;
  readonly late?: boolean;
  readonly reorged?: boolean;
  readonly held?: boolean;
  readonly limit: number;
}

const rowsDefault = 50;

/** Adds the filters to a list's command, and CSV. */
export function addRecordFilters(command: Command): Command {
  return addCsvOptions(addConfigAndJsonOptions(command))
    .option("--merchant <id>", "whose")
    .option("--status <number>", "0 Pending, 1 Completed, 2 Failed", statusOf)
    .option("--stage <stage>", "as the lists show it, for example queued or partial", stageOf)
    .option("--order <orderId>", "the shop's own reference")
    .option("--since <time>", "made at this time or later, in UTC", readMomentOption)
    .option("--until <time>", "made before this time, in UTC", readMomentOption)
    .option("--limit <number>", "how many, the newest first", readRowCount, rowsDefault);
}

function statusOf(text: string): number {
  if (!/^[012]$/.test(text)) throw new InvalidArgumentError("0, 1 or 2");
  return Number(text);
}

function stageOf(text: string): string {
  if (!/^[a-z_]{1,40}$/.test(text))
    throw new InvalidArgumentError("small letters and _, as the lists show it");
  return text;
}

export const queryOf = <T extends Operation>(
  operations: readonly T[],
  options: ListOptions,
): TransactionQuery<T> => ({
  operations,
  merchant: options.merchant,
  status: options.status,
  stage: options.stage,
  orderId: options.order,
  sinceMs: options.since,
  untilMs: options.until,
  isLate: options.late,
  isReorged: options.reorged,
  isHeld: options.held,
  most: options.limit,
});

/** Prints records as CSV: the merchant, and the columns of the shop's own table. */
export function printRecords(
  by: OperatorContext,
  table: CsvTable,
  rows: readonly RecordWithMerchant[],
  config: GatewayConfig,
): void {
  const feeAssetOn = (network: string): string => nativeCurrencyOf(config, network)?.id ?? "";
  const listed = rows.map((row) => recordRowOf(table, jsonOfRecord(by, row, config), feeAssetOn));
  printCsv(table, { merchantId: "text", merchant: "text", ...recordColumnsOf(table) }, listed);
}

/** The record as GET transaction answers it, with its merchant. */
export function jsonOfRecord(
  { store, nowMs }: Pick<OperatorContext, "store" | "nowMs">,
  row: TransactionWithMerchant,
  config: GatewayConfig,
): object {
  const context = { config, confirmations: () => null, store, clock: () => nowMs };
  return {
    merchantId: row.merchant,
    merchant: row.merchantName,
    ...writeRecord(row, context, (record) => record),
  };
}

/** An amount in the usual notation; in base units if the currency left the configuration. */
export function amountText(config: GatewayConfig, currency: string, units: string): string {
  const known = config.currencies[currency];
  return known === undefined
    ? `${units} base units of ${currency}`
    : `${formatAmount(BigInt(units), known.decimal)} ${currency}`;
}

/** For example "1 eth of 2". */
export function receivedText(config: GatewayConfig, row: DepositWithMerchant): string {
  return `${amountText(config, row.currency, row.receivedUnits)} of ${amountOf(row)}`;
}

export const statusNames = ["Pending", "Completed", "Failed"] as const;

/** The first two lines about a record. */
export function describeRecord(row: TransactionWithMerchant, amount: string): string {
  const late = row.operation === "deposit" && row.late === 1 ? ", paid late" : "";
  const code = row.code === "" ? "" : `, ${row.code}`;
  return [
    `${row.id}  ${statusNames[row.status]} (${row.stage}${code}${late})  ${amount}`,
    `  order ${row.orderId}  ${row.merchantName} (${row.merchant})  made ${formatTimestamp(row.createdAt)}`,
  ].join("\n");
}

/** The line of a record in a list, by `write`; a record of which none can be made is set aside. */
export function writeLineOrSetAside(
  { store, nowMs }: Pick<OperatorContext, "store" | "nowMs">,
  row: TransactionWithMerchant,
  write: () => string,
): string {
  const line = runGuarded(write);
  if (line.ok) return line.value;
  setRowAside(
    { store, clock: () => nowMs },
    { kind: "record", id: row.id, about: row.id },
    line.error,
  );
  return `${row.id}  ${unreadableCode}\n  order ${row.orderId}  ${row.merchantName} (${row.merchant}); next: autowithdraw-gateway rows list`;
}

/** The acts on a record, as lines; no newline at the end, "" without acts. */
export function describeActs(acts: readonly AuditAct[]): string {
  return acts
    .map(
      ({ at, actor, act, detail }) =>
        `  ${formatTimestamp(at)}  ${actor}: ${act}${detail === "" ? "" : `: ${detail}`}`,
    )
    .join("\n");
}

export const jsonOfActs = (acts: readonly AuditAct[]): readonly object[] =>
  acts.map(({ at, actor, act, detail }) => ({ at: formatTimestamp(at), actor, act, detail }));
