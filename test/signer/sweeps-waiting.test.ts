/**
 * A sweep and its top-up on a chain where only waiting excludes: no version of one is begun while
 * the other may still come into a block, for every request of the courier, and neither waits
 * without end.
 */
import { describe, expect, it } from "vitest";
import { depositsOf } from "../../agent/signer/policy/own.ts";
import { families } from "../../chains/families.ts";
import { workActivation } from "../../chains/tron/fees.ts";
import { facts, merchant, Rig, vault } from "../../lab/rig/signer-rig.ts";
import { transactionIdOf } from "../../protocol/identity.ts";
import type { Job } from "../../protocol/messages.ts";
import { keys, network, offerAt, type WaitingRig, waitingRig } from "../support/waiting-rig.ts";

const dayMs = 86_400_000;
const refused = { ok: false, code: "SWEEP_OR_TOPUP_OPEN" };

interface Named {
  readonly transactionId: string;
}

type Jobs = Readonly<Record<"sweep" | "topUp", Partial<Job> & Named>>;

/** The jobs of a sweep of a token and of its top-up. */
function jobsOf(depositAddress: string, onNetwork: string, coins: string): Jobs {
  const orderId = `${depositAddress}/1`;
  const id = transactionIdOf({ merchant, operation: "sweep", orderId });
  const topUpId = transactionIdOf({ merchant, operation: "topup", orderId: id });
  const both = { network: onNetwork, currency: "usdt", address: "", depositIndex: 3, depositAddress };
  return {
    sweep: { ...both, mode: "sweep", transactionId: id, orderId, amount: "12.5" },
    topUp: { ...both, mode: "topup", transactionId: topUpId, orderId: id, amount: coins },
  };
}

const { sweep, topUp } = jobsOf(families.tron.depositAddress(depositsOf(keys.vault.accounts, "tron"), 3), network, "8");

/** An offer of now: a top-up is a transfer of coins that makes its address an account. */
const offerFor = (rig: WaitingRig, { transactionId }: Named) => ({
  transactionId,
  facts: offerAt(rig.now, 7, transactionId === topUp.transactionId ? workActivation : undefined),
});

const sign = (rig: WaitingRig, one: Named) => rig.ask("sign", offerFor(rig, one));

/** The courier reports an end on chain; the gateway confirms it in its next acknowledgement. */
function paid(rig: WaitingRig, { transactionId }: Named): void {
  const seen = { stage: "final", outcome: "paid", txHash: rig.hashOf(transactionId), block: 7 };
  expect(rig.ask("observed", { transactionId, ...seen })).toMatchObject({ ok: true });
}

function ordered(): WaitingRig {
  const rig = waitingRig();
  for (const job of [sweep, topUp]) expect(rig.request(job).state).toBe("approved");
  return rig;
}

/** The sweep is out; the job of its top-up comes behind. */
function sweptFirst(): WaitingRig {
  const rig = waitingRig();
  rig.request(sweep);
  expect(sign(rig, sweep)).toMatchObject({ ok: true });
  rig.acknowledge();
  expect(rig.request(topUp).state).toBe("approved");
  return rig;
}

