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
import type { DepositRow, SweepRow, TopUpRow, TransactionRow, TransferRow } from "../store/rows.ts";
import { type AsideKeeper, runGuarded, setRowAside } from "../store/set-aside.ts";

interface PaymentFields {
  readonly paymentUri: string;
  readonly paymentUrl: string;
  readonly paymentTolerance: string;
  readonly quote?: Quote;
}

/**
 * Payment data of a deposit: the link for wallets, the payment page, the amount that may be
 * missing, and the quote if there is one. The link is "" if the currency is no longer served or its
 * chain has no links.
 */
export function paymentFieldsOf(
  row: DepositRow,
  config: Pick<GatewayConfig, "currencies" | "publicUrl">,
): PaymentFields {
  const { currencies } = config;
  const currency = Object.hasOwn(currencies, row.currency) ? currencies[row.currency] : undefined;
  const contract = currency?.contract;
  const place = {
    network: row.network,
    receiver: row.address,
    units: BigInt(row.units ?? 0),
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
  { payToken }: Pick<DepositRow, "payToken">,
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
  const blocks = row.status === 0 ? confirmations(row.id) : null;
  const { metadata, callbackStatus, renews, refundOf, value } = shopFields(row);
  return {
    transactionId: row.id,
    ...placesOf(row),
    orderId: row.orderId,
    tag: row.tag,
    currency: row.currency,
    amount: amountOf(row),
    callbackStatus,
    createdAt: new Date(row.createdAt).toISOString(),
    status: row.status,
    transactionType: row.operation === "deposit" ? 1 : 2,
    network: row.network,
    stage: row.stage,
    code: row.code,
    txHash: row.txHash,
    explorerUrl: explorerUrlOf(row, config),
    ...(blocks === null ? {} : { confirmations: blocks }),
    changedAt: new Date(row.changedAt).toISOString(),
    expiresAt: new Date(row.expiresAt).toISOString(),
    metadata: metadata === "" ? {} : JSON.parse(metadata),
    ...(renews === "" ? {} : { renews }),
    ...(refundOf === "" ? {} : { refundOf }),
    ...(value === "" ? {} : { value: JSON.parse(value) as FiatSums }),
    ...(row.operation === "deposit" ? depositFields(row, config) : transferFields(row, config)),
  };
}

/** The amount of a record; "0" for a deposit that nobody asked for. */
export function amountOf({ amount }: TransactionRow): string {
  return amount ?? "0";
}

/** The fields that a shop sets or hears; a sweep and a top-up, which no shop orders, have none. */
function shopFields(row: TransactionRow) {
  switch (row.operation) {
    case "deposit":
      return { ...row, refundOf: "" };
    case "withdraw":
      return row;
    case "sweep":
    case "topup":
      return { metadata: metadataOf(row), callbackStatus: 3, renews: "", refundOf: "", value: "" };
  }
}

/** The place of the deposit address of a sweep or a top-up, as JSON. */
function metadataOf(row: SweepRow | TopUpRow): string {
  const { addressIndex: depositIndex } = row;
  const depositNext = row.operation === "sweep" ? row.nextSlot : "";
  return JSON.stringify(depositNext === "" ? { depositIndex } : { depositIndex, depositNext });
}

/** The interface's two addresses of a record. */
function placesOf(row: TransactionRow): object {
  return row.operation === "deposit"
    ? { receiverAddress: row.payTo, depositAddress: payeeOf(row.network, row.address).address }
    : { receiverAddress: row.receiver ?? "", depositAddress: row.payer };
}

/** The interface's mode of a withdrawal; "" for a sweep and a top-up. */
function modeOf(row: TransferRow): string {
  return row.operation === "withdraw" ? row.mode : "";
}

/** The received amount, in the currency's own decimals; "" if it is no longer served. */
function receivedOf(
  { currency, receivedUnits }: TransactionRow,
  { currencies }: RecordContext["config"],
): string {
  const decimal = currencies[currency]?.decimal;
  return decimal === undefined ? "" : formatAmount(BigInt(receivedUnits), decimal);
}

/** A payment that left the chain ends the acceptance as well. */
export const isAccepted = ({ status, acceptedAt }: DepositRow): boolean =>
  status === 1 && acceptedAt !== null;

function depositFields(row: DepositRow, config: RecordContext["config"]): object {
  return {
    amountReceived: receivedOf(row, config),
    late: row.late === 1,
    ...(isAccepted(row) ? { accepted: true } : {}),
    ...(row.invoice === "" ? {} : { invoice: row.invoice }),
    ...paymentFieldsOf(row, config),
  };
}

function transferFields(row: TransferRow, config: RecordContext["config"]): object {
  return {
    mode: modeOf(row),
    fee:
      row.feeUnits === ""
        ? ""
        : formatAmount(BigInt(row.feeUnits), familyOf(row.network).fees.decimal),
    ...(row.code === movedCode ? { received: receivedOf(row, config) } : {}),
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
    receiverAddress: isDeposit ? row.payTo : (row.receiver ?? ""),
    depositAddress: isDeposit ? row.address : row.payer,
    orderId: row.orderId,
    tag: row.tag,
    currency: row.currency,
    amount: amountOf(row),
    callbackStatus: shopFields(row).callbackStatus,
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
      : { mode: modeOf(row), fee: "" }),
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
  setRowAside(context, { kind: "record", id: row.id, about: row.id }, written.error);
  return write(bareRecord(row));
}
