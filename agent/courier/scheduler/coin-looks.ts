/**
 * The courier's own eye for a coin that no node shows: whether the transaction that made the pin of
 * a payment is in a block or a mempool. Asked for payments that no block has, and told to the
 * signer, which counts the time and remembers it. Pure.
 */
import { sightedMax } from "../../../protocol/sightings.ts";
import { namesOfAccount } from "./accounts.ts";
import type { SchedulerEffect, SchedulerEvent } from "./events.ts";
import type { Account, Book, Item } from "./item.ts";
import { standingOf } from "./offers.ts";
import { releasedAttempts } from "./withdrawals.ts";

/** Payments younger than this, or that a node took less long ago, are on their way. */
const stillMs = 600_000;
const takenMs = 3_600_000;
const againMs = 600_000;
/** Payments that one question is about. */
const askedMax = 8;

/** Asks for the pins of payments that no block has; called once a block. */
export function lookForCoins(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  if (account.pinExclusion === null) return;
  const due = [...account.pending].filter((item) => isDue(item, nowMs)).slice(0, askedMax);
  if (due.length === 0) return;
  for (const item of due) item.coinLookedAtMs = nowMs;
  const wanted = due.map((item) => ({ transactionId: item.view.transactionId, coin: pinOf(item) }));
  out.push({ kind: "makers", ...namesOfAccount(account), wanted });
}

function isDue(item: Item, nowMs: number): boolean {
  const { isAbsent, chainOutcome, stopped, openedAtMs, coinLookedAtMs, offer, view } = item;
  if (!isAbsent || chainOutcome !== null || stopped !== "" || releasedAttempts(view).length === 0)
    return false;
  const ageMs = nowMs - openedAtMs;
  const isOld = standingOf(offer) === "taken" ? ageMs >= takenMs : ageMs >= stillMs;
  return (
    isOld && pinOf(item) !== "" && (coinLookedAtMs === null || nowMs - coinLookedAtMs >= againMs)
  );
}

/** The pin without its amount; "" if none is known. */
function pinOf({ view: { attempts }, account: { pinExclusion } }: Item): string {
  const [first] = attempts;
  const pin =
    first === undefined || first.txParams === null
      ? first?.pin
      : pinExclusion?.coins(first.txParams)[0];
  return pin === undefined ? "" : pin.slice(0, pin.lastIndexOf(":"));
}

/**
 * Takes the answers, and tells each to the signer. An operator can end a payment only after the
 * gateway has named coins beside the missing one, so it is asked for these.
 */
export function takeCoinLooks(
  book: Book,
  account: Account,
  { found }: Extract<SchedulerEvent, { kind: "makers" }>,
  nowMs: number,
  out: SchedulerEffect[],
): void {
  const others: string[] = [];
  for (const { transactionId, coin, answer } of found) {
    const item = book.items.get(transactionId);
    if (answer === null || item === undefined || item.location !== null) continue;
    out.push({ kind: "unseen", body: { transactionId, coin, ...answer } });
    if (!answer.isShown && item.view.mode !== "sweep") others.push(...besidePin(item));
  }
  const { naming, network, address } = account;
  const unnamed = [...new Set(others)]
    .filter((coin) => !naming.named.has(coin))
    .slice(0, sightedMax);
  if (unnamed.length === 0) return;
  naming.dueAtMs = Math.max(naming.dueAtMs, nowMs + 1_000);
  const coins = unnamed.map((coin) => {
    const at = coin.lastIndexOf(":");
    return { network, account: address, id: coin.slice(0, at), units: coin.slice(at + 1) };
  });
  out.push({ kind: "question", coins, accounts: [], orders: [] });
}

function besidePin({ view: { attempts }, account: { pinExclusion } }: Item): readonly string[] {
  return attempts.flatMap(({ txParams }) =>
    txParams === null ? [] : (pinExclusion?.coins(txParams).slice(1) ?? []),
  );
}
