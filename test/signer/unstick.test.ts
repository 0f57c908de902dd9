/**
 * Nothing stays stuck: a person's `replace`, `cancel`, `pause` and `resume`, and bytes that are
 * kept until the gateway's signed word on the end of a withdrawal, against every report of a
 * courier.
 */
import { Transaction } from "ethers";
import { describe, expect, it } from "vitest";
import type { OperatorView, UnstickPlan } from "../../agent/socket/verbs.ts";
import { type AnyAnswer, facts, hot, Rig, settings } from "../../lab/rig/signer-rig.ts";

type Shown = AnyAnswer & { readonly plan: UnstickPlan };

const choice = { gasLimit: "", maxFeePerGas: "", maxPriorityFeePerGas: "" };

function plan(rig: Rig, act: "replace" | "cancel", transactionId: string, numbers: object = {}): Shown {
  return rig.operate("unstick", { transactionId, act, facts: { ...choice, ...numbers }, plan: null }) as Shown;
}

function order(rig: Rig, act: "replace" | "cancel", transactionId: string, numbers: object = {}): Shown {
  const shown = plan(rig, act, transactionId, numbers);
  expect(shown.code).toBeUndefined();
  return rig.operate("unstick", { transactionId, act, facts: { ...choice, ...numbers }, plan: shown.plan }) as Shown;
}

/** The bytes of the newest version, read by code that is not ours. */
function newest({ versions }: OperatorView): Transaction {
  return Transaction.from(versions.at(-1)!.raw!);
}

function paying(): { readonly rig: Rig; readonly transactionId: string; readonly see: (...said: string[]) => AnyAnswer } {
  const rig = new Rig().ready();
  const { transactionId } = rig.pay();
  const see = (stage: string, outcome = "", version = "1") => {
    const { txHash } = rig.show(transactionId).versions[Number(version) - 1]!;
    return rig.ask("observed", { transactionId, stage, outcome, txHash, block: stage === "broadcast" ? 0 : 7 });
  };
  return { rig, transactionId, see };
}

