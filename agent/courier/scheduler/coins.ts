/**
 * The coins of an account, on a chain that has coins in the place of balances, and the basis of
 * each offer. A coin that one withdrawal may spend is offered to no other, because only one of the
 * two could be paid. Pure.
 */
import { isFeeInside } from "../../../chains/families.ts";
import type { Coin, FeeMarket, Market, PaymentTerms, TxParams } from "../../../chains/family.ts";
import type { Account, HeldCoins, OwnCoins, ScheduledWithdrawal } from "./item.ts";

/** Spent coins that are kept at the same time; the oldest leaves, and may be offered again. */
const spentMax = 4_096;

/** Before the first list of an account's coins. */
export const newOwnCoins = (): OwnCoins => ({ listed: new Set(), gone: new Map() });

/** Before the first withdrawal of an account. */
export const newHeldCoins = (): HeldCoins => ({
  byItem: new Map(),
  counts: new Map(),
  spent: new Set(),
  version: 0,
  free: null,
});

/**
 * The basis of an offer for a withdrawal: the account's final coins that no other withdrawal may
 * spend. The withdrawal's own coins are among them.
 */
export function marketOf(
  item: ScheduledWithdrawal,
  feeMarket: FeeMarket,
  computeLimit: bigint,
): Market {
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
export function lacksOwed({ view: { owed = [] } }: ScheduledWithdrawal, market: Market): boolean {
  return owed.length > (market.owed?.length ?? 0);
}

/** The payment without its sender. */
export function wantedOf({ view, amountUnits }: ScheduledWithdrawal): PaymentTerms {
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

function freeCoins(item: ScheduledWithdrawal): readonly Coin[] {
  const { chainState, held, pinExclusion } = item.account;
  if (pinExclusion === null) return [];
  const listed = chainState?.coins ?? [];
  const own = held.byItem.get(item);
  if (own !== undefined)
    return listed.filter(
      (coin) =>
        !held.spent.has(textOf(coin)) &&
        (held.counts.get(textOf(coin)) ?? 0) <= Number(own.has(textOf(coin))),
    );
  if (held.free === null || held.free.listed !== listed || held.free.version !== held.version) {
    const coins = listed.filter(
      (coin) => !held.counts.has(textOf(coin)) && !held.spent.has(textOf(coin)),
    );
    held.free = { listed, version: held.version, coins };
  }
  return held.free.coins;
}

function textOf({ id, units }: Coin): string {
  return `${id}:${units}`;
}

/**
 * Counts the coins of a withdrawal, or counts them out once it has left `flight`. Called after each
 * change of its attempts, its request and its state.
 */
export function holdCoins(item: ScheduledWithdrawal): void {
  const { account } = item;
  const { held, flight, pinExclusion } = account;
  if (pinExclusion === null) return;
  const before = held.byItem.get(item);
  const now = flight.has(item) ? new Set(coinsOf(account, item)) : undefined;
  const isSame =
    before?.size === now?.size && [...(now ?? [])].every((coin) => before?.has(coin) === true);
  if (isSame) return;
  for (const coin of before ?? []) {
    const count = (held.counts.get(coin) ?? 1) - 1;
    if (count === 0) held.counts.delete(coin);
    else held.counts.set(coin, count);
  }
  for (const coin of now ?? []) held.counts.set(coin, (held.counts.get(coin) ?? 0) + 1);
  if (now === undefined) held.byItem.delete(item);
  else held.byItem.set(item, now);
  held.version += 1;
}

/**
 * Offers a coin no more that the signer knows as spent. @returns false if the withdrawal did not
 * offer it, or if it was known already
 */
export function leaveSpent({ account, asked }: ScheduledWithdrawal, coin: string): boolean {
  const { held, pinExclusion } = account;
  const offered: readonly string[] = asked === null ? [] : (pinExclusion?.coins(asked) ?? []);
  if (!offered.includes(coin) || held.spent.has(coin)) return false;
  held.spent.add(coin);
  held.version += 1;
  const [oldest = ""] = held.spent;
  if (held.spent.size > spentMax) held.spent.delete(oldest);
  return true;
}

/** The coins of all attempts, and of the request under way. */
function coinsOf(
  { pinExclusion }: Account,
  { view, asked }: ScheduledWithdrawal,
): readonly string[] {
  const ofParams = (txParams: TxParams): readonly string[] => pinExclusion?.coins(txParams) ?? [];
  const signed = view.attempts.flatMap(({ txParams, pin = "" }) =>
    txParams === null ? [pin] : ofParams(txParams),
  );
  return [...signed, ...(asked === null ? [] : ofParams(asked))];
}
