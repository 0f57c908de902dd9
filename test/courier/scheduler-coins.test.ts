/**
 * The scheduler where an account has coins: no coin is offered to two withdrawals, a free coin is
 * used while others are on their way, and each payment gets its own higher fee.
 */
import { describe, expect, it } from "vitest";
import type { CourierView } from "../../agent/socket/verbs.ts";
import { pinExclusionOf } from "../../chains/families.ts";
import type { Coin, TxParams } from "../../chains/family.ts";
import { gasFor, look, observedBody, whyOf } from "../support/scheduler-answers.ts";
import { asked, attemptOf, drive, idOf, only, viewOf } from "../support/scheduler-views.ts";

const network = "bip122:0f9188f13cb7b2c71f2a335e3a4fc328";
const account = "bcrt1q6rz28mcfaxtmd6v789l9rrlrusdprr9pz3cppk";
const shop = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";
const coin = (number: number, units: bigint): Coin => ({
  id: `${number.toString(16).padStart(64, "0")}:0`,
  units,
});
const chainState = (coins: readonly Coin[]) => ({
  feeMarket: { satPerKvB: 1_000n },
  coins,
  balances: new Map([["", coins.reduce((sum, { units }) => sum + units, 0n)]]),
});

function order(
  sequence: number,
  state: "approved" | "broadcast",
  over: Partial<CourierView> = {},
): CourierView {
  const paid = { currency: "btc", network, amount: "0.001", amountUnits: "100000", address: shop };
  return viewOf(sequence, state, {
    ...paid,
    sender: account,
    account: state === "approved" ? "" : account,
    ...over,
  });
}

function sentOn(sequence: number, { id, units }: Coin): CourierView {
  const txParams: TxParams = {
    coins: `${id}:${units}`,
    changeSat: `${units - 101_000n}`,
    feeSat: "1000",
  };
  const txHash = sequence.toString(16).padStart(64, "c");
  return order(sequence, "broadcast", {
    attempts: [attemptOf(1, { txHash, txParams, feeMax: "1000", raw: `0x02${sequence}` })],
  });
}

const unsighted = (views: readonly CourierView[]) =>
  drive(views, { accounts: [{ chain: "local", network, address: account, nextSlot: "7" }] });

/** The gateway names these coins, as the signer took it. */
const sight = (driver: ReturnType<typeof unsighted>, coins: readonly Coin[]) =>
  driver.feed({
    kind: "sighted",
    coins: coins.map(({ id, units }) => ({ network, account, id, units: `${units}` })),
    next: [],
    orders: [],
  });

/** With a gateway that names each coin of these tests. */
function driven(views: readonly CourierView[]) {
  const driver = unsighted(views);
  sight(
    driver,
    [1, 2, 3].flatMap((number) =>
      [900_000n, 800_000n, 200_000n].map((units) => coin(number, units)),
    ),
  );
  return driver;
}

/** The coins of each `sign` that was asked for. */
function coinsAsked(
  effects: ReturnType<ReturnType<typeof driven>["block"]>,
): readonly (readonly string[])[] {
  return only(effects, "ask").flatMap((effect) =>
    effect.verb === "sign"
      ? [
          pinExclusionOf(network)!
            .coins(effect.body.txParams)
            .map((each) => each.slice(60, 66)),
        ]
      : [],
  );
}

