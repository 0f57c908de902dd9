/**
 * The events that end or free a withdrawal that is not bound: a person's yes or no, a decline of
 * the courier, and time.
 */
import { describe, expect, it } from "vitest";
import { facts, hot, other, Rig, shop } from "../../lab/rig/signer-rig.ts";

describe("decisions of a person", () => {
  const held = (change: object = {}) => {
    const rig = new Rig().ready();
    return { rig, view: rig.request({ currency: "eth", amount: "1.5", mode: "manual", ...change }) };
  };
  const approve = (rig: Rig, transactionId: string, digest: string, address = "") =>
    rig.operate("approve", { transactionId, digest, address });

  it("decisions of a person name what was seen, and nothing else", () => {
    const { rig, view } = held();
    const { view: another } = held({ amount: "1.6" });
    expect(approve(rig, view.transactionId, another.approvalDigest).code).toBe("WITHDRAWAL_DIGEST");
    expect(approve(rig, view.transactionId, view.approvalDigest, other).code).toBe("WITHDRAWAL_HAS_ADDRESS");
    expect(approve(rig, view.transactionId, view.approvalDigest).withdrawal).toMatchObject({ state: "approved", address: shop });
    expect(approve(rig, view.transactionId, view.approvalDigest).ok).toBe(true);
    expect(rig.kinds().filter((kind) => kind === "APPROVED")).toHaveLength(1);
  });

  it("decisions of a person may name the destination where there is none", () => {
    const { rig, view } = held({ address: "" });
    expect(view.address).toBe("");
    expect(approve(rig, view.transactionId, view.approvalDigest).code).toBe("WITHDRAWAL_NEEDS_ADDRESS");
    expect(approve(rig, view.transactionId, view.approvalDigest, "nowhere").code).toBe("ADDRESS_FORMAT");
    expect(approve(rig, view.transactionId, view.approvalDigest, hot).code).toBe("POLICY_DENIED_OWN");
    const done = approve(rig, view.transactionId, view.approvalDigest, other.toLowerCase());
    expect(done.withdrawal).toMatchObject({ state: "approved", address: other });
    expect(approve(rig, view.transactionId, view.approvalDigest, shop).code).toBe("WITHDRAWAL_NOT_HELD");
  });

  it("decisions of a person refuse what is held or approved, and not what is bound", () => {
    const { rig, view } = held();
    expect(rig.operate("refuse", { transactionId: view.transactionId }).withdrawal).toMatchObject({
      state: "refused",
      code: "OPERATOR_REFUSED",
    });
    expect(rig.operate("refuse", { transactionId: view.transactionId }).ok).toBe(true);
    expect(approve(rig, view.transactionId, view.approvalDigest).code).toBe("WITHDRAWAL_NOT_HELD");
    const { transactionId } = rig.request();
    rig.ask("sign", { transactionId, facts });
    expect(rig.operate("refuse", { transactionId }).code).toBe("WITHDRAWAL_BOUND");
  });

  it("decisions of a person that say nothing was signed wait for the greeting, since a restored ledger may not know", () => {
    const { rig, view } = held();
    const { transactionId } = rig.request({ expiresAt: rig.now + 5 });
    rig.start();
    rig.now += 6;
    rig.signer.tick();
    expect(rig.operate("refuse", { transactionId: view.transactionId }).code).toBe("SIGNER_NOT_GREETED");
    expect(rig.ask("decline", { transactionId, code: "CHAIN_WOULD_REVERT" }).code).toBe("SIGNER_NOT_GREETED");
    expect(rig.show(transactionId).state).toBe("approved");
    rig.greet();
    rig.signer.tick();
    expect(rig.show(transactionId)).toMatchObject({ state: "expired", code: "JOB_EXPIRED" });
  });

  it("decisions of a person come too late when the time is up", () => {
    const { rig, view } = held();
    rig.now = view.expiresAt;
    rig.signer.tick();
    expect(rig.show(view.transactionId).state).toBe("held");
    rig.now += 1;
    expect(approve(rig, view.transactionId, view.approvalDigest).code).toBe("JOB_EXPIRED");
    rig.signer.tick();
    expect(rig.show(view.transactionId).state).toBe("expired");
  });
});

describe("a decline", () => {
  it("a decline ends what is approved, with a reason of the table, and never what is bound or held", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    expect(rig.ask("decline", { transactionId, code: "NO_SUCH_REASON" }).code).toBe("WITHDRAWAL_OBSERVATION");
    expect(rig.ask("decline", { transactionId, code: "toString" }).code).toBe("WITHDRAWAL_OBSERVATION");
    expect(rig.ask("decline", { transactionId, code: "CHAIN_WOULD_REVERT" }).withdrawal.state).toBe("refused");
    expect(rig.ask("decline", { transactionId, code: "CHAIN_WOULD_REVERT" }).ok).toBe(true);
    expect(rig.ask("sign", { transactionId, facts }).code).toBe("WITHDRAWAL_CLOSED");
    const manual = rig.request({ mode: "manual" }).transactionId;
    expect(rig.ask("decline", { transactionId: manual, code: "CHAIN_WOULD_REVERT" }).code).toBe("WITHDRAWAL_HELD");
  });
});

describe("a withdrawal that ran out", () => {
  it("a withdrawal that ran out is not signed even before the clock's next tick", () => {
    const rig = new Rig().ready();
    const { transactionId, expiresAt } = rig.request();
    const late = rig.request();
    rig.now = expiresAt;
    expect(rig.ask("sign", { transactionId, facts }).ok).toBe(true);
    rig.now += 1;
    expect(rig.ask("sign", { transactionId: late.transactionId, facts }).code).toBe("JOB_EXPIRED");
    expect(rig.show(late.transactionId).state).toBe("expired");
    expect(rig.pushes).toContainEqual(expect.objectContaining({ withdrawal: expect.objectContaining({ state: "expired" }) }));
    rig.signer.tick();
    expect(rig.show(transactionId).state).toBe("signed");
  });
});
