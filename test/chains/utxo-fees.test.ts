/**
 * chains/utxo offline, the choice of coins: what is paid adds up, nothing is dust, every attempt
 * has the anchor of the first, and each replacement is one that nodes accept.
 */
import { setImmediate as pause } from "node:timers/promises";
import { bech32 } from "@scure/base";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Coin, TxParams } from "../../chains/family.ts";
import { utxoFamilies } from "../../chains/utxo/family.ts";
import {
  coinsWanted,
  firstOffer,
  firstOfferWithMerging,
  mergingLimits,
  type PaymentOrCancel,
  replacementOffer,
} from "../../chains/utxo/fees.ts";
import { bitcoin, litecoin } from "../../chains/utxo/network.ts";
import { dustOf, dustOfChange, sizeOf } from "../../chains/utxo/size.ts";
import { utxoTransactions } from "../../chains/utxo/transactions.ts";
import {
  amountOf,
  coinsPerTransactionMax,
  feeMaxOf,
  figuresOf,
} from "../../chains/utxo/tx-params.ts";
import { share } from "../../lab/kit/share.ts";
import { bytes, seed } from "../support/evm-values.ts";
import { mainOf, scriptOf, signAll, Values } from "./utxo-values.ts";

const values = new Values(seed);
const network = mainOf(bitcoin);
const coin = (place: number, units: bigint): Coin => ({
  id: `${place.toString(16).padStart(64, "0")}:${place % 3}`,
  units,
});
const destination = values.destination(network, "p2wpkh");
/** The anchor, and all coins, by their ids. */
const pin = (txParams: TxParams): string => figuresOf(txParams).coins[0]!.id;
const holds = (txParams: TxParams): string[] => figuresOf(txParams).coins.map(({ id }) => id);
const unitsOf = (coins: readonly Coin[]): bigint =>
  coins.reduce((sum, { units }) => sum + units, 0n);

describe("sizes and dust", () => {
  it("the measured sizes of one coin and one output, with change, and of two coins", () => {
    expect([sizeOf(1, 22, 0), sizeOf(1, 22, 1), sizeOf(2, 22, 1), sizeOf(1, null, 1)]).toEqual([
      110n,
      141n,
      209n,
      110n,
    ]);
  });

  it("the least output of each kind, on both coins", () => {
    const kinds = ["p2pkh", "p2sh", "p2wpkh", "p2wsh", "p2tr"] as const;
    expect(kinds.map((kind) => dustOf(values.script(kind), network))).toEqual([
      546n,
      540n,
      294n,
      330n,
      330n,
    ]);
    expect(kinds.map((kind) => dustOf(values.script(kind), mainOf(litecoin)))).toEqual([
      5_460n,
      5_400n,
      2_940n,
      3_300n,
      3_300n,
    ]);
    expect([dustOfChange(network), dustOfChange(mainOf(litecoin))]).toEqual([294n, 2_940n]);
  });

  it("a signed transaction is as long as its size says, or one byte shorter for each coin", () => {
    for (let run = 0; run < share(100); run += 1) {
      const owner = values.account(network);
      const coins = values.coins(owner.script, 1 + values.random.below(6));
      const payment = {
        network: network.id,
        account: owner.address,
        slot: "1",
        contract: "",
        tag: "",
        destination: values.destination(network),
        amountUnits: unitsOf(coins) / 2n,
      };
      const txParams = firstOffer(network, { satPerKvB: 1_000n, coins }, payment)!;
      const { build, digests, attach } = utxoTransactions;
      const unsigned = build(payment, txParams);
      const { raw } = attach(unsigned, signAll(digests(unsigned), owner.key), owner.address);
      const { coins: taken, changeSat } = figuresOf(txParams);
      const script = scriptOf(payment.destination, network).length;
      const body = 10 + taken.length * 41 + 9 + script + changeSat.length * 31;
      const measured = Math.ceil((body * 3 + raw.length) / 4);
      const most = Number(sizeOf(taken.length, script, changeSat.length));
      expect(measured).toBeLessThanOrEqual(most);
      expect(measured).toBeGreaterThanOrEqual(most - Math.ceil(taken.length / 2));
      expect(bytes(Buffer.from(raw).toString("hex")).length).toBe(raw.length);
    }
  });
});

