/**
 * Gathers the facts that the payment page shows of one request: its row, its payments, the
 * merchant and the configuration.
 */
import { familyOf } from "../../chains/families.ts";
import { findChainPreset } from "../../chains/presets.ts";
import { formatAmount } from "../../protocol/amount.ts";
import { explorerUrlOf } from "../answer/record.ts";
import type { GatewayConfig } from "../config/config.ts";
import type { Quote } from "../config/fiat.ts";
import { isAllowedOrigin } from "../config/origin.ts";
import type { OtherCoin, PayerView } from "../pages/payer-view.ts";
import type { Service } from "../service.ts";
import { isHeldOpen, listArriving } from "../store/arriving.ts";
import { type CountedPayment, listCounted, listOthersTo } from "../store/credits.ts";
import { depositEnd } from "../store/deposits.ts";
import { revokedStage } from "../store/gone-payments.ts";
import type { MerchantRow, TransactionRow } from "../store/rows.ts";
import { keptUnits } from "../store/transactions.ts";

const minuteSeconds = 60;

/**
 * The decimals of an amount by its two spellings, because its currency may be gone from the
 * configuration.
 */
export function decimalOf({
  amount,
  amountUnits,
}: Pick<TransactionRow, "amount" | "amountUnits">): number {
  const [whole = "", fraction = ""] = amount.split(".");
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  return fraction.length + amountUnits.length - digits.length;
}

function networkOf(row: TransactionRow, config: GatewayConfig): PayerView["network"] {
  const [name, chain] = Object.entries(config.chains).find(
    ([, one]) => one.network === row.network,
  ) ?? [row.network];
  const preset = findChainPreset(chain?.preset ?? "");
  const isToken = (config.currencies[row.currency]?.contract ?? "") !== "";
  const confirmations = chain?.confirmations;
  return {
    name: preset?.name ?? name,
    tokens: isToken ? (preset?.tokens ?? "") : "",
    isTest: preset?.isTest ?? false,
    confirmations: typeof confirmations === "number" ? confirmations : null,
    finalMinutes: preset === undefined ? null : Math.ceil(preset.finalSeconds / minuteSeconds),
  };
}

function othersOf({ config, store }: Service, row: TransactionRow): readonly OtherCoin[] {
  const units = new Map<string, bigint>();
  for (const { currency, leftUnits } of listOthersTo(store.database, row.id))
    units.set(currency, (units.get(currency) ?? 0n) + leftUnits);
  return [...units].map(([id, sum]) => {
    const currency = config.currencies[id];
    return currency === undefined
      ? { amount: "", symbol: id }
      : { amount: formatAmount(sum, currency.decimal), symbol: currency.symbol };
  });
}

/**
 * The newest payment's transaction, also before the payment is final; "" for coins that arrived
 * without a transaction of their own.
 */
function hashOf({ txHash }: TransactionRow, counted: readonly CountedPayment[]): string {
  const newest = counted.at(-1)?.txHash ?? "";
  return txHash !== "" || newest.startsWith("internal:") ? txHash : newest;
}

/**
 * Payments cannot be confirmed if the chain's blocks were not read for so long, because its nodes
 * do not answer or disagree, or the request's own currency or address.
 */
const unreadMsMax = 5 * 60_000;

/** `startedAt`: counts as the last pass until the first one is complete. */
export function payerView(
  service: Service,
  row: TransactionRow,
  merchant: MerchantRow,
  startedAt: number,
): PayerView {
  const { config, store, clock } = service;
  const nowMs = clock();
  const readAt = service.readAt(row.network) ?? startedAt;
  const place = { network: row.network, currency: row.currency, address: row.depositAddress };
  const isUnread = nowMs - Math.min(readAt, service.unreadSince(place) ?? nowMs) >= unreadMsMax;
  const currency = Object.hasOwn(config.currencies, row.currency)
    ? config.currencies[row.currency]
    : undefined;
  const { network, depositAddress: receiver } = row;
  const contract = currency?.contract;
  const counted = listCounted(store.database, row);
  const endBlock = depositEnd(store.database, row.id);
  const isBehind = ({ block, isHeld, isCredited }: CountedPayment): boolean =>
    row.status === 0 && endBlock !== null && block > endBlock && !isHeld && !isCredited;
  const seen = counted.filter((one) => !one.final && !isBehind(one));
  const inBlocks = new Set(counted.map((one) => one.txHash));
  const arriving = listArriving(store.database, row.id).filter((one) => !inBlocks.has(one.txHash));
  const txHash = hashOf(row, counted);
  return {
    shop: merchant.shownName === "" ? merchant.name : merchant.shownName,
    contact: merchant.contact,
    returnUrl:
      row.returnUrl !== "" && isAllowedOrigin(merchant.origins, row.returnUrl) ? row.returnUrl : "",
    orderId: row.orderId,
    network: networkOf(row, config),
    symbol: currency?.symbol ?? row.currency,
    decimal: currency?.decimal ?? decimalOf(row),
    amount: row.amount,
    amountUnits: BigInt(row.amountUnits),
    toleranceUnits: BigInt(row.toleranceUnits),
    finalUnits: keptUnits(store.database, row),
    seenUnits: seen.reduce((sum, { units }) => sum + units, 0n),
    arrivingUnits: arriving.reduce((sum, { units }) => sum + BigInt(units), 0n),
    isHeld: isHeldOpen(store.database, row.id),
    lateUnits: counted.filter(isBehind).reduce((sum, { units }) => sum + units, 0n),
    confirmations: row.status === 0 ? service.confirmations(row.id) : null,
    others: othersOf(service, row),
    address: row.receiverAddress,
    tag: row.tag,
    linkFor: (units) =>
      contract === undefined
        ? ""
        : familyOf(network).paymentUri({ network, contract, receiver, units }),
    quote: row.quote === "" ? null : (JSON.parse(row.quote) as Quote),
    status: row.status,
    isLate: row.late === 1,
    isRevoked: row.stage === revokedStage,
    isOut: currency === undefined || isUnread || service.outOfService(row.currency) !== "",
    isSlow: service.isLate(row.network),
    expiresAt: row.expiresAt,
    changedAt: row.changedAt,
    nowMs,
    txHash,
    explorerUrl: explorerUrlOf({ ...row, txHash }, config),
  };
}