describe("an account with coins", () => {
  it("a free coin pays while the others are on their way, though the balance counts for less", () => {
    const [spent, free] = [coin(1, 900_000n), coin(2, 200_000n)];
    const driver = driven([sentOn(1, spent), sentOn(2, coin(3, 900_000n)), order(3, "approved")]);
    expect(only(driver.block(10, chainState([free])), "gas")).toHaveLength(1);
    expect(coinsAsked(gasFor(driver, 3))).toEqual([[free.id.slice(60, 66)]]);
  });

  it("a first payment waits for the gateway's word on its coin, and is asked for it once, then again after twice the time", () => {
    const [large, small] = [coin(1, 900_000n), coin(2, 200_000n)];
    const driver = unsighted([order(1, "approved")]);
    const questions = (effects: ReturnType<typeof driver.tick>) =>
      only(effects, "question").map(({ coins }) => coins.map(({ id }) => id));
    // The coin of the offer comes first, and the others may follow in the same frame.
    expect(questions(driver.block(10, chainState([small, large])))).toEqual([[large.id, small.id]]);
    expect(asked(gasFor(driver, 1))).toEqual([]);
    expect(whyOf(driver, 1)).toBe("the gateway's word on it is asked for");
    expect(questions(driver.tick(1_000))).toEqual([]);
    expect(questions(driver.tick(1_000))).toEqual([[large.id, small.id]]);
    expect(questions(driver.tick(3_000))).toEqual([]);
    expect(questions(driver.tick(1_000))).toEqual([[large.id, small.id]]);
    // A silence is told by its code, within half a minute.
    driver.tick(20_000);
    expect(whyOf(driver, 1)).toContain("ACCOUNT_PIN_UNNAMED");
    // A coin that the gateway does not name holds nothing up where another one suffices.
    expect(coinsAsked(sight(driver, [small]))).toEqual([[small.id.slice(60, 66)]]);
  });

  it("a coin that the signer does not know as named is asked about again", () => {
    const only1 = coin(1, 900_000n);
    const driver = driven([order(1, "approved")]);
    driver.block(10, chainState([only1]));
    expect(coinsAsked(gasFor(driver, 1))).toHaveLength(1);
    const answer = { ok: false, code: "ACCOUNT_PIN_UNNAMED", effect: "none" } as const;
    driver.feed({ kind: "answered", verb: "sign", transactionId: idOf(1), answer });
    const effects = driver.tick(1_000);
    expect(only(effects, "question")).toHaveLength(1);
    expect(asked(effects)).toEqual([]);
    expect(coinsAsked(sight(driver, [only1]))).toHaveLength(1);
  });

  it("a coin that the signer knows as spent is left for ten minutes, and others are offered at once", () => {
    const [spent, other] = [coin(1, 900_000n), coin(2, 200_000n)];
    const driver = driven([order(1, "approved"), order(2, "approved")]);
    const { id, units } = spent;
    const refused = (detail: string) => {
      const answer = { ok: false, code: "ACCOUNT_COIN_SPENT", effect: "none", detail } as const;
      return driver.feed({ kind: "answered", verb: "sign", transactionId: idOf(1), answer });
    };
    driver.block(10, chainState([spent, other]));
    expect(coinsAsked(gasFor(driver, 1))).toEqual([[spent.id.slice(60, 66)]]);
    expect(coinsAsked(refused(`${id}:${units}`))).toEqual([[other.id.slice(60, 66)]]);
    // Without a coin that was offered, a refusal is as any other.
    expect(coinsAsked(refused(`${id}:${units}`))).toEqual([]);
    expect(whyOf(driver, 1)).toContain("ACCOUNT_COIN_SPENT");
    expect(coinsAsked(driver.block(11, chainState([spent])))).toEqual([]);
    const third = coin(3, 800_000n);
    driver.block(12, chainState([spent, third]));
    expect(coinsAsked(driver.tick(5_000))).toEqual([[third.id.slice(60, 66)]]);
  });

  it("a payment for which only a spent coin is left names that coin, and asks again in ten minutes", () => {
    const spent = coin(1, 900_000n);
    const driver = driven([order(1, "approved")]);
    driver.block(10, chainState([spent]));
    expect(coinsAsked(gasFor(driver, 1))).toEqual([[spent.id.slice(60, 66)]]);
    const detail = `${spent.id}:${spent.units}`;
    const answer = { ok: false, code: "ACCOUNT_COIN_SPENT", effect: "none", detail } as const;
    driver.feed({ kind: "answered", verb: "sign", transactionId: idOf(1), answer });
    expect(whyOf(driver, 1)).toBe(
      `ACCOUNT_COIN_SPENT: a closed payment has spent ${spent.id}, and nodes still show it`,
    );
    driver.tick(599_000);
    expect(coinsAsked(driver.block(11, chainState([spent])))).toEqual([]);
    driver.tick(1_000);
    expect(coinsAsked(gasFor(driver, 1))).toEqual([[spent.id.slice(60, 66)]]);
  });

  it("a coin that the signer knows as another withdrawal's is left for a minute, and others are offered at once", () => {
    const [taken, other] = [coin(1, 900_000n), coin(2, 200_000n)];
    const driver = driven([order(1, "approved"), order(2, "approved")]);
    const detail = `${taken.id}:${taken.units} is ${idOf(7)}'s`;
    const answer = { ok: false, code: "ACCOUNT_PIN_TAKEN", effect: "none", detail } as const;
    driver.block(10, chainState([taken]));
    expect(coinsAsked(gasFor(driver, 1))).toEqual([[taken.id.slice(60, 66)]]);
    driver.feed({ kind: "answered", verb: "sign", transactionId: idOf(1), answer });
    const [asked] = coinsAsked(driver.block(11, chainState([taken, other])));
    expect(asked).toEqual([other.id.slice(60, 66)]);
    driver.feed({ kind: "answered", verb: "sign", transactionId: idOf(1), answer });
    expect(coinsAsked(driver.block(12, chainState([taken])))).toEqual([]);
    driver.tick(59_000);
    driver.block(13, chainState([taken]));
    expect(coinsAsked(driver.tick(1_000))).toEqual([[taken.id.slice(60, 66)]]);
  });

  it("a coin that another withdrawal may spend is not offered, and the withdrawal waits for the change", () => {
    const held = coin(1, 900_000n);
    const driver = driven([sentOn(1, held), order(2, "approved")]);
    driver.block(10, chainState([held]));
    expect(asked(gasFor(driver, 2))).toEqual([]);
    expect(whyOf(driver, 2)).toBe("coins of payments that are not final yet");
  });

  it("events that leave a waiting payment as it is read no coin again, and the freed coin pays it at once", () => {
    let reads = 0;
    const held = coin(1, 900_000n);
    const counted: Coin = {
      get id() {
        reads += 1;
        return held.id;
      },
      units: held.units,
    };
    const driver = driven([sentOn(1, held), order(2, "approved")]);
    driver.block(10, chainState([counted]));
    gasFor(driver, 2);
    reads = 0;
    for (let events = 0; events < 20; events += 1) look(driver, 1, null);
    expect([reads, whyOf(driver, 2)]).toEqual([0, "coins of payments that are not final yet"]);
    // The payment that held it ends without it.
    const ended: CourierView = { ...sentOn(1, held), state: "conflicted", isOver: true };
    expect(coinsAsked(driver.feed({ kind: "views", withdrawals: [ended] }))).toEqual([
      [held.id.slice(60, 66)],
    ]);
  });

  it("an offer that waits for the gateway's word is made again with another list or after half a second, not with each event", () => {
    let reads = 0;
    const free = coin(2, 900_000n);
    const counted: Coin = {
      get id() {
        reads += 1;
        return free.id;
      },
      units: free.units,
    };
    const driver = unsighted([sentOn(1, coin(1, 900_000n)), order(2, "approved")]);
    driver.block(10, chainState([counted]));
    gasFor(driver, 2);
    look(driver, 1, null);
    reads = 0;
    for (let events = 0; events < 20; events += 1) look(driver, 1, null);
    expect(reads).toBe(0);
    driver.nowMs += 1_000;
    look(driver, 1, null);
    expect(reads).toBeGreaterThan(0);
    expect(coinsAsked(sight(driver, [free]))).toEqual([[free.id.slice(60, 66)]]);
  });

  it("a coin of two payments is free only when both have left it", () => {
    const held = coin(1, 900_000n);
    const driver = driven([sentOn(1, held), sentOn(2, held), order(3, "approved")]);
    driver.block(10, chainState([held]));
    gasFor(driver, 3);
    const ended = (sequence: number) => {
      const view: CourierView = { ...sentOn(sequence, held), state: "conflicted", isOver: true };
      return driver.feed({ kind: "views", withdrawals: [view] });
    };
    expect(coinsAsked(ended(1))).toEqual([]);
    expect(coinsAsked(ended(2))).toHaveLength(1);
  });

  it("a payment that no block has is looked for at each block, and else every two minutes", () => {
    const driver = driven([sentOn(1, coin(1, 900_000n))]);
    const wanted = (effects: ReturnType<typeof driver.tick>): number =>
      only(effects, "look").flatMap((one) => one.wanted).length;
    expect(wanted(driver.block(10, chainState([])))).toBe(1);
    look(driver, 1, null);
    expect([
      wanted(driver.tick(60_000)),
      wanted(driver.tick(59_000)),
      wanted(driver.tick(1_000)),
    ]).toEqual([0, 0, 1]);
    look(driver, 1, null);
    expect(wanted(driver.block(11, chainState([])))).toBe(1);
  });

  it("two withdrawals that are signed at once get two coins", () => {
    const coins = [coin(1, 900_000n), coin(2, 800_000n)];
    const driver = driven([order(1, "approved"), order(2, "approved")]);
    driver.block(10, chainState(coins));
    const [first, second] = [...coinsAsked(gasFor(driver, 1)), ...coinsAsked(gasFor(driver, 2))];
    expect([first, second]).toEqual(coins.map(({ id }) => [id.slice(60, 66)]));
  });

  it("a payment that no block has is asked about after a minute, and then after twice the time, and ends when its pin is lost", () => {
    const driver = driven([sentOn(1, coin(1, 900_000n)), sentOn(2, coin(2, 900_000n))]);
    driver.block(10, chainState([]));
    look(driver, 1, null);
    look(driver, 2, 10);
    const askedAfter = (ms: number): readonly string[] =>
      only(driver.tick(ms), "confirm").flatMap(({ wanted }) =>
        wanted.map(({ withdrawal }) => withdrawal.transactionId),
      );
    const mine = [1_000, 58_000, 2_000, 60_000, 59_000, 2_000]
      .map(askedAfter)
      .map((ids) => ids.includes(idOf(1)));
    expect(mine).toEqual([false, false, true, false, false, true]);
    const lost = { outcome: "conflicted", txHash: "1".padStart(64, "c"), block: 0 } as const;
    const found = [{ transactionId: idOf(1), chainOutcome: lost }];
    expect(observedBody(driver.feed({ kind: "confirmed", chain: "local", found }))).toMatchObject([
      { stage: "final", ...lost },
    ]);
    expect(askedAfter(3_600_000)).not.toContain(idOf(1));
  });
});

