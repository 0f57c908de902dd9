/**
 * A payment of XRP with a sequence below the first that its account ever had: gateway and courier
 * once stated the account's first slot too low. The fate of it while only one of them is honest
 * again, the evidence of both that lets an operator end it, and the account's new beginning.
 */
import { describe, expect, it } from "vitest";
import type { SignerSettings } from "../../agent/config/settings.ts";
import { type AnyAnswer, Kit, keysOf, merchant, settings } from "../../lab/kit/signer-kit.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import { accountAt, network } from "../chains/xrp-values.ts";
import { databaseOf, taken } from "../support/recovery-offer.ts";

const keys = keysOf("xrp", [network]);
const account = keys.vault.accounts.find(({ purpose }) => purpose === "hot")!.id;
const limits = { maxPerWithdrawal: "100", maxPerDay: "1000", maxFee: "0.001", maxFeePerDay: "0.1" };
const offer = { feeDrops: "12", lastLedger: "95123456" };
const xrpSettings: SignerSettings = {
  ...settings,
  chains: { local: { family: "xrp", chainId: 0 } },
  currencies: { xrp: { chain: "local", decimal: 6 } },
  policy: { xrp: limits },
};
/** The ledger that made the account, and the slot that both sides once claimed. */
const [first, stated] = ["95000000", "5"];
const minuteMs = 60_000;

/** Both liars begin the account at a slot that it never had. */
function lied(): Kit {
  const kit = new Kit({ settings: xrpSettings, keys });
  kit.handshake();
  kit.sight({ next: [{ network, account, slot: stated, isUnused: true }] });
  expect(kit.ask("adopt", { chain: "local", slot: stated, quorum: 2 }).ok).toBe(true);
  return kit;
}

function ordered(kit: Kit, change: object = {}): string {
  const shop = accountAt(1).address;
  return kit.request({
    network,
    currency: "xrp",
    amount: "1.5",
    address: shop,
    tag: "7",
    ...change,
  }).transactionId;
}

function released(kit: Kit, change: object = {}): string {
  const transactionId = ordered(kit, change);
  expect(kit.ask("sign", { transactionId, txParams: offer })).toMatchObject({ ok: true });
  kit.acknowledge();
  return transactionId;
}

const dayMs = 86_400_000;
/** The courier's nodes are honest: their count, and the account's beginning. */
const counts = (
  kit: Kit,
  slot = first,
  began: object | null = { slot: first, absentMs: kit.now - dayMs },
  quorum = 2,
): AnyAnswer =>
  kit.ask("account", { chain: "local", slot, quorum, ...(began === null ? {} : { began }) });

/** The gateway's newest word names these. */
function names(kit: Kit, ...unreachable: string[]): void {
  kit.receive();
  kit.now += 1;
  const { ok, code, detail } = kit.release(
    kit.gateway.ack(kit.gateway.stored!, { at: kit.now, unreachable }),
  );
  expect([ok, code, detail]).toEqual([true, undefined, undefined]);
}

const end = (kit: Kit, transactionId: string, slot = stated, approver = "ann"): AnyAnswer =>
  kit.operate("end", { transactionId, slot, approver });
const lockOf = (kit: Kit): string => kit.core.locked?.code ?? "";

/** A payment of which both sides have shown that no ledger takes it. */
function stranded(change: object = {}): { readonly kit: Kit; readonly id: string } {
  const kit = lied();
  const id = released(kit, change);
  expect(counts(kit).ok).toBe(true);
  names(kit, id);
  return { kit, id };
}

/** The operators of both sides carry a recovery out. */
function recovered(kit: Kit): void {
  taken(kit, databaseOf(kit));
  kit.now += 1;
  expect(kit.handshake()).toMatchObject({ ok: true });
  kit.acknowledge();
  expect(lockOf(kit)).toBe("");
}

