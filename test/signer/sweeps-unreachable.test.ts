/**
 * A sweep whose slot the chain's final count cannot reach: the operator and the moment that may end
 * it, the fate of its slot, and the new beginning of its address. Reports of the kind:
 * leather-io/extension 3296 (the next nonce taken from the highest pending one, above a gap),
 * MyEtherWallet 850 (nonces of transactions that no block took are counted, and nothing is ever
 * sent again).
 */
import { describe, expect, it } from "vitest";
import { depositAccountIdOf } from "../../agent/signer/policy/own-accounts.ts";
import { families } from "../../chains/families.ts";
import { Kit, merchant, txParams, vault } from "../../lab/kit/signer-kit.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import type { Job } from "../../protocol/messages.ts";
import { databaseOf, taken } from "../support/recovery-offer.ts";

const deposit = families.evm.depositAddress(depositAccountIdOf(vault.accounts, "evm"), 3);
const approver = "ann";

function sweep(number: number, change: Partial<Job> = {}): Partial<Job> {
  const orderId = `${deposit}/${number}`;
  return {
    ...{
      mode: "sweep",
      transactionId: deriveOrderTransactionId({ merchant, operation: "sweep", orderId }),
      orderId,
    },
    ...{ currency: "usdt", amount: "12.5", address: "", depositIndex: 3, depositAddress: deposit },
    ...change,
  };
}

const adopt = (kit: Kit, slot: string) =>
  kit.ask("adopt", { chain: "local", slot, quorum: 2, address: deposit });
const counts = (kit: Kit, slot: string, quorum = 2) =>
  kit.ask("account", { chain: "local", slot, quorum, address: deposit });
const end = (kit: Kit, transactionId: string, slot: string) =>
  kit.operate("end", { transactionId, slot, approver });

/** The gateway's newest word names these. */
function names(kit: Kit, ...unreachable: string[]): void {
  kit.receive();
  kit.now += 1;
  expect(kit.release(kit.gateway.ack(kit.gateway.stored!, { at: kit.now, unreachable })).ok).toBe(
    true,
  );
}

/** A sweep with its bytes out, on a slot that the gateway's job names. */
function released(kit: Kit, number: number, slot: string): string {
  const { transactionId } = kit.request(sweep(number, { depositNext: slot }));
  adopt(kit, slot);
  expect(kit.ask("sign", { transactionId, txParams }).withdrawal.slot).toBe(slot);
  kit.acknowledge();
  return transactionId;
}

/** One on slot 1,000,000, while the chain counts none. */
function stranded(slot = "1000000"): { readonly kit: Kit; readonly id: string } {
  const kit = new Kit().ready();
  const id = released(kit, 1, slot);
  expect(counts(kit, "0").ok).toBe(true);
  return { kit, id };
}

