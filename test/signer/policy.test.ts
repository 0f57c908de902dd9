/**
 * Limits, lists and ceilings: each at its very edge, in one step that passes and in one that is
 * refused.
 */

import { describe, expect, it } from "vitest";
import type { PolicySettings } from "../../agent/config/settings.ts";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import { isApproval } from "../../agent/signer/policy/approval.ts";
import { isClearance } from "../../agent/signer/policy/clearance.ts";
import { Policy } from "../../agent/signer/policy/policy.ts";
import { readRules } from "../../agent/signer/policy/rules.ts";
import { SlidingWindow } from "../../agent/signer/policy/window.ts";
import { limitUseAt, policySnapshot } from "../../agent/signer/state/policy-state.ts";
import { buildTransfer, type Transfer } from "../../chains/evm/transaction.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";
import {
  begun,
  hotWallet,
  Kit,
  other,
  otherToken,
  own,
  settings,
  shop,
  token,
  txParams,
} from "../../lab/kit/signer-kit.ts";

const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** A kit whose one policy, for usdt, is the given one. */
function settingsWith(policy: Partial<PolicySettings>): typeof settings {
  const one = {
    maxPerWithdrawal: "1000000",
    maxPerDay: "1000000",
    maxFee: "1",
    maxFeePerDay: "1",
    ...policy,
  };
  return { ...settings, policy: { usdt: one, eth: one } };
}

function withPolicy(policy: Partial<PolicySettings>): Kit {
  return new Kit({ settings: settingsWith(policy) }).ready();
}

const outcome = (kit: Kit, amount: string, change: object = {}): string => {
  const { state, code } = kit.request({ amount, expiresAt: kit.now + 10 * dayMs, ...change });
  return code === "" ? state : `${state} ${code}`;
};