describe("a coin that left the list of final ones", () => {
  const [mine, other] = [coin(1, 900_000n), coin(2, 800_000n)];
  const listed = (driver: ReturnType<typeof driven>, coins: readonly Coin[], number: number) =>
    driver.block(number, chainState(coins));
  /** The coins asked about by all blocks of an hour. */
  function askedAbout(
    driver: ReturnType<typeof driven>,
    coins: readonly Coin[],
  ): readonly string[] {
    const found: string[] = [];
    for (let number = 100; number < 120; number += 1) {
      driver.nowMs += 180_000;
      const asking = only(listed(driver, coins, number), "spenders");
      found.push(...asking.flatMap((effect) => effect.coins));
    }
    return found;
  }
  const spent = (driver: ReturnType<typeof driven>, coinId: string, txHash: string | null) =>
    only(
      driver.feed({ kind: "spenders", chain: "local", found: [{ coin: coinId, txHash }] }),
      "foreign",
    );

  it("is asked about, and a final spender that no attempt is goes to the signer", () => {
    const driver = driven([]);
    listed(driver, [mine, other], 10);
    expect(new Set(askedAbout(driver, [other]))).toEqual(new Set([mine.id]));
    expect(spent(driver, mine.id, null)).toEqual([]);
    const told = { kind: "foreign", body: { chain: "local", coin: mine.id, txHash: "f1" } };
    expect(spent(driver, mine.id, "f1")).toEqual([told]);
    // The signer may not have taken it.
    expect(spent(driver, mine.id, "f1")).toEqual([told]);
    expect(spent(driver, other.id, "f2")).toEqual([]);
  });

  it("is nobody's theft while an attempt spends it, and one is that a foreign transaction took from an attempt", () => {
    const driver = driven([sentOn(1, mine)]);
    listed(driver, [mine, other], 10);
    expect(askedAbout(driver, [other])).toEqual([]);
    const chainOutcome = {
      outcome: "conflicted",
      txHash: "1".padStart(64, "c"),
      block: 0,
    } as const;
    driver.feed({
      kind: "confirmed",
      chain: "local",
      found: [{ transactionId: idOf(1), chainOutcome }],
    });
    expect(new Set(askedAbout(driver, [other]))).toEqual(new Set([mine.id]));
    expect(spent(driver, mine.id, "1".padStart(64, "c"))).toEqual([]);
    expect(spent(driver, mine.id, "f1")).toEqual([]);
  });

  it("is asked about ever less often, not after it is listed again, and not for more than a day", () => {
    const driver = driven([]);
    listed(driver, [mine, other], 10);
    const first = askedAbout(driver, [other]).length;
    expect(first).toBeGreaterThan(3);
    expect(first).toBeLessThan(12);
    listed(driver, [mine, other], 200);
    expect(askedAbout(driver, [mine, other])).toEqual([]);
    listed(driver, [other], 300);
    driver.nowMs += 2 * 86_400_000;
    expect(askedAbout(driver, [other])).toEqual([]);
  });
});