describe("a sweep that the chain cannot reach", () => {
  it("is ended by an operator once the gateway and the courier's nodes both say so, and its address begins where both count", () => {
    const { kit, id } = stranded();
    names(kit, id);
    expect(kit.show(id)).toMatchObject({ state: "released", code: "SWEEP_UNREACHABLE" });
    expect(kit.operate("status").status.unreachable).toMatchObject({
      transactionId: id,
      slot: "1000000",
      count: 1,
    });
    expect(end(kit, id, "")).toMatchObject({ ok: true, plan: { slot: "1000000", counted: "0" } });
    expect(end(kit, id, "7").code).toBe("REPLACEMENT_OTHER_PLAN");
    expect(end(kit, id, "1000000")).toMatchObject({
      ok: true,
      withdrawal: { state: "expired", code: "SWEEP_UNREACHABLE" },
    });
    expect(kit.records().slice(-2)).toMatchObject([
      { kind: "MANUAL_REPLACEMENT", act: "end", approver },
      { kind: "EXPIRED", transactionId: id },
    ]);
    expect(end(kit, id, "1000000").ok).toBe(true);
    kit.receive();
    expect(kit.statements.at(-1)?.entries).toMatchObject([
      { kind: "decision", decision: "expired", code: "SWEEP_UNREACHABLE" },
    ]);
    expect(kit.operate("status").status.unreachable).toBeUndefined();
    expect(released(kit, 2, "0")).not.toBe(id);
  });

  it.each([1_500, 1_000_000])(
    "stays ended over a crash, and so does its slot, in segments of %i bytes",
    (segmentBytesMax) => {
      const kit = new Kit({ segmentBytesMax }).ready();
      const id = released(kit, 1, "1000000");
      counts(kit, "0");
      names(kit, id);
      end(kit, id, "1000000");
      kit.signer.tick();
      kit.settle();
      expect(kit.kinds().includes("CHECKPOINT")).toBe(segmentBytesMax === 1_500);
      kit.crash();
      kit.handshake();
      expect(kit.show(id)).toMatchObject({ state: "expired", code: "SWEEP_UNREACHABLE" });
      const { transactionId } = kit.request(sweep(2, { depositNext: "1000000" }));
      expect(adopt(kit, "1000000").code).toBe("ACCOUNT_FIRST_SLOT");
      expect(kit.ask("sign", { transactionId, txParams }).code).toBe("ACCOUNT_NOT_ADOPTED");
    },
  );

  it("stays ended in the ledger that a recovery opens, and its slot nobody's", () => {
    const { kit, id } = stranded();
    names(kit, id);
    end(kit, id, "1000000");
    kit.acknowledge();
    taken(kit, { ...databaseOf(kit), accounts: [] });
    expect(kit.core.book.stateOf(id)).toBe("expired");
    expect(kit.core.accounts.isEnded("eip155:31337", deposit, "1000000")).toBe(true);
  });

  it("is ended as well where the gateway holds an end that this ledger has forgotten", () => {
    const { kit, id } = stranded();
    kit.receive();
    kit.release(kit.gateway.ack(kit.gateway.stored!, { at: kit.now, ended: [id] }));
    expect(end(kit, id, "1000000").ok).toBe(true);
  });

  it("is not ended on the courier's word alone, nor on the gateway's", () => {
    const { kit, id } = stranded();
    expect(end(kit, id, "")).toMatchObject({
      code: "REPLACEMENT_REACHABLE",
      detail: expect.stringContaining("the gateway has not said so"),
    });
    names(kit, id);
    counts(kit, "1000000");
    expect(end(kit, id, "1000000")).toMatchObject({
      code: "REPLACEMENT_REACHABLE",
      detail: expect.stringContaining("the nodes count 1000000"),
    });
    counts(kit, "1000001");
    expect(end(kit, id, "1000000").code).toBe("REPLACEMENT_REACHABLE");
    counts(kit, "0", 1); // fewer nodes than a claim needs
    expect(end(kit, id, "1000000").code).toBe("REPLACEMENT_REACHABLE");
    counts(kit, "0");
    names(kit);
    expect(end(kit, id, "1000000").code).toBe("REPLACEMENT_REACHABLE");
    kit.release(kit.gateway.ack(kit.gateway.stored!, { at: kit.now - 1, unreachable: [id] })); // an older word, once more
    expect(end(kit, id, "1000000").code).toBe("REPLACEMENT_REACHABLE");
    names(kit, id);
    expect(end(kit, id, "1000000").ok).toBe(true);
  });

  it("is not ended while another open one has the slot that the chain takes next", () => {
    const { kit, id } = stranded("0");
    const later = kit.request(sweep(2)).transactionId;
    kit.ask("sign", { transactionId: later, txParams });
    kit.acknowledge();
    names(kit, id, later);
    expect(end(kit, later, "1")).toMatchObject({
      code: "REPLACEMENT_REACHABLE",
      detail: expect.stringContaining(id),
    });
    expect(end(kit, id, "0").code).toBe("REPLACEMENT_REACHABLE");
  });

  it("a withdrawal, and a sweep without a slot or without released bytes, are not ended like a sweep that the chain cannot reach", () => {
    const kit = new Kit().ready();
    const paid = kit.pay().transactionId;
    const waits = kit.request(sweep(1, { depositNext: "9" })).transactionId;
    names(kit, paid, waits);
    expect(end(kit, paid, "").code).toBe("REPLACEMENT_REACHABLE");
    expect(end(kit, waits, "").code).toBe("REPLACEMENT_NO_SLOT");
    adopt(kit, "9");
    kit.ask("sign", { transactionId: waits, txParams });
    counts(kit, "0");
    expect(end(kit, waits, "").code).toBe("WITHDRAWAL_NOT_RELEASED");
  });
});

describe("the slot of an ended sweep", () => {
  function endedAtOne(): Kit {
    const { kit, id } = stranded("1");
    names(kit, id);
    expect(end(kit, id, "1").ok).toBe(true);
    released(kit, 2, "0");
    return kit;
  }

  it("is nobody's afterwards: a sweep that would come to it waits, and goes on behind it once the chain has passed it", () => {
    const kit = endedAtOne();
    const { transactionId } = kit.request(sweep(3, { depositNext: "2" }));
    expect(kit.ask("sign", { transactionId, txParams })).toMatchObject({ code: "ACCOUNT_WAITS" });
    const first = kit
      .records()
      .find(
        (one) =>
          one.kind === "SIGNED" && one.seq > 0 && one.transactionId === sweep(2).transactionId,
      );
    const txHash = first?.kind === "SIGNED" ? first.txHash : "";
    const paid = {
      transactionId: sweep(2).transactionId,
      stage: "final",
      outcome: "paid",
      txHash,
      block: 9,
    };
    expect(kit.ask("observed", paid).ok).toBe(true);
    kit.acknowledge();
    kit.acknowledge();
    expect(adopt(kit, "1").ok).toBe(false);
    expect(adopt(kit, "2").ok).toBe(true);
    expect(kit.ask("sign", { transactionId, txParams }).withdrawal.slot).toBe("2");
  });

  it("may be used up by its bytes: no alarm and no lock, but for one that goes beyond it", () => {
    const kit = endedAtOne();
    counts(kit, "2");
    kit.now += 61_000;
    expect(counts(kit, "2").ok).toBe(true);
    expect([kit.kinds().includes("ALARM"), kit.core.locked]).toEqual([false, null]);
    counts(kit, "3");
    kit.now += 61_000;
    counts(kit, "3");
    expect(kit.core.locked?.code).toBe("CHAIN_SLOT_FOREIGN");
  });
});
