/**
 * Nothing stays stuck: an operator's `replace`, `cancel`, `pause` and `resume`, and bytes that are
 * kept until the gateway's signed word on the end of a withdrawal, against every report of a
 * courier.
 */
import { Transaction } from "ethers";
import { describe, expect, it } from "vitest";
import type { OperatorView, ReplacementPlan } from "../../agent/socket/verbs.ts";
import { type AnyAnswer, hotWallet, Kit, settings, txParams } from "../../lab/kit/signer-kit.ts";
import { well } from "../support/operator-socket.ts";

type Shown = AnyAnswer & { readonly plan: ReplacementPlan; readonly feeMarket: object | null };

const choice = { gasLimit: "", maxFeePerGas: "", maxPriorityFeePerGas: "" };

function plan(
  kit: Kit,
  act: "replace" | "cancel",
  transactionId: string,
  numbers: object = {},
): Shown {
  return kit.operate("manualReplacement", {
    transactionId,
    act,
    txParams: { ...choice, ...numbers },
    plan: null,
  }) as Shown;
}

function order(
  kit: Kit,
  act: "replace" | "cancel",
  transactionId: string,
  numbers: object = {},
): Shown {
  const shown = plan(kit, act, transactionId, numbers);
  expect(shown.code).toBeUndefined();
  return kit.operate("manualReplacement", {
    transactionId,
    act,
    txParams: { ...choice, ...numbers },
    plan: shown.plan,
  }) as Shown;
}

/** The courier's word of the fee market. */
function tellMarket(kit: Kit, chain: string, baseFeePerGas: bigint): void {
  const courier = well.courier!;
  const [first] = courier.chains;
  const feeMarket = {
    baseFeePerGas: `${baseFeePerGas}`,
    maxPriorityFeePerGas: "1000000000",
    maxPriorityFeePerGasHigh: "1000000000",
  };
  expect(
    kit.ask("tell", { courier: { ...courier, chains: [{ ...first, chain, feeMarket }] } }),
  ).toMatchObject({ ok: true });
}

/** The bytes of the newest attempt, read by code that is not ours. */
function newest({ attempts }: OperatorView): Transaction {
  return Transaction.from(attempts.at(-1)!.raw!);
}

function paying(): {
  readonly kit: Kit;
  readonly transactionId: string;
  readonly see: (...said: string[]) => AnyAnswer;
} {
  const kit = new Kit().ready();
  const { transactionId } = kit.pay();
  const see = (stage: string, outcome = "", attempt = "1") => {
    const { txHash } = kit.show(transactionId).attempts[Number(attempt) - 1]!;
    return kit.ask("observed", {
      transactionId,
      stage,
      outcome,
      txHash,
      block: stage === "broadcast" ? 0 : 7,
    });
  };
  return { kit, transactionId, see };
}