describe("limits on amounts", () => {
  it("let exactly the limit through and not one unit more", () => {
    const kit = withPolicy({ maxPerWithdrawal: "5" });
    expect(outcome(kit, "5")).toBe("approved");
    expect(outcome(kit, "5.000001")).toBe("refused POLICY_ABOVE_WITHDRAWAL");
  });

  it.each([
    ["hour", { maxPerHour: "10" }, hourMs, "POLICY_ABOVE_HOUR"],
    ["day", { maxPerDay: "10" }, dayMs, "POLICY_ABOVE_DAY"],
  ])("add up over a sliding %s", (_, policy, spanMs, code) => {
    const kit = withPolicy(policy);
    expect(outcome(kit, "4")).toBe("approved");
    kit.now += 1_000;
    expect(outcome(kit, "6")).toBe("approved");
    expect(outcome(kit, "0.000001")).toBe(`refused ${code}`);
    kit.now = begun + spanMs - 1;
    expect(outcome(kit, "0.000001")).toBe(`refused ${code}`);
    kit.now = begun + spanMs;
    expect(outcome(kit, "4")).toBe("approved");
    expect(outcome(kit, "0.000001")).toBe(`refused ${code}`);
    kit.now = begun + spanMs + 1_000;
    expect(outcome(kit, "6")).toBe("approved");
  });

  it("count from the approval, whatever the clock does and however often the signer starts", () => {
    const kit = withPolicy({ maxPerHour: "10" });
    kit.now += 2 * hourMs;
    expect(outcome(kit, "10")).toBe("approved");
    for (const skew of [-600_000, 600_000]) {
      kit.skew = skew;
      kit.start();
      kit.handshake();
      expect(outcome(kit, "1", { expiresAt: begun + 9 * dayMs })).toBe("refused POLICY_ABOVE_HOUR");
    }
    expect(kit.records().every((record, i, all) => i === 0 || record.at >= all[i - 1]!.at)).toBe(
      true,
    );
  });

  it("are not opened by a clock that jumps ahead again and again, and hold as before when it is right", () => {
    const kit = withPolicy({ maxPerDay: "10" });
    const waiting = [kit.request({ amount: "10", expiresAt: begun + 9 * dayMs }).transactionId];
    kit.now += dayMs;
    waiting.push(kit.request({ amount: "10", expiresAt: begun + 9 * dayMs }).transactionId);
    for (let i = 0; i < 5; i++) {
      kit.skew += dayMs;
      kit.gateway.job({ amount: "10", expiresAt: begun + 9 * dayMs }, kit.now);
      expect(kit.admit(kit.gateway.jobs(kit.gateway.texts.slice(-3 - i))).code).toBe("CLOCK_SKEW");
      for (const transactionId of waiting) kit.ask("sign", { transactionId, txParams });
      expect(kit.release(kit.gateway.ack(kit.core.heads.head)).code).toBe("CLOCK_SKEW");
      if (i % 2 === 0) continue;
      expect(kit.handshake().code).toBe("CLOCK_SKEW");
      kit.start();
      expect(kit.handshake().code).toBe("CLOCK_SKEW");
      const { skew } = kit;
      kit.skew = 0;
      expect(kit.handshake().ok).toBe(true);
      kit.skew = skew;
    }
    expect(kit.kinds().filter((kind) => kind === "SIGNED")).toHaveLength(1);
    expect(kit.core.heads.at).toBeLessThanOrEqual(kit.now + 600_000);
    kit.skew = 0;
    kit.start();
    expect(kit.handshake().ok).toBe(true);
    expect(kit.ask("sign", { transactionId: waiting[1], txParams }).code).toBe("POLICY_ABOVE_DAY");
    kit.now += dayMs + 600_000;
    expect(kit.ask("sign", { transactionId: waiting[1], txParams }).ok).toBe(true);
    expect(kit.acknowledge().withdrawals).toHaveLength(2);
    const states = kit
      .admit(kit.gateway.jobs(kit.gateway.texts.slice(2)))
      .withdrawals.map(({ state }) => state);
    expect(states).toEqual(["approved", "refused", "refused", "refused", "refused"]);
  });

  it.each([
    ["hour", { maxPerHour: "10" }, hourMs, "POLICY_ABOVE_HOUR"],
    ["day", { maxPerDay: "10" }, dayMs, "POLICY_ABOVE_DAY"],
  ])(
    "count once more when a nonce is bound, so that no %s's worth is saved up and let out at once",
    (_, policy, spanMs, code) => {
      const kit = withPolicy(policy);
      const saved = [0, 1, 2].map(() => {
        kit.now += spanMs;
        return kit.request({ amount: "10", expiresAt: begun + 9 * dayMs }).transactionId;
      });
      const sign = (i: number) => kit.ask("sign", { transactionId: saved[i], txParams });
      expect(sign(0).ok).toBe(true);
      expect(sign(1).code).toBe(code);
      kit.signer.tick();
      kit.now += spanMs - 1;
      kit.start();
      kit.handshake();
      expect(sign(1).code).toBe(code);
      expect(kit.show(saved[1]!)).toMatchObject({ state: "approved", slot: "" });
      kit.now += 1;
      expect(sign(1).ok).toBe(true);
      expect(sign(2).code).toBe(code);
      kit.acknowledge();
      const higher = { ...txParams, maxFeePerGas: "4000000000" };
      expect(kit.ask("replace", { transactionId: saved[1], above: 1, txParams: higher }).ok).toBe(
        true,
      );
    },
  );

  it("give back what was declined, refused or ran out before a nonce was bound, and nothing else", () => {
    const kit = withPolicy({ maxPerDay: "10" });
    const first = kit.request({ amount: "10" });
    expect(outcome(kit, "10")).toBe("refused POLICY_ABOVE_DAY");
    kit.ask("decline", { transactionId: first.transactionId, code: "CHAIN_WOULD_REVERT" });
    const second = kit.request({ amount: "10", expiresAt: kit.now + 5 });
    kit.now += 6;
    kit.signer.tick();
    expect(kit.show(second.transactionId).state).toBe("expired");
    const third = kit.request({ amount: "10" });
    expect(third.state).toBe("approved");
    kit.ask("sign", { transactionId: third.transactionId, txParams });
    expect(
      kit.ask("decline", { transactionId: third.transactionId, code: "CHAIN_WOULD_REVERT" }).code,
    ).toBe("WITHDRAWAL_HAS_SLOT");
    expect(outcome(kit, "0.000001")).toBe("refused POLICY_ABOVE_DAY");
  });

  it("are those of each currency for itself", () => {
    const kit = new Kit().ready();
    for (let i = 0; i < 5; i++) expect(outcome(kit, "1", { currency: "eth" })).toBe("approved");
    expect(outcome(kit, "1", { currency: "eth" })).toBe("refused POLICY_ABOVE_HOUR");
    expect(outcome(kit, "1000")).toBe("approved");
  });
});

