/**
 * A restored ledger is closed, and a new one is opened: a withdrawal with a slot goes on there, one
 * without comes again as a job.
 */
import { Transaction } from "ethers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { depositAccountIdOf } from "../../agent/signer/policy/own-accounts.ts";
import { families } from "../../chains/families.ts";
import { beginRecovery } from "../../gateway/recovery/recovery.ts";
import { contentHashOfJob } from "../../gateway/withdrawals/withdrawals.ts";
import {
  type AnyAnswer,
  hotWallet,
  merchant,
  shop,
  token,
  txParams,
  vault,
} from "../../lab/kit/signer-kit.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import { backup, ledgerOf, restore } from "../support/recovery-offer.ts";
import { SignerAndGateway } from "../support/signer-and-gateway.ts";

let both: SignerAndGateway;
beforeEach(() => {
  both = new SignerAndGateway();
});
afterEach(() => both.remove());

const kinds = () => ledgerOf(both.kit).map(({ kind }) => kind);
const signedOf = (id: string) =>
  both.store.database.all<{ attempt: number; slot: string; txHash: string }>(
    "SELECT attempt, slot, txHash FROM signatures WHERE transactionId = ? ORDER BY attempt",
    id,
  );
const never = (): never => {
  throw new Error("the currency has limits");
};
const higher = {
  gasLimit: "65000",
  maxFeePerGas: "4000000000",
  maxPriorityFeePerGas: "2000000000",
};

