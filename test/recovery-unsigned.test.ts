/** A nonce that was bound and never signed, and that a recovery then quarantined: nothing above it is signed before it. */
import { describe, expect, it } from "vitest";
import { MemoryDisk } from "./support/ledger-disk.ts";
import { databaseOf, recovered, restore, taken } from "./support/recovery-order.ts";
import { facts, Rig } from "./support/signer-rig.ts";

/** So many withdrawals bound by one write and none of them signed, when the power went; then a recovery. */
function boundUnsigned(count: number): { readonly rig: Rig; readonly ids: readonly string[] } {
  const rig = new Rig().ready();
  const ids = Array.from({ length: count }, () => rig.request().transactionId);
  rig.acknowledge();
  for (const transactionId of ids) rig.send("sign", { transactionId, facts });
  rig.disk.sync();
  rig.crash(count > 1 ? 900 : 0); // of the second intent all, of the signature behind it a piece
  taken(rig, databaseOf(rig));
  return { rig, ids };
}

function approve(rig: Rig, transactionId: string): boolean {
  return rig.operate("approve", { transactionId, digest: rig.show(transactionId).approvalDigest, address: "" }).ok;
}

function signedIn(rig: Rig): readonly string[] {
  return rig.records().flatMap((record) => (record.kind === "SIGNED" ? [record.transactionId] : []));
}

describe("what a recovery quarantined unsigned", () => {
  it("keeps everything new from being bound above it, and lets it once a person has said yes", () => {
    const { rig, ids } = boundUnsigned(1);
    const [below = ""] = ids;
    expect(rig.show(below)).toMatchObject({ state: "quarantined", nonce: "5", versions: [] });
    const { transactionId } = rig.request();
    expect(approve(rig, transactionId)).toBe(true);
    expect(rig.ask("sign", { transactionId, facts })).toMatchObject({ code: "ACCOUNT_WAITS", detail: `nonce 5 is ${below}'s` });
    expect(rig.show(transactionId)).toMatchObject({ state: "approved", nonce: "" });
    expect(approve(rig, below)).toBe(true);
    expect(rig.ask("sign", { transactionId, facts }).withdrawal).toMatchObject({ state: "signed", nonce: "6" });
    expect(signedIn(rig)).toEqual([below, transactionId]);
  });

  it("lets nothing that was bound above it be signed before it, in whatever order people say yes", () => {
    const { rig, ids } = boundUnsigned(2);
    const [below = "", above = ""] = ids;
    expect(ids.map((id) => rig.show(id))).toMatchObject([
      { state: "quarantined", nonce: "5", versions: [] },
      { state: "quarantined", nonce: "6", versions: [] },
    ]);
    expect(approve(rig, above)).toBe(true);
    expect(rig.ask("sign", { transactionId: above, facts }).code).toBe("ACCOUNT_WAITS");
    rig.crash();
    rig.greet();
    expect(rig.show(above).state).toBe("intent");
    expect(signedIn(rig)).toEqual([]);
    expect(approve(rig, below)).toBe(true);
    expect(signedIn(rig)).toEqual([below, above]);
    expect(rig.acknowledge().withdrawals.map(({ nonce }) => nonce)).toEqual(["5", "6"]);
  });

  it("is no sign of a gateway that went back: it only has not heard of it", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    rig.acknowledge();
    rig.send("sign", { transactionId, facts });
    rig.disk.sync();
    rig.crash(0);
    expect(recovered(rig, databaseOf(rig))).toMatchObject({ isGatewayBehind: true, isOnlyUnheard: true, quarantined: 1 });
  });

  it("keeps nothing waiting when it was signed, or lies above", () => {
    const rig = new Rig().ready();
    const paid = rig.pay();
    recovered(rig, databaseOf(rig));
    rig.greet();
    rig.acknowledge();
    expect(rig.show(paid.transactionId)).toMatchObject({ state: "quarantined", nonce: "5" });
    const { transactionId } = rig.request();
    expect(approve(rig, transactionId)).toBe(true);
    expect(rig.ask("sign", { transactionId, facts }).withdrawal).toMatchObject({ state: "signed", nonce: "6" });
  });

  it("is let go on by a yes also where it was signed and paid since the backup: the very same bytes again, which end as they did", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    rig.send("sign", { transactionId, facts });
    rig.disk.sync();
    const copy = MemoryDisk.of(rig.disk.files);
    rig.acknowledge();
    const txHash = rig.show(transactionId).versions[0]?.txHash ?? "";
    const seen = { transactionId, stage: "final", outcome: "paid", txHash, block: 9 };
    expect(rig.ask("observed", seen).ok).toBe(true);
    rig.acknowledge();
    const contents = databaseOf(rig);
    restore(rig, copy);
    taken(rig, contents);
    expect(rig.show(transactionId)).toMatchObject({ state: "quarantined", nonce: "5", versions: [] });
    expect(rig.ask("observed", seen).code).toBe("WITHDRAWAL_NOT_RELEASED");
    const next = rig.request();
    expect(approve(rig, next.transactionId)).toBe(true);
    expect(rig.ask("sign", { transactionId: next.transactionId, facts }).code).toBe("ACCOUNT_WAITS");
    expect(approve(rig, transactionId)).toBe(true);
    rig.acknowledge();
    expect(rig.ask("observed", seen)).toMatchObject({ withdrawal: { state: "paid" } });
    expect(rig.ask("sign", { transactionId: next.transactionId, facts }).withdrawal).toMatchObject({
      state: "signed",
      nonce: "6",
    });
  });
});
