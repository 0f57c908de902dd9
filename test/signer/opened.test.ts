/**
 * A restored ledger is closed, and a new one is opened: a withdrawal with a slot goes on there, one
 * without comes again as a job.
 */
import { Transaction } from "ethers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { depositsOf } from "../../agent/signer/policy/own.ts";
import { families } from "../../chains/families.ts";
import { beginRecovery } from "../../gateway/recovery/recovery.ts";
import { writePlace } from "../../gateway/store/sweeps.ts";
import { contentHashOfJob } from "../../gateway/withdrawals/withdrawals.ts";
import { type AnyAnswer, facts, hot, merchant, shop, token, vault } from "../../lab/rig/signer-rig.ts";
import { transactionIdOf } from "../../protocol/identity.ts";
import { backup, ledgerOf, restore } from "../support/recovery-order.ts";
import { SignerAndGateway } from "../support/signer-and-gateway.ts";

let both: SignerAndGateway;
beforeEach(() => {
  both = new SignerAndGateway();
});
afterEach(() => both.remove());

const kinds = () => ledgerOf(both.rig).map(({ kind }) => kind);
const signedOf = (id: string) =>
  both.store.database.all<{ version: number; slot: string; txHash: string }>(
    "SELECT version, slot, txHash FROM signatures WHERE transactionId = ? ORDER BY version",
    id,
  );
const never = (): never => {
  throw new Error("the currency has limits");
};
const dearer = { gasLimit: "65000", maxFeePerGas: "4000000000", maxPriorityFeePerGas: "2000000000" };

