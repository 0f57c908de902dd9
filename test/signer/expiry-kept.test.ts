/**
 * The two words on an attempt last: over a restart, a checkpoint and a ledger that the gateway's
 * order opened. No account gives one timestamp twice, even after a restore from a backup.
 */
import { describe, expect, it } from "vitest";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import {
  backup,
  type Contents,
  databaseOf,
  offer,
  recovered,
  restore,
} from "../support/recovery-offer.ts";
import {
  network,
  offerAt,
  receiver,
  sender,
  type WaitingKit,
  waitingKit,
  waitingSettings,
} from "../support/waiting-kit.ts";

function voidOf(kit: WaitingKit, id: string): readonly unknown[] {
  return kit.show(id).attempts.map(({ voidBy }) => voidBy);
}

/**
 * The order opens the ledger, and the handshake follows: policy has judged the kept withdrawals
 * again, and the gateway has called the same attempts void again.
 */
function opened(kit: WaitingKit, contents: Contents): void {
  recovered(kit, contents);
  kit.now += 1;
  kit.handshake();
  kit.acknowledge();
  expect(kit.ask("hello")).toMatchObject({ handshakeDone: true, locked: "" });
  kit.acknowledge();
}

function stampsOf(records: readonly LedgerRecord[]): readonly bigint[] {
  return records.flatMap((record) =>
    record.kind === "INTENT" ? [BigInt(record.txParams.timestampMs!)] : [],
  );
}

describe("a word that an attempt is void", () => {
  it.each(["gateway", "courier"] as const)(
    "a word by the %s that an attempt is void lasts over a crash, and the other one completes it",
    (by) => {
      const kit = waitingKit();
      const id = kit.payout();
      if (by === "gateway") kit.gatewaySays(id);
      else kit.courierSays(id);
      kit.crash();
      kit.handshake();
      expect(voidOf(kit, id)).toEqual([by]);
      expect(kit.next(id).code).toBe("WITHDRAWAL_ALIVE");
      if (by === "gateway") kit.courierSays(id);
      else kit.gatewaySays(id);
      kit.crash();
      kit.handshake();
      expect(voidOf(kit, id)).toEqual(["both"]);
      // The gateway's database may have gone back: another run's word counts for nothing.
      expect(kit.next(id).code).toBe("WITHDRAWAL_ALIVE");
      kit.gatewaySays(id);
      expect(kit.next(id).ok).toBe(true);
      expect(kit.kinds().filter((kind) => kind === "VOID")).toHaveLength(1);
    },
  );

  it("lasts over checkpoints, with an operator's word and the account's last timestamp", () => {
    const kit = waitingKit({ segmentBytesMax: 500 });
    const [voided, cancelled] = [kit.payout(), kit.payout()];
    kit.callVoid(voided);
    kit.gatewaySays(cancelled);
    kit.order("cancel", cancelled);
    const last = kit.core.accounts.find(network, sender)!.lastTimestamp;
    for (let times = 0; times < 3; times++) {
      kit.signer.tick();
      kit.settle();
      kit.request({ network, address: receiver });
    }
    expect(kit.kinds().filter((kind) => kind === "CHECKPOINT").length).toBeGreaterThan(1);
    kit.crash();
    kit.handshake();
    expect(kit.core.accounts.find(network, sender)).toMatchObject({
      lastTimestamp: last,
      next: "2",
    });
    expect([voidOf(kit, voided), voidOf(kit, cancelled)]).toEqual([["both"], ["gateway"]]);
    expect(kit.next(cancelled).code).toBe("WITHDRAWAL_CANCELLING");
    for (const id of [voided, cancelled]) kit.gatewaySays(id);
    expect(kit.next(voided).ok).toBe(true);
    kit.courierSays(cancelled);
    kit.signer.tick();
    expect(kit.show(cancelled).state).toBe("expired");
  });

  it("lasts in a ledger that an order opened, where the other word is still needed", () => {
    const kit = waitingKit();
    const [half, whole] = [kit.payout(), kit.payout()];
    kit.gatewaySays(half);
    kit.callVoid(whole);
    opened(kit, databaseOf(kit));
    for (const id of [half, whole]) expect(kit.show(id).state).toBe("released");
    expect([voidOf(kit, half), voidOf(kit, whole)]).toEqual([["gateway"], ["both"]]);
    expect(kit.next(half).code).toBe("WITHDRAWAL_ALIVE");
    expect(kit.next(whole).ok).toBe(true);
    kit.courierSays(half);
    expect(kit.next(half).ok).toBe(true);
  });
});

