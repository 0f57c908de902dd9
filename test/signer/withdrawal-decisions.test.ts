/**
 * The events that end or free a withdrawal that is not bound: an operator's yes or no, a decline of
 * the courier, and time.
 */
import { describe, expect, it } from "vitest";
import { hotWallet, Kit, other, shop, txParams } from "../../lab/kit/signer-kit.ts";

describe("decisions of an operator", () => {
  const held = (change: object = {}) => {
    const kit = new Kit().ready();
    return {
      kit,
      view: kit.request({ currency: "eth", amount: "1.5", mode: "manual", ...change }),
    };
  };
  const approve = (kit: Kit, transactionId: string, digest: string, address = "") =>
    kit.operate("approve", { transactionId, digest, address });

  it("name what was seen, and nothing else", () => {
    const { kit, view } = held();
    const { view: another } = held({ amount: "1.6" });
    expect(approve(kit, view.transactionId, another.approvalDigest).code).toBe("WITHDRAWAL_DIGEST");
    expect(approve(kit, view.transactionId, view.approvalDigest, other).code).toBe(
      "WITHDRAWAL_HAS_ADDRESS",
    );
    expect(approve(kit, view.transactionId, view.approvalDigest).withdrawal).toMatchObject({
      state: "approved",
      address: shop,
    });
    expect(approve(kit, view.transactionId, view.approvalDigest).ok).toBe(true);
    expect(kit.kinds().filter((kind) => kind === "APPROVED")).toHaveLength(1);
  });

  it("may name the destination where there is none", () => {
    const { kit, view } = held({ address: "" });
    expect(view.address).toBe("");
    expect(approve(kit, view.transactionId, view.approvalDigest).code).toBe(
      "WITHDRAWAL_NEEDS_ADDRESS",
    );
    expect(approve(kit, view.transactionId, view.approvalDigest, "nowhere").code).toBe(
      "ADDRESS_FORMAT",
    );
    expect(approve(kit, view.transactionId, view.approvalDigest, hotWallet).code).toBe(
      "POLICY_DENIED_OWN",
    );
    const done = approve(kit, view.transactionId, view.approvalDigest, other.toLowerCase());
    expect(done.withdrawal).toMatchObject({ state: "approved", address: other });
    expect(approve(kit, view.transactionId, view.approvalDigest, shop).code).toBe(
      "WITHDRAWAL_NOT_HELD",
    );
  });

  it("refuse what is held or approved, and not what is bound", () => {
    const { kit, view } = held();
    expect(kit.operate("refuse", { transactionId: view.transactionId }).withdrawal).toMatchObject({
      state: "refused",
      code: "OPERATOR_REFUSED",
    });
    expect(kit.operate("refuse", { transactionId: view.transactionId }).ok).toBe(true);
    expect(approve(kit, view.transactionId, view.approvalDigest).code).toBe("WITHDRAWAL_NOT_HELD");
    const { transactionId } = kit.request();
    kit.ask("sign", { transactionId, txParams });
    expect(kit.operate("refuse", { transactionId }).code).toBe("WITHDRAWAL_HAS_SLOT");
  });

  it("that say nothing was signed wait for the handshake, since a restored ledger may not know", () => {
    const { kit, view } = held();
    const { transactionId } = kit.request({ expiresAt: kit.now + 5 });
    kit.start();
    kit.now += 6;
    kit.signer.tick();
    expect(kit.operate("refuse", { transactionId: view.transactionId }).code).toBe(
      "SIGNER_NO_HANDSHAKE",
    );
    expect(kit.ask("decline", { transactionId, code: "CHAIN_WOULD_REVERT" }).code).toBe(
      "SIGNER_NO_HANDSHAKE",
    );
    expect(kit.show(transactionId).state).toBe("approved");
    kit.handshake();
    kit.signer.tick();
    expect(kit.show(transactionId)).toMatchObject({ state: "expired", code: "JOB_EXPIRED" });
  });

  it("come too late when the time is up", () => {
    const { kit, view } = held();
    kit.now = view.expiresAt;
    kit.signer.tick();
    expect(kit.show(view.transactionId).state).toBe("held");
    kit.now += 1;
    expect(approve(kit, view.transactionId, view.approvalDigest).code).toBe("JOB_EXPIRED");
    kit.signer.tick();
    expect(kit.show(view.transactionId).state).toBe("expired");
  });
});

describe("a decline", () => {
  it("ends what is approved, with a reason of the table, and never what is bound or held", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    expect(kit.ask("decline", { transactionId, code: "NO_SUCH_REASON" }).code).toBe(
      "WITHDRAWAL_OBSERVATION",
    );
    expect(kit.ask("decline", { transactionId, code: "toString" }).code).toBe(
      "WITHDRAWAL_OBSERVATION",
    );
    expect(kit.ask("decline", { transactionId, code: "CHAIN_WOULD_REVERT" }).withdrawal.state).toBe(
      "refused",
    );
    expect(kit.ask("decline", { transactionId, code: "CHAIN_WOULD_REVERT" }).ok).toBe(true);
    expect(kit.ask("sign", { transactionId, txParams }).code).toBe("WITHDRAWAL_CLOSED");
    const manual = kit.request({ mode: "manual" }).transactionId;
    expect(kit.ask("decline", { transactionId: manual, code: "CHAIN_WOULD_REVERT" }).code).toBe(
      "WITHDRAWAL_HELD",
    );
  });
});

describe("a withdrawal that ran out", () => {
  it("is not signed even before the clock's next tick", () => {
    const kit = new Kit().ready();
    const { transactionId, expiresAt } = kit.request();
    const late = kit.request();
    kit.now = expiresAt;
    expect(kit.ask("sign", { transactionId, txParams }).ok).toBe(true);
    kit.now += 1;
    expect(kit.ask("sign", { transactionId: late.transactionId, txParams }).code).toBe(
      "JOB_EXPIRED",
    );
    expect(kit.show(late.transactionId).state).toBe("expired");
    expect(kit.pushes).toContainEqual(
      expect.objectContaining({ withdrawal: expect.objectContaining({ state: "expired" }) }),
    );
    kit.signer.tick();
    expect(kit.show(transactionId).state).toBe("signed");
  });
});