describe("a hold", () => {
  it("begins above holdAbove and for every manual withdrawal", () => {
    const kit = withPolicy({ holdAbove: "3" });
    expect(outcome(kit, "3")).toBe("approved");
    expect(outcome(kit, "3.000001")).toBe("held POLICY_HOLD_ABOVE");
    expect(outcome(kit, "1", { mode: "manual" })).toBe("held POLICY_MANUAL");
    expect(outcome(kit, "1", { mode: "manual", address: "" })).toBe("held POLICY_MANUAL");
  });

  it("does not save what is above a limit or goes to a bad address", () => {
    const kit = withPolicy({ holdAbove: "3", maxPerWithdrawal: "5" });
    expect(outcome(kit, "6")).toBe("refused POLICY_ABOVE_WITHDRAWAL");
    expect(outcome(kit, "6", { mode: "manual" })).toBe("refused POLICY_ABOVE_WITHDRAWAL");
    expect(outcome(kit, "1", { mode: "manual", address: hotWallet })).toBe(
      "refused POLICY_DENIED_OWN",
    );
  });

  it("is ended by an operator's yes within every limit", () => {
    const kit = withPolicy({ holdAbove: "3", maxPerHour: "10" });
    const { transactionId, approvalDigest: digest } = kit.request({ amount: "7" });
    const { transactionId: second, approvalDigest } = kit.request({ amount: "4" });
    expect(kit.operate("approve", { transactionId, digest, address: "" }).withdrawal.state).toBe(
      "approved",
    );
    expect(
      kit.operate("approve", { transactionId: second, digest: approvalDigest, address: "" }).code,
    ).toBe("POLICY_ABOVE_HOUR");
    expect(kit.show(second).state).toBe("held");
    kit.now += hourMs;
    expect(
      kit.operate("approve", { transactionId: second, digest: approvalDigest, address: "" }).ok,
    ).toBe(true);
    expect(kit.pushes).toContainEqual(
      expect.objectContaining({
        push: "changed",
        withdrawal: expect.objectContaining({ transactionId }),
      }),
    );
  });
});

describe("destinations", () => {
  it.each([
    ["the hot wallet address itself", hotWallet, "POLICY_DENIED_OWN"],
    ["a token's contract", token, "POLICY_DENIED_CONTRACT"],
    ["the contract of a token on another chain", otherToken, "POLICY_DENIED_CONTRACT"],
  ])("%s is denied without being asked for, in any case of its letters", (_, address, code) => {
    const kit = withPolicy({});
    expect(outcome(kit, "1", { address })).toBe(`refused ${code}`);
    expect(outcome(kit, "1", { address: address.toLowerCase() })).toBe(`refused ${code}`);
    expect(outcome(kit, "1", { address: shop })).toBe("approved");
  });

  it("on the deny list are refused, and with an allow list all others are", () => {
    expect(outcome(withPolicy({ deny: [other] }), "1", { address: other })).toBe(
      "refused POLICY_DENIED",
    );
    expect(outcome(withPolicy({ deny: [other] }), "1")).toBe("approved");
    expect(outcome(withPolicy({ allow: [other] }), "1")).toBe("refused POLICY_NOT_ALLOWED");
    expect(outcome(withPolicy({ allow: [other] }), "1", { address: other.toLowerCase() })).toBe(
      "approved",
    );
    expect(outcome(withPolicy({ allow: [] }), "1")).toBe("approved");
    expect(outcome(withPolicy({ allow: [other], deny: [other] }), "1", { address: other })).toBe(
      "refused POLICY_DENIED",
    );
  });
});

