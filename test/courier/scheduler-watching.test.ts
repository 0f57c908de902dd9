/**
 * The scheduler watches what was sent: in a block, final, gone again, or lost to a foreign
 * transaction.
 */
import { describe, expect, it } from "vitest";
import { confirm, look, observedBody, refused, sent } from "../support/scheduler-answers.ts";
import {
  asked,
  type Driver,
  drive,
  hashOf,
  idOf,
  only,
  sentView,
  token,
} from "../support/scheduler-views.ts";

describe("watching", () => {
  it("the scheduler tells inclusion, then finality, then forgets", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10, { finalNumber: 8 });
    sent(driver, 1);
    expect(observedBody(look(driver, 1, 9))).toEqual([
      { transactionId: idOf(1), stage: "included", outcome: "", txHash: hashOf(1, 1), block: 9 },
    ]);
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "included") },
    });
    expect(only(driver.block(10, { finalNumber: 8 }), "confirm")).toEqual([]);
    expect(only(driver.block(11, { finalNumber: 9 }), "confirm")).toHaveLength(1);
    expect(observedBody(confirm(driver, 1, "paid"))).toEqual([
      { transactionId: idOf(1), stage: "final", outcome: "paid", txHash: hashOf(1, 1), block: 9 },
    ]);
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "paid") },
    });
    driver.feed({ kind: "views", withdrawals: [sentView(1, "included")] });
    expect(only(driver.block(12), "look")).toEqual([]);
  });

  it("bytes that a node takes as new are looked for from the next block on, and known ones at once", () => {
    const wanted = (effects: ReturnType<Driver["tick"]>): number =>
      only(effects, "look").flatMap((one) => one.wanted).length;
    const isNew = drive([]);
    isNew.block(10);
    isNew.feed({ kind: "views", withdrawals: [sentView(1, "broadcast")] });
    sent(isNew, 1);
    expect(wanted(isNew.tick(1_000))).toBe(0);
    expect(wanted(isNew.block(11))).toBe(1);
    const isKnown = drive([]);
    isKnown.block(10);
    isKnown.feed({ kind: "views", withdrawals: [sentView(1, "broadcast")] });
    const said = [{ node: "http://one", standing: "taken", meaning: "known", text: "" }] as const;
    isKnown.feed({ kind: "sent", transactionId: idOf(1), attempt: 1, answers: said });
    expect(wanted(isKnown.tick(1_000))).toBe(1);
    // Without a new block it is looked for again all the same.
    const isStill = drive([]);
    isStill.block(10);
    isStill.feed({ kind: "views", withdrawals: [sentView(1, "broadcast")] });
    sent(isStill, 1);
    expect(wanted(isStill.tick(15_000))).toBe(1);
  });

  it("the scheduler tells a revert, and that a token transfer moved otherwise, once with an alarm", () => {
    const reverted = drive([sentView(1, "included")]);
    reverted.block(10);
    look(reverted, 1, 5);
    reverted.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "included") },
    });
    expect(observedBody(confirm(reverted, 1, "reverted"))[0]?.outcome).toBe("reverted");
    const moved = drive([sentView(1, "included", 1, { contract: token, currency: "usdt" })]);
    moved.block(10);
    look(moved, 1, 5);
    const effects = confirm(moved, 1, "moved");
    expect(only(effects, "alarm")[0]?.code).toBe("COURIER_TOKEN_MOVED");
    expect(observedBody(effects)).toEqual([
      { transactionId: idOf(1), stage: "final", outcome: "moved", txHash: hashOf(1, 1), block: 9 },
    ]);
    const view = sentView(1, "moved", 1, { contract: token, currency: "usdt" });
    moved.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: view },
    });
    expect(only(moved.block(11), "look")).toEqual([]);
    // A courier that starts again sees the same, and raises no second alarm.
    const again = drive([view]);
    again.block(12);
    look(again, 1, 5);
    const seen = confirm(again, 1, "moved");
    expect([only(seen, "alarm"), observedBody(seen).map(({ outcome }) => outcome)]).toEqual([
      [],
      ["moved"],
    ]);
  });

  it("the scheduler goes back to broadcast and sends again after two looks in a row miss it, not after one", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    sent(driver, 1);
    look(driver, 1, 9);
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "included") },
    });
    const [check] = only(driver.block(11), "checkBlock");
    expect(check).toMatchObject({ block: 9, blockHash: "0x9" });
    expect(
      only(driver.feed({ kind: "blockChecked", chain: "local", holds: true }), "look"),
    ).toEqual([]);
    expect(
      only(driver.feed({ kind: "blockChecked", chain: "local", holds: false }), "look"),
    ).toHaveLength(1);
    expect(only(look(driver, 1, null), "send")).toEqual([]);
    expect(only(look(driver, 1, null), "send")).toHaveLength(1);
    sent(driver, 1);
    expect(observedBody(driver.tick(500))).toEqual([
      { transactionId: idOf(1), stage: "broadcast", outcome: "", txHash: hashOf(1, 1), block: 0 },
    ]);
  });

  it("the scheduler looks again for one that a single node put into a block which is final by now, and sends it when it is not there", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    sent(driver, 1);
    look(driver, 1, 9);
    const unproven = (): ReturnType<Driver["feed"]> =>
      driver.feed({
        kind: "confirmed",
        chain: "local",
        found: [{ transactionId: idOf(1), chainOutcome: null }],
      });
    driver.block(20);
    expect(only(unproven(), "look")).toHaveLength(1);
    expect(only(look(driver, 1, null), "send")).toEqual([]);
    expect(only(unproven(), "look")).toHaveLength(1);
    expect(only(look(driver, 1, null), "send")).toHaveLength(1);
    sent(driver, 1);
    expect(only(unproven(), "look"), "it is in no block any more").toEqual([]);
  });

  it("the scheduler asks for receipts in order of nonce, only as far as they are found", () => {
    const many = Array.from({ length: 80 }, (_, i) => sentView(i + 1, "broadcast"));
    const driver = drive(many);
    const [first] = only(driver.block(10), "look");
    expect(first?.wanted.map((one) => one.withdrawal.sequence)).toEqual(
      Array.from({ length: 32 }, (_, i) => i + 1),
    );
    const found = (from: number, to: number, last: number) =>
      driver.feed({
        kind: "looked",
        chain: "local",
        found: many.slice(from, to).map(({ transactionId, sequence }) => ({
          transactionId,
          location:
            sequence > last ? null : { txHash: hashOf(sequence, 1), block: 10, blockHash: "0x10" },
          isDoubtful: false,
        })),
      });
    const [second] = only(found(0, 32, 40), "look");
    expect(second?.wanted[0]?.withdrawal.sequence).toBe(33);
    expect(second?.wanted).toHaveLength(48);
    expect(only(found(32, 80, 40), "look")).toEqual([]);
  });

  it("the scheduler looks as soon as there is a block, and not again when its chain state follows", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    look(driver, 1, null);
    expect(only(driver.feed({ kind: "head", chain: "local", number: 11 }), "look")).toHaveLength(1);
    expect(only(driver.block(11), "look")).toEqual([]);
    look(driver, 1, null);
    expect(only(driver.tick(14_000), "look")).toEqual([]);
    expect(only(driver.tick(1000), "look")).toHaveLength(1);
  });

  it("nodes that are slower than the blocks get no question again that they still have, for a minute", () => {
    const driver = drive([sentView(1, "broadcast"), sentView(2, "broadcast")]);
    const wanted = (
      effects: ReturnType<Driver["tick"]>,
      kind: "look" | "confirm",
    ): readonly number[] =>
      only(effects, kind).flatMap((one) => one.wanted.map(({ withdrawal }) => withdrawal.sequence));
    const blocks = (...numbers: number[]) =>
      numbers.map((number) => driver.block(number, { finalNumber: 8 }));
    expect(blocks(10, 11, 12, 13).map((effects) => wanted(effects, "look"))).toEqual([
      [1, 2],
      [],
      [],
      [],
    ]);
    const one = {
      transactionId: idOf(1),
      location: { txHash: hashOf(1, 1), block: 10, blockHash: "0x10" },
      isDoubtful: false,
    };
    driver.feed({ kind: "looked", chain: "local", found: [one], failed: [idOf(2)] });
    // The newer block is asked about within a second.
    expect(wanted(driver.tick(1_000), "look")).toEqual([2]);
    expect(wanted(driver.block(14, { finalNumber: 10 }), "confirm")).toEqual([1]);
    expect(wanted(driver.block(15, { finalNumber: 11 }), "confirm")).toEqual([]);
    driver.feed({ kind: "confirmed", chain: "local", found: [], failed: [idOf(1)] });
    expect(wanted(driver.block(16, { finalNumber: 12 }), "confirm")).toEqual([1]);
    const lost = [driver.tick(59_000), driver.tick(1_000)];
    expect(lost.map((effects) => [wanted(effects, "look"), wanted(effects, "confirm")])).toEqual([
      [[], []],
      [[2], [1]],
    ]);
  });

  it("the scheduler calls a nonce lost only when its use by another was agreed again and again for a minute", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    sent(driver, 1);
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "broadcast") },
    });
    const slotCounts = () =>
      driver.feed({
        kind: "slotCounts",
        chain: "local",
        answer: { ok: true, latest: 2n, pending: 2n, final: 2n, quorum: 2, isSame: true },
      });
    for (let i = 0; i < 4; i++) {
      expect(observedBody(slotCounts())).toEqual([]);
      driver.tick(15_000);
    }
    expect(observedBody(slotCounts())[0]).toMatchObject({ stage: "final", outcome: "conflicted" });
  });

  it("the scheduler tells of a lost nonce though a replacement with a higher fee is refused at each block", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    sent(driver, 1, "slot-used");
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "broadcast") },
    });
    const asks: string[] = [];
    for (let number = 16; number < 60; number++) {
      asks.push(...asked(driver.block(number)));
      asks.push(
        ...asked(
          driver.feed({
            kind: "gas",
            transactionId: idOf(1),
            answer: { ok: true, gasLimit: 21_000n },
          }),
        ),
      );
      driver.feed(refused("replace", 1, "POLICY_FEE_ABOVE_DAY"));
      driver.feed({
        kind: "slotCounts",
        chain: "local",
        answer: { ok: true, latest: 2n, pending: 2n, final: 2n, quorum: 2, isSame: true },
      });
      asks.push(...asked(driver.tick(3_000)));
    }
    expect(asks).toContain("replace:1");
    expect(asks.at(-1)).toBe("observed:1");
  });

  it.each(["expired", "slot-used"] as const)(
    "the scheduler takes an inclusion back that the nodes do not show, though they call the bytes %s",
    (said) => {
      const driver = drive([sentView(1, "included")]);
      driver.block(10);
      expect(observedBody(sent(driver, 1, said))).toEqual([]);
      expect(observedBody(look(driver, 1, null, 1, true))).toEqual([]); // the nodes differ
      const told = [...observedBody(look(driver, 1, null)), ...observedBody(driver.tick(1_000))];
      expect(told).toEqual([
        { transactionId: idOf(1), stage: "broadcast", outcome: "", txHash: hashOf(1, 1), block: 0 },
      ]);
      const answer = { ok: true, withdrawal: sentView(1, "broadcast") } as const;
      driver.feed({ kind: "answered", verb: "observed", transactionId: idOf(1), answer });
      expect(observedBody(driver.tick(36_000))).toEqual([]);
    },
  );

  it("the scheduler takes a late answer of an earlier stage for no answer to the last", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    look(driver, 1, 9);
    const answer = (state: "included" | "paid") =>
      ({
        kind: "answered",
        verb: "observed",
        transactionId: idOf(1),
        answer: { ok: true, withdrawal: sentView(1, state) },
      }) as const;
    driver.feed(answer("included"));
    expect(asked(confirm(driver, 1, "paid"))).toEqual(["observed:1"]);
    driver.feed(answer("included"));
    expect(asked(driver.tick(36_000))).toEqual(["observed:1"]);
  });

  it("the scheduler, watching, tells nothing twice", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    look(driver, 1, 9);
    expect(asked(look(driver, 1, 9))).toEqual([]);
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "included") },
    });
    expect(asked(look(driver, 1, 9))).toEqual([]);
    expect(asked(driver.tick(1000))).toEqual([]);
    expect(asked(look(driver, 1, 10))).toEqual(["observed:1"]);
  });
});