describe("a sweep whose top-up is open", () => {
  it("a sweep whose top-up is open is not signed before courier and gateway have both said that the top-up ended", () => {
    const rig = ordered();
    expect(sign(rig, sweep)).toMatchObject({ ...refused, detail: `topup ${topUp.transactionId} is open` });
    expect(sign(rig, topUp)).toMatchObject({ ok: true });
    rig.acknowledge();
    expect(sign(rig, sweep)).toMatchObject(refused);
    paid(rig, topUp);
    expect(sign(rig, sweep)).toMatchObject(refused);
    rig.acknowledge();
    expect(sign(rig, sweep)).toMatchObject({ ok: true });
  });

  it("a sweep without a top-up is signed at once", () => {
    const rig = waitingRig();
    rig.request(sweep);
    expect(sign(rig, sweep)).toMatchObject({ ok: true });
  });

  it("a sweep is signed when its top-up ended unpaid: refused by a person, or run out after its death", () => {
    const refusal = ordered();
    refusal.operate("refuse", { transactionId: topUp.transactionId });
    expect(refusal.show(topUp.transactionId).state).toBe("refused");
    expect(sign(refusal, sweep)).toMatchObject({ ok: true });
    const rig = ordered();
    sign(rig, topUp);
    rig.acknowledge();
    rig.callDead(topUp.transactionId);
    expect(sign(rig, sweep)).toMatchObject(refused);
    expect(rig.order("cancel", topUp.transactionId).withdrawal.state).toBe("expired");
    expect(sign(rig, sweep)).toMatchObject({ ok: true });
  });

  it("a sweep whose top-up is open gets no other version either", () => {
    const rig = sweptFirst();
    rig.callDead(sweep.transactionId);
    expect(rig.next(sweep.transactionId)).toMatchObject(refused);
    expect(sign(rig, topUp)).toMatchObject({ ok: true });
    rig.acknowledge();
    expect(rig.next(sweep.transactionId)).toMatchObject(refused);
    paid(rig, topUp);
    rig.acknowledge();
    expect(rig.next(sweep.transactionId).withdrawal.versions).toHaveLength(2);
  });

  it("a sweep whose top-up is open runs out all the same", () => {
    const rig = ordered();
    rig.now += dayMs + 3_600_000;
    rig.greet();
    expect(sign(rig, sweep).code).toBe("JOB_EXPIRED");
  });
});

describe("a top-up whose sweep is signed", () => {
  it("a top-up whose sweep is signed waits until every version of the sweep is dead by both words", () => {
    const rig = sweptFirst();
    const { transactionId } = sweep;
    expect(sign(rig, topUp)).toMatchObject({ ...refused, detail: expect.stringContaining(`sweep ${transactionId} on `) });
    rig.courierSays(transactionId);
    expect(sign(rig, topUp)).toMatchObject(refused);
    rig.gatewaySays(transactionId);
    expect(sign(rig, topUp)).toMatchObject({ ok: true });
  });

  it("a top-up whose sweep is signed waits for no sweep that the gateway calls ended as well", () => {
    const rig = sweptFirst();
    paid(rig, sweep);
    expect(sign(rig, topUp)).toMatchObject(refused);
    rig.acknowledge();
    expect(sign(rig, topUp)).toMatchObject({ ok: true });
  });

  it("a top-up whose sweep is signed waits for a version that is recorded and whose signature is under way", () => {
    const rig = waitingRig();
    rig.request(sweep);
    rig.send("sign", offerFor(rig, sweep));
    rig.gateway.job(topUp, rig.now);
    const frame = rig.gateway.jobs([rig.gateway.texts.at(-1)!], { at: rig.now });
    rig.send("admit", { frames: [frame] });
    const codes: string[] = [];
    rig.send("sign", offerFor(rig, topUp), ({ code }) => codes.push(code));
    rig.settle();
    expect(codes).toEqual([refused.code]);
    expect(rig.show(sweep.transactionId).versions).toHaveLength(1);
    expect(rig.show(topUp.transactionId)).toMatchObject({ state: "approved", versions: [] });
  });
});

describe("a sweep on a chain whose slots exclude", () => {
  it("a sweep on a chain whose slots exclude is signed beside its top-up: no block takes it before its coins are there", () => {
    const rig = new Rig().ready();
    const evm = jobsOf(families.evm.depositAddress(depositsOf(vault.accounts, "evm"), 3), "eip155:31337", "0.002");
    for (const job of [evm.sweep, evm.topUp]) expect(rig.request(job).state).toBe("approved");
    rig.ask("adopt", { chain: "local", slot: "0", witnesses: 2, address: evm.sweep.depositAddress });
    for (const { transactionId } of [evm.sweep, evm.topUp]) expect(rig.ask("sign", { transactionId, facts }).ok).toBe(true);
  });
});
