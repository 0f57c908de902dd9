/**
 * The rows of deposits and transfers as this program reads them: each kind has the fields that it
 * can have, under names that say what they are there. A text that is NULL in the table is "" in a
 * row; an amount and a receiver that nobody named are null.
 */
import type {
  DepositRow,
  SweepRow,
  TopUpRow,
  TransactionRow,
  TransferRow,
  WithdrawalRow,
} from "./rows.ts";

type Unset = "status" | "code" | "txHash" | "finalBlock" | "receivedUnits";
type UnsetOfRecord = Unset | "value" | "callbackStatus";

/** A new deposit: pending, nothing paid; of no invoice if it names none. */
export type NewDeposit = Omit<
  DepositRow,
  UnsetOfRecord | "operation" | "origin" | "late" | "acceptedAt" | "invoice"
> &
  Partial<Pick<DepositRow, "invoice">>;
/** A new withdrawal: pending, nothing signed. */
export type NewWithdrawal = Omit<WithdrawalRow, UnsetOfRecord | "feeUnits">;
/** A new transaction that an agent signs. */
export type NewTransfer =
  | NewWithdrawal
  | Omit<SweepRow, Unset | "feeUnits">
  | Omit<TopUpRow, Unset | "feeUnits">;

/** The order of a transfer `t` with `transferPartsSql`. */
export const orderOfTransferSql = "coalesce(w.orderId, s.address || '/' || s.ordinal, u.sweep)";
/** The currency of a transfer `t` with its row `u` of topUps, if it has one. */
export const currencyOfTransferSql = "coalesce(t.currency, u.sweptCurrency)";

type Fields = Readonly<Record<string, readonly [ofDeposit: string, ofTransfer: string]>>;

/** Each field of any row as both tables give it, so that one statement can list both. */
const fields: Fields = {
  id: ["d.id", "t.id"],
  merchant: ["d.merchant", "t.merchant"],
  operation: ["'deposit'", "t.operation"],
  origin: ["d.origin", "NULL"],
  orderId: ["d.orderId", orderOfTransferSql],
  renews: ["d.renews", "w.renews"],
  contentHash: ["d.contentHash", "t.contentHash"],
  network: ["d.network", "t.network"],
  currency: ["d.currency", currencyOfTransferSql],
  amount: ["d.amount", "t.amount"],
  units: ["d.units", "t.units"],
  address: ["d.address", "NULL"],
  payTo: ["d.payTo", "NULL"],
  payer: ["NULL", "t.payer"],
  receiver: ["NULL", "t.receiver"],
  tag: ["d.tag", "t.tag"],
  status: ["d.status", "t.status"],
  stage: ["d.stage", "t.stage"],
  code: ["coalesce(d.code, '')", "coalesce(t.code, '')"],
  txHash: ["coalesce(d.txHash, '')", "coalesce(t.txHash, '')"],
  feeUnits: ["NULL", "coalesce(t.feeUnits, '')"],
  receivedUnits: ["d.receivedUnits", "coalesce(m.receivedUnits, '0')"],
  finalBlock: ["d.finalBlock", "t.finalBlock"],
  createdAt: ["d.createdAt", "t.createdAt"],
  changedAt: ["d.changedAt", "t.changedAt"],
  expiresAt: ["d.expiresAt", "t.expiresAt"],
  late: ["d.late", "CAST(NULL AS INTEGER)"],
  acceptedAt: ["d.acceptedAt", "CAST(NULL AS INTEGER)"],
  invoice: ["coalesce(d.invoice, '')", "NULL"],
  quote: ["coalesce(d.quote, '')", "NULL"],
  toleranceUnits: ["coalesce(d.toleranceUnits, '0')", "NULL"],
  metadata: ["coalesce(d.metadata, '')", "coalesce(w.metadata, '')"],
  payToken: ["coalesce(d.payToken, '')", "NULL"],
  returnUrl: ["coalesce(d.returnUrl, '')", "NULL"],
  mode: ["NULL", "w.mode"],
  refundOf: ["NULL", "coalesce(w.refundOf, '')"],
  value: ["coalesce(d.value, '')", "coalesce(w.value, '')"],
  callbackStatus: ["d.callbackStatus", "w.callbackStatus"],
  addressIndex: ["CAST(NULL AS INTEGER)", "coalesce(s.addressIndex, u.addressIndex)"],
  nextSlot: ["NULL", "coalesce(s.nextSlot, '')"],
};

