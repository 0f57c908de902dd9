/**
 * The scheduler before a signature: gas, funds, order and patience, and the calls that would
 * revert.
 */
import { describe, expect, it } from "vitest";
import { listWaitingItems } from "../../agent/courier/scheduler/waiting.ts";
import {
  confirm,
  gasFor,
  look,
  ownTransferFor,
  refused,
  revertFor,
  whyOf,
} from "../support/scheduler-answers.ts";
import {
  asked,
  drive,
  feeMarket,
  feeOf,
  helloOf,
  idOf,
  only,
  sentView,
  token,
  viewOf,
} from "../support/scheduler-views.ts";

describe("asking for a signature", () => {
  it("the scheduler asks for gas once the chain state is there, and asks for a signature at these fees", () => {
    const driver = drive([viewOf(1, "approved")]);
    expect(only(driver.block(10), "gas")).toHaveLength(1);
    const [ask] = only(gasFor(driver, 1), "ask");
    expect(ask).toEqual({
      kind: "ask",
      withdrawal: viewOf(1, "approved"),
      verb: "sign",
      body: {
        transactionId: idOf(1),
        txParams: {
          gasLimit: "21000",
          maxFeePerGas: "21000000000",
          maxPriorityFeePerGas: "1000000000",
        },
      },
    });
  });

  it("a withdrawal waits for funds that do not cover it with its fee, and says so", () => {
    const fee = 21_000n * 21_000_000_000n;
    const short = drive([viewOf(1, "approved")]);
    short.block(10, { balances: new Map([["", 10n ** 18n + fee - 1n]]) });
    expect(asked(gasFor(short, 1))).toEqual([]);
    expect(whyOf(short, 1)).toBe("funds");
    const enough = drive([viewOf(1, "approved")]);
    enough.block(10, { balances: new Map([["", 10n ** 18n + fee]]) });
    expect(asked(gasFor(enough, 1))).toEqual(["sign:1"]);
  });

  it("the scheduler counts the bound payments that are not final against the funds", () => {
    const balances = new Map([["", 2n * 10n ** 18n + 10n ** 17n]]);
    const driver = drive([sentView(1, "broadcast"), viewOf(2, "approved"), viewOf(3, "approved")]);
    driver.block(10, { balances });
    expect(asked(gasFor(driver, 2))).toEqual(["sign:2"]);
    gasFor(driver, 3);
    expect(whyOf(driver, 3)).toBe("funds");
  });

  it("the scheduler keeps the order of a currency, and lets another currency pass", () => {
    const big = viewOf(1, "approved", { amountUnits: `${10n ** 24n}` });
    const tokens = viewOf(3, "approved", {
      currency: "usdt",
      contract: token,
      amountUnits: "1000000",
    });
    const driver = drive([big, viewOf(2, "approved"), tokens]);
    expect(only(driver.block(10), "gas").map((effect) => effect.withdrawal.sequence)).toEqual([3]);
    expect(asked(gasFor(driver, 3))).toEqual(["sign:3"]);
    expect(whyOf(driver, 2)).toBe("funds");
  });

  it("the scheduler asks in order of sequence when estimates arrive the other way round", () => {
    const driver = drive([viewOf(2, "approved"), viewOf(1, "approved")]);
    driver.block(10);
    expect(asked(gasFor(driver, 2))).toEqual([]);
    expect(asked(gasFor(driver, 1))).toEqual(["sign:1", "sign:2"]);
  });

  it("the scheduler asks nothing while locked, without a handshake, without nodes, with code at the account, or before the first nonce", () => {
    const ready = (over: Parameters<typeof drive>[1], txParams = {}) => {
      const driver = drive([viewOf(1, "approved")], over);
      return only(driver.block(10, txParams), "gas").length;
    };
    expect(ready({})).toBe(1);
    expect(ready({ locked: "LEDGER_FORKED" })).toBe(0);
    expect(ready({ handshakeDone: false })).toBe(0);
    expect(ready({}, { accountHasCode: true })).toBe(0);
    expect(
      ready({
        accounts: [{ chain: "local", network: "eip155:31337", address: "0x1", nextSlot: "" }],
      }),
    ).toBe(0);
    const away = drive([viewOf(1, "approved")]);
    away.feed({ kind: "away", chain: "local", code: "NODE_TIMEOUT" });
    expect(whyOf(away, 1)).toBe("nodes NODE_TIMEOUT");
  });

  it("the scheduler bounds the number of payments in no block by the signer's limit", () => {
    const driver = drive([sentView(1, "broadcast"), viewOf(2, "approved")], {}, 1);
    driver.block(10);
    expect(whyOf(driver, 2)).toBe("others in flight");
    const effects = look(driver, 1, 10);
    expect(effects.map((effect) => effect.kind)).toEqual(["ask", "gas"]);
    expect(asked(effects)).toEqual(["observed:1"]);
    driver.feed(refused("observed", 1, "WITHDRAWAL_NOT_RELEASED"));
    expect(asked(gasFor(driver, 2))).toEqual([]);
    expect(whyOf(driver, 2)).toBe("others in flight");
    expect(asked(driver.tick(6000))).toEqual(["observed:1", "sign:2"]);
    const answer = { ok: true, withdrawal: sentView(1, "included") } as const;
    expect(
      asked(driver.feed({ kind: "answered", verb: "observed", transactionId: idOf(1), answer })),
    ).toEqual([]);
  });

  it.each(["ACCOUNT_FULL", "ACCOUNT_WAITS", "ACCOUNT_BEHIND", "SWEEP_OR_TOPUP_OPEN"])(
    "the scheduler asks again after a pause when nothing new is taken for now: %s",
    (code) => {
      const driver = drive([viewOf(2, "approved")]);
      driver.block(10);
      expect(asked(gasFor(driver, 2))).toEqual(["sign:2"]);
      expect(asked(driver.feed(refused("sign", 2, code)))).toEqual([]);
      expect(asked(driver.tick(1000))).toEqual(["sign:2"]);
    },
  );

  it("the scheduler offers a fee above its ceiling again at each block, and lets others pass meanwhile", () => {
    const driver = drive([viewOf(1, "approved"), viewOf(2, "approved")]);
    driver.block(10);
    gasFor(driver, 1);
    for (let lower = 1; lower <= 4; lower++)
      expect(asked(driver.feed(refused("sign", 1, "POLICY_FEE_ABOVE_WITHDRAWAL")))).toEqual([
        "sign:1",
      ]);
    expect(asked(driver.feed(refused("sign", 1, "POLICY_FEE_ABOVE_WITHDRAWAL")))).toEqual([]);
    expect(whyOf(driver, 1)).toBe("fee POLICY_FEE_ABOVE_WITHDRAWAL");
    expect(asked(gasFor(driver, 2))).toEqual(["sign:2"]);
    expect(asked(driver.tick(1000))).toEqual([]);
    expect(asked(driver.block(11))).toEqual(["sign:1"]);
  });

  it.each(["POLICY_FEE_ABOVE_WITHDRAWAL", "POLICY_FEE_ABOVE_DAY"])(
    "below a ceiling (%s) the scheduler offers less, down to an eighth above the base fee, and begins at the top at the next block",
    (code) => {
      const driver = drive([viewOf(1, "approved")]);
      driver.block(10);
      const offers: bigint[] = [];
      let effects = gasFor(driver, 1);
      for (let turn = 0; turn < 9 && only(effects, "ask").length > 0; turn++) {
        offers.push(feeOf(effects));
        effects = driver.feed(refused("sign", 1, code));
      }
      const { baseFeePerGas: base, maxPriorityFeePerGas: tip } = feeMarket;
      expect(offers).toEqual(
        [16n, 14n, 12n, 10n, 9n].map((eighths) => 2n * ((base * eighths + 15n) / 16n) + tip),
      );
      expect(feeOf(driver.block(11))).toBe(offers[0]);
    },
  );

  it("the scheduler asks again, ever more slowly, for what the policy has no room for yet", () => {
    const driver = drive([viewOf(1, "approved")]);
    driver.block(10);
    gasFor(driver, 1);
    const answers = [5000, 10_000, 20_000, 40_000, 60_000, 60_000].map((waitMs) => {
      driver.feed(refused("sign", 1, "POLICY_ABOVE_DAY"));
      expect(whyOf(driver, 1)).toBe("POLICY_ABOVE_DAY");
      expect(asked(driver.tick(waitMs - 1))).toEqual([]);
      const again = driver.tick(1);
      return asked(only(again, "gas").length > 0 ? gasFor(driver, 1) : again);
    });
    expect(answers).toEqual(answers.map(() => ["sign:1"]));
  });

  it("the scheduler asks the signer for its view after a refusal it did not expect", () => {
    const driver = drive([viewOf(1, "approved")]);
    driver.block(10);
    gasFor(driver, 1);
    expect(only(driver.feed(refused("sign", 1, "JOB_EXPIRED")), "refresh")).toHaveLength(1);
    driver.nowMs += 1;
    driver.feed({ kind: "hello", hello: helloOf([]), isFresh: false, askedAtMs: driver.nowMs });
    expect(listWaitingItems(driver.scheduler)).toEqual([]);
    expect(asked(driver.tick(60_000))).toEqual([]);
  });

  it("the most that an asked signature may cost counts against the funds of the next", () => {
    const fee = 21_000n * 21_000_000_000n;
    for (const [short, signed] of [
      [1n, []],
      [0n, ["sign:2"]],
    ] as const) {
      const driver = drive([viewOf(1, "approved"), viewOf(2, "approved")]);
      driver.block(10, { balances: new Map([["", 2n * (10n ** 18n + fee) - short]]) });
      expect(asked(gasFor(driver, 1))).toEqual(["sign:1"]);
      expect(asked(gasFor(driver, 2))).toEqual(signed);
    }
  });

  it("a token waits for its fee in the coin", () => {
    const fee = 21_000n * 21_000_000_000n;
    for (const [short, signed] of [
      [1n, []],
      [0n, ["sign:1"]],
    ] as const) {
      const driver = drive([
        viewOf(1, "approved", { currency: "usdt", contract: token, amountUnits: "5" }),
      ]);
      driver.block(10, {
        balances: new Map([
          ["", fee - short],
          [token, 5n],
        ]),
      });
      expect(asked(gasFor(driver, 1))).toEqual(signed);
    }
  });

  it.each([
    ["coin", {}],
    ["token", { currency: "usdt", contract: token, amountUnits: "5" }],
  ])("the scheduler keeps funds of a %s bound when a sign may have happened", (_name, over) => {
    const balances = new Map([
      ["", 15n * 10n ** 17n],
      [token, 7n],
    ]);
    const driver = drive([viewOf(1, "approved", over), viewOf(2, "approved", over)]);
    driver.block(10, { balances });
    gasFor(driver, 1);
    const lost = {
      kind: "answered",
      verb: "sign",
      transactionId: idOf(1),
      answer: { ok: false, code: "SOCKET_TIMEOUT", effect: "unknown" },
    } as const;
    const effects = driver.feed(lost);
    expect(only(effects, "refresh")).toHaveLength(1);
    expect(asked(effects)).toEqual([]);
    expect(asked(gasFor(driver, 2))).toEqual([]);
    const hello = helloOf([viewOf(2, "approved", over)]);
    expect(
      asked(driver.feed({ kind: "hello", hello, isFresh: false, askedAtMs: driver.nowMs + 1 })),
    ).toEqual(["sign:2"]);
  });

  it("the scheduler keeps funds of a final withdrawal bound until the balance at hand includes it", () => {
    const balances = new Map([["", 15n * 10n ** 17n]]);
    const driver = drive([sentView(1, "broadcast"), viewOf(2, "approved")]);
    driver.block(10, { finalNumber: 8, balances });
    look(driver, 1, 9);
    confirm(driver, 1, "paid");
    const answer = { ok: true, withdrawal: sentView(1, "paid") } as const;
    driver.feed({ kind: "answered", verb: "observed", transactionId: idOf(1), answer });
    expect(only(driver.block(11, { finalNumber: 8, balances }), "gas")).toEqual([]);
    expect(only(driver.block(12, { finalNumber: 9, balances }), "gas")).toHaveLength(1);
  });

  it("the scheduler takes no view that is older than what it knows", () => {
    const driver = drive([sentView(1, "released", 1, { changedAt: 5 })]);
    driver.feed({ kind: "views", withdrawals: [viewOf(1, "approved", { changedAt: 4 })] });
    expect(only(driver.block(10), "gas")).toEqual([]);
    const newer = drive([viewOf(1, "held", { changedAt: 5 })]);
    newer.feed({ kind: "views", withdrawals: [viewOf(1, "approved", { changedAt: 6 })] });
    expect(only(newer.block(10), "gas")).toHaveLength(1);
  });

  it("the scheduler finishes an intent that a crash or a recovered ledger left without a signature, at what its call costs", () => {
    const driver = drive([viewOf(1, "intent")]);
    const effects = driver.block(10);
    expect(asked(effects)).toEqual([]);
    expect(only(effects, "gas")).toHaveLength(1);
    const [ask, ...more] = only(gasFor(driver, 1), "ask");
    expect(more).toEqual([]);
    expect(ask).toMatchObject({
      verb: "sign",
      body: { transactionId: idOf(1), txParams: { gasLimit: "21000" } },
    });
    // Prices were too high: the estimate is asked for again when the answer is old.
    const refuseAll = (): void => {
      for (let offer = 1; offer <= 5; offer++) {
        driver.feed(refused("sign", 1, "POLICY_FEE_ABOVE_WITHDRAWAL"));
        // A lower offer, as long as there is one.
        expect(asked(driver.tick(1))).toEqual(offer === 5 ? [] : ["sign:1"]);
      }
    };
    refuseAll();
    expect(asked(driver.block(11))).toEqual(["sign:1"]);
    refuseAll();
    driver.tick(60_001);
    expect(only(driver.block(12), "gas")).toHaveLength(1);
  });

  it("the scheduler finishes an intent whose call would revert as well: its nonce has to be used up", () => {
    const driver = drive([viewOf(1, "intent")]);
    driver.block(10);
    expect(only(revertFor(driver, 1), "ask")).toMatchObject([
      { verb: "sign", body: { txParams: { gasLimit: "100000" } } },
    ]);
  });

  it("the scheduler waits with an intent whose estimate the nodes do not give", () => {
    const driver = drive([viewOf(1, "intent")]);
    driver.block(10);
    const answer = { ok: false, code: "NODE_TIMEOUT", effect: "none", wouldRevert: false } as const;
    expect(driver.feed({ kind: "gas", transactionId: idOf(1), answer })).toEqual([]);
    expect(only(driver.tick(2_000), "gas")).toHaveLength(1);
  });
});

