/** What the simulator found on the way back from a lock: each a recovery that did not end, or a withdrawal that stood still after one. */
import { describe, expect, it } from "vitest";
import { databaseOf, offer, recovered, shown, taken } from "./support/recovery-order.ts";
import { Rig } from "./support/signer-rig.ts";

describe("after a recovery", () => {
  it("what was seen on its way before is taken again after a person's yes, and moves it on", () => {
    const rig = new Rig().ready();
    const { transactionId, versions } = rig.pay();
    const seen = { transactionId, stage: "broadcast", outcome: "", txHash: versions[0]?.txHash ?? "", block: 0 };
    expect(rig.ask("observed", seen)).toMatchObject({ withdrawal: { state: "broadcast" } });
    rig.acknowledge();
    taken(rig, databaseOf(rig));
    const { approvalDigest: digest } = rig.show(transactionId);
    expect(rig.operate("approve", { transactionId, digest, address: "" })).toMatchObject({ ok: true });
    expect(rig.show(transactionId).state).toBe("released");
    expect(rig.ask("observed", seen)).toMatchObject({ withdrawal: { state: "broadcast" } });
  });

  it("a further one tells each fact once, however often nobody took what was told", () => {
    const rig = new Rig().ready();
    const { transactionId, versions } = rig.pay();
    const contents = { ...databaseOf(rig), held: null, withdrawals: [] };
    const paid = { transactionId, stage: "final", outcome: "paid", txHash: versions[0]?.txHash ?? "", block: 9 };
    expect(rig.ask("observed", paid)).toMatchObject({ ok: true });
    const first = recovered(rig, contents);
    const second = recovered(rig, contents);
    expect(first.restated).toBeGreaterThan(0);
    expect(second.restated).toBe(first.restated);
    offer(rig, contents);
    expect(shown(rig).restated).toBe(first.restated);
  });
});