describe("replace by an operator", () => {
  it("a replacement by an operator shows twice the fees first and changes nothing, then signs exactly that on the same slot", () => {
    const { kit, transactionId } = paying();
    const before = kit.records().length;
    const shown = plan(kit, "replace", transactionId);
    expect(shown.plan).toEqual({
      ...{ act: "replace", attempt: 2 },
      txParams: {
        gasLimit: "65000",
        maxFeePerGas: "4000000001",
        maxPriorityFeePerGas: "2000000001",
      },
    });
    expect(kit.records()).toHaveLength(before);
    order(kit, "replace", transactionId);
    expect(kit.kinds().slice(before)).toEqual(["MANUAL_REPLACEMENT", "INTENT", "SIGNED"]);
    const released = kit.acknowledge().withdrawals[0]!;
    const first = Transaction.from(released.attempts[0]!.raw!);
    const made = newest(released);
    expect(made).toMatchObject({
      nonce: first.nonce,
      to: first.to,
      data: first.data,
      maxFeePerGas: 4_000_000_001n,
    });
    expect(
      kit.pushes.some((push) => push.push === "changed" && push.withdrawal.attempts.length === 2),
    ).toBe(true);
  });

  it("a replacement by an operator takes fees that an operator names, and refuses those that no node would take as a replacement", () => {
    const { kit, transactionId } = paying();
    const named = {
      maxFeePerGas: "2250000000",
      maxPriorityFeePerGas: "1125000000",
      gasLimit: "70000",
    };
    expect(plan(kit, "replace", transactionId, named).plan.txParams).toMatchObject(named);
    for (const low of [{ maxFeePerGas: "2249999999" }, { maxPriorityFeePerGas: "1124999999" }])
      expect(plan(kit, "replace", transactionId, { ...named, ...low }).code).toBe(
        "REPLACEMENT_FEES",
      );
  });

  it("a replacement by an operator falls back to an eighth more where twice is above the limit, and keeps to the limit", () => {
    const kit = new Kit().ready();
    const dear = {
      gasLimit: "65000",
      maxFeePerGas: "100000000000",
      maxPriorityFeePerGas: "1000000000",
    };
    const { transactionId } = kit.request();
    kit.ask("sign", { transactionId, txParams: dear });
    kit.acknowledge();
    expect(plan(kit, "replace", transactionId).plan.txParams.maxFeePerGas).toBe("112500000000");
    const above = { maxFeePerGas: "200000000000", maxPriorityFeePerGas: "2000000000" };
    expect(plan(kit, "replace", transactionId, above).code).toBe("POLICY_FEE_ABOVE_WITHDRAWAL");
  });

  it.each(["replace", "cancel"] as const)(
    "a %s by an operator offers what the fee market wants, within the limits",
    (act) => {
      const market = (baseFeePerGas: bigint) => {
        const { kit, transactionId } = paying();
        tellMarket(kit, kit.show(transactionId).chain, baseFeePerGas);
        const shown = plan(kit, act, transactionId);
        expect(shown.feeMarket).toMatchObject({ baseFeePerGas: `${baseFeePerGas}` });
        order(kit, act, transactionId);
        return BigInt(shown.plan.txParams.maxFeePerGas!);
      };
      expect(market(1_000_000_000n)).toBe(4_000_000_001n);
      expect(market(20_000_000_000n)).toBe(42_000_000_001n);
      // Far above the limits: the offer goes as near to the limit as steps of an eighth come.
      const limited = market(1_000_000_000_000n);
      const limit =
        act === "cancel" ? 10_000_000_000_000_000n / 21_000n : 10_000_000_000_000_000n / 65_000n;
      expect(limited).toBeLessThanOrEqual(limit);
      expect(limited).toBeGreaterThan((limit * 7n) / 8n);
    },
  );

  it("a replacement by an operator does not do what was not shown, and twice is once", () => {
    const { kit, transactionId } = paying();
    const shown = plan(kit, "replace", transactionId);
    const asked = { transactionId, act: "replace", txParams: choice, plan: shown.plan };
    kit.ask("replace", { transactionId, above: 1, txParams });
    kit.acknowledge();
    kit.operate("manualReplacement", asked);
    expect(kit.show(transactionId).attempts).toHaveLength(2);
    expect(
      kit.operate("manualReplacement", { ...asked, plan: { ...shown.plan, attempt: 5 } }).code,
    ).toBe("REPLACEMENT_OTHER_PLAN");
    const again = plan(kit, "replace", transactionId).plan;
    for (let i = 0; i < 2; i++)
      expect(kit.operate("manualReplacement", { ...asked, plan: again }).ok).toBe(true);
    expect(kit.show(transactionId).attempts).toHaveLength(3);
  });

  it("a replacement by an operator is for what is bound, out and not over", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    expect(plan(kit, "replace", transactionId).code).toBe("REPLACEMENT_NO_SLOT");
    kit.ask("sign", { transactionId, txParams });
    expect(plan(kit, "replace", transactionId).code).toBe("WITHDRAWAL_NOT_RELEASED");
    expect(plan(kit, "cancel", transactionId).code).toBe("WITHDRAWAL_NOT_RELEASED");
    kit.acknowledge();
    expect(plan(kit, "replace", transactionId).ok).toBe(true);
    const { txHash } = kit.show(transactionId).attempts[0]!;
    kit.ask("observed", { transactionId, stage: "final", outcome: "paid", txHash, block: 7 });
    kit.acknowledge();
    expect(plan(kit, "replace", transactionId).code).toBe("WITHDRAWAL_CLOSED");
    expect(plan(kit, "cancel", "00".repeat(16)).code).toBe("WITHDRAWAL_UNKNOWN");
  });
});

