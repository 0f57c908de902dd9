/**
 * The two words on a version last: over a restart, a checkpoint and a ledger that the gateway's
 * order opened. No account gives one stamp twice, even after a restore from a backup.
 */
import { describe, expect, it } from "vitest";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import { backup, type Contents, databaseOf, offer, recovered, restore } from "../support/recovery-order.ts";
import { network, offerAt, payer, receiver, type WaitingRig, waitingRig, waitingSettings } from "../support/waiting-rig.ts";

function deadOf(rig: WaitingRig, id: string): readonly unknown[] {
  return rig.show(id).versions.map(({ dead }) => dead);
}

/**
 * The order opens the ledger, and the greeting follows: policy has judged the kept withdrawals
 * again, and the gateway has called the same versions dead again.
 */
function opened(rig: WaitingRig, contents: Contents): void {
  recovered(rig, contents);
  rig.now += 1;
  rig.greet();
  rig.acknowledge();
  expect(rig.ask("hello")).toMatchObject({ greeted: true, locked: "" });
  rig.acknowledge();
}

function stampsOf(records: readonly LedgerRecord[]): readonly bigint[] {
  return records.flatMap((record) => (record.kind === "INTENT" ? [BigInt(record.facts.timestampMs!)] : []));
}

describe("a word that a version is dead", () => {
  it.each(["gateway", "courier"] as const)(
    "a word by the %s that a version is dead lasts over a crash, and the other one completes it",
    (by) => {
      const rig = waitingRig();
      const id = rig.payout();
      if (by === "gateway") rig.gatewaySays(id);
      else rig.courierSays(id);
      rig.crash();
      rig.greet();
      expect(deadOf(rig, id)).toEqual([by]);
      expect(rig.next(id).code).toBe("WITHDRAWAL_ALIVE");
      if (by === "gateway") rig.courierSays(id);
      else rig.gatewaySays(id);
      rig.crash();
      rig.greet();
      expect(deadOf(rig, id)).toEqual(["both"]);
      // The gateway's database may have gone back: another run's word counts for nothing.
      expect(rig.next(id).code).toBe("WITHDRAWAL_ALIVE");
      rig.gatewaySays(id);
      expect(rig.next(id).ok).toBe(true);
      expect(rig.kinds().filter((kind) => kind === "DEAD")).toHaveLength(1);
    },
  );

  it("a word that a version is dead lasts over checkpoints, with a person's word and the account's last stamp", () => {
    const rig = waitingRig({ segmentBytesMax: 500 });
    const [dead, cancelled] = [rig.payout(), rig.payout()];
    rig.callDead(dead);
    rig.gatewaySays(cancelled);
    rig.order("cancel", cancelled);
    const last = rig.core.accounts.find(network, payer)!.lastStamp;
    for (let times = 0; times < 3; times++) {
      rig.signer.tick();
      rig.settle();
      rig.request({ network, address: receiver });
    }
    expect(rig.kinds().filter((kind) => kind === "CHECKPOINT").length).toBeGreaterThan(1);
    rig.crash();
    rig.greet();
    expect(rig.core.accounts.find(network, payer)).toMatchObject({ lastStamp: last, next: "2" });
    expect([deadOf(rig, dead), deadOf(rig, cancelled)]).toEqual([["both"], ["gateway"]]);
    expect(rig.next(cancelled).code).toBe("WITHDRAWAL_CANCELLING");
    for (const id of [dead, cancelled]) rig.gatewaySays(id);
    expect(rig.next(dead).ok).toBe(true);
    rig.courierSays(cancelled);
    rig.signer.tick();
    expect(rig.show(cancelled).state).toBe("expired");
  });

  it("a word that a version is dead lasts in a ledger that an order opened, where the other word is still needed", () => {
    const rig = waitingRig();
    const [half, whole] = [rig.payout(), rig.payout()];
    rig.gatewaySays(half);
    rig.callDead(whole);
    opened(rig, databaseOf(rig));
    for (const id of [half, whole]) expect(rig.show(id).state).toBe("released");
    expect([deadOf(rig, half), deadOf(rig, whole)]).toEqual([["gateway"], ["both"]]);
    expect(rig.next(half).code).toBe("WITHDRAWAL_ALIVE");
    expect(rig.next(whole).ok).toBe(true);
    rig.courierSays(half);
    expect(rig.next(half).ok).toBe(true);
  });
});

