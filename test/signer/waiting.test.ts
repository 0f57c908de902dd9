/**
 * Exclusion by waiting: a second version, and the end without a payment, come after two words that
 * every version is dead, and after nothing less; no clock takes the place of either.
 */
import { describe, expect, it } from "vitest";
import { waitingOf } from "../../chains/families.ts";
import { transactionsOf } from "../../chains/transactions.ts";
import { readBack } from "../../chains/tron/node-read-back.ts";
import { Rig } from "../../lab/rig/signer-rig.ts";
import { token } from "../../lab/rig/tron-values.ts";
import { network, offerAt, payer, receiver, type WaitingRig, waitingRig, waitingSettings } from "../support/waiting-rig.ts";

const hourMs = 3_600_000;

function released(amount = "1.5"): { readonly rig: WaitingRig; readonly id: string } {
  const rig = waitingRig();
  return { rig, id: rig.payout({ amount }) };
}

function seen(rig: WaitingRig, transactionId: string, stage: string, outcome = "", version = 1) {
  const txHash = rig.hashOf(transactionId, version);
  return rig.ask("observed", { transactionId, stage, outcome, txHash, block: stage === "broadcast" ? 0 : 7 });
}

describe("a first version that ends by waiting", () => {
  it("a first version that ends by waiting begins its account by itself, and its entry says until when it can come into a block", async () => {
    const { rig, id } = released();
    expect(rig.kinds().filter((kind) => ["ADOPTED", "INTENT", "SIGNED", "RELEASED"].includes(kind))).toEqual([
      ...["ADOPTED", "INTENT", "SIGNED", "RELEASED"],
    ]);
    const [version] = rig.show(id).versions;
    const facts = version!.facts!;
    expect(version).toMatchObject({ until: Number(facts.expirationMs), version: 1 });
    expect(version!.dead).toBeUndefined();
    const entries = rig.statements.flatMap((statement) => statement.entries);
    expect(entries.find((entry) => entry.kind === "signed")).toMatchObject({ slot: "0", until: version!.until, account: payer });
    const payment = {
      network,
      account: payer,
      slot: "0",
      contract: token.contract,
      destination: receiver,
      amountUnits: 1_500_000n,
    };
    expect(await readBack(version!.raw!, { payment, facts, txHash: version!.txHash, isCancel: false })).toBe("");
  });

  it("two equal payments by one offer have different hashes, and the second's end moves with its stamp", () => {
    const rig = waitingRig();
    const facts = offerAt(rig.now);
    const ids = [1, 2].map(() => rig.request({ network, address: receiver }).transactionId);
    for (const transactionId of ids) expect(rig.ask("sign", { transactionId, facts }).ok).toBe(true);
    const [one, two] = ids.map((id) => rig.show(id).versions[0]!);
    expect(one!.txHash).not.toBe(two!.txHash);
    expect(two!.until! - one!.until!).toBe(1);
    expect(ids.map((id) => rig.show(id).slot)).toEqual(["0", "1"]);
  });

  it("a first version that ends by waiting is refused when it could come into a block for longer than is allowed, and taken up to there", () => {
    const rig = waitingRig();
    const { transactionId } = rig.request({ network, address: receiver });
    const offer = (untilMs: number) => {
      const facts = offerAt(untilMs - 300_000);
      return rig.ask("sign", { transactionId, facts });
    };
    // By the gateway's time, however wrong the local clock is: a stamp of far ahead would make the
    // bytes come into a block before anybody looks for them.
    rig.skew = 500_000;
    const latest = rig.now + waitingOf(network)!.lifeMsMax + 60_000;
    const before = rig.records().length;
    expect(offer(latest + 1)).toMatchObject({ ok: false, code: "TRANSACTION_LIFE" });
    const long = { ...offerAt(rig.now), expirationMs: `${rig.now + 600_001}` };
    expect(rig.ask("sign", { transactionId, facts: long }).code).toMatch(/^TRANSACTION_/);
    expect(
      rig
        .records()
        .slice(before)
        .filter(({ kind }) => kind === "INTENT"),
    ).toEqual([]);
    expect(offer(latest).ok).toBe(true);
  });

  it("a first version that ends by waiting stands in front of none: one that is quarantined holds up no other payment", () => {
    const rig = waitingRig();
    const first = rig.request({ network, address: receiver }).transactionId;
    rig.send("sign", { transactionId: first, facts: offerAt(rig.now) });
    rig.disk.sync();
    rig.crash();
    rig.edited = {
      ...waitingSettings,
      policy: { trx: waitingSettings.policy.trx!, usdt: { ...waitingSettings.policy.usdt!, deny: [receiver] } },
    };
    rig.start();
    rig.greet();
    expect(rig.show(first).state).toBe("quarantined");
    rig.edited = null;
    rig.start();
    rig.greet();
    rig.payout();
    expect(rig.show(first).state).toBe("quarantined");
  });

  it("a first version that ends by waiting has no count to be held against, and is neither lost nor cancelled by another transaction", () => {
    const { rig, id } = released();
    for (const at of [0, 70_000]) {
      rig.now += at;
      expect(rig.ask("account", { chain: "tron", slot: "9", witnesses: 2 }).ok).toBe(true);
    }
    expect(rig.ask("hello").locked).toBe("");
    for (const outcome of ["lost", "cancelled"]) {
      const claim = { transactionId: id, stage: "final", outcome, txHash: "", block: 7 };
      expect(rig.ask("observed", claim).code).toBe("WITHDRAWAL_OBSERVATION");
    }
    expect(seen(rig, id, "final", "paid").ok).toBe(true);
  });
});

