/**
 * chains/tron through the offline interface: networks, ordinals, the offer and its costs, expiry,
 * and the parameters that go with the bytes.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { signDigest } from "../../agent/signer/vault/curve.ts";
import type {
  FamilyAccounts,
  KeyPaths,
  Payment,
  SlotRules,
  TxParams,
} from "../../chains/family.ts";
import type { TypedFees } from "../../chains/offers.ts";
import * as exclusion from "../../chains/tron/expiry-exclusion.ts";
import { tron } from "../../chains/tron/family.ts";
import { bandwidthOf, buildTransfer } from "../../chains/tron/transaction.ts";
import { tronTransactions } from "../../chains/tron/transactions.ts";
import { plain, sender, token } from "../../lab/kit/tron-values.ts";
import { bytes, codeOf, hex } from "../support/evm-values.ts";

const { slots, fees } = tron;
const network = "tron:0x2b6653dc";
const feeMarket = {
  ...{ refBlockBytes: 0x7b3bn, refBlockHash: 0xb21ace8d6ac20e7en, blockMs: 1_700_000_000_000n },
  ...{ energySun: 100n, byteSun: 1_000n, activationSun: 1_100_000n },
};
const inCoins: Payment = {
  ...{ network, account: sender, slot: "7", contract: "" },
  destination: plain.destination,
  tag: "",
  amountUnits: 5n,
};
const inTokens: Payment = { ...inCoins, contract: token.contract };
const told = (txParams: TxParams, slot = "7") => ({
  network,
  account: inCoins.account,
  slot,
  txParams,
});

describe("networks of Tron", () => {
  it("a chain's id has one spelling, from a number or from text", () => {
    expect([tron.readChainId(0x2b6653dc), tron.readChainId("0x2b6653dc")]).toEqual([
      "0x2b6653dc",
      "0x2b6653dc",
    ]);
    expect(tron.readChainId(0xcd8690dc)).toBe("0xcd8690dc");
    expect(tron.readChainId(1)).toBe("0x00000001");
    const none = [
      0,
      -1,
      1.5,
      2 ** 32,
      "0x2B6653DC",
      "2b6653dc",
      "0x00000000",
      "0x2b6653dc0",
      "728126428",
      null,
      undefined,
      {},
    ];
    for (const value of none) expect(tron.readChainId(value), String(value)).toBeNull();
    expect(tron.networkOf({ chainId: "0x94a9059e" })).toBe("tron:0x94a9059e");
    expect(tron.networkOf({ chainId: 728_126_428 })).toBe(network);
  });

  it("a transaction's hash is 64 hex digits in lower case, without 0x", () => {
    const hash = "ab".repeat(32);
    expect(tron.isTxHash(hash)).toBe(true);
    for (const text of [hash.toUpperCase(), `0x${hash}`, hash.slice(1), `${hash}0`, ""])
      expect(tron.isTxHash(text), text).toBe(false);
  });

  it("keys lie under coin type 195, and the parts of the family fit the interface", () => {
    const parts: {
      readonly paths: KeyPaths;
      readonly slots: SlotRules;
      readonly accounts: FamilyAccounts;
    } = tron;
    expect(parts.paths).toMatchObject({ coinType: 195, hotWalletKey: [0, 0], deposits: [0] });
  });

  it("no payment link is made, since wallets agree on none", () => {
    expect(tron.paymentUri()).toBe("");
  });
});

describe("slots of a Tron account", () => {
  it("are ordinals with one spelling, which nothing stands in front of", () => {
    for (const text of ["0", "7", slots.last]) expect(slots.read(text)).toBe(text);
    for (const text of ["", "00", "07", "-1", "0x7", "1.0", `${2n ** 53n}`, "9".repeat(17)])
      expect(slots.read(text)).toBeNull();
    expect([slots.first, slots.next("0"), slots.next("9"), slots.say("9")]).toEqual([
      "0",
      "1",
      "10",
      "payment 9",
    ]);
    expect([slots.between("2", "9"), slots.between("9", "2"), slots.between("9", "9")]).toEqual([
      7n,
      0n,
      0n,
    ]);
    expect([slots.blocksLater, slots.isCounted]).toEqual([false, false]);
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), (a, b) => {
        expect(Math.sign(slots.compare(`${a}`, `${b}`))).toBe(Math.sign(a - b));
      }),
    );
  });
});

describe("the offer of a Tron payment", () => {
  it("a token's fee limit is the energy asked for and a quarter; TRX burns none", () => {
    const inToken = fees.first({ feeMarket: feeMarket, computeLimit: 64_285n });
    expect(inToken).toEqual({
      ...{
        refBlockBytes: "31547",
        refBlockHash: `${0xb21ace8d6ac20e7en}`,
        timestampMs: "1700000000000",
        expirationMs: "1700000300000",
      },
      ...{ feeLimitSun: "8035625", energy: "64285", byteSun: "1000", activationSun: "0" },
    });
    expect(fees.most(inToken)).toBe(8_035_625n + 350_000n);
    const inCoin = fees.first({ feeMarket: feeMarket, computeLimit: fees.computeLimitMin });
    expect([inCoin.feeLimitSun, inCoin.energy, inCoin.activationSun, fees.most(inCoin)]).toEqual([
      "0",
      "0",
      "0",
      277_000n,
    ]);
    const toNew = fees.first({ feeMarket: feeMarket, computeLimit: 1n });
    expect([toNew.feeLimitSun, toNew.activationSun, fees.most(toNew)]).toEqual([
      "0",
      "1100000",
      1_377_000n,
    ]);
    for (const computeLimit of [0n, 1n, 64_285n, fees.computeLimitUnknown])
      expect(
        fees.computeLimitOf(fees.first({ feeMarket: feeMarket, computeLimit: computeLimit })),
      ).toBe(computeLimit);
  });

  it("a price of bytes below the present one is counted as the present one", () => {
    expect(
      fees.most(fees.first({ feeMarket: { ...feeMarket, byteSun: 0n }, computeLimit: 0n })),
    ).toBe(277_000n);
    expect(
      fees.most(fees.first({ feeMarket: { ...feeMarket, byteSun: 2_000n }, computeLimit: 0n })),
    ).toBe(554_000n);
  });

  it("the most that a payment costs covers the bandwidth of the longest one, to the byte", () => {
    const longest = {
      ...plain,
      amountUnits: 2n ** 63n - 1n,
      timestampMs: 2n ** 53n - 600_001n,
      expirationMs: 2n ** 53n - 1n,
    };
    const longestToken = {
      ...longest,
      contract: token.contract,
      amountUnits: 2n ** 256n - 1n,
      feeLimitSun: 15_000_000_000n,
    };
    const txParams = fees.first({ feeMarket: feeMarket, computeLimit: 0n });
    expect(bandwidthOf(buildTransfer(longest)) * 1_000n).toBe(fees.most(txParams));
    expect(bandwidthOf(buildTransfer(longestToken)) * 1_000n).toBe(
      fees.most({ ...txParams, feeLimitSun: "1" }) - 1n,
    );
  });

  it("transaction parameters are read strictly, and an operator's may leave fees open", () => {
    const txParams = fees.first({ feeMarket: feeMarket, computeLimit: 64_285n });
    expect(fees.read(txParams)).toBe(txParams);
    expect(fees.readWish({ ...txParams, feeLimitSun: "" })).toEqual({
      ...txParams,
      feeLimitSun: "",
    });
    const { energy, ...less } = txParams;
    const wrong: readonly TxParams[] = [
      ...[
        less,
        { ...txParams, more: "1" },
        { ...less, Energy: energy! },
        { ...txParams, energy: "" },
        { ...txParams, energy: "-1" },
      ],
      ...[
        { ...txParams, energy: "01" },
        { ...txParams, energy: "0x1" },
        { ...txParams, energy: "9".repeat(40) },
      ],
    ];
    for (const each of wrong)
      expect(
        codeOf(() => fees.read(each)),
        JSON.stringify(each),
      ).toBe("JSON_SHAPE");
    expect(codeOf(() => fees.readWish(less))).toBe("JSON_SHAPE");
  });

  it("an operator types no fee on Tron, and parameters without a fee are read", () => {
    const none = fees.typed({});
    expect(none.ok && fees.readWish(none.txParams)).toEqual(none.ok ? none.txParams : null);
    expect(none).toMatchObject({ ok: true, txParams: { feeLimitSun: "" } });
    // The options as the command hands them over, also those that are no fees.
    expect(fees.typed({ state: "/folder", yes: true } as TypedFees)).toEqual(none);
    for (const option of [
      { maxFee: "1" },
      { tip: "0" },
      { computeLimit: "65000" },
      { dataFee: "1" },
    ])
      expect(fees.typed(option)).toMatchObject({ ok: false });
  });

  it("an offer of a Tron payment with too little energy, or too low a fee limit, is told; enough is not", () => {
    const txParams = fees.first({ feeMarket: feeMarket, computeLimit: 10_000n });
    expect(fees.tooLittle({ contract: token.contract, txParams })).toBeNull();
    expect(
      fees.tooLittle({
        contract: token.contract,
        txParams: { ...txParams, feeLimitSun: "1000000" },
      }),
    ).toBeNull();
    expect(
      fees.tooLittle({ contract: token.contract, txParams: { ...txParams, energy: "9999" } }),
    ).toBe("energy 9999, at least 10000");
    expect(
      fees.tooLittle({
        contract: token.contract,
        txParams: { ...txParams, feeLimitSun: "999999" },
      }),
    ).toBe("fee limit 0.999999 TRX, at least 1");
    expect(
      fees.tooLittle({
        contract: "",
        txParams: fees.first({ feeMarket: feeMarket, computeLimit: 0n }),
      }),
    ).toBeNull();
  });

  it("an operator reads it in TRX and in chain time", () => {
    const first = fees.first({ feeMarket: feeMarket, computeLimit: 64_285n });
    const next = exclusion.withTimestamp({ ...first, feeLimitSun: "9000000" }, 1_700_000_400_000n);
    expect(fees.say(first)).toBe(
      "energy 64285, fee limit 8.035625 TRX, until 2023-11-14T22:18:20.000Z",
    );
    expect(fees.say(fees.first({ feeMarket: feeMarket, computeLimit: 1n }))).toBe(
      "no energy, 1.1 TRX for a new account, until 2023-11-14T22:18:20.000Z",
    );
    expect(fees.rows(first, null, "")).toEqual([
      ["energy", "64285"],
      ["fee limit", "8.035625 TRX"],
      ["bandwidth", "0.001 TRX a byte"],
      ["until", "2023-11-14T22:18:20.000Z"],
    ]);
    expect(fees.rows(next, first, "attempt 1").map(([, text]) => text)).toEqual([
      "64285, attempt 1 has 64285",
      "9 TRX, attempt 1 has 8.035625 TRX",
      "0.001 TRX a byte, attempt 1 has 0.001 TRX",
      "2023-11-14T22:25:00.001Z, attempt 1 has 2023-11-14T22:18:20.000Z",
    ]);
    expect(fees.rows(fees.first({ feeMarket: feeMarket, computeLimit: 1n }), null, "")[1]).toEqual([
      "new account",
      "1.1 TRX",
    ]);
  });
});

describe("an attempt on Tron", () => {
  it("is valid until its expiration, and the margin behind that is two minutes of chain time", () => {
    expect([
      exclusion.validUntilMs(fees.first({ feeMarket: feeMarket, computeLimit: 0n })),
      exclusion.voidMarginMs,
    ]).toEqual([1_700_000_300_000, 120_000]);
  });

  it("timestamps rise strictly, and the end moves with the timestamp", () => {
    const txParams = fees.first({ feeMarket: feeMarket, computeLimit: 0n });
    fc.assert(
      fc.property(fc.bigInt({ min: 1_699_999_000_000n, max: 1_700_001_000_000n }), (last) => {
        const next = exclusion.withTimestamp(txParams, last);
        expect(exclusion.timestampOf(next) > last).toBe(true);
        expect(BigInt(exclusion.validUntilMs(next)) - exclusion.timestampOf(next)).toBe(300_000n);
        expect(exclusion.timestampOf(txParams) > last ? next : txParams).toBe(txParams);
        expect(exclusion.withTimestamp(next, last)).toEqual(next);
      }),
    );
  });

  it("two equal payments by one block are two transactions once each has its own timestamp", () => {
    const txParams = fees.first({ feeMarket: feeMarket, computeLimit: 0n });
    const next = exclusion.withTimestamp(txParams, exclusion.timestampOf(txParams));
    const idOf = (each: TxParams): string =>
      hex(tronTransactions.digests(tronTransactions.build(inCoins, each))[0]!);
    expect(idOf(txParams)).toBe(idOf(txParams));
    expect(idOf(next)).not.toBe(idOf(txParams));
  });
});

describe("Tron transactions through the interface", () => {
  const txParams = fees.first({ feeMarket: feeMarket, computeLimit: 64_285n });
  const plainTxParams = fees.first({ feeMarket: feeMarket, computeLimit: 1n });

  it("are described as they were built, with the parameters given beside the bytes", () => {
    for (const [payment, each] of [
      [inCoins, plainTxParams],
      [inTokens, txParams],
    ] as const) {
      const unsigned = tronTransactions.build(payment, each);
      expect(tronTransactions.describe(unsigned, told(each))).toEqual({
        ok: true,
        description: { ...payment, txParams: each, feeMaxUnits: fees.most(each) },
      });
    }
  });

  it("are refused when a figure told is not the one in the bytes", () => {
    const unsigned = tronTransactions.build(inTokens, txParams);
    for (const name of [
      "refBlockBytes",
      "refBlockHash",
      "timestampMs",
      "expirationMs",
      "feeLimitSun",
    ]) {
      const other = { ...txParams, [name]: `${BigInt(txParams[name]!) + 1n}` };
      expect(tronTransactions.describe(unsigned, told(other)), name).toMatchObject({
        ok: false,
        code: "TRANSACTION_FIELD",
      });
    }
    expect(
      tronTransactions.describe(unsigned, told({ ...txParams, energy: "64286" })),
    ).toMatchObject({ ok: true });
  });

  it("are neither built nor described with figures that no such payment has", () => {
    const wrong: readonly (readonly [payment: Payment, txParams: TxParams])[] = [
      [inTokens, { ...txParams, energy: "0" }],
      [inTokens, { ...txParams, energy: "1000000001" }],
      [inTokens, { ...txParams, byteSun: "1000001" }],
      [inTokens, { ...txParams, activationSun: "1" }],
      [inCoins, { ...plainTxParams, energy: "1" }],
      [inCoins, { ...plainTxParams, activationSun: "100000001" }],
    ];
    for (const [payment, each] of wrong) {
      expect(
        codeOf(() => tronTransactions.build(payment, each)),
        JSON.stringify(each),
      ).toBe("TRANSACTION_FIELD");
      const unsigned = tronTransactions.build(
        payment,
        payment === inCoins ? plainTxParams : txParams,
      );
      expect(tronTransactions.describe(unsigned, told(each))).toMatchObject({
        ok: false,
        code: "TRANSACTION_FIELD",
      });
    }
    expect(
      codeOf(() => tronTransactions.build({ ...inCoins, network: "eip155:1" }, plainTxParams)),
    ).toBe("TRANSACTION_FIELD");
    expect(codeOf(() => tronTransactions.build(inCoins, {}))).toBe("JSON_SHAPE");
    const edges = { ...plainTxParams, activationSun: "100000000", byteSun: "1000000" };
    expect(codeOf(() => tronTransactions.build(inCoins, edges))).toBe("");
    expect(
      codeOf(() => tronTransactions.build(inTokens, { ...txParams, energy: "1000000000" })),
    ).toBe("");
  });

  it("take one signature of the sender, and know no cancel", () => {
    const key = bytes("2d8f68944bdbfbc0769542fba8fc2d2a3de67393334471624364c7006da2aa54");
    const unsigned = tronTransactions.build(inTokens, txParams);
    const signature = signDigest(tronTransactions.digests(unsigned)[0]!, key);
    expect(tron.isTxHash(tronTransactions.attach(unsigned, [signature], sender).txHash)).toBe(true);
    for (const several of [[], [signature, signature]])
      expect(codeOf(() => tronTransactions.attach(unsigned, several, sender))).toBe(
        "TRANSACTION_SIGNATURE",
      );
    expect(tronTransactions.cancels).toBeNull();
  });
});
