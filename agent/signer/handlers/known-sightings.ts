/**
 * The coins, next slots and withdrawals that the gateway named in this run, by its own signature.
 * Bounded, and never recorded. Touches nothing.
 */
import type { SightedCoin, SightedSlot, Sightings } from "../../../protocol/sightings.ts";

/** Coins that are kept at the same time; the oldest leaves, and may be asked for again. */
const coinsMax = 4_096;
/** Withdrawals that are kept; the oldest leaves, and may be asked for again. */
const ordersMax = 4_096;
/** Accounts whose next slot is kept. */
const accountsMax = 256;
/** An account may send in the meantime, so an older word on its next slot counts for nothing. */
const slotMs = 600_000;
/**
 * The chain may show a payment in the meantime, so an older word on a withdrawal counts for
 * nothing.
 */
const orderMs = 600_000;

interface KnownSlot extends Pick<SightedSlot, "slot" | "isUnused"> {
  readonly at: number; // the gateway's time
  readonly heardMs: number; // monotonic
}

/** The sightings of this run. */
export class KnownSightings {
  readonly #coins = new Set<string>();
  readonly #slots = new Map<string, KnownSlot>();
  readonly #orders = new Map<string, number>(); // when the word was heard, monotonic

  keep({ coins, next, orders, at }: Sightings, heardMs: number): void {
    for (const coin of coins) keepNewest(this.#coins, keyOf(coin, textOf(coin)));
    for (const id of orders) {
      this.#orders.delete(id);
      this.#orders.set(id, heardMs);
      const [oldest = ""] = this.#orders.keys();
      if (this.#orders.size > ordersMax) this.#orders.delete(oldest);
    }
    for (const { slot, isUnused, ...account } of next) {
      const key = keyOf(account);
      // An older word that comes again says nothing about now.
      if ((this.#slots.get(key)?.at ?? 0) >= at) continue;
      this.#slots.delete(key);
      this.#slots.set(key, { slot, isUnused, at, heardMs });
      const [oldest = ""] = this.#slots.keys();
      if (this.#slots.size > accountsMax) this.#slots.delete(oldest);
    }
  }

  /** True if the gateway named the coin of the account; `coin` is its text with the amount. */
  names(account: Pick<SightedCoin, "network" | "account">, coin: string): boolean {
    return this.#coins.has(keyOf(account, coin));
  }

  /** True if the gateway said lately that nothing on the chain pays the withdrawal already. */
  clears(transactionId: string, nowMs: number): boolean {
    const heardMs = this.#orders.get(transactionId);
    return heardMs !== undefined && nowMs - heardMs < orderMs;
  }

  /** Takes back every word on withdrawals, because the chain shows what nothing explains. */
  forgetOrders(): void {
    this.#orders.clear();
  }

  /** The gateway's newest word on the next slot of an account; undefined without a recent one. */
  next(account: Pick<SightedCoin, "network" | "account">, nowMs: number): KnownSlot | undefined {
    const told = this.#slots.get(keyOf(account));
    return told !== undefined && nowMs - told.heardMs < slotMs ? told : undefined;
  }
}

/** A coin as the family writes it in parameters: its id and its amount. */
const textOf = ({ id, units }: Pick<SightedCoin, "id" | "units">): string => `${id}:${units}`;

function keyOf({ network, account }: Pick<SightedCoin, "network" | "account">, coin = ""): string {
  return `${network} ${account} ${coin}`;
}

function keepNewest(kept: Set<string>, key: string): void {
  kept.delete(key);
  kept.add(key);
  const [oldest = ""] = kept;
  if (kept.size > coinsMax) kept.delete(oldest);
}