describe("replace by a person", () => {
  it("a replacement by a person shows twice the fees first and changes nothing, then signs exactly that on the same slot", () => {
    const { rig, transactionId } = paying();
    const before = rig.records().length;
    const shown = plan(rig, "replace", transactionId);
    expect(shown.plan).toEqual({
      ...{ act: "replace", version: 2 },
      facts: { gasLimit: "65000", maxFeePerGas: "4000000001", maxPriorityFeePerGas: "2000000001" },
    });
    expect(rig.records()).toHaveLength(before);
    order(rig, "replace", transactionId);
    expect(rig.kinds().slice(before)).toEqual(["UNSTUCK", "INTENT", "SIGNED"]);
    const released = rig.acknowledge().withdrawals[0]!;
    const first = Transaction.from(released.versions[0]!.raw!);
    const made = newest(released);
    expect(made).toMatchObject({ nonce: first.nonce, to: first.to, data: first.data, maxFeePerGas: 4_000_000_001n });
    expect(rig.pushes.some((push) => push.push === "changed" && push.withdrawal.versions.length === 2)).toBe(true);
  });

  it("a replacement by a person takes fees that a person names, and refuses those that no node would take as a replacement", () => {
    const { rig, transactionId } = paying();
    const named = { maxFeePerGas: "2250000000", maxPriorityFeePerGas: "1125000000", gasLimit: "70000" };
    expect(plan(rig, "replace", transactionId, named).plan.facts).toMatchObject(named);
    for (const low of [{ maxFeePerGas: "2249999999" }, { maxPriorityFeePerGas: "1124999999" }])
      expect(plan(rig, "replace", transactionId, { ...named, ...low }).code).toBe("UNSTICK_FEES");
  });

  it("a replacement by a person falls back to an eighth more where twice is above the limit, and keeps to the limit", () => {
    const rig = new Rig().ready();
    const dear = { gasLimit: "65000", maxFeePerGas: "100000000000", maxPriorityFeePerGas: "1000000000" };
    const { transactionId } = rig.request();
    rig.ask("sign", { transactionId, facts: dear });
    rig.acknowledge();
    expect(plan(rig, "replace", transactionId).plan.facts.maxFeePerGas).toBe("112500000000");
    const above = { maxFeePerGas: "200000000000", maxPriorityFeePerGas: "2000000000" };
    expect(plan(rig, "replace", transactionId, above).code).toBe("POLICY_FEE_ABOVE_WITHDRAWAL");
  });

  it("a replacement by a person does not do what was not shown, and twice is once", () => {
    const { rig, transactionId } = paying();
    const shown = plan(rig, "replace", transactionId);
    const asked = { transactionId, act: "replace", facts: choice, plan: shown.plan };
    rig.ask("replace", { transactionId, above: 1, facts });
    rig.acknowledge();
    rig.operate("unstick", asked);
    expect(rig.show(transactionId).versions).toHaveLength(2);
    expect(rig.operate("unstick", { ...asked, plan: { ...shown.plan, version: 5 } }).code).toBe("UNSTICK_OTHER_PLAN");
    const again = plan(rig, "replace", transactionId).plan;
    for (let i = 0; i < 2; i++) expect(rig.operate("unstick", { ...asked, plan: again }).ok).toBe(true);
    expect(rig.show(transactionId).versions).toHaveLength(3);
  });

  it("a replacement by a person is for what is bound, out and not over", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    expect(plan(rig, "replace", transactionId).code).toBe("UNSTICK_UNBOUND");
    rig.ask("sign", { transactionId, facts });
    expect(plan(rig, "replace", transactionId).code).toBe("WITHDRAWAL_NOT_RELEASED");
    expect(plan(rig, "cancel", transactionId).code).toBe("WITHDRAWAL_NOT_RELEASED");
    rig.acknowledge();
    expect(plan(rig, "replace", transactionId).ok).toBe(true);
    const { txHash } = rig.show(transactionId).versions[0]!;
    rig.ask("observed", { transactionId, stage: "final", outcome: "paid", txHash, block: 7 });
    rig.acknowledge();
    expect(plan(rig, "replace", transactionId).code).toBe("WITHDRAWAL_CLOSED");
    expect(plan(rig, "cancel", "00".repeat(16)).code).toBe("WITHDRAWAL_UNKNOWN");
  });
});

