/**
 * The scheduler of an idle account: the chain's state is a minute old there, so nothing is signed
 * by it.
 */
import { describe, expect, it } from "vitest";
import { isHotWalletIdle } from "../../agent/courier/scheduler/accounts.ts";
import { gasFor, whyOf } from "../support/scheduler-answers.ts";
import {
  asked,
  type Driver,
  drive,
  only,
  sentView,
  token,
  viewOf,
} from "../support/scheduler-views.ts";

const isIdleNow = ({ scheduler, nowMs }: Driver): boolean =>
  isHotWalletIdle(scheduler.book, "local", nowMs);
const opened = (driver: Driver, ...withdrawals: ReturnType<typeof viewOf>[]) =>
  driver.feed({ kind: "views", withdrawals });
/** Ticks, as in life: one a second. */
const wait = (driver: Driver, ms: number): void => {
  for (let past = 0; past < ms; past += 1000) driver.tick(1000);
};

describe("an idle account", () => {
  it("an account is idle a minute after the start, or after its last withdrawal, and not before", () => {
    const driver = drive([]);
    driver.block(10);
    wait(driver, 60_000);
    expect(isIdleNow(driver)).toBe(false);
    wait(driver, 1000);
    expect(isIdleNow(driver)).toBe(true);
    opened(driver, sentView(1, "broadcast"));
    wait(driver, 300_000);
    expect(isIdleNow(driver)).toBe(false);
    opened(driver, sentView(1, "paid", 1, { isOver: true }));
    wait(driver, 61_000);
    expect(isIdleNow(driver)).toBe(true);
  });

  it("a withdrawal of an idle account wakes its watch, and is signed by the state that follows alone", () => {
    const driver = drive([]);
    driver.block(10);
    wait(driver, 61_000);
    const effects = opened(driver, viewOf(1, "approved"));
    expect(only(effects, "wake")).toEqual([{ kind: "wake", chain: "local" }]);
    expect(only(effects, "gas")).toEqual([]);
    expect(whyOf(driver, 1)).toBe("nodes");
    expect(only(opened(driver, viewOf(2, "approved")), "wake")).toEqual([]);
    expect(only(driver.block(70), "gas")).toHaveLength(2);
    expect(asked(gasFor(driver, 1))).toEqual(["sign:1"]);
  });

  it("a withdrawal of a busy account is signed by the state that is known", () => {
    const driver = drive([]);
    driver.block(10);
    wait(driver, 60_000);
    const effects = opened(driver, viewOf(1, "approved"));
    expect(only(effects, "wake")).toEqual([]);
    expect(only(effects, "gas")).toHaveLength(1);
  });

  it("a job that the signer has not judged yet wakes the watch of its chain, once", () => {
    const driver = drive([]);
    driver.block(10);
    wait(driver, 61_000);
    expect(only(driver.feed({ kind: "expected", chain: "local" }), "wake")).toHaveLength(1);
    expect(isIdleNow(driver)).toBe(false);
    driver.block(70);
    const effects = opened(driver, viewOf(1, "approved"));
    expect(only(effects, "wake")).toEqual([]);
    expect(only(effects, "gas")).toHaveLength(1);
    expect(driver.feed({ kind: "expected", chain: "elsewhere" })).toEqual([]);
  });

  it("an account whose withdrawal waits for funds stays busy, and one whose withdrawal waits for an operator does not", () => {
    const poor = drive([
      viewOf(1, "approved", { contract: token, currency: "usdt", amountUnits: `${10n ** 30n}` }),
    ]);
    poor.block(10);
    wait(poor, 300_000);
    expect(whyOf(poor, 1)).toBe("funds");
    expect(isIdleNow(poor)).toBe(false);
    const held = drive([viewOf(1, "held")]);
    held.block(10);
    wait(held, 61_000);
    expect(isIdleNow(held)).toBe(true);
    expect(only(opened(held, viewOf(1, "approved")), "wake")).toHaveLength(1);
    expect(only(held.block(70), "gas")).toHaveLength(1);
  });
});