describe("cancel", () => {
  it("a cancel signs a payment of nothing to oneself on the same slot, and from then on nothing that pays", () => {
    const { kit, transactionId, see } = paying();
    see("broadcast");
    expect(plan(kit, "cancel", transactionId).plan).toMatchObject({
      act: "cancel",
      attempt: 2,
      txParams: { gasLimit: "21000" },
    });
    order(kit, "cancel", transactionId);
    const cancelled = kit.acknowledge().withdrawals[0]!;
    expect(cancelled).toMatchObject({
      state: "broadcast",
      attempts: [{ attempt: 1 }, { attempt: 2, isCancel: true }],
    });
    expect(newest(cancelled)).toMatchObject({
      from: hotWallet,
      to: hotWallet,
      value: 0n,
      data: "0x",
      nonce: 5,
    });
    // The courier's replacement with a higher fee is one of the cancel, and so is an operator's.
    kit.ask("replace", { transactionId, above: 2, txParams });
    expect(newest(kit.acknowledge().withdrawals[0]!)).toMatchObject({
      to: hotWallet,
      value: 0n,
      data: "0x",
      nonce: 5,
    });
    expect(plan(kit, "replace", transactionId).plan.act).toBe("cancel");
  });

  it("a cancel leaves the end to the chain: by it nothing is paid, by an earlier attempt the withdrawal is", () => {
    for (const [attempt, outcome, wrong] of [
      ["2", "cancelled", "paid"],
      ["1", "paid", "cancelled"],
    ] as const) {
      const { kit, transactionId, see } = paying();
      order(kit, "cancel", transactionId);
      kit.acknowledge();
      expect(see("final", wrong, attempt).code).toBe("WITHDRAWAL_OBSERVATION");
      expect(see("final", outcome, attempt).withdrawal.state).toBe(outcome);
      kit.acknowledge();
      expect(kit.show(transactionId)).toMatchObject({ state: outcome, isOver: true });
      expect(kit.core.book.openCount).toBe(0);
    }
  });

  it("a cancel survives a crash between its record and its signature", () => {
    const { kit, transactionId } = paying();
    const shown = plan(kit, "cancel", transactionId);
    kit.records();
    for (let kept = 0; kept < 3_000; kept += 250) {
      const asked = { transactionId, act: "cancel", txParams: choice, plan: shown.plan };
      kit.crash(kept);
      kit.handshake();
      expect(kit.operate("manualReplacement", asked).ok).toBe(true);
    }
    expect(kit.show(transactionId).attempts.map(({ isCancel = false }) => isCancel)).toEqual([
      false,
      true,
    ]);
  });

  it("a cancel keeps to the ceilings of fees", () => {
    const { kit, transactionId } = paying();
    const dear = { maxFeePerGas: "600000000000", maxPriorityFeePerGas: "50000000000" };
    expect(plan(kit, "cancel", transactionId, dear).code).toBe("POLICY_FEE_ABOVE_WITHDRAWAL");
    const tipped = { maxFeePerGas: "60000000000", maxPriorityFeePerGas: "50000000001" };
    expect(plan(kit, "cancel", transactionId, tipped).code).toBe("POLICY_TIP_ABOVE_MAX");
    expect(plan(kit, "replace", transactionId, tipped).code).toBe("POLICY_TIP_ABOVE_MAX");
    expect(
      plan(kit, "cancel", transactionId, { ...tipped, maxPriorityFeePerGas: "50000000000" }).ok,
    ).toBe(true);
  });
});

describe("a pause", () => {
  it("stops every signature that pays, over a restart, and lets what is signed go on; resume goes on", () => {
    const { kit, transactionId } = paying();
    const next = kit.request().transactionId;
    expect(kit.operate("pause", { paused: true }).ok).toBe(true);
    expect(kit.pushes).toContainEqual({ push: "paused", paused: true });
    for (let run = 0; run < 2; run++) {
      expect(kit.ask("sign", { transactionId: next, txParams }).code).toBe("SIGNER_PAUSED");
      expect(kit.ask("replace", { transactionId, above: 1, txParams }).code).toBe("SIGNER_PAUSED");
      expect(plan(kit, "replace", transactionId).code).toBe("SIGNER_PAUSED");
      expect(plan(kit, "cancel", transactionId).ok).toBe(true);
      expect(kit.operate("status").status).toMatchObject({ paused: { approver: "ann" } });
      kit.start();
      kit.handshake();
      expect(kit.ask("hello")).toMatchObject({ paused: true });
    }
    kit.operate("pause", { paused: false });
    expect(kit.ask("sign", { transactionId: next, txParams }).ok).toBe(true);
    expect(kit.kinds().filter((kind) => kind === "PAUSED")).toHaveLength(2);
  });

  it("stops what was recorded and not signed yet, and resume signs it", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    kit.send("sign", { transactionId, txParams });
    kit.send("report", { after: 0 });
    kit.operate("pause", { paused: true });
    expect(kit.kinds()).not.toContain("SIGNED");
    kit.operate("pause", { paused: false });
    expect(kit.kinds()).toContain("SIGNED");
  });

  it("is told to the gateway until that has acknowledged it, also after a restart", () => {
    const kit = new Kit().ready();
    kit.operate("pause", { paused: true });
    kit.start();
    kit.handshake();
    kit.acknowledge();
    const told = () =>
      kit.statements.flatMap(({ entries }) => entries.filter(({ kind }) => kind === "paused"));
    expect(told()).toMatchObject([{ paused: true }]);
    kit.start();
    kit.handshake();
    kit.acknowledge();
    expect(told()).toHaveLength(1);
  });
});