describe("an agent that was rolled back", () => {
  it("locks, is opened by two operators, and pays everything that it had forgotten once, on the slot that it had", () => {
    both.pay("before");
    const copy = backup(both.kit);
    const lost = both.pay("conflicted");
    const waiting = both.order("waiting");
    both.acknowledge();
    restore(both.kit, copy);
    expect(both.connect()).toMatchObject({
      code: "SIGNER_LOCKED",
      detail: "LEDGER_BEHIND_GATEWAY",
    });
    const absent = { transactionId: "00".repeat(16) };
    const told = both.kit.operate("show", absent);
    expect(told).toMatchObject({
      code: "WITHDRAWAL_UNKNOWN",
      detail: expect.stringMatching(/^LEDGER_BEHIND_GATEWAY: /),
    });
    const plan = both.recover();
    expect(plan).toMatchObject({
      bothRestored: false,
      isHere: false,
      kept: 2,
      left: 0,
      newLedgerEpoch: 2,
    });
    expect(plan.accounts).toMatchObject([{ ledgerNext: "6", gatewayNext: "7", next: "7" }]);
    expect(kinds().at(kinds().indexOf("RECOVERED"))).toBe("RECOVERED");
    expect(both.kit.ask("hello")).toMatchObject({ handshakeDone: true, locked: "" });
    expect(both.kit.operate("show", absent)).toMatchObject({
      code: "WITHDRAWAL_UNKNOWN",
      detail: "",
    });
    // Policy approved again by itself; an attempt with a higher fee goes out on the same slot.
    expect(both.kit.show(lost)).toMatchObject({ state: "released", slot: "6", code: "" });
    expect(
      both.kit.ask("replace", { transactionId: lost, above: 1, txParams: higher }),
    ).toMatchObject({ ok: true });
    both.acknowledge();
    expect(signedOf(lost).map(({ attempt, slot }) => [attempt, slot])).toEqual([
      [1, "6"],
      [2, "6"],
    ]);
    // A withdrawal that had no slot is a job again, behind the old ones, and policy decides.
    expect(both.kit.show(waiting)).toMatchObject({ state: "approved", sequence: 4 });
    expect(both.kit.ask("sign", { transactionId: waiting, txParams })).toMatchObject({
      withdrawal: { slot: "7" },
    });
    both.acknowledge();
    expect(signedOf(waiting)).toMatchObject([{ slot: "7" }]);
  });

  it("is complete again after a restart: its first record names the state that it began with", () => {
    const copy = backup(both.kit);
    const lost = both.pay("conflicted");
    restore(both.kit, copy);
    both.connect();
    both.recover();
    const before = both.kit.core.snapshot();
    both.kit.forget();
    both.kit.start();
    expect(both.kit.core.snapshot()).toEqual(before);
    expect(both.kit.core.paired.ledgerEpoch).toBe(2);
    both.meet();
    expect(both.kit.show(lost)).toMatchObject({ state: "released", slot: "5" });
  });

  it("keeps a sweep on the slot of the address that it empties, and the hot wallet goes on for itself", () => {
    const { kit } = both;
    const address = families.evm.depositAddress(depositAccountIdOf(vault.accounts, "evm"), 3);
    const sweep = (place: number): string => {
      const orderId = `${address}/${place}`;
      const id = deriveOrderTransactionId({ merchant, operation: "sweep", orderId });
      const job = {
        mode: "sweep",
        currency: "usdt",
        amount: "1.5",
        depositAddress: address,
        address: "",
        tag: "",
      } as const;
      const row = {
        receiver: hotWallet,
        payer: address,
        addressIndex: 3,
      } as const;
      both.order(orderId, { id, operation: "sweep", contentHash: contentHashOfJob(job), ...row });
      return id;
    };
    const lost = both.pay("beside");
    const copy = backup(kit);
    const swept = sweep(1);
    kit.ask("adopt", { chain: "local", slot: "4", quorum: 2, address });
    kit.operate("adopt", { chain: "local", slot: "4", address });
    kit.ask("sign", { transactionId: swept, txParams });
    both.acknowledge();
    expect(kit.show(swept)).toMatchObject({ state: "released", account: address, slot: "4" });
    restore(kit, copy);
    both.connect();
    const plan = both.recover();
    expect(plan.accounts).toMatchObject([
      { account: hotWallet, ledgerNext: "6", gatewayNext: "6", next: "6" },
      { account: address, ledgerNext: "", gatewayNext: "5", next: "5" },
    ]);
    expect(kit.show(swept)).toMatchObject({ state: "released", account: address, slot: "4" });
    expect(kit.show(lost)).toMatchObject({ account: hotWallet, slot: "5" });
    expect(signedOf(swept)).toMatchObject([{ attempt: 1, slot: "4" }]);
    both.complete(swept);
    const next = sweep(2);
    kit.ask("sign", { transactionId: next, txParams });
    expect(kit.show(next)).toMatchObject({ account: address, slot: "5" });
    expect(kit.ask("sign", { transactionId: both.order("after"), txParams })).toMatchObject({
      withdrawal: { slot: "6" },
    });
  });

  it("never pays again what it knows to have ended, nor what ended while it was not looking", () => {
    const paid = both.pay("paid");
    both.complete(paid);
    const open = both.order("open");
    const copy = backup(both.kit);
    both.kit.ask("sign", { transactionId: open, txParams });
    both.acknowledge();
    both.complete(open);
    restore(both.kit, copy);
    both.connect();
    // An end is final: the chain counts it before the gateway reports it.
    both.kit.ask("account", { chain: "local", slot: "7", quorum: 2 });
    expect(both.recover()).toMatchObject({ kept: 0, left: 1 });
    expect(both.kit.core.book.stateOf(paid)).toBe("paid");
    expect(both.kit.core.book.stateOf(open)).toBeUndefined();
    both.order("open");
    both.meet();
    expect(both.kit.core.book.stateOf(open)).toBeUndefined();
    expect(signedOf(open)).toHaveLength(1);
  });

  it("keeps an operator's yes to a payment that is the same in both, and asks one where there is none", () => {
    const { kit } = both;
    const id = both.order("above", { amount: "600", units: "600000000" });
    const lost = both.order("conflicted", { amount: "700", units: "700000000" });
    for (const one of [id, lost].filter((each) => kit.show(each).state === "held")) {
      kit.operate("approve", {
        transactionId: one,
        digest: kit.show(one).approvalDigest,
        address: "",
      });
    }
    kit.ask("sign", { transactionId: id, txParams });
    both.acknowledge();
    const copy = backup(kit);
    kit.ask("sign", { transactionId: lost, txParams });
    both.acknowledge();
    restore(kit, copy);
    both.connect();
    both.recover();
    expect(kit.show(id)).toMatchObject({ state: "released", slot: "5" });
    expect(kit.show(lost).slot).toBe("6");
  });

  it("leaves what policy says no to on its slot for an operator, who cannot refuse it", () => {
    const { kit } = both;
    const copy = backup(kit);
    const lost = both.pay("conflicted");
    both.store.database.run("UPDATE transfers SET receiver = ? WHERE id = ?", shop, lost);
    restore(kit, copy);
    both.connect();
    both.sayYes();
    const found = kit.core.book.find(lost)!;
    expect(found).toMatchObject({ state: "quarantined", code: "", slot: "5", isKept: true });
    both.meet();
    expect(kit.operate("refuse", { transactionId: lost })).toMatchObject({
      code: "WITHDRAWAL_HAS_SLOT",
    });
    kit.now += 30 * 86_400_000;
    kit.signer.tick();
    expect(kit.show(lost).state).toBe("released");
  });

  it("is opened once for one yes, and not at all for a yes to something else", () => {
    const copy = backup(both.kit);
    both.pay("conflicted");
    restore(both.kit, copy);
    both.connect();
    both.sayYes();
    expect(
      both.kit.operate("recover", { digest: "00".repeat(32), bothRestored: false }),
    ).toMatchObject({
      code: "RECOVERY_NONE",
    });
    expect(kinds().filter((kind) => kind === "RECOVERED")).toHaveLength(1);
  });

  it("refuses the old copy by its epoch", () => {
    const copy = backup(both.kit);
    both.pay("conflicted");
    restore(both.kit, copy);
    both.connect();
    both.recover();
    restore(both.kit, copy);
    expect(both.connect()).toBeNull();
  });
});