describe("a network that the signer stopped", () => {
  it("gets no first attempt, says what ends it, and goes on with the resume", () => {
    const driver = driven([order(1, "approved")]);
    gasFor(driver, 1);
    driver.feed({ kind: "paused", paused: true, network, code: "CHAIN_COIN_FOREIGN" });
    expect(asked(driver.block(10, chainState([coin(1, 900_000n)])))).toEqual([]);
    expect(whyOf(driver, 1)).toBe("NETWORK_PAUSED: autowithdraw resume --network local");
    const resumed = driver.feed({ kind: "paused", paused: false, network });
    const more = [
      ...resumed,
      ...gasFor(driver, 1),
      ...driver.block(11, chainState([coin(1, 900_000n)])),
    ];
    expect(asked(more)).toContain("sign:1");
  });
});

describe("a currency that the signer stopped", () => {
  it("gets no first attempt, says what ends it, and goes on with the resume; another currency does not wait", () => {
    const driver = driven([order(1, "approved")]);
    gasFor(driver, 1);
    const { currency } = order(1, "approved");
    const code = "CURRENCY_MOVES_OTHERWISE";
    driver.feed({ kind: "paused", paused: true, network, currency: "other", code });
    driver.feed({ kind: "paused", paused: true, network, currency, code });
    expect(asked(driver.block(10, chainState([coin(1, 900_000n)])))).toEqual([]);
    expect(whyOf(driver, 1)).toBe(`CURRENCY_MOVES_OTHERWISE: ${currency}`);
    const resumed = driver.feed({ kind: "paused", paused: false, network, currency });
    const more = [
      ...resumed,
      ...gasFor(driver, 1),
      ...driver.block(11, chainState([coin(1, 900_000n)])),
    ];
    expect(asked(more)).toContain("sign:1");
  });
});