describe("fee ceilings", () => {
  const priced = (wei: bigint) => ({
    gasLimit: "50000",
    maxFeePerGas: `${wei / 50_000n}`,
    maxPriorityFeePerGas: "0",
  });
  const ether = 10n ** 18n;

  it("hold for one withdrawal at its dearest", () => {
    const kit = withPolicy({ maxFee: "0.001" });
    const { transactionId } = kit.request();
    expect(kit.ask("sign", { transactionId, txParams: priced(ether / 1000n + 50_000n) }).code).toBe(
      "POLICY_FEE_ABOVE_WITHDRAWAL",
    );
    expect(kit.show(transactionId)).toMatchObject({ state: "approved", slot: "" });
    expect(kit.ask("sign", { transactionId, txParams: priced(ether / 1000n) }).ok).toBe(true);
    kit.acknowledge();
    expect(kit.ask("replace", { transactionId, above: 1, txParams: priced(0n) }).code).toBe(
      "POLICY_FEE_ABOVE_WITHDRAWAL",
    );
  });

  it("have a floor beside them: gas that such a transaction needs at the least", () => {
    const kit = withPolicy({});
    const { transactionId } = kit.request();
    const gas = (gasLimit: string) =>
      kit.ask("sign", { transactionId, txParams: { ...priced(ether / 1000n), gasLimit } });
    expect(gas("21000").code).toBe("POLICY_FEE_BELOW_FLOOR");
    expect(gas("44999").code).toBe("POLICY_FEE_BELOW_FLOOR");
    expect(kit.show(transactionId)).toMatchObject({ state: "approved", slot: "", attempts: [] });
    expect(gas("45000").ok).toBe(true);
    const native = kit.request({ currency: "eth", amount: "0.1" }).transactionId;
    const txParams = { ...priced(ether / 1000n), gasLimit: "21000" };
    expect(kit.ask("sign", { transactionId: native, txParams })).toMatchObject({ ok: true });
  });

  it("hold the tip too, 50 gwei unless told; an attempt above it gets the least step and no more", () => {
    const gwei = 1_000_000_000n;
    const tipped = (tip: bigint) => ({
      ...{ gasLimit: "50000", maxFeePerGas: `${100n * gwei}`, maxPriorityFeePerGas: `${tip}` },
    });
    const kit = withPolicy({});
    const { transactionId } = kit.request();
    expect(kit.ask("sign", { transactionId, txParams: tipped(50n * gwei + 1n) }).code).toBe(
      "POLICY_TIP_ABOVE_MAX",
    );
    expect(kit.show(transactionId)).toMatchObject({ state: "approved", slot: "" });
    expect(kit.ask("sign", { transactionId, txParams: tipped(40n * gwei) }).ok).toBe(true);
    kit.acknowledge();
    kit.edited = settingsWith({ maxTip: "30.5" });
    kit.start();
    kit.handshake();
    const other = kit.request().transactionId;
    expect(
      kit.ask("sign", { transactionId: other, txParams: tipped(30n * gwei + gwei / 2n + 1n) }).code,
    ).toBe("POLICY_TIP_ABOVE_MAX");
    expect(
      kit.ask("sign", { transactionId: other, txParams: tipped(30n * gwei + gwei / 2n) }).ok,
    ).toBe(true);
    // The released attempt has a higher tip than the new ceiling: nodes take a replacement only if
    // its tip is an eighth higher still.
    const higher = (tip: bigint) =>
      kit.ask("replace", { transactionId, above: 1, txParams: tipped(tip) });
    expect(higher(45n * gwei + 1n).code).toBe("POLICY_TIP_ABOVE_MAX");
    expect(higher(gwei).withdrawal.attempts[1]!.txParams?.maxPriorityFeePerGas).toBe(
      `${45n * gwei}`,
    );
  });

  it("hold for a day, a replaced attempt not counting beside the more expensive one", () => {
    const kit = withPolicy({ maxFee: "0.01", maxFeePerDay: "0.01" });
    const ids = [1, 2, 3].map(() => kit.request().transactionId);
    expect(
      kit.ask("sign", { transactionId: ids[0], txParams: priced((4n * ether) / 1000n) }).ok,
    ).toBe(true);
    kit.acknowledge();
    expect(
      kit.ask("replace", {
        transactionId: ids[0],
        above: 1,
        txParams: priced((6n * ether) / 1000n),
      }).ok,
    ).toBe(true);
    expect(
      kit.ask("sign", { transactionId: ids[1], txParams: priced((4n * ether) / 1000n + 50_000n) })
        .code,
    ).toBe("POLICY_FEE_ABOVE_DAY");
    expect(
      kit.ask("sign", { transactionId: ids[1], txParams: priced((4n * ether) / 1000n) }).ok,
    ).toBe(true);
    expect(kit.ask("sign", { transactionId: ids[2], txParams: priced(50_000n) }).code).toBe(
      "POLICY_FEE_ABOVE_DAY",
    );
    kit.now += dayMs - 1;
    kit.gateway.job({ expiresAt: kit.now + dayMs }, kit.now);
    kit.start();
    kit.handshake();
    kit.admit(kit.gateway.jobs(kit.gateway.texts.slice(-1)));
    const last = JSON.parse(kit.gateway.texts.at(-1)!).transactionId as string;
    expect(kit.ask("sign", { transactionId: last, txParams: priced(50_000n) }).code).toBe(
      "POLICY_FEE_ABOVE_DAY",
    );
    kit.now += 1;
    expect(
      kit.ask("sign", { transactionId: last, txParams: priced((6n * ether) / 1000n) }).ok,
    ).toBe(true);
  });
});

