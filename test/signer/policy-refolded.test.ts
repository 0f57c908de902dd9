/**
 * Holds after the ledger is folded again, from the file, from a checkpoint or in an opened one:
 * destinations, delays and yeses stay the same.
 */
import { describe, expect, it } from "vitest";
import { readRules } from "../../agent/signer/policy/rules.ts";
import { Core } from "../../agent/signer/state/core.ts";
import { facts, other, own, type Rig, shop, twin } from "../../lab/rig/signer-rig.ts";
import { approve, minuteMs, outcome, pay, request, settingsWith, withPolicy } from "../support/policy-rig.ts";
import { backup, databaseOf, orderOf, recovered, restore } from "../support/recovery-order.ts";

describe("folded again", () => {
  it("a policy that is folded again from the file or from any checkpoint is the same", () => {
    const policy = { newDestination: { holdAbove: "5", delayMinutes: 60 }, twoApproversAbove: "10" };
    const rig = withPolicy(policy, { segmentBytesMax: 1_500 });
    const rules = readRules(settingsWith(policy), own);
    const same = (): void => {
      rig.settle();
      const live = JSON.stringify(rig.core.snapshot());
      rig.start();
      expect(JSON.stringify(rig.core.snapshot())).toBe(live);
      expect(JSON.stringify(new Core(rules, rig.signer.ledger.past, JSON.parse(live)).snapshot())).toBe(live);
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

describe("in an opened ledger", () => {
  /**
   * The ledger is opened when one withdrawal was confirmed once, another bound and a third delayed;
   * the gateway has the opened ledger's word.
   */
  function opened(): { readonly rig: Rig; readonly held: string; readonly bound: string; readonly delayed: string } {
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
    rig.greet();
    return { rig, held, bound, delayed };
  }

  /** A withdrawal without a slot comes as a new job. */
  function again(rig: Rig, transactionId: string): void {
    expect(rig.core.book.find(transactionId)).toBeUndefined();
    const text = rig.gateway.texts.find((each) => each.includes(transactionId)) ?? "";
    const { address } = JSON.parse(text) as { address: string };
    rig.request({ ...orderOf(text), address });
  }

  it("a first approval from before the opening does not count, and two new ones release the withdrawal", () => {
    const { rig, held } = opened();
    again(rig, held);
    expect(rig.operate("show", { transactionId: held }).wait).toMatchObject({ needsTwo: true, confirmed: null });
    for (const name of ["bob", "BOB"]) expect(approve(rig, held, name).withdrawal.state).toBe("held");
    expect(approve(rig, held, "ann").withdrawal.state).toBe("approved");
  });

  it("the approval of a bound payment stands, for the same payment on the same slot", () => {
    const { rig, bound } = opened();
    expect(rig.show(bound)).toMatchObject({ state: "released", code: "" });
    expect(rig.show(bound).versions).toHaveLength(1);
  });

  it("a delay begins again, and an earlier payment stays known", () => {
    const { rig, delayed } = opened();
    again(rig, delayed);
    rig.now += 59 * minuteMs;
    rig.greet();
    rig.signer.tick();
    expect(rig.show(delayed).state).toBe("held");
    expect(outcome(rig, "1")).toBe("approved");
    expect(outcome(rig, "1", { address: twin })).toBe("held POLICY_LOOKALIKE");
    rig.now += 2 * minuteMs;
    rig.greet();
    rig.signer.tick();
    expect(rig.show(delayed).state).toBe("approved");
  });

  it("a payment that an opened ledger kept is known as paid, however the gateway wrote the address", () => {
    const { rig, bound } = opened();
    const txHash = rig.show(bound).versions[0]!.txHash;
    rig.ask("observed", { transactionId: bound, stage: "final", outcome: "paid", txHash, block: 9 });
    expect(rig.core.policy.paid.entries()).toEqual([["eip155:31337", shop, rig.core.heads.at, "12", "usdt"]]);
  });
});
