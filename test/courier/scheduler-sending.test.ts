/**
 * The scheduler after a signature: what is sent, when it is sent again, and when a replacement with
 * a higher fee is asked for.
 */
import { describe, expect, it } from "vitest";
import {
  confirm,
  declined,
  gasFor,
  look,
  observedBody,
  refused,
  revertFor,
  sent,
  whyOf,
} from "../support/scheduler-answers.ts";
import {
  asked,
  attemptOf,
  drive,
  feeMarket,
  feeOf,
  gwei,
  hashOf,
  idOf,
  only,
  sentView,
  viewOf,
} from "../support/scheduler-views.ts";

describe("sending", () => {
  it("the scheduler sends released bytes at once, in order of nonce, and none that are not released", () => {
    const driver = drive([]);
    driver.block(10);
    const effects = driver.feed({
      kind: "views",
      withdrawals: [
        sentView(3, "released"),
        viewOf(4, "signed", { attempts: [attemptOf(1)] }),
        sentView(2, "released"),
      ],
    });
    expect(only(effects, "send").map((effect) => effect.withdrawal.sequence)).toEqual([2, 3]);
  });

  it("the scheduler tells broadcast after any outcome but unsent, and tries an unsent one again", () => {
    const driver = drive([sentView(1, "released"), sentView(2, "released")]);
    sent(driver, 1, "sent");
    expect(asked(sent(driver, 2, "unsent"))).toEqual([]);
    expect(whyOf(driver, 2)).toBe("no node takes it");
    const later = driver.tick(500);
    expect(observedBody(later)).toEqual([
      { transactionId: idOf(1), stage: "broadcast", outcome: "", txHash: hashOf(1, 1), block: 0 },
    ]);
    expect(only(later, "send")).toHaveLength(0);
    expect(only(driver.tick(600), "send").map((effect) => effect.withdrawal.sequence)).toEqual([2]);
  });

  it("the scheduler tells no broadcast of what every node refused, offers it again, and tells it once a node has it", () => {
    const driver = drive([sentView(1, "released")]);
    expect(asked(declined(driver, 1, "txpool is full", ""))).toEqual([]);
    expect(asked(driver.tick(29_000))).toEqual([]);
    expect(whyOf(driver, 1)).toBe("offered, no node took it: http://one: txpool is full");
    expect(only(driver.tick(1_000), "send").map(({ attempt }) => attempt)).toEqual([1]);
    const told = observedBody(sent(driver, 1));
    expect(told.map(({ stage }) => stage)).toEqual(["broadcast"]);
    expect(whyOf(driver, 1)).toBeUndefined();
    const located = drive([sentView(1, "released")]);
    declined(located, 1, "txpool is full", "");
    look(located, 1, 9);
    expect(whyOf(located, 1)).toBeUndefined();
  });

  it("the scheduler tells no stage that the next one overtakes at once", () => {
    const driver = drive([sentView(1, "released")]);
    driver.block(10, { finalNumber: 9 });
    expect(asked(sent(driver, 1))).toEqual([]);
    expect(asked(driver.tick(499))).toEqual([]);
    expect(asked(look(driver, 1, 9))).toEqual([]);
    expect(observedBody(confirm(driver, 1, "paid")).map(({ stage }) => stage)).toEqual(["final"]);
    const slower = drive([sentView(1, "released")]);
    slower.block(10, { finalNumber: 9 });
    look(slower, 1, 9);
    expect(observedBody(slower.tick(500)).map(({ stage }) => stage)).toEqual(["included"]);
  });

  it("the scheduler never sends what independent code reads differently", () => {
    const driver = drive([sentView(1, "released")]);
    expect(only(sent(driver, 1, "misread"), "alarm")).toHaveLength(1);
    for (let i = 0; i < 20; i++) expect(only(driver.tick(30_000), "send")).toEqual([]);
    expect(whyOf(driver, 1)).toBe("COURIER_READ_BACK");
  });

  it("the scheduler sends the same attempt again while no block has it, lowest nonces first", () => {
    const many = Array.from({ length: 20 }, (_, i) => sentView(i + 1, "broadcast"));
    const driver = drive(many);
    for (const view of many) sent(driver, view.sequence);
    expect(only(driver.tick(29_000), "send")).toEqual([]);
    const again = only(driver.tick(1000), "send");
    expect(again.map((effect) => effect.withdrawal.sequence)).toEqual(
      Array.from({ length: 16 }, (_, i) => i + 1),
    );
    expect(again.every((effect) => effect.attempt === 1)).toBe(true);
  });

  it("the scheduler looks at the chain at once when a node says that the nonce is used", () => {
    const driver = drive([sentView(1, "released")]);
    expect(only(sent(driver, 1, "slot-used"), "look")).toHaveLength(1);
  });
});

