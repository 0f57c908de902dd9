/**
 * Exclusion by expiry: a second attempt, and the end without a payment, come after two words that
 * every attempt is void, and after nothing less; no clock takes the place of either.
 */
import { describe, expect, it } from "vitest";
import { expiryExclusionOf } from "../../chains/families.ts";
import { familyTransactionsOf } from "../../chains/transactions.ts";
import { readAttemptBack } from "../../chains/tron/node-read-back.ts";
import { Kit } from "../../lab/kit/signer-kit.ts";
import { token } from "../../lab/kit/tron-values.ts";
import {
  network,
  offerAt,
  receiver,
  sender,
  type WaitingKit,
  waitingKit,
  waitingSettings,
} from "../support/waiting-kit.ts";

const hourMs = 3_600_000;

function released(amount = "1.5"): { readonly kit: WaitingKit; readonly id: string } {
  const kit = waitingKit();
  return { kit, id: kit.payout({ amount }) };
}

function seen(kit: WaitingKit, transactionId: string, stage: string, outcome = "", attempt = 1) {
  const txHash = kit.hashOf(transactionId, attempt);
  return kit.ask("observed", {
    transactionId,
    stage,
    outcome,
    txHash,
    block: stage === "broadcast" ? 0 : 7,
  });
}

describe("a first attempt that ends by expiry", () => {
  it("begins its account by itself, and its entry says until when it can come into a block", async () => {
    const { kit, id } = released();
    expect(
      kit.kinds().filter((kind) => ["ADOPTED", "INTENT", "SIGNED", "RELEASED"].includes(kind)),
    ).toEqual([...["ADOPTED", "INTENT", "SIGNED", "RELEASED"]]);
    const [attempt] = kit.show(id).attempts;
    const txParams = attempt!.txParams!;
    expect(attempt).toMatchObject({ validUntilMs: Number(txParams.expirationMs), attempt: 1 });
    expect(attempt!.voidBy).toBeUndefined();
    const entries = kit.statements.flatMap((statement) => statement.entries);
    expect(entries.find((entry) => entry.kind === "signed")).toMatchObject({
      slot: "0",
      validUntilMs: attempt!.validUntilMs,
      account: sender,
    });
    const payment = {
      network,
      account: sender,
      slot: "0",
      contract: token.contract,
      destination: receiver,
      tag: "",
      amountUnits: 1_500_000n,
    };
    expect(
      await readAttemptBack(attempt!.raw!, {
        payment,
        txParams,
        txHash: attempt!.txHash,
        isCancel: false,
      }),
    ).toBe("");
  });

  it("two equal payments by one offer have different hashes, and the second's end moves with its timestamp", () => {
    const kit = waitingKit();
    const txParams = offerAt(kit.now);
    const ids = [1, 2].map(() => kit.request({ network, address: receiver }).transactionId);
    for (const transactionId of ids)
      expect(kit.ask("sign", { transactionId, txParams }).ok).toBe(true);
    const [one, two] = ids.map((id) => kit.show(id).attempts[0]!);
    expect(one!.txHash).not.toBe(two!.txHash);
    expect(two!.validUntilMs! - one!.validUntilMs!).toBe(1);
    expect(ids.map((id) => kit.show(id).slot)).toEqual(["0", "1"]);
  });

  it("is refused when it could come into a block for longer than is allowed, and taken up to there", () => {
    const kit = waitingKit();
    const { transactionId } = kit.request({ network, address: receiver });
    const offer = (validUntilMs: number) => {
      const txParams = offerAt(validUntilMs - 300_000);
      return kit.ask("sign", { transactionId, txParams });
    };
    // By the gateway's time, however wrong the local clock is: a timestamp of far ahead would make
    // the bytes come into a block before anybody looks for them.
    kit.skew = 500_000;
    const latest = kit.now + expiryExclusionOf(network)!.lifetimeMsMax + 60_000;
    const before = kit.records().length;
    expect(offer(latest + 1)).toMatchObject({ ok: false, code: "TRANSACTION_LIFETIME" });
    const long = { ...offerAt(kit.now), expirationMs: `${kit.now + 600_001}` };
    expect(kit.ask("sign", { transactionId, txParams: long }).code).toMatch(/^TRANSACTION_/);
    expect(
      kit
        .records()
        .slice(before)
        .filter(({ kind }) => kind === "INTENT"),
    ).toEqual([]);
    expect(offer(latest).ok).toBe(true);
  });

  it("stands in front of none: one that is quarantined holds up no other payment", () => {
    const kit = waitingKit();
    const first = kit.request({ network, address: receiver }).transactionId;
    kit.send("sign", { transactionId: first, txParams: offerAt(kit.now) });
    kit.disk.sync();
    kit.crash();
    kit.edited = {
      ...waitingSettings,
      policy: {
        trx: waitingSettings.policy.trx!,
        usdt: { ...waitingSettings.policy.usdt!, deny: [receiver] },
      },
    };
    kit.start();
    kit.handshake();
    expect(kit.show(first).state).toBe("quarantined");
    kit.edited = null;
    kit.start();
    kit.handshake();
    kit.payout();
    expect(kit.show(first).state).toBe("quarantined");
  });

  it("has no count to be held against, and is neither lost nor cancelled by another transaction", () => {
    const { kit, id } = released();
    for (const at of [0, 70_000]) {
      kit.now += at;
      expect(kit.ask("account", { chain: "tron", slot: "9", quorum: 2 }).ok).toBe(true);
    }
    expect(kit.ask("hello").locked).toBe("");
    for (const outcome of ["conflicted", "cancelled"]) {
      const claim = { transactionId: id, stage: "final", outcome, txHash: "", block: 7 };
      expect(kit.ask("observed", claim).code).toBe("WITHDRAWAL_OBSERVATION");
    }
    expect(seen(kit, id, "final", "paid").ok).toBe(true);
  });
});

