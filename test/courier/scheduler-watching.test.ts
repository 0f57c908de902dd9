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
    const [guard] = only(driver.block(11), "guard");
    expect(guard).toMatchObject({ block: 9, blockHash: "0x9" });
    expect(only(driver.feed({ kind: "guarded", chain: "local", holds: true }), "look")).toEqual([]);
    expect(
      only(driver.feed({ kind: "guarded", chain: "local", holds: false }), "look"),
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
    expect(only(driver.feed({ kind: "head", chain: "local", number: 11 }), "look")).toHaveLength(1);
    expect(only(driver.block(11), "look")).toEqual([]);
    expect(only(driver.tick(14_000), "look")).toEqual([]);
    expect(only(driver.tick(1000), "look")).toHaveLength(1);
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
