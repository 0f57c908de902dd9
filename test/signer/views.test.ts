/**
 * The two views of a withdrawal: the operator's names the digest that an approval is bound to, the
 * courier's never does, whatever the courier asks and whatever moved the withdrawal.
 */
import { describe, expect, it } from "vitest";
import { facts, other, Rig, shop } from "../../lab/rig/signer-rig.ts";

/** Fields that only an operator sees. */
const operatorsOwn = ["approvalDigest", "orderId", "tag", "decimal", "requestedAt", "expiresAt", "isCancelling"];

describe("the courier's socket", () => {
  it("the courier's socket never answers a field of the operator's view; the operator's socket does", () => {
    const rig = new Rig().ready();
    const said: unknown[] = [];
    const ask = (verb: string, body: object = {}) => {
      const answer = rig.ask(verb, body);
      said.push(answer);
      return answer;
    };
    const admit = (change: object) => {
      rig.gateway.job(change, rig.now);
      const answer = rig.admit(rig.gateway.jobs([rig.gateway.texts.at(-1)!], { at: rig.now }));
      said.push(answer);
      return answer.withdrawals[0]!.transactionId;
    };
    const held = admit({ currency: "eth", amount: "1.5", mode: "manual", address: shop });
    const refused = admit({ currency: "eth", amount: "1.5", mode: "manual", address: other });
    const paid = admit({});
    const declined = admit({});
    for (const body of [
      { transactionId: paid, facts },
      { transactionId: held, facts },
    ])
      ask("sign", body);
    ask("each", { of: "sign", bodies: [{ transactionId: held, facts }] });
    said.push(rig.acknowledge());
    ask("replace", { transactionId: paid, above: 1, facts });
    ask("decline", { transactionId: declined, code: "CHAIN_WOULD_REVERT" });
    const { txHash } = rig.show(paid).versions[0]!;
    ask("observed", { transactionId: paid, stage: "included", outcome: "", txHash, block: 7 });
    const digest = rig.show(held).approvalDigest;
    rig.operate("refuse", { transactionId: refused });
    const approved = rig.operate("approve", { transactionId: held, digest, address: "" });
    const view = ask("hello").open.find(({ transactionId }) => transactionId === held);
    ask("report", { after: 0 });
    const heard = JSON.stringify([...said, rig.pushes]);

    expect([view?.state, rig.pushes.some(({ push }) => push === "changed")]).toEqual(["approved", true]);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(heard).not.toContain(digest);
    expect(operatorsOwn.filter((field) => heard.includes(`"${field}"`))).toEqual([]);

    const shown = JSON.stringify([approved, rig.operate("list", { openOnly: false, limit: 9 }), rig.show(refused)]);
    expect(operatorsOwn.filter((field) => !shown.includes(`"${field}"`))).toEqual(["isCancelling"]);
    const again = rig.request({ currency: "eth", amount: "1.5", mode: "manual" });
    expect(JSON.stringify(rig.operate("show", { transactionId: again.transactionId }))).toContain(again.approvalDigest);
    expect(again.approvalDigest).toMatch(/^[0-9a-f]{64}$/);
  });
});
