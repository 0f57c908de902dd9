/**
 * A final attempt that moved something else than its order says: it is kept for the operator who
 * ends the order, and its currency is held after the first. The contract's own doing holds it for
 * all merchants; an agent that asked for something else holds it for its merchant alone, so that no
 * merchant's server can stop the others' payouts.
 */
import type { MovedOtherwise } from "../../chains/nodes.ts";
import { holdCurrency } from "../store/currency-holds.ts";
import { keepMoved } from "../store/moved-payments.ts";
import type { TransactionRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { raiseAlarm, type WatchedChain } from "./chain.ts";

/**
 * Runs inside the caller's transaction. A repeat holds nothing, so that a currency which an
 * operator has resumed is held again by another payout alone.
 */
export function noteMoved(
  chain: WatchedChain,
  database: Database,
  { id, currency, merchant }: Pick<TransactionRow, "id" | "currency" | "merchant">,
  { final, isContracts }: MovedOtherwise,
): void {
  if (final === null) return;
  const { txHash, block } = final;
  const at = chain.clock();
  if (!keepMoved(database, { transactionId: id, txHash, block, feeUnits: `${final.feeUnits}`, at }))
    return;
  const held = isContracts ? "" : merchant;
  if (!holdCurrency(database, { currency, merchant: held, at, transactionId: id, txHash })) return;
  const whose = isContracts ? "of every merchant" : `of merchant ${merchant}`;
  const detail = `${currency}: ${txHash} moved something else than ${id} asks for; payouts and sweeps ${whose} wait`;
  raiseAlarm(chain, database, { code: "CURRENCY_MOVES_OTHERWISE", subject: id, detail });
}
