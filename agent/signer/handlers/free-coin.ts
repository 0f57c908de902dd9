/**
 * An operator frees a coin that closed withdrawals have spent: the chain undid their final
 * transaction, deeper than finality, and the memory of spent coins would refuse the coin. A closed
 * withdrawal is never signed again, so freeing pays no order twice. Its old bytes and those that
 * spend the coin next exclude each other, and no attempt has the old bytes again while the memory
 * has them (`sameBytesOf`). A coin of an open withdrawal is not freed: its attempts may be paid.
 * Touches nothing; the record goes through the `RequestContext`.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import { outpointOf } from "../state/owed-coins.ts";
import type { Withdrawal } from "../state/withdrawal.ts";
import { type RequestContext, refuseIfGateClosed } from "./context.ts";
import { coinsOf } from "./intent.ts";

/** A coin to free, without its amount. */
export interface CoinToFree {
  readonly network: string;
  readonly coin: string;
  readonly approver: string;
  readonly isLook: boolean; // only shows
}

/** The newest closed withdrawal that has spent the coin; `isFree` once it claims it no more. */
type FreeResult =
  | { readonly ok: true; readonly withdrawal: Withdrawal; readonly isFree: boolean }
  | Refusal;

/**
 * Frees the coin for every account of its network. A repeat is harmless. Refuses ACCOUNT_PIN_TAKEN
 * for a coin of an open withdrawal, and ACCOUNT_COIN_UNKNOWN for one that no closed withdrawal in
 * the memory has spent.
 */
export function freeCoin(
  context: RequestContext,
  { network, coin, approver, isLook }: CoinToFree,
): FreeResult {
  const closed = refuseIfGateClosed(context);
  if (closed !== null) return closed;
  const { book } = context.core;
  for (const one of book.open())
    if (one.job.network === network && coinsOf(one).some((each) => outpointOf(each) === coin))
      return refuse("ACCOUNT_PIN_TAKEN", `${coin} is ${one.transactionId}'s`);
  const spender = book.spenderOf(network, coin);
  if (spender !== undefined && !isLook)
    context.commit([{ kind: "COIN_FREED", network, coin, approver }]);
  const withdrawal = book.find(spender ?? book.freedFrom(network, coin) ?? "");
  if (withdrawal === undefined) return refuse("ACCOUNT_COIN_UNKNOWN", coin);
  return { ok: true, withdrawal, isFree: book.spenderOf(network, coin) === undefined };
}
