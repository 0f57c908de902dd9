/**
 * The courier's own eye for theft, where a chain has coins: a coin that the nodes listed as final
 * and then not any more must be spent by an attempt. The final spender of any other is told to the
 * signer, which stops first attempts on that network. Pure.
 */
import { accountFieldsOfEffect } from "./accounts.ts";
import type { SchedulerEffect, SchedulerEvent } from "./events.ts";
import type { Account, SchedulerBook } from "./item.ts";

/** Coins that are asked about at the same time, and in one question. */
const goneMax = 64;
const askedMax = 16;
/** The time until the first question, doubled with each one; a block needs a while to be final. */
const againMs = 30_000;
const againMsMax = 600_000;
/** A coin without a final spender for so long may be of a block that left the chain. */
const forgetMs = 86_400_000;

const outpointOf = (coin: string): string => coin.slice(0, coin.lastIndexOf(":"));

/** Compares the newest list of the account's final coins with the one before, once a block. */
export function findVanishedCoins(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  const { chainState, pinExclusion, ownCoins, held } = account;
  if (pinExclusion === null || chainState?.coins === undefined) return;
  const now = new Set(chainState.coins.map(({ id }) => id));
  const [ours, lost] = [new Set<string>(), new Set<string>()];
  for (const [item, coins] of held.byItem)
    for (const coin of coins)
      (item.chainOutcome?.outcome === "conflicted" ? lost : ours).add(outpointOf(coin));
  for (const coin of [...ownCoins.listed, ...lost]) {
    if (now.has(coin) || ours.has(coin) || ownCoins.gone.has(coin) || ownCoins.gone.size >= goneMax)
      continue;
    ownCoins.gone.set(coin, { sinceMs: nowMs, dueAtMs: nowMs + againMs, tries: 0 });
  }
  ownCoins.listed = now;
  for (const [coin, { sinceMs }] of ownCoins.gone)
    if (now.has(coin) || nowMs - sinceMs > forgetMs) ownCoins.gone.delete(coin);
  const due = [...ownCoins.gone].filter(([, { dueAtMs }]) => dueAtMs <= nowMs).slice(0, askedMax);
  if (due.length === 0) return;
  for (const [, one] of due) {
    one.tries += 1;
    one.dueAtMs = nowMs + Math.min(againMsMax, againMs * 2 ** one.tries);
  }
  out.push({
    kind: "spenders",
    ...accountFieldsOfEffect(account),
    coins: due.map(([coin]) => coin),
  });
}

/**
 * Takes the final spenders of coins. One that is an attempt here settles its coin; any other
 * goes to the signer with each answer, because the signer may not have taken it.
 */
export function takeSpenders(
  book: SchedulerBook,
  account: Account,
  { found }: Extract<SchedulerEvent, { kind: "spenders" }>,
  out: SchedulerEffect[],
): void {
  const { ownCoins, chain, address, isDeposit } = account;
  for (const { coin, txHash } of found) {
    if (txHash === null || !ownCoins.gone.has(coin)) continue;
    if (isAttempt(book, account, txHash)) ownCoins.gone.delete(coin);
    else
      out.push({
        kind: "foreign",
        body: { chain, coin, txHash, ...(isDeposit ? { address } : {}) },
      });
  }
}

function isAttempt(book: SchedulerBook, account: Account, txHash: string): boolean {
  for (const { account: of, view } of book.items.values())
    if (of === account && view.attempts.some((one) => one.txHash === txHash)) return true;
  return false;
}
