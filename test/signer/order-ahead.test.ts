/**
 * The time of a recovery offer is the gateway's word: the recovered ledger goes on from no later
 * time than this machine's own, because otherwise the windows of hour and day would end too early.
 * Others that take the time from another party: rai-project/rai #35, Scille/parsec-cloud #6499.
 */
import { describe, expect, it } from "vitest";
import { begun, Kit, settings } from "../../lab/kit/signer-kit.ts";
import { databaseOf, recovered } from "../support/recovery-offer.ts";

const minuteMs = 60_000;
const limits = {
  maxPerWithdrawal: "1000",
  maxPerHour: "1000",
  maxPerDay: "5000",
  maxFee: "0.01",
  maxFeePerDay: "10",
};

/**
 * So much is paid; so long after it, by this machine's clock, an order is carried out whose
 * gateway is ahead by so much.
 */
function openedAfter(spentMs: number, aheadMs: number, amount: string): Kit {
  const kit = new Kit({
    settings: { ...settings, policy: { ...settings.policy, usdt: limits } },
  }).ready();
  kit.pay({ amount });
  kit.now = begun + spentMs + aheadMs;
  kit.skew = -aheadMs;
  recovered(kit, databaseOf(kit));
  kit.now += 1;
  kit.handshake();
  kit.acknowledge();
  return kit;
}

describe("a recovery offer whose time is ahead", () => {
  it("opens a ledger at this machine's time, and the hour that was spent stays spent", () => {
    const kit = openedAfter(55 * minuteMs, 9 * minuteMs, "1000");
    expect(kit.core.heads.at).toBeLessThanOrEqual(kit.now + kit.skew);
    expect(kit.request({ amount: "100" })).toMatchObject({
      state: "refused",
      code: "POLICY_ABOVE_HOUR",
    });
  });

  it("opens a ledger that pays what the hour has room for", () => {
    const kit = openedAfter(55 * minuteMs, 9 * minuteMs, "500");
    expect(kit.request({ amount: "100" })).toMatchObject({ state: "approved" });
  });
});