describe("an agent that went back", () => {
  it("an agent that went back locks, is opened by two people, and pays everything that it had forgotten once, on the slot that it had", () => {
    both.pay("before");
    const copy = backup(both.rig);
    const lost = both.pay("lost");
    const waiting = both.order("waiting");
    both.acknowledge();
    restore(both.rig, copy);
    expect(both.connect()).toMatchObject({ code: "SIGNER_LOCKED", detail: "LEDGER_BEHIND_GATEWAY" });
    const plan = both.recover();
    expect(plan).toMatchObject({ both: false, isHere: false, kept: 2, left: 0, newEpoch: 2 });
    expect(plan.accounts).toMatchObject([{ ledgerNext: "6", gatewayNext: "7", next: "7" }]);
    expect(kinds().at(kinds().indexOf("OPENED"))).toBe("OPENED");
    expect(both.rig.ask("hello")).toMatchObject({ greeted: true, locked: "" });
    // Policy approved again by itself; a version with a higher fee goes out on the same slot.
    expect(both.rig.show(lost)).toMatchObject({ state: "released", slot: "6", code: "" });
    expect(both.rig.ask("replace", { transactionId: lost, above: 1, facts: dearer })).toMatchObject({ ok: true });
    both.acknowledge();
    expect(signedOf(lost).map(({ version, slot }) => [version, slot])).toEqual([
      [1, "6"],
      [2, "6"],
    ]);
    // A withdrawal that had no slot is a job again, behind the old ones, and policy decides.
    expect(both.rig.show(waiting)).toMatchObject({ state: "approved", sequence: 4 });
    expect(both.rig.ask("sign", { transactionId: waiting, facts })).toMatchObject({ withdrawal: { slot: "7" } });
    both.acknowledge();
    expect(signedOf(waiting)).toMatchObject([{ slot: "7" }]);
  });

  it("an agent that went back is complete again after a restart: its first record names the state that it began with", () => {
    const copy = backup(both.rig);
    const lost = both.pay("lost");
    restore(both.rig, copy);
    both.connect();
    both.recover();
    const before = both.rig.core.snapshot();
    both.rig.forget();
    both.rig.start();
    expect(both.rig.core.snapshot()).toEqual(before);
    expect(both.rig.core.paired.epoch).toBe(2);
    both.meet();
    expect(both.rig.show(lost)).toMatchObject({ state: "released", slot: "5" });
  });

  it("an agent that went back keeps a sweep on the slot of the address that it empties, and the paying account goes on for itself", () => {
    const { rig } = both;
    const address = families.evm.depositAddress(depositsOf(vault.accounts, "evm"), 3);
    const sweep = (place: number): string => {
      const orderId = `${address}/${place}`;
      const id = transactionIdOf({ merchant, operation: "sweep", orderId });
      const job = { mode: "sweep", currency: "usdt", amount: "1.5", depositAddress: address, address: "", tag: "" } as const;
      const row = { mode: "", receiverAddress: hot, depositAddress: address, metadata: writePlace(3) } as const;
      both.order(orderId, { id, operation: "sweep", contentHash: contentHashOfJob(job), ...row });
      return id;
    };
    const lost = both.pay("beside");
    const copy = backup(rig);
    const swept = sweep(1);
    rig.ask("adopt", { chain: "local", slot: "4", witnesses: 2, address });
    rig.operate("adopt", { chain: "local", slot: "4", address });
    rig.ask("sign", { transactionId: swept, facts });
    both.acknowledge();
    expect(rig.show(swept)).toMatchObject({ state: "released", account: address, slot: "4" });
    restore(rig, copy);
    both.connect();
    const plan = both.recover();
    expect(plan.accounts).toMatchObject([
      { account: hot, ledgerNext: "6", gatewayNext: "6", next: "6" },
      { account: address, ledgerNext: "", gatewayNext: "5", next: "5" },
    ]);
    expect(rig.show(swept)).toMatchObject({ state: "released", account: address, slot: "4" });
    expect(rig.show(lost)).toMatchObject({ account: hot, slot: "5" });
    expect(signedOf(swept)).toMatchObject([{ version: 1, slot: "4" }]);
    both.complete(swept);
    const next = sweep(2);
    rig.ask("sign", { transactionId: next, facts });
    expect(rig.show(next)).toMatchObject({ account: address, slot: "5" });
    expect(rig.ask("sign", { transactionId: both.order("after"), facts })).toMatchObject({ withdrawal: { slot: "6" } });
  });

  it("an agent that went back never pays again what it knows to have ended, nor what ended while it was not looking", () => {
    const paid = both.pay("paid");
    both.complete(paid);
    const open = both.order("open");
    const copy = backup(both.rig);
    both.rig.ask("sign", { transactionId: open, facts });
    both.acknowledge();
    both.complete(open);
    restore(both.rig, copy);
    both.connect();
    // An end is final: the chain counts it before the gateway reports it.
    both.rig.ask("account", { chain: "local", slot: "7", witnesses: 2 });
    expect(both.recover()).toMatchObject({ kept: 0, left: 1 });
    expect(both.rig.core.book.stateOf(paid)).toBe("paid");
    expect(both.rig.core.book.stateOf(open)).toBeUndefined();
    both.order("open");
    both.meet();
    expect(both.rig.core.book.stateOf(open)).toBeUndefined();
    expect(signedOf(open)).toHaveLength(1);
  });

  it("an agent that went back keeps a person's yes to a payment that is the same in both, and asks one where there is none", () => {
    const { rig } = both;
    const id = both.order("above", { amount: "600", amountUnits: "600000000" });
    const lost = both.order("lost", { amount: "700", amountUnits: "700000000" });
    for (const one of [id, lost].filter((each) => rig.show(each).state === "held")) {
      rig.operate("approve", { transactionId: one, digest: rig.show(one).approvalDigest, address: "" });
    }
    rig.ask("sign", { transactionId: id, facts });
    both.acknowledge();
    const copy = backup(rig);
    rig.ask("sign", { transactionId: lost, facts });
    both.acknowledge();
    restore(rig, copy);
    both.connect();
    both.recover();
    expect(rig.show(id)).toMatchObject({ state: "released", slot: "5" });
    expect(rig.show(lost).slot).toBe("6");
  });

  it("an agent that went back leaves what policy says no to on its slot for a person, who cannot refuse it", () => {
    const { rig } = both;
    const copy = backup(rig);
    const lost = both.pay("lost");
    both.store.database.run("UPDATE transactions SET receiverAddress = ? WHERE id = ?", shop, lost);
    restore(rig, copy);
    both.connect();
    both.sayYes();
    const found = rig.core.book.find(lost)!;
    expect(found).toMatchObject({ state: "quarantined", code: "", slot: "5", isKept: true });
    both.meet();
    expect(rig.operate("refuse", { transactionId: lost })).toMatchObject({ code: "WITHDRAWAL_BOUND" });
    rig.now += 30 * 86_400_000;
    rig.signer.tick();
    expect(rig.show(lost).state).toBe("released");
  });

  it("an agent that went back is opened once for one yes, and not at all for a yes to something else", () => {
    const copy = backup(both.rig);
    both.pay("lost");
    restore(both.rig, copy);
    both.connect();
    both.sayYes();
    expect(both.rig.operate("recover", { digest: "00".repeat(32), both: false })).toMatchObject({ code: "RECOVERY_NONE" });
    expect(kinds().filter((kind) => kind === "OPENED")).toHaveLength(1);
  });

  it("an agent that went back refuses the old copy by its epoch", () => {
    const copy = backup(both.rig);
    both.pay("lost");
    restore(both.rig, copy);
    both.connect();
    both.recover();
    restore(both.rig, copy);
    expect(both.connect()).toBeNull();
  });
});