describe("two histories", () => {
  it("a payment whose signature the ledger holds contests the gateway's on its slot, since a copy may be older than a release", () => {
    const { kit } = both;
    const [one, two] = [both.order("one"), both.order("two")];
    both.acknowledge();
    const copy = backup(kit);
    kit.ask("sign", { transactionId: one, txParams });
    const other = backup(kit);
    restore(kit, copy);
    both.connect();
    kit.ask("sign", { transactionId: two, txParams });
    both.acknowledge();
    restore(kit, other);
    both.connect();
    both.recover();
    for (const id of [one, two]) {
      expect(kit.show(id)).toMatchObject({
        state: "quarantined",
        code: "SLOT_CONTESTED",
        slot: "5",
      });
      expect(kit.ask("sign", { transactionId: id, txParams })).toMatchObject({ ok: false });
    }
    both.acknowledge();
    expect(kit.core.locked).toBeNull();
  });

  it("that contradict each other about a released payment get no signature, and the chain decides", () => {
    const { kit } = both;
    const [one, two] = [both.order("one"), both.order("two")];
    both.acknowledge();
    const copy = backup(kit);
    both.keepDatabase("early");
    kit.ask("sign", { transactionId: one, txParams });
    both.acknowledge();
    const other = backup(kit);
    const { txHash } = kit.show(one).attempts[0]!;
    restore(kit, copy);
    both.putDatabaseBack("early");
    both.meet();
    kit.ask("sign", { transactionId: two, txParams });
    both.acknowledge();
    restore(kit, other);
    both.connect();
    expect(both.recover(true)).toMatchObject({ bothRestored: true, kept: 2 });
    for (const id of [one, two]) {
      expect(kit.show(id)).toMatchObject({
        state: "quarantined",
        code: "SLOT_CONTESTED",
        slot: "5",
      });
      const { approvalDigest: digest } = kit.show(id);
      expect(kit.operate("approve", { transactionId: id, digest, address: "" })).toMatchObject({
        code: "SLOT_CONTESTED",
      });
      expect(kit.ask("sign", { transactionId: id, txParams })).toMatchObject({ ok: false });
    }
    kit.ask("observed", { transactionId: one, stage: "final", outcome: "paid", txHash, block: 9 });
    kit.ask("observed", {
      transactionId: two,
      stage: "final",
      outcome: "conflicted",
      txHash,
      block: 9,
    });
    expect([one, two].map((id) => kit.show(id).state)).toEqual(["paid", "conflicted"]);
    expect(kit.core.locked).toBeNull();
  });
});

