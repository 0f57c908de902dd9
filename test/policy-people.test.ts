/** What is not policy's alone to decide: new destinations, those that look like paid ones, amounts for two people; and who they say they are. */
import { describe, expect, it } from "vitest";
import type { PolicySettings, SignerSettings } from "../agent/config/settings.ts";
import { readRules } from "../agent/signer/policy/rules.ts";
import { Core } from "../agent/signer/state/core.ts";
import { backup, databaseOf, recovered, restore } from "./support/recovery-order.ts";
import { facts, hot, other, Rig, type RigOptions, settings, shop, twin } from "./support/signer-rig.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;
const generous = { maxPerWithdrawal: "1000000", maxPerDay: "1000000", maxFee: "1", maxFeePerDay: "1" };

function settingsWith(policy: Partial<PolicySettings>): SignerSettings {
  const one = { ...generous, ...policy };
  return { ...settings, policy: { usdt: one, usdc: one, eth: one } };
}

function withPolicy(policy: Partial<PolicySettings>, options: RigOptions = {}): Rig {
  return new Rig({ ...options, settings: settingsWith(policy) }).ready();
}

const request = (rig: Rig, amount: string, change: object = {}) =>
  rig.request({ amount, expiresAt: rig.now + 10 * dayMs, ...change });

const outcome = (rig: Rig, amount: string, change: object = {}): string => {
  const { state, code } = request(rig, amount, change);
  return code === "" ? state : `${state} ${code}`;
};

/** What the courier says it saw of one that is approved: to its end, or as far as told. */
function seen(rig: Rig, transactionId: string, end: "paid" | "reverted" | "included" = "paid"): void {
  rig.ask("sign", { transactionId, facts });
  rig.acknowledge();
  const txHash = rig.show(transactionId).versions[0]!.txHash;
  rig.ask("observed", { transactionId, stage: "included", outcome: "", txHash, block: 9 });
  if (end !== "included") rig.ask("observed", { transactionId, stage: "final", outcome: end, txHash, block: 9 });
  rig.acknowledge();
}

/** A destination becomes known, whatever holds what goes to it. */
function pay(rig: Rig, change: object = {}): void {
  const { transactionId, state } = request(rig, "0.1", change);
  if (state === "held") approve(rig, transactionId);
  seen(rig, transactionId);
  expect(rig.show(transactionId).state).toBe("paid");
}

function approve(rig: Rig, transactionId: string, approver = "ann", address = "") {
  return rig.operate("approve", { transactionId, digest: rig.show(transactionId).approvalDigest, address, approver });
}