describe("two histories", () => {
  it("a payment that never left gives way to the gateway's, slot by slot", () => {
    const { rig } = both;
    const [one, two] = [both.order("one"), both.order("two")];
    both.acknowledge();
    const copy = backup(rig);
    rig.ask("sign", { transactionId: one, facts });
    const other = backup(rig);
    restore(rig, copy);
    both.connect();
    rig.ask("sign", { transactionId: two, facts });
    both.acknowledge();
    restore(rig, other);
    both.connect();
    both.recover();
    expect(rig.show(two)).toMatchObject({ slot: "5", state: "released" });
    expect(rig.show(one)).toMatchObject({ slot: "", state: "approved" });
    expect(rig.ask("sign", { transactionId: one, facts })).toMatchObject({ withdrawal: { slot: "6" } });
    both.acknowledge();
    expect(rig.core.locked).toBeNull();
  });

  it("two histories that contradict each other about a released payment get no signature, and the chain decides", () => {
    const { rig } = both;
    const [one, two] = [both.order("one"), both.order("two")];
    both.acknowledge();
    const copy = backup(rig);
    both.keepDatabase("early");
    rig.ask("sign", { transactionId: one, facts });
    both.acknowledge();
    const other = backup(rig);
    const { txHash } = rig.show(one).versions[0]!;
    restore(rig, copy);
    both.putDatabaseBack("early");
    both.meet();
    rig.ask("sign", { transactionId: two, facts });
    both.acknowledge();
    restore(rig, other);
    both.connect();
    expect(both.recover(true)).toMatchObject({ both: true, kept: 2 });
    for (const id of [one, two]) {
      expect(rig.show(id)).toMatchObject({ state: "quarantined", code: "SLOT_CONTESTED", slot: "5" });
      const { approvalDigest: digest } = rig.show(id);
      expect(rig.operate("approve", { transactionId: id, digest, address: "" })).toMatchObject({ code: "SLOT_CONTESTED" });
      expect(rig.ask("sign", { transactionId: id, facts })).toMatchObject({ ok: false });
    }
    rig.ask("observed", { transactionId: one, stage: "final", outcome: "paid", txHash, block: 9 });
    rig.ask("observed", { transactionId: two, stage: "final", outcome: "lost", txHash, block: 9 });
    expect([one, two].map((id) => rig.show(id).state)).toEqual(["paid", "lost"]);
    expect(rig.core.locked).toBeNull();
  });
});

