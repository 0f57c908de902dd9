/**
 * Rows of the table `transactions` by their operation: each kind has the fields that it can have,
 * under names that say what they are there. An amount and a receiver that nobody named are null.
 * Pure.
 */
import type {
  DepositRow,
  SweepRow,
  TopUpRow,
  TransactionColumns,
  TransactionRow,
  WithdrawalRow,
} from "./rows.ts";

type Unset = "status" | "code" | "txHash" | "finalBlock" | "receivedUnits";
type UnsetOfRecord = Unset | "value" | "callbackStatus";

/** A new deposit: pending, nothing paid. */
export type NewDeposit = Omit<DepositRow, UnsetOfRecord | "operation" | "origin" | "late">;
/** A new withdrawal: pending, nothing signed. */
export type NewWithdrawal = Omit<WithdrawalRow, UnsetOfRecord | "feeUnits">;
/** A new transaction that an agent signs. */
export type NewTransfer =
  | NewWithdrawal
  | Omit<SweepRow, Unset | "feeUnits">
  | Omit<TopUpRow, Unset | "feeUnits">;

/** The columns of a deposit that no shop asked for. */
const nobodys = { contentHash: "", amount: "0", amountUnits: "0" };

/** The columns of a new row; all others have their defaults. */
export type NewColumns = Omit<
  TransactionColumns,
  | ("status" | "code" | "txHash" | "finalBlock" | "feeUnits")
  | ("amountReceivedUnits" | "late" | "value" | "callbackStatus")
>;

/** The fields of a transaction of any kind. */
function sharedOf(columns: TransactionColumns) {
  return {
    id: columns.id,
    merchant: columns.merchant,
    orderId: columns.orderId,
    currency: columns.currency,
    network: columns.network,
    tag: columns.tag,
    status: columns.status,
    stage: columns.stage,
    code: columns.code,
    txHash: columns.txHash,
    finalBlock: columns.finalBlock,
    receivedUnits: columns.amountReceivedUnits,
    createdAt: columns.createdAt,
    changedAt: columns.changedAt,
    expiresAt: columns.expiresAt,
  };
}

/** The fields of a record that a shop sees. */
function recordOf(columns: TransactionColumns) {
  return {
    renews: columns.renews,
    metadata: columns.metadata,
    value: columns.value,
    callbackStatus: columns.callbackStatus,
  };
}

/** The fields of what an agent signs. */
function transferOf(columns: TransactionColumns) {
  return {
    contentHash: columns.contentHash,
    amount: columns.amount,
    units: columns.amountUnits,
    payer: columns.depositAddress,
    feeUnits: columns.feeUnits,
  };
}

function depositOf(columns: TransactionColumns): DepositRow {
  const isOrdered = columns.contentHash !== nobodys.contentHash;
  const isAsked = isOrdered || columns.amountUnits !== nobodys.amountUnits;
  const record = { ...sharedOf(columns), ...recordOf(columns), operation: "deposit" } as const;
  return {
    ...record,
    origin: isOrdered ? "ordered" : "unattributed",
    contentHash: isOrdered ? columns.contentHash : null,
    amount: isAsked ? columns.amount : null,
    units: isAsked ? columns.amountUnits : null,
    address: columns.depositAddress,
    payTo: columns.receiverAddress,
    toleranceUnits: columns.toleranceUnits,
    quote: columns.quote,
    payToken: columns.payToken,
    returnUrl: columns.returnUrl,
    late: columns.late,
  };
}

function withdrawalOf(columns: TransactionColumns): WithdrawalRow {
  const transfer = { ...sharedOf(columns), ...recordOf(columns), ...transferOf(columns) };
  return {
    ...transfer,
    operation: "withdraw",
    mode: columns.mode,
    receiver: columns.receiverAddress === "" ? null : columns.receiverAddress,
    refundOf: columns.refundOf,
  };
}

function internalOf<T extends "sweep" | "topup">(columns: TransactionColumns, operation: T) {
  const transfer = { ...sharedOf(columns), ...transferOf(columns) };
  return { ...transfer, operation, receiver: columns.receiverAddress, placeText: columns.metadata };
}

/** A row of the table as the row of its kind. */
export function rowOf(columns: TransactionColumns): TransactionRow {
  const { operation } = columns;
  switch (operation) {
    case "deposit":
      return depositOf(columns);
    case "withdraw":
      return withdrawalOf(columns);
    case "sweep":
    case "topup":
      return internalOf(columns, operation) as SweepRow | TopUpRow;
  }
}

/** The row of columns that were found. */
export function rowOrNone(columns: TransactionColumns | undefined): TransactionRow | undefined {
  return columns === undefined ? undefined : rowOf(columns);
}

/** The columns of a new deposit. */
export function depositColumns(row: NewDeposit): NewColumns {
  return {
    id: row.id,
    merchant: row.merchant,
    operation: "deposit",
    mode: "",
    orderId: row.orderId,
    contentHash: row.contentHash ?? nobodys.contentHash,
    currency: row.currency,
    network: row.network,
    amount: row.amount ?? nobodys.amount,
    amountUnits: row.units ?? nobodys.amountUnits,
    receiverAddress: row.payTo,
    depositAddress: row.address,
    tag: row.tag,
    stage: row.stage,
    createdAt: row.createdAt,
    changedAt: row.changedAt,
    expiresAt: row.expiresAt,
    quote: row.quote,
    metadata: row.metadata,
    toleranceUnits: row.toleranceUnits,
    payToken: row.payToken,
    returnUrl: row.returnUrl,
    renews: row.renews,
    refundOf: "",
  };
}

/** The columns of a new transaction that an agent signs. */
export function transferColumns(row: NewTransfer): NewColumns {
  const isWithdrawal = row.operation === "withdraw";
  return {
    id: row.id,
    merchant: row.merchant,
    operation: row.operation,
    mode: isWithdrawal ? row.mode : "",
    orderId: row.orderId,
    contentHash: row.contentHash,
    currency: row.currency,
    network: row.network,
    amount: row.amount,
    amountUnits: row.units,
    receiverAddress: row.receiver ?? "",
    depositAddress: row.payer,
    tag: row.tag,
    stage: row.stage,
    createdAt: row.createdAt,
    changedAt: row.changedAt,
    expiresAt: row.expiresAt,
    quote: "",
    metadata: isWithdrawal ? row.metadata : row.placeText,
    toleranceUnits: "0",
    payToken: "",
    returnUrl: "",
    renews: isWithdrawal ? row.renews : "",
    refundOf: isWithdrawal ? row.refundOf : "",
  };
}