describe("cancel", () => {
  it("a cancel signs a payment of nothing to oneself on the same slot, and from then on nothing that pays", () => {
    const { rig, transactionId, see } = paying();
    see("broadcast");
    expect(plan(rig, "cancel", transactionId).plan).toMatchObject({ act: "cancel", version: 2, facts: { gasLimit: "21000" } });
    order(rig, "cancel", transactionId);
    const cancelled = rig.acknowledge().withdrawals[0]!;
    expect(cancelled).toMatchObject({ state: "broadcast", versions: [{ version: 1 }, { version: 2, isCancel: true }] });
    expect(newest(cancelled)).toMatchObject({ from: hot, to: hot, value: 0n, data: "0x", nonce: 5 });
    // The courier's dearer version is one of the cancel, and so is a person's.
    rig.ask("replace", { transactionId, above: 2, facts });
    expect(newest(rig.acknowledge().withdrawals[0]!)).toMatchObject({ to: hot, value: 0n, data: "0x", nonce: 5 });
    expect(plan(rig, "replace", transactionId).plan.act).toBe("cancel");
  });

  it("a cancel leaves the end to the chain: by it nothing is paid, by an earlier version the withdrawal is", () => {
    for (const [version, outcome, wrong] of [
      ["2", "cancelled", "paid"],
      ["1", "paid", "cancelled"],
    ] as const) {
      const { rig, transactionId, see } = paying();
      order(rig, "cancel", transactionId);
      rig.acknowledge();
      expect(see("final", wrong, version).code).toBe("WITHDRAWAL_OBSERVATION");
      expect(see("final", outcome, version).withdrawal.state).toBe(outcome);
      rig.acknowledge();
      expect(rig.show(transactionId)).toMatchObject({ state: outcome, isOver: true });
      expect(rig.core.book.openCount).toBe(0);
    }
  });

  it("a cancel survives a crash between its record and its signature", () => {
    const { rig, transactionId } = paying();
    const shown = plan(rig, "cancel", transactionId);
    rig.records();
    for (let kept = 0; kept < 3_000; kept += 250) {
      const asked = { transactionId, act: "cancel", facts: choice, plan: shown.plan };
      rig.crash(kept);
      rig.greet();
      expect(rig.operate("unstick", asked).ok).toBe(true);
    }
    expect(rig.show(transactionId).versions.map(({ isCancel = false }) => isCancel)).toEqual([false, true]);
  });

  it("a cancel keeps to the ceilings of fees", () => {
    const { rig, transactionId } = paying();
    const dear = { maxFeePerGas: "600000000000", maxPriorityFeePerGas: "50000000000" };
    expect(plan(rig, "cancel", transactionId, dear).code).toBe("POLICY_FEE_ABOVE_WITHDRAWAL");
    const tipped = { maxFeePerGas: "60000000000", maxPriorityFeePerGas: "50000000001" };
    expect(plan(rig, "cancel", transactionId, tipped).code).toBe("POLICY_TIP_ABOVE_MAX");
    expect(plan(rig, "replace", transactionId, tipped).code).toBe("POLICY_TIP_ABOVE_MAX");
    expect(plan(rig, "cancel", transactionId, { ...tipped, maxPriorityFeePerGas: "50000000000" }).ok).toBe(true);
  });
});

describe("a pause", () => {
  it("a pause stops every signature that pays, over a restart, and lets what is signed go on; resume goes on", () => {
    const { rig, transactionId } = paying();
    const next = rig.request().transactionId;
    expect(rig.operate("pause", { paused: true }).ok).toBe(true);
    expect(rig.pushes).toContainEqual({ push: "paused", paused: true });
    for (let run = 0; run < 2; run++) {
      expect(rig.ask("sign", { transactionId: next, facts }).code).toBe("SIGNER_PAUSED");
      expect(rig.ask("replace", { transactionId, above: 1, facts }).code).toBe("SIGNER_PAUSED");
      expect(plan(rig, "replace", transactionId).code).toBe("SIGNER_PAUSED");
      expect(plan(rig, "cancel", transactionId).ok).toBe(true);
      expect(rig.operate("status").status).toMatchObject({ paused: { approver: "ann" } });
      rig.start();
      rig.greet();
      expect(rig.ask("hello")).toMatchObject({ paused: true });
    }
    rig.operate("pause", { paused: false });
    expect(rig.ask("sign", { transactionId: next, facts }).ok).toBe(true);
    expect(rig.kinds().filter((kind) => kind === "PAUSED")).toHaveLength(2);
  });

  it("a pause stops what was recorded and not signed yet, and resume signs it", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    rig.send("sign", { transactionId, facts });
    rig.send("report", { after: 0 });
    rig.operate("pause", { paused: true });
    expect(rig.kinds()).not.toContain("SIGNED");
    rig.operate("pause", { paused: false });
    expect(rig.kinds()).toContain("SIGNED");
  });

  it("a pause is told to the gateway until that has acknowledged it, also after a restart", () => {
    const rig = new Rig().ready();
    rig.operate("pause", { paused: true });
    rig.start();
    rig.greet();
    rig.acknowledge();
    const told = () => rig.statements.flatMap(({ entries }) => entries.filter(({ kind }) => kind === "paused"));
    expect(told()).toMatchObject([{ paused: true }]);
    rig.start();
    rig.greet();
    rig.acknowledge();
    expect(told()).toHaveLength(1);
  });
});