describe("the first attempt", () => {
  it.each([
    [
      "one coin, change in two while coins are few",
      [100_000n, 90_000n],
      30_000n,
      1_000n,
      "1:100000",
      "34914,34914",
      "172",
    ],
    [
      "the largest coin is the anchor",
      [20_000n, 900_000n, 50_000n],
      10_000n,
      1_000n,
      "2:900000",
      "444914,444914",
      "172",
    ],
    ["change too small for two stays one", [40_000n], 20_000n, 1_000n, "1:40000", "19859", "141"],
    ["dust goes to the fee", [40_000n], 39_600n, 1_000n, "1:40000", "0", "400"],
    ["not a sat more than needed", [40_000n], 39_890n, 1_000n, "1:40000", "0", "110"],
    [
      "a second coin where one does not suffice",
      [40_000n, 30_000n],
      50_000n,
      10_000n,
      "1:40000,2:30000",
      "17910",
      "2090",
    ],
    [
      "a rate below 1 sat for a byte counts as 1",
      [40_000n],
      20_000n,
      10n,
      "1:40000",
      "19859",
      "141",
    ],
    ["a broken rate is rounded up", [40_000n], 20_000n, 1_001n, "1:40000", "19858", "142"],
  ])("%s", (_, units, amountUnits, satPerKvB, coins, changeSat, feeSat) => {
    const market = { satPerKvB, coins: units.map((each, place) => coin(place + 1, each)) };
    const txParams = firstOffer(network, market, { destination, amountUnits })!;
    const short = figuresOf(txParams)
      .coins.map(({ id, units: each }) => `${Number.parseInt(id, 16)}:${each}`)
      .join(",");
    const got = { coins: short, changeSat: txParams.changeSat, feeSat: txParams.feeSat };
    expect(got).toEqual({ coins, changeSat, feeSat });
    expect(
      firstOffer(
        network,
        { ...market, coins: [...market.coins].reverse() },
        { destination, amountUnits },
      ),
    ).toEqual(txParams);
  });

  it("null where the coins do not suffice, by one sat, and for dust and no address", () => {
    const market = { satPerKvB: 1_000n, coins: [coin(1, 40_000n)] };
    expect(firstOffer(network, market, { destination, amountUnits: 39_890n })).not.toBe(null);
    expect(firstOffer(network, market, { destination, amountUnits: 39_891n })).toBe(null);
    expect(firstOffer(network, market, { destination, amountUnits: 294n })).not.toBe(null);
    expect(firstOffer(network, market, { destination, amountUnits: 293n })).toBe(null);
    expect(firstOffer(network, market, { destination: "nobody", amountUnits: 20_000n })).toBe(null);
    expect(
      firstOffer(network, { ...market, coins: [] }, { destination, amountUnits: 20_000n }),
    ).toBe(null);
    const many = Array.from({ length: coinsPerTransactionMax + 1 }, (_, place) =>
      coin(place, 1_000n),
    );
    expect(
      firstOffer(
        network,
        { satPerKvB: 1_000n, coins: many },
        { destination, amountUnits: 59_000n },
      ),
    ).not.toBe(null);
    expect(
      firstOffer(
        network,
        { satPerKvB: 1_000n, coins: many },
        { destination, amountUnits: 60_600n },
      ),
    ).toBe(null);
  });

  it("change is one coin where the account has enough", () => {
    const coins = (count: number) =>
      Array.from({ length: count }, (_, place) => coin(place, 900_000n));
    const changes = (count: number) =>
      figuresOf(
        firstOffer(
          network,
          { satPerKvB: 1_000n, coins: coins(count) },
          { destination, amountUnits: 20_000n },
        )!,
      ).changeSat.length;
    expect([changes(coinsWanted - 1), changes(coinsWanted)]).toEqual([2, 1]);
  });
});