describe("a slot that only a cancel can end", () => {
  const fees = { gasLimit: "", maxFeePerGas: "9000000000", maxPriorityFeePerGas: "5000000000" };
  const cancel = (transactionId: string, wish: object = fees) => {
    const asked = { transactionId, act: "cancel", txParams: { ...fees, ...wish } };
    const shown = both.kit.operate("manualReplacement", { ...asked, plan: null }) as AnyAnswer & {
      readonly plan: object;
    };
    return shown.ok ? both.kit.operate("manualReplacement", { ...asked, plan: shown.plan }) : shown;
  };

  it("is cancelled under the withdrawal that the gateway has on it: another's signature would stop everything", () => {
    const { kit } = both;
    const [ours, theirs] = [both.order("ours"), both.order("theirs")];
    both.acknowledge();
    const copy = backup(kit);
    both.keepDatabase("early");
    kit.ask("sign", { transactionId: ours, txParams });
    both.acknowledge();
    const other = backup(kit);
    restore(kit, copy);
    both.putDatabaseBack("early");
    both.meet();
    kit.ask("sign", { transactionId: theirs, txParams });
    both.acknowledge();
    restore(kit, other);
    both.connect();
    both.recover(true);
    expect(cancel(ours)).toMatchObject({
      code: "SLOT_CONTESTED",
      detail: expect.stringContaining(theirs),
    });
    expect(cancel(theirs)).toMatchObject({
      withdrawal: { attempts: [{ attempt: 1 }, { attempt: 2, isCancel: true }] },
    });
    both.acknowledge();
    expect(signedOf(theirs).map(({ attempt, slot }) => [attempt, slot])).toEqual([
      [1, "5"],
      [2, "5"],
    ]);
    // The same of a ledger that was started again.
    kit.start();
    both.connect();
    expect(cancel(ours)).toMatchObject({ code: "SLOT_CONTESTED" });
  });

  it("is that of a withdrawal called ended before policy judged it: no yes stands there to sign it again", () => {
    const { kit } = both;
    const copy = backup(kit);
    const lost = both.pay("conflicted");
    const txHash = kit.show(lost).attempts[0]?.txHash ?? "";
    const next = both.pay("next");
    restore(kit, copy);
    both.connect();
    both.sayYes();
    kit.ask("observed", { transactionId: lost, stage: "final", outcome: "paid", txHash, block: 9 });
    both.meet();
    const replace = (transactionId: string) =>
      kit.operate("manualReplacement", {
        transactionId,
        act: "replace",
        txParams: { ...fees, gasLimit: "65000" },
        plan: null,
      });
    expect(kit.show(lost).state).toBe("paid");
    expect(replace(lost)).toMatchObject({ code: "WITHDRAWAL_HELD" });
    expect(replace(next)).toMatchObject({ ok: true });
  });

  it("gets no replacement with a higher fee where policy says no and a courier says that it was paid", () => {
    const { kit } = both;
    const id = both.pay("one");
    const copy = backup(kit);
    both.pay("two");
    const { usdt = never(), ...rest } = kit.settings.policy;
    kit.edited = { ...kit.settings, policy: { ...rest, usdt: { ...usdt, maxPerWithdrawal: "1" } } };
    restore(kit, copy);
    both.connect();
    both.recover();
    const { state, attempts } = kit.show(id);
    expect(state).toBe("quarantined");
    const claim = {
      transactionId: id,
      stage: "final",
      outcome: "paid",
      txHash: attempts[0]!.txHash,
      block: 9,
    };
    expect(kit.ask("observed", claim).withdrawal.state).toBe("paid");
    expect(kit.ask("replace", { transactionId: id, above: 1, txParams: higher })).toMatchObject({
      ok: false,
      code: "WITHDRAWAL_HELD",
    });
  });

  it("is cancelled where nothing was signed on it and policy says no, with fees that an operator names", () => {
    const { kit } = both;
    const id = both.order("one");
    both.acknowledge();
    kit.send("sign", { transactionId: id, txParams });
    kit.send("report", { after: 0 });
    kit.operate("pause", { paused: true });
    const copy = backup(kit);
    const next = both.order("two");
    both.acknowledge();
    const { usdt = never(), ...rest } = kit.settings.policy;
    kit.edited = { ...kit.settings, policy: { ...rest, usdt: { ...usdt, maxPerWithdrawal: "1" } } };
    restore(kit, copy);
    both.connect();
    both.recover();
    expect(kit.show(id)).toMatchObject({
      state: "quarantined",
      code: "POLICY_ABOVE_WITHDRAWAL",
      slot: "5",
      attempts: [],
    });
    expect(cancel(id, { maxFeePerGas: "", maxPriorityFeePerGas: "" })).toMatchObject({
      code: "REPLACEMENT_FEES",
    });
    expect(cancel(id)).toMatchObject({
      withdrawal: { attempts: [{ attempt: 1, isCancel: true, txParams: { gasLimit: "21000" } }] },
    });
    both.acknowledge();
    expect(signedOf(id)).toMatchObject([{ attempt: 1, slot: "5" }]);
    const { raw = "", txHash } = kit.show(id).attempts[0]!;
    expect(Transaction.from(raw)).toMatchObject({
      from: hotWallet,
      to: hotWallet,
      value: 0n,
      nonce: 5,
      hash: txHash,
    });
    kit.ask("observed", {
      transactionId: id,
      stage: "final",
      outcome: "cancelled",
      txHash,
      block: 9,
    });
    expect(kit.show(id).state).toBe("cancelled");
    expect(kit.core.accounts.find("eip155:31337", hotWallet)?.next).toBe("6");
    expect(kit.core.book.find(next)?.slot).toBe("");
  });
});

