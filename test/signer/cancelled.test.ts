/**
 * An operator's cancel, when ledger or gateway are restored to before it: the transaction that used
 * the slot up paid nothing, and nobody takes it for the payment.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AnyAnswer } from "../../lab/kit/signer-kit.ts";
import { backup, restore } from "../support/recovery-offer.ts";
import { SignerAndGateway } from "../support/signer-and-gateway.ts";

let both: SignerAndGateway;
beforeEach(() => {
  both = new SignerAndGateway();
});
afterEach(() => both.remove());

const higher = {
  gasLimit: "65000",
  maxFeePerGas: "40000000000",
  maxPriorityFeePerGas: "20000000000",
};
const cancelsOf = (id: string) =>
  both.store.database
    .all<{ cancel: number }>(
      "SELECT cancel FROM signatures WHERE transactionId = ? ORDER BY attempt",
      id,
    )
    .map(({ cancel }) => cancel);

function cancel(transactionId: string): void {
  const asked = {
    transactionId,
    act: "cancel",
    txParams: { gasLimit: "", maxFeePerGas: "", maxPriorityFeePerGas: "" },
  };
  const { plan } = both.kit.operate("manualReplacement", { ...asked, plan: null }) as AnyAnswer & {
    readonly plan: object;
  };
  expect(both.kit.operate("manualReplacement", { ...asked, plan })).toMatchObject({ ok: true });
  both.acknowledge();
}

/** The n-th attempt is final, as the courier says. */
function ends(transactionId: string, attempt: number, outcome: "paid" | "cancelled"): AnyAnswer {
  const { txHash = "" } = both.kit.show(transactionId).attempts[attempt - 1] ?? {};
  return both.kit.ask("observed", { transactionId, stage: "final", outcome, txHash, block: 9 });
}

describe("a withdrawal that an operator cancelled", () => {
  it("is cancelled in a ledger restored to before that as well: the order says which attempt pays nothing", () => {
    const { kit } = both;
    const id = both.pay("one");
    const copy = backup(kit);
    cancel(id);
    expect(cancelsOf(id)).toEqual([0, 1]);
    restore(kit, copy);
    both.connect();
    both.recover();
    expect(kit.show(id).attempts).toMatchObject([{ attempt: 1 }, { attempt: 2, isCancel: true }]);
    expect(kit.show(id).attempts[0]).not.toHaveProperty("isCancel");
    // Nothing that pays follows; a replacement with a higher fee is one of the cancel.
    expect(kit.ask("replace", { transactionId: id, above: 2, txParams: higher })).toMatchObject({
      withdrawal: {
        attempts: [{ attempt: 1 }, { attempt: 2, isCancel: true }, { attempt: 3, isCancel: true }],
      },
    });
    both.acknowledge();
    expect(cancelsOf(id)).toEqual([0, 1, 1]);
    expect(ends(id, 2, "paid")).toMatchObject({ ok: false, code: "WITHDRAWAL_OBSERVATION" });
    expect(ends(id, 2, "cancelled")).toMatchObject({ withdrawal: { state: "cancelled" } });
  });

  it("is paid in a ledger restored to before that, if the payment came first", () => {
    const { kit } = both;
    const id = both.pay("one");
    const copy = backup(kit);
    cancel(id);
    restore(kit, copy);
    both.connect();
    both.recover();
    expect(ends(id, 1, "cancelled")).toMatchObject({ ok: false, code: "WITHDRAWAL_OBSERVATION" });
    expect(ends(id, 1, "paid")).toMatchObject({ withdrawal: { state: "paid" } });
  });

  it("is told with its cancel to a gateway that was rolled back, which may have to tell it in an order", () => {
    const { kit } = both;
    both.keepDatabase("old");
    const id = both.pay("one");
    const copy = backup(kit);
    cancel(id);
    both.putDatabaseBack("old");
    both.meet();
    expect(cancelsOf(id)).toEqual([0, 1]);
    restore(kit, copy);
    both.connect();
    both.recover();
    // The recovered ledger's entries are reported again too, if the gateway has lost them once
    // more.
    both.putDatabaseBack("old");
    both.sayYes(true, kit.core.paired.ledgerEpoch);
    both.meet();
    both.meet();
    expect(cancelsOf(id)).toEqual([0, 1]);
  });
});
