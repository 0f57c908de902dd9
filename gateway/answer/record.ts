/**
 * A transaction's row in the form of the interface, with the project's own fields added. Fields
 * never change meaning; clients ignore unknown fields. Source: the interface, section on records;
 * docs/api.md.
 */
import { familyOf } from "../../chains/families.ts";
import { payeeOf } from "../../chains/payees.ts";
import { formatAmount } from "../../protocol/amount.ts";
import type { GatewayConfig } from "../config/config.ts";
import type { FiatSums, Quote } from "../config/fiat.ts";
import { movedCode } from "../store/moved-payments.ts";
import type { TransactionRow } from "../store/rows.ts";
import { type AsideKeeper, putAside, runGuarded } from "../store/set-aside.ts";

/**
 * Payment data of a deposit: the link for wallets, the payment page, the amount that may be
 * missing, and the quote if there is one. The link is "" if the currency is no longer served or its
 * chain has no links.
 */
export function paymentOf(
  row: TransactionRow,
  config: Pick<GatewayConfig, "currencies" | "publicUrl">,
): object {
  const { currencies } = config;
  const currency = Object.hasOwn(currencies, row.currency) ? currencies[row.currency] : undefined;
  const contract = currency?.contract;
  const place = {
    network: row.network,
    receiver: row.depositAddress,
    units: BigInt(row.amountUnits),
  };
  return {
    paymentUri:
      contract === undefined ? "" : familyOf(row.network).paymentUri({ ...place, contract }),
    paymentUrl: payerPageUrl(row, config),
    paymentTolerance:
      currency === undefined ? "" : formatAmount(BigInt(row.toleranceUnits), currency.decimal),
    ...(row.quote === "" ? {} : { quote: JSON.parse(row.quote) as Quote }),
  };
}

/** The address of a request's page for its customer; "" for a record without one. */
export function payerPageUrl(
  { payToken }: Pick<TransactionRow, "payToken">,
  { publicUrl }: { readonly publicUrl: string },
): string {
  return payToken === "" ? "" : `${publicUrl}/pay/${payToken}`;
}

/** Sources of a record's fields that are not in its row. */
export interface RecordContext {
  readonly config: Pick<GatewayConfig, "chains" | "currencies" | "publicUrl">;
  readonly confirmations: (transactionId: string) => number | null; // null if unknown
}

/** A link for people; "" while there is no transaction, or if no explorer is configured. */
export function explorerUrlOf(
  { network, txHash }: TransactionRow,
  { chains }: Pick<GatewayConfig, "chains">,
): string {
  const explorer = Object.values(chains).find((chain) => chain.network === network)?.explorer ?? "";
  return txHash === "" || explorer === "" ? "" : `${explorer}${txHash}`;
}

export function recordOf(row: TransactionRow, { config, confirmations }: RecordContext): object {
  const decimal = config.currencies[row.currency]?.decimal;
  const blocks = row.status === 0 ? confirmations(row.id) : null;
  const isDeposit = row.operation === "deposit";
  return {
    transactionId: row.id,
    receiverAddress: row.receiverAddress,
    depositAddress: isDeposit
      ? payeeOf(row.network, row.depositAddress).address
      : row.depositAddress,
    orderId: row.orderId,
    tag: row.tag,
    currency: row.currency,
    amount: row.amount,
    callbackStatus: row.callbackStatus,
    createdAt: new Date(row.createdAt).toISOString(),
    status: row.status,
    transactionType: isDeposit ? 1 : 2,
    network: row.network,
    stage: row.stage,
    code: row.code,
    txHash: row.txHash,
    explorerUrl: explorerUrlOf(row, config),
    ...(blocks === null ? {} : { confirmations: blocks }),
    changedAt: new Date(row.changedAt).toISOString(),
    expiresAt: new Date(row.expiresAt).toISOString(),
    metadata: row.metadata === "" ? {} : JSON.parse(row.metadata),
    ...(row.renews === "" ? {} : { renews: row.renews }),
    ...(row.refundOf === "" ? {} : { refundOf: row.refundOf }),
    ...(row.value === "" ? {} : { value: JSON.parse(row.value) as FiatSums }),
    ...(isDeposit
      ? {
          amountReceived:
            decimal === undefined ? "" : formatAmount(BigInt(row.amountReceivedUnits), decimal),
          late: row.late === 1,
          ...paymentOf(row, config),
        }
      : {
          mode: row.mode,
          fee:
            row.feeUnits === ""
              ? ""
              : formatAmount(BigInt(row.feeUnits), familyOf(row.network).fees.decimal),
          ...(row.code === movedCode
            ? {
                received:
                  decimal === undefined
                    ? ""
                    : formatAmount(BigInt(row.amountReceivedUnits), decimal),
              }
            : {}),
        }),
  };
}

/** The code of a record that cannot be shown whole. */
export const unreadableCode = "record_unreadable";

/** A time of a row, also of one that no calendar has. */
function timeText(ms: number): string {
  const time = new Date(ms);
  return new Date(Number.isNaN(time.getTime()) ? 0 : time).toISOString();
}

/**
 * The columns of a row as they stand there, without anything that is made from them: a record for
 * lists, in the place of one that cannot be made. Never throws.
 */
export function bareRecord(row: TransactionRow): object {
  const isDeposit = row.operation === "deposit";
  return {
    transactionId: row.id,
    receiverAddress: row.receiverAddress,
    depositAddress: row.depositAddress,
    orderId: row.orderId,
    tag: row.tag,
    currency: row.currency,
    amount: row.amount,
    callbackStatus: row.callbackStatus,
    createdAt: timeText(row.createdAt),
    status: row.status,
    transactionType: isDeposit ? 1 : 2,
    network: row.network,
    stage: row.stage,
    code: unreadableCode,
    txHash: row.txHash,
    explorerUrl: "",
    changedAt: timeText(row.changedAt),
    expiresAt: timeText(row.expiresAt),
    metadata: {},
    ...(isDeposit
      ? {
          amountReceived: "",
          late: row.late === 1,
          paymentUri: "",
          paymentUrl: "",
          paymentTolerance: "",
        }
      : { mode: row.mode, fee: "" }),
  };
}

/**
 * The text of a record, by `write`. A record of which none can be made is set aside, and written
 * bare.
 */
export function writeRecord<T>(
  row: TransactionRow,
  context: RecordContext & AsideKeeper,
  write: (record: object) => T,
): T {
  const written = runGuarded(() => write(recordOf(row, context)));
  if (written.ok) return written.value;
  putAside(context, { kind: "record", id: row.id, about: row.id }, written.error);
  return write(bareRecord(row));
}

/**
 * The columns of a table of records. A field that a record lacks is empty. A test compares the
 * columns with the record's own fields.
 */
export const csvColumns = [
  ...[
    "transactionId",
    "transactionType",
    "orderId",
    "currency",
    "amount",
    "status",
    "stage",
    "code",
    "createdAt",
    "changedAt",
  ],
  ...[
    "expiresAt",
    "receiverAddress",
    "depositAddress",
    "tag",
    "network",
    "txHash",
    "confirmations",
    "amountReceived",
    "late",
  ],
  ...[
    "mode",
    "fee",
    "callbackStatus",
    "paymentUri",
    "paymentUrl",
    "paymentTolerance",
    "quote",
    "metadata",
    "explorerUrl",
    "renews",
    "refundOf",
    "value",
    "received",
  ],
] as const;
