/**
 * Exclusion by the pin, for chains with coins. All attempts of a withdrawal spend one coin, the
 * pin, which the chain takes only once, so at most one attempt is paid. No coin is in two open
 * withdrawals, or one of them could never be paid. The amounts of coins come from the transactions
 * that made them, never from the courier's word. No proof says that a block has such a transaction,
 * so the pin of a first attempt must be named by the gateway in this run: a courier alone cannot
 * bind a withdrawal to a coin that does not exist. Touches nothing.
 */

import { type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf, pinExclusionOf } from "../../../chains/families.ts";
import type { TxParams } from "../../../chains/family.ts";
import { transactionsOf } from "../../../chains/transactions.ts";
import type { Account } from "../state/accounts.ts";
import { outpointOf } from "../state/owed-coins.ts";
import { isEndedByOperator, isOver, pinOf, type Withdrawal } from "../state/withdrawal.ts";
import type { RequestContext } from "./context.ts";

/** An attempt of a withdrawal, and its parts. */
export interface Offer {
  readonly withdrawal: Withdrawal;
  readonly approval: object | null; // null for a cancel
  readonly account: Account;
  readonly slot: string; // the withdrawal's, or about to be
  readonly txParams: TxParams;
  readonly evidence?: readonly string[] | undefined; // as `CourierOffer`
}

/**
 * Returns why an attempt must not spend its coins, or null. The renewal of a withdrawal that an
 * operator ended spends what it owes in each attempt that pays (`OwedCoins`). Coins of the
 * attempts that this ledger recorded were proven before, so they need no evidence again. The
 * gateway's word for a coin after a recovery is no proof. A cancel of one coin needs none: its
 * signature commits to the amount (BIP-143), so with a false one no block takes it. Only the pin
 * needs the gateway's word: another coin that does not exist spoils its own attempt, and the next
 * one spends others.
 * @throws AgentError JSON_SHAPE for malformed parameters
 */
export function pinRefusal({ core, run }: RequestContext, offer: Offer): Refusal | null {
  const { withdrawal, approval, account, slot, txParams, evidence = [] } = offer;
  const exclusion = pinExclusionOf(account.network);
  if (exclusion === null) return null;
  const coins = exclusion.coins(familyOf(account.network).fees.read(txParams));
  const isFirst = withdrawal.attempts.length === 0;
  const left =
    approval === null
      ? undefined
      : core.owed.of(withdrawal.transactionId).find((coin) => !holds(coins, coin));
  if (left !== undefined) return refuse("ACCOUNT_COIN_OWED", left);
  if (!isFirst && pinOf(withdrawal) !== coins[0])
    return refuse("ACCOUNT_PIN_OTHER", pinOf(withdrawal) || "it is not known");
  for (const one of core.book.open()) {
    if (
      one === withdrawal ||
      one.job.network !== account.network ||
      one.account !== account.account
    )
      continue;
    // An operator ended it, and its renewal is to spend the same coins.
    if (isEndedByOperator(one) && isOver(one)) continue;
    const taken = coinsOf(one).find((coin) => holds(coins, coin));
    if (taken !== undefined)
      return refuse("ACCOUNT_PIN_TAKEN", `${taken} is ${one.transactionId}'s`);
  }
  if (isFirst && !run.sightings.names(account, coins[0]))
    return refuse("ACCOUNT_PIN_UNNAMED", coins[0]);
  const proven = withdrawal.attempts.flatMap(({ txParams: known }) =>
    known === null ? [] : exclusion.coins(known),
  );
  const others =
    approval === null && coins.length === 1 ? [] : coins.filter((coin) => !proven.includes(coin));
  const shown = others.map((coin) => evidence[coins.indexOf(coin)] ?? "");
  return transactionsOf(account.network).unproven?.({ ...account, slot }, others, shown) ?? null;
}

/** True if one of the coins is this one, whatever amount the two texts give it. */
function holds(coins: readonly string[], coin: string): boolean {
  return coins.some((each) => outpointOf(each) === outpointOf(coin));
}

/** All coins of a withdrawal's attempts; of an attempt from a recovery, its pin is known. */
function coinsOf({ job, attempts }: Withdrawal): readonly string[] {
  const exclusion = pinExclusionOf(job.network);
  return attempts.flatMap(({ txParams, pin = "" }) =>
    txParams === null ? [pin] : (exclusion?.coins(txParams) ?? []),
  );
}