describe("a call that would revert", () => {
  it("is declined after three estimates over thirty seconds with funds at hand", () => {
    const driver = drive([
      viewOf(1, "approved", { currency: "usdt", contract: token, amountUnits: "5" }),
    ]);
    expect(only(driver.block(10), "gas")).toHaveLength(1);
    expect(asked(revertFor(driver, 1))).toEqual([]);
    expect(only(driver.tick(12_000), "gas")).toHaveLength(1);
    expect(asked(revertFor(driver, 1))).toEqual([]);
    expect(only(driver.tick(17_000), "gas")).toHaveLength(0);
    expect(only(driver.tick(1000), "gas")).toHaveLength(1);
    expect(revertFor(driver, 1)).toMatchObject([
      { kind: "gas", isOwn: true, from: viewOf(1, "approved").sender },
    ]);
    expect(only(ownTransferFor(driver, 1, false), "gas")).toHaveLength(1);
    const [ask] = only(revertFor(driver, 1), "ask");
    expect(ask?.body).toEqual({ transactionId: idOf(1), code: "CHAIN_WOULD_REVERT" });
  });

  it("is asked about no more while it is being declined, and holds up nobody behind it", () => {
    const usdt = { currency: "usdt", contract: token, amountUnits: "5" };
    const driver = drive([viewOf(1, "approved", usdt), viewOf(2, "approved", usdt)]);
    driver.block(10);
    for (const waitMs of [12_000, 18_000, 0]) {
      const effects = revertFor(driver, 1);
      if (waitMs === 0) expect(effects).toMatchObject([{ kind: "gas", isOwn: true }]);
      driver.tick(waitMs);
    }
    expect(only(ownTransferFor(driver, 1, false), "gas")).toHaveLength(1);
    expect(revertFor(driver, 1)).toMatchObject([{ kind: "ask", verb: "decline" }]);
    expect(only(driver.tick(1000), "gas")).toEqual([]);
    expect(asked(gasFor(driver, 2))).toEqual(["sign:2"]);
    expect(asked(gasFor(driver, 1))).toEqual([]);
  });

  it("a call that would revert, as the account's transfer to itself would, declines nobody: the token is tried again each minute", () => {
    const usdt = { currency: "usdt", contract: token, amountUnits: "5" };
    const driver = drive([
      viewOf(1, "approved", usdt),
      viewOf(2, "approved", usdt),
      viewOf(3, "approved"),
    ]);
    driver.block(10);
    for (const waitMs of [12_000, 18_000, 0]) {
      revertFor(driver, 1);
      driver.tick(waitMs);
    }
    expect(asked(ownTransferFor(driver, 1, true))).toEqual([]);
    // The coin of the chain is paid meanwhile.
    expect(asked(gasFor(driver, 3))).toEqual(["sign:3"]);
    for (let minute = 1; minute <= 3; minute++) {
      const ofToken = (effects: ReturnType<typeof driver.tick>): readonly number[] =>
        only(effects, "gas").flatMap(({ withdrawal }) =>
          withdrawal.contract === token ? [withdrawal.sequence] : [],
        );
      expect(ofToken(driver.tick(59_000))).toEqual([]);
      for (const sequence of [1, 2]) expect(whyOf(driver, sequence)).toBe("COURIER_TOKEN_REFUSES");
      expect(ofToken(driver.tick(1_000))).toEqual([1, 2]);
      expect(only(revertFor(driver, 1), "gas")).toMatchObject([{ isOwn: true }]);
      expect(asked(ownTransferFor(driver, 1, true))).toEqual([]);
      revertFor(driver, 2);
      ownTransferFor(driver, 2, true);
    }
    driver.tick(60_000);
    expect(asked(gasFor(driver, 1))).toEqual(["sign:1"]);
    expect(asked(gasFor(driver, 2))).toEqual(["sign:2"]);
  });

  const usdt = { currency: "usdt", contract: token, amountUnits: "5" };
  /**
   * Three failures over thirty seconds, and the question about the transfer to the wallet itself.
   */
  const failing = () => {
    const driver = drive([viewOf(1, "approved", usdt)]);
    driver.block(10);
    for (const waitMs of [12_000, 18_000, 0]) {
      revertFor(driver, 1);
      driver.tick(waitMs);
    }
    return driver;
  };

  it("is signed, not declined, when the token is released between the last estimate and the next", () => {
    const driver = failing();
    expect(only(ownTransferFor(driver, 1, false), "gas")).toHaveLength(1);
    expect(asked(gasFor(driver, 1))).toEqual(["sign:1"]);
  });

  it("after a pause of the token is declined only after three failures over thirty seconds of its own", () => {
    const driver = failing();
    ownTransferFor(driver, 1, true);
    driver.tick(60_000);
    revertFor(driver, 1);
    expect(asked(ownTransferFor(driver, 1, false))).toEqual([]);
    expect(asked(revertFor(driver, 1))).toEqual([]);
    driver.tick(28_000);
    expect(asked(revertFor(driver, 1))).toEqual([]);
    driver.tick(12_000);
    expect(asked(revertFor(driver, 1))).toEqual(["decline:1"]);
  });

  it("holds up no other withdrawal of a token that refuses every transfer to the sender", () => {
    const driver = failing();
    expect(asked(ownTransferFor(driver, 1, true))).toEqual([]);
    driver.feed({ kind: "views", withdrawals: [viewOf(2, "approved", usdt)] });
    driver.tick(60_000);
    revertFor(driver, 1);
    gasFor(driver, 2);
    expect(asked(ownTransferFor(driver, 1, true))).toEqual(["sign:2"]);
    expect(whyOf(driver, 1)).toBe("the chain would revert it");
  });

  it("is not declined while funds are missing", () => {
    const balances = new Map([
      ["", 10n ** 18n],
      [token, 4n],
    ]);
    const driver = drive([
      viewOf(1, "approved", { currency: "usdt", contract: token, amountUnits: "5" }),
    ]);
    driver.block(10, { balances });
    for (let i = 0; i < 10; i++) {
      revertFor(driver, 1);
      expect(asked(driver.tick(20_000))).toEqual([]);
    }
    expect(whyOf(driver, 1)).toBe("funds");
  });
});