const namedFields = (place: 0 | 1): string =>
  Object.entries(fields)
    .map(([name, texts]) => `${texts[place]} AS ${name}`)
    .join(", ");

/** The fields of a deposit `d`, for `rowOf`. */
export const depositFieldsSql = namedFields(0);
/** The fields of a transfer `t` with `transferPartsSql`, for `rowOf`. */
export const transferFieldsSql = namedFields(1);
/** The tables with the columns that one kind of a transfer `t` alone has. */
export const transferPartsSql = `LEFT JOIN withdrawals w ON w.id = t.id LEFT JOIN sweeps s ON s.id = t.id
  LEFT JOIN topUps u ON u.id = t.id LEFT JOIN movedPayments m ON m.transactionId = t.id`;

/** Every deposit, and every transfer. */
export const depositsSql = `SELECT ${depositFieldsSql} FROM deposits d`;
export const transfersSql = `SELECT ${transferFieldsSql} FROM transfers t ${transferPartsSql}`;

/** The fields of a transaction of any kind. */
function sharedOf(row: TransactionRow) {
  return {
    id: row.id,
    merchant: row.merchant,
    orderId: row.orderId,
    currency: row.currency,
    network: row.network,
    tag: row.tag,
    status: row.status,
    stage: row.stage,
    code: row.code,
    txHash: row.txHash,
    finalBlock: row.finalBlock,
    receivedUnits: row.receivedUnits,
    createdAt: row.createdAt,
    changedAt: row.changedAt,
    expiresAt: row.expiresAt,
  };
}

/** The fields of a record that a shop sees. */
function recordOf({ renews, metadata, value, callbackStatus }: DepositRow | WithdrawalRow) {
  return { renews, metadata, value, callbackStatus };
}

/** The fields of what an agent signs. */
function transferOf({ contentHash, amount, units, payer, feeUnits }: TransferRow) {
  return { contentHash, amount, units, payer, feeUnits };
}

function depositOf(row: DepositRow): DepositRow {
  return {
    ...sharedOf(row),
    ...recordOf(row),
    operation: row.operation,
    origin: row.origin,
    contentHash: row.contentHash,
    amount: row.amount,
    units: row.units,
    address: row.address,
    payTo: row.payTo,
    toleranceUnits: row.toleranceUnits,
    quote: row.quote,
    payToken: row.payToken,
    returnUrl: row.returnUrl,
    late: row.late,
    acceptedAt: row.acceptedAt,
    invoice: row.invoice,
  };
}

function withdrawalOf(row: WithdrawalRow): WithdrawalRow {
  const { operation, mode, receiver, refundOf } = row;
  const transfer = { ...sharedOf(row), ...recordOf(row), ...transferOf(row) };
  return { ...transfer, operation, mode, receiver, refundOf };
}

function sweepOf(row: SweepRow): SweepRow {
  const { operation, receiver, addressIndex, nextSlot } = row;
  return { ...sharedOf(row), ...transferOf(row), operation, receiver, addressIndex, nextSlot };
}

function topUpOf(row: TopUpRow): TopUpRow {
  const { operation, receiver, addressIndex } = row;
  return { ...sharedOf(row), ...transferOf(row), operation, receiver, addressIndex };
}

/** The row without the fields of other kinds, which are null as it was read. */
export function narrowTransactionRow(read: TransactionRow): TransactionRow {
  switch (read.operation) {
    case "deposit":
      return depositOf(read);
    case "withdraw":
      return withdrawalOf(read);
    case "sweep":
      return sweepOf(read);
    case "topup":
      return topUpOf(read);
  }
}

/** The row that was found. */
export function narrowFoundRow(read: TransactionRow | undefined): TransactionRow | undefined {
  return read === undefined ? undefined : narrowTransactionRow(read);
}