describe("a replacement with a higher fee", () => {
  const waited = (over = {}) => {
    const driver = drive([sentView(1, "broadcast"), sentView(2, "broadcast")]);
    driver.block(10, over);
    sent(driver, 1);
    sent(driver, 2);
    return driver;
  };
  /** A block when half a minute has gone by, and the nodes' new estimate if it is asked for. */
  const blockLater = (
    driver: ReturnType<typeof drive>,
    number: number,
    over = {},
    gasLimit = 21_000n,
  ) => {
    driver.nowMs = Math.max(driver.nowMs, 31_000);
    const effects = driver.block(number, over);
    const [question] = only(effects, "gas");
    if (question === undefined) return effects;
    const { transactionId } = question.withdrawal;
    return [
      ...effects,
      ...driver.feed({ kind: "gas", transactionId, answer: { ok: true, gasLimit } }),
    ];
  };

  it("is asked for the lowest nonce alone, after six blocks, an eighth more expensive", () => {
    const driver = waited();
    expect(asked(blockLater(driver, 15))).toEqual([]);
    const [ask] = only(blockLater(driver, 16), "ask");
    expect(ask?.body).toEqual({
      transactionId: idOf(1),
      above: 1,
      txParams: {
        gasLimit: "21000",
        maxFeePerGas: "23625000000",
        maxPriorityFeePerGas: "1125000000",
      },
    });
  });

  it("follows the market where that is higher", () => {
    const driver = waited();
    const [ask] = only(
      blockLater(driver, 16, {
        feeMarket: {
          baseFeePerGas: 50_000_000_000n,
          maxPriorityFeePerGas: 3_000_000_000n,
          maxPriorityFeePerGasHigh: 3_000_000_000n,
        },
      }),
      "ask",
    );
    expect(ask?.verb === "replace" && ask.body.txParams).toEqual({
      gasLimit: "21000",
      maxFeePerGas: "103000000000",
      maxPriorityFeePerGas: "3000000000",
    });
  });

  it("never answers a refusal that a price cannot cure, and answers any other", () => {
    const cap = "tx fee (2.10 ether) exceeds the configured cap (1.00 ether)";
    const driver = drive([sentView(1, "released")]);
    driver.block(10);
    declined(driver, 1, cap, "bytes");
    for (let at = 0; at < 5; at += 1) {
      driver.nowMs += 61_000;
      expect(
        asked(blockLater(driver, 20 + 10 * at)).filter((one) => !one.startsWith("observed")),
      ).toEqual([]);
      driver.tick(0);
      declined(driver, 1, cap, "bytes");
    }
    expect(whyOf(driver, 1)).toBe(`offered, no node took it: http://one: ${cap}`);
    const other = drive([sentView(1, "released")]);
    other.block(10);
    declined(other, 1, "the moon is in the wrong house", "");
    other.nowMs += 61_000;
    expect(asked(blockLater(other, 20))).toEqual(["replace:1"]);
  });

  it("comes after a minute on a slow chain, but never without a new block", () => {
    const driver = waited();
    expect(asked(driver.tick(61_000)).filter((ask) => ask.startsWith("replace"))).toEqual([]);
    expect(asked(blockLater(driver, 11))).toContain("replace:1");
  });

  it("is not asked for within half a minute, however many blocks go by and whatever a node says of the fee", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    sent(driver, 1, "price");
    driver.nowMs += 29_999;
    expect(only(driver.block(40), "gas")).toEqual([]);
    expect(asked(blockLater(driver, 41))).toContain("replace:1");
  });

  it("has an estimate of its own, which the limit of the attempt before is no part of", () => {
    const [ask] = only(blockLater(waited(), 16, {}, 65_000n), "ask");
    expect(ask?.verb === "replace" && ask.body.txParams.gasLimit).toBe("65000");
    const reverting = waited();
    reverting.nowMs = 31_000;
    reverting.block(16);
    // A bound withdrawal must use its slot up, so the previous gas limit serves.
    expect(asked(revertFor(reverting, 1))).toContain("replace:1");
    const apart = waited();
    apart.nowMs = 31_000;
    apart.block(16);
    const answer = {
      ok: false,
      code: "NODE_DISAGREE: gas estimate",
      effect: "none",
      wouldRevert: false,
    } as const;
    expect(asked(apart.feed({ kind: "gas", transactionId: idOf(1), answer }))).toEqual([]);
    expect(whyOf(apart, 1)).toBe("NODE_DISAGREE: gas estimate");
    apart.nowMs += 2_000;
    expect(asked(blockLater(apart, 17))).toContain("replace:1");
  });

  it("is not asked for while some nodes show a receipt and others do not, and status says so", () => {
    const driver = waited();
    look(driver, 1, null, 1, true);
    expect(asked(blockLater(driver, 16))).toEqual([]);
    expect(whyOf(driver, 1)).toBe("the nodes do not agree on its receipt");
    look(driver, 1, null);
    expect(whyOf(driver, 1)).toBeUndefined();
    expect(asked(blockLater(driver, 17))).toEqual(["replace:1"]);
  });

  it("nears the higher tip that a node names, as far as the base fee, and not where the signer refused that", () => {
    const high = {
      feeMarket: {
        baseFeePerGas: 10_000_000_000n,
        maxPriorityFeePerGas: 0n,
        maxPriorityFeePerGasHigh: 440_000_000_000n,
      },
    };
    const tipOf = (effects: ReturnType<typeof blockLater>) =>
      only(effects, "ask").flatMap((ask) =>
        ask.verb === "replace" ? [ask.body.txParams.maxPriorityFeePerGas] : [],
      );
    const none = { maxPriorityFeePerGas: "0", maxFeePerGas: "20000000000" };
    const stuckAt = (attempts: number) => {
      const view = sentView(1, "broadcast", attempts);
      const driver = drive([
        {
          ...view,
          attempts: view.attempts.map((one) => ({
            ...one,
            txParams: { ...one.txParams, ...none },
          })),
        },
      ]);
      driver.block(10, high);
      sent(driver, 1, "sent", attempts);
      driver.feed(refused("observed", 1, "WITHDRAWAL_NOT_RELEASED"));
      driver.nowMs += 40_000;
      return driver;
    };
    expect(
      [1, 2, 3, 4, 9].flatMap((attempts) => tipOf(blockLater(stuckAt(attempts), 30, high))),
    ).toEqual([...["156250000", "625000000", "2500000000", "10000000000", "10000000000"]]);
    const refusedOnce = stuckAt(4);
    blockLater(refusedOnce, 30, high);
    refusedOnce.feed(refused("replace", 1, "POLICY_TIP_ABOVE_MAX"));
    expect(whyOf(refusedOnce, 1)).toBe("fee POLICY_TIP_ABOVE_MAX");
    expect(tipOf(blockLater(refusedOnce, 31, high))).toEqual(["1"]);
  });

  it("is an operator's from the fifteenth on, and status says so", () => {
    const driver = drive([sentView(1, "broadcast", 14)]);
    driver.block(10);
    sent(driver, 1, "sent", 14);
    driver.feed(refused("observed", 1, "WITHDRAWAL_NOT_RELEASED"));
    driver.nowMs += 40_000;
    expect(asked(blockLater(driver, 30)).filter((one) => one.startsWith("replace"))).toEqual([]);
    expect(whyOf(driver, 1)).toBe("WITHDRAWAL_WAITS_FOR_OPERATOR");
  });

  it("counts blocks from the first one known after a start", () => {
    const driver = drive([sentView(1, "broadcast")]);
    sent(driver, 1);
    expect(asked(driver.block(1000))).not.toContain("replace:1");
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "broadcast") },
    });
    expect(asked(driver.block(1005))).toEqual([]);
    expect(asked(blockLater(driver, 1006))).toEqual(["replace:1"]);
  });

  const counted = (driver: ReturnType<typeof waited>, latest: bigint) =>
    driver.feed({
      kind: "slotCounts",
      chain: "local",
      answer: { ok: true, latest, pending: latest, final: 0n, quorum: 1, isSame: true },
    });

  it("is not asked for above a nonce that nobody here can send, until the chain's count comes to it", () => {
    const driver = waited();
    driver.nowMs = 31_000;
    counted(driver, 0n);
    expect(asked(blockLater(driver, 16))).toEqual([]);
    expect(whyOf(driver, 1)).toBe("nonce 0 of the account comes first");
    // A count costs calls: not with each block.
    expect(only(driver.block(17), "slotCounts")).toEqual([]);
    driver.tick(14_000);
    expect(only(driver.block(18), "slotCounts")).toEqual([]);
    expect(only(driver.tick(1_000), "slotCounts")).toHaveLength(1);
    counted(driver, 1n);
    expect(asked(blockLater(driver, 19))).toEqual(["replace:1"]);
  });

  it("is asked for above one of our own that is in a block, though nodes count it late", () => {
    const driver = waited();
    look(driver, 1, 12);
    counted(driver, 1n);
    expect(asked(blockLater(driver, 16))).toContain("replace:2");
  });

  it("is asked for a nonce that is used: it may be the very attempt that a restored ledger forgot", () => {
    const driver = waited();
    counted(driver, 2n);
    expect(asked(blockLater(driver, 16))).toEqual(["replace:1"]);
  });

  it("is asked for where the chain's count cannot be had", () => {
    const driver = waited();
    counted(driver, 0n);
    driver.feed({
      kind: "slotCounts",
      chain: "local",
      answer: { ok: false, code: "NODE_UNREACHABLE", effect: "none" },
    });
    expect(asked(blockLater(driver, 16))).toEqual(["replace:1"]);
  });

  it("waits for its ceiling block by block", () => {
    const driver = waited();
    blockLater(driver, 16);
    const offers: bigint[] = [];
    for (let block = 17; block <= 21; block++) {
      driver.feed(refused("replace", 1, "POLICY_FEE_ABOVE_DAY"));
      expect(whyOf(driver, 1)).toBe("fee POLICY_FEE_ABOVE_DAY");
      const effects = driver.block(block);
      expect(asked(effects)).toEqual(["replace:1"]);
      offers.push(feeOf(effects));
    }
    // Each block tries a lower offer, and after the lowest one the usual one.
    expect(offers.slice(1, 4).every((offer, at) => offer <= (offers[at] ?? 0n))).toBe(true);
    expect(offers.at(-1)).toBeGreaterThanOrEqual(offers[0] ?? 0n);
  });

  it("is at the market again once that costs less than what was refused, never below it", () => {
    const market = (gweiOf: bigint) => ({
      feeMarket: { ...feeMarket, baseFeePerGas: gweiOf * gwei },
    });
    const driver = waited();
    const dear = feeOf(blockLater(driver, 16, market(100n)));
    for (const block of [17, 18]) {
      driver.feed(refused("replace", 1, "POLICY_FEE_ABOVE_WITHDRAWAL"));
      expect(feeOf(driver.block(block, market(100n)))).toBeLessThan(dear);
    }
    driver.feed(refused("replace", 1, "POLICY_FEE_ABOVE_WITHDRAWAL"));
    expect(feeOf(driver.block(19, market(50n)))).toBe(feeOf(blockLater(waited(), 16, market(50n))));
  });

  it.each([
    ["stays", 0n],
    ["falls by a little each block", 1n],
    ["falls each block", 100n],
  ])("comes under its ceiling within five offers where the market %s", (_, fallMwei) => {
    const market = (mwei: bigint) => ({
      feeMarket: { ...feeMarket, baseFeePerGas: (mwei * gwei) / 1000n },
    });
    const driver = waited();
    let effects = blockLater(driver, 16, market(100_000n));
    const offers: bigint[] = [];
    for (let block = 17n; block < 40n; block += 1n) {
      if (asked(effects).length > 0) offers.push(feeOf(effects));
      if ((offers.at(-1) ?? 120n * gwei) < 120n * gwei) break;
      driver.feed(refused("replace", 1, "POLICY_FEE_ABOVE_WITHDRAWAL"));
      driver.nowMs += 12_000;
      effects = blockLater(driver, Number(block), market(100_000n - (block - 16n) * fallMwei));
    }
    expect(offers.at(-1)).toBeLessThan(120n * gwei);
    expect(offers.length).toBeLessThanOrEqual(5);
  });

  it("is at the market as soon as an earlier one's dear fee counts no more, on a ledger whose attempts end", () => {
    const network = "xrpl:0";
    const begun = { accounts: [{ chain: "local", network, address: "r1", nextSlot: "6" }] };
    const at = (ledger: bigint) => ({ feeMarket: { feeDrops: 60n, ledger } });
    const txParams = { feeDrops: "499", lastLedger: "30" };
    const attempts = [attemptOf(1, { txParams, feeMax: "499", txHash: hashOf(1, 1), raw: "1200" })];
    const sender = { network, currency: "xrp", sender: "r1", account: "r1", slot: "5" };
    const driver = drive([{ ...sentView(1, "broadcast"), ...sender, attempts }], begun);
    counted(driver, 5n);
    driver.block(10, at(10n));
    sent(driver, 1);
    const dropsOf = (effects: ReturnType<typeof driver.tick>) =>
      only(effects, "ask").map(({ body }) => "txParams" in body && body.txParams.feeDrops);
    // While the queue may hold it, another one has to cost a quarter more, whatever the market.
    expect(dropsOf(blockLater(driver, 16, at(16n), 1n))).toEqual(["624"]);
    for (const ledger of [17, 18, 19]) {
      driver.feed(refused("replace", 1, "POLICY_FEE_ABOVE_WITHDRAWAL"));
      expect(dropsOf(driver.block(ledger, at(BigInt(ledger))))).toEqual(["624"]);
    }
    driver.feed(refused("replace", 1, "POLICY_FEE_ABOVE_WITHDRAWAL"));
    expect(dropsOf(driver.block(31, at(31n)))).toEqual(["60"]);
  });

  it("begins at the usual offer, also after the first attempt was signed for less", () => {
    const offers = [false, true].map((isLowered) => {
      const driver = drive([viewOf(1, "approved")]);
      driver.block(10);
      gasFor(driver, 1);
      if (isLowered)
        expect(asked(driver.feed(refused("sign", 1, "POLICY_FEE_ABOVE_WITHDRAWAL")))).toEqual([
          "sign:1",
        ]);
      driver.feed({
        kind: "answered",
        verb: "sign",
        transactionId: idOf(1),
        answer: { ok: true, withdrawal: sentView(1, "broadcast") },
      });
      sent(driver, 1);
      const seen = { kind: "answered", verb: "observed", transactionId: idOf(1) } as const;
      blockLater(driver, 16);
      driver.feed({ ...seen, answer: { ok: true, withdrawal: sentView(1, "broadcast") } });
      const replaced = blockLater(driver, 17);
      expect(asked(replaced)).toEqual(["replace:1"]);
      return feeOf(replaced);
    });
    expect(offers[1]).toBe(offers[0]);
  });

  it("is sent once released, and both attempts are looked for", () => {
    const driver = waited();
    blockLater(driver, 16);
    const effects = driver.feed({
      kind: "answered",
      verb: "replace",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: signedAgain() },
    });
    expect(only(effects, "send")).toEqual([]);
    const released = driver.feed({ kind: "views", withdrawals: [sentView(1, "broadcast", 2)] });
    expect(only(released, "send").map((effect) => effect.attempt)).toEqual([2]);
    look(driver, 1, null);
    expect(only(driver.block(17), "look")[0]?.wanted[0]?.txHashes).toEqual([
      hashOf(1, 1),
      hashOf(1, 2),
    ]);
  });

  const signedAgain = () => {
    const view = sentView(1, "broadcast", 2);
    return {
      ...view,
      attempts: view.attempts.map(({ raw, ...rest }) =>
        rest.attempt === 1 ? { ...rest, raw: raw ?? "" } : rest,
      ),
    };
  };
});
