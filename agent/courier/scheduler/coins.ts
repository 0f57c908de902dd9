/**
 * The coins of an account, on a chain that has coins in the place of balances, and the basis of
 * each offer. A coin that one withdrawal may spend is offered to no other, because only one of the
 * two could be paid. Pure.
 */
import { isFeeInside } from "../../../chains/families.ts";
import type { Coin, FeeMarket, Market, TxParams, Wanted } from "../../../chains/family.ts";
import type { Account, Item, OwnCoins } from "./item.ts";

/** Before the first list of an account's coins. */
export const newOwnCoins = (): OwnCoins => ({ listed: new Set(), gone: new Map() });

/**
 * The basis of an offer for a withdrawal: the account's final coins that no other withdrawal may
 * spend. The withdrawal's own coins are among them.
 */
export function marketOf(item: Item, feeMarket: FeeMarket, computeLimit: bigint): Market {
  const coins = freeCoins(item);
  const { owed = [] } = item.view;
  const isOwed = ({ id }: Coin): boolean => owed.some((coin) => coin.startsWith(`${id}:`));
  return {
    feeMarket,
    computeLimit,
    coins,
    ...(owed.length === 0 ? {} : { owed: coins.filter(isOwed) }),
  };
}

/** True if a coin that the withdrawal has to spend is spent, or held by another payment. */
export function lacksOwed({ view: { owed = [] } }: Item, market: Market): boolean {
  return owed.length > (market.owed?.length ?? 0);
}

/** The payment without its sender. */
export function wantedOf({ view, amountUnits }: Item): Wanted {
  const { network, mode, contract, address: destination, tag } = view;
  return {
    network,
    contract,
    destination,
    tag,
    amountUnits,
    isFeeInside: isFeeInside(network, mode),
  };
}

function freeCoins({ account, view }: Item): readonly Coin[] {
  const { chainState, flight, pinExclusion } = account;
  if (pinExclusion === null) return [];
  const held = new Set<string>();
  for (const other of flight) {
    if (other.view.transactionId === view.transactionId) continue;
    for (const coin of coinsOf(account, other)) held.add(coin);
  }
  return (chainState?.coins ?? []).filter(({ id, units }) => !held.has(`${id}:${units}`));
}

/** The coins of all attempts, and of the request under way. */
export function coinsOf({ pinExclusion }: Account, { view, asked }: Item): readonly string[] {
  const ofParams = (txParams: TxParams): readonly string[] => pinExclusion?.coins(txParams) ?? [];
  const signed = view.attempts.flatMap(({ txParams, pin = "" }) =>
    txParams === null ? [pin] : ofParams(txParams),
  );
  return [...signed, ...(asked === null ? [] : ofParams(asked))];
}
