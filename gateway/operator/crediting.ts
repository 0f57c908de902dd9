/**
 * Credits payments that count for no request to the right request: money at an address that the
 * database had forgotten, or in another currency than the address's request. An operator names
 * payment and request, and the audit table keeps the reason for both.
 */
import { type Refusal, refuse } from "../../base/fault.ts";
import { hasTags } from "../../chains/payees.ts";
import { type AcceptProblem, acceptExpiredDeposit, findShortfall } from "../deposits/accept.ts";
import { recordAct } from "../store/audit.ts";
import {
  creditRemainder,
  findUnattributed,
  listRequestsCreditedWith,
  type UncreditedPayment,
} from "../store/credits.ts";
import { keepAcceptance, updateDeposit } from "../store/deposits.ts";
import { keepRequestToJudge } from "../store/meta.ts";
import { listFinalOf } from "../store/payments.ts";
import type { DepositRow, PaymentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import {
  type DepositWithMerchant,
  readTransactionWithMerchant,
} from "../store/transaction-lists.ts";
import { readDeposit, refundedUnits } from "../store/transactions.ts";
import { judgementOf } from "../watcher/payments.ts";
import type { OperatorContext } from "./accounts.ts";

/** A payment's name on its network, as lists show it and commands accept it. */
export const paymentName = ({
  txHash,
  logIndex,
}: Pick<PaymentRow, "txHash" | "logIndex">): string => `${txHash}:${logIndex}`;

const act = "payment credited"; // in the audit

export interface CreditOrder {
  readonly payments: readonly string[]; // by name, or by hash if the hash is unique
  readonly reason: string;
  readonly isShortFine: boolean;
}

/**
 * Credits payments to a request of the same merchant, network and currency. An open request counts
 * them from now on; an expired request becomes Completed. Harmless to call twice: payments already
 * credited to this request are skipped. Refuses GATEWAY_UNKNOWN_RECORD. Refuses
 * GATEWAY_NOT_CREDITED for a payment that does not exist or belongs elsewhere, and for a Completed
 * request. An expired request that received less than its amount is refused unless `isShortFine`.
 * After a refusal nothing is written.
 */
export function creditPayments(
  by: OperatorContext,
  id: string,
  { payments, reason, isShortFine }: CreditOrder,
): { readonly ok: true; readonly row: DepositWithMerchant } | Refusal {
  return by.store.writeIfOk((database) => {
    const row = readTransactionWithMerchant(database, "deposit", id);
    if (row === undefined) return refuse("GATEWAY_UNKNOWN_RECORD");
    const fresh: UncreditedPayment[] = [];
    for (const name of new Set(payments)) {
      const found = paymentFor(database, row, name);
      if (!found.ok) return found;
      if (found.payment.leftUnits > 0n) fresh.push(found.payment);
    }
    if (fresh.length === 0) return { ok: true, row };
    if (row.status === 1) return refuse("GATEWAY_NOT_CREDITED", acceptProblemWords.completed);
    for (const payment of fresh) creditRemainder(database, payment, id, by.nowMs);
    const done = count(database, row, isShortFine, by.nowMs);
    if (done !== null) return done;
    const names = fresh.map(paymentName).join(" ");
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act,
      subject: id,
      detail: `${names}: ${reason}`,
    });
    for (const from of new Set(fresh.map(({ transactionId }) => transactionId))) {
      countAgain(database, from, by.nowMs);
      // Money that was paid back under its first deposit is not credited to another one.
      const leftUnits = BigInt(readDeposit(database, from)?.receivedUnits ?? "0");
      if (leftUnits < refundedUnits(database, from))
        return refuse("GATEWAY_NOT_CREDITED", `${from} was paid back already`);
      recordAct(database, {
        at: by.nowMs,
        actor: by.actor,
        act,
        subject: from,
        detail: `${names} to ${id}: ${reason}`,
      });
    }
    return { ok: true, row: readTransactionWithMerchant(database, "deposit", id) ?? row };
  });
}

/**
 * As `creditPayments`, also for payments to the deposit's own address: they count already while it
 * is open, and make an expired one Completed as `creditDeposit` does.
 */
export function creditPaymentsByName(
  by: OperatorContext,
  id: string,
  { payments, reason, isShortFine }: CreditOrder,
): { readonly ok: true; readonly row: DepositWithMerchant } | Refusal {
  const row = readTransactionWithMerchant(by.store.database, "deposit", id);
  if (row === undefined) return refuse("GATEWAY_UNKNOWN_RECORD");
  const isOwn = (name: string): boolean => {
    const [hash = "", index] = name.split(":");
    return listFinalOf(by.store.database, row.network, hash.toUpperCase()).some(
      (one) =>
        one.transactionId === id &&
        one.currency === row.currency &&
        (index === undefined || one.logIndex === Number(index)),
    );
  };
  // Hashes of XRP are in capital letters everywhere.
  const others = hasTags(row.network)
    ? payments.filter((name) => !isOwn(name)).map((name) => name.toUpperCase())
    : payments;
  if (others.length > 0) return creditPayments(by, id, { payments: others, reason, isShortFine });
  return row.status === 2 ? creditDeposit(by, id, { reason, isShortFine }) : { ok: true, row };
}

