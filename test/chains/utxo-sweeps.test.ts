/**
 * Sweeps of coins leave nothing behind: the fee comes out of the amount, a higher fee pays the hot
 * wallet less, and no change is worth less than its own fetching. Signer's bytes, the courier's
 * second reader and the gateway's judge read one amount.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { Coin, Payment, TxParams } from "../../chains/family.ts";
import { utxoFamilies } from "../../chains/utxo/family.ts";
import {
  coinsWanted,
  feeOfInput,
  firstOffer,
  firstOfferWithMerging,
  fittingCoins,
  mergingLimits,
  replacementOffer,
} from "../../chains/utxo/fees.ts";
import { bitcoin, litecoin, type UtxoNetwork } from "../../chains/utxo/network.ts";
import { independentReaderOn } from "../../chains/utxo/node-read-back.ts";
import { createUtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import { transactionEffectOf } from "../../chains/utxo/outcome.ts";
import { previousBytesMax } from "../../chains/utxo/previous.ts";
import { decodeTransaction } from "../../chains/utxo/raw-transaction.ts";
import { dustOfChange, sizeOf } from "../../chains/utxo/size.ts";
import { utxoTransactions } from "../../chains/utxo/transactions.ts";
import {
  amountOf,
  coinsPerTransactionMax,
  feeMaxOf,
  figuresOf,
} from "../../chains/utxo/tx-params.ts";
import { share } from "../../lab/kit/share.ts";
import { seed } from "../support/evm-values.ts";
import { type FakeAnswer, type FakeEsplora, fakeEsplora, fakeNetwork } from "./utxo-fake.ts";
import { type MadeCoin, mainOf, scriptOf, signAll, Values } from "./utxo-values.ts";

const values = new Values(seed);
const network = mainOf(bitcoin);
const destination = values.destination(network, "p2wpkh");
const coin = (place: number, units: bigint): Coin => ({
  id: `${place.toString(16).padStart(64, "0")}:${place % 3}`,
  units,
});
const sumOf = (coins: readonly Coin[]): bigint => coins.reduce((sum, { units }) => sum + units, 0n);
const sweepOf = (amountUnits: bigint) => ({ destination, amountUnits, isFeeInside: true });
const offer = (satPerKvB: bigint, coins: readonly Coin[], amountUnits: bigint) => {
  const txParams = firstOffer(network, { satPerKvB, coins }, sweepOf(amountUnits));
  return txParams === null ? null : figuresOf(txParams);
};

describe("the first attempt of a sweep", () => {
  it.each([
    ["4.25 sat for a byte", 4_250n, 100_000n, 468n],
    ["50 sat for a byte", 50_000n, 1_000_000n, 5_500n],
    ["the least rate", 1_000n, 20_000n, 110n],
  ])("empties the address and has no change, at %s", (_, satPerKvB, units, feeSat) => {
    expect(offer(satPerKvB, [coin(1, units)], units)).toEqual({
      coins: [coin(1, units)],
      changeSat: [],
      feeSat,
    });
  });

  it("takes the coins that make its amount, whatever others are there, and else returns what is worth its fetching", () => {
    const [a, b, c] = [coin(1, 60_000n), coin(2, 40_000n), coin(3, 500n)];
    expect(offer(1_000n, [a, b, c], 100_000n)).toMatchObject({ coins: [a, b], changeSat: [] });
    // A larger coin that came since.
    const late = coin(4, 70_000n);
    expect(offer(1_000n, [a, b, late], 100_000n)).toMatchObject({
      coins: [late, a],
      changeSat: [30_000n],
    });
    expect(offer(1_000n, [coin(4, 100_000n), a, b], 100_000n)).toMatchObject({
      coins: [coin(4, 100_000n)],
      changeSat: [],
    });
    // At 100 sat for a byte a coin of 3,000 would cost 6,800 to fetch, so another one comes along.
    const odd = coin(5, 103_000n);
    expect(offer(100_000n, [odd, a], 100_000n)).toMatchObject({
      coins: [odd, a],
      changeSat: [63_000n],
    });
    expect(offer(100_000n, [odd], 100_000n)).toMatchObject({ coins: [odd], changeSat: [3_000n] });
    expect(offer(1_000n, [coin(6, 100_100n)], 100_000n)).toBe(null);
  });

  it("is none where the fee leaves less than nodes forward, by one sat", () => {
    expect(offer(1_000n, [coin(1, 404n)], 404n)).toMatchObject({ feeSat: 110n });
    expect(offer(1_000n, [coin(1, 403n)], 403n)).toBe(null);
    expect(
      firstOffer(
        network,
        { satPerKvB: 1_000n, coins: [coin(1, 404n)] },
        { destination, amountUnits: 404n },
      ),
    ).toBe(null);
  });

  it("merges and splits nothing, however few or many coins there are", () => {
    const coins = Array.from({ length: mergingLimits.coinsMin + 30 }, (_, place) =>
      coin(place + 1, 900_000n + BigInt(place)),
    );
    const largest = fittingCoins(coins, sumOf(coins));
    expect(largest).toHaveLength(coinsPerTransactionMax);
    for (const offered of [coins, largest])
      for (const make of [firstOffer, firstOfferWithMerging]) {
        const figures = figuresOf(
          make(network, { satPerKvB: 1_000n, coins: offered }, sweepOf(sumOf(largest)))!,
        );
        expect(figures).toMatchObject({ coins: largest, changeSat: [] });
      }
    expect(coins.length).toBeGreaterThan(coinsWanted);
  });
});

describe("a later attempt of a sweep", () => {
  const coins = [coin(1, 60_000n), coin(2, 40_000n)];
  const begin = firstOffer(network, { satPerKvB: 1_000n, coins }, sweepOf(100_000n))!;
  const earlier = [{ txParams: begin, feeMax: `${feeMaxOf(begin)}` }];
  const replaced = (
    satPerKvB: bigint,
    target: Parameters<typeof replacementOffer>[2] = sweepOf(100_000n),
    all = coins,
  ) => replacementOffer(network, { satPerKvB, coins: all }, target, earlier, coins[0]!.id);

  it("pays the hot wallet less, from the same coins, with no change, up to all but the least output", () => {
    expect(figuresOf(begin)).toEqual({ coins, changeSat: [], feeSat: 178n });
    const dear = figuresOf(replaced(100_000n)!);
    expect(dear).toEqual({ coins, changeSat: [], feeSat: 17_800n });
    expect(amountOf(dear)).toBe(82_200n);
    expect(figuresOf(replaced(560_000n)!).feeSat).toBe(99_680n);
    expect(replaced(561_000n)).toBe(null);
    // A payout of the same sum cannot: its amount stands.
    expect(replaced(100_000n, { destination, amountUnits: 99_822n })).toBe(null);
  });

  it("is cancelled by a coin that is worth its fetching, if the coins can make one", () => {
    const small = [coin(7, 3_000n), coin(8, 2_900n)];
    const attempt = firstOffer(network, { satPerKvB: 1_000n, coins: small }, sweepOf(5_900n))!;
    const attempts = [{ txParams: attempt, feeMax: `${feeMaxOf(attempt)}` }];
    const cancel = (satPerKvB: bigint, offered: readonly Coin[]) =>
      figuresOf(
        replacementOffer(network, { satPerKvB, coins: offered }, null, attempts, small[0]!.id)!,
      );
    expect(cancel(5_000n, small)).toEqual({ coins: [small[0]], changeSat: [2_450n], feeSat: 550n });
    // At 20 sat for a byte the anchor alone would leave 800 sat, and a coin costs 1,360.
    expect(cancel(20_000n, small)).toMatchObject({ coins: small, changeSat: [2_340n] });
    // Nothing else cancels, so a small coin is better than none.
    const alone = firstOffer(network, { satPerKvB: 1_000n, coins: [small[0]!] }, sweepOf(3_000n))!;
    const told = [{ txParams: alone, feeMax: `${feeMaxOf(alone)}` }];
    const last = replacementOffer(
      network,
      { satPerKvB: 20_000n, coins: [] },
      null,
      told,
      small[0]!.id,
    )!;
    expect(figuresOf(last)).toEqual({ coins: [small[0]], changeSat: [800n], feeSat: 2_200n });
  });

  it("by an operator takes from the amount too, and a payout's does not", () => {
    const { bidding } = utxoFamilies.bitcoin.fees;
    const attempts = [{ txHash: "", ...earlier[0]! }];
    const wish = { satPerKvB: "50000" };
    const made = bidding!.manualReplacement(attempts, false, wish, null, true);
    expect(made.ok && made.txParams.map(figuresOf)).toEqual([
      { coins, changeSat: [], feeSat: 9_500n },
    ]);
    expect(bidding!.manualReplacement(attempts, false, wish, null)).toMatchObject({
      code: "REPLACEMENT_FEES",
    });
  });
});

describe("change", () => {
  it("of a payout is worth its fetching at the payout's own rate, or goes to the fee", () => {
    const payout = (satPerKvB: bigint, amountUnits: bigint) =>
      figuresOf(
        firstOffer(
          network,
          { satPerKvB, coins: [coin(1, 100_000n)] },
          { destination, amountUnits },
        )!,
      );
    // 68 bytes at 20 sat: 1,360.
    expect(payout(20_000n, 95_820n)).toMatchObject({ changeSat: [1_360n], feeSat: 2_820n });
    expect(payout(20_000n, 95_821n)).toMatchObject({ changeSat: [], feeSat: 4_179n });
    // Half of a split as well, at 300 sat: 20,400.
    const split = (units: bigint) =>
      figuresOf(
        firstOffer(
          network,
          { satPerKvB: 300_000n, coins: [coin(1, units)] },
          { destination, amountUnits: 50_000n },
        )!,
      );
    expect(split(142_400n)).toMatchObject({ changeSat: [20_400n, 20_400n] });
    expect(split(142_399n).changeSat).toHaveLength(1);
  });

  it("of generated payouts, sweeps and their replacements is never worth less than a spend at their rate", () => {
    let [swept, changes] = [0, 0];
    for (let run = 0; run < share(2_000, 400); run += 1) {
      const on = mainOf(values.random.chance(2) ? bitcoin : litecoin);
      const scale = on.dustSatPerKvB / 3_000n;
      const coins = Array.from({ length: 1 + values.random.below(12) }, (_, at) =>
        coin(at, values.units(400, 90_000) * scale),
      );
      const isFeeInside = values.random.chance(2);
      const amountUnits = isFeeInside
        ? sumOf(fittingCoins(coins, sumOf(coins)))
        : values.units(600, 200_000) * scale;
      const target = { destination: values.destination(on, "p2wpkh"), amountUnits, isFeeInside };
      const attempts: TxParams[] = [];
      const pool = { satPerKvB: values.units(0, 60_000), coins };
      const begin = firstOffer(on, pool, target);
      if (begin === null) continue;
      attempts.push(begin);
      const told = [{ txParams: begin, feeMax: `${feeMaxOf(begin)}` }];
      const rate = values.units(0, 200_000);
      const next = replacementOffer(
        on,
        { satPerKvB: rate, coins },
        target,
        told,
        figuresOf(begin).coins[0]!.id,
      );
      if (next !== null) attempts.push(next);
      for (const figures of attempts.map(figuresOf)) {
        const { changeSat, feeSat, coins: taken } = figures;
        const size = sizeOf(taken.length, 22, changeSat.length);
        for (const units of changeSat) {
          changes += 1;
          expect(units).toBeGreaterThanOrEqual(dustOfChange(on));
          expect(units * size).toBeGreaterThanOrEqual(feeSat * 68n - size);
        }
        expect(amountOf(figures) + (isFeeInside ? feeSat : 0n)).toBe(amountUnits);
        if (isFeeInside) {
          swept += 1;
          expect(changeSat).toEqual([]);
        }
      }
    }
    expect(Math.min(swept, changes)).toBeGreaterThan(100);
  });
});

describe.each([
  ["Bitcoin", bitcoin],
  ["Litecoin", litecoin],
])("the bytes of a sweep of %s", (_, native) => {
  const on = mainOf(native);
  const { build, describe: read, digests, attach } = utxoTransactions;
  const owner = values.account(on);
  const coins = [values.coin(owner.script, 6_000_000n), values.coin(owner.script, 4_000_000n)];
  const place = { network: on.id, account: owner.address, slot: "0" };
  const payment: Payment = {
    ...{ ...place, contract: "", tag: "", destination: values.destination(on, "p2wpkh") },
    ...{ amountUnits: 10_000_000n, isFeeInside: true },
  };
  const txParams = firstOffer(on, { satPerKvB: 20_000n, coins }, payment)!;
  const unsigned = build(payment, txParams);

  it("pay the amount less the fee, and are read as the amount by those who know that it is a sweep", () => {
    const signed = attach(unsigned, signAll(digests(unsigned), owner.key), owner.address);
    const { outputs } = decodeTransaction(signed.raw)!.transaction;
    expect(outputs.map(({ units }) => units)).toEqual([10_000_000n - feeMaxOf(txParams)]);
    const told = { ...place, txParams };
    expect(read(unsigned, { ...told, isFeeInside: true })).toMatchObject({
      description: { amountUnits: 10_000_000n },
    });
    const net = {
      description: {
        amountUnits: 10_000_000n - feeMaxOf(txParams),
        feeMaxUnits: feeMaxOf(txParams),
      },
    };
    expect(read(unsigned, told)).toMatchObject(net);
    expect(() => build({ ...payment, isFeeInside: false }, txParams)).toThrow(
      "coins are not amount, change and fee together",
    );
    expect(() => build({ ...payment, amountUnits: 9_999_999n }, txParams)).toThrow(
      "coins are not amount, change and fee",
    );
  });

  it("read the same by another program, which finds one sat more or less", async () => {
    const { raw, txHash } = attach(unsigned, signAll(digests(unsigned), owner.key), owner.address);
    const reading = (change: Partial<Payment>) =>
      independentReaderOn(on)(Buffer.from(raw).toString("hex"), {
        payment: { ...payment, ...change },
        txParams,
        txHash,
        isCancel: false,
      });
    expect(await reading({})).toBe("");
    expect(await reading({ amountUnits: 10_000_001n })).toContain("amount reads as");
    expect(await reading({ isFeeInside: false })).toContain("amount reads as");
    expect(
      await reading({ isFeeInside: false, amountUnits: 10_000_000n - feeMaxOf(txParams) }),
    ).toBe("");
  });

  it("are judged as paid at any fee that is inside, and at no other sum", () => {
    const { account, destination: to, amountUnits } = payment;
    const payee = { account, destination: to, amountUnits, isFeeInside: true };
    const paying = (units: bigint, feeUnits: bigint, change: object = {}) =>
      transactionEffectOf(
        { ...payee, ...change },
        { outputs: [{ units, script: scriptOf(to, on) }], feeUnits },
        on,
      );
    expect([paying(9_990_000n, 10_000n), paying(9_000_000n, 1_000_000n)]).toEqual(["paid", "paid"]);
    expect([
      paying(9_990_001n, 10_000n),
      paying(9_990_000n, 9_999n),
      paying(10_000_000n, 0n),
    ]).toEqual([...(["moved", "moved", "paid"] as const)]);
    const payout = { isFeeInside: false };
    expect([paying(10_000_000n, 10_000n, payout), paying(9_990_000n, 10_000n, payout)]).toEqual([
      "paid",
      "moved",
    ]);
  });
});

describe("the gateway's reckoning of a sweep", () => {
  let nodes: FakeEsplora[] = [];
  afterEach(() => Promise.all(nodes.map((node) => node.close())));

  /** The watcher of an address with these coins, which both nodes show with their makers. */
  async function watching(
    listed: readonly (Coin & { readonly made?: string })[],
    satPerByte: number,
    own: string,
  ) {
    const status = { confirmed: true, block_height: 90, block_hash: "44".repeat(32) };
    const list = listed.map(({ id, units }) => {
      const [txid, vout] = id.split(":");
      return { txid, vout: Number(vout), value: Number(units), status };
    });
    const bytes = listed.flatMap(({ id, made }) =>
      made === undefined ? [] : [[`/tx/${id.split(":")[0]}/hex`, made]],
    );
    const sums = { funded_txo_count: listed.length, funded_txo_sum: Number(sumOf(listed)) };
    const stats = { ...sums, spent_txo_count: 0, spent_txo_sum: 0, tx_count: listed.length };
    const head = {
      id: "11".repeat(32),
      height: 100,
      timestamp: 1_790_000_000,
      previousblockhash: "33".repeat(32),
    };
    const answers: Record<string, FakeAnswer> = {
      ...{
        [`/address/${own}/utxo`]: JSON.stringify(list),
        "/fee-estimates": `{"3":${satPerByte}}`,
      },
      ...{
        [`/address/${own}`]: JSON.stringify({ address: own, chain_stats: stats }),
        [`/address/${own}/txs`]: "[]",
      },
      ...{ "/blocks/tip/hash": head.id, [`/block/${head.id}`]: JSON.stringify(head) },
      ...Object.fromEntries(bytes),
    };
    for (const [id] of listed
      .filter(({ made }) => made === undefined)
      .map(({ id: each }) => each.split(":")))
      answers[`/tx/${id}/hex`] = [404, "Transaction not found"];
    nodes = await Promise.all([fakeEsplora({ ...answers }), fakeEsplora({ ...answers })]);
    const urls = nodes.map(({ url }) => url);
    return createUtxoWatcher({ urls, network: fakeNetwork, confirmations: 2, log: () => {} });
  }

  async function costOf(
    on: UtxoNetwork,
    listed: readonly (Coin & { made?: string })[],
    amountUnits: bigint,
    satPerByte: number,
  ) {
    const own = values.account(on).address;
    const watcher = await watching(listed, satPerByte, own);
    const to = values.destination(on, "p2wpkh");
    const cost = await watcher.cost(own, {
      contract: "",
      tag: "",
      destination: to,
      amountUnits,
      isFeeInside: true,
    });
    watcher.close();
    return cost;
  }

  it("leaves out coins whose transaction is too large to be proven, and no more: from 100,001 bytes on", async () => {
    const { address, script } = values.account(fakeNetwork);
    const [small, whole, over] = [20_000n, 60_000n, 50_000n].map((units, at) =>
      values.largeCoin(script, units, [400, previousBytesMax, previousBytesMax + 1][at]!),
    ) as [MadeCoin, MadeCoin, MadeCoin];
    expect(await costOf(fakeNetwork, [small, whole, over], 130_000n, 1)).toMatchObject({
      ...{ ok: true, mostUnits: 80_000n },
      unusable: [{ id: over.id, units: 50_000n, words: expect.stringContaining("100001 bytes") }],
    });
    expect(await costOf(fakeNetwork, [over], 50_000n, 1)).toMatchObject({
      mostUnits: 0n,
      unusable: [{ id: over.id }],
    });
    expect(await costOf(fakeNetwork, [small, whole], 80_000n, 1)).toMatchObject({
      mostUnits: 80_000n,
    });
    expect(await costOf(fakeNetwork, [small, whole], 80_000n, 1)).not.toHaveProperty("unusable");
    // The balance has it, and the account's list of what is not available too.
    const watcher = await watching([small, whole, over], 1, address);
    expect(await watcher.balance(address, "", 99)).toBe(130_000n);
    expect(watcher.unusableCoins?.(address).map(({ id, units }) => [id, units])).toEqual([
      [over.id, 50_000n],
    ]);
    watcher.close();
  });

  it("counts the coins that bring more than they cost, and none of an outsider beyond the credited sum", async () => {
    const coins = [coin(1, 60_000n), coin(2, 40_000n), coin(3, 1_000n), coin(4, 680n)];
    expect(await costOf(fakeNetwork, coins, 101_680n, 10)).toMatchObject({
      ok: true,
      mostUnits: 101_000n,
    });
    expect(feeOfInput(10_000n)).toBe(680n);
    expect(await costOf(fakeNetwork, coins, 100_000n, 10)).toMatchObject({ mostUnits: 100_000n });
    expect(await costOf(fakeNetwork, coins, 100_000n, 700)).toMatchObject({ mostUnits: 60_000n });
    expect(await costOf(fakeNetwork, coins, 100_000n, 900)).toMatchObject({ mostUnits: 0n });
  });
});
