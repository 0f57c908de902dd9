/**
 * The scheduler on a chain where attempts end by expiry: the time of the question for void
 * attempts, the reports, and the request for another attempt.
 */
import { describe, expect, it } from "vitest";
import type { AttemptView } from "../../agent/socket/verbs.ts";
import {
  observedBody,
  refused,
  revertFor,
  sent as sentAs,
  whyOf,
} from "../support/scheduler-answers.ts";
import { asked, type Driver, idOf, only } from "../support/scheduler-views.ts";
import {
  answerVoid,
  attemptAt,
  driveWaiting,
  hashOf,
  lifetimeMs,
  marginMs,
  priceAt,
  startMs,
  tether,
  waitingView,
} from "../support/scheduler-waiting-views.ts";

const past = startMs + lifetimeMs + marginMs + 1;
const workFor = (driver: Driver, sequence: number) =>
  driver.feed({ kind: "gas", transactionId: idOf(sequence), answer: { ok: true, gasLimit: 0n } });
const looked = (
  driver: Driver,
  sequence: number,
  block: number | null,
  attempt = 1,
  isDoubtful = false,
) => {
  const location =
    block === null ? null : { txHash: hashOf(sequence, attempt), block, blockHash: `${block}` };
  return driver.feed({
    kind: "looked",
    chain: "local",
    found: [{ transactionId: idOf(sequence), location, isDoubtful }],
  });
};
const voidAsked = (effects: ReturnType<Driver["feed"]>) =>
  only(effects, "void").map(({ wanted }) => wanted.map(({ withdrawal }) => withdrawal.sequence));
const voidAttemptBy = (voidBy: AttemptView["voidBy"], sequence = 1, attempt = 1) =>
  attemptAt(sequence, attempt, voidBy === undefined ? {} : { voidBy });

describe("a chain that counts nothing of an account", () => {
  it("is signed for without a counter, a first slot or an order among slots", () => {
    const driver = driveWaiting([waitingView(1, "approved", []), waitingView(2, "released")], "");
    const effects = driver.at(startMs);
    expect(only(effects, "slotCounts")).toEqual([]);
    expect(only(effects, "gas")).toHaveLength(1);
    expect(asked(workFor(driver, 1))).toEqual(["sign:1"]);
    for (let i = 0; i < 100; i++) expect(only(driver.tick(1000), "slotCounts")).toEqual([]);
  });

  it("asks the gateway about a payment that the signer does not clear, goes on with the others, and signs it at the word", () => {
    const driver = driveWaiting([waitingView(1, "approved", [])], "");
    driver.at(startMs);
    expect(asked(workFor(driver, 1))).toEqual(["sign:1"]);
    const questions = (effects: ReturnType<Driver["feed"]>) =>
      only(effects, "question").map(({ orders }) => orders);
    const no = { ok: false, code: "WITHDRAWAL_UNCLEARED", effect: "none" } as const;
    const refuseSign = () =>
      driver.feed({ kind: "answered", verb: "sign", transactionId: idOf(1), answer: no });
    expect(questions(refuseSign())).toEqual([[idOf(1)]]);
    driver.feed({ kind: "views", withdrawals: [waitingView(2, "approved", [])] });
    expect(asked(workFor(driver, 2))).toEqual(["sign:2"]);
    // Silence: the signer and the gateway are asked again, at longer intervals.
    const waits: number[] = [];
    for (let seconds = 1, sinceS = 0; waits.length < 4; seconds++) {
      if (!asked(driver.tick(1_000)).includes("sign:1")) continue;
      waits.push(seconds - sinceS);
      sinceS = seconds;
      expect(questions(refuseSign())).toEqual([[idOf(1)]]);
    }
    expect(waits).toEqual([2, 4, 8, 16]);
    expect(whyOf(driver, 1)).toMatch(/^WITHDRAWAL_UNCLEARED/);
    expect(
      asked(driver.feed({ kind: "sighted", coins: [], next: [], orders: [idOf(2), idOf(1)] })),
    ).toEqual(["sign:1"]);
  });

  it("a payment that waits gets no replacement with a higher fee, and stands in front of none", () => {
    const driver = driveWaiting([waitingView(1, "broadcast")]);
    driver.at(startMs);
    sentAs(driver, 1);
    for (let i = 1; i <= 40; i++) {
      driver.nowMs += 3_000;
      expect(asked(driver.at(startMs + i * 3_000))).toEqual([]);
    }
    driver.feed({ kind: "views", withdrawals: [waitingView(2, "approved", [])] });
    expect(asked(workFor(driver, 2))).toEqual(["sign:2"]);
  });

  it("bytes sent longest ago are sent again first, whatever their slots", () => {
    const many = Array.from({ length: 20 }, (_, i) => waitingView(i + 1, "broadcast"));
    const driver = driveWaiting(many);
    driver.at(startMs);
    for (const { sequence } of [...many].reverse()) {
      driver.nowMs += 10;
      sentAs(driver, sequence);
    }
    const again = only(driver.tick(31_000), "send").map(({ withdrawal }) => withdrawal.sequence);
    expect(again).toEqual(Array.from({ length: 16 }, (_, i) => 20 - i));
    expect(only(driver.tick(1000), "send").map(({ withdrawal }) => withdrawal.sequence)).toEqual([
      4, 3, 2, 1,
    ]);
  });
});