describe("the gateway's last word", () => {
  it("only the gateway's last word makes the signer forget bytes: a courier's end does not, however often it comes", () => {
    const { kit, transactionId, see } = paying();
    see("final", "paid");
    for (let i = 0; i < 3; i++) {
      kit.receive();
      const { stored } = kit.gateway;
      kit.release(kit.gateway.ack(stored!, { at: kit.now, ended: [] }));
      kit.start();
      kit.handshake();
      const { open } = kit.ask("hello");
      expect(open).toMatchObject([{ transactionId, state: "paid", isOver: false }]);
      expect(open[0]!.attempts[0]!.raw).toMatch(/^0x02/);
    }
    // A withdrawal that was never broadcast can still be replaced on its slot.
    expect(kit.ask("replace", { transactionId, above: 1, txParams }).ok).toBe(true);
    kit.acknowledge();
    expect(kit.ask("hello").open).toEqual([]);
    expect(kit.show(transactionId)).toMatchObject({ state: "paid", isOver: true });
    expect(kit.show(transactionId).attempts[0]!.raw).toBeUndefined();
  });

  it("is received before the courier tells the end, and closes the withdrawal with it", () => {
    const { kit, transactionId, see } = paying();
    kit.gateway.ended.add(transactionId);
    kit.acknowledge();
    expect(kit.kinds().filter((kind) => kind === "ENDED")).toHaveLength(1);
    expect(kit.ask("hello").open).toMatchObject([{ transactionId, state: "released" }]);
    see("final", "paid");
    kit.acknowledge();
    expect(kit.core.book.openCount).toBe(0);
    expect(kit.kinds().filter((kind) => kind === "ENDED")).toHaveLength(1);
  });

  it("is nobody else's: of a foreign key, another agent or epoch it ends nothing", () => {
    const { kit, transactionId, see } = paying();
    see("final", "paid");
    kit.receive();
    const stored = kit.gateway.stored!;
    const foreign = new Kit().gateway.key;
    for (const frame of [
      kit.gateway.ack(stored, { at: kit.now, ended: [transactionId] }, foreign),
      kit.gateway.ack(stored, { at: kit.now, ended: [transactionId], agent: "bb".repeat(8) }),
      kit.gateway.ack(stored, { at: kit.now, ended: [transactionId], ledgerEpoch: 2 }),
    ])
      expect(kit.release(frame).ok).toBe(false);
    expect(kit.kinds()).not.toContain("ENDED");
    expect(kit.release(kit.gateway.ack(stored, { at: kit.now, ended: [transactionId] })).ok).toBe(
      true,
    );
    expect(kit.kinds()).toContain("ENDED");
  });
});

describe("status", () => {
  it("names the lowest slot that waits longer than it should, whatever the courier tells of it", () => {
    const kit = new Kit({ settings: { ...settings, stuckAfterMinutes: 30 } }).ready();
    const first = kit.pay().transactionId;
    const second = kit.pay().transactionId;
    const stuck = () => kit.operate("status").status.stuck;
    expect(stuck()).toBeNull();
    kit.now += 29 * 60_000;
    kit.handshake();
    expect(stuck()).toBeNull();
    const { txHash } = kit.show(first).attempts[0]!;
    kit.ask("observed", { transactionId: first, stage: "included", outcome: "", txHash, block: 7 });
    kit.ask("observed", {
      transactionId: first,
      stage: "final",
      outcome: "paid",
      txHash,
      block: 7,
    });
    kit.now += 2 * 60_000;
    kit.handshake();
    expect(stuck()).toMatchObject({
      transactionId: first,
      slot: "5",
      state: "paid",
      afterMinutes: 30,
      isCancelling: false,
    });
    kit.acknowledge();
    expect(stuck()).toMatchObject({ transactionId: second, slot: "6", state: "released" });
    order(kit, "cancel", second);
    expect(stuck()).toMatchObject({ transactionId: second, isCancelling: true });
  });
});
