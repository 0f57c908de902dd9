/**
 * Hints how to pay a withdrawal that ended unpaid. A shop orders a payment again; the gateway
 * orders sweeps and top-ups itself.
 */
import type { OperatorView } from "../agent/socket/verbs.ts";
import { isInternal } from "../protocol/job-mode.ts";
import { remedyIn } from "./status/remedies.ts";

/** The way to pay it after all. The gateway repeats its own sweeps. */
export function orderAgainWords(one: OperatorView): string {
  if (isInternal(one.mode)) return sweptAgain(one);
  if (one.code === "SLOT_UNREACHABLE")
    return "the shop renews the order, if it should still be paid; no ledger ever takes what was signed of this one";
  // Its bytes may still be good, and only a renewal has to spend a coin that they spend.
  if (one.code === "COIN_UNKNOWN")
    return "the shop renews the order, if it should still be paid: never under another orderId, and never by hand";
  return "order it again under another orderId, if it should still be paid";
}

/** The gateway repeats a failed sweep after an hour (gateway/sweeps/sweep-threshold.ts). */
function sweptAgain(one: OperatorView): string {
  const whole = `by itself, where it sweeps this currency automatically; else: ${sweepLine(one)}`;
  if (one.code === "SWEEP_UNREACHABLE" || one.code === "COIN_UNKNOWN")
    return `the gateway orders another one ${whole}`;
  return `the gateway orders it again by itself an hour later, where it sweeps this currency automatically; at once: ${sweepLine(one)}`;
}

function sweepLine({ mode, account, sender, address }: OperatorView): string {
  const deposit = mode === "sweep" ? account || sender : address;
  return `autowithdraw-gateway sweeps order ${deposit || "ADDRESS"} at the service`;
}

export function afterRevert(one: OperatorView): string {
  return isInternal(one.mode)
    ? `then an operator has the address swept after all: ${sweepLine(one)}`
    : "to pay after all, order it again under another orderId";
}

export function refusedWords(one: OperatorView): string {
  const remedy = remedyIn(one.code);
  if (isInternal(one.mode)) {
    const first = sweepRemedies[one.code] ?? remedy;
    return `${first === "" ? "" : `${first}; then `}${sweptAgain(one)}`;
  }
  return `order it again under another orderId${remedy === "" ? ", if it should be paid" : `, after this: ${remedy}`}`;
}

/** A top-up has its own limits of these kinds. */
const sweepRemedies: Readonly<Record<string, string>> = {
  POLICY_ABOVE_WITHDRAWAL: "raise sweeps.maxTopUp in config.json and reload",
  POLICY_ABOVE_DAY: "wait, or raise sweeps.maxTopUpPerDay in config.json and reload",
};
