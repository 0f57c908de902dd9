/** chains/xrp through the offline interface: networks, sequences, fees and payment links. */
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { signDigest } from "../../agent/signer/vault/curve.ts";
import { familyOf, findFamily } from "../../chains/families.ts";
import type { OfferBasis, PaymentTerms, PricedAttempt, TxParams } from "../../chains/family.ts";
import type { TypedFees } from "../../chains/offers.ts";
import { familyTransactionsOf } from "../../chains/transactions.ts";
import { encodeXAddress } from "../../chains/xrp/address.ts";
import { xrp } from "../../chains/xrp/family.ts";
import { chainIdOf } from "../../chains/xrp/network.ts";
import { codeOf } from "../support/evm-values.ts";
import { knowSender, network, payment, receiver, sender, txParams } from "./xrp-values.ts";

beforeEach(knowSender);

const { slots, fees } = xrp;
const bidding = fees.bidding!;
const wanted: PaymentTerms = payment;
const marketOf = (feeDrops: bigint, ledger: bigint): OfferBasis => ({
  feeMarket: { feeDrops, ledger },
  computeLimit: 1n,
  coins: [],
});
const attemptOf = (own: TxParams, txHash = "AB"): PricedAttempt => ({
  txHash,
  txParams: own,
  feeMax: `${fees.most(own)}`,
});
const toldOf = (drops: string): PricedAttempt => ({ txHash: "AB", txParams: null, feeMax: drops });

describe("networks of XRP", () => {
  it("a chain's id is the network's number, up to the last that needs no field", () => {
    for (const id of [0, 1, 2, 1024]) {
      expect(xrp.readChainId(id)).toBe(id);
      expect(chainIdOf(xrp.networkOf({ family: "xrp", chainId: id }))).toBe(id);
    }
    for (const value of [-1, 0.5, 1025, "0", "1", null, undefined, {}, Number.NaN])
      expect(xrp.readChainId(value)).toBeNull();
    for (const text of ["xrpl:", "xrpl:00", "xrpl:1025", "xrpl:1 ", "eip155:1", "xrpl1"])
      expect(chainIdOf(text), text).toBeNull();
    expect(familyOf("xrpl:0")).toBe(xrp);
    expect(findFamily("xrp:0")).toBeUndefined();
    expect(familyTransactionsOf("xrpl:1").cancels).not.toBeNull();
  });

  it("a transaction's hash is 64 hex digits in upper case, as nodes and explorers write it", () => {
    const unsigned = familyTransactionsOf(network).build(payment, txParams);
    const [digest] = familyTransactionsOf(network).digests(unsigned);
    const { txHash } = familyTransactionsOf(network).attach(
      unsigned,
      [signDigest(digest!, sender.key)],
      sender.address,
    );
    expect(xrp.isTxHash(txHash)).toBe(true);
    for (const text of [txHash.toLowerCase(), `0x${txHash}`, txHash.slice(1), `${txHash}0`, ""])
      expect(xrp.isTxHash(text), text).toBe(false);
  });

  it("a second payment is excluded by the slot, only the chain makes a ledger final, and deposits have tags", () => {
    expect([xrp.exclusion, xrp.countsConfirmations]).toEqual([{ kind: "slot" }, false]);
    expect(xrp.accounts.deposits).toBe("tags");
    expect(xrp.paths).toEqual({
      ...{ purpose: 44, coinType: 144, hotWalletKey: [0, 0], deposits: [0] },
      accounts: [
        { purpose: "hot", number: 0 },
        { purpose: "deposits", number: 0 },
      ],
    });
  });

  it("a payment link names the address, the exact amount and the tag", () => {
    const link = { network, contract: "", receiver: receiver.address, units: 1_500_000n };
    expect(xrp.paymentUri(link)).toBe(`ripple:${receiver.address}?amount=1.5`);
    const tagged = encodeXAddress({ address: receiver.address, tag: "4294967295" });
    expect(xrp.paymentUri({ ...link, receiver: tagged, units: 1n })).toBe(
      `ripple:${receiver.address}?amount=0.000001&dt=4294967295`,
    );
  });
});

