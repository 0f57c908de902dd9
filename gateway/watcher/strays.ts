/**
 * Decides if a final payment is a row of its own or a part of a sum, so that a payment that nobody
 * asked for costs the same however many came before: below the least payment and to no open request
 * it is a part of a sum; a request has at most `paymentRowsMax` rows, and an account as many in a
 * day that nobody asked for. Source: docs/architecture.md section 8.
 */
import { payeeOf } from "../../chains/payees.ts";
import { parseAmount } from "../../protocol/amount.ts";
import { depositEndBlock } from "../store/deposits.ts";
import { ownerOfTaggedAccount, readForgotten } from "../store/forgotten-addresses.ts";
import { wasPaidInOtherBlock } from "../store/gone-payments.ts";
import { readPayment } from "../store/payments.ts";
import type { DepositRow, PaymentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import {
  addStrayRowCount,
  addToSum,
  dayOf,
  hasSumAt,
  isPaymentRowLimitReached,
  paymentRowsMax,
  readStrayRowCount,
  type StraySumRow,
} from "../store/stray-sums.ts";
import { readDeposit } from "../store/transactions.ts";
import { raiseAlarm, type WatchedChain } from "./chain.ts";
import { creditFinalPayment } from "./payments.ts";

/** The transaction id of a payment to an address of ours that no request and no row names. */
export const noRequestId = "";

/** Base units below which a payment that nobody asked for is no row. */
export function strayRowUnitsMin({ currencies }: WatchedChain, currency: string): bigint {
  const one = currencies.find(({ id }) => id === currency);
  const least =
    one?.minPaymentAmount === undefined ? null : parseAmount(one.minPaymentAmount, one.decimal);
  return least?.ok === true ? least.units : 0n;
}

/** True if an account has as many payments that nobody asked for as rows today as it may. */
export function isStrayDayFull(
  { store, network, clock }: WatchedChain,
  account: string,
  more = 0,
): boolean {
  return (
    readStrayRowCount(store.database, network, account, dayOf(clock())) + more >= paymentRowsMax
  );
}

/**
 * Keeps a final payment, as a row or in a sum. `summedTo`: payments up to this block are in sums
 * already, and only what no sum has is kept again, as rows.
 * @returns the ids of the requests to judge
 */
export function keepPayment(
  chain: WatchedChain,
  database: Database,
  payment: PaymentRow,
  summedTo: number,
): readonly string[] {
  const { transactionId, currency, network, address } = payment;
  const asRow = (): readonly string[] => creditFinalPayment(chain, database, payment);
  const request = transactionId === noRequestId ? undefined : readDeposit(database, transactionId);
  if (readPayment(database, payment)?.final === 1 || wasPaidInOtherBlock(database, payment))
    return asRow();
  const isFull = request !== undefined && isPaymentRowLimitReached(database, transactionId);
  const place = {
    account: payeeOf(network, address).address,
    merchant: merchantOf(database, payment, request),
  };
  const isNew = payment.block > summedTo;
  if (request?.status === 0 && request.currency === currency && request.network === network) {
    if (!isFull) return asRow();
    if (isNew) sum(database, payment, { ...place, kind: "more", transactionId });
    return [transactionId];
  }
  const isDust = BigInt(payment.units) < strayRowUnitsMin(chain, currency);
  // A block that is read again on another day, or when its request is open no more, has rows left
  // for what a sum has already.
  const isSummed = !isNew && hasSumAt(database, network, place.account, payment.block, currency);
  if (
    !isDust &&
    !isSummed &&
    transactionId !== noRequestId &&
    !isFull &&
    !isStrayDayFull(chain, place.account)
  ) {
    addStrayRowCount(database, network, place.account, dayOf(chain.clock()));
    return asRow();
  }
  if (!isNew) return [];
  sum(database, payment, {
    ...place,
    kind: isDust ? "dust" : "more",
    transactionId: noRequestId,
  });
  if (!isDust) tellStrays(chain, database, place);
  return [];
}

function merchantOf(
  database: Database,
  { network, address }: PaymentRow,
  request: DepositRow | undefined,
): string {
  if (request !== undefined) return request.merchant;
  const { address: account } = payeeOf(network, address);
  return (
    (readForgotten(database, address) ?? ownerOfTaggedAccount(database, network, account))
      ?.merchant ?? ""
  );
}

function sum(
  database: Database,
  payment: PaymentRow,
  {
    account,
    merchant,
    kind,
    transactionId,
  }: Pick<StraySumRow, "account" | "merchant" | "kind" | "transactionId">,
): void {
  const { network, currency, txHash, block, units } = payment;
  const end = transactionId === noRequestId ? null : depositEndBlock(database, transactionId);
  addToSum(database, {
    network,
    account,
    currency,
    kind,
    transactionId,
    merchant,
    txHash,
    block,
    units: BigInt(units),
    end,
  });
}

function tellStrays(
  chain: WatchedChain,
  database: Database,
  { account, merchant }: Pick<StraySumRow, "account" | "merchant">,
): void {
  const day = new Date(chain.clock()).toISOString().slice(0, 10);
  const detail = `${account} of ${merchant} got more than ${paymentRowsMax} payments that nobody asked for on ${day}; further ones are sums`;
  raiseAlarm(chain, database, { code: "WATCHER_STRAYS", subject: account, detail });
}