describe("an account whose first slot was stated too low", () => {
  it("locks the signer where the courier shows a count and no beginning, as if another program signed", () => {
    const kit = lied();
    released(kit);
    expect(counts(kit, first, null).ok).toBe(true);
    kit.now += minuteMs;
    expect(counts(kit, first, null).code).toBe("SIGNER_LOCKED");
    expect(lockOf(kit)).toBe("CHAIN_SLOT_FOREIGN");
  });

  it("is an alarm and no lock where the account began at the count, and signs nothing more", () => {
    const kit = lied();
    const id = released(kit);
    const waiting = ordered(kit);
    for (let at = 0; at < 5; at += 1) {
      expect(counts(kit).ok).toBe(true);
      kit.now += minuteMs;
    }
    expect(lockOf(kit)).toBe("");
    expect(
      kit.records().flatMap((record) => (record.kind === "ALARM" ? [record.code] : [])),
    ).toEqual(["SLOT_UNREACHABLE"]);
    expect(kit.ask("sign", { transactionId: waiting, txParams: offer }).code).toBe(
      "ACCOUNT_BEHIND",
    );
    expect(kit.show(id).state).toBe("released");
  });

  it.each([
    ["one transaction was made since the beginning", "95000001", { slot: first, absentMs: 0 }],
    ["the ledger gave out that slot", "7", { slot: "5", absentMs: 0 }],
  ])("locks as before where %s", (_, count, began) => {
    const kit = lied();
    released(kit);
    counts(kit, count, began);
    kit.now += minuteMs;
    expect(counts(kit, count, began).code).toBe("SIGNER_LOCKED");
  });
});