describe("every attempt", () => {
  it.each(Array.from({ length: share(4, 1) }, (_, at) => at))(
    "generated payments and their replacements add up, each by the rule of nodes: share %i",
    async (at) => {
      const values = new Values(seed + at);
      let cancels = 0;
      for (let run = 0; run < share(500, 200); run += 1) {
        const on = mainOf(values.random.chance(2) ? bitcoin : litecoin);
        const scale = on.dustSatPerKvB / 3_000n;
        const coins = Array.from({ length: 1 + values.random.below(20) }, (_, place) =>
          coin(place, values.units(1_000, 200_000) * scale),
        );
        const amountUnits = values.units(600, 300_000) * scale;
        const target = { destination: values.destination(on), amountUnits };
        const script = scriptOf(target.destination, on);
        const rate = () => values.units(0, 40_000);
        await pause();
        const begin = firstOffer(on, { satPerKvB: rate(), coins }, target);
        if (begin === null) continue;
        const attempts = [begin];
        const sizes = [
          sizeOf(figuresOf(begin).coins.length, script.length, figuresOf(begin).changeSat.length),
        ];
        for (let more = values.random.below(5); more > 0; more -= 1) {
          const wanted: PaymentOrCancel = values.random.chance(3) ? null : target;
          const asked = rate();
          const earlier = attempts.map((txParams) => ({
            txParams: values.random.chance(9) && attempts.length === 1 ? null : txParams,
            feeMax: `${feeMaxOf(txParams)}`,
          }));
          const next = replacementOffer(
            on,
            { satPerKvB: asked, coins },
            wanted,
            earlier,
            pin(begin),
          );
          if (next === null) continue;
          const figures = figuresOf(next);
          const size = sizeOf(
            figures.coins.length,
            wanted === null ? null : script.length,
            figures.changeSat.length,
          );
          expect(amountOf(figures)).toBe(wanted === null ? 0n : amountUnits);
          expect(figures.feeSat * 1000n).toBeGreaterThanOrEqual(asked * size);
          for (const [place, before] of attempts.entries()) {
            expect(figures.feeSat).toBeGreaterThanOrEqual(feeMaxOf(before) + size);
            if (earlier[place]!.txParams !== null)
              expect(figures.feeSat * sizes[place]!).toBeGreaterThan(feeMaxOf(before) * size);
          }
          if (wanted === null) cancels += 1;
          attempts.push(next);
          sizes.push(size);
        }
        for (const txParams of attempts) {
          const { coins: taken, changeSat, feeSat } = figuresOf(txParams);
          const paid = amountOf({ coins: taken, changeSat, feeSat });
          expect(unitsOf(taken)).toBe(
            paid + unitsOf(changeSat.map((units) => ({ id: "", units }))) + feeSat,
          );
          expect([0n, amountUnits]).toContain(paid);
          expect(changeSat.every((units) => units >= dustOfChange(on))).toBe(true);
          expect(pin(txParams)).toBe(pin(begin));
          expect(holds(txParams)[0]).toBe(pin(begin));
          expect(new Set(holds(txParams)).size).toBe(taken.length);
          expect(
            taken.every(({ id, units }) =>
              coins.some((each) => each.id === id && each.units === units),
            ),
          ).toBe(true);
        }
      }
      expect(cancels).toBeGreaterThan(share(20, 5));
    },
  );

  const coins = [coin(1, 40_000n), coin(2, 30_000n), coin(3, 20_000n)];
  const target = { destination, amountUnits: 35_000n };
  const begin = firstOffer(network, { satPerKvB: 1_000n, coins }, target)!;
  const earlier = [{ txParams: begin, feeMax: `${feeMaxOf(begin)}` }];
  const replaced = (
    satPerKvB: bigint,
    wanted: PaymentOrCancel = target,
    attempts: Parameters<typeof replacementOffer>[3] = earlier,
  ) => replacementOffer(network, { satPerKvB, coins }, wanted, attempts, pin(begin));

  it("change shrinks first, then a coin is added, and then there is no replacement", () => {
    expect(figuresOf(begin)).toEqual({ coins: [coins[0]], changeSat: [4_859n], feeSat: 141n });
    expect(figuresOf(replaced(1_000n)!)).toEqual({
      coins: [coins[0]],
      changeSat: [4_718n],
      feeSat: 282n,
    });
    expect(figuresOf(replaced(20_000n)!)).toEqual({
      coins: [coins[0]],
      changeSat: [2_180n],
      feeSat: 2_820n,
    });
    expect(figuresOf(replaced(40_000n)!)).toEqual({
      coins: [coins[0]],
      changeSat: [],
      feeSat: 5_000n,
    });
    expect(figuresOf(replaced(50_000n)!)).toEqual({
      coins: coins.slice(0, 2),
      changeSat: [24_550n],
      feeSat: 10_450n,
    });
    expect(figuresOf(replaced(210_000n)!).coins).toEqual(coins);
    expect(replaced(400_000n)).toBe(null);
  });

  it("a cancel takes the anchor alone where it suffices, and more where it does not", () => {
    expect(figuresOf(replaced(1_000n, null)!)).toEqual({
      coins: [coins[0]],
      changeSat: [39_749n],
      feeSat: 251n,
    });
    expect(figuresOf(replaced(350_000n, null)!)).toEqual({
      coins: [coins[0]],
      changeSat: [1_500n],
      feeSat: 38_500n,
    });
    expect(figuresOf(replaced(380_000n, null)!).coins).toEqual(coins.slice(0, 2));
  });

  it("a coin that another transaction spent is left out while the anchor is free, and kept while it is not", () => {
    const wanted = { destination, amountUnits: 60_000n };
    const paying = firstOffer(network, { satPerKvB: 1_000n, coins }, wanted)!;
    const attempts = [{ txParams: paying, feeMax: `${feeMaxOf(paying)}` }];
    expect(figuresOf(paying).coins).toEqual(coins.slice(0, 2));
    const left = [coins[0]!, coins[2]!, coin(4, 10_000n)];
    const replacedBy = (isFree: boolean) => {
      const next = replacementOffer(
        network,
        { satPerKvB: 1_000n, coins: left },
        wanted,
        attempts,
        coins[0]!.id,
        isFree,
      );
      return figuresOf(next!).coins;
    };
    expect(replacedBy(true)).toEqual(left);
    expect(replacedBy(false)).toEqual(coins.slice(0, 2));
  });

  it("an attempt of which only the fee is known is replaced on the given pin", () => {
    const unknown = [{ txParams: null, feeMax: "5000" }];
    const next = replaced(1_000n, target, unknown)!;
    expect(pin(next)).toBe(coins[0]!.id);
    expect(feeMaxOf(next)).toBeGreaterThanOrEqual(5_000n + 209n);
    for (const wanted of [target, null]) {
      const onOther = replacementOffer(
        network,
        { satPerKvB: 1_000n, coins },
        wanted,
        unknown,
        coins[1]!.id,
      )!;
      expect(pin(onOther)).toBe(coins[1]!.id);
    }
    expect(
      replacementOffer(network, { satPerKvB: 1_000n, coins }, target, unknown, coin(9, 1n).id),
    ).toBe(null);
  });
});

