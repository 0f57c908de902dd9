/**
 * A withdrawal that the signer was told is over, without a gateway's confirmation: the scheduler
 * sends and watches it as if nothing had been reported.
 */
import { describe, expect, it } from "vitest";
import { applySchedulerEvent } from "../../agent/courier/scheduler/scheduler.ts";
import { confirm, look, observedBody } from "../support/scheduler-answers.ts";
import { attemptOf, drive, helloOf, idOf, only, sentView } from "../support/scheduler-views.ts";

describe("an end that was told and not confirmed", () => {
  it("does not keep the bytes from the nodes, and is sent again as the chain has it", () => {
    const driver = drive([sentView(1, "paid")]);
    const view = sentView(2, "paid");
    expect(only(driver.feed({ kind: "views", withdrawals: [view] }), "send")).toMatchObject([
      { withdrawal: view, attempt: 1 },
    ]);
    driver.block(10, { finalNumber: 9 });
    look(driver, 1, 9);
    expect(observedBody(confirm(driver, 1, "reverted"))).toMatchObject([
      { stage: "final", outcome: "reverted" },
    ]);
  });

  it("an end that this scheduler has seen itself is closed, and looked at again when the gateway says nothing for ten minutes", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10, { finalNumber: 9 });
    look(driver, 1, 9);
    confirm(driver, 1, "paid");
    const answer = { ok: true, withdrawal: sentView(1, "paid", 1, { changedAt: 9 }) } as const;
    driver.feed({ kind: "answered", verb: "observed", transactionId: idOf(1), answer });
    expect(driver.scheduler.book.items.size).toBe(0);
    const hello = {
      kind: "hello",
      hello: helloOf([answer.withdrawal]),
      isFresh: false,
      askedAtMs: driver.nowMs,
    } as const;
    driver.feed(hello);
    expect(driver.scheduler.book.items.size).toBe(0);
    applySchedulerEvent(driver.scheduler, hello, driver.nowMs + 700_000);
    expect(driver.scheduler.book.items.size).toBe(1);
  });

  it("an end by a cancel is its own outcome, and a paused signer is asked for nothing", () => {
    const cancel = attemptOf(2, { txHash: `0x${"ca".repeat(32)}`, raw: "0x02ca", isCancel: true });
    const view = sentView(1, "broadcast");
    const driver = drive(
      [{ ...view, attempts: [...view.attempts, cancel] }, sentView(2, "approved", 0)],
      { paused: true },
    );
    driver.block(10, { finalNumber: 9 });
    expect(only(driver.block(30), "gas")).toEqual([]);
    look(driver, 1, 9);
    expect(observedBody(confirm(driver, 1, "cancelled"))).toMatchObject([
      { stage: "final", outcome: "cancelled" },
    ]);
  });
});