describe("sequences of an account", () => {
  it("a sequence has one spelling, begins at 1 and ends at 32 bits", () => {
    for (const text of ["1", "7", slots.last]) expect(slots.read(text)).toBe(text);
    for (const text of ["", "0", "07", "-1", "0x7", "1.0", "4294967296"])
      expect(slots.read(text)).toBeNull();
    expect([slots.first, slots.least, slots.next("9"), slots.say("7"), slots.word]).toEqual([
      null,
      "1",
      "10",
      "sequence 7",
      "sequence",
    ]);
    expect([slots.between("7", "10"), slots.between("10", "7")]).toEqual([3n, 0n]);
  });

  it("sequences stand in the order in which ledgers take them", () => {
    const sequence = fc.integer({ min: 1, max: 2 ** 32 - 1 });
    fc.assert(
      fc.property(sequence, sequence, (a, b) => {
        expect(Math.sign(slots.compare(`${a}`, `${b}`))).toBe(Math.sign(a - b));
      }),
    );
  });
});

describe("fees of XRP", () => {
  it("the first offer is the market's fee, never below the ledger's own, for 20 ledgers", () => {
    expect(fees.first(marketOf(12n, 95_123_436n), wanted)).toEqual(txParams);
    expect(fees.first(marketOf(1n, 5n), wanted)).toEqual({ feeDrops: "10", lastLedger: "25" });
    expect([fees.most(txParams), fees.tipOf(txParams), fees.computeLimitOf(txParams)]).toEqual([
      12n,
      0n,
      1n,
    ]);
  });

  it("parameters are two numbers, and nothing else", () => {
    expect(fees.read(txParams)).toBe(txParams);
    expect(fees.readWish({ feeDrops: "", lastLedger: "" })).toEqual({
      feeDrops: "",
      lastLedger: "",
    });
    for (const odd of [
      { feeDrops: "12" },
      { ...txParams, tip: "1" },
      { ...txParams, feeDrops: "012" },
      { ...txParams, lastLedger: "0" },
    ]) {
      expect(codeOf(() => fees.read(odd))).toBe("JSON_SHAPE");
      expect(codeOf(() => fees.readWish(odd))).toBe("JSON_SHAPE");
    }
    expect(codeOf(() => fees.read({ feeDrops: "", lastLedger: "" }))).toBe("JSON_SHAPE");
  });

  const drops = fc.bigInt({ min: 10n, max: 10n ** 15n });
  const ledger = fc.bigInt({ min: 1n, max: 2n ** 31n });
  const offer = fc
    .record({ feeDrops: drops, lastLedger: ledger })
    .map((one): TxParams => ({ feeDrops: `${one.feeDrops}`, lastLedger: `${one.lastLedger}` }));

  it("a replacement costs more than a quarter above all attempts that a queue may hold, ends no earlier, and the rule leaves its own result as it is", () => {
    fc.assert(
      fc.property(
        fc.array(offer, { minLength: 1, maxLength: 4 }),
        offer,
        fc.boolean(),
        (before, asked, isCancel) => {
          const attempts = before.map((one) => attemptOf(one));
          const next = bidding.replacement(attempts, asked, isCancel);
          const isPast = before.every(
            (one) => BigInt(one.lastLedger!) < BigInt(asked.lastLedger!) - 20n,
          );
          if (isPast) expect(next).toEqual(asked);
          for (const one of before) {
            if (!isPast)
              expect(4n * BigInt(next.feeDrops!)).toBeGreaterThan(5n * BigInt(one.feeDrops!));
            expect(BigInt(next.lastLedger!)).toBeGreaterThanOrEqual(BigInt(one.lastLedger!));
          }
          expect(bidding.replacement(attempts, next, isCancel)).toEqual(next);
          const higher = { ...asked, feeDrops: `${BigInt(asked.feeDrops!) + 1n}` };
          expect(
            BigInt(bidding.replacement(attempts, higher, isCancel).feeDrops!),
          ).toBeGreaterThanOrEqual(BigInt(next.feeDrops!));
        },
      ),
    );
  });

  it("a replacement at the market is to the signer what the courier reckoned it to be", () => {
    fc.assert(
      fc.property(offer, drops, ledger, (newest, fee, at) => {
        const next = bidding.replacementAt(
          marketOf(fee, at),
          wanted,
          [attemptOf(newest)],
          2,
          false,
        )!;
        expect(bidding.replacement([attemptOf(newest)], next, false)).toEqual(next);
        expect(BigInt(next.lastLedger!)).toBeGreaterThanOrEqual(at + 20n);
        expect(BigInt(next.feeDrops!)).toBeGreaterThanOrEqual(fee);
      }),
    );
  });

  it("a replacement need not outbid attempts whose last ledger has passed, up to that ledger", () => {
    const dear = attemptOf({ feeDrops: "9000", lastLedger: "100" });
    const at = (newest: bigint) =>
      bidding.replacementAt(marketOf(12n, newest), wanted, [dear], 2, false);
    expect(at(100n)).toEqual({ feeDrops: "11251", lastLedger: "120" });
    expect(at(101n)).toEqual({ feeDrops: "12", lastLedger: "121" });
    expect(
      bidding.replacement([dear, toldOf("9000")], { feeDrops: "12", lastLedger: "121" }, false)
        .feeDrops,
    ).toBe("11251");
  });

  it("an attempt of which the gateway told only the fee counts with that fee", () => {
    expect(bidding.replacement([toldOf("1000")], txParams, false)).toEqual({
      feeDrops: "1251",
      lastLedger: "95123456",
    });
    expect(bidding.leastTip([toldOf("1000")])).toBe(0n);
  });

  it("an operator's offers are the market's, twice the highest fee and the least that is taken", () => {
    const { manualReplacement } = bidding;
    const nothing = { feeDrops: "", lastLedger: "" };
    const feeMarket = { feeDrops: 5_000n, ledger: 95_200_000n };
    const offers = (...args: Parameters<typeof manualReplacement>): readonly string[] => {
      const made = manualReplacement(...args);
      return made.ok
        ? made.txParams.map(({ feeDrops, lastLedger }) => `${feeDrops} ${lastLedger}`)
        : [made.code];
    };
    const one = [attemptOf(txParams)];
    expect(offers(one, false, nothing, feeMarket)).toEqual([
      "5000 95200020",
      "24 95200020",
      "10 95200020",
    ]);
    expect(offers(one, true, nothing)).toEqual(["24 95123456", "16 95123456"]);
    expect(offers(one, false, { ...nothing, feeDrops: "16" }, feeMarket)).toEqual(["16 95200020"]);
    expect(offers(one, false, { ...nothing, feeDrops: "15" }, feeMarket)).toEqual(["15 95200020"]);
    const inTime = { feeDrops: 5_000n, ledger: 95_123_456n };
    expect(offers(one, false, nothing, inTime)).toEqual([
      "5000 95123476",
      "24 95123476",
      "16 95123476",
    ]);
    expect(offers(one, false, { ...nothing, feeDrops: "15" }, inTime)).toEqual([
      "REPLACEMENT_FEES",
    ]);
    // The plan that an operator saw comes back whole, without the market.
    expect(offers(one, false, { feeDrops: "24", lastLedger: "95200020" })).toEqual(["24 95200020"]);
    expect(offers([toldOf("12")], false, nothing)).toEqual(["REPLACEMENT_FEES"]);
    expect(offers([toldOf("12")], false, nothing, feeMarket)).toEqual([
      "5000 95200020",
      "24 95200020",
      "16 95200020",
    ]);
    expect(offers([], true, nothing, { feeDrops: 12n, ledger: 1n })).toEqual(["12 21", "10 21"]);
  });

  it("offers below the market's end at a quarter of it, and never below the ledger's own cost", () => {
    const market = { feeDrops: 4_000n, ledger: 9n };
    expect(bidding.lowered(market, 0)).toEqual(market);
    expect([1, 6].map((step) => bidding.lowered(market, step)?.feeDrops)).toEqual([3_500n, 1_000n]);
    expect(bidding.lowered(market, 7)).toBeNull();
    expect(bidding.lowered({ feeDrops: 12n, ledger: 9n }, 6)).toEqual({
      feeDrops: 10n,
      ledger: 9n,
    });
  });

  it("a fee below the ledger's own cost is too little, and no fee is left open", () => {
    const description = { ...payment, txParams, feeMaxUnits: 12n };
    expect(
      fees.tooLittle({ ...description, txParams: { ...txParams, feeDrops: "10" } }),
    ).toBeNull();
    expect(fees.tooLittle({ ...description, txParams: { ...txParams, feeDrops: "9" } })).toBe(
      "fee 9 drops, at least 10",
    );
    expect(fees.unbounded({ family: "xrp", chainId: 0 }, txParams)).toBeNull();
    expect(fees.ceilings.maxFee).toBe("0.01");
  });
});