describe("a payment below its account's first slot", () => {
  it("is ended by an operator by the word of both sides, may be renewed, and the account begins where both count", () => {
    const { kit, id } = stranded();
    expect(kit.show(id)).toMatchObject({ state: "released", code: "SLOT_UNREACHABLE" });
    expect(kit.operate("status").status.unreachable).toMatchObject({
      transactionId: id,
      code: "SLOT_UNREACHABLE",
      left: "",
    });
    expect(end(kit, id, "")).toMatchObject({
      ok: true,
      plan: { slot: stated, counted: first, began: first },
    });
    expect(end(kit, id, "6").code).toBe("REPLACEMENT_OTHER_PLAN");
    expect(end(kit, id)).toMatchObject({
      ok: true,
      withdrawal: { state: "expired", code: "SLOT_UNREACHABLE" },
    });
    expect(end(kit, id).ok).toBe(true);
    kit.receive();
    expect(kit.statements.at(-1)?.entries).toMatchObject([
      { kind: "decision", decision: "expired", code: "SLOT_UNREACHABLE" },
    ]);
    const { orderId } = kit.core.book.find(id)!.job;
    const transactionId = deriveOrderTransactionId({
      merchant,
      operation: "withdraw",
      orderId,
      renews: id,
    });
    const renewal = ordered(kit, { orderId, transactionId, renews: id });
    expect(kit.ask("sign", { transactionId: renewal, txParams: offer }).code).toBe(
      "ACCOUNT_NOT_ADOPTED",
    );
    const claim = { chain: "local", slot: first, quorum: 2 };
    expect(kit.ask("adopt", claim).code).toBe("ACCOUNT_FIRST_SLOT"); // the gateway's older word names another slot
    kit.sight({ next: [{ network, account, slot: first, isUnused: true }] });
    expect(kit.ask("adopt", claim).ok).toBe(true);
    expect(kit.ask("sign", { transactionId: renewal, txParams: offer })).toMatchObject({
      ok: true,
      withdrawal: { slot: first },
    });
  });

  it.each<[string, (kit: Kit, id: string) => void, string]>([
    ["the gateway has not named it", (kit) => names(kit), "the gateway has not said so"],
    [
      "the courier's nodes show no beginning",
      (kit) => counts(kit, first, null),
      "have not shown where its account began",
    ],
    ["fewer nodes show it than a claim needs", (kit) => fewer(kit), "have not agreed on a count"],
    ["the count is not above it", (kit) => counts(kit, stated), `the nodes count ${stated}`],
    [
      "the account began at its slot",
      (kit) => counts(kit, "6", { slot: stated, absentMs: 0 }),
      `its account began at ${stated}`,
    ],
    [
      "the account was made after the order",
      (kit) => counts(kit, first, { slot: first, absentMs: kit.now + 1 }),
      "its account was made after the order",
    ],
    ["the courier's nodes show it in a ledger", included, "show it in a ledger"],
  ])("is not ended while %s", (_, change, why) => {
    const { kit, id } = stranded();
    change(kit, id);
    expect(end(kit, id)).toMatchObject({
      code: "REPLACEMENT_REACHABLE",
      detail: expect.stringContaining(why),
    });
    expect(kit.kinds()).not.toContain("EXPIRED");
  });

  it("takes no place of others, and needs two operators above twoApproversAbove", () => {
    const policy = { xrp: { ...limits, twoApproversAbove: "1" } };
    const kit = new Kit({ settings: { ...xrpSettings, policy }, keys });
    kit.handshake();
    kit.sight({ next: [{ network, account, slot: stated, isUnused: true }] });
    kit.ask("adopt", { chain: "local", slot: stated, quorum: 2 });
    const id = ordered(kit);
    for (const approver of ["ann", "bob"])
      kit.operate("approve", {
        transactionId: id,
        digest: kit.show(id).approvalDigest,
        address: "",
        approver,
      });
    kit.ask("sign", { transactionId: id, txParams: offer });
    kit.acknowledge();
    counts(kit);
    names(kit, id);
    expect(end(kit, id)).toMatchObject({
      ok: true,
      plan: { isFirstYes: true },
      withdrawal: { state: "released" },
    });
    expect(end(kit, id, stated, "bob")).toMatchObject({
      ok: true,
      withdrawal: { state: "expired" },
    });
  });

  it("is ended after a recovery too, where the signer locked before anybody showed the beginning", () => {
    const kit = lied();
    const id = released(kit);
    counts(kit, first, null);
    kit.now += minuteMs;
    counts(kit, first, null);
    expect(lockOf(kit)).toBe("CHAIN_SLOT_FOREIGN");
    expect(end(kit, id).code).toBe("SIGNER_LOCKED");
    recovered(kit);
    counts(kit);
    names(kit, id);
    expect(end(kit, id)).toMatchObject({
      ok: true,
      withdrawal: { state: "expired", code: "SLOT_UNREACHABLE" },
    });
    expect(kit.core.accounts.find(network, account)?.next).toBe(first);
  });

  it.each([
    ["conflicted", "CHAIN_SLOT_FOREIGN"],
    ["paid", ""],
    ["reverted", ""],
    ["moved", ""],
  ])("is ended where a courier alone calls it %s", (outcome, lock) => {
    const { kit, id } = stranded();
    const { txHash } = kit.show(id).attempts[0]!;
    expect(
      kit.ask("observed", { transactionId: id, stage: "final", outcome, txHash, block: 0 }).ok,
    ).toBe(true);
    expect(kit.show(id).state).toBe(outcome);
    expect(lockOf(kit)).toBe(lock);
    if (lock !== "") recovered(kit);
    kit.receive();
    kit.gateway.ended.delete(id);
    counts(kit);
    names(kit, id);
    expect(end(kit, id)).toMatchObject({ ok: true, withdrawal: { state: "expired" } });
  });
});

/** A new run in which one of two nodes answers. */
function fewer(kit: Kit): void {
  kit.crash();
  kit.handshake();
  kit.ask("account", { chain: "local", slot: stated, quorum: 2 });
  kit.signer.run.counts.clear();
  counts(kit, first, { slot: first, absentMs: 0 }, 1);
}

function included(kit: Kit, transactionId: string): void {
  const { txHash } = kit.show(transactionId).attempts[0]!;
  expect(
    kit.ask("observed", { transactionId, stage: "included", outcome: "", txHash, block: 9 }).ok,
  ).toBe(true);
}
