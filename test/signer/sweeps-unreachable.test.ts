/**
 * A sweep whose slot the chain's final count cannot reach: the person and the moment that may end
 * it, the fate of its slot, and the new beginning of its address. Reports of the kind:
 * leather-io/extension 3296 (the next nonce taken from the highest pending one, above a gap),
 * MyEtherWallet 850 (nonces of transactions that no block took are counted, and nothing is ever
 * sent again).
 */
import { describe, expect, it } from "vitest";
import { depositsOf } from "../../agent/signer/policy/own.ts";
import { families } from "../../chains/families.ts";
import { facts, merchant, Rig, vault } from "../../lab/rig/signer-rig.ts";
import { transactionIdOf } from "../../protocol/identity.ts";
import type { Job } from "../../protocol/messages.ts";
import { databaseOf, taken } from "../support/recovery-order.ts";

const deposit = families.evm.depositAddress(depositsOf(vault.accounts, "evm"), 3);
const approver = "ann";

function sweep(number: number, change: Partial<Job> = {}): Partial<Job> {
  const orderId = `${deposit}/${number}`;
  return {
    ...{ mode: "sweep", transactionId: transactionIdOf({ merchant, operation: "sweep", orderId }), orderId },
    ...{ currency: "usdt", amount: "12.5", address: "", depositIndex: 3, depositAddress: deposit },
    ...change,
  };
}

const adopt = (rig: Rig, slot: string) => rig.ask("adopt", { chain: "local", slot, witnesses: 2, address: deposit });
const counts = (rig: Rig, slot: string, witnesses = 2) =>
  rig.ask("account", { chain: "local", slot, witnesses, address: deposit });
const end = (rig: Rig, transactionId: string, slot: string) => rig.operate("end", { transactionId, slot, approver });

/** The gateway's newest word names these. */
function names(rig: Rig, ...unreachable: string[]): void {
  rig.hear();
  rig.now += 1;
  expect(rig.release(rig.gateway.ack(rig.gateway.stored!, { at: rig.now, unreachable })).ok).toBe(true);
}

/** A sweep with its bytes out, on a slot that the gateway's job names. */
function released(rig: Rig, number: number, slot: string): string {
  const { transactionId } = rig.request(sweep(number, { depositNext: slot }));
  adopt(rig, slot);
  expect(rig.ask("sign", { transactionId, facts }).withdrawal.slot).toBe(slot);
  rig.acknowledge();
  return transactionId;
}

/** One on slot 1,000,000, while the chain counts none. */
function stranded(slot = "1000000"): { readonly rig: Rig; readonly id: string } {
  const rig = new Rig().ready();
  const id = released(rig, 1, slot);
  expect(counts(rig, "0").ok).toBe(true);
  return { rig, id };
}

