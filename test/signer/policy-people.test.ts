/** Amounts for two people, and the names that people decide under. */
import { describe, expect, it } from "vitest";
import { other, Rig, shop } from "../../lab/rig/signer-rig.ts";
import { approve, minuteMs, outcome, request, settingsWith, withPolicy } from "../support/policy-rig.ts";

describe("an amount for two people", () => {
  const two = { twoApproversAbove: "10" } as const;

  it("an amount for two people is held above the limit and not at it", () => {
    const rig = withPolicy(two);
    expect(outcome(rig, "10")).toBe("approved");
    expect(outcome(rig, "10.000001")).toBe("held POLICY_TWO_APPROVERS");
    expect(outcome(rig, "10", { mode: "manual" })).toBe("held POLICY_MANUAL");
  });

  it("an amount for two people is paid by two names, and by no one name twice, however it is written", () => {
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

  it("an amount for two people needs one name alone up to the limit, whatever holds it", () => {
    const rig = withPolicy({ ...two, holdAbove: "1" });
    const { transactionId } = request(rig, "10");
    expect(approve(rig, transactionId).withdrawal.state).toBe("approved");
    const large = request(rig, "11");
    expect(large.code).toBe("POLICY_HOLD_ABOVE");
    expect(approve(rig, large.transactionId).withdrawal.code).toBe("POLICY_CONFIRMED");
  });

  it("an amount for two people ends with the no of anybody, and meets every limit at both yeses", () => {
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

  it("an amount for two people goes where the first one said, when it has no address of its own", () => {
    const rig = withPolicy(two);
    const { transactionId } = request(rig, "11", { mode: "manual", address: "" });
    expect(approve(rig, transactionId, "ann").code).toBe("WITHDRAWAL_NEEDS_ADDRESS");
    expect(approve(rig, transactionId, "ann", other.toLowerCase()).wait?.confirmed?.address).toBe(other);
    expect(approve(rig, transactionId, "bob", shop).code).toBe("WITHDRAWAL_HAS_ADDRESS");
    expect(rig.show(transactionId).address).toBe("");
    expect(approve(rig, transactionId, "bob").withdrawal).toMatchObject({ state: "approved", address: other });
  });

  it("an amount for two people is confirmed by what both saw: another table of decimals voids the first yes", () => {
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

  it.each([["a".repeat(64)], ["ann.of-the/shop@example"]])("a name of an approver may be %s", (name) =>
    expect(named(name).ok).toBe(true),
  );

  it.each([[""], ["a".repeat(65)], ["ann b"], ["änn"], ["a\u0007"], [7], [null]])("a name of an approver may not be %j", (name) =>
    expect(named(name).code).toBe("JSON_SHAPE"),
  );

  it("a name is wanted of everybody, for a no as well", () => {
    const rig = withPolicy({});
    const { transactionId } = request(rig, "1", { mode: "manual" });
    expect(rig.operate("refuse", { transactionId, approver: undefined }).code).toBe("JSON_SHAPE");
    expect(rig.operate("refuse", { transactionId, approver: "bob" }).ok).toBe(true);
  });

  it("a name never leaves for the gateway", () => {
    const rig = withPolicy({ twoApproversAbove: "1" });
    const { transactionId } = request(rig, "2");
    for (const name of ["ann-at-the-shop", "bob-at-the-shop"]) approve(rig, transactionId, name);
    rig.hear();
    const said = JSON.stringify(rig.statements);
    expect(said).toContain("approved");
    expect(said).not.toContain("at-the-shop");
  });
});