describe("both sides that were rolled back", () => {
  const outgoingTx = (slot: string, receiver: string, units: string, contract = token, tag = "") =>
    both.store.database.run(
      `INSERT INTO outgoing (network, account, slot, txHash, block, receiver, tag, contract, units)
       VALUES ('eip155:31337', ?, ?, ?, 9, ?, ?, ?, ?)`,
      ...[hotWallet, slot, `0x${slot.padStart(64, "0")}`, receiver, tag, contract, units],
    );

  it("hold everything without a slot, show what the chain paid, and go on when an operator ends it", () => {
    const { kit } = both;
    both.pay("before");
    const copy = backup(kit);
    both.keepDatabase("old");
    const lost = both.pay("conflicted");
    restore(kit, copy);
    both.putDatabaseBack("old");
    outgoingTx("6", shop, "1500000");
    outgoingTx("7", `0x${"99".repeat(20)}`, "7");
    const plan = both.recover(true);
    expect(plan.outgoing.map(({ slot }) => slot)).toEqual(["7", "6"]);
    expect(both.order("conflicted")).toBe(lost);
    both.meet();
    expect(kit.show(lost)).toMatchObject({ state: "held", code: "RECOVERY_HOLD", slot: "" });
    expect(kit.operate("show", { transactionId: lost })).toMatchObject({
      outgoing: [{ slot: "6", receiver: shop }],
    });
    expect(kit.operate("status").status).toMatchObject({ recovery: "RECOVERY_HOLD" });
    kit.now += 10 * 86_400_000;
    kit.signer.tick();
    expect(kit.show(lost).state).toBe("held");
    // Held or refused, it explains one outgoing transaction; a look changes nothing.
    const unmatched = [{ slot: "7" }];
    expect(kit.operate("finish", { isLook: true })).toMatchObject({ held: 1, outgoing: unmatched });
    expect(kit.operate("refuse", { transactionId: lost })).toMatchObject({ ok: true });
    expect(kit.operate("finish", { isLook: true })).toMatchObject({ held: 0, outgoing: unmatched });
    expect(kit.core.isHolding).toBe(true);
    expect(kit.operate("finish")).toMatchObject({ ok: true, outgoing: unmatched });
    kit.now += 1;
    const next = both.order("next");
    both.meet();
    expect(kit.show(next)).toMatchObject({ state: "approved" });
  });

  it("both sides that were rolled back: the chain ends a kept payment before the acknowledgement arrives, and the gateway gets its job before its end", () => {
    const { kit } = both;
    both.pay("before");
    both.keepDatabase("old");
    const lost = both.pay("lost");
    both.putDatabaseBack("old");
    both.sayYes(true);
    both.connect();
    both.take();
    const { txHash } = kit.show(lost).attempts.at(-1) as { txHash: string };
    kit.ask("observed", { transactionId: lost, stage: "final", outcome: "paid", txHash, block: 9 });
    expect(kit.show(lost).state).toBe("paid");
    both.meet();
    expect(both.row(lost)).toMatchObject({ orderId: "lost" });
    expect(signedOf(lost)).toEqual([{ attempt: 1, slot: "6", txHash }]);
  });

  it("name an outgoing transaction as without order until its own is asked for, one order for one outgoing transaction", () => {
    const { kit } = both;
    both.pay("before");
    const copy = backup(kit);
    both.keepDatabase("old");
    restore(kit, copy);
    both.putDatabaseBack("old");
    outgoingTx("6", shop, "1500000");
    outgoingTx("7", shop, "1500000");
    outgoingTx("8", shop, "1500000", "");
    outgoingTx("9", shop, "1500000", token, "77");
    both.recover(true);
    const slots = () =>
      (
        kit.operate("finish", { isLook: true }) as AnyAnswer & { outgoing: { slot: string }[] }
      ).outgoing.map(({ slot }) => slot);
    both.meet();
    expect(slots()).toEqual(["9", "8", "7", "6"]);
    const first = both.order("first");
    both.meet();
    // An order without a tag explains no payment that names one.
    expect(slots()).toEqual(["9", "8", "6"]);
    // One that is paid after all explains nothing.
    kit.operate("approve", {
      transactionId: first,
      digest: kit.show(first).approvalDigest,
      address: "",
    });
    expect(kit.show(first).state).toBe("approved");
    expect(slots()).toEqual(["9", "8", "7", "6"]);
  });

  it("hold what the shop asked for before an operator ended the holding, also when its job comes after that", () => {
    const { kit } = both;
    both.pay("before");
    const copy = backup(kit);
    both.keepDatabase("old");
    both.pay("paid");
    restore(kit, copy);
    both.putDatabaseBack("old");
    both.sayYes(true);
    both.connect();
    kit.now += 1_000;
    // The order comes while the gateway has no word of the recovered ledger, and waits there for
    // its place.
    const again = both.order("paid");
    both.acknowledge();
    kit.now += 1_000;
    expect(kit.operate("finish")).toMatchObject({ ok: true });
    kit.now += 1_000;
    both.meet();
    expect(kit.show(again)).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    const later = both.order("later");
    expect(kit.show(later)).toMatchObject({ state: "approved" });
  });

  const setEpoch = (ledgerEpoch: number): void =>
    void both.store.database.run("UPDATE agents SET ledgerEpoch = ?", ledgerEpoch);
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
    "do not pay twice where %s had led to the ordered epoch: nothing is acknowledged until the order is its own",
    (_, reach) => {
      const { kit } = both;
      both.pay("before");
      reach();
      const paid = both.order("paid");
      const copy = backup(kit);
      kit.ask("sign", { transactionId: paid, txParams });
      both.acknowledge();
      expect(kit.show(paid).state).toBe("released");
      restore(kit, copy);
      both.putDatabaseBack("old");
      both.store.write((database) => beginRecovery(database, both.agent, 0, kit.now));
      expect(both.agent.ledgerEpoch).toBe(kit.core.paired.ledgerEpoch);
      both.connect();
      kit.ask("sign", { transactionId: paid, txParams });
      expect(() => both.acknowledge()).toThrow("order a recovery again");
      expect(kit.show(paid).state).not.toBe("released");
      expect(
        both.store.database.all("SELECT 1 FROM signatures WHERE transactionId = ?", paid),
      ).toEqual([]);
      both.recover(true);
      both.order("paid");
      both.meet();
      expect(kit.show(paid)).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    },
  );

  it("are told apart by the agent when the gateway stands before its last recovery", () => {
    const { kit } = both;
    const copy = backup(kit);
    both.keepDatabase("old");
    both.pay("one");
    restore(kit, copy);
    both.connect();
    both.recover();
    const since = both.pay("since");
    both.complete(since);
    both.putDatabaseBack("old");
    expect(both.connect()).toBeNull();
    both.store.write((database) =>
      beginRecovery(database, both.agent, kit.core.paired.ledgerEpoch, kit.now),
    );
    both.connect();
    expect(kit.operate("recover", { digest: "", bothRestored: false })).toMatchObject({
      code: "RECOVERY_BOTH",
    });
    both.recover(true, kit.core.paired.ledgerEpoch);
    // An end that this ledger knows is reported again: the gateway has its signature.
    expect(signedOf(since)).toHaveLength(1);
    expect(kit.core.isHolding).toBe(true);
  });
});
