/**
 * An attacker has the courier and the gateway of a wallet that pays XRP, where one address stands
 * for many payees, and tries to reach another tag, another fee or a second sequence.
 */
import { describe, expect, it } from "vitest";
import type { PolicySettings, SignerSettings } from "../../agent/config/settings.ts";
import { families } from "../../chains/families.ts";
import { encodeXAddress } from "../../chains/xrp/address.ts";
import { decodeFields } from "../../chains/xrp/transactions.ts";
import { Kit, type KitOptions, keysOf, settings } from "../../lab/kit/signer-kit.ts";
import type { Job } from "../../protocol/messages.ts";
import { accountAt, network } from "../chains/xrp-values.ts";
import { backup, databaseOf, recovered, restore } from "../support/recovery-offer.ts";

const keys = keysOf("xrp", [network]);
const sender = keys.vault.accounts.find(({ purpose }) => purpose === "hot")!.id;
const [shop, other] = [accountAt(1).address, accountAt(2).address];
const limits = { maxPerWithdrawal: "100", maxPerDay: "1000", maxFee: "0.001", maxFeePerDay: "0.1" };
const offer = { feeDrops: "12", lastLedger: "95123456" };

class TagKit extends Kit {
  ordered(change: Partial<Job> = {}) {
    return this.request({
      network,
      currency: "xrp",
      amount: "1.5",
      address: shop,
      tag: "7",
      ...change,
    });
  }

  /** The code of the answer to a first attempt, "" when it was made. */
  sign(transactionId: string, txParams: object = offer): string {
    return this.ask("sign", { transactionId, txParams }).code ?? "";
  }

  /** From an order to a payment that is final. */
  paid(change: Partial<Job> = {}): string {
    const { transactionId } = this.ordered(change);
    expect(this.sign(transactionId)).toBe("");
    this.acknowledge();
    const { txHash } = this.show(transactionId).attempts[0]!;
    this.ask("observed", { transactionId, stage: "final", outcome: "paid", txHash, block: 9 });
    this.gateway.ended.add(transactionId);
    this.acknowledge();
    return transactionId;
  }

  /** The content of the newest recorded attempt, by its bytes. */
  recordedOf(transactionId: string) {
    const { unsigned } = this.core.book.find(transactionId)!.attempts.at(-1)!;
    return decodeFields(Buffer.from(unsigned.slice(2), "hex"))!;
  }
}

function tagKit(policy: Partial<PolicySettings> = {}, options: KitOptions = {}): TagKit {
  const xrpSettings: SignerSettings = {
    ...settings,
    chains: { local: { family: "xrp", chainId: 0 } },
    currencies: { xrp: { chain: "local", decimal: 6 } },
    policy: { xrp: { ...limits, ...policy } },
  };
  const kit = new TagKit({ ...options, settings: xrpSettings, keys });
  kit.handshake();
  expect(kit.begin("95000000").ok).toBe(true);
  return kit;
}

const stateOf = ({ state, code }: { readonly state: string; readonly code: string }): string =>
  `${state} ${code}`.trim();