describe("a sweep that the chain cannot reach", () => {
  it("a sweep that the chain cannot reach is ended by a person once the gateway and the courier's nodes both say so, and its address begins where both count", () => {
    const { rig, id } = stranded();
    names(rig, id);
    expect(rig.show(id)).toMatchObject({ state: "released", code: "SWEEP_UNREACHABLE" });
    expect(rig.operate("status").status.unreachable).toMatchObject({ transactionId: id, slot: "1000000", count: 1 });
    expect(end(rig, id, "")).toMatchObject({ ok: true, plan: { slot: "1000000", counted: "0" } });
    expect(end(rig, id, "7").code).toBe("UNSTICK_OTHER_PLAN");
    expect(end(rig, id, "1000000")).toMatchObject({ ok: true, withdrawal: { state: "expired", code: "SWEEP_UNREACHABLE" } });
    expect(rig.records().slice(-2)).toMatchObject([
      { kind: "UNSTUCK", act: "end", approver },
      { kind: "EXPIRED", transactionId: id },
    ]);
    expect(end(rig, id, "1000000").ok).toBe(true);
    rig.hear();
    expect(rig.statements.at(-1)?.entries).toMatchObject([{ kind: "decision", decision: "expired", code: "SWEEP_UNREACHABLE" }]);
    expect(rig.operate("status").status.unreachable).toBeUndefined();
    expect(released(rig, 2, "0")).not.toBe(id);
  });

  it.each([1_500, 1_000_000])(
    "a sweep that the chain cannot reach stays ended over a crash, and so does its slot, in segments of %i bytes",
    (segmentBytesMax) => {
      const rig = new Rig({ segmentBytesMax }).ready();
      const id = released(rig, 1, "1000000");
      counts(rig, "0");
      names(rig, id);
      end(rig, id, "1000000");
      rig.signer.tick();
      rig.settle();
      expect(rig.kinds().includes("CHECKPOINT")).toBe(segmentBytesMax === 1_500);
      rig.crash();
      rig.greet();
      expect(rig.show(id)).toMatchObject({ state: "expired", code: "SWEEP_UNREACHABLE" });
      const { transactionId } = rig.request(sweep(2, { depositNext: "1000000" }));
      expect(adopt(rig, "1000000").code).toBe("ACCOUNT_FIRST_SLOT");
      expect(rig.ask("sign", { transactionId, facts }).code).toBe("ACCOUNT_NOT_ADOPTED");
    },
  );

  it("a sweep that the chain cannot reach stays ended in the ledger that a recovery opens, and its slot nobody's", () => {
    const { rig, id } = stranded();
    names(rig, id);
    end(rig, id, "1000000");
    rig.acknowledge();
    taken(rig, { ...databaseOf(rig), accounts: [] });
    expect(rig.core.book.stateOf(id)).toBe("expired");
    expect(rig.core.accounts.isEnded("eip155:31337", deposit, "1000000")).toBe(true);
  });

  it("a sweep that the chain cannot reach is ended as well where the gateway holds an end that this ledger has forgotten", () => {
    const { rig, id } = stranded();
    rig.hear();
    rig.release(rig.gateway.ack(rig.gateway.stored!, { at: rig.now, ended: [id] }));
    expect(end(rig, id, "1000000").ok).toBe(true);
  });

  it("a sweep that the chain cannot reach is not ended on the courier's word alone, nor on the gateway's", () => {
    const { rig, id } = stranded();
    expect(end(rig, id, "")).toMatchObject({
      code: "UNSTICK_REACHABLE",
      detail: expect.stringContaining("the gateway has not said so"),
    });
    names(rig, id);
    counts(rig, "1000000");
    expect(end(rig, id, "1000000")).toMatchObject({
      code: "UNSTICK_REACHABLE",
      detail: expect.stringContaining("the nodes count 1000000"),
    });
    counts(rig, "1000001");
    expect(end(rig, id, "1000000").code).toBe("UNSTICK_REACHABLE");
    counts(rig, "0", 1); // fewer nodes than a claim needs
    expect(end(rig, id, "1000000").code).toBe("UNSTICK_REACHABLE");
    counts(rig, "0");
    names(rig);
    expect(end(rig, id, "1000000").code).toBe("UNSTICK_REACHABLE");
    rig.release(rig.gateway.ack(rig.gateway.stored!, { at: rig.now - 1, unreachable: [id] })); // an older word, once more
    expect(end(rig, id, "1000000").code).toBe("UNSTICK_REACHABLE");
    names(rig, id);
    expect(end(rig, id, "1000000").ok).toBe(true);
  });

  it("a sweep that the chain cannot reach is not ended while another open one has the slot that the chain takes next", () => {
    const { rig, id } = stranded("0");
    const later = rig.request(sweep(2)).transactionId;
    rig.ask("sign", { transactionId: later, facts });
    rig.acknowledge();
    names(rig, id, later);
    expect(end(rig, later, "1")).toMatchObject({ code: "UNSTICK_REACHABLE", detail: expect.stringContaining(id) });
    expect(end(rig, id, "0").code).toBe("UNSTICK_REACHABLE");
  });

  it("a withdrawal, and a sweep without a slot or without released bytes, are not ended like a sweep that the chain cannot reach", () => {
    const rig = new Rig().ready();
    const paid = rig.pay().transactionId;
    const waits = rig.request(sweep(1, { depositNext: "9" })).transactionId;
    names(rig, paid, waits);
    expect(end(rig, paid, "").code).toBe("UNSTICK_REACHABLE");
    expect(end(rig, waits, "").code).toBe("UNSTICK_UNBOUND");
    adopt(rig, "9");
    rig.ask("sign", { transactionId: waits, facts });
    counts(rig, "0");
    expect(end(rig, waits, "").code).toBe("WITHDRAWAL_NOT_RELEASED");
  });
});

describe("the slot of an ended sweep", () => {
  function endedAtOne(): Rig {
    const { rig, id } = stranded("1");
    names(rig, id);
    expect(end(rig, id, "1").ok).toBe(true);
    released(rig, 2, "0");
    return rig;
  }

  it("the slot of an ended sweep is nobody's afterwards: a sweep that would come to it waits, and goes on behind it once the chain has passed it", () => {
    const rig = endedAtOne();
    const { transactionId } = rig.request(sweep(3, { depositNext: "2" }));
    expect(rig.ask("sign", { transactionId, facts })).toMatchObject({ code: "ACCOUNT_WAITS" });
    const first = rig
      .records()
      .find((one) => one.kind === "SIGNED" && one.seq > 0 && one.transactionId === sweep(2).transactionId);
    const txHash = first?.kind === "SIGNED" ? first.txHash : "";
    const paid = { transactionId: sweep(2).transactionId, stage: "final", outcome: "paid", txHash, block: 9 };
    expect(rig.ask("observed", paid).ok).toBe(true);
    rig.acknowledge();
    rig.acknowledge();
    expect(adopt(rig, "1").ok).toBe(false);
    expect(adopt(rig, "2").ok).toBe(true);
    expect(rig.ask("sign", { transactionId, facts }).withdrawal.slot).toBe("2");
  });

  it("the slot of an ended sweep may be used up by its bytes: no alarm and no lock, but for one that goes beyond it", () => {
    const rig = endedAtOne();
    counts(rig, "2");
    rig.now += 61_000;
    expect(counts(rig, "2").ok).toBe(true);
    expect([rig.kinds().includes("ALARM"), rig.core.locked]).toEqual([false, null]);
    counts(rig, "3");
    rig.now += 61_000;
    counts(rig, "3");
    expect(rig.core.locked?.code).toBe("CHAIN_SLOT_FOREIGN");
  });
});
