/**
 * A person's cancel, when ledger or gateway are restored to before it: the transaction that used
 * the slot up paid nothing, and nobody takes it for the payment.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AnyAnswer } from "../../lab/rig/signer-rig.ts";
import { backup, restore } from "../support/recovery-order.ts";
import { SignerAndGateway } from "../support/signer-and-gateway.ts";

let both: SignerAndGateway;
beforeEach(() => {
  both = new SignerAndGateway();
});
afterEach(() => both.remove());

const dearer = { gasLimit: "65000", maxFeePerGas: "40000000000", maxPriorityFeePerGas: "20000000000" };
const cancelsOf = (id: string) =>
  both.store.database
    .all<{ cancel: number }>("SELECT cancel FROM signatures WHERE transactionId = ? ORDER BY version", id)
    .map(({ cancel }) => cancel);

function cancel(transactionId: string): void {
  const asked = { transactionId, act: "cancel", facts: { gasLimit: "", maxFeePerGas: "", maxPriorityFeePerGas: "" } };
  const { plan } = both.rig.operate("unstick", { ...asked, plan: null }) as AnyAnswer & { readonly plan: object };
  expect(both.rig.operate("unstick", { ...asked, plan })).toMatchObject({ ok: true });
  both.acknowledge();
}

/** The n-th version is final, as the courier says. */
function ends(transactionId: string, version: number, outcome: "paid" | "cancelled"): AnyAnswer {
  const { txHash = "" } = both.rig.show(transactionId).versions[version - 1] ?? {};
  return both.rig.ask("observed", { transactionId, stage: "final", outcome, txHash, block: 9 });
}

describe("a withdrawal that a person cancelled", () => {
  it("a withdrawal that a person cancelled is cancelled in a ledger restored to before that as well: the order says which version pays nothing", () => {
    const { rig } = both;
    const id = both.pay("one");
    const copy = backup(rig);
    cancel(id);
    expect(cancelsOf(id)).toEqual([0, 1]);
    restore(rig, copy);
    both.connect();
    both.recover();
    expect(rig.show(id).versions).toMatchObject([{ version: 1 }, { version: 2, isCancel: true }]);
    expect(rig.show(id).versions[0]).not.toHaveProperty("isCancel");
    // Nothing that pays follows; a dearer version is one of the cancel.
    expect(rig.ask("replace", { transactionId: id, above: 2, facts: dearer })).toMatchObject({
      withdrawal: { versions: [{ version: 1 }, { version: 2, isCancel: true }, { version: 3, isCancel: true }] },
    });
    both.acknowledge();
    expect(cancelsOf(id)).toEqual([0, 1, 1]);
    expect(ends(id, 2, "paid")).toMatchObject({ ok: false, code: "WITHDRAWAL_OBSERVATION" });
    expect(ends(id, 2, "cancelled")).toMatchObject({ withdrawal: { state: "cancelled" } });
  });

  it("a withdrawal that a person cancelled is paid in a ledger restored to before that, if the payment came first", () => {
    const { rig } = both;
    const id = both.pay("one");
    const copy = backup(rig);
    cancel(id);
    restore(rig, copy);
    both.connect();
    both.recover();
    expect(ends(id, 1, "cancelled")).toMatchObject({ ok: false, code: "WITHDRAWAL_OBSERVATION" });
    expect(ends(id, 1, "paid")).toMatchObject({ withdrawal: { state: "paid" } });
  });

  it("a withdrawal that a person cancelled is told with its cancel to a gateway that went back, which may have to tell it in an order", () => {
    const { rig } = both;
    both.keepDatabase("old");
    const id = both.pay("one");
    const copy = backup(rig);
    cancel(id);
    both.putDatabaseBack("old");
    both.meet();
    expect(cancelsOf(id)).toEqual([0, 1]);
    restore(rig, copy);
    both.connect();
    both.recover();
    // The opened ledger's entries are reported again too, if the gateway has lost them once more.
    both.putDatabaseBack("old");
    both.sayYes(true, rig.core.paired.epoch);
    both.meet();
    both.meet();
    expect(cancelsOf(id)).toEqual([0, 1]);
  });
});