describe("a ledger that forgot an attempt that ends by expiry", () => {
  it("learns of it by the order, with its end, and gives no timestamp up to there again", () => {
    const kit = waitingKit();
    const before = backup(kit);
    const id = kit.payout();
    const { txHash, validUntilMs } = kit.show(id).attempts[0]!;
    const contents = databaseOf(kit);
    const job = { network, address: receiver };
    restore(kit, before);
    opened(kit, contents);
    expect(kit.show(id).attempts).toMatchObject([
      { txHash, validUntilMs, txParams: null, isOut: true },
    ]);
    expect(kit.core.accounts.find(network, sender)).toMatchObject({
      lastTimestamp: BigInt(validUntilMs!),
      next: "1",
    });
    expect(kit.next(id).code).toBe("WITHDRAWAL_ALIVE");
    const { transactionId } = kit.request({ ...job, orderId: "redone" });
    expect(kit.ask("sign", { transactionId, txParams: offerAt(kit.now) }).ok).toBe(true);
    expect(stampsOf(kit.records()).every((timestamp) => timestamp > BigInt(validUntilMs!))).toBe(
      true,
    );
    // The bytes are gone; the hash is called void by both, and only then another attempt pays.
    kit.callVoid(id);
    expect(kit.next(id).ok).toBe(true);
    expect(kit.show(id).slot).toBe("0");
  });

  it("takes no order that leaves the end of such an attempt out, or gives one where a slot excludes", () => {
    const kit = waitingKit();
    kit.payout();
    const contents = databaseOf(kit);
    expect(offer(kit, contents).ok).toBe(true);
    const [item] = contents.withdrawals;
    const bare = item!.attempts.map(({ txHash, feeMax }) => ({ txHash, feeMax }));
    offer(kit, { ...contents, withdrawals: [{ ...item!, attempts: bare }] });
    expect(kit.operate("recover", { digest: "", bothRestored: false })).toMatchObject({
      ok: false,
      code: "RECOVERY_OFFER",
    });
  });

  it("takes no order with an attempt that ends days later, which nobody could ever call void", () => {
    const kit = waitingKit();
    kit.payout();
    const contents = databaseOf(kit);
    const show = (validUntilMs: number) => {
      const [item] = contents.withdrawals;
      const attempts = item!.attempts.map((attempt) => ({
        ...attempt,
        validUntilMs: validUntilMs,
      }));
      offer(kit, { ...contents, withdrawals: [{ ...item!, attempts }] });
      return kit.operate("recover", { digest: "", bothRestored: false });
    };
    expect(show(kit.now + 3_600_000)).toMatchObject({ ok: true });
    expect(show(kit.now + 2 * 86_400_000)).toMatchObject({ ok: false, code: "RECOVERY_OFFER" });
    expect(show(Number.MAX_SAFE_INTEGER)).toMatchObject({ ok: false, code: "RECOVERY_OFFER" });
  });

  it("takes no order that calls such an attempt a cancel, for no transaction cancels there", () => {
    const kit = waitingKit();
    kit.payout();
    const contents = databaseOf(kit);
    const show = () => kit.operate("recover", { digest: "", bothRestored: false });
    offer(kit, contents);
    expect(show()).toMatchObject({ ok: true });
    const [item] = contents.withdrawals;
    const cancels = item!.attempts.map((attempt) => ({ ...attempt, cancel: true as const }));
    offer(kit, { ...contents, withdrawals: [{ ...item!, attempts: cancels }] });
    expect(show()).toMatchObject({ ok: false, code: "RECOVERY_OFFER" });
  });

  it("is not ended by time where an order keeps it, and by an operator's cancel it is", () => {
    const kit = waitingKit();
    const id = kit.payout();
    kit.callVoid(id);
    recovered(kit, databaseOf(kit));
    kit.now += 90_000_000;
    kit.handshake();
    for (let times = 0; times < 2; times++) kit.acknowledge();
    kit.signer.tick();
    expect(kit.show(id).state).not.toBe("expired");
    expect(kit.order("cancel", id).withdrawal.state).toBe("expired");
  });

  it("keeps an operator's cancel when an order opens the next one", () => {
    const kit = waitingKit();
    const id = kit.payout();
    kit.order("cancel", id);
    opened(kit, databaseOf(kit));
    kit.callVoid(id);
    expect(kit.next(id).code).toBe("WITHDRAWAL_CANCELLING");
    kit.signer.tick();
    expect(kit.show(id).state).toBe("expired");
  });
});

