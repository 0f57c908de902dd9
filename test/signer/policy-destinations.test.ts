/**
 * New destinations and look-alikes: which ones policy holds, for how long, and the facts that the
 * deciding operator is shown.
 */
import { describe, expect, it } from "vitest";
import type { PolicySettings } from "../../agent/config/settings.ts";
import { hotWallet, Kit, other, shop, twin, txParams } from "../../lab/kit/signer-kit.ts";
import { crashBefore } from "../support/earlier-write.ts";
import {
  approve,
  dayMs,
  minuteMs,
  outcome,
  pay,
  request,
  seen,
  settingsWith,
  withPolicy,
} from "../support/policy-kit.ts";

describe("a destination never paid before", () => {
  it("is held above its own limit, and to the unit no more once a payment to it is final", () => {
    const kit = withPolicy({ newDestination: { holdAbove: "5" } });
    expect(outcome(kit, "5.000001")).toBe("held POLICY_NEW_DESTINATION");
    const { transactionId } = request(kit, "5");
    seen(kit, transactionId, "included");
    expect(outcome(kit, "5.000001")).toBe("held POLICY_NEW_DESTINATION");
    seen(kit, transactionId);
    expect(outcome(kit, "5.000001")).toBe("approved");
    expect(outcome(kit, "5.000001", { address: shop.toLowerCase() })).toBe("approved");
    expect(outcome(kit, "5.000001", { address: other })).toBe("held POLICY_NEW_DESTINATION");
  });

  it("stays new when the payment to it failed", () => {
    const kit = withPolicy({ newDestination: { holdAbove: "5" } });
    seen(kit, request(kit, "5").transactionId, "reverted");
    expect(outcome(kit, "5.000001")).toBe("held POLICY_NEW_DESTINATION");
  });

  it("is another one on each network, and the same in each currency of one", () => {
    const kit = withPolicy({ newDestination: { holdAbove: "5" } });
    pay(kit);
    expect(outcome(kit, "6", { currency: "eth" })).toBe("approved");
    expect(outcome(kit, "6", { currency: "usdc", network: "eip155:1" })).toBe(
      "held POLICY_NEW_DESTINATION",
    );
  });

  it("waits for its time to the millisecond, and then policy decides by itself", () => {
    const kit = withPolicy({ newDestination: { delayMinutes: 60 } });
    const { transactionId, state, code, requestedAt } = request(kit, "5");
    expect([state, code]).toEqual(["held", "POLICY_NEW_DESTINATION_DELAY"]);
    expect(kit.operate("show", { transactionId }).wait).toMatchObject({
      until: requestedAt + 60 * minuteMs,
      isNew: true,
    });
    kit.now = requestedAt + 60 * minuteMs - 1;
    kit.signer.tick();
    expect(kit.show(transactionId).state).toBe("held");
    expect(kit.ask("sign", { transactionId, txParams }).code).toBe("WITHDRAWAL_HELD");
    kit.now += 1;
    kit.signer.tick();
    kit.settle();
    expect(kit.show(transactionId).state).toBe("approved");
    const pushed = kit.pushes.flatMap((push) => (push.push === "changed" ? [push.withdrawal] : []));
    expect(pushed.at(-1)).toMatchObject({ transactionId, state: "approved" });
    expect(kit.operate("show", { transactionId }).wait).toBeNull();
    seen(kit, transactionId);
    expect(outcome(kit, "5")).toBe("approved");
  });

  it("is decided by the limits of the moment its delay ends, one after another", () => {
    const kit = withPolicy({ newDestination: { delayMinutes: 60 }, maxPerDay: "10" });
    pay(kit, { address: other });
    const [first, second] = [request(kit, "6"), request(kit, "6")];
    kit.now += 60 * minuteMs;
    kit.signer.tick();
    expect(kit.show(first.transactionId).state).toBe("approved");
    expect(kit.show(second.transactionId)).toMatchObject({
      state: "refused",
      code: "POLICY_ABOVE_DAY",
    });
    const third = request(kit, "2", {
      address: hotWallet === shop ? other : "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
    });
    expect(outcome(kit, "3", { address: other })).toBe("approved");
    kit.now += 60 * minuteMs;
    kit.signer.tick();
    expect(kit.show(third.transactionId)).toMatchObject({
      state: "refused",
      code: "POLICY_ABOVE_DAY",
    });
  });

  it("is decided by the rules that are in force when its delay ends", () => {
    const policy = { newDestination: { delayMinutes: 60 } } as const;
    const disk = withPolicy(policy);
    const { transactionId, requestedAt } = request(disk, "6");
    const later = (change: Partial<PolicySettings>): string => {
      const kit = new Kit({
        found: disk.disk,
        gatewayKey: disk.gateway.key,
        settings: settingsWith(change),
      });
      Object.assign(kit.gateway, { stored: disk.gateway.stored, last: disk.gateway.last });
      kit.now = requestedAt + 60 * minuteMs;
      kit.handshake();
      kit.signer.tick();
      kit.settle();
      const { state, code } = kit.show(transactionId);
      return `${state} ${code}`;
    };
    disk.settle();
    const files = new Map(disk.disk.files);
    const from = (change: Partial<PolicySettings>): string => {
      for (const [name, bytes] of files) disk.disk.files.set(name, bytes);
      return later(change);
    };
    expect(from({ newDestination: { delayMinutes: 61 } })).toBe(
      "held POLICY_NEW_DESTINATION_DELAY",
    );
    expect(from({ ...policy, holdAbove: "5" })).toBe("held POLICY_HOLD_ABOVE");
    expect(from({ ...policy, deny: [shop] })).toBe("refused POLICY_DENIED");
    expect(from({})).toBe("approved ");
  });

  it("expires first when its time is up before the delay's, and can be decided by an operator at any moment before", () => {
    const kit = withPolicy({ newDestination: { delayMinutes: 60 } });
    const short = request(kit, "1", { expiresAt: kit.now + 30 * minuteMs });
    const even = request(kit, "1", { expiresAt: kit.now + 60 * minuteMs });
    const [yes, no] = [request(kit, "1"), request(kit, "1")];
    kit.now += 30 * minuteMs;
    expect(approve(kit, yes.transactionId).withdrawal.state).toBe("approved");
    expect(kit.operate("refuse", { transactionId: no.transactionId }).withdrawal.state).toBe(
      "refused",
    );
    kit.now += 1;
    kit.signer.tick();
    expect(kit.show(short.transactionId)).toMatchObject({ state: "expired", code: "JOB_EXPIRED" });
    kit.now += 30 * minuteMs - 1;
    kit.signer.tick();
    expect(kit.show(even.transactionId).state).toBe("approved");
  });

  it("waits through crashes, before the decision and after it, and for the handshake", () => {
    const kit = withPolicy({ newDestination: { delayMinutes: 60 } });
    pay(kit, { address: other });
    // The first half of the write: REQUESTED, and not its decision.
    kit.gateway.job({ expiresAt: kit.now + dayMs }, kit.now);
    kit.send("admit", { frames: [kit.gateway.jobs([kit.gateway.texts.at(-1)!])] });
    const { transactionId } = JSON.parse(kit.gateway.texts.at(-1)!) as { transactionId: string };
    crashBefore(kit, "HELD");
    expect(kit.kinds().at(-1)).toBe("REQUESTED");
    const requestedAt = kit.now;
    kit.now += 20 * minuteMs;
    kit.handshake();
    expect(kit.show(transactionId)).toMatchObject({
      requestedAt,
      code: "POLICY_NEW_DESTINATION_DELAY",
    });
    kit.now = requestedAt + 60 * minuteMs;
    kit.crash();
    kit.signer.tick();
    expect(kit.show(transactionId).state).toBe("held");
    kit.handshake();
    kit.signer.tick();
    expect(kit.show(transactionId).state).toBe("approved");
  });

  it("is told to the operator who looks, also where something else holds it", () => {
    const kit = withPolicy({});
    const { transactionId } = request(kit, "1", { mode: "manual" });
    expect(kit.operate("show", { transactionId }).wait).toMatchObject({
      isNew: true,
      until: 0,
      needsTwo: false,
      likeness: null,
    });
    pay(kit);
    expect(kit.operate("show", { transactionId }).wait).toMatchObject({ isNew: false });
  });
});