describe("a second attempt", () => {
  it.each<[string, (kit: WaitingKit, id: string) => void]>([
    [
      "while nobody has called the first one void, whatever the clock says",
      (kit) => (kit.now += hourMs),
    ],
    ["on the gateway's word alone", (kit, id) => kit.gatewaySays(id)],
    ["on the courier's word alone", (kit, id) => kit.courierSays(id)],
  ])("is not made %s", (_, said) => {
    const { kit, id } = released();
    said(kit, id);
    expect(kit.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_ALIVE" });
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(1);
  });

  it("is made once both have said so, of the same payment, with another hash and a later timestamp", async () => {
    const { kit, id } = released();
    kit.now += 420_000;
    kit.callVoid(id);
    expect(kit.next(id).ok).toBe(true);
    const { attempts } = { ...kit.acknowledge().withdrawals[0]! };
    const [one, two] = kit.show(id).attempts;
    expect([one!.voidBy, two!.voidBy]).toEqual(["both", undefined]);
    expect(two!.txHash).not.toBe(one!.txHash);
    expect(BigInt(two!.txParams!.timestampMs!)).toBeGreaterThan(
      BigInt(one!.txParams!.timestampMs!),
    );
    const payment = {
      network,
      account: sender,
      slot: "0",
      contract: token.contract,
      destination: receiver,
      tag: "",
      amountUnits: 1_500_000n,
    };
    const raw = attempts.at(-1)!.raw!;
    expect(
      await readAttemptBack(raw, {
        payment,
        txParams: two!.txParams,
        txHash: two!.txHash,
        isCancel: false,
      }),
    ).toBe("");
    // Twice is once; the third one waits for the second.
    expect(kit.next(id).ok).toBe(true);
    expect(kit.next(id, 2).code).toBe("WITHDRAWAL_ALIVE");
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(2);
  });

  it("needs the word of as many nodes as the courier has, and of one where it has one", () => {
    const { kit, id } = released();
    const other = kit.payout();
    kit.gatewaySays(id);
    kit.gatewaySays(other);
    expect(kit.courierSays(other, 1, 1).ok).toBe(true);
    expect(kit.courierSays(id, 1, 2).ok).toBe(true);
    const [third, fourth] = [kit.payout(), kit.payout()];
    kit.gatewaySays(third);
    expect(kit.courierSays(fourth, 1, 2).ok).toBe(true);
    expect(kit.courierSays(third, 1, 1)).toMatchObject({ ok: false, code: "WITHDRAWAL_ALIVE" });
    expect(kit.next(third).code).toBe("WITHDRAWAL_ALIVE");
    expect(kit.courierSays(third, 1, 2).ok).toBe(true);
    expect(kit.next(third).ok).toBe(true);
  });

  it("is not made for a hash that the ledger does not have, nor for bytes that were not let out", () => {
    const kit = waitingKit();
    const { transactionId: id } = kit.request({ network, address: receiver });
    kit.ask("sign", { transactionId: id, txParams: offerAt(kit.now) });
    const before = kit.records().length;
    const strange = "ab".repeat(32);
    const stored = kit.gateway.stored!;
    kit.release(kit.gateway.ack(stored, { at: kit.now, void: [strange, kit.hashOf(id)] }));
    expect(
      kit
        .records()
        .slice(before)
        .filter(({ kind }) => kind === "VOID"),
    ).toEqual([]);
    const claim = { transactionId: id, stage: "void", outcome: "", block: 900, quorum: 2 };
    expect(kit.ask("observed", { ...claim, txHash: strange }).code).toBe(
      "WITHDRAWAL_OTHER_TRANSACTION",
    );
    expect(kit.ask("observed", { ...claim, txHash: kit.hashOf(id) }).code).toBe(
      "WITHDRAWAL_NOT_RELEASED",
    );
    // The acknowledgement that releases bytes may call them void as well, when their time is over.
    kit.outlive(id);
    kit.gateway.voided.add(kit.hashOf(id));
    kit.acknowledge();
    expect(kit.show(id).attempts[0]!.voidBy).toBe("gateway");
    expect(kit.courierSays(id).ok).toBe(true);
    expect(kit.next(id).ok).toBe(true);
  });

  it("does not come from a gateway's word of another epoch or another time, and its own word is recorded once", () => {
    const { kit, id } = released();
    const hashes = [kit.hashOf(id)];
    const stored = kit.gateway.stored!;
    expect(
      kit.release(kit.gateway.ack(stored, { at: kit.now, void: hashes, ledgerEpoch: 2 })).ok,
    ).toBe(false);
    expect(kit.release(kit.gateway.ack(stored, { at: kit.now - hourMs, void: hashes })).ok).toBe(
      false,
    );
    expect(kit.show(id).attempts[0]!.voidBy).toBeUndefined();
    for (let times = 0; times < 3; times++) kit.gatewaySays(id);
    expect(kit.kinds().filter((kind) => kind === "VOID")).toHaveLength(1);
    expect(kit.records().find(({ kind }) => kind === "VOID")).toMatchObject({ txHashes: hashes });
  });

  it("is not made of one that a block has after all, which only the gateway had called void", () => {
    const { kit, id } = released();
    kit.gatewaySays(id);
    expect(seen(kit, id, "included").ok).toBe(true);
    expect(kit.courierSays(id).code).toBe("WITHDRAWAL_INCLUDED");
    expect(kit.next(id).code).toBe("WITHDRAWAL_INCLUDED");
    expect(seen(kit, id, "final", "paid").ok).toBe(true);
    expect(kit.next(id).code).toBe("WITHDRAWAL_ALIVE");
    kit.acknowledge();
    kit.acknowledge();
    expect(kit.next(id).code).toBe("WITHDRAWAL_CLOSED");
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(1);
    expect(kit.kinds()).not.toContain("ALARM");
  });

  it.each(["paid", "reverted"])(
    "is made where a courier told that the first one was %s, and it became void",
    (outcome) => {
      const { kit, id } = released();
      kit.gatewaySays(id);
      expect(seen(kit, id, "final", outcome).ok).toBe(true);
      expect(kit.show(id).state).toBe(outcome);
      expect(kit.courierSays(id).ok).toBe(true);
      expect(kit.show(id).state).toBe("released");
      expect(kit.next(id).ok).toBe(true);
      kit.acknowledge();
      // The end of the second one is not refuted by the first being void.
      expect(seen(kit, id, "final", "paid", 2).ok).toBe(true);
      expect(kit.show(id).state).toBe("paid");
    },
  );

  it("is made in the end, though a courier told of ends and voids in turns, and the ledger does not grow by them permanently", () => {
    const { kit, id } = released();
    kit.gatewaySays(id);
    let refused = "";
    for (let times = 0; times < 250 && refused === ""; times++) {
      const told = seen(kit, id, "final", "paid");
      if (told.ok) expect(kit.courierSays(id).withdrawal.state).toBe("released");
      else refused = told.code;
    }
    expect(refused).toBe("WITHDRAWAL_TOO_MANY_OBSERVATIONS");
    expect(kit.kinds().filter((kind) => kind === "OBSERVED").length).toBeLessThanOrEqual(201);
    expect(kit.next(id).ok).toBe(true);
    kit.acknowledge();
    expect(seen(kit, id, "final", "paid", 2).withdrawal.state).toBe("paid");
  });

  it("raises an alarm when a block has what both had called void", () => {
    const { kit, id } = released();
    kit.callVoid(id);
    kit.next(id);
    kit.acknowledge();
    expect(seen(kit, id, "broadcast").ok).toBe(true);
    expect(kit.kinds()).not.toContain("ALARM");
    expect(seen(kit, id, "included").ok).toBe(true);
    expect(kit.records().find(({ kind }) => kind === "ALARM")).toMatchObject({
      code: "CHAIN_VOID_INCLUDED",
    });
  });

  it("is signed no more, though it was intended before, once a block has what both had called void", () => {
    const { kit, id } = released();
    kit.callVoid(id);
    kit.send("replace", { transactionId: id, above: 1, txParams: offerAt(kit.now, 300) });
    kit.disk.sync();
    kit.crash();
    kit.handshake();
    const hashes = () => kit.core.book.find(id)!.attempts.map(({ txHash }) => txHash);
    expect(hashes()).toEqual([kit.hashOf(id), ""]);
    expect(seen(kit, id, "included").ok).toBe(true);
    expect(kit.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_ALIVE" });
    expect(hashes()[1]).toBe("");
    // The block is gone, and both words are there again.
    expect(seen(kit, id, "broadcast").ok).toBe(true);
    expect(kit.next(id).code).toBe("WITHDRAWAL_ALIVE");
    expect(kit.courierSays(id).ok).toBe(true);
    expect(kit.next(id).ok).toBe(true);
  });

  it("is not signed beside a first one that a block has, where that is told while the key is asked", () => {
    const { kit, id } = released();
    kit.callVoid(id);
    const txHash = kit.hashOf(id);
    let answer: unknown;
    kit.send(
      "replace",
      { transactionId: id, above: 1, txParams: offerAt(kit.now, 300) },
      (given) => {
        answer = given;
      },
    );
    kit.send("observed", { transactionId: id, stage: "included", outcome: "", txHash, block: 7 });
    kit.settle();
    expect(answer).toMatchObject({ ok: false, code: "WITHDRAWAL_CLOSED" });
    expect(kit.records().filter(({ kind }) => kind === "SIGNED")).toHaveLength(1);
  });

  it("is not made of what the chain has ended by the gateway's word, whatever was called void before", () => {
    const { kit, id } = released();
    kit.callVoid(id);
    kit.gateway.ended.add(id);
    kit.acknowledge();
    expect(kit.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_CLOSED" });
    kit.signer.tick();
    expect(kit.show(id).state).toBe("released");
    expect(seen(kit, id, "final", "paid").withdrawal.state).toBe("paid");
  });

  it("an attempt is called void with a quorum only, and never where a slot excludes", () => {
    const slots = new Kit().ready();
    const { transactionId } = slots.pay();
    const { txHash } = slots.show(transactionId).attempts[0]!;
    const said = slots.ask("observed", {
      transactionId,
      stage: "void",
      outcome: "",
      txHash,
      block: 9,
      quorum: 2,
    });
    expect(said.code).toBe("WITHDRAWAL_OBSERVATION");
    slots.release(slots.gateway.ack(slots.gateway.stored!, { at: slots.now, void: [txHash] }));
    expect(slots.kinds()).not.toContain("VOID");
    expect(slots.show(transactionId).attempts[0]).not.toHaveProperty("until");
    const { kit, id } = released();
    const claim = {
      transactionId: id,
      stage: "void",
      outcome: "",
      txHash: kit.hashOf(id),
      block: 900,
    };
    expect(kit.ask("observed", claim).code).toBe("WITHDRAWAL_OBSERVATION");
    expect(kit.ask("observed", { ...claim, stage: "included", quorum: 2 }).code).toBe(
      "WITHDRAWAL_OBSERVATION",
    );
    kit.outlive(id);
    expect(kit.ask("observed", { ...claim, quorum: 2 }).ok).toBe(true);
  });

  it("counts amount and fee in the place of the void one's", () => {
    const { kit, id } = released();
    const used = () => {
      const limit = kit
        .operate("status")
        .status.limits.find(({ currency }) => currency === "usdt")!;
      return [limit.usedInDay, limit.usedFeesInDay];
    };
    const before = used();
    expect(before[0]).toBe("1.5");
    kit.callVoid(id);
    expect(used()[1]).toBe("0");
    kit.next(id);
    expect(used()).toEqual(before);
  });
});

describe("an operator and an attempt that ends by expiry", () => {
  it("an operator orders the next attempt above manualReplaceAbove, and the status says that it waits for one; below it the courier does", () => {
    const { kit, id } = released("100.000001");
    const small = kit.payout({ amount: "100" });
    expect(kit.order("replace", id).code).toBe("WITHDRAWAL_ALIVE");
    for (const each of [id, small]) kit.callVoid(each);
    expect(kit.next(small).ok).toBe(true);
    expect(kit.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_WAITS_FOR_OPERATOR" });
    expect(kit.operate("status").status.manualReplace).toEqual({
      transactionId: id,
      network,
      slot: "0",
      attempts: 1,
    });
    expect(kit.plan("replace", id).plan).toEqual({ act: "replace", attempt: 2, txParams: {} });
    expect(kit.order("replace", id).ok).toBe(true);
    expect(kit.operate("status").status.manualReplace).toBeUndefined();
    expect(kit.next(id).ok).toBe(true);
    // The word was for one attempt.
    kit.acknowledge();
    kit.callVoid(id, 2);
    expect(kit.next(id, 2).code).toBe("WITHDRAWAL_WAITS_FOR_OPERATOR");
  });

  it("an operator cancels what may still be paid: no attempt follows, and it ends when the last one is void", () => {
    const { kit, id } = released();
    expect(kit.plan("cancel", id).plan).toEqual({ act: "cancel", attempt: 2, txParams: {} });
    const before = kit.records().length;
    expect(kit.order("cancel", id).withdrawal.state).toBe("released");
    expect(kit.order("cancel", id).ok).toBe(true);
    expect(kit.kinds().slice(before)).toEqual(["MANUAL_REPLACEMENT"]);
    kit.signer.tick();
    expect(kit.show(id).state).toBe("released");
    kit.gatewaySays(id);
    kit.signer.tick();
    expect(kit.show(id).state).toBe("released");
    kit.courierSays(id);
    expect(kit.next(id).code).toBe("WITHDRAWAL_CANCELLING");
    expect(kit.plan("replace", id).code).toBe("WITHDRAWAL_CANCELLING");
    kit.signer.tick();
    expect(kit.show(id)).toMatchObject({ state: "expired", isOver: true });
    kit.acknowledge();
    const decisions = kit.statements.flatMap(({ entries }) =>
      entries.filter(({ kind }) => kind === "decision"),
    );
    expect(decisions.at(-1)).toMatchObject({
      transactionId: id,
      decision: "expired",
      code: "JOB_EXPIRED",
    });
    expect(kit.core.book.openOne(id)).toBeUndefined();
    expect(kit.core.accounts.find(network, sender)?.pending).toBe(0);
  });

  it("an operator cancels what is void at once, and what is paid in the meantime stays paid", () => {
    const { kit, id } = released();
    const other = kit.payout();
    kit.callVoid(id);
    expect(kit.order("cancel", id).withdrawal.state).toBe("expired");
    kit.order("cancel", other);
    expect(seen(kit, other, "final", "paid").withdrawal.state).toBe("paid");
    kit.signer.tick();
    expect(kit.show(other).state).toBe("paid");
  });

  it("an operator is not asked when the signer is paused: a paused one makes no second attempt, and cancels", () => {
    const { kit, id } = released();
    kit.callVoid(id);
    kit.operate("pause", { paused: true });
    expect(kit.next(id).code).toBe("SIGNER_PAUSED");
    expect(kit.order("cancel", id).withdrawal.state).toBe("expired");
  });
});

describe("an order that runs out after a signature", () => {
  it("ends once every attempt is void by both, and not before, whatever the clock says", () => {
    const { kit, id } = released();
    kit.now += 86_400_000 + hourMs;
    kit.handshake();
    kit.signer.tick();
    expect(kit.show(id).state).toBe("released");
    kit.courierSays(id);
    kit.signer.tick();
    expect(kit.show(id).state).toBe("released");
    kit.gatewaySays(id);
    kit.signer.tick();
    expect(kit.show(id).state).toBe("expired");
    expect(
      kit.pushes.some((push) => push.push === "changed" && push.withdrawal.state === "expired"),
    ).toBe(true);
  });

  it("gets no second attempt either, and ends at that question", () => {
    const { kit, id } = released();
    kit.callVoid(id);
    kit.now += 86_400_000 + hourMs;
    kit.handshake();
    expect(kit.next(id)).toMatchObject({ ok: false, code: "JOB_EXPIRED" });
    expect(kit.show(id).state).toBe("expired");
  });

  it("goes on while it has time, and one that a block has does not end", () => {
    const { kit, id } = released();
    const other = kit.payout();
    kit.callVoid(id);
    seen(kit, other, "included");
    kit.signer.tick();
    expect(kit.show(id).state).toBe("released");
    kit.now += 86_400_000 + hourMs;
    kit.handshake();
    kit.signer.tick();
    expect([kit.show(id).state, kit.show(other).state]).toEqual(["expired", "included"]);
  });
});

describe("bytes that end by expiry", () => {
  it("are refused by the reader of another account, another network's family and other parameters", () => {
    const txParams = offerAt(1_700_000_000_000);
    const payment = {
      network,
      account: sender,
      slot: "0",
      contract: token.contract,
      destination: receiver,
      tag: "",
      amountUnits: 5n,
    };
    const unsigned = familyTransactionsOf(network).build(payment, txParams);
    const told = { network, account: sender, slot: "0", txParams };
    expect(familyTransactionsOf(network).describe(unsigned, told)).toMatchObject({
      ok: true,
      description: { account: sender },
    });
    expect(
      familyTransactionsOf(network).describe(unsigned, { ...told, network: "eip155:1" }),
    ).toMatchObject({ ok: false });
    expect(
      familyTransactionsOf(network).describe(unsigned, {
        ...told,
        txParams: offerAt(1_700_000_000_001),
      }),
    ).toMatchObject({
      ok: false,
    });
  });
});
