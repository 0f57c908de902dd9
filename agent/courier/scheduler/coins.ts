/**
 * The coins of an account, on a chain that has coins in the place of balances, and the basis of
 * each offer. A coin that one withdrawal may spend is offered to no other, because only one of the
 * two could be paid. Pure.
 */
import { isFeeInside } from "../../../chains/families.ts";
import type {
  Coin,
  FeeMarket,
  OfferBasis,
  PaymentTerms,
  TxParams,
} from "../../../chains/family.ts";
import type { SchedulerRefusal } from "./events.ts";
import type { Account, HeldCoins, OwnCoins, ScheduledWithdrawal } from "./item.ts";

/** Coins that are left at the same time; the oldest may be offered again. */
const leftMax = 4_096;
/** A coin of another withdrawal is offered again after this time. */
const takenMs = 60_000;
/** And a spent one, because an operator may free it when the chain undid that transaction. */
const spentMs = 600_000;

/** Before the first list of an account's coins. */
export const newOwnCoins = (): OwnCoins => ({ listed: new Set(), gone: new Map() });

/** Before the first withdrawal of an account. */
export const newHeldCoins = (): HeldCoins => ({
  byItem: new Map(),
  counts: new Map(),
  left: new Map(),
  version: 0,
  free: null,
});

/**
 * The basis of an offer for a withdrawal: the account's final coins that no other withdrawal may
 * spend. The withdrawal's own coins are among them.
 */
export function offerBasisOf(
  item: ScheduledWithdrawal,
  feeMarket: FeeMarket,
  computeLimit: bigint,
): OfferBasis {
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
export function isOwedCoinMissing(
  { view: { owed = [] } }: ScheduledWithdrawal,
  market: OfferBasis,
): boolean {
  return owed.length > (market.owed?.length ?? 0);
}

/** The payment without its sender. */
export function termsOfWithdrawal({ view, amountUnits }: ScheduledWithdrawal): PaymentTerms {
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
        !held.left.has(textOf(coin)) &&
        (held.counts.get(textOf(coin)) ?? 0) <= Number(own.has(textOf(coin))),
    );
  if (held.free === null || held.free.listed !== listed || held.free.version !== held.version) {
    const coins = listed.filter(
      (coin) => !held.counts.has(textOf(coin)) && !held.left.has(textOf(coin)),
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
export function updateHeldCoins(item: ScheduledWithdrawal): void {
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
 * Leaves the coin out with which a refusal begins: for ten minutes if it is spent, and for one if
 * it is another withdrawal's. @returns false if the refusal is of another kind, if the withdrawal
 * did not offer the coin, or if all of its attempts have to spend it
 */
export function leaveOutRefusedCoin(
  { account, asked, view }: ScheduledWithdrawal,
  { code, detail = "" }: SchedulerRefusal,
  nowMs: number,
): boolean {
  const { held, pinExclusion } = account;
  const isSpent = code === "ACCOUNT_COIN_SPENT";
  const leftMs = isSpent ? spentMs : code === "ACCOUNT_PIN_TAKEN" ? takenMs : 0;
  const [coin = ""] = detail.split(" ");
  const coins = (txParams: TxParams | null): readonly string[] =>
    txParams === null ? [] : (pinExclusion?.coins(txParams) ?? []);
  const isPin = view.attempts.some(
    ({ txParams }) => outpointOf(coins(txParams)[0] ?? "") === outpointOf(coin),
  );
  // The signer's text of another withdrawal's coin may have another amount after a recovery.
  const offered = coins(asked).find((one) => outpointOf(one) === outpointOf(coin));
  if (leftMs === 0 || isPin || offered === undefined || held.left.has(offered)) return false;
  held.left.set(offered, { untilMs: nowMs + leftMs, isSpent });
  held.version += 1;
  const [oldest = ""] = held.left.keys();
  if (held.left.size > leftMax) held.left.delete(oldest);
  return true;
}

const outpointOf = (coin: string): string => coin.slice(0, coin.lastIndexOf(":"));

/** Offers the coins again whose time has come. */
export function readmitLeftOutCoins({ held }: Account, nowMs: number): void {
  for (const [coin, { untilMs }] of held.left)
    if (untilMs <= nowMs && held.left.delete(coin)) held.version += 1;
}

/** A listed coin, without its amount, that is left out as spent; undefined without one. */
export function findSpentCoin({ chainState, held }: Account): string | undefined {
  const listed = chainState?.coins ?? [];
  return listed.find((coin) => held.left.get(textOf(coin))?.isSpent === true)?.id;
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