describe("the same bytes again, of many", () => {
  it("many bytes that are sent again are not held up by those that are too late for any block", () => {
    const old = Array.from({ length: 16 }, (_, i) =>
      waitingView(i + 1, "broadcast", [voidAttemptBy("gateway", i + 1)]),
    );
    const driver = driveWaiting([...old, waitingView(17, "broadcast")]);
    driver.at(startMs);
    sentAs(driver, 17);
    expect(only(driver.tick(31_000), "send").map(({ withdrawal }) => withdrawal.sequence)).toEqual([
      17,
    ]);
  });
});

describe("the same bytes again", () => {
  const sent = (outcome: "sent" | "expired" = "sent") => {
    const driver = driveWaiting([waitingView(1, "broadcast")]);
    driver.at(startMs);
    sentAs(driver, 1, outcome);
    return driver;
  };

  it("bytes that are sent again go out until the chain's own time is past their end, and not after it", () => {
    const driver = sent();
    driver.at(startMs + lifetimeMs);
    expect(only(driver.tick(31_000), "send")).toHaveLength(1);
    sentAs(driver, 1);
    driver.at(startMs + lifetimeMs + 1);
    expect(only(driver.tick(31_000), "send")).toEqual([]);
  });

  it("bytes that are sent again do not go out once a node calls them expired", () => {
    const driver = sent("expired");
    for (let i = 0; i < 10; i++) expect(only(driver.tick(31_000), "send")).toEqual([]);
    expect(only(sent().tick(31_000), "send")).toHaveLength(1);
  });

  it("bytes that are sent again never go out when somebody has called them void, whatever the time", () => {
    for (const voidBy of ["gateway", "courier", "both"] as const) {
      const driver = driveWaiting([waitingView(1, "released", [voidAttemptBy(voidBy)])]);
      expect(only(driver.at(startMs), "send")).toEqual([]);
      expect(only(driver.tick(31_000), "send")).toEqual([]);
    }
    const hello = driveWaiting([]).feed({
      kind: "views",
      withdrawals: [waitingView(1, "released")],
    });
    expect(only(hello, "send")).toHaveLength(1);
  });
});

