/**
 * The state of a request in a customer's eyes: one of fifteen, a pure function of the shown. A
 * customer is never asked for money that is on its way, and is told "order again" only when the
 * record has ended.
 */
import { createHash } from "node:crypto";
import type { InvoiceView, PayerView } from "./payer-view.ts";

export const payerStates = [
  "waiting",
  "unconfirmed",
  "seen",
  "short",
  "over",
  "completed",
  "ending",
  "expired",
  "expiredWithMoney",
  "late",
  "otherCoin",
  "outOfService",
  "quoteOver",
  "paidOtherwise",
  "cancelled",
] as const;
export type PayerState = (typeof payerStates)[number];

export const sumFinalAndSeenUnits = ({
  finalUnits,
  seenUnits,
}: Pick<PayerView, "finalUnits" | "seenUnits">): bigint => finalUnits + seenUnits;

/**
 * True after the end. The request itself may still be open then, until the blocks of its last
 * minute are read; but anybody who sends now is late.
 */
export const isRequestOver = ({
  status,
  nowMs,
  expiresAt,
}: Pick<PayerView, "status" | "nowMs" | "expiresAt">): boolean =>
  status === 2 || (status === 0 && nowMs >= expiresAt);

/** True for a choice of an invoice whose price holds no more, while it can still be paid. */
export const isPriceOver = ({ status, chosen, nowMs }: PayerView): boolean =>
  status === 0 && chosen !== null && nowMs >= chosen.priceUntil;

/** Until when a payer has to send: the end of the price, or of the request. */
export const payEndOf = ({ chosen, expiresAt }: Pick<PayerView, "chosen" | "expiresAt">): number =>
  chosen === null ? expiresAt : Math.min(chosen.priceUntil, expiresAt);

export function judgePayerState(view: PayerView): PayerState {
  const { status, amountUnits, toleranceUnits, others, isOut } = view;
  const sum = sumFinalAndSeenUnits(view);
  if (status === 1)
    return view.finalUnits > amountUnits + view.surplusToleranceUnits ? "over" : "completed";
  if (status === 0 && sum > 0n && sum >= amountUnits - toleranceUnits) return "seen";
  if (status === 0 && view.arrivingUnits > 0n) return "unconfirmed";
  if (status === 0 && view.lateUnits > 0n) return "late";
  if (status === 2 && view.chosen?.otherwise === "paid") return "paidOtherwise";
  if (status === 0 && view.chosen?.otherwise === "paying" && sum === 0n) return "paidOtherwise";
  if (status === 2 && view.isCancelled && sum === 0n) return "cancelled";
  const hasOnlyOthers = sum === 0n && others.length > 0;
  if (isRequestOver(view)) {
    if (hasOnlyOthers) return "otherCoin";
    // The blocks before the end are not all read and final.
    if (status === 0) return "ending";
    if (sum === 0n) return "expired";
    return view.isLate || (status === 2 && view.seenUnits > 0n) ? "late" : "expiredWithMoney";
  }
  if (isOut) return "outOfService";
  if (isPriceOver(view)) return "quoteOver";
  if (hasOnlyOthers) return "otherCoin";
  return sum > 0n ? "short" : "waiting";
}

/** True if the customer can still do what the request asks for. */
export function asksForMoney(view: PayerView, state: PayerState): boolean {
  return (
    !isRequestOver(view) && (state === "waiting" || state === "short" || state === "otherCoin")
  );
}

/** The units that the customer has still to send. */
export function dueUnits(view: PayerView): bigint {
  const left = view.amountUnits - sumFinalAndSeenUnits(view);
  return left > 0n ? left : 0n;
}

/** Seconds until the page looks for a change; 0 if nothing can change it any more. */
export function pageReloadSeconds({ status, seenUnits }: PayerView): number {
  if (status === 0 || seenUnits > 0n) return 4;
  return status === 2 ? 60 : 0; // late money may still come
}

/** Changes with all that the page shows, but not with time alone. */
export function pageContentMark(view: PayerView): string {
  const { shop, contact, returnUrl, status, confirmations, others, isLate, isOut, isSlow } = view;
  const units = [view.finalUnits, view.seenUnits, view.amountUnits].map(String);
  const hasSlow = view.arrivingUnits + view.lateUnits > 0n;
  const slow = hasSlow ? [`${view.arrivingUnits}`, `${view.lateUnits}`, view.isHeld] : [];
  const money = [confirmations, others, isLate, isOut, ...(isSlow ? [isSlow] : [])];
  const parts = [
    judgePayerState(view),
    shop,
    contact,
    returnUrl,
    status,
    ...money,
    view.transactions.map(({ txHash }) => txHash),
    units,
    ...slow,
    ...(view.isCancelled ? ["cancelled"] : []),
    ...chosenMark(view),
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}

/** The parts of a choice's page that its invoice changes. */
function chosenMark({ chosen }: PayerView): readonly unknown[] {
  if (chosen === null) return [];
  const { priceUntil, newUnits, otherwise } = chosen;
  return [priceUntil, String(newUnits), otherwise];
}

export const choosingStates = ["choose", "noChoice", "ending", "expired", "cancelled"] as const;
export type ChoosingState = (typeof choosingStates)[number];

/** The state of the page where a payer chooses. */
export function judgeChoosingState({
  status,
  isCancelled,
  nowMs,
  expiresAt,
  options,
}: InvoiceView): ChoosingState {
  if (status === 2) return isCancelled ? "cancelled" : "expired";
  if (nowMs >= expiresAt) return "ending";
  const canChoose = options.some(({ reason, choiceToken }) => reason === "" || choiceToken !== "");
  return canChoose ? "choose" : "noChoice";
}

/** Changes with all that the page shows, but not with time alone. */
export function choosingMark(view: InvoiceView): string {
  const { shop, contact, returnUrl, status, options } = view;
  const parts = [judgeChoosingState(view), shop, contact, returnUrl, status, options];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}