describe("a look-alike", () => {
  it("is held without any key, in whatever case, and shown beside what it looks like", () => {
    const kit = withPolicy({});
    expect(outcome(kit, "1", { address: twin })).toBe("approved");
    pay(kit);
    for (const address of [twin, twin.toLowerCase()]) {
      const view = request(kit, "1", { address });
      expect([view.state, view.code]).toEqual(["held", "POLICY_LOOKALIKE"]);
      const { wait } = kit.operate("show", { transactionId: view.transactionId });
      expect(wait?.likeness).toEqual({
        address: shop,
        at: kit.now,
        amount: "0.1",
        currency: "usdt",
      });
    }
    expect(outcome(kit, "1", { address: `0x7099${"0".repeat(32)}79c9` })).toBe("approved");
    expect(outcome(kit, "1", { address: `0x709a${"0".repeat(32)}79c8` })).toBe("approved");
    expect(outcome(kit, "1")).toBe("approved");
  });

  it("is one no more once an operator has let it be paid, and is told as the last one then", () => {
    const kit = withPolicy({});
    pay(kit);
    pay(kit, { address: twin });
    expect(outcome(kit, "1", { address: twin })).toBe("approved");
    expect(outcome(kit, "1")).toBe("approved");
    const { transactionId, code } = request(kit, "1", { address: `0x7099${"1".repeat(32)}79c8` });
    expect(code).toBe("POLICY_LOOKALIKE");
    expect(kit.operate("show", { transactionId }).wait?.likeness?.address).toBe(twin);
  });

  it("is none on another network, nor on the allow list", () => {
    const kit = withPolicy({});
    pay(kit);
    expect(outcome(kit, "1", { address: twin, currency: "usdc", network: "eip155:1" })).toBe(
      "approved",
    );
    expect(outcome(kit, "1", { address: twin, currency: "eth" })).toBe("held POLICY_LOOKALIKE");
    const listed = withPolicy({ allow: [shop, twin] });
    pay(listed);
    expect(outcome(listed, "1", { address: twin })).toBe("approved");
  });

  it("is shown before an operator names it for a withdrawal without address", () => {
    const kit = withPolicy({});
    pay(kit);
    const { transactionId } = request(kit, "1", { mode: "manual", address: "" });
    expect(kit.operate("show", { transactionId }).wait).toMatchObject({
      isNew: false,
      likeness: null,
    });
    expect(kit.operate("show", { transactionId, address: twin.toLowerCase() }).wait).toMatchObject({
      isNew: true,
      likeness: { address: shop },
    });
  });
});