describe("a gateway that was rolled back", () => {
  it("receives again each attempt with its end, and last of all that nothing was paid", () => {
    const kit = waitingKit();
    const { stored } = kit.gateway;
    const [open, over] = [kit.payout(), kit.payout()];
    const { validUntilMs } = kit.show(open).attempts[0]!;
    kit.callVoid(over);
    kit.order("cancel", over);
    kit.acknowledge();
    kit.gateway.stored = stored;
    kit.statements.length = 0;
    kit.crash();
    kit.handshake();
    kit.receive();
    const told = kit.statements.flatMap(({ entries }) => entries);
    const signed = told.filter((entry) => entry.kind === "signed");
    expect(signed.find(({ transactionId }) => transactionId === open)).toMatchObject({
      validUntilMs,
    });
    const ofOver = told.flatMap((entry) =>
      "transactionId" in entry && entry.transactionId === over
        ? [entry.kind === "decision" ? entry.decision : entry.kind]
        : [],
    );
    expect(ofOver).toEqual(["asked", "approved", "signed", "observed", "expired"]);
  });

  it("is not told of another attempt, or of an end, before it has called the ones before void again", () => {
    const kit = waitingKit();
    const [again, over] = [kit.payout(), kit.payout()];
    const { stored } = kit.gateway;
    for (const id of [again, over]) kit.callVoid(id);
    kit.acknowledge();
    const voids = [...kit.gateway.voided];
    kit.gateway.voided.clear();
    kit.gateway.stored = stored;
    kit.now += 1;
    kit.handshake();
    expect(kit.ask("hello")).toMatchObject({ handshakeDone: false });
    kit.acknowledge();
    expect(kit.ask("hello")).toMatchObject({ handshakeDone: true });
    expect(kit.next(again)).toMatchObject({ ok: false, code: "WITHDRAWAL_ALIVE" });
    expect(kit.order("cancel", over).withdrawal.state).toBe("released");
    kit.signer.tick();
    expect(kit.show(over).state).toBe("released");
    for (const txHash of voids) kit.gateway.voided.add(txHash);
    kit.acknowledge();
    kit.signer.tick();
    expect(kit.show(over).state).toBe("expired");
    expect(kit.next(again).ok).toBe(true);
  });

  it("learns of what ended unpaid before the ledger was recovered only that it did", () => {
    const kit = waitingKit();
    const held = kit.acknowledge().ok ? kit.gateway.stored : null;
    kit.payout();
    const over = kit.payout();
    kit.callVoid(over);
    kit.order("cancel", over);
    kit.acknowledge();
    const contents = databaseOf(kit);
    kit.statements.length = 0;
    recovered(kit, { ...contents, held });
    kit.now += 1;
    kit.handshake();
    kit.receive();
    const told = kit.statements.flatMap(({ entries }) => entries);
    const kindsOf = (id: string) =>
      told.flatMap((entry) =>
        "transactionId" in entry && entry.transactionId === id
          ? [entry.kind === "decision" ? entry.decision : entry.kind]
          : [],
      );
    expect(kindsOf(over)).toEqual(["asked", "expired"]);
  });
});

/**
 * An order keeps the withdrawal on its slot; the receiver is denied meanwhile, so that policy holds
 * the withdrawal.
 */
function quarantined(): { readonly kit: WaitingKit; readonly id: string } {
  const kit = waitingKit();
  const id = kit.payout();
  const { trx, usdt } = waitingSettings.policy;
  kit.edited = { ...waitingSettings, policy: { trx: trx!, usdt: { ...usdt!, deny: [receiver] } } };
  kit.crash();
  opened(kit, databaseOf(kit));
  expect(kit.show(id).state).toBe("quarantined");
  return { kit, id };
}

describe("a withdrawal that an order keeps and policy holds", () => {
  it.each(["paid", "reverted"])(
    "a held withdrawal stays held after a courier reported it as %s, and it became void",
    (outcome) => {
      const { kit, id } = quarantined();
      const claim = {
        transactionId: id,
        txHash: kit.hashOf(id),
        stage: "final",
        outcome,
        block: 7,
      };
      kit.gatewaySays(id);
      expect(kit.ask("observed", claim).withdrawal.state).toBe(outcome);
      kit.courierSays(id);
      expect(kit.show(id).state).toBe("quarantined");
      kit.crash();
      kit.handshake();
      kit.gatewaySays(id);
      expect(kit.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_HELD" });
      expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(1);
      expect(kit.order("cancel", id).withdrawal.state).toBe("expired");
    },
  );

  it("a held withdrawal gets no other attempt while a courier reports it as paid", () => {
    const { kit, id } = quarantined();
    kit.callVoid(id);
    const claim = {
      transactionId: id,
      txHash: kit.hashOf(id),
      stage: "final",
      outcome: "paid",
      block: 7,
    };
    expect(kit.ask("observed", claim).withdrawal.state).toBe("paid");
    expect(kit.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_ALIVE" });
  });
});

describe("a withdrawal that the gateway knows as ended unpaid, and the ledger has forgotten", () => {
  it("a forgotten withdrawal ends unpaid when both words call its attempts void again, and gets no other attempt", () => {
    const kit = waitingKit();
    const id = kit.payout();
    const before = backup(kit);
    const contents = databaseOf(kit);
    kit.callVoid(id);
    kit.order("cancel", id);
    kit.acknowledge();
    expect(kit.show(id).state).toBe("expired");
    restore(kit, before);
    opened(kit, { ...contents, withdrawals: [], ended: contents.withdrawals });
    expect(kit.show(id).state).toBe("released");
    kit.gateway.ended.add(id);
    kit.callVoid(id);
    expect(kit.next(id)).toMatchObject({ ok: false, code: "JOB_EXPIRED" });
    expect(kit.show(id)).toMatchObject({ state: "expired", isOver: true });
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(1);
  });
});
