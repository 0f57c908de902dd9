/**
 * Holds after the ledger is replayed, from the file, from a checkpoint or in a recovered one:
 * destinations, delays and yeses stay the same.
 */
import { describe, expect, it } from "vitest";
import { readRules } from "../../agent/signer/policy/rules.ts";
import { Core } from "../../agent/signer/state/core.ts";
import { type Kit, other, own, shop, twin, txParams } from "../../lab/kit/signer-kit.ts";
import {
  approve,
  minuteMs,
  outcome,
  pay,
  request,
  settingsWith,
  withPolicy,
} from "../support/policy-kit.ts";
import { backup, databaseOf, orderOf, recovered, restore } from "../support/recovery-offer.ts";

describe("replayed", () => {
  it("a policy that is replayed from the file or from any checkpoint is the same", () => {
    const policy = {
      newDestination: { holdAbove: "5", delayMinutes: 60 },
      twoApproversAbove: "10",
    };
    const kit = withPolicy(policy, { segmentBytesMax: 1_500 });
    const rules = readRules(settingsWith(policy), own);
    const same = (): void => {
      kit.settle();
      const live = JSON.stringify(kit.core.snapshot());
      kit.start();
      expect(JSON.stringify(kit.core.snapshot())).toBe(live);
      expect(
        JSON.stringify(new Core(rules, kit.signer.ledger.past, JSON.parse(live)).snapshot()),
      ).toBe(live);
      kit.handshake();
      kit.signer.tick();
      kit.settle();
    };
    for (const address of [shop, other]) {
      pay(kit, { address });
      same();
    }
    const delayed = request(kit, "1", { address: "0x90F79bf6EB2c4f870365E785982E1f101E93b906" });
    same();
    const twice = request(kit, "11");
    approve(kit, twice.transactionId, "ann");
    same();
    kit.now += 60 * minuteMs;
    same();
    expect(kit.show(delayed.transactionId).state).toBe("approved");
    expect(approve(kit, twice.transactionId, "bob").withdrawal.state).toBe("approved");
    expect(outcome(kit, "1", { address: twin })).toBe("held POLICY_LOOKALIKE");
    expect(outcome(kit, "6", { address: other })).toBe("approved");
    same();
    expect(kit.kinds().filter((kind) => kind === "CHECKPOINT").length).toBeGreaterThan(3);
  });
});

describe("in a recovered ledger", () => {
  /**
   * The ledger is opened when one withdrawal was confirmed once, another bound and a third delayed;
   * the gateway has the recovered ledger's word.
   */
  function opened(): {
    readonly kit: Kit;
    readonly held: string;
    readonly assigned: string;
    readonly delayed: string;
  } {
    const kit = withPolicy({ twoApproversAbove: "10", newDestination: { delayMinutes: 60 } });
    pay(kit);
    const [held, assigned] = [request(kit, "11").transactionId, request(kit, "12").transactionId];
    const delayed = request(kit, "1", { address: other }).transactionId;
    for (const name of ["ann", "bob"]) approve(kit, assigned, name);
    kit.ask("sign", { transactionId: assigned, txParams });
    approve(kit, held, "ann");
    kit.acknowledge();
    const [copy, old] = [backup(kit), databaseOf(kit)];
    restore(kit, copy);
    recovered(kit, old);
    kit.handshake();
    kit.acknowledge();
    kit.handshake();
    return { kit, held, assigned, delayed };
  }

  /** A withdrawal without a slot comes as a new job. */
  function again(kit: Kit, transactionId: string): void {
    expect(kit.core.book.find(transactionId)).toBeUndefined();
    const text = kit.gateway.texts.find((each) => each.includes(transactionId)) ?? "";
    const { address } = JSON.parse(text) as { address: string };
    kit.request({ ...orderOf(text), address });
  }

  it("a first approval from before the recovery does not count, and two new ones release the withdrawal", () => {
    const { kit, held } = opened();
    again(kit, held);
    expect(kit.operate("show", { transactionId: held }).wait).toMatchObject({
      needsTwo: true,
      confirmed: null,
    });
    for (const name of ["bob", "BOB"])
      expect(approve(kit, held, name).withdrawal.state).toBe("held");
    expect(approve(kit, held, "ann").withdrawal.state).toBe("approved");
  });

  it("the approval of a bound payment stands, for the same payment on the same slot", () => {
    const { kit, assigned } = opened();
    expect(kit.show(assigned)).toMatchObject({ state: "released", code: "" });
    expect(kit.show(assigned).attempts).toHaveLength(1);
  });

  it("a delay begins again, and an earlier payment stays known", () => {
    const { kit, delayed } = opened();
    again(kit, delayed);
    kit.now += 59 * minuteMs;
    kit.handshake();
    kit.signer.tick();
    expect(kit.show(delayed).state).toBe("held");
    expect(outcome(kit, "1")).toBe("approved");
    expect(outcome(kit, "1", { address: twin })).toBe("held POLICY_LOOKALIKE");
    kit.now += 2 * minuteMs;
    kit.handshake();
    kit.signer.tick();
    expect(kit.show(delayed).state).toBe("approved");
  });

  it("a payment that a recovered ledger kept is known as paid, however the gateway wrote the address", () => {
    const { kit, assigned } = opened();
    const txHash = kit.show(assigned).attempts[0]!.txHash;
    kit.ask("observed", {
      transactionId: assigned,
      stage: "final",
      outcome: "paid",
      txHash,
      block: 9,
    });
    expect(kit.core.policy.paid.entries()).toEqual([
      ["eip155:31337", shop, kit.core.heads.at, "12", "usdt"],
    ]);
  });
});