describe("the fees of a day", () => {
  it("count a withdrawal's dearest attempt, though a cheaper one comes after it", () => {
    const policy = new Policy(readRules(settings, own));
    const fields = {
      kind: "INTENT",
      transactionId: "01".repeat(16),
      network: "eip155:31337",
      amountUnits: "1",
      at: begun,
    };
    const applied = (attempt: number, maxFeePerGas: string): void =>
      policy.apply(
        {
          ...fields,
          attempt,
          feeMax: `${50_000n * BigInt(maxFeePerGas)}`,
        } as unknown as LedgerRecord,
        "usdt",
      );
    applied(1, "3");
    applied(2, "2");
    expect(limitUseAt(policy, "usdt", begun).feesUnits).toBe(150_000n);
  });
});

describe("a clearance", () => {
  const approved = (payee: { readonly tag?: string } = {}) => {
    const policy = new Policy(readRules(settings, own));
    const body = {
      transactionId: "01".repeat(16),
      chain: "local",
      network: "eip155:31337",
      contract: token,
      address: shop,
      ...payee,
    } as const;
    const record = {
      kind: "APPROVED",
      by: "policy",
      approver: "",
      ...body,
      amountUnits: "1500000",
      seq: 2,
      prev: "",
      at: begun,
      hash: "",
    } as const;
    policy.apply(record, "usdt");
    return { policy, approval: policy.approval(body.transactionId)! };
  };
  const transfer: Transfer = {
    ...{ chainId: 31337n, nonce: 5n, contract: token, destination: shop, amountUnits: 1_500_000n },
    ...{ gasLimit: 65_000n, maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 1n },
  };

  it("is given for bytes that say what was approved", () => {
    const { policy, approval } = approved();
    const built = {
      approval,
      unsigned: buildTransfer(transfer),
      txParams: {},
      attempt: 1,
      account: hotWallet,
      addressIndex: null,
      slot: "5",
    };
    const cleared = policy.clear(built, begun);
    expect(cleared.ok && isClearance(cleared.clearance)).toBe(true);
    expect(cleared).toMatchObject({
      clearance: { transactionId: approval.transactionId, attempt: 1, account: hotWallet },
    });
  });

  it.each([
    ["amount", { amountUnits: 1_500_001n }],
    ["destination", { destination: other }],
    ["contract", { contract: otherToken }],
    ["native coin", { contract: "" }],
    ["chain", { chainId: 1n }],
    ["nonce", { nonce: 6n }],
  ])("is refused when the %s differs", (_, change) => {
    const { policy, approval } = approved();
    const built = {
      approval,
      unsigned: buildTransfer({ ...transfer, ...change }),
      txParams: {},
      attempt: 1,
      account: hotWallet,
      addressIndex: null,
      slot: "5",
    };
    expect(policy.clear(built, begun)).toMatchObject({ ok: false, code: "POLICY_NOT_AS_APPROVED" });
  });

  it("is refused when the bytes carry no tag and the approval names one", () => {
    const { policy, approval } = approved({ tag: "7" });
    const place = { attempt: 1, account: hotWallet, addressIndex: null, slot: "5" };
    const built = { approval, unsigned: buildTransfer(transfer), txParams: {}, ...place };
    expect(policy.clear(built, begun)).toMatchObject({ ok: false, code: "POLICY_NOT_AS_APPROVED" });
    const kept = new Policy(readRules(settings, own), undefined, policySnapshot(policy, begun));
    expect(kept.approval(approval.transactionId)).toMatchObject({ tag: "7" });
  });

  it("is refused when the currency's table has changed since the approval", () => {
    const { approval } = approved();
    const moved = {
      ...settings,
      currencies: { ...settings.currencies, usdt: { chain: "local", decimal: 6, contract: other } },
    };
    const built = {
      approval,
      unsigned: buildTransfer(transfer),
      txParams: {},
      attempt: 1,
      account: hotWallet,
      addressIndex: null,
      slot: "5",
    };
    expect(new Policy(readRules(moved, own)).clear(built, begun)).toMatchObject({
      code: "POLICY_NOT_AS_APPROVED",
    });
  });

  it.each([
    ["its destination denied", { deny: [shop] }, "POLICY_DENIED"],
    ["its destination on no list", { allow: [other] }, "POLICY_NOT_ALLOWED"],
    ["its amount above the limit", { maxPerWithdrawal: "1.499999" }, "POLICY_ABOVE_WITHDRAWAL"],
    ["its amount above the day's limit", { maxPerDay: "1.499999" }, "POLICY_ABOVE_DAY"],
    ["its amount above the hour's limit", { maxPerHour: "1.499999" }, "POLICY_ABOVE_HOUR"],
  ])("is refused before a nonce is bound when the policy has %s by now", (_, change, code) => {
    const { approval } = approved();
    const edited = { ...settings, policy: { usdt: { ...settings.policy.usdt!, ...change } } };
    const built = {
      approval,
      unsigned: buildTransfer(transfer),
      txParams: {},
      attempt: 1,
      account: hotWallet,
      addressIndex: null,
      slot: "5",
    };
    expect(new Policy(readRules(edited, own)).clear(built, begun)).toMatchObject({
      ok: false,
      code,
    });
    // A refused higher fee would not stop the attempt that is out already.
    expect(new Policy(readRules(edited, own)).clear({ ...built, attempt: 2 }, begun).ok).toBe(true);
    expect(new Policy(readRules(settings, own)).clear(built, begun).ok).toBe(true);
  });

  it.each([
    ["the hot wallet address", shop, [], "POLICY_DENIED_OWN"],
    ["a token's contract", hotWallet, [shop], "POLICY_DENIED_CONTRACT"],
  ])("is refused when the destination has become %s", (_, id, contracts, code) => {
    const { approval } = approved();
    const rules = readRules(settings, [{ family: "evm", purpose: "hot", id }]);
    const policy = new Policy({ ...rules, contracts: new Set([...rules.contracts, ...contracts]) });
    const built = {
      approval,
      unsigned: buildTransfer(transfer),
      txParams: {},
      attempt: 1,
      account: hotWallet,
      addressIndex: null,
      slot: "5",
    };
    expect(policy.clear(built, begun)).toMatchObject({ ok: false, code });
  });

  it("of the first bytes that a recovered ledger makes for a told attempt waits for room in the limits; of later ones not", () => {
    const { approval } = approved();
    const edited = { ...settings, policy: { usdt: { ...settings.policy.usdt!, maxPerHour: "2" } } };
    const policy = new Policy(readRules(edited, own));
    const bytes = {
      approval,
      unsigned: buildTransfer(transfer),
      txParams: {},
      account: hotWallet,
      addressIndex: null,
      slot: "5",
    };
    const nowMs = begun + 26 * hourMs;
    const told = { ...bytes, attempt: 2, isFirstHere: true };
    const { hourAssigned } = policy.sums.of("usdt");
    hourAssigned.add("of another", nowMs, 500_001n);
    expect(policy.clear(told, nowMs)).toMatchObject({
      ok: false,
      code: "WITHDRAWAL_WAITS_FOR_LIMIT",
      detail: "POLICY_ABOVE_HOUR",
    });
    expect(policy.clear({ ...told, isFirstHere: false }, nowMs).ok).toBe(true);
    expect(policy.clear(told, nowMs + hourMs).ok).toBe(true);
    hourAssigned.remove("of another");
    hourAssigned.add("of a third", nowMs, 500_000n);
    expect(policy.clear(told, nowMs).ok).toBe(true);
    // Its record makes it count from then on, though its attempt of before counted a day ago.
    const intent = {
      kind: "INTENT",
      transactionId: approval.transactionId,
      attempt: 2,
      network: approval.network,
    } as const;
    const place = {
      account: hotWallet,
      slot: "5",
      contract: token,
      address: shop,
      amountUnits: "1500000",
      feeMax: "1",
    };
    const made = { txParams: {}, digest: "", unsigned: "", seq: 9, prev: "", at: nowMs, hash: "" };
    policy.sums.apply({ ...intent, ...place, ...made }, "usdt");
    expect(hourAssigned.sumAt(nowMs)).toBe(2_000_000n);
  });

  it("and an approval cannot be counterfeited", () => {
    const { policy, approval } = approved();
    const cleared = policy.clear(
      {
        approval,
        unsigned: buildTransfer(transfer),
        txParams: {},
        attempt: 1,
        account: hotWallet,
        addressIndex: null,
        slot: "5",
      },
      begun,
    );
    if (!cleared.ok) throw new Error(cleared.code);
    for (const [real, is] of [
      [approval, isApproval] as const,
      [cleared.clearance, isClearance] as const,
    ]) {
      expect(is(real)).toBe(true);
      expect(is({ ...real })).toBe(false);
      expect(
        is(Object.create(Object.getPrototypeOf(real), Object.getOwnPropertyDescriptors(real))),
      ).toBe(false);
      expect(is(null)).toBe(false);
      expect(() => Object.assign(real, { digest: "00" })).toThrow(TypeError);
    }
  });
});