describe("a ledger that forgot a version that ends by waiting", () => {
  it("a ledger that forgot a version that ends by waiting learns of it by the order, with its end, and gives no stamp up to there again", () => {
    const rig = waitingRig();
    const before = backup(rig);
    const id = rig.payout();
    const { txHash, until } = rig.show(id).versions[0]!;
    const contents = databaseOf(rig);
    const job = { network, address: receiver };
    restore(rig, before);
    opened(rig, contents);
    expect(rig.show(id).versions).toMatchObject([{ txHash, until, facts: null, isOut: true }]);
    expect(rig.core.accounts.find(network, payer)).toMatchObject({ lastStamp: BigInt(until!), next: "1" });
    expect(rig.next(id).code).toBe("WITHDRAWAL_ALIVE");
    const { transactionId } = rig.request({ ...job, orderId: "anew" });
    expect(rig.ask("sign", { transactionId, facts: offerAt(rig.now) }).ok).toBe(true);
    expect(stampsOf(rig.records()).every((stamp) => stamp > BigInt(until!))).toBe(true);
    // The bytes are gone; the hash is called dead by both, and only then another version pays.
    rig.callDead(id);
    expect(rig.next(id).ok).toBe(true);
    expect(rig.show(id).slot).toBe("0");
  });

  it("a ledger that forgot a version that ends by waiting takes no order that leaves the end of such a version out, or gives one where a slot excludes", () => {
    const rig = waitingRig();
    rig.payout();
    const contents = databaseOf(rig);
    expect(offer(rig, contents).ok).toBe(true);
    const [item] = contents.withdrawals;
    const bare = item!.versions.map(({ txHash, feeMax }) => ({ txHash, feeMax }));
    offer(rig, { ...contents, withdrawals: [{ ...item!, versions: bare }] });
    expect(rig.operate("recover", { digest: "", both: false })).toMatchObject({ ok: false, code: "RECOVERY_ORDER" });
  });

  it("a ledger that forgot a version that ends by waiting takes no order with a version that ends days later, which nobody could ever call dead", () => {
    const rig = waitingRig();
    rig.payout();
    const contents = databaseOf(rig);
    const show = (untilMs: number) => {
      const [item] = contents.withdrawals;
      const versions = item!.versions.map((version) => ({ ...version, until: untilMs }));
      offer(rig, { ...contents, withdrawals: [{ ...item!, versions }] });
      return rig.operate("recover", { digest: "", both: false });
    };
    expect(show(rig.now + 3_600_000)).toMatchObject({ ok: true });
    expect(show(rig.now + 2 * 86_400_000)).toMatchObject({ ok: false, code: "RECOVERY_ORDER" });
    expect(show(Number.MAX_SAFE_INTEGER)).toMatchObject({ ok: false, code: "RECOVERY_ORDER" });
  });

  it("a ledger that forgot a version that ends by waiting takes no order that calls such a version a cancel, for no transaction cancels there", () => {
    const rig = waitingRig();
    rig.payout();
    const contents = databaseOf(rig);
    const show = () => rig.operate("recover", { digest: "", both: false });
    offer(rig, contents);
    expect(show()).toMatchObject({ ok: true });
    const [item] = contents.withdrawals;
    const cancels = item!.versions.map((version) => ({ ...version, cancel: true as const }));
    offer(rig, { ...contents, withdrawals: [{ ...item!, versions: cancels }] });
    expect(show()).toMatchObject({ ok: false, code: "RECOVERY_ORDER" });
  });

  it("a ledger that forgot a version that ends by waiting is not ended by time where an order keeps it, and by a person's cancel it is", () => {
    const rig = waitingRig();
    const id = rig.payout();
    rig.callDead(id);
    recovered(rig, databaseOf(rig));
    rig.now += 90_000_000;
    rig.greet();
    for (let times = 0; times < 2; times++) rig.acknowledge();
    rig.signer.tick();
    expect(rig.show(id).state).not.toBe("expired");
    expect(rig.order("cancel", id).withdrawal.state).toBe("expired");
  });

  it("a ledger that forgot a version that ends by waiting keeps a person's cancel when an order opens the next one", () => {
    const rig = waitingRig();
    const id = rig.payout();
    rig.order("cancel", id);
    opened(rig, databaseOf(rig));
    rig.callDead(id);
    expect(rig.next(id).code).toBe("WITHDRAWAL_CANCELLING");
    rig.signer.tick();
    expect(rig.show(id).state).toBe("expired");
  });
});