describe("the nodes' word that an attempt is void", () => {
  it("is asked for when the final block's time is past its end by the margin, and not a millisecond before", () => {
    const driver = driveWaiting([waitingView(1, "broadcast")]);
    driver.nowMs = 10 ** 9;
    expect(voidAsked(driver.at(past - 1))).toEqual([]);
    const effects = driver.at(past);
    expect(only(effects, "void")[0]?.wanted.map(({ attempts }) => attempts)).toEqual([
      [{ txHash: hashOf(1, 1), validUntilMs: startMs + lifetimeMs }],
    ]);
  });

  it("is asked for where somebody told of an end that no node shows, and told to the signer", () => {
    for (const state of ["paid", "reverted"] as const) {
      const driver = driveWaiting([waitingView(1, state)]);
      const [question] = only(driver.at(past), "void");
      expect(question?.wanted, state).toHaveLength(1);
    }
  });

  it("is asked for one question at a time, and again after a while", () => {
    const driver = driveWaiting([waitingView(1, "broadcast"), waitingView(2, "broadcast")]);
    expect(voidAsked(driver.at(past))).toEqual([[1, 2]]);
    expect(voidAsked(driver.at(past + 3_000))).toEqual([]);
    expect(voidAsked(answerVoid(driver, [1, 2], false))).toEqual([]);
    expect(voidAsked(driver.tick(14_000))).toEqual([]);
    expect(voidAsked(driver.tick(1_000))).toEqual([[1, 2]]);
    // An answer that never comes.
    expect(voidAsked(driver.tick(119_000))).toEqual([]);
    expect(voidAsked(driver.tick(1_000))).toEqual([[1, 2]]);
  });

  it("is not asked for of an attempt in a block, or of one that some node shows", () => {
    for (const found of ["in a block", "doubtful", "nothing"] as const) {
      const driver = driveWaiting([waitingView(1, "broadcast")]);
      driver.at(startMs);
      looked(driver, 1, found === "in a block" ? 25 : null, 1, found === "doubtful");
      expect(voidAsked(driver.at(past)), found).toEqual(found === "nothing" ? [[1]] : []);
    }
  });

  it("is told once, with its block and its quorum, and of each attempt", () => {
    const driver = driveWaiting([waitingView(1, "broadcast")]);
    driver.at(past);
    const [body] = observedBody(answerVoid(driver, [1], true));
    expect(body).toEqual({
      ...{
        transactionId: idOf(1),
        stage: "void",
        outcome: "",
        txHash: hashOf(1, 1),
        block: 40,
        quorum: 2,
      },
    });
    expect(asked(driver.at(past + 3_000))).toEqual([]);
    const withdrawal = waitingView(1, "broadcast", [voidAttemptBy("courier")], { changedAt: 2 });
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal },
    });
    for (let i = 2; i < 30; i++) expect(asked(driver.at(past + i * 3_000))).toEqual([]);
    expect(whyOf(driver, 1)).toBe("waits for the gateway's word that no block takes it any more");
  });

  it("is sent again when the signer's answer was about something earlier", () => {
    const driver = driveWaiting([waitingView(1, "broadcast")]);
    driver.at(past);
    expect(observedBody(answerVoid(driver, [1], true))).toHaveLength(1);
    const withdrawal = waitingView(1, "broadcast", [voidAttemptBy(undefined)], { changedAt: 2 });
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal },
    });
    expect(observedBody(driver.tick(35_000))).toEqual([]);
    expect(observedBody(driver.tick(1)).map(({ stage }) => stage)).toEqual(["void"]);
  });

  it("is not told of what is not void, nor when a block turned up meanwhile", () => {
    const alive = driveWaiting([waitingView(1, "broadcast")]);
    alive.at(past);
    expect(observedBody(answerVoid(alive, [1], false))).toEqual([]);
    const located = driveWaiting([waitingView(1, "broadcast")]);
    located.at(past);
    looked(located, 1, 25);
    expect(observedBody(answerVoid(located, [1], true)).map(({ stage }) => stage)).not.toContain(
      "void",
    );
  });

  it("comes after the signer's answer to the report that the block is gone", () => {
    const driver = driveWaiting([waitingView(1, "included")]);
    driver.at(past);
    const effects = answerVoid(driver, [1], true);
    expect(observedBody(effects).map(({ stage, txHash }) => [stage, txHash])).toEqual([
      ["broadcast", hashOf(1, 1)],
    ]);
    const withdrawal = waitingView(1, "broadcast", [voidAttemptBy(undefined)], { changedAt: 2 });
    const next = driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal },
    });
    const later = [...observedBody(next), ...observedBody(driver.at(past + 3_000))];
    expect(later.map(({ stage }) => stage)).toEqual(["void"]);
  });

  it("comes after a second report that no block has it, if another connection has told the signer of a block", () => {
    const driver = driveWaiting([waitingView(1, "broadcast")]);
    driver.at(past);
    const answered = (state: "broadcast" | "included", changedAt: number) => {
      const withdrawal = waitingView(1, state, [voidAttemptBy(undefined)], { changedAt });
      return driver.feed({
        kind: "answered",
        verb: "observed",
        transactionId: idOf(1),
        answer: { ok: true, withdrawal },
      });
    };
    expect(observedBody(answerVoid(driver, [1], true)).map(({ stage }) => stage)).toEqual(["void"]);
    // A claim of another connection came first, and the signer keeps that one.
    const stages = [
      ...observedBody(answered("included", 2)),
      ...observedBody(driver.tick(36_000)),
    ].map(({ stage }) => stage);
    expect(stages).toEqual(["broadcast"]);
    const later = [
      ...observedBody(answered("broadcast", 3)),
      ...observedBody(driver.at(past + 3_000)),
    ];
    expect(later.map(({ stage }) => stage)).toEqual(["void"]);
  });

  it("the nodes' word that came while the attempt was in a block counts for nothing when that block is gone", () => {
    const driver = driveWaiting([waitingView(1, "broadcast")]);
    driver.at(past);
    looked(driver, 1, 25);
    answerVoid(driver, [1], true);
    driver.tick(36_000);
    looked(driver, 1, null);
    expect(observedBody(looked(driver, 1, null)).map(({ stage }) => stage)).not.toContain("void");
    const later = driver.tick(1_000);
    expect(observedBody(later).map(({ stage }) => stage)).not.toContain("void");
    expect(voidAsked(later)).toEqual([[1]]);
  });

  it("the nodes' word, once recorded, leaves the way free at once, and no earlier stage is sent again", () => {
    const driver = driveWaiting([waitingView(1, "broadcast")]);
    driver.at(startMs);
    sentAs(driver, 1);
    driver.nowMs += 1_000;
    driver.at(past);
    answerVoid(driver, [1], true);
    looked(driver, 1, null);
    const withdrawal = waitingView(1, "broadcast", [voidAttemptBy("both")], { changedAt: 2 });
    const effects = driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal },
    });
    expect(observedBody([...effects, ...driver.at(past + 3_000), ...driver.tick(1_000)])).toEqual(
      [],
    );
    expect(asked(workFor(driver, 1))).toEqual(["replace:1"]);
  });

  it("the nodes' word counts as in flight while it is told", () => {
    const driver = driveWaiting(
      [waitingView(1, "broadcast"), waitingView(2, "approved", [])],
      "0",
      1,
    );
    driver.at(past);
    expect(observedBody(answerVoid(driver, [1], true))).toHaveLength(1);
    driver.at(past + 3_000);
    expect(whyOf(driver, 2)).toBe("others in flight");
    expect(asked(workFor(driver, 2))).toEqual([]);
  });

  it("a word that the nodes cannot give is named in status with the reason to wait", () => {
    const driver = driveWaiting([waitingView(1, "broadcast")]);
    driver.at(startMs + lifetimeMs + 1);
    const timeOf = (ms: number): string => new Date(ms).toISOString().slice(11, 19);
    const words = `waits for chain time ${timeOf(startMs + lifetimeMs + 120_000)} (UTC), now `;
    expect(whyOf(driver, 1)).toBe(words + timeOf(startMs + lifetimeMs + 1));
    driver.at(past);
    const no = { ok: false as const, code: "NODE_DISAGREE: receipt", effect: "none" as const };
    driver.feed({
      kind: "void",
      chain: "local",
      found: [{ transactionId: idOf(1), txHashes: [hashOf(1, 1)], answer: no }],
    });
    driver.at(past + 3_000);
    expect(whyOf(driver, 1)).toBe(`${words}${timeOf(past + 3_000)}; NODE_DISAGREE: receipt`);
  });

  it("is spoken of in status only for what stays in no block for long", () => {
    const driver = driveWaiting([waitingView(1, "broadcast")]);
    driver.at(startMs);
    sentAs(driver, 1);
    driver.nowMs += 59_000;
    driver.at(startMs + 59_000);
    expect(whyOf(driver, 1)).toBeUndefined();
    driver.nowMs += 1_000;
    driver.at(startMs + 60_000);
    expect(whyOf(driver, 1)).toMatch(
      /^waits for chain time \d\d:\d\d:\d\d \(UTC\), now \d\d:\d\d:\d\d$/,
    );
  });
});

