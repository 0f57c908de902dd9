/**
 * New destinations and look-alikes: which ones policy holds, for how long, and the facts that the
 * deciding person is shown.
 */
import { describe, expect, it } from "vitest";
import type { PolicySettings } from "../../agent/config/settings.ts";
import { facts, hot, other, Rig, shop, twin } from "../../lab/rig/signer-rig.ts";
import { approve, dayMs, minuteMs, outcome, pay, request, seen, settingsWith, withPolicy } from "../support/policy-rig.ts";

describe("a destination never paid before", () => {
  it("a destination never paid before is held above its own limit, and to the unit no more once a payment to it is final", () => {
    const rig = withPolicy({ newDestination: { holdAbove: "5" } });
    expect(outcome(rig, "5.000001")).toBe("held POLICY_NEW_DESTINATION");
    const { transactionId } = request(rig, "5");
    seen(rig, transactionId, "included");
    expect(outcome(rig, "5.000001")).toBe("held POLICY_NEW_DESTINATION");
    seen(rig, transactionId);
    expect(outcome(rig, "5.000001")).toBe("approved");
    expect(outcome(rig, "5.000001", { address: shop.toLowerCase() })).toBe("approved");
    expect(outcome(rig, "5.000001", { address: other })).toBe("held POLICY_NEW_DESTINATION");
  });

  it("a destination never paid before stays new when the payment to it failed", () => {
    const rig = withPolicy({ newDestination: { holdAbove: "5" } });
    seen(rig, request(rig, "5").transactionId, "reverted");
    expect(outcome(rig, "5.000001")).toBe("held POLICY_NEW_DESTINATION");
  });

  it("a destination never paid before is another one on each network, and the same in each currency of one", () => {
    const rig = withPolicy({ newDestination: { holdAbove: "5" } });
    pay(rig);
    expect(outcome(rig, "6", { currency: "eth" })).toBe("approved");
    expect(outcome(rig, "6", { currency: "usdc", network: "eip155:1" })).toBe("held POLICY_NEW_DESTINATION");
  });

  it("a destination never paid before waits for its time to the millisecond, and then policy decides by itself", () => {
    const rig = withPolicy({ newDestination: { delayMinutes: 60 } });
    const { transactionId, state, code, requestedAt } = request(rig, "5");
    expect([state, code]).toEqual(["held", "POLICY_NEW_DESTINATION_DELAY"]);
    expect(rig.operate("show", { transactionId }).wait).toMatchObject({ until: requestedAt + 60 * minuteMs, isNew: true });
    rig.now = requestedAt + 60 * minuteMs - 1;
    rig.signer.tick();
    expect(rig.show(transactionId).state).toBe("held");
    expect(rig.ask("sign", { transactionId, facts }).code).toBe("WITHDRAWAL_HELD");
    rig.now += 1;
    rig.signer.tick();
    rig.settle();
    expect(rig.show(transactionId).state).toBe("approved");
    const pushed = rig.pushes.flatMap((push) => (push.push === "changed" ? [push.withdrawal] : []));
    expect(pushed.at(-1)).toMatchObject({ transactionId, state: "approved" });
    expect(rig.operate("show", { transactionId }).wait).toBeNull();
    seen(rig, transactionId);
    expect(outcome(rig, "5")).toBe("approved");
  });

  it("a destination never paid before is decided by the limits of the moment its delay ends, one after another", () => {
    const rig = withPolicy({ newDestination: { delayMinutes: 60 }, maxPerDay: "10" });
    pay(rig, { address: other });
    const [first, second] = [request(rig, "6"), request(rig, "6")];
    rig.now += 60 * minuteMs;
    rig.signer.tick();
    expect(rig.show(first.transactionId).state).toBe("approved");
    expect(rig.show(second.transactionId)).toMatchObject({ state: "refused", code: "POLICY_ABOVE_DAY" });
    const third = request(rig, "2", { address: hot === shop ? other : "0x90F79bf6EB2c4f870365E785982E1f101E93b906" });
    expect(outcome(rig, "3", { address: other })).toBe("approved");
    rig.now += 60 * minuteMs;
    rig.signer.tick();
    expect(rig.show(third.transactionId)).toMatchObject({ state: "refused", code: "POLICY_ABOVE_DAY" });
  });

  it("a destination never paid before is decided by the rules that are in force when its delay ends", () => {
    const policy = { newDestination: { delayMinutes: 60 } } as const;
    const disk = withPolicy(policy);
    const { transactionId, requestedAt } = request(disk, "6");
    const later = (change: Partial<PolicySettings>): string => {
      const rig = new Rig({ found: disk.disk, gatewayKey: disk.gateway.key, settings: settingsWith(change) });
      Object.assign(rig.gateway, { stored: disk.gateway.stored, last: disk.gateway.last });
      rig.now = requestedAt + 60 * minuteMs;
      rig.greet();
      rig.signer.tick();
      rig.settle();
      const { state, code } = rig.show(transactionId);
      return `${state} ${code}`;
    };
    disk.settle();
    const files = new Map(disk.disk.files);
    const from = (change: Partial<PolicySettings>): string => {
      for (const [name, bytes] of files) disk.disk.files.set(name, bytes);
      return later(change);
    };
    expect(from({ newDestination: { delayMinutes: 61 } })).toBe("held POLICY_NEW_DESTINATION_DELAY");
    expect(from({ ...policy, holdAbove: "5" })).toBe("held POLICY_HOLD_ABOVE");
    expect(from({ ...policy, deny: [shop] })).toBe("refused POLICY_DENIED");
    expect(from({})).toBe("approved ");
  });

  it("a destination never paid before expires first when its time is up before the delay's, and can be decided by a person at any moment before", () => {
    const rig = withPolicy({ newDestination: { delayMinutes: 60 } });
    const short = request(rig, "1", { expiresAt: rig.now + 30 * minuteMs });
    const even = request(rig, "1", { expiresAt: rig.now + 60 * minuteMs });
    const [yes, no] = [request(rig, "1"), request(rig, "1")];
    rig.now += 30 * minuteMs;
    expect(approve(rig, yes.transactionId).withdrawal.state).toBe("approved");
    expect(rig.operate("refuse", { transactionId: no.transactionId }).withdrawal.state).toBe("refused");
    rig.now += 1;
    rig.signer.tick();
    expect(rig.show(short.transactionId)).toMatchObject({ state: "expired", code: "JOB_EXPIRED" });
    rig.now += 30 * minuteMs - 1;
    rig.signer.tick();
    expect(rig.show(even.transactionId).state).toBe("approved");
  });

  it("a destination never paid before waits through crashes, before the decision and after it, and for the greeting", () => {
    const rig = withPolicy({ newDestination: { delayMinutes: 60 } });
    pay(rig, { address: other });
    // The first half of the write: REQUESTED, and not its decision.
    rig.gateway.job({ expiresAt: rig.now + dayMs }, rig.now);
    rig.send("admit", { frames: [rig.gateway.jobs([rig.gateway.texts.at(-1)!])] });
    const { transactionId } = JSON.parse(rig.gateway.texts.at(-1)!) as { transactionId: string };
    const bytes = (disk: typeof rig.disk): Buffer => Buffer.from(disk.read("00000001.jsonl", 0, 1_000_000));
    rig.crash(bytes(rig.disk.crash(1_000_000)).lastIndexOf('"kind":"HELD"') - bytes(rig.disk).length);
    expect(rig.kinds().at(-1)).toBe("REQUESTED");
    const requestedAt = rig.now;
    rig.now += 20 * minuteMs;
    rig.greet();
    expect(rig.show(transactionId)).toMatchObject({ requestedAt, code: "POLICY_NEW_DESTINATION_DELAY" });
    rig.now = requestedAt + 60 * minuteMs;
    rig.crash();
    rig.signer.tick();
    expect(rig.show(transactionId).state).toBe("held");
    rig.greet();
    rig.signer.tick();
    expect(rig.show(transactionId).state).toBe("approved");
  });

  it("a destination never paid before is told to the person who looks, also where something else holds it", () => {
    const rig = withPolicy({});
    const { transactionId } = request(rig, "1", { mode: "manual" });
    expect(rig.operate("show", { transactionId }).wait).toMatchObject({ isNew: true, until: 0, needsTwo: false, likeness: null });
    pay(rig);
    expect(rig.operate("show", { transactionId }).wait).toMatchObject({ isNew: false });
  });
});