describe("a slot that only a cancel can end", () => {
  const fees = { gasLimit: "", maxFeePerGas: "9000000000", maxPriorityFeePerGas: "5000000000" };
  const cancel = (transactionId: string, wish: object = fees) => {
    const asked = { transactionId, act: "cancel", facts: { ...fees, ...wish } };
    const shown = both.rig.operate("unstick", { ...asked, plan: null }) as AnyAnswer & { readonly plan: object };
    return shown.ok ? both.rig.operate("unstick", { ...asked, plan: shown.plan }) : shown;
  };

  it("a slot that only a cancel can end is cancelled under the withdrawal that the gateway has on it: another's signature would stop everything", () => {
    const { rig } = both;
    const [ours, theirs] = [both.order("ours"), both.order("theirs")];
    both.acknowledge();
    const copy = backup(rig);
    both.keepDatabase("early");
    rig.ask("sign", { transactionId: ours, facts });
    both.acknowledge();
    const other = backup(rig);
    restore(rig, copy);
    both.putDatabaseBack("early");
    both.meet();
    rig.ask("sign", { transactionId: theirs, facts });
    both.acknowledge();
    restore(rig, other);
    both.connect();
    both.recover(true);
    expect(cancel(ours)).toMatchObject({ code: "SLOT_CONTESTED", detail: expect.stringContaining(theirs) });
    expect(cancel(theirs)).toMatchObject({ withdrawal: { versions: [{ version: 1 }, { version: 2, isCancel: true }] } });
    both.acknowledge();
    expect(signedOf(theirs).map(({ version, slot }) => [version, slot])).toEqual([
      [1, "5"],
      [2, "5"],
    ]);
    // The same of a ledger that was started again.
    rig.start();
    both.connect();
    expect(cancel(ours)).toMatchObject({ code: "SLOT_CONTESTED" });
  });

  it("a slot that only a cancel can end is that of a withdrawal called ended before policy judged it: no yes stands there to sign it again", () => {
    const { rig } = both;
    const copy = backup(rig);
    const lost = both.pay("lost");
    const txHash = rig.show(lost).versions[0]?.txHash ?? "";
    const next = both.pay("next");
    restore(rig, copy);
    both.connect();
    both.sayYes();
    rig.ask("observed", { transactionId: lost, stage: "final", outcome: "paid", txHash, block: 9 });
    both.meet();
    const replace = (transactionId: string) =>
      rig.operate("unstick", { transactionId, act: "replace", facts: { ...fees, gasLimit: "65000" }, plan: null });
    expect(rig.show(lost).state).toBe("paid");
    expect(replace(lost)).toMatchObject({ code: "WITHDRAWAL_HELD" });
    expect(replace(next)).toMatchObject({ ok: true });
  });

  it("a slot that only a cancel can end gets no dearer version where policy says no and a courier says that it was paid", () => {
    const { rig } = both;
    const id = both.pay("one");
    const copy = backup(rig);
    both.pay("two");
    const { usdt = never(), ...rest } = rig.settings.policy;
    rig.edited = { ...rig.settings, policy: { ...rest, usdt: { ...usdt, maxPerWithdrawal: "1" } } };
    restore(rig, copy);
    both.connect();
    both.recover();
    const { state, versions } = rig.show(id);
    expect(state).toBe("quarantined");
    const claim = { transactionId: id, stage: "final", outcome: "paid", txHash: versions[0]!.txHash, block: 9 };
    expect(rig.ask("observed", claim).withdrawal.state).toBe("paid");
    expect(rig.ask("replace", { transactionId: id, above: 1, facts: dearer })).toMatchObject({
      ok: false,
      code: "WITHDRAWAL_HELD",
    });
  });

  it("a slot that only a cancel can end is cancelled where nothing was signed on it and policy says no, with fees that a person names", () => {
    const { rig } = both;
    const id = both.order("one");
    both.acknowledge();
    rig.send("sign", { transactionId: id, facts });
    rig.send("report", { after: 0 });
    rig.operate("pause", { paused: true });
    const copy = backup(rig);
    const next = both.order("two");
    both.acknowledge();
    const { usdt = never(), ...rest } = rig.settings.policy;
    rig.edited = { ...rig.settings, policy: { ...rest, usdt: { ...usdt, maxPerWithdrawal: "1" } } };
    restore(rig, copy);
    both.connect();
    both.recover();
    expect(rig.show(id)).toMatchObject({ state: "quarantined", code: "POLICY_ABOVE_WITHDRAWAL", slot: "5", versions: [] });
    expect(cancel(id, { maxFeePerGas: "", maxPriorityFeePerGas: "" })).toMatchObject({ code: "UNSTICK_FEES" });
    expect(cancel(id)).toMatchObject({
      withdrawal: { versions: [{ version: 1, isCancel: true, facts: { gasLimit: "21000" } }] },
    });
    both.acknowledge();
    expect(signedOf(id)).toMatchObject([{ version: 1, slot: "5" }]);
    const { raw = "", txHash } = rig.show(id).versions[0]!;
    expect(Transaction.from(raw)).toMatchObject({ from: hot, to: hot, value: 0n, nonce: 5, hash: txHash });
    rig.ask("observed", { transactionId: id, stage: "final", outcome: "cancelled", txHash, block: 9 });
    expect(rig.show(id).state).toBe("cancelled");
    expect(rig.core.accounts.find("eip155:31337", hot)?.next).toBe("6");
    expect(rig.core.book.find(next)?.slot).toBe("");
  });
});

