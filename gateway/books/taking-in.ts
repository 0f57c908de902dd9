/**
 * Lets an operator accept a difference: an entry with name and reason, which every later closing
 * counts as explained. It changes nothing on the chain and no payment.
 */

import { type Refusal, refuse } from "../../base/fault.ts";
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import { recordAct } from "../store/audit.ts";
import { addBookEntry, dropDifference, type OwnedBookRow, readDifference } from "../store/books.ts";
import type { AccountPlace } from "../store/journal.ts";
import type { Store } from "../store/store.ts";

export interface AcceptedDifference extends AccountPlace {
  readonly decimal: number; // the currency's decimals
  readonly amount: string; // as reconcile shows it: negative if less was found
  readonly operator: string;
  readonly reason: string;
  readonly nowMs: number;
}

/** A difference in the usual notation: found minus expected. */
export function signedAmount(units: bigint, decimal: number): string {
  return `${units < 0n ? "-" : ""}${formatAmount(units < 0n ? -units : units, decimal)}`;
}

/**
 * Accepts the difference that the newest closing found, at the block of its comparison, with all
 * unordered payments up to that block. Refuses GATEWAY_NO_DIFFERENCE if there is none, or it has
 * another amount. Returns when the entry is durable; a second call is refused.
 */
export function acceptDifference(
  store: Store,
  taking: AcceptedDifference,
): { readonly ok: true; readonly entry: OwnedBookRow } | Refusal {
  const { network, address, currency, decimal, amount, operator, reason, nowMs } = taking;
  return store.write((database) => {
    const row = readDifference(database, taking);
    if (row === undefined) return refuse("GATEWAY_NO_DIFFERENCE");
    const units = BigInt(row.foundUnits) - BigInt(row.expectedUnits);
    const shown = signedAmount(units, decimal);
    if (unitsOf(amount, decimal) !== units)
      return refuse("GATEWAY_NO_DIFFERENCE", `the difference there is ${shown} ${currency}`);
    const entry: OwnedBookRow = {
      network,
      address,
      currency,
      kind: "note",
      units: units.toString(),
      block: row.block,
      at: nowMs,
      operator,
      reason,
      owner: row,
    };
    addBookEntry(database, entry);
    dropDifference(database, taking);
    const detail = `${shown} ${currency} at block ${row.block}, by ${operator}: ${reason}`;
    recordAct(database, {
      at: nowMs,
      actor: `operator ${operator}`,
      act: "difference taken in",
      subject: address,
      detail,
    });
    return { ok: true, entry };
  });
}

/** Null if the text is no amount of the currency. */
function unitsOf(text: string, decimal: number): bigint | null {
  const digits = text.replace(/^[-+]/, "");
  if (/^0+(?:\.0+)?$/.test(digits)) return 0n;
  const parsed = parseAmount(digits, decimal);
  if (!parsed.ok) return null;
  return text.startsWith("-") ? -parsed.units : parsed.units;
}