describe("a destination never paid before", () => {
  it("is held above its own limit, and to the unit no more once a payment to it is final", () => {
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

  it("stays new when the payment to it failed", () => {
    const rig = withPolicy({ newDestination: { holdAbove: "5" } });
    seen(rig, request(rig, "5").transactionId, "reverted");
    expect(outcome(rig, "5.000001")).toBe("held POLICY_NEW_DESTINATION");
  });

  it("is another one on each network, and the same in each currency of one", () => {
    const rig = withPolicy({ newDestination: { holdAbove: "5" } });
    pay(rig);
    expect(outcome(rig, "6", { currency: "eth" })).toBe("approved");
    expect(outcome(rig, "6", { currency: "usdc", network: "eip155:1" })).toBe("held POLICY_NEW_DESTINATION");
  });

  it("waits for its time to the millisecond, and then policy decides by itself", () => {
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

  it("is decided by the limits of the moment its delay ends, one after another", () => {
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

  it("is decided by the rules that are in force when its delay ends", () => {
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

  it("expires first when its time is up before the delay's, and can be decided by a person at any moment before", () => {
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

  it("waits through crashes, before the decision and after it, and for the greeting", () => {
    const rig = withPolicy({ newDestination: { delayMinutes: 60 } });
    pay(rig, { address: other });
    // The first half of the write: REQUESTED, and not its decision.
    rig.gateway.job({ expiresAt: rig.now + dayMs }, rig.now);
    rig.send("admit", { frame: Buffer.from(rig.gateway.jobs([rig.gateway.texts.at(-1)!])).toString("base64") });
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

  it("is told to the person who looks, also where something else holds it", () => {
    const rig = withPolicy({});
    const { transactionId } = request(rig, "1", { mode: "manual" });
    expect(rig.operate("show", { transactionId }).wait).toMatchObject({ isNew: true, until: 0, needsTwo: false, likeness: null });
    pay(rig);
    expect(rig.operate("show", { transactionId }).wait).toMatchObject({ isNew: false });
  });
});

describe("a look-alike", () => {
  it("is held without any key, in whatever case, and shown beside what it looks like", () => {
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

  it("is one no more once a person has let it be paid, and is told as the last one then", () => {
    const rig = withPolicy({});
    pay(rig);
    pay(rig, { address: twin });
    expect(outcome(rig, "1", { address: twin })).toBe("approved");
    expect(outcome(rig, "1")).toBe("approved");
    const { transactionId, code } = request(rig, "1", { address: `0x7099${"1".repeat(32)}79c8` });
    expect(code).toBe("POLICY_LOOKALIKE");
    expect(rig.operate("show", { transactionId }).wait?.likeness?.address).toBe(twin);
  });

  it("is none on another network, nor on the allow list", () => {
    const rig = withPolicy({});
    pay(rig);
    expect(outcome(rig, "1", { address: twin, currency: "usdc", network: "eip155:1" })).toBe("approved");
    expect(outcome(rig, "1", { address: twin, currency: "eth" })).toBe("held POLICY_LOOKALIKE");
    const listed = withPolicy({ allow: [shop, twin] });
    pay(listed);
    expect(outcome(listed, "1", { address: twin })).toBe("approved");
  });

  it("is shown before a person names it for a withdrawal without address", () => {
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

describe("an amount for two people", () => {
  const two = { twoApproversAbove: "10" } as const;

  it("is held above the limit and not at it", () => {
    const rig = withPolicy(two);
    expect(outcome(rig, "10")).toBe("approved");
    expect(outcome(rig, "10.000001")).toBe("held POLICY_TWO_APPROVERS");
    expect(outcome(rig, "10", { mode: "manual" })).toBe("held POLICY_MANUAL");
  });

  it("is paid by two names, and by no one name twice, however it is written", () => {
    const rig = withPolicy(two);
    const { transactionId } = request(rig, "11");
    expect(rig.operate("show", { transactionId }).wait).toMatchObject({ needsTwo: true, confirmed: null });
    for (const name of ["ann", "ann", "ANN"]) {
      const answer = approve(rig, transactionId, name);
      expect(answer).toMatchObject({ ok: true, withdrawal: { state: "held", code: "POLICY_CONFIRMED" } });
      expect(answer.wait?.confirmed).toMatchObject({ approver: "ann", address: shop });
    }
    expect(rig.kinds().filter((kind) => kind === "CONFIRMED")).toHaveLength(1);
    expect(approve(rig, transactionId, "bob").withdrawal.state).toBe("approved");
    const details = rig.operate("show", { transactionId }).history.map(({ detail }) => detail);
    expect(details.slice(-2)).toEqual([
      `the first yes of two, by ann (claimed: the socket does not prove names), to ${shop}`,
      `by bob (claimed: the socket does not prove names): 11000000 base units to ${shop} on eip155:31337`,
    ]);
  });

  it("needs one name alone up to the limit, whatever holds it", () => {
    const rig = withPolicy({ ...two, holdAbove: "1" });
    const { transactionId } = request(rig, "10");
    expect(approve(rig, transactionId).withdrawal.state).toBe("approved");
    const large = request(rig, "11");
    expect(large.code).toBe("POLICY_HOLD_ABOVE");
    expect(approve(rig, large.transactionId).withdrawal.code).toBe("POLICY_CONFIRMED");
  });

  it("ends with the no of anybody, and meets every limit at both yeses", () => {
    const rig = withPolicy({ ...two, maxPerDay: "20" });
    const [first, second] = [request(rig, "11"), request(rig, "11")];
    for (const { transactionId } of [first, second]) approve(rig, transactionId, "ann");
    expect(approve(rig, first.transactionId, "bob").withdrawal.state).toBe("approved");
    expect(approve(rig, second.transactionId, "bob").code).toBe("POLICY_ABOVE_DAY");
    expect(rig.operate("refuse", { transactionId: second.transactionId, approver: "ann" }).withdrawal.state).toBe("refused");
    expect(rig.operate("show", { transactionId: second.transactionId }).history.at(-1)?.detail).toBe(
      "by ann (claimed: the socket does not prove names): OPERATOR_REFUSED",
    );
    const third = request(rig, "12");
    expect(approve(rig, third.transactionId, "ann").code).toBe("POLICY_ABOVE_DAY");
    expect(rig.kinds().filter((kind) => kind === "CONFIRMED")).toHaveLength(2);
  });

  it("goes where the first one said, when it has no address of its own", () => {
    const rig = withPolicy(two);
    const { transactionId } = request(rig, "11", { mode: "manual", address: "" });
    expect(approve(rig, transactionId, "ann").code).toBe("WITHDRAWAL_NEEDS_ADDRESS");
    expect(approve(rig, transactionId, "ann", other.toLowerCase()).wait?.confirmed?.address).toBe(other);
    expect(approve(rig, transactionId, "bob", shop).code).toBe("WITHDRAWAL_HAS_ADDRESS");
    expect(rig.show(transactionId).address).toBe("");
    expect(approve(rig, transactionId, "bob").withdrawal).toMatchObject({ state: "approved", address: other });
  });

  it("is confirmed by what both saw: another table of decimals voids the first yes", () => {
    const rig = withPolicy(two);
    const { transactionId } = request(rig, "11");
    approve(rig, transactionId, "ann");
    rig.settle();
    const edited = settingsWith(two);
    const again = new Rig({
      ...{ found: rig.disk, gatewayKey: rig.gateway.key },
      settings: { ...edited, currencies: { ...edited.currencies, usdt: { ...edited.currencies.usdt!, decimal: 7 } } },
    });
    Object.assign(again.gateway, { stored: rig.gateway.stored, last: rig.gateway.last });
    again.greet();
    expect(again.operate("show", { transactionId }).wait?.confirmed).toBeNull();
    expect(approve(again, transactionId, "bob").withdrawal.state).toBe("held");
    expect(approve(again, transactionId, "ann").withdrawal.state).toBe("approved");
  });

  it("outlasts a crash with one yes there, and expires like any other", () => {
    const rig = withPolicy(two);
    const [kept, late] = [request(rig, "11"), request(rig, "11", { expiresAt: rig.now + minuteMs })];
    for (const { transactionId } of [kept, late]) approve(rig, transactionId, "ann");
    rig.crash();
    expect(approve(rig, kept.transactionId, "bob").code).toBe("SIGNER_NOT_GREETED");
    rig.greet();
    rig.now += minuteMs + 1;
    rig.signer.tick();
    expect(rig.show(late.transactionId).state).toBe("expired");
    expect(approve(rig, kept.transactionId, "bob").withdrawal.state).toBe("approved");
  });
});

describe("a name", () => {
  const named = (approver: unknown) => {
    const rig = withPolicy({});
    const { transactionId, approvalDigest: digest } = request(rig, "1", { mode: "manual" });
    return rig.operate("approve", { transactionId, digest, address: "", approver });
  };

  it.each([["a".repeat(64)], ["ann.of-the/shop@example"]])("may be %s", (name) => expect(named(name).ok).toBe(true));

  it.each([[""], ["a".repeat(65)], ["ann b"], ["änn"], ["a\u0007"], [7], [null]])("may not be %j", (name) =>
    expect(named(name).code).toBe("JSON_SHAPE"),
  );

  it("is wanted of everybody, for a no as well", () => {
    const rig = withPolicy({});
    const { transactionId } = request(rig, "1", { mode: "manual" });
    expect(rig.operate("refuse", { transactionId, approver: undefined }).code).toBe("JSON_SHAPE");
    expect(rig.operate("refuse", { transactionId, approver: "bob" }).ok).toBe(true);
  });

  it("never leaves for the gateway", () => {
    const rig = withPolicy({ twoApproversAbove: "1" });
    const { transactionId } = request(rig, "2");
    for (const name of ["ann-at-the-shop", "bob-at-the-shop"]) approve(rig, transactionId, name);
    rig.hear();
    const said = JSON.stringify(rig.statements);
    expect(said).toContain("approved");
    expect(said).not.toContain("at-the-shop");
  });
});

describe("folded again", () => {
  it("from the file or from any checkpoint, all of it is the same", () => {
    const policy = { newDestination: { holdAbove: "5", delayMinutes: 60 }, twoApproversAbove: "10" };
    const rig = withPolicy(policy, { segmentBytesMax: 1_500 });
    const rules = readRules(settingsWith(policy), hot);
    const same = (): void => {
      rig.settle();
      const live = JSON.stringify(rig.core.snapshot());
      rig.start();
      expect(JSON.stringify(rig.core.snapshot())).toBe(live);
      expect(JSON.stringify(new Core(rules, JSON.parse(live)).snapshot())).toBe(live);
      rig.greet();
      rig.signer.tick();
      rig.settle();
    };
    for (const address of [shop, other]) {
      pay(rig, { address });
      same();
    }
    const delayed = request(rig, "1", { address: "0x90F79bf6EB2c4f870365E785982E1f101E93b906" });
    same();
    const twice = request(rig, "11");
    approve(rig, twice.transactionId, "ann");
    same();
    rig.now += 60 * minuteMs;
    same();
    expect(rig.show(delayed.transactionId).state).toBe("approved");
    expect(approve(rig, twice.transactionId, "bob").withdrawal.state).toBe("approved");
    expect(outcome(rig, "1", { address: twin })).toBe("held POLICY_LOOKALIKE");
    expect(outcome(rig, "6", { address: other })).toBe("approved");
    same();
    expect(rig.kinds().filter((kind) => kind === "CHECKPOINT").length).toBeGreaterThan(3);
  });
});

describe("after a recovery", () => {
  /** Ledger and gateway put back to when one was confirmed once and another bound; a person has said yes to the recovery. */
  function putBack(): { readonly rig: Rig; readonly held: string; readonly bound: string; readonly delayed: string } {
    const rig = withPolicy({ twoApproversAbove: "10", newDestination: { delayMinutes: 60 } });
    pay(rig);
    const [held, bound] = [request(rig, "11").transactionId, request(rig, "12").transactionId];
    const delayed = request(rig, "1", { address: other }).transactionId;
    for (const name of ["ann", "bob"]) approve(rig, bound, name);
    rig.ask("sign", { transactionId: bound, facts });
    approve(rig, held, "ann");
    rig.acknowledge();
    const [copy, old] = [backup(rig), databaseOf(rig)];
    restore(rig, copy);
    recovered(rig, old);
    rig.greet();
    rig.acknowledge();
    return { rig, held, bound, delayed };
  }

  it("a yes from before it does not count, and two new ones let go on what is held or bound", () => {
    const { rig, held, bound } = putBack();
    for (const [transactionId, waiting] of [
      [held, "held"],
      [bound, "quarantined"],
    ] as const) {
      expect(rig.operate("show", { transactionId }).wait).toMatchObject({ needsTwo: true, confirmed: null });
      for (const name of ["bob", "BOB"]) expect(approve(rig, transactionId, name).withdrawal.state).toBe(waiting);
      expect(rig.show(transactionId).code).toBe("RECOVERY_HOLD");
    }
    // One yes changes nothing of what a recovery holds: no time ends it.
    rig.now += 30 * dayMs;
    rig.greet();
    rig.signer.tick();
    expect(rig.show(held).state).toBe("held");
    rig.now -= 30 * dayMs;
    expect(approve(rig, bound, "ann").withdrawal.state).toBe("released");
  });

  it("no delay decides what it holds, and what was paid before stays known", () => {
    const { rig, delayed } = putBack();
    rig.operate("finish");
    rig.now += 2 * 60 * minuteMs;
    rig.greet();
    rig.signer.tick();
    expect(rig.show(delayed)).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    expect(outcome(rig, "1")).toBe("approved");
    expect(outcome(rig, "1", { address: twin })).toBe("held POLICY_LOOKALIKE");
  });

  it("what it takes over and was paid since is known, however the gateway wrote the address", () => {
    const { rig, bound } = putBack();
    const txHash = rig.show(bound).versions[0]!.txHash;
    rig.ask("observed", { transactionId: bound, stage: "final", outcome: "paid", txHash, block: 9 });
    expect(rig.core.policy.snapshot(rig.now).paid).toEqual([["eip155:31337", [[shop, rig.core.heads.at, "12", "usdt"]]]]);
  });
});