describe("a gateway that went back", () => {
  it("a gateway that went back is told again of each version with its end, and last of all that nothing was paid", () => {
    const rig = waitingRig();
    const { stored } = rig.gateway;
    const [open, over] = [rig.payout(), rig.payout()];
    const { until } = rig.show(open).versions[0]!;
    rig.callDead(over);
    rig.order("cancel", over);
    rig.acknowledge();
    rig.gateway.stored = stored;
    rig.statements.length = 0;
    rig.crash();
    rig.greet();
    rig.hear();
    const told = rig.statements.flatMap(({ entries }) => entries);
    const signed = told.filter((entry) => entry.kind === "signed");
    expect(signed.find(({ transactionId }) => transactionId === open)).toMatchObject({ until });
    const ofOver = told.flatMap((entry) =>
      "transactionId" in entry && entry.transactionId === over ? [entry.kind === "decision" ? entry.decision : entry.kind] : [],
    );
    expect(ofOver).toEqual(["asked", "approved", "signed", "observed", "expired"]);
  });

  it("a gateway that went back is not told of another version, or of an end, before it has called the ones before dead again", () => {
    const rig = waitingRig();
    const [again, over] = [rig.payout(), rig.payout()];
    const { stored } = rig.gateway;
    for (const id of [again, over]) rig.callDead(id);
    rig.acknowledge();
    const deaths = [...rig.gateway.dead];
    rig.gateway.dead.clear();
    rig.gateway.stored = stored;
    rig.now += 1;
    rig.greet();
    expect(rig.ask("hello")).toMatchObject({ greeted: false });
    rig.acknowledge();
    expect(rig.ask("hello")).toMatchObject({ greeted: true });
    expect(rig.next(again)).toMatchObject({ ok: false, code: "WITHDRAWAL_ALIVE" });
    expect(rig.order("cancel", over).withdrawal.state).toBe("released");
    rig.signer.tick();
    expect(rig.show(over).state).toBe("released");
    for (const txHash of deaths) rig.gateway.dead.add(txHash);
    rig.acknowledge();
    rig.signer.tick();
    expect(rig.show(over).state).toBe("expired");
    expect(rig.next(again).ok).toBe(true);
  });

  it("a gateway that went back hears of what ended unpaid before the ledger was opened only that it did", () => {
    const rig = waitingRig();
    const held = rig.acknowledge().ok ? rig.gateway.stored : null;
    rig.payout();
    const over = rig.payout();
    rig.callDead(over);
    rig.order("cancel", over);
    rig.acknowledge();
    const contents = databaseOf(rig);
    rig.statements.length = 0;
    recovered(rig, { ...contents, held });
    rig.now += 1;
    rig.greet();
    rig.hear();
    const told = rig.statements.flatMap(({ entries }) => entries);
    const kindsOf = (id: string) =>
      told.flatMap((entry) =>
        "transactionId" in entry && entry.transactionId === id ? [entry.kind === "decision" ? entry.decision : entry.kind] : [],
      );
    expect(kindsOf(over)).toEqual(["asked", "expired"]);
  });
});

/**
 * An order keeps the withdrawal on its slot; the receiver is denied meanwhile, so that policy holds
 * the withdrawal.
 */
function quarantined(): { readonly rig: WaitingRig; readonly id: string } {
  const rig = waitingRig();
  const id = rig.payout();
  const { trx, usdt } = waitingSettings.policy;
  rig.edited = { ...waitingSettings, policy: { trx: trx!, usdt: { ...usdt!, deny: [receiver] } } };
  rig.crash();
  opened(rig, databaseOf(rig));
  expect(rig.show(id).state).toBe("quarantined");
  return { rig, id };
}

describe("a withdrawal that an order keeps and policy holds", () => {
  it.each(["paid", "reverted"])("a held withdrawal stays held after a courier reported it as %s, and it died", (outcome) => {
    const { rig, id } = quarantined();
    const claim = { transactionId: id, txHash: rig.hashOf(id), stage: "final", outcome, block: 7 };
    rig.gatewaySays(id);
    expect(rig.ask("observed", claim).withdrawal.state).toBe(outcome);
    rig.courierSays(id);
    expect(rig.show(id).state).toBe("quarantined");
    rig.crash();
    rig.greet();
    rig.gatewaySays(id);
    expect(rig.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_HELD" });
    expect(rig.kinds().filter((kind) => kind === "INTENT")).toHaveLength(1);
    expect(rig.order("cancel", id).withdrawal.state).toBe("expired");
  });

  it("a held withdrawal gets no other version while a courier reports it as paid", () => {
    const { rig, id } = quarantined();
    rig.callDead(id);
    const claim = { transactionId: id, txHash: rig.hashOf(id), stage: "final", outcome: "paid", block: 7 };
    expect(rig.ask("observed", claim).withdrawal.state).toBe("paid");
    expect(rig.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_ALIVE" });
  });
});

describe("a withdrawal that the gateway knows as ended unpaid, and the ledger has forgotten", () => {
  it("a forgotten withdrawal ends unpaid when both words call its versions dead again, and gets no other version", () => {
    const rig = waitingRig();
    const id = rig.payout();
    const before = backup(rig);
    const contents = databaseOf(rig);
    rig.callDead(id);
    rig.order("cancel", id);
    rig.acknowledge();
    expect(rig.show(id).state).toBe("expired");
    restore(rig, before);
    opened(rig, { ...contents, withdrawals: [], ended: contents.withdrawals });
    expect(rig.show(id).state).toBe("released");
    rig.gateway.ended.add(id);
    rig.callDead(id);
    expect(rig.next(id)).toMatchObject({ ok: false, code: "JOB_EXPIRED" });
    expect(rig.show(id)).toMatchObject({ state: "expired", isOver: true });
    expect(rig.kinds().filter((kind) => kind === "INTENT")).toHaveLength(1);
  });
});
