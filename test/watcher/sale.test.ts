/**
 * Addresses that are looked at ahead while a merchant has many checkouts a second: orders of a sale
 * do not wait from the third second on, and the nodes are asked for about as many addresses as
 * leave. A pass a second; the chain has tags, whose addresses cost nothing to derive.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { goodResult } from "../../base/result.ts";
import { familyOf } from "../../chains/families.ts";
import type { BalanceQuestion } from "../../chains/nodes.ts";
import {
  issueAddress,
  lookMs,
  readAddressState,
  wasLookedAt,
} from "../../gateway/store/address-states.ts";
import { addReceivingKey, moveReceivingKey } from "../../gateway/store/receiving-keys.ts";
import {
  type AddressLookMemory,
  hasFewLookedAtAddresses,
  lookAtNextAddresses,
  newAddressLookMemory,
  requestAddressLook,
} from "../../gateway/watcher/ahead.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import { type GatewayDatabase, gatewayDatabase } from "../../lab/kit/gateway-database.ts";
import { watchedBy } from "../support/watched-by.ts";
import { currency } from "../support/watched-chain.ts";

const network = "xrpl:1";
const account = "rHsMGQEkVNJmpGWs8XUBoTBiAAbwxZN5v3";
const family = familyOf(network);
const key = {
  merchant: "m1",
  family: "xrp",
  xpub: account,
  firstDepositAddress: family.depositAddress(account, 0),
};

/** A shop whose checkouts take the next address, as an order does, or wait for a look. */
class Shop {
  readonly db: GatewayDatabase = gatewayDatabase();
  readonly chain: WatchedChain;
  memory: AddressLookMemory = newAddressLookMemory(network);
  nowMs = 1_790_000_000_000;
  asked: string[] = []; // since the last pass began
  left = 0; // addresses
  waiting = 0;
  questionMs = 0; // that each address takes
  #block = 1;

  constructor(isEach = false) {
    addReceivingKey(this.db.store.database, { ...key, createdAt: 0 });
    const balances = async (questions: readonly BalanceQuestion[]) => {
      this.asked.push(...questions.map((one) => one.account));
      this.nowMs += this.questionMs * questions.length;
      return questions.map(() => goodResult(0n));
    };
    const reader = {
      ...{ balances, wereUsed: async (all: readonly string[]) => all.map(() => goodResult(false)) },
      ...(isEach ? { tellsNewestBalances: true as const } : {}),
    };
    const watched = watchedBy({
      ...{ db: this.db, network, clock: () => this.nowMs, reader },
      currencies: [currency("xrp", "")],
    });
    this.chain = { ...watched, run: "one run" };
  }

  /** One checkout. @returns false if it waits */
  order(): boolean {
    const { database } = this.db.store;
    const address = family.depositAddress(account, this.left);
    const times = { since: this.nowMs - lookMs, nowMs: this.nowMs };
    const isLooked = wasLookedAt(readAddressState(database, network, address), times);
    if (isLooked) {
      issueAddress(database, address, times);
      this.left += 1;
      moveReceivingKey(database, key, this.left);
    } else requestAddressLook(this.memory, account);
    return isLooked;
  }

  /** Checkouts of a second; those that wait come first. @returns how many wait at its end */
  second(count: number): number {
    const all = this.waiting + count;
    this.waiting = Array.from({ length: all }, () => this.order()).filter(
      (isMade) => !isMade,
    ).length;
    return this.waiting;
  }

  async pass(ms = 1_000): Promise<number> {
    this.nowMs += ms;
    this.#block += 1;
    this.asked = [];
    await lookAtNextAddresses(this.chain, this.memory, {
      number: this.#block,
      hash: `hash ${this.#block}`,
    });
    return this.asked.length;
  }

  /** @returns the waiting orders at the end of each second, and all addresses asked for */
  async sale(
    perSecond: number,
    seconds: number,
  ): Promise<{ readonly waiting: readonly number[]; readonly asked: number }> {
    const waiting: number[] = [];
    let asked = 0;
    for (let at = 0; at < seconds; at += 1) {
      waiting.push(this.second(perSecond));
      asked += await this.pass();
    }
    return { waiting, asked };
  }
}

let shop: Shop;
beforeEach(() => {
  shop = new Shop();
});
afterEach(() => shop.db.remove());

describe("a sale", () => {
  it.each([60, 250])("of %i checkouts a second has none that waits, soon", async (perSecond) => {
    const { waiting, asked } = await shop.sale(perSecond, 12);
    expect(waiting.slice(8)).toEqual([0, 0, 0, 0]);
    expect(shop.left).toBe(12 * perSecond);
    // Addresses that are looked at and do not leave are those of two seconds.
    expect(asked).toBeLessThanOrEqual(14 * perSecond + 32);
  });

  it("that is over leaves nothing that is looked at again but the least", async () => {
    await shop.sale(60, 5);
    for (let at = 0; at < 20; at += 1) await shop.pass();
    expect(await shop.pass(lookMs / 2)).toBe(32);
  });

  it("goes on after a restart with what was looked at", async () => {
    await shop.sale(60, 5);
    shop.memory = newAddressLookMemory(network);
    expect(shop.second(60)).toBe(0);
  });

  it("wakes a pass before its addresses are used up, and a quiet shop does not", async () => {
    await shop.sale(60, 5);
    const first = shop.left;
    expect(
      [first, first + 30, first + 89].map((index) =>
        hasFewLookedAtAddresses(shop.memory, account, index),
      ),
    ).toEqual([false, false, true]);
    expect(hasFewLookedAtAddresses(newAddressLookMemory(network), account, 7)).toBe(false);
  });
});

describe("orders that wait", () => {
  it("and are one order again and again have at most twice as many addresses looked at", async () => {
    shop.order();
    await shop.pass();
    for (let at = 0; at < shop.asked.length; at += 1) shop.order();
    for (let at = 0; at < 100_000; at += 1) requestAddressLook(shop.memory, account);
    const before = shop.asked.length;
    expect(await shop.pass()).toBeLessThanOrEqual(3 * before);
    expect(await shop.pass()).toBe(0);
  });

  it("where each address is its own question, have eight looked at together, and more for a second", async () => {
    shop.db.remove();
    shop = new Shop(true);
    shop.questionMs = 50;
    shop.second(100);
    expect(await shop.pass()).toBe(24);
    shop.questionMs = 1;
    shop.second(0);
    expect(await shop.pass()).toBe(128);
  });
});