describe("a payment of an account with many coins", () => {
  const large = Array.from({ length: mergingLimits.coinsMin - 20 }, (_, place) =>
    coin(place + 1, 100_000n + BigInt(place)),
  );
  const small = Array.from({ length: 21 }, (_, place) => coin(place + 1_000, 300n + BigInt(place)));
  const coins = [...large, ...small];
  const target = { destination, amountUnits: 35_000n };
  const offer = (satPerKvB: bigint, offered = coins) =>
    figuresOf(firstOfferWithMerging(network, { satPerKvB, coins: offered }, target)!);

  it("reads the receiver's address once", () => {
    const decoded = vi.spyOn(bech32, "decodeUnsafe");
    onTestFinished(() => decoded.mockRestore());
    offer(1_000n);
    expect(decoded).toHaveBeenCalledTimes(1);
  });
  const plain = (satPerKvB: bigint) =>
    figuresOf(firstOffer(network, { satPerKvB, coins }, target)!);

  it("merges the smallest, and loses nothing but their fee", () => {
    const { coins: taken, feeSat, changeSat } = offer(1_000n);
    expect(taken).toEqual([...plain(1_000n).coins, ...small.slice(0, mergingLimits.coinsMost)]);
    expect(feeSat).toBe(plain(1_000n).feeSat + 8n * 68n);
    expect(unitsOf(taken)).toBe(35_000n + feeSat + changeSat[0]!);
  });

  it("leaves those that are not worth their fee, and all of them above 10 sat for a byte", () => {
    // 4.5 sat for a byte: 306 sat for each.
    expect(offer(4_500n).coins.slice(1)).toEqual(small.slice(7, 15));
    expect(offer(10_000n).coins.slice(1)).toEqual(large.slice(0, 8));
    expect(offer(10_001n)).toEqual(plain(10_001n));
  });

  it("merges none of an account with 100 coins, and none where the payment needs all that fit", () => {
    expect(offer(1_000n, coins.slice(0, mergingLimits.coinsMin))).toEqual(plain(1_000n));
    const all = { satPerKvB: 1_000n, coins };
    const most = { destination, amountUnits: 100_000n * 62n };
    expect(figuresOf(firstOfferWithMerging(network, all, most)!).coins).toHaveLength(
      coinsPerTransactionMax,
    );
  });

  it("merges none after a refusal for its fee", () => {
    const { first: offered, bidding } = utxoFamilies.bitcoin.fees;
    const wanted = { network: network.id, contract: "", tag: "", ...target };
    const at = (step: number) => {
      const feeMarket = bidding!.lowered({ satPerKvB: 8_000n }, step)!;
      return figuresOf(offered({ feeMarket, computeLimit: 1n, coins }, wanted)!);
    };
    expect(at(0)).toEqual(offer(8_000n));
    expect(at(0).coins).toHaveLength(9);
    expect(at(1)).toEqual(plain(7_000n));
  });
});
