/** A ledger after its recovery: what is bound stays bound, nothing open is paid by itself, and a person's yes to each lets it go on. */
import { describe, expect, it } from "vitest";
import { approve, assertWhole, locked } from "./support/forgetful-signer.ts";
import { backup, databaseOf, ledgerOf, recovered, restore, taken } from "./support/recovery-order.ts";
import { facts, Rig } from "./support/signer-rig.ts";

function final(txHash: string): object {
  return { stage: "final", outcome: "paid", txHash, block: 9 };
}

describe("after it", () => {
  it("old words of the gateway open nothing, and the stream begins with the recovery", () => {
    const { rig, contents } = locked();
    const ack = rig.gateway.ack(rig.gateway.stored!, { at: rig.now });
    const welcome = rig.gateway.welcome(rig.nonce, { at: rig.now });
    recovered(rig, contents);
    expect(rig.release(ack).code).toBe("ADMISSION_OTHER_EPOCH");
    expect(rig.admit(welcome).code).toBe("ADMISSION_OTHER_EPOCH");
    expect(rig.greet().ok).toBe(true);
    rig.statements.length = 0;
    rig.acknowledge();
    expect(rig.statements[0]).toMatchObject({
      epoch: 2,
      after: 0,
      entries: [
        { kind: "recovered", held: contents.held, sequence: contents.jobs.sequence, jobHash: contents.jobs.hash },
        { kind: "decision" },
        ...[{}, {}],
      ],
    });
    const kinds = ledgerOf(rig).map(({ kind }) => kind);
    const begun = kinds.indexOf("RECOVERING");
    expect(kinds.slice(begun)).toEqual(["RECOVERING", "IMPORTED", "IMPORTED", "IMPORTED", "RECOVERED", "REPORTED"]);
    assertWhole(rig);
  });

  it("whatever place a courier asks from, it hears the recovery from its beginning, or what comes after a place that is kept", () => {
    const { rig, contents } = locked();
    recovered(rig, contents);
    rig.greet();
    const { head } = rig.ask("hello", {});
    const [whole] = rig.ask("report", { after: 0 }).frames;
    expect(whole).toBeDefined();
    let begun = 0;
    for (let after = 1; after <= head.seq + 2; after++) {
      const { ok, frames } = rig.ask("report", { after });
      expect(ok).toBe(true);
      if (frames[0] === whole) begun = after;
    }
    // What was acknowledged before the recovery is not kept.
    expect(begun).toBeGreaterThan(0);
    expect(begun).toBeLessThan(ledgerOf(rig).findIndex(({ kind }) => kind === "RECOVERING") + 1);
  });

  it("a ledger put back to before it meets an echo, or no greeting at all", () => {
    const { rig, contents } = locked();
    const before = backup(rig);
    taken(rig, contents);
    const middle = backup(rig);
    rig.request();
    rig.acknowledge();
    restore(rig, middle);
    expect(rig.greet()).toMatchObject({ code: "SIGNER_LOCKED", detail: "LEDGER_BEHIND_GATEWAY" });
    restore(rig, before);
    expect(rig.greet().code).toBe("ADMISSION_OTHER_EPOCH");
  });

  it("what was bound is only watched until a person says yes, and is never refused, declined or run out", () => {
    const { rig, contents, lost } = locked();
    taken(rig, contents);
    expect(rig.show(lost)).toMatchObject({ state: "quarantined", nonce: "6", code: "RECOVERY_HOLD" });
    expect(rig.show(lost).versions).toMatchObject([{ isOut: true }]);
    expect(rig.ask("sign", { transactionId: lost, facts }).code).toBe("WITHDRAWAL_HELD");
    expect(rig.ask("replace", { transactionId: lost, above: 1, facts }).code).toBe("WITHDRAWAL_HELD");
    expect(rig.ask("decline", { transactionId: lost, code: "CHAIN_WOULD_REVERT" }).code).toBe("WITHDRAWAL_BOUND");
    expect(rig.operate("refuse", { transactionId: lost }).code).toBe("WITHDRAWAL_BOUND");
    rig.now += 2 * 86_400_000;
    rig.greet();
    rig.signer.tick();
    expect(rig.show(lost).state).toBe("quarantined");
    expect(rig.ask("observed", { transactionId: lost, ...final("ab") }).code).toBe("WITHDRAWAL_OTHER_TRANSACTION");
    const { txHash } = rig.show(lost).versions[0]!;
    rig.ask("observed", { transactionId: lost, stage: "included", outcome: "", txHash, block: 9 });
    expect(rig.show(lost).state).toBe("quarantined");
    rig.ask("observed", { transactionId: lost, ...final(txHash) });
    expect(rig.show(lost).state).toBe("paid");
    assertWhole(rig);
  });

  it("a nonce that a foreign transaction used is an alarm while a person decides everything, and a lock once it has ended", () => {
    const { rig, contents, lost, held } = locked();
    taken(rig, contents);
    const lose = (transactionId: string) =>
      rig.ask("observed", { transactionId, stage: "final", outcome: "lost", txHash: "", block: 0 });
    expect(lose(lost).withdrawal.state).toBe("lost");
    expect(ledgerOf(rig).slice(-2)).toMatchObject([{ kind: "ALARM", code: "CHAIN_NONCE_LOST" }, { kind: "OBSERVED" }]);
    expect(rig.core.locked).toBeNull();
    approve(rig, held);
    expect(rig.ask("sign", { transactionId: held, facts }).ok).toBe(true);
    rig.acknowledge();
    expect(rig.operate("finish").ok).toBe(true);
    expect(lose(held).withdrawal.state).toBe("lost");
    expect(rig.core.locked?.code).toBe("CHAIN_NONCE_FOREIGN");
    assertWhole(rig);
  });

  it("a yes to one whose bytes are gone signs anew on its own nonce, and on no other", () => {
    const { rig, contents, lost } = locked();
    taken(rig, contents);
    const { approvalDigest: digest } = rig.show(lost);
    expect(rig.operate("approve", { transactionId: lost, digest: "00".repeat(32), address: "" }).code).toBe("WITHDRAWAL_DIGEST");
    expect(rig.operate("approve", { transactionId: lost, digest, address: "" }).ok).toBe(true);
    expect(rig.show(lost).state).toBe("released");
    expect(rig.ask("sign", { transactionId: lost, facts }).ok).toBe(true);
    expect(ledgerOf(rig).filter(({ kind }) => kind === "INTENT")).toHaveLength(1);
    rig.ask("replace", { transactionId: lost, above: 1, facts });
    const [, second] = rig.show(lost).versions;
    expect(second).not.toHaveProperty("raw");
    expect(rig.acknowledge().withdrawals[0]?.versions[1]).toHaveProperty("raw");
    const intents = ledgerOf(rig).filter((record) => record.kind === "INTENT" && record.transactionId === lost);
    expect(intents).toMatchObject([{ version: 2, nonce: "6" }]);
    // The same facts would make the forgotten bytes again, as another version of theirs.
    expect(second?.txHash).not.toBe(rig.show(lost).versions[0]?.txHash);
    assertWhole(rig);
  });

  it("a yes to one whose bytes are here lets the very same out again", () => {
    const rig = new Rig().ready();
    const { transactionId, versions } = rig.pay();
    taken(rig, databaseOf(rig));
    expect(rig.show(transactionId).versions[0]).not.toHaveProperty("raw");
    approve(rig, transactionId);
    expect(rig.show(transactionId)).toMatchObject({ state: "released", nonce: "5", versions: [{ raw: versions[0]?.raw }] });
    assertWhole(rig);
  });

  it("one signed and never let out waits for the gateway's word again, after the yes", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    const before = { ...databaseOf(rig) };
    rig.ask("sign", { transactionId, facts });
    taken(rig, before);
    expect(rig.show(transactionId)).toMatchObject({ state: "quarantined", nonce: "5" });
    expect(rig.left.size).toBe(0);
    approve(rig, transactionId);
    expect(rig.show(transactionId).state).toBe("signed");
    expect(rig.left.size).toBe(0);
    rig.acknowledge();
    expect(rig.show(transactionId).state).toBe("released");
    expect(rig.left.size).toBe(1);
    assertWhole(rig);
  });

  it("one only intended is signed after the yes as it was recorded", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    const contents = databaseOf(rig);
    rig.send("sign", { transactionId, facts });
    // The intent reaches the disk, the signature does not.
    rig.disk.sync();
    rig.crash();
    taken(rig, contents);
    expect(rig.show(transactionId)).toMatchObject({ state: "quarantined", nonce: "5" });
    approve(rig, transactionId);
    // Nobody has to ask for it: what is bound later has a higher nonce, and would leave first.
    expect(rig.show(transactionId).state).toBe("signed");
    rig.ask("sign", { transactionId, facts: { ...facts, maxFeePerGas: "3000000000" } });
    expect(rig.acknowledge().withdrawals[0]).toMatchObject({ nonce: "5", versions: [{ maxFeePerGas: facts.maxFeePerGas }] });
    assertWhole(rig);
  });

  it("what has no token waits for a fresh yes, and everything new is held until the recovery ends", () => {
    const { rig, contents, held } = locked();
    const head = taken(rig, contents);
    expect(head.seq).toBeGreaterThan(0);
    expect(rig.show(held)).toMatchObject({ state: "held", code: "RECOVERY_HOLD", nonce: "" });
    const fresh = rig.request();
    expect(fresh).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    approve(rig, fresh.transactionId);
    rig.ask("sign", { transactionId: fresh.transactionId, facts });
    expect(rig.show(fresh.transactionId).nonce).toBe("7");
    expect(rig.operate("finish").ok).toBe(true);
    expect(rig.operate("finish").ok).toBe(true);
    expect(rig.operate("status").status.recovery).toBe("");
    expect(rig.request().state).toBe("approved");
    expect(rig.show(held).state).toBe("held");
    expect(ledgerOf(rig).filter(({ kind }) => kind === "RESUMED")).toHaveLength(1);
    assertWhole(rig);
  });

  it("what was issued before its end is held whenever it comes, after a crash as well, and what comes later is policy's", () => {
    const { rig, contents } = locked();
    taken(rig, contents);
    rig.now += 60_000;
    rig.greet();
    rig.acknowledge();
    const endedAt = rig.now;
    expect(rig.operate("finish").ok).toBe(true);
    expect(ledgerOf(rig).at(-1)).toMatchObject({ kind: "RESUMED", issuedBefore: endedAt });
    rig.now += 60_000;
    expect(rig.request({ issuedAt: endedAt - 1 })).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    expect(rig.request({ issuedAt: endedAt }).state).toBe("approved");
    rig.disk.sync();
    rig.crash();
    rig.greet();
    expect(rig.request({ issuedAt: endedAt - 1 })).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    expect(rig.request({ issuedAt: endedAt }).state).toBe("approved");
    assertWhole(rig);
  });

  it("its end is by the later of both clocks, the gateway's last word counted on", () => {
    const { rig, contents } = locked();
    taken(rig, contents);
    const { now } = rig;
    rig.release(rig.gateway.ack(rig.gateway.stored!, { at: now + 30_000 }));
    expect(rig.operate("finish").ok).toBe(true);
    expect(ledgerOf(rig).at(-1)).toMatchObject({ kind: "RESUMED", issuedBefore: now + 30_000 });
  });

  it("its end is not drawn back by a word of the gateway that was long on its way", () => {
    const { rig, contents } = locked();
    taken(rig, contents);
    const ack = rig.gateway.ack(rig.gateway.stored!, { at: rig.now + 60_000 });
    rig.release(rig.gateway.ack(rig.gateway.stored!, { at: rig.now + 30_000 }));
    rig.now += 120_000;
    rig.release(ack);
    expect(rig.operate("finish").ok).toBe(true);
    expect(ledgerOf(rig).at(-1)).toMatchObject({ kind: "RESUMED", issuedBefore: rig.now + 30_000 });
  });

  it("ends only once the gateway has taken it", () => {
    const { rig, contents } = locked();
    recovered(rig, contents);
    expect(rig.operate("finish").code).toBe("SIGNER_NOT_GREETED");
    rig.greet();
    expect(rig.operate("finish").code).toBe("RECOVERY_NOT_TAKEN");
    rig.acknowledge();
    expect(rig.operate("finish").ok).toBe(true);
  });

  it("an order that was here before and comes as a job again is never paid again", () => {
    const { rig, contents, lost } = locked();
    taken(rig, contents);
    const { orderId } = JSON.parse(contents.withdrawals.find(({ token }) => token === "6")!.job) as { orderId: string };
    rig.request({ orderId });
    expect(ledgerOf(rig).at(-1)).toMatchObject({ kind: "REPEATED", transactionId: lost, code: "" });
    expect(rig.show(lost)).toMatchObject({ state: "quarantined", nonce: "6" });
  });
});