/**
 * Makes an expired deposit Completed. Refuses GATEWAY_UNKNOWN_RECORD. Refuses GATEWAY_NOT_CREDITED
 * for a deposit that is open or Completed, also by an earlier credit. A deposit that received
 * nothing but what refunds pay back, or less than its amount unless `isShortFine`, is refused too.
 */
export function creditDeposit(
  by: OperatorContext,
  id: string,
  { reason, isShortFine }: { readonly reason: string; readonly isShortFine: boolean },
): { readonly ok: true; readonly row: DepositWithMerchant } | Refusal {
  return by.store.write((database) => {
    const row = readTransactionWithMerchant(database, "deposit", id);
    if (row === undefined) return refuse("GATEWAY_UNKNOWN_RECORD");
    const { actor, nowMs } = by;
    const problem = acceptExpiredDeposit(database, row, { isShortFine, reason, actor, nowMs });
    if (problem !== null) return refuse("GATEWAY_NOT_CREDITED", acceptProblemWords[problem]);
    return { ok: true, row: readTransactionWithMerchant(database, "deposit", id) ?? row };
  });
}

/** The reason for an operator, in words. */
const acceptProblemWords: Readonly<Record<AcceptProblem, string>> = {
  completed: "the deposit is Completed already",
  open: "the deposit is open: it completes by itself once its payments are final",
  unasked: "nobody asked for this deposit; name the request that the money was for",
  nothing: "nothing that is final was paid to its address in its currency",
  invoice_paid: "another currency has paid its invoice: what came to it is a surplus to pay back",
  cancelled: "its shop cancelled it: what came to it is to pay back",
  returned: "all that was paid was paid back",
  short: "less was paid than it asked for; --short credits it all the same",
  short_after_refund:
    "less was paid and not paid back than it asked for; --short credits it all the same",
};

function paymentFor(
  database: Database,
  row: DepositRow,
  name: string,
): { readonly ok: true; readonly payment: UncreditedPayment } | Refusal {
  const no = (words: string): Refusal => refuse("GATEWAY_NOT_CREDITED", words);
  if (row.origin === "unattributed") return no(acceptProblemWords.unasked);
  const [, txHash = name, index = ""] = /^(.+):(-?\d+)$/.exec(name) ?? [];
  const found = findUnattributed(database, row.network, txHash);
  const [payment, ...others] = found.filter(
    ({ logIndex }) => index === "" || logIndex === Number(index),
  );
  if (payment === undefined)
    return no(
      `${row.network} has no final payment ${name} that counts for no deposit; deposits unattributed lists them`,
    );
  if (others.length > 0)
    return no(
      `${found.length} payments came by that transaction; name one: ${found.map(paymentName).join(", ")}`,
    );
  if (payment.merchant !== row.merchant) return no(`${name} came to another merchant`);
  if (payment.currency !== row.currency)
    return no(`${name} came in ${payment.currency}, and the deposit is in ${row.currency}`);
  if (payment.leftUnits > 0n || listRequestsCreditedWith(database, payment).includes(row.id))
    return { ok: true, payment };
  return no(`${name} was credited to ${listRequestsCreditedWith(database, payment).join(", ")}`);
}

/**
 * Updates the request from the payments that count now, or returns the reason why it cannot be
 * credited.
 */
function count(
  database: Database,
  row: DepositRow,
  isShortFine: boolean,
  nowMs: number,
): Refusal | null {
  const next = judgementOf(database, row, 0);
  if (row.status === 0) {
    updateDeposit(database, row.id, { ...next, changedAt: nowMs });
    judgeChoiceLater(database, row);
    return null;
  }
  const problem = findShortfall(database, row, BigInt(next.receivedUnits), isShortFine);
  if (problem !== null) return refuse("GATEWAY_NOT_CREDITED", acceptProblemWords[problem]);
  updateDeposit(database, row.id, {
    ...next,
    status: 1,
    stage: "completed",
    code: "",
    late: 1,
    changedAt: nowMs,
  });
  keepAcceptance(database, row.id, nowMs);
  return null;
}

/** Only the watcher knows the price at which a payment to an open choice of an invoice counts. */
function judgeChoiceLater(database: Database, { id, invoice, network, status }: DepositRow): void {
  if (invoice !== "" && status === 0) keepRequestToJudge(database, network, id);
}

/**
 * Counts again the request of the address that received the money, because the payment no longer
 * counts there.
 */
function countAgain(database: Database, id: string, nowMs: number): void {
  const row = readDeposit(database, id);
  if (row === undefined) return;
  const next = judgementOf(database, row, 0);
  if (next.receivedUnits !== row.receivedUnits)
    updateDeposit(database, id, { ...next, changedAt: nowMs });
  judgeChoiceLater(database, row);
}