describe("a tag under attack", () => {
  it("a tag that was never paid is a new destination at an address that was, also after checkpoints and a crash", () => {
    const kit = tagKit({ newDestination: { holdAbove: "5" } }, { segmentBytesMax: 500 });
    kit.paid();
    for (const restarted of [false, true]) {
      if (restarted) {
        for (let times = 0; times < 3; times++) {
          kit.signer.tick();
          kit.settle();
          kit.ordered({ amount: "1", address: other });
        }
        expect(kit.kinds()).toContain("CHECKPOINT");
        kit.crash();
        kit.handshake();
      }
      expect(stateOf(kit.ordered({ amount: "6" }))).toBe("approved");
      const { transactionId, ...held } = kit.ordered({ amount: "6", tag: "8" });
      expect(stateOf(held)).toBe("held POLICY_NEW_DESTINATION");
      expect(kit.operate("show", { transactionId }).wait).toMatchObject({
        isNew: true,
        likeness: null,
      });
      expect(stateOf(kit.ordered({ amount: "6", tag: "" }))).toBe("held POLICY_NEW_DESTINATION");
    }
    kit.paid({ amount: "1", tag: "8" });
    expect(stateOf(kit.ordered({ amount: "6", tag: "8" }))).toBe("approved");
  });

  it("a tag in another spelling, out of range, or inside an address is refused, and 0 is a tag of its own", () => {
    const kit = tagKit();
    for (const tag of ["007", "00", "4294967296", "-1", "+7", "7.0", "0x7", "7 ", "a"])
      expect(stateOf(kit.ordered({ tag }))).toBe("refused JOB_TAG_UNSUPPORTED");
    const address = encodeXAddress({ address: shop, tag: "8" });
    for (const tag of ["", "7"])
      expect(stateOf(kit.ordered({ address, tag }))).toBe("refused ADDRESS_FORMAT");
    const [none, zero, last] = ["", "0", "4294967295"].map(
      (tag) => kit.ordered({ tag }).transactionId,
    );
    for (const id of [none!, zero!, last!]) expect(kit.sign(id)).toBe("");
    expect([none!, zero!, last!].map((id) => kit.recordedOf(id).paid!.tag)).toEqual([
      null,
      0n,
      4_294_967_295n,
    ]);
  });

  it("a tag of a withdrawal never changes: not by the same order again, and not by an operator's address", () => {
    const kit = tagKit();
    const { transactionId } = kit.ordered({ orderId: "one" });
    kit.gateway.job(
      { network, currency: "xrp", amount: "1.5", address: shop, tag: "8", orderId: "one" },
      kit.now,
    );
    kit.admit(kit.gateway.jobs([kit.gateway.texts.at(-1)!], { at: kit.now }));
    expect(kit.records()).toContainEqual(
      expect.objectContaining({ kind: "ALARM", code: "WITHDRAWAL_EXISTS_DIFFERENT_TAG" }),
    );
    expect(kit.sign(transactionId)).toBe("");
    expect(kit.recordedOf(transactionId).paid!.tag).toBe(7n);
    const open = kit.ordered({ mode: "manual", address: "", tag: "9" });
    const yes = {
      transactionId: open.transactionId,
      digest: kit.show(open.transactionId).approvalDigest,
      address: shop,
    };
    expect(kit.operate("approve", yes).ok).toBe(true);
    expect(kit.sign(open.transactionId)).toBe("");
    expect(kit.recordedOf(open.transactionId).paid!.tag).toBe(9n);
  });

  it("a tag that a recovery order changes makes the withdrawal contested, and nothing is signed for it", () => {
    const kit = tagKit();
    const { transactionId } = kit.ordered();
    expect(kit.sign(transactionId)).toBe("");
    kit.acknowledge();
    const contents = databaseOf(kit);
    const changed = contents.withdrawals.map((one) => ({
      ...one,
      job: one.job.replace('"tag":"7"', '"tag":"8"'),
    }));
    const copy = backup(kit);
    const replace = { transactionId, above: 1, txParams: { ...offer, feeDrops: "16" } };
    for (const withdrawals of [changed, contents.withdrawals]) {
      restore(kit, copy);
      recovered(kit, { ...contents, withdrawals });
      kit.now += 1;
      kit.handshake();
      kit.acknowledge();
      const isChanged = withdrawals === changed;
      expect(kit.show(transactionId)).toMatchObject({
        tag: "7",
        code: isChanged ? "SLOT_CONTESTED" : "",
      });
      expect(kit.ask("replace", replace).ok).toBe(!isChanged);
      kit.gateway.ledgerEpoch = 1;
    }
    expect(kit.recordedOf(transactionId)).toMatchObject({
      sequence: 95_000_000n,
      paid: { tag: 7n },
    });
  });

  it("a fee is at most maxFee, the first, each raise and a cancel alike, and the sequence never moves", () => {
    const kit = tagKit();
    const { transactionId } = kit.ordered();
    for (const feeDrops of ["1001", "99999999999999999"])
      expect(kit.sign(transactionId, { ...offer, feeDrops })).toBe("POLICY_FEE_ABOVE_WITHDRAWAL");
    expect(kit.sign(transactionId, { ...offer, lastLedger: "4294967296" })).toBe(
      "TRANSACTION_FIELD",
    );
    for (const change of [
      { feeDrops: "012" },
      { feeDrops: "-12" },
      { sequence: "3" },
      { ticket: "3" },
    ])
      expect(kit.sign(transactionId, { ...offer, ...change })).toBe("JSON_SHAPE");
    expect(kit.kinds()).not.toContain("INTENT");
    expect(kit.sign(transactionId, { ...offer, feeDrops: "800" })).toBe("");
    kit.acknowledge();
    const raise = { transactionId, above: 1, txParams: { feeDrops: "12", lastLedger: "1" } };
    expect(kit.ask("replace", raise).code).toBe("POLICY_FEE_ABOVE_WITHDRAWAL");
    kit.edited = { ...kit.settings, policy: { xrp: { ...limits, maxFee: "0.0011" } } };
    kit.crash();
    kit.handshake();
    expect(kit.ask("replace", raise).ok).toBe(true);
    expect(kit.recordedOf(transactionId)).toMatchObject({
      sequence: 95_000_000n,
      feeDrops: 1001n,
      lastLedger: 95_123_456n,
    });
    kit.acknowledge();
    const typed = families.xrp.fees.typed({ maxFee: "1102" });
    if (!typed.ok) throw new Error(typed.problem);
    const wish = { transactionId, act: "cancel", txParams: typed.txParams, plan: null };
    expect(kit.operate("manualReplacement", wish).code).toMatch(
      /^(?:POLICY_FEE_ABOVE_WITHDRAWAL|REPLACEMENT_FEES)$/,
    );
  });

  it("a sequence of 0, of a ticket or above the last is no place to begin, and none begins on the courier's word", () => {
    const kit = new TagKit({ settings: tagKit().settings, keys });
    kit.handshake();
    for (const slot of ["0", "00", "01", "4294967296", "", "1e6"])
      expect(kit.ask("adopt", { chain: "local", slot, quorum: 9 }).ok).toBe(false);
    // No account of the ledger was begun at 1 for years, and a courier alone began each one there.
    for (const slot of ["1", "95000000"])
      expect(kit.ask("adopt", { chain: "local", slot, quorum: 9 }).code).toBe(
        "ACCOUNT_FIRST_UNNAMED",
      );
    expect(kit.core.accounts.find(network, sender)).toBeUndefined();
    expect(kit.begin("95000000").ok).toBe(true);
    // The courier lowers no operator's yes, and the gateway beside it does not either.
    kit.now += 1;
    kit.sight({ next: [{ network, account: sender, slot: "1", isUnused: true }] });
    expect(kit.ask("adopt", { chain: "local", slot: "1", quorum: 9 }).code).toBe(
      "ACCOUNT_FIRST_SLOT",
    );
    expect(kit.core.accounts.find(network, sender)).toMatchObject({
      adopted: "95000000",
      next: "95000000",
    });
    expect(kit.sign(kit.ordered().transactionId)).toBe("");
    expect(kit.ask("adopt", { chain: "local", slot: "95000001", quorum: 9 }).ok).toBe(false);
    expect(kit.core.accounts.find(network, sender)).toMatchObject({
      adopted: "95000000",
      next: "95000001",
    });
  });
});