describe("another attempt", () => {
  const voided = (
    attempts = [voidAttemptBy("both")],
    state: "broadcast" | "quarantined" = "broadcast",
  ) => {
    const driver = driveWaiting([waitingView(1, state, attempts)]);
    looked(driver, 1, null);
    return { driver, effects: driver.at(past) };
  };

  it("is asked for with the parameters of that moment when both have called every one before void", () => {
    const { driver, effects } = voided();
    expect(only(effects, "gas")).toHaveLength(1);
    const [ask] = only(workFor(driver, 1), "ask");
    expect(ask?.body).toMatchObject({
      above: 1,
      txParams: { timestampMs: `${past}`, expirationMs: `${past + lifetimeMs}` },
    });
    expect(ask?.verb).toBe("replace");
  });

  it("is not asked for before a look of this run has found it in no block", () => {
    const driver = driveWaiting([waitingView(1, "broadcast", [voidAttemptBy("both")])]);
    expect(only(driver.at(past), "gas")).toEqual([]);
    looked(driver, 1, null);
    expect(only(driver.at(past + 3_000), "gas")).toHaveLength(1);
  });

  it("is not asked for while one of the two has yet to say so", () => {
    for (const one of [undefined, "gateway", "courier"] as const) {
      const { driver, effects } = voided([voidAttemptBy("both"), voidAttemptBy(one, 1, 2)]);
      expect(only(effects, "gas"), one).toEqual([]);
      expect(asked(workFor(driver, 1)), one).toEqual([]);
    }
    const { driver } = voided([voidAttemptBy("both"), voidAttemptBy("both", 1, 2)]);
    expect(asked(workFor(driver, 1))).toEqual(["replace:1"]);
  });

  it("is not asked for beside one that is signed and not out", () => {
    const { raw: _, ...unreleased } = attemptAt(1, 2);
    expect(only(voided([voidAttemptBy("both"), unreleased]).effects, "gas")).toEqual([]);
  });

  it("is not asked for if an operator has to judge, in a quarantine or after fourteen", () => {
    expect(only(voided([voidAttemptBy("both")], "quarantined").effects, "gas")).toEqual([]);
    const many = Array.from({ length: 14 }, (_, i) => voidAttemptBy("both", 1, i + 1));
    const { driver, effects } = voided(many);
    expect(only(effects, "gas")).toEqual([]);
    expect(whyOf(driver, 1)).toBe("WITHDRAWAL_WAITS_FOR_OPERATOR");
    expect(only(voided(many.slice(1)).effects, "gas")).toEqual([]);
    expect(only(voided(many.slice(0, 13)).effects, "gas")).toHaveLength(1);
  });

  it("waits for the funds that it takes", () => {
    const poor = driveWaiting([waitingView(1, "broadcast", [voidAttemptBy("both")])]);
    looked(poor, 1, null);
    poor.at(past, { balances: new Map([["", 1_276_999n]]) });
    expect(asked(workFor(poor, 1))).toEqual([]);
    expect(whyOf(poor, 1)).toBe("funds for another attempt");
    expect(asked(poor.at(past + 3_000, { balances: new Map([["", 1_277_000n]]) }))).toEqual([
      "replace:1",
    ]);
    const token = driveWaiting([
      waitingView(1, "broadcast", [voidAttemptBy("both")], { contract: tether }),
    ]);
    looked(token, 1, null);
    token.at(past, { balances: new Map([["", 10n ** 9n]]) });
    expect(asked(workFor(token, 1))).toEqual([]);
    const balances = new Map([
      ["", 10n ** 9n],
      [tether, 1_000_000n],
    ]);
    expect(asked(token.at(past + 3_000, { balances }))).toEqual(["replace:1"]);
  });

  it("waits for no more than its own cost, whatever the one before was bound with", () => {
    const dear = driveWaiting([
      waitingView(1, "broadcast", [{ ...voidAttemptBy("both"), feeMax: "16000000" }]),
    ]);
    looked(dear, 1, null);
    dear.at(past, { balances: new Map([["", 1_276_999n]]) });
    expect(asked(workFor(dear, 1))).toEqual([]);
    expect(asked(dear.at(past + 3_000, { balances: new Map([["", 1_277_000n]]) }))).toEqual([
      "replace:1",
    ]);
  });

  it("is not asked for while the chain would revert it, and is afterwards", () => {
    const { driver } = voided();
    expect(asked(revertFor(driver, 1))).toEqual([]);
    expect(whyOf(driver, 1)).toBe("the chain would revert it");
    driver.nowMs += 12_000;
    expect(only(driver.at(past + 12_000), "gas")).toHaveLength(1);
    expect(asked(workFor(driver, 1))).toEqual(["replace:1"]);
  });

  it("that the signer refuses is set aside with its words, and asked for later", () => {
    for (const code of ["WITHDRAWAL_ALIVE", "WITHDRAWAL_WAITS_FOR_OPERATOR"]) {
      const { driver } = voided();
      workFor(driver, 1);
      driver.feed(refused("replace", 1, code));
      expect(whyOf(driver, 1)).toBe(code);
      expect(asked(driver.tick(4_000))).toEqual([]);
      expect(asked(driver.tick(1_000))).toEqual(["replace:1"]);
    }
  });

  it("takes the market's price of its own moment", () => {
    const driver = driveWaiting([waitingView(1, "broadcast", [voidAttemptBy("both")])]);
    looked(driver, 1, null);
    driver.at(past, { feeMarket: { ...priceAt(past), byteSun: 2_000n } });
    expect(only(workFor(driver, 1), "ask")[0]?.body).toMatchObject({
      txParams: { byteSun: "2000" },
    });
  });

  it("is sent when it is out, and the one before is not", () => {
    const { driver } = voided();
    const second = attemptAt(1, 2, { validUntilMs: past + lifetimeMs });
    const effects = driver.feed({
      kind: "views",
      withdrawals: [waitingView(1, "broadcast", [voidAttemptBy("both"), second], { changedAt: 2 })],
    });
    expect(only(effects, "send").map(({ attempt }) => attempt)).toEqual([2]);
  });
});