describe("a second version", () => {
  it.each<[string, (rig: WaitingRig, id: string) => void]>([
    ["while nobody has called the first one dead, whatever the clock says", (rig) => (rig.now += hourMs)],
    ["on the gateway's word alone", (rig, id) => rig.gatewaySays(id)],
    ["on the courier's word alone", (rig, id) => rig.courierSays(id)],
  ])("a second version is not made %s", (_, said) => {
    const { rig, id } = released();
    said(rig, id);
    expect(rig.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_ALIVE" });
    expect(rig.kinds().filter((kind) => kind === "INTENT")).toHaveLength(1);
  });

  it("a second version is made once both have said so, of the same payment, with another hash and a later stamp", async () => {
    const { rig, id } = released();
    rig.now += 420_000;
    rig.callDead(id);
    expect(rig.next(id).ok).toBe(true);
    const { versions } = { ...rig.acknowledge().withdrawals[0]! };
    const [one, two] = rig.show(id).versions;
    expect([one!.dead, two!.dead]).toEqual(["both", undefined]);
    expect(two!.txHash).not.toBe(one!.txHash);
    expect(BigInt(two!.facts!.timestampMs!)).toBeGreaterThan(BigInt(one!.facts!.timestampMs!));
    const payment = {
      network,
      account: payer,
      slot: "0",
      contract: token.contract,
      destination: receiver,
      amountUnits: 1_500_000n,
    };
    const raw = versions.at(-1)!.raw!;
    expect(await readBack(raw, { payment, facts: two!.facts, txHash: two!.txHash, isCancel: false })).toBe("");
    // Twice is once; the third one waits for the second.
    expect(rig.next(id).ok).toBe(true);
    expect(rig.next(id, 2).code).toBe("WITHDRAWAL_ALIVE");
    expect(rig.kinds().filter((kind) => kind === "INTENT")).toHaveLength(2);
  });

  it("a second version needs the word of as many nodes as the courier has, and of one where it has one", () => {
    const { rig, id } = released();
    const other = rig.payout();
    rig.gatewaySays(id);
    rig.gatewaySays(other);
    expect(rig.courierSays(other, 1, 1).ok).toBe(true);
    expect(rig.courierSays(id, 1, 2).ok).toBe(true);
    const [third, fourth] = [rig.payout(), rig.payout()];
    rig.gatewaySays(third);
    expect(rig.courierSays(fourth, 1, 2).ok).toBe(true);
    expect(rig.courierSays(third, 1, 1)).toMatchObject({ ok: false, code: "WITHDRAWAL_ALIVE" });
    expect(rig.next(third).code).toBe("WITHDRAWAL_ALIVE");
    expect(rig.courierSays(third, 1, 2).ok).toBe(true);
    expect(rig.next(third).ok).toBe(true);
  });

  it("a second version is not made for a hash that the ledger does not have, nor for bytes that were not let out", () => {
    const rig = waitingRig();
    const { transactionId: id } = rig.request({ network, address: receiver });
    rig.ask("sign", { transactionId: id, facts: offerAt(rig.now) });
    const before = rig.records().length;
    const strange = "ab".repeat(32);
    const stored = rig.gateway.stored!;
    rig.release(rig.gateway.ack(stored, { at: rig.now, dead: [strange, rig.hashOf(id)] }));
    expect(
      rig
        .records()
        .slice(before)
        .filter(({ kind }) => kind === "DEAD"),
    ).toEqual([]);
    const claim = { transactionId: id, stage: "dead", outcome: "", block: 900, witnesses: 2 };
    expect(rig.ask("observed", { ...claim, txHash: strange }).code).toBe("WITHDRAWAL_OTHER_TRANSACTION");
    expect(rig.ask("observed", { ...claim, txHash: rig.hashOf(id) }).code).toBe("WITHDRAWAL_NOT_RELEASED");
    // The acknowledgement that releases bytes may call them dead as well, when their time is over.
    rig.outlive(id);
    rig.gateway.dead.add(rig.hashOf(id));
    rig.acknowledge();
    expect(rig.show(id).versions[0]!.dead).toBe("gateway");
    expect(rig.courierSays(id).ok).toBe(true);
    expect(rig.next(id).ok).toBe(true);
  });

  it("a second version does not come from a gateway's word of another epoch or another time, and its own word is recorded once", () => {
    const { rig, id } = released();
    const dead = [rig.hashOf(id)];
    const stored = rig.gateway.stored!;
    expect(rig.release(rig.gateway.ack(stored, { at: rig.now, dead, epoch: 2 })).ok).toBe(false);
    expect(rig.release(rig.gateway.ack(stored, { at: rig.now - hourMs, dead })).ok).toBe(false);
    expect(rig.show(id).versions[0]!.dead).toBeUndefined();
    for (let times = 0; times < 3; times++) rig.gatewaySays(id);
    expect(rig.kinds().filter((kind) => kind === "DEAD")).toHaveLength(1);
    expect(rig.records().find(({ kind }) => kind === "DEAD")).toMatchObject({ txHashes: dead });
  });

  it("a second version is not made of one that a block has after all, which only the gateway had called dead", () => {
    const { rig, id } = released();
    rig.gatewaySays(id);
    expect(seen(rig, id, "included").ok).toBe(true);
    expect(rig.courierSays(id).code).toBe("WITHDRAWAL_INCLUDED");
    expect(rig.next(id).code).toBe("WITHDRAWAL_INCLUDED");
    expect(seen(rig, id, "final", "paid").ok).toBe(true);
    expect(rig.next(id).code).toBe("WITHDRAWAL_ALIVE");
    rig.acknowledge();
    rig.acknowledge();
    expect(rig.next(id).code).toBe("WITHDRAWAL_CLOSED");
    expect(rig.kinds().filter((kind) => kind === "INTENT")).toHaveLength(1);
    expect(rig.kinds()).not.toContain("ALARM");
  });

  it.each(["paid", "reverted"])(
    "a second version is made where a courier told that the first one was %s, and it died",
    (outcome) => {
      const { rig, id } = released();
      rig.gatewaySays(id);
      expect(seen(rig, id, "final", outcome).ok).toBe(true);
      expect(rig.show(id).state).toBe(outcome);
      expect(rig.courierSays(id).ok).toBe(true);
      expect(rig.show(id).state).toBe("released");
      expect(rig.next(id).ok).toBe(true);
      rig.acknowledge();
      // The end of the second one is not refuted by the death of the first.
      expect(seen(rig, id, "final", "paid", 2).ok).toBe(true);
      expect(rig.show(id).state).toBe("paid");
    },
  );

  it("a second version is made in the end, though a courier told of ends and deaths in turns, and the ledger does not grow by them permanently", () => {
    const { rig, id } = released();
    rig.gatewaySays(id);
    let refused = "";
    for (let times = 0; times < 250 && refused === ""; times++) {
      const told = seen(rig, id, "final", "paid");
      if (told.ok) expect(rig.courierSays(id).withdrawal.state).toBe("released");
      else refused = told.code;
    }
    expect(refused).toBe("WITHDRAWAL_TOO_MANY_OBSERVATIONS");
    expect(rig.kinds().filter((kind) => kind === "OBSERVED").length).toBeLessThanOrEqual(201);
    expect(rig.next(id).ok).toBe(true);
    rig.acknowledge();
    expect(seen(rig, id, "final", "paid", 2).withdrawal.state).toBe("paid");
  });

  it("a second version raises an alarm when a block has what both had called dead", () => {
    const { rig, id } = released();
    rig.callDead(id);
    rig.next(id);
    rig.acknowledge();
    expect(seen(rig, id, "broadcast").ok).toBe(true);
    expect(rig.kinds()).not.toContain("ALARM");
    expect(seen(rig, id, "included").ok).toBe(true);
    expect(rig.records().find(({ kind }) => kind === "ALARM")).toMatchObject({ code: "CHAIN_DEAD_INCLUDED" });
  });

  it("a second version is signed no more, though it was intended before, once a block has what both had called dead", () => {
    const { rig, id } = released();
    rig.callDead(id);
    rig.send("replace", { transactionId: id, above: 1, facts: offerAt(rig.now, 300) });
    rig.disk.sync();
    rig.crash();
    rig.greet();
    const hashes = () => rig.core.book.find(id)!.versions.map(({ txHash }) => txHash);
    expect(hashes()).toEqual([rig.hashOf(id), ""]);
    expect(seen(rig, id, "included").ok).toBe(true);
    expect(rig.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_ALIVE" });
    expect(hashes()[1]).toBe("");
    // The block is gone, and both words are there again.
    expect(seen(rig, id, "broadcast").ok).toBe(true);
    expect(rig.next(id).code).toBe("WITHDRAWAL_ALIVE");
    expect(rig.courierSays(id).ok).toBe(true);
    expect(rig.next(id).ok).toBe(true);
  });

  it("a second version is not signed beside a first one that a block has, where that is told while the key is asked", () => {
    const { rig, id } = released();
    rig.callDead(id);
    const txHash = rig.hashOf(id);
    let answer: unknown;
    rig.send("replace", { transactionId: id, above: 1, facts: offerAt(rig.now, 300) }, (given) => {
      answer = given;
    });
    rig.send("observed", { transactionId: id, stage: "included", outcome: "", txHash, block: 7 });
    rig.settle();
    expect(answer).toMatchObject({ ok: false, code: "WITHDRAWAL_CLOSED" });
    expect(rig.records().filter(({ kind }) => kind === "SIGNED")).toHaveLength(1);
  });

  it("a second version is not made of what the chain has ended by the gateway's word, whatever was called dead before", () => {
    const { rig, id } = released();
    rig.callDead(id);
    rig.gateway.ended.add(id);
    rig.acknowledge();
    expect(rig.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_CLOSED" });
    rig.signer.tick();
    expect(rig.show(id).state).toBe("released");
    expect(seen(rig, id, "final", "paid").withdrawal.state).toBe("paid");
  });

  it("a version is called dead with witnesses only, and never where a slot excludes", () => {
    const slots = new Rig().ready();
    const { transactionId } = slots.pay();
    const { txHash } = slots.show(transactionId).versions[0]!;
    const said = slots.ask("observed", { transactionId, stage: "dead", outcome: "", txHash, block: 9, witnesses: 2 });
    expect(said.code).toBe("WITHDRAWAL_OBSERVATION");
    slots.release(slots.gateway.ack(slots.gateway.stored!, { at: slots.now, dead: [txHash] }));
    expect(slots.kinds()).not.toContain("DEAD");
    expect(slots.show(transactionId).versions[0]).not.toHaveProperty("until");
    const { rig, id } = released();
    const claim = { transactionId: id, stage: "dead", outcome: "", txHash: rig.hashOf(id), block: 900 };
    expect(rig.ask("observed", claim).code).toBe("WITHDRAWAL_OBSERVATION");
    expect(rig.ask("observed", { ...claim, stage: "included", witnesses: 2 }).code).toBe("WITHDRAWAL_OBSERVATION");
    rig.outlive(id);
    expect(rig.ask("observed", { ...claim, witnesses: 2 }).ok).toBe(true);
  });

  it("a second version counts amount and fee in the place of the dead one's", () => {
    const { rig, id } = released();
    const used = () => {
      const limit = rig.operate("status").status.limits.find(({ currency }) => currency === "usdt")!;
      return [limit.usedInDay, limit.usedFeesInDay];
    };
    const before = used();
    expect(before[0]).toBe("1.5");
    rig.callDead(id);
    expect(used()[1]).toBe("0");
    rig.next(id);
    expect(used()).toEqual(before);
  });
});

describe("a person and a version that ends by waiting", () => {
  it("a person orders the next version above resignAbove, and the status says that it waits for one; below it the courier does", () => {
    const { rig, id } = released("100.000001");
    const small = rig.payout({ amount: "100" });
    expect(rig.order("replace", id).code).toBe("WITHDRAWAL_ALIVE");
    for (const each of [id, small]) rig.callDead(each);
    expect(rig.next(small).ok).toBe(true);
    expect(rig.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_WAITS_FOR_PERSON" });
    expect(rig.operate("status").status.resign).toEqual({ transactionId: id, network, slot: "0", versions: 1 });
    expect(rig.plan("replace", id).plan).toEqual({ act: "replace", version: 2, facts: {} });
    expect(rig.order("replace", id).ok).toBe(true);
    expect(rig.operate("status").status.resign).toBeUndefined();
    expect(rig.next(id).ok).toBe(true);
    // The word was for one version.
    rig.acknowledge();
    rig.callDead(id, 2);
    expect(rig.next(id, 2).code).toBe("WITHDRAWAL_WAITS_FOR_PERSON");
  });

  it("a person cancels what may still be paid: no version follows, and it ends when the last one is dead", () => {
    const { rig, id } = released();
    expect(rig.plan("cancel", id).plan).toEqual({ act: "cancel", version: 2, facts: {} });
    const before = rig.records().length;
    expect(rig.order("cancel", id).withdrawal.state).toBe("released");
    expect(rig.order("cancel", id).ok).toBe(true);
    expect(rig.kinds().slice(before)).toEqual(["UNSTUCK"]);
    rig.signer.tick();
    expect(rig.show(id).state).toBe("released");
    rig.gatewaySays(id);
    rig.signer.tick();
    expect(rig.show(id).state).toBe("released");
    rig.courierSays(id);
    expect(rig.next(id).code).toBe("WITHDRAWAL_CANCELLING");
    expect(rig.plan("replace", id).code).toBe("WITHDRAWAL_CANCELLING");
    rig.signer.tick();
    expect(rig.show(id)).toMatchObject({ state: "expired", isOver: true });
    rig.acknowledge();
    const decisions = rig.statements.flatMap(({ entries }) => entries.filter(({ kind }) => kind === "decision"));
    expect(decisions.at(-1)).toMatchObject({ transactionId: id, decision: "expired", code: "JOB_EXPIRED" });
    expect(rig.core.book.openOne(id)).toBeUndefined();
    expect(rig.core.accounts.find(network, payer)?.pending).toBe(0);
  });

  it("a person cancels what is dead at once, and what is paid in the meantime stays paid", () => {
    const { rig, id } = released();
    const other = rig.payout();
    rig.callDead(id);
    expect(rig.order("cancel", id).withdrawal.state).toBe("expired");
    rig.order("cancel", other);
    expect(seen(rig, other, "final", "paid").withdrawal.state).toBe("paid");
    rig.signer.tick();
    expect(rig.show(other).state).toBe("paid");
  });

  it("a person is not asked when the signer is paused: a paused one makes no second version, and cancels", () => {
    const { rig, id } = released();
    rig.callDead(id);
    rig.operate("pause", { paused: true });
    expect(rig.next(id).code).toBe("SIGNER_PAUSED");
    expect(rig.order("cancel", id).withdrawal.state).toBe("expired");
  });
});

describe("an order that runs out after a signature", () => {
  it("an order that runs out after a signature ends once every version is dead by both, and not before, whatever the clock says", () => {
    const { rig, id } = released();
    rig.now += 86_400_000 + hourMs;
    rig.greet();
    rig.signer.tick();
    expect(rig.show(id).state).toBe("released");
    rig.courierSays(id);
    rig.signer.tick();
    expect(rig.show(id).state).toBe("released");
    rig.gatewaySays(id);
    rig.signer.tick();
    expect(rig.show(id).state).toBe("expired");
    expect(rig.pushes.some((push) => push.push === "changed" && push.withdrawal.state === "expired")).toBe(true);
  });

  it("an order that runs out after a signature gets no second version either, and ends at that question", () => {
    const { rig, id } = released();
    rig.callDead(id);
    rig.now += 86_400_000 + hourMs;
    rig.greet();
    expect(rig.next(id)).toMatchObject({ ok: false, code: "JOB_EXPIRED" });
    expect(rig.show(id).state).toBe("expired");
  });

  it("an order that runs out after a signature goes on while it has time, and one that a block has does not end", () => {
    const { rig, id } = released();
    const other = rig.payout();
    rig.callDead(id);
    seen(rig, other, "included");
    rig.signer.tick();
    expect(rig.show(id).state).toBe("released");
    rig.now += 86_400_000 + hourMs;
    rig.greet();
    rig.signer.tick();
    expect([rig.show(id).state, rig.show(other).state]).toEqual(["expired", "included"]);
  });
});

describe("bytes that end by waiting", () => {
  it("bytes that end by waiting are refused by the reader of another account, another network's family and other facts", () => {
    const facts = offerAt(1_700_000_000_000);
    const payment = { network, account: payer, slot: "0", contract: token.contract, destination: receiver, amountUnits: 5n };
    const unsigned = transactionsOf(network).build(payment, facts);
    const told = { network, account: payer, slot: "0", facts };
    expect(transactionsOf(network).describe(unsigned, told)).toMatchObject({ ok: true, description: { account: payer } });
    expect(transactionsOf(network).describe(unsigned, { ...told, network: "eip155:1" })).toMatchObject({ ok: false });
    expect(transactionsOf(network).describe(unsigned, { ...told, facts: offerAt(1_700_000_000_001) })).toMatchObject({
      ok: false,
    });
  });
});