describe("fees of XRP in words", () => {
  it("an operator types drops or XRP, and no other figure", () => {
    const typed = (options: TypedFees) => {
      const read = fees.typed(options);
      return read.ok ? read.txParams.feeDrops : read.problem;
    };
    expect([
      typed({}),
      typed({ maxFee: "12" }),
      typed({ maxFee: "0.000012" }),
      typed({ maxFee: "1.0" }),
    ]).toEqual([...["", "12", "12", "1000000"]]);
    expect(codeOf(() => fees.readWish({ feeDrops: "12", lastLedger: "" }))).toBe("");
    for (const maxFee of ["", "0", "-1", "1e3", "0.0000001", "12 drops", "0.0"])
      expect(typed({ maxFee }), maxFee).toMatch(/must be drops/);
    for (const other of ["tip", "computeLimit", "dataFee"])
      expect(typed({ maxFee: "12", [other]: "1" })).toMatch(/--max-fee alone/);
  });

  it("an offer is said in drops and in XRP, beside an earlier one and beside the market", () => {
    expect(fees.say(txParams)).toBe("fee 12 drops (0.000012 XRP), until ledger 95123456");
    const later = { feeDrops: "16", lastLedger: "95200020" };
    expect(fees.rows(later, null, "")).toEqual([
      ["fee", "16 drops (0.000016 XRP)"],
      ["until ledger", "95200020"],
    ]);
    expect(fees.rows(later, txParams, "attempt 1")).toEqual([
      ["fee", "16 drops (0.000016 XRP), attempt 1 has 12 drops (0.000012 XRP)"],
      ["until ledger", "95200020, attempt 1 has 95123456"],
    ]);
    const now = "nodes ask 5000 drops (0.005 XRP), and ledger 95123455 is the newest";
    const market = { feeDrops: 5_000n, ledger: 95_123_455n };
    expect(bidding.beside({ ...txParams, feeDrops: "5000" }, market)).toEqual({ now, tooLow: "" });
    expect(bidding.beside(txParams, market)).toEqual({
      now,
      tooLow:
        "this offer is 12 drops (0.000012 XRP), and nodes ask 5000 drops (0.005 XRP): no ledger takes it before the fee falls",
    });
    expect(
      bidding.beside({ ...txParams, feeDrops: "5000" }, { ...market, ledger: 95_123_456n }).tooLow,
    ).toBe("its last ledger, 95123456, has passed");
  });
});