describe("both sides that went back", () => {
  const spend = (slot: string, receiver: string, units: string, contract = token) =>
    both.store.database.run(
      "INSERT INTO spends (network, account, slot, txHash, block, receiver, contract, units) VALUES ('eip155:31337', ?, ?, ?, 9, ?, ?, ?)",
      ...[hot, slot, `0x${slot.padStart(64, "0")}`, receiver, contract, units],
    );

  it("both sides that went back hold everything without a slot, show what the chain paid, and go on when a person ends it", () => {
    const { rig } = both;
    both.pay("before");
    const copy = backup(rig);
    both.keepDatabase("old");
    const lost = both.pay("lost");
    restore(rig, copy);
    both.putDatabaseBack("old");
    spend("6", shop, "1500000");
    spend("7", `0x${"99".repeat(20)}`, "7");
    const plan = both.recover(true);
    expect(plan.spends.map(({ slot }) => slot)).toEqual(["7", "6"]);
    expect(both.order("lost")).toBe(lost);
    both.meet();
    expect(rig.show(lost)).toMatchObject({ state: "held", code: "RECOVERY_HOLD", slot: "" });
    expect(rig.operate("show", { transactionId: lost })).toMatchObject({ spends: [{ slot: "6", receiver: shop }] });
    expect(rig.operate("status").status).toMatchObject({ recovery: "RECOVERY_HOLD" });
    rig.now += 10 * 86_400_000;
    rig.signer.tick();
    expect(rig.show(lost).state).toBe("held");
    // Held or refused, it explains one spend; a look changes nothing.
    const unmatched = [{ slot: "7" }];
    expect(rig.operate("finish", { isLook: true })).toMatchObject({ held: 1, spends: unmatched });
    expect(rig.operate("refuse", { transactionId: lost })).toMatchObject({ ok: true });
    expect(rig.operate("finish", { isLook: true })).toMatchObject({ held: 0, spends: unmatched });
    expect(rig.core.isHolding).toBe(true);
    expect(rig.operate("finish")).toMatchObject({ ok: true, spends: unmatched });
    rig.now += 1;
    const next = both.order("next");
    both.meet();
    expect(rig.show(next)).toMatchObject({ state: "approved" });
  });

  it("both sides that went back name a spend as without order until its own is asked for, one order for one spend", () => {
    const { rig } = both;
    both.pay("before");
    const copy = backup(rig);
    both.keepDatabase("old");
    restore(rig, copy);
    both.putDatabaseBack("old");
    spend("6", shop, "1500000");
    spend("7", shop, "1500000");
    spend("8", shop, "1500000", "");
    both.recover(true);
    const slots = () =>
      (rig.operate("finish", { isLook: true }) as AnyAnswer & { spends: { slot: string }[] }).spends.map(({ slot }) => slot);
    both.meet();
    expect(slots()).toEqual(["8", "7", "6"]);
    const first = both.order("first");
    both.meet();
    expect(slots()).toEqual(["8", "6"]);
    // One that is paid after all explains nothing.
    rig.operate("approve", { transactionId: first, digest: rig.show(first).approvalDigest, address: "" });
    expect(rig.show(first).state).toBe("approved");
    expect(slots()).toEqual(["8", "7", "6"]);
  });

  it("both sides that went back hold what the shop asked for before a person ended the holding, also when its job comes after that", () => {
    const { rig } = both;
    both.pay("before");
    const copy = backup(rig);
    both.keepDatabase("old");
    both.pay("paid");
    restore(rig, copy);
    both.putDatabaseBack("old");
    both.sayYes(true);
    both.connect();
    rig.now += 1_000;
    // The order comes while the gateway has no word of the opened ledger, and waits there for its
    // place.
    const again = both.order("paid");
    both.acknowledge();
    rig.now += 1_000;
    expect(rig.operate("finish")).toMatchObject({ ok: true });
    rig.now += 1_000;
    both.meet();
    expect(rig.show(again)).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    const later = both.order("later");
    expect(rig.show(later)).toMatchObject({ state: "approved" });
  });

  const setEpoch = (epoch: number): void => void both.store.database.run("UPDATE agents SET epoch = ?", epoch);
  it.each<[string, () => void]>([
    [
      "an earlier recovery",
      () => {
        both.keepDatabase("old");
        both.recover();
      },
    ],
    [
      "pairing again",
      () => {
        setEpoch(0);
        both.keepDatabase("old");
        setEpoch(1);
      },
    ],
  ])(
    "both sides that went back do not pay twice where %s had led to the ordered epoch: nothing is acknowledged until the order is its own",
    (_, reach) => {
      const { rig } = both;
      both.pay("before");
      reach();
      const paid = both.order("paid");
      const copy = backup(rig);
      rig.ask("sign", { transactionId: paid, facts });
      both.acknowledge();
      expect(rig.show(paid).state).toBe("released");
      restore(rig, copy);
      both.putDatabaseBack("old");
      both.store.write((database) => beginRecovery(database, both.agent, 0, rig.now));
      expect(both.agent.epoch).toBe(rig.core.paired.epoch);
      both.connect();
      rig.ask("sign", { transactionId: paid, facts });
      expect(() => both.acknowledge()).toThrow("order a recovery again");
      expect(rig.show(paid).state).not.toBe("released");
      expect(both.store.database.all("SELECT 1 FROM signatures WHERE transactionId = ?", paid)).toEqual([]);
      both.recover(true);
      both.order("paid");
      both.meet();
      expect(rig.show(paid)).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    },
  );

  it("both sides that went back are told apart by the agent when the gateway stands before its last opening", () => {
    const { rig } = both;
    const copy = backup(rig);
    both.keepDatabase("old");
    both.pay("one");
    restore(rig, copy);
    both.connect();
    both.recover();
    const since = both.pay("since");
    both.complete(since);
    both.putDatabaseBack("old");
    expect(both.connect()).toBeNull();
    both.store.write((database) => beginRecovery(database, both.agent, rig.core.paired.epoch, rig.now));
    both.connect();
    expect(rig.operate("recover", { digest: "", both: false })).toMatchObject({ code: "RECOVERY_BOTH" });
    both.recover(true, rig.core.paired.epoch);
    // An end that this ledger knows is reported again: the gateway has its signature.
    expect(signedOf(since)).toHaveLength(1);
    expect(rig.core.isHolding).toBe(true);
  });
});
