/**
 * Coins that the renewal of an ended withdrawal has to spend. An operator ends a withdrawal whose
 * pin no node shows, and its signed bytes stay good if that coin appears after all. Where they also
 * spend coins that exist, the renewal spends one of these from each attempt: then the chain takes
 * the one or the other, and never both. Another final payment that spends them frees the renewal.
 * Touches nothing.
 */
import { pinExclusionOf } from "../../../chains/families.ts";
import { pinOf, type Withdrawal } from "./withdrawal.ts";

/** `[id of the ended withdrawal or of its newest renewal, network, account, coins]` */
export type OwedEntries = readonly (readonly [string, string, string, readonly string[]])[];

/** Ended withdrawals that coins are owed for; no other is ended before a renewal spends some. */
export const owedWithdrawalsMax = 256;

interface OwedPayment {
  id: string;
  readonly network: string;
  readonly account: string;
  coins: readonly string[]; // as `PinExclusion.coins`
}

/** A coin without its amount, which two texts of one coin may give differently after a recovery. */
export const outpointOf = (coin: string): string => coin.slice(0, coin.lastIndexOf(":"));

/** Only `owe`, `renew` and `spend` change it, from records. */
export class OwedCoins {
  #owed: OwedPayment[];

  constructor(entries: OwedEntries = []) {
    this.#owed = entries.map(([id, network, account, coins]) => ({ id, network, account, coins }));
  }

  get size(): number {
    return this.#owed.length;
  }

  /** The coins that each paying attempt of a withdrawal has to spend. */
  of(transactionId: string): readonly string[] {
    return this.#owed.filter(({ id }) => id === transactionId).flatMap(({ coins }) => coins);
  }

  /** The network on which the renewal of a withdrawal pays; undefined if nothing is owed for it. */
  networkOf(transactionId: string): string | undefined {
    return this.#owed.find(({ id }) => id === transactionId)?.network;
  }

  /** Notes what the renewal of a withdrawal that an operator ended has to spend. */
  owe({ transactionId, job, account }: Withdrawal, coins: readonly string[]): void {
    if (coins.length > 0)
      this.#owed.push({ id: transactionId, network: job.network, account, coins });
  }

  /** Each withdrawal has one renewal, which owes from now on what it owed. */
  renew(ended: string, renewal: string): void {
    for (const one of this.#owed) if (one.id === ended) one.id = renewal;
  }

  /** These coins of an account were spent for good by a withdrawal of it. */
  spend({ job, account }: Withdrawal, coins: readonly string[]): void {
    if (this.#owed.length === 0 || coins.length === 0) return;
    const spent = new Set(coins.map(outpointOf));
    for (const one of this.#owed)
      if (one.network === job.network && one.account === account)
        one.coins = one.coins.filter((coin) => !spent.has(outpointOf(coin)));
    this.#owed = this.#owed.filter((one) => one.coins.length > 0);
  }

  snapshot(): OwedEntries {
    return this.#owed.map(({ id, network, account, coins }) => [id, network, account, coins]);
  }
}

/**
 * The coins, without their amounts, of a withdrawal which is over that a final transaction spent:
 * those of the final attempt, or the pin of a conflicted one, which a transaction of another spent.
 * Coins that an operator freed since are left out.
 */
export function listCoinsSpentAtEnd(withdrawal: Withdrawal): readonly string[] {
  const { state, freedCoins = [] } = withdrawal;
  const pin = pinOf(withdrawal);
  const coins = state === "conflicted" && pin !== "" ? [pin] : coinsOfFinalAttempt(withdrawal);
  return coins.map(outpointOf).filter((coin) => !freedCoins.includes(coin));
}

/**
 * The coins that a withdrawal which is over has spent for good: those of the final attempt. Of a
 * conflicted one another transaction spent the pin, which may be the ended one's.
 */
export function coinsOfFinalAttempt(withdrawal: Withdrawal): readonly string[] {
  const { job, state, observed, attempts } = withdrawal;
  const exclusion = pinExclusionOf(job.network);
  if (exclusion === null || state === "conflicted") return [];
  const final = attempts.find(({ txHash }) => txHash !== "" && txHash === observed?.txHash);
  if (final === undefined || observed?.stage !== "final") return [];
  return final.txParams === null ? [pinOf(withdrawal)] : exclusion.coins(final.txParams);
}