describe("a look-alike", () => {
  it("a look-alike is held without any key, in whatever case, and shown beside what it looks like", () => {
    const rig = withPolicy({});
    expect(outcome(rig, "1", { address: twin })).toBe("approved");
    pay(rig);
    for (const address of [twin, twin.toLowerCase()]) {
      const view = request(rig, "1", { address });
      expect([view.state, view.code]).toEqual(["held", "POLICY_LOOKALIKE"]);
      const { wait } = rig.operate("show", { transactionId: view.transactionId });
      expect(wait?.likeness).toEqual({ address: shop, at: rig.now, amount: "0.1", currency: "usdt" });
    }
    expect(outcome(rig, "1", { address: `0x7099${"0".repeat(32)}79c9` })).toBe("approved");
    expect(outcome(rig, "1", { address: `0x709a${"0".repeat(32)}79c8` })).toBe("approved");
    expect(outcome(rig, "1")).toBe("approved");
  });

  it("a look-alike is one no more once a person has let it be paid, and is told as the last one then", () => {
    const rig = withPolicy({});
    pay(rig);
    pay(rig, { address: twin });
    expect(outcome(rig, "1", { address: twin })).toBe("approved");
    expect(outcome(rig, "1")).toBe("approved");
    const { transactionId, code } = request(rig, "1", { address: `0x7099${"1".repeat(32)}79c8` });
    expect(code).toBe("POLICY_LOOKALIKE");
    expect(rig.operate("show", { transactionId }).wait?.likeness?.address).toBe(twin);
  });

  it("a look-alike is none on another network, nor on the allow list", () => {
    const rig = withPolicy({});
    pay(rig);
    expect(outcome(rig, "1", { address: twin, currency: "usdc", network: "eip155:1" })).toBe("approved");
    expect(outcome(rig, "1", { address: twin, currency: "eth" })).toBe("held POLICY_LOOKALIKE");
    const listed = withPolicy({ allow: [shop, twin] });
    pay(listed);
    expect(outcome(listed, "1", { address: twin })).toBe("approved");
  });

  it("a look-alike is shown before a person names it for a withdrawal without address", () => {
    const rig = withPolicy({});
    pay(rig);
    const { transactionId } = request(rig, "1", { mode: "manual", address: "" });
    expect(rig.operate("show", { transactionId }).wait).toMatchObject({ isNew: false, likeness: null });
    expect(rig.operate("show", { transactionId, address: twin.toLowerCase() }).wait).toMatchObject({
      isNew: true,
      likeness: { address: shop },
    });
  });
});