describe("a place that turns up after all", () => {
  it("is believed over the word that the attempt is void, with an alarm, and nothing more is sent", () => {
    const second = attemptAt(1, 2, { validUntilMs: past + lifetimeMs });
    const driver = driveWaiting([waitingView(1, "broadcast", [voidAttemptBy("both"), second])]);
    driver.at(past);
    const effects = looked(driver, 1, 25, 1);
    expect(only(effects, "alarm")).toEqual([
      {
        kind: "alarm",
        code: "COURIER_VOID_INCLUDED",
        transactionId: idOf(1),
        detail: hashOf(1, 1),
      },
    ]);
    const later = driver.tick(31_000);
    expect(only(later, "send")).toEqual([]);
    expect(
      [...effects, ...later].flatMap((one) =>
        one.kind === "ask" && one.verb === "observed" ? [one.body] : [],
      ),
    ).toMatchObject([{ stage: "included", txHash: hashOf(1, 1) }]);
    expect(only(looked(driver, 1, 25, 1), "alarm")).toEqual([]);
  });

  it("a place of an attempt that nobody called void raises no alarm", () => {
    const driver = driveWaiting([waitingView(1, "broadcast")]);
    driver.at(startMs);
    expect(only(looked(driver, 1, 25, 1), "alarm")).toEqual([]);
  });
});