it("a payment that no block takes, as the gateway says, takes the place of no other in flight", () => {
  const open = { accounts: [{ chain: "local", network, address: account, nextSlot: "7" }] };
  const driver = drive([sentOn(1, coin(1, 900_000n)), order(2, "approved")], open, 1);
  sight(driver, [coin(2, 800_000n)]);
  driver.block(10, chainState([coin(1, 900_000n), coin(2, 800_000n)]));
  expect(whyOf(driver, 2)).toBe("others in flight");
  driver.feed({ kind: "unreachable", transactionIds: [idOf(1)] });
  expect(
    asked([
      ...gasFor(driver, 2),
      ...driver.block(11, chainState([coin(1, 900_000n), coin(2, 800_000n)])),
    ]),
  ).toContain("sign:2");
});

describe("a payment whose pin no node of the courier shows", () => {
  const minuteMs = 60_000;
  const [pin, beside] = [coin(1, 90_000n), coin(2, 80_000n)];
  const txParams: TxParams = {
    coins: `${pin.id}:${pin.units},${beside.id}:${beside.units}`,
    changeSat: "0",
    feeSat: "1000",
  };
  const out = order(1, "broadcast", {
    attempts: [attemptOf(1, { txHash: "c".repeat(64), txParams, feeMax: "1000", raw: "0x02" })],
  });
  const wanted = [{ transactionId: idOf(1), coin: pin.id }];
  const seen = (isShown: boolean) => ({ isShown, chainMs: 1_700_000_000_000 });

  function absent() {
    const driver = unsighted([out]);
    driver.block(10, chainState([]));
    look(driver, 1, null);
    return driver;
  }

  it("is asked about after ten minutes, then each ten, and each answer goes to the signer", () => {
    const driver = absent();
    expect(only(driver.block(11, chainState([])), "makers")).toEqual([]);
    driver.tick(10 * minuteMs);
    expect(only(driver.block(12, chainState([])), "makers")).toMatchObject([{ wanted }]);
    expect(only(driver.block(13, chainState([])), "makers")).toEqual([]);
    const told = driver.feed({
      kind: "makers",
      chain: "local",
      found: [{ ...wanted[0]!, answer: seen(false) }],
    });
    expect(only(told, "unseen")).toMatchObject([{ body: { ...wanted[0], ...seen(false) } }]);
    // An operator can end it only if the gateway names a coin beside it.
    expect(only(told, "question").map(({ coins }) => coins.map(({ id }) => id))).toEqual([
      [beside.id],
    ]);
    driver.tick(10 * minuteMs);
    expect(only(driver.block(14, chainState([])), "makers")).toMatchObject([{ wanted }]);
    const again = driver.feed({
      kind: "makers",
      chain: "local",
      found: [{ ...wanted[0]!, answer: seen(true) }],
    });
    expect(only(again, "unseen")).toMatchObject([{ body: { isShown: true } }]);
    expect(only(again, "question")).toEqual([]);
    expect(
      only(
        driver.feed({ kind: "makers", chain: "local", found: [{ ...wanted[0]!, answer: null }] }),
        "unseen",
      ),
    ).toEqual([]);
  });

  const questions = (effects: ReturnType<ReturnType<typeof absent>["tick"]>) =>
    only(effects, "question").map(({ coins }) => coins.map(({ id }) => id));

  /** Ticks of a second each, and what was asked in them. */
  const asksWithin = (driver: ReturnType<typeof absent>, seconds: number) =>
    Array.from({ length: seconds }, () => questions(driver.tick(1_000))).flat();

  /** The nodes have shown the pins of these payments, or have not. */
  const looksAt = (driver: ReturnType<typeof absent>, isShown: boolean, found = wanted) =>
    driver.feed({
      kind: "makers",
      chain: "local",
      found: found.map((one) => ({ ...one, answer: seen(isShown) })),
    });

  it("has the gateway asked again for a coin beside it each minute at least, until it names one or the pin is shown", () => {
    const driver = absent();
    expect(asksWithin(driver, 5)).toEqual([]);
    expect(questions(looksAt(driver, false))).toEqual([[beside.id]]);
    // The link broke with the question or its answer, and the next look is in ten minutes.
    expect(asksWithin(driver, 2)).toEqual([[beside.id]]);
    expect(asksWithin(driver, 3 + 4 * 60).length).toBeGreaterThan(4);
    sight(driver, [beside]);
    expect(asksWithin(driver, 120)).toEqual([]);
    const other = absent();
    expect(questions(looksAt(other, false))).toEqual([[beside.id]]);
    looksAt(other, true);
    expect(asksWithin(other, 120)).toEqual([]);
  });

  it("has the gateway asked for all coins beside it, though it never names sixteen others", () => {
    const many = Array.from({ length: 20 }, (_, at) => coin(10 + at, 80_000n));
    const inputs = [pin, ...many].map(({ id, units }) => `${id}:${units}`).join(",");
    const [attempt] = out.attempts;
    const view = { ...out, attempts: [{ ...attempt!, txParams: { ...txParams, coins: inputs } }] };
    const driver = unsighted([view]);
    driver.block(10, chainState([]));
    look(driver, 1, null);
    const ids = many.map(({ id }) => id);
    expect(questions(looksAt(driver, false))).toEqual([ids.slice(0, 16)]);
    expect(asksWithin(driver, 4)).toContainEqual(ids.slice(16));
  });

  it.each(["paid", "reverted", "conflicted"] as const)(
    "is asked about where the ledger alone calls it %s",
    (state) => {
      const driver = unsighted([{ ...out, state }]);
      driver.block(10, chainState([]));
      look(driver, 1, null);
      driver.tick(10 * minuteMs);
      expect(only(driver.block(11, chainState([])), "makers")).toMatchObject([{ wanted }]);
      const told = driver.feed({
        kind: "makers",
        chain: "local",
        found: [{ ...wanted[0]!, answer: seen(false) }],
      });
      expect(only(told, "unseen")).toMatchObject([{ body: { ...wanted[0], ...seen(false) } }]);
    },
  );

  it("a renewal is offered with the coin that it owes in front, and waits alone while another payment holds it", () => {
    const [large, owed] = [coin(1, 900_000n), coin(2, 200_000n)];
    const owes = { owed: [`${owed.id}:${owed.units}`] };
    const driver = driven([order(1, "approved", owes)]);
    driver.block(10, chainState([large, owed]));
    expect(coinsAsked(gasFor(driver, 1))).toEqual([[owed.id.slice(60, 66)]]);
    const other = driven([sentOn(1, owed), order(2, "approved", owes), order(3, "approved")]);
    other.block(10, chainState([large, owed]));
    expect(whyOf(other, 2)).toContain("ACCOUNT_COIN_OWED");
    expect(coinsAsked(gasFor(other, 3))).toEqual([[large.id.slice(60, 66)]]);
  });
});
