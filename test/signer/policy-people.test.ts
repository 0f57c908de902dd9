/** Amounts for two operators, and the names that operators decide under. */
import { describe, expect, it } from "vitest";
import { Kit, other, shop } from "../../lab/kit/signer-kit.ts";
import {
  approve,
  minuteMs,
  outcome,
  request,
  settingsWith,
  withPolicy,
} from "../support/policy-kit.ts";

describe("an amount for two operators", () => {
  const two = { twoApproversAbove: "10" } as const;

  it("is held above the limit and not at it", () => {
    const kit = withPolicy(two);
    expect(outcome(kit, "10")).toBe("approved");
    expect(outcome(kit, "10.000001")).toBe("held POLICY_TWO_APPROVERS");
    expect(outcome(kit, "10", { mode: "manual" })).toBe("held POLICY_MANUAL");
  });

  it("is paid by two names, and by no one name twice, however it is written", () => {
    const kit = withPolicy(two);
    const { transactionId } = request(kit, "11");
    expect(kit.operate("show", { transactionId }).wait).toMatchObject({
      needsTwo: true,
      confirmed: null,
    });
    for (const name of ["ann", "ann", "ANN"]) {
      const answer = approve(kit, transactionId, name);
      expect(answer).toMatchObject({
        ok: true,
        withdrawal: { state: "held", code: "POLICY_CONFIRMED" },
      });
      expect(answer.wait?.confirmed).toMatchObject({ approver: "ann", address: shop });
    }
    expect(kit.kinds().filter((kind) => kind === "CONFIRMED")).toHaveLength(1);
    expect(approve(kit, transactionId, "bob").withdrawal.state).toBe("approved");
    const details = kit.operate("show", { transactionId }).history.map(({ detail }) => detail);
    expect(details.slice(-2)).toEqual([
      `the first yes of two, by ann (claimed: the socket does not prove names), to ${shop}`,
      `by bob (claimed: the socket does not prove names): 11000000 base units to ${shop} on eip155:31337`,
    ]);
  });

  it("needs one name alone up to the limit, whatever holds it", () => {
    const kit = withPolicy({ ...two, holdAbove: "1" });
    const { transactionId } = request(kit, "10");
    expect(approve(kit, transactionId).withdrawal.state).toBe("approved");
    const large = request(kit, "11");
    expect(large.code).toBe("POLICY_HOLD_ABOVE");
    expect(approve(kit, large.transactionId).withdrawal.code).toBe("POLICY_CONFIRMED");
  });

  it("ends with the no of anybody, and meets every limit at both yeses", () => {
    const kit = withPolicy({ ...two, maxPerDay: "20" });
    const [first, second] = [request(kit, "11"), request(kit, "11")];
    for (const { transactionId } of [first, second]) approve(kit, transactionId, "ann");
    expect(approve(kit, first.transactionId, "bob").withdrawal.state).toBe("approved");
    expect(approve(kit, second.transactionId, "bob").code).toBe("POLICY_ABOVE_DAY");
    expect(
      kit.operate("refuse", { transactionId: second.transactionId, approver: "ann" }).withdrawal
        .state,
    ).toBe("refused");
    expect(
      kit.operate("show", { transactionId: second.transactionId }).history.at(-1)?.detail,
    ).toBe("by ann (claimed: the socket does not prove names): OPERATOR_REFUSED");
    const third = request(kit, "12");
    expect(approve(kit, third.transactionId, "ann").code).toBe("POLICY_ABOVE_DAY");
    expect(kit.kinds().filter((kind) => kind === "CONFIRMED")).toHaveLength(2);
  });

  it("goes where the first one said, when it has no address of its own", () => {
    const kit = withPolicy(two);
    const { transactionId } = request(kit, "11", { mode: "manual", address: "" });
    expect(approve(kit, transactionId, "ann").code).toBe("WITHDRAWAL_NEEDS_ADDRESS");
    expect(approve(kit, transactionId, "ann", other.toLowerCase()).wait?.confirmed?.address).toBe(
      other,
    );
    expect(approve(kit, transactionId, "bob", shop).code).toBe("WITHDRAWAL_HAS_ADDRESS");
    expect(kit.show(transactionId).address).toBe("");
    expect(approve(kit, transactionId, "bob").withdrawal).toMatchObject({
      state: "approved",
      address: other,
    });
  });

  it("is confirmed by what both saw: another table of decimals voids the first yes", () => {
    const kit = withPolicy(two);
    const { transactionId } = request(kit, "11");
    approve(kit, transactionId, "ann");
    kit.settle();
    const edited = settingsWith(two);
    const again = new Kit({
      ...{ found: kit.disk, gatewayKey: kit.gateway.key },
      settings: {
        ...edited,
        currencies: { ...edited.currencies, usdt: { ...edited.currencies.usdt!, decimal: 7 } },
      },
    });
    Object.assign(again.gateway, { stored: kit.gateway.stored, last: kit.gateway.last });
    again.handshake();
    expect(again.operate("show", { transactionId }).wait?.confirmed).toBeNull();
    expect(approve(again, transactionId, "bob").withdrawal.state).toBe("held");
    expect(approve(again, transactionId, "ann").withdrawal.state).toBe("approved");
  });

  it("outlasts a crash after the first yes, and expires like any other", () => {
    const kit = withPolicy(two);
    const [kept, late] = [
      request(kit, "11"),
      request(kit, "11", { expiresAt: kit.now + minuteMs }),
    ];
    for (const { transactionId } of [kept, late]) approve(kit, transactionId, "ann");
    kit.crash();
    expect(approve(kit, kept.transactionId, "bob").code).toBe("SIGNER_NO_HANDSHAKE");
    kit.handshake();
    kit.now += minuteMs + 1;
    kit.signer.tick();
    expect(kit.show(late.transactionId).state).toBe("expired");
    expect(approve(kit, kept.transactionId, "bob").withdrawal.state).toBe("approved");
  });
});

describe("a name", () => {
  const named = (approver: unknown) => {
    const kit = withPolicy({});
    const { transactionId, approvalDigest: digest } = request(kit, "1", { mode: "manual" });
    return kit.operate("approve", { transactionId, digest, address: "", approver });
  };

  it.each([["a".repeat(64)], ["ann.of-the/shop@example"]])("of an approver may be %s", (name) =>
    expect(named(name).ok).toBe(true),
  );

  it.each([[""], ["a".repeat(65)], ["ann b"], ["änn"], ["a\u0007"], [7], [null]])(
    "of an approver may not be %j",
    (name) => expect(named(name).code).toBe("JSON_SHAPE"),
  );

  it("is wanted of everybody, for a no as well", () => {
    const kit = withPolicy({});
    const { transactionId } = request(kit, "1", { mode: "manual" });
    expect(kit.operate("refuse", { transactionId, approver: undefined }).code).toBe("JSON_SHAPE");
    expect(kit.operate("refuse", { transactionId, approver: "bob" }).ok).toBe(true);
  });

  it("never leaves for the gateway", () => {
    const kit = withPolicy({ twoApproversAbove: "1" });
    const { transactionId } = request(kit, "2");
    for (const name of ["ann-at-the-shop", "bob-at-the-shop"]) approve(kit, transactionId, name);
    kit.receive();
    const said = JSON.stringify(kit.statements);
    expect(said).toContain("approved");
    expect(said).not.toContain("at-the-shop");
  });
});