describe("the gateway's last word", () => {
  it("only the gateway's last word makes the signer forget bytes: a courier's end does not, however often it comes", () => {
    const { rig, transactionId, see } = paying();
    see("final", "paid");
    for (let i = 0; i < 3; i++) {
      rig.hear();
      const { stored } = rig.gateway;
      rig.release(rig.gateway.ack(stored!, { at: rig.now, ended: [] }));
      rig.start();
      rig.greet();
      const { open } = rig.ask("hello");
      expect(open).toMatchObject([{ transactionId, state: "paid", isOver: false }]);
      expect(open[0]!.versions[0]!.raw).toMatch(/^0x02/);
    }
    // A withdrawal that was never broadcast can still be replaced on its slot.
    expect(rig.ask("replace", { transactionId, above: 1, facts }).ok).toBe(true);
    rig.acknowledge();
    expect(rig.ask("hello").open).toEqual([]);
    expect(rig.show(transactionId)).toMatchObject({ state: "paid", isOver: true });
    expect(rig.show(transactionId).versions[0]!.raw).toBeUndefined();
  });

  it("the gateway's last word is heard before the courier tells the end, and closes the withdrawal with it", () => {
    const { rig, transactionId, see } = paying();
    rig.gateway.ended.add(transactionId);
    rig.acknowledge();
    expect(rig.kinds().filter((kind) => kind === "ENDED")).toHaveLength(1);
    expect(rig.ask("hello").open).toMatchObject([{ transactionId, state: "released" }]);
    see("final", "paid");
    rig.acknowledge();
    expect(rig.core.book.openCount).toBe(0);
    expect(rig.kinds().filter((kind) => kind === "ENDED")).toHaveLength(1);
  });

  it("the gateway's last word is nobody else's: of a foreign key, another agent or epoch it ends nothing", () => {
    const { rig, transactionId, see } = paying();
    see("final", "paid");
    rig.hear();
    const stored = rig.gateway.stored!;
    const foreign = new Rig().gateway.key;
    for (const frame of [
      rig.gateway.ack(stored, { at: rig.now, ended: [transactionId] }, foreign),
      rig.gateway.ack(stored, { at: rig.now, ended: [transactionId], agent: "bb".repeat(8) }),
      rig.gateway.ack(stored, { at: rig.now, ended: [transactionId], epoch: 2 }),
    ])
      expect(rig.release(frame).ok).toBe(false);
    expect(rig.kinds()).not.toContain("ENDED");
    expect(rig.release(rig.gateway.ack(stored, { at: rig.now, ended: [transactionId] })).ok).toBe(true);
    expect(rig.kinds()).toContain("ENDED");
  });
});

describe("status", () => {
  it("status names the lowest slot that waits longer than it should, whatever the courier tells of it", () => {
    const rig = new Rig({ settings: { ...settings, stuckAfterMinutes: 30 } }).ready();
    const first = rig.pay().transactionId;
    const second = rig.pay().transactionId;
    const stuck = () => rig.operate("status").status.stuck;
    expect(stuck()).toBeNull();
    rig.now += 29 * 60_000;
    rig.greet();
    expect(stuck()).toBeNull();
    const { txHash } = rig.show(first).versions[0]!;
    rig.ask("observed", { transactionId: first, stage: "included", outcome: "", txHash, block: 7 });
    rig.ask("observed", { transactionId: first, stage: "final", outcome: "paid", txHash, block: 7 });
    rig.now += 2 * 60_000;
    rig.greet();
    expect(stuck()).toMatchObject({ transactionId: first, slot: "5", state: "paid", afterMinutes: 30, isCancelling: false });
    rig.acknowledge();
    expect(stuck()).toMatchObject({ transactionId: second, slot: "6", state: "released" });
    order(rig, "cancel", second);
    expect(stuck()).toMatchObject({ transactionId: second, isCancelling: true });
  });
});
