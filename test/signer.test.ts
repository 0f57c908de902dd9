/** The signer as a whole, driven over its verbs on a disk in memory with real keys. */
import { Transaction } from "ethers";
import { describe, expect, it } from "vitest";
import { facts, hot, Rig, shop, token } from "./support/signer-rig.ts";

describe("the way of one withdrawal", () => {
  it("goes from job to released bytes, each step durable before the next", () => {
    const rig = new Rig().ready();
    const asked = rig.request();
    expect(asked).toMatchObject({ state: "approved", amountUnits: "1500000", address: shop, nonce: "", versions: [] });
    const { withdrawal: signed } = rig.ask("sign", { transactionId: asked.transactionId, facts });
    expect(signed).toMatchObject({ state: "signed", nonce: "5", account: hot });
    expect(signed.versions).toHaveLength(1);
    expect(signed.versions[0].raw).toBeUndefined();
    expect(rig.left.size).toBe(0);
    const [released] = rig.acknowledge().withdrawals;
    expect(released.state).toBe("released");
    const transaction = Transaction.from(released.versions[0].raw);
    expect(transaction).toMatchObject({
      from: hot,
      to: token,
      nonce: 5,
      chainId: 31337n,
      value: 0n,
      hash: signed.versions[0].txHash,
    });
    expect(transaction.data).toBe(
      `0xa9059cbb${shop.slice(2).toLowerCase().padStart(64, "0")}${1_500_000n.toString(16).padStart(64, "0")}`,
    );
    const { transactionId } = asked;
    const { txHash } = signed.versions[0];
    for (const [stage, outcome, block] of [
      ["broadcast", "", 0],
      ["included", "", 7],
      ["final", "paid", 7],
    ] as const) {
      rig.ask("observed", { transactionId, stage, outcome, txHash, block });
    }
    expect(rig.show(transactionId).state).toBe("paid");
    rig.acknowledge();
    expect(rig.show(transactionId)).toMatchObject({ state: "paid", versions: [{ txHash }] });
    expect(rig.core.book.openCount).toBe(0);
    expect(rig.kinds()).toEqual(
      "PAIRED ADOPTED REQUESTED APPROVED INTENT SIGNED RELEASED OBSERVED OBSERVED OBSERVED REPORTED".split(" "),
    );
  });
});
