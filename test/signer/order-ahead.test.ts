/**
 * The time of a recovery order is the gateway's word: the opened ledger goes on from no later time
 * than this machine's own, because otherwise the windows of hour and day would end too early.
 * Others that take the time from another party: rai-project/rai #35, Scille/parsec-cloud #6499.
 */
import { describe, expect, it } from "vitest";
import { begun, Rig, settings } from "../../lab/rig/signer-rig.ts";
import { databaseOf, recovered } from "../support/recovery-order.ts";

const minuteMs = 60_000;
const limits = { maxPerWithdrawal: "1000", maxPerHour: "1000", maxPerDay: "5000", maxFee: "0.01", maxFeePerDay: "10" };

/**
 * So much is paid; so long after it, by this machine's clock, an order is carried out whose
 * gateway is ahead by so much.
 */
function openedAfter(spentMs: number, aheadMs: number, amount: string): Rig {
  const rig = new Rig({ settings: { ...settings, policy: { ...settings.policy, usdt: limits } } }).ready();
  rig.pay({ amount });
  rig.now = begun + spentMs + aheadMs;
  rig.skew = -aheadMs;
  recovered(rig, databaseOf(rig));
  rig.now += 1;
  rig.greet();
  rig.acknowledge();
  return rig;
}

describe("a recovery order whose time is ahead", () => {
  it("a recovery order whose time is ahead opens a ledger at this machine's time, and the hour that was spent stays spent", () => {
    const rig = openedAfter(55 * minuteMs, 9 * minuteMs, "1000");
    expect(rig.core.heads.at).toBeLessThanOrEqual(rig.now + rig.skew);
    expect(rig.request({ amount: "100" })).toMatchObject({ state: "refused", code: "POLICY_ABOVE_HOUR" });
  });

  it("a recovery order whose time is ahead opens a ledger that pays what the hour has room for", () => {
    const rig = openedAfter(55 * minuteMs, 9 * minuteMs, "500");
    expect(rig.request({ amount: "100" })).toMatchObject({ state: "approved" });
  });
});