describe("settings", () => {
  const usdt = settings.policy.usdt!;

  it.each([
    ["an amount that is none", { usdt: { ...usdt, maxPerDay: "1e3" } }],
    ["more decimals than the currency", { usdt: { ...usdt, maxPerDay: "1.0000001" } }],
    ["a mistyped address", { usdt: { ...usdt, deny: [`${shop.slice(0, -1)}9`] } }],
    ["a currency that is not there", { doge: usdt }],
  ])("with %s are a fault", (_, policy) => {
    expect(() => readRules({ ...settings, policy }, own)).toThrow(
      expect.objectContaining({ code: "POLICY_SETTINGS" }),
    );
  });

  it("may set a limit of nothing, which lets nothing through", () => {
    expect(outcome(withPolicy({ maxPerDay: "0" }), "0.000001")).toBe("refused POLICY_ABOVE_DAY");
    expect(outcome(withPolicy({ holdAbove: "0" }), "0.000001")).toBe("held POLICY_HOLD_ABOVE");
  });
});

describe("a sliding window", () => {
  it.each(seedsOfRun(share(20)))("sums what a plain list sums (SEED=%i)", (seed) => {
    const random = new SeededRandom(seed);
    const spanMs = 1_000;
    let window = new SlidingWindow(spanMs);
    const plain = new Map<string, { at: number; units: bigint }>();
    let now = 0;
    for (let i = 0; i < 3_000; i++) {
      now += random.below(4) === 0 ? random.below(300) : 0;
      const id = `${random.below(40)}`;
      const units = BigInt(random.below(100));
      if (random.chance(3)) {
        window.remove(id);
        plain.delete(id);
      } else if (!plain.has(id) || plain.get(id)!.at <= now - spanMs) {
        window.remove(id);
        window.add(id, now, units);
        plain.set(id, { at: now, units });
      }
      const asked = now + random.below(1_500);
      const sumOf = (at: number): bigint =>
        [...plain.values()].reduce(
          (sum, one) => (one.at > at - spanMs ? sum + one.units : sum),
          0n,
        );
      for (const at of [asked, now])
        if (window.sumAt(at) !== sumOf(at)) expect(window.sumAt(at)).toBe(sumOf(at));
      if (random.chance(50)) window = new SlidingWindow(spanMs, window.entriesAt(now));
    }
  });
});
